"""Cuda: kernels of a GPU, and an interpreter that runs them. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.cuda.compiler import compile_kernel as compile
from jt_edu.cuda.cpp import source
from jt_edu.cuda.device import (
    current_device,
    device_count,
    get_device_capability,
    get_device_name,
    is_available,
    memory_stats,
    set_device,
    synchronize,
)  # fmt: skip
from jt_edu.cuda.device_array import device_array, to_device
from jt_edu.cuda.kernel_names import HERE as _HERE
from jt_edu.cuda.launch import jit, simulate
from jt_edu.cuda.occupancy import occupancy

__all__ = ["compile", "current_device", "device_array", "device_count", "get_device_capability", "get_device_name",
           "is_available", "jit", "memory_stats", "occupancy", "set_device", "simulate", "source", "synchronize",
           "to_device", *_HERE]  # fmt: skip
__all__.sort()
globals().update(_HERE)

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.cuda", __all__)
