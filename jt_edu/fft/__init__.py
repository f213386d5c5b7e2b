"""fft: Fourier transforms, with gradients of every order. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.fft.frequencies import *
from jt_edu.fft.one_axis import *
from jt_edu.fft.plans import Plan, plan
from jt_edu.fft.several_axes import *

__all__ = ["Plan", "plan", *names_of("jt_edu.fft", "frequencies one_axis several_axes")]
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.fft", __all__)
