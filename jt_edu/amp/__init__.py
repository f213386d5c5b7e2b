"""Amp: numbers of 16 bits where they are enough, and 32 where they are not. This file is a door: names only.

The files whose names begin with apex, and fp16_optimizer.py, have Apex's words; the others PyTorch's.
"""

from typing import TYPE_CHECKING

from jt_edu.amp.apex_casts import *
from jt_edu.amp.apex_handle import init
from jt_edu.amp.apex_initialize import *
from jt_edu.amp.autocast_mode import *
from jt_edu.amp.custom import *
from jt_edu.amp.fp16_optimizer import FP16_Optimizer
from jt_edu.amp.grad_scaler import GradScaler
from jt_edu.amp.lists import APEX, CUDA, LISTS, PYTORCH
from jt_edu.amp.memory import *
from jt_edu.base.did_you_mean import door, names_of

__all__ = [
    "APEX", "CUDA", "FP16_Optimizer", "GradScaler", "LISTS", "PYTORCH", "init",
    *names_of("jt_edu.amp", "apex_casts apex_initialize autocast_mode custom memory"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.amp", __all__, upstairs={"cuda": "jt_edu.amp.cuda"})
