"""On card: how is a kernel launched on a GPU?

    compiled for the kinds of its arguments, and loaded     once
    its arguments in one row of bytes, and into the line    at each launch: some 5 microseconds

NumPy arrays are copied to the GPU and, when the kernel has ended, back. Device arrays stay there, and the launch
returns at once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.cuda import compiler
from jt_edu.cuda.arguments import PYTHON, Kind, kind_of, layout, packed, taken_apart
from jt_edu.cuda.device import Device, here, is_available
from jt_edu.cuda.device_array import CardArray, HostArray, to_device
from jt_edu.cuda.gpu_function import GpuFunction
from jt_edu.cuda.kernel_names import SHARED, has_room


@dataclass
class Loaded:
    """A kernel on a GPU: its handle, how its arguments are laid out, what it needs, and what launches may ask for."""

    function: int
    kinds: tuple[Kind, ...]
    form: struct.Struct
    report: compiler.Report
    shared: int


def has(arguments: Sequence[Any]) -> bool:
    """Whether a launch with these arguments is one for a GPU: an array is there, or NumPy's may be copied there."""
    if any(isinstance(x, CardArray) for x in arguments):
        return True
    return is_available() and not any(isinstance(x, HostArray) for x in arguments)


def launch(kernel: GpuFunction, grid: Any, block: Any, shared: int, arguments: Sequence[Any]) -> None:
    """Run a kernel on the GPU of this thread.

    Args:
        kernel: under `cuda.jit`.
        grid: blocks along x, y and z.
        block: threads along x, y and z.
        shared: bytes for `cuda.shared.array(0, ...)`.
        arguments: what the kernel takes.

    Raises:
        ArgumentError: arguments that make no sense, or are elsewhere.
        KernelError: it cannot be compiled, or a block of it has no room.
    """
    device = here()
    names = kernel.parameters(len(arguments))
    given, back = _there(arguments, names, device)
    kinds, words = taken_apart(given, names)
    loaded: Loaded = kernel.loaded.get((device, kinds)) or _load(kernel, kinds, device)
    if shared > loaded.shared:
        where = f" in a launch of {kernel.__name__}"
        has_room(loaded.report.shared, shared, where, device.driver.shared(device.number))
        device.driver.allow_shared(loaded.function, shared)
        loaded.shared = shared
    sizes = grid.x, grid.y, grid.z, block.x, block.y, block.z
    row = packed(loaded.form, words)
    device.start(loaded, sizes, shared, row, lambda: _needs(kernel, loaded.report, block.size, shared))
    for there, array in back:
        there.copy_to_host(array)


def _needs(kernel: GpuFunction, report: compiler.Report, threads: int, shared: int) -> str:
    room = f"{report.registers} registers a thread, {report.shared + shared:,} bytes of shared memory"
    return f"launching {kernel.__name__} with {threads} threads in a block, {room}"


def _there(arguments: Sequence[Any], names: Sequence[str], device: Device) -> tuple[Sequence[Any], list[Any]]:
    """Arguments with arrays of the GPU, and the pairs that are to be copied back: one for each array of NumPy."""
    if all(x.gpu is device if isinstance(x, CardArray) else type(x) in PYTHON for x in arguments):
        return arguments, []
    copies: dict[int, tuple[Any, Any]] = {}
    given = []
    for name, value in zip(names, arguments, strict=True):
        if isinstance(value, np.ndarray):
            kind_of(value, name)
            if not value.flags.c_contiguous:
                found = "gaps between them, or columns first"
                raise ArgumentError(f"{name} is an array whose numbers are in one row", found, "a copy of it")
            if id(value) not in copies:
                copies[id(value)] = to_device(value), value
            given.append(copies[id(value)][0])
        elif isinstance(value, HostArray):
            raise ArgumentError("arrays of one launch are in one place", f"{value} in this machine", "cuda.to_device")
        elif isinstance(value, CardArray) and value.gpu is not device:
            found = f"an array of {value.gpu} on {device}"
            raise ArgumentError("a launch has arrays of its own GPU", found, f"set_device({value.gpu.number})")
        else:
            given.append(value)
    return given, [pair for pair in copies.values() if pair[1].flags.writeable]


def _load(kernel: GpuFunction, kinds: Any, device: Device) -> Loaded:
    """The kernel on the GPU; compiled and loaded once for these kinds of arguments."""
    made = compiler.compiled(kernel, kinds, device.capability)
    function = device.load(made.cubin, made.entry)
    free = SHARED - made.report.shared  # a GPU counts both kinds together
    found = kernel.loaded[device, kinds] = Loaded(function, kinds, struct.Struct(layout(kinds)), made.report, free)
    return found
