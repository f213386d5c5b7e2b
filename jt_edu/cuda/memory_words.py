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
    memory_stats,
    number_of,
)


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
    return _stats(device).get("used", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that arrays have taken at once, since `reset_peak_memory_stats`.

    Args:
        device: the GPU of this thread.

    Example:
        >>> jt.cuda.max_memory_allocated()
        0
    """
    return _stats(device).get("peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes of all arrays, and bytes that are kept for the next ones.

    Args:
        device: the GPU of this thread.

    Example:
        >>> jt.cuda.memory_reserved()
        0
    """
    return sum(_stats(device).get(part, 0) for part in ("used", "kept"))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the most bytes from here on.

    Args:
        device: the GPU of this thread.

    Example:
        >>> jt.cuda.reset_peak_memory_stats()
    """
    if _stats(device):
        memory = here().memory
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
    number, driver = number_of("cuda" if device is None else device), here().driver
    capability = get_device_capability(number)
    return DeviceProperties(get_device_name(number), *capability, driver.memory(number), driver.processors(number))


def is_bf16_supported() -> bool:
    """Whether kernels compute with bfloat16: each GPU does, with one rounding; from 8.0 on tensor cores multiply it.

    Example:
        >>> jt.cuda.is_bf16_supported()
        False
    """
    return is_available()


def _stats(device: Any) -> dict[str, int]:
    if device is not None and is_available():
        check_number(str(number_of(device)))
    return memory_stats()
