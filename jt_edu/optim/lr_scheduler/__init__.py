"""lr_scheduler: how learning rates change while one trains. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.optim.lr_scheduler.base import Scaled, Schedule
from jt_edu.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts, CosineLR
from jt_edu.optim.lr_scheduler.cyclic import CyclicLR, Cycling, OneCycleLR
from jt_edu.optim.lr_scheduler.plateau import ReduceLROnPlateau
from jt_edu.optim.lr_scheduler.sequential import ChainedScheduler, SequentialLR
from jt_edu.optim.lr_scheduler.stepwise import *

LRScheduler = _LRScheduler = Schedule  # PyTorch's names, the new one and the old one

__all__ = [
    "ChainedScheduler", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CosineLR", "CyclicLR", "Cycling",
    "LRScheduler", "OneCycleLR", "ReduceLROnPlateau", "Scaled", "Schedule", "SequentialLR",
    *names_of("jt_edu.optim.lr_scheduler", "stepwise"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.optim.lr_scheduler", __all__)
