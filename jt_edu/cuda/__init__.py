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
from jt_edu.cuda.memory_words import (
    empty_cache,
    get_device_properties,
    is_bf16_supported,
    max_memory_allocated,
    memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
)
from jt_edu.cuda.occupancy import occupancy

__all__ = ["compile", "current_device", "device_array", "device_count", "empty_cache", "get_device_capability",
           "get_device_name", "get_device_properties", "is_available", "is_bf16_supported", "jit",
           "max_memory_allocated", "memory_allocated", "memory_reserved", "memory_stats", "occupancy",
           "reset_peak_memory_stats", "set_device", "simulate", "source", "synchronize", "to_device",
           *_HERE]  # fmt: skip
__all__.sort()
globals().update(_HERE)

if not TYPE_CHECKING:
    _later = dict.fromkeys(("manual_seed", "manual_seed_all"), "jt_edu.variable.random:manual_seed")
    __getattr__, __dir__ = door("jt.cuda", __all__, upstairs={**_later, "amp": "jt_edu.amp.cuda"})
