"""Amp: numbers of 16 bits where they are enough, 32 where they are not. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.amp.grad_scaler import GradScaler
from jt_edu.base.did_you_mean import door

__all__ = ["GradScaler"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.amp", __all__)
