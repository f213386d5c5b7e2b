"""amp: automatic mixed precision, where a table decides in which dtype a function computes. A door: names only."""

from typing import TYPE_CHECKING

from jt_edu.amp.autocast_mode import *
from jt_edu.amp.custom import *
from jt_edu.amp.lists import APEX, LISTS, PYTORCH
from jt_edu.amp.memory import *
from jt_edu.base.did_you_mean import door, names_of

__all__ = ["APEX", "LISTS", "PYTORCH", *names_of("jt_edu.amp", "autocast_mode custom memory")]
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.amp", __all__)
