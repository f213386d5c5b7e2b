"""Memory words: what does PyTorch call what is known of the memory of a GPU, and of the GPU itself?

memory_allocated, memory_reserved      bytes of arrays; with those that are kept for the next ones
max_memory_allocated                   the most since `reset_peak_memory_stats`
empty_cache                            gives back what is kept
get_device_properties                  name, bytes, multiprocessors, compute capability
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.cuda.device import (
    check_number,
    get_device_capability,
    get_device_name,
    here,
    is_available,
    number_of,
)
from jt_edu.cuda.device_memory import DeviceMemory

NONE = DeviceMemory(None, 0)  # no bytes: of a GPU that is not there


class DeviceProperties(NamedTuple):
    """What a GPU is."""

    name: str
    major: int  # of its compute capability
    minor: int
    total_memory: int  # bytes
    multi_processor_count: int


def memory_allocated(device: Any = None) -> int:
    """Bytes of all arrays on a GPU; 0 where there is none.

    Args:
        device: the GPU of this thread.

    Example:
        >>> jt.cuda.memory_allocated()
        0
    """
    return _memory(device).used


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that arrays have taken at once, since `reset_peak_memory_stats`.

    Args:
        device: the GPU of this thread.

    Example:
        >>> jt.cuda.max_memory_allocated()
        0
    """
    return _memory(device).peak


def memory_reserved(device: Any = None) -> int:
    """Bytes of all arrays, and bytes that are kept for the next ones.

    Args:
        device: the GPU of this thread.

    Example:
        >>> jt.cuda.memory_reserved()
        0
    """
    memory = _memory(device)
    return memory.used + memory.kept


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the most bytes from here on.

    Args:
        device: the GPU of this thread.

    Example:
        >>> jt.cuda.reset_peak_memory_stats()
    """
    memory = _memory(device)
    memory.peak = memory.used


def empty_cache() -> None:
    """Give the driver the bytes that are kept for the next arrays, for other programs.

    Example:
        >>> jt.cuda.empty_cache()
    """
    if is_available():
        here().memory.release()


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a GPU is: `name`, `major`, `minor`, `total_memory` and `multi_processor_count`.

    Args:
        device: its number or name; that of this thread, if there is none.

    Raises:
        ArgumentError: there is none of that number.
        BackendError: there is no GPU at all.

    Example:
        >>> jt.cuda.get_device_properties()
        Traceback (most recent call last):
        BackendError: this needs a GPU; found no driver of NVIDIA. Try: a machine that has one.
    """
    name, capability = get_device_name(device), get_device_capability(device)
    number, driver = number_of("cuda" if device is None else device), here().driver
    return DeviceProperties(name, *capability, driver.memory(number), driver.processors(number))


def is_bf16_supported() -> bool:
    """Whether kernels compute with bfloat16: each GPU does, with one rounding; from 8.0 on tensor cores multiply it.

    Example:
        >>> jt.cuda.is_bf16_supported()
        False
    """
    return is_available()


def _memory(device: Any) -> DeviceMemory:
    """That of this thread's GPU, which is the only one that may be named."""
    if not is_available():
        return NONE
    check_number(number_of("cuda" if device is None else device))
    return here().memory
