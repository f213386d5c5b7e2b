"""A library that has the names of NVIDIA's driver, and needs no GPU: its memory is that of this machine.

A launch reads the row of bytes that a real one would read, by rules of its own, and runs the kernel in the interpreter
on the bytes that the addresses in it mean. What stands in line is done when somebody waits for it, and no sooner. What
the interpreter finds wrong makes the GPU fail, as hardware does: not at the launch, but then, and at all calls after.
"""

# ruff: noqa: N802 - the driver's own names

from __future__ import annotations

import ctypes
import itertools
import math
import os
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.cuda import compiler, simulate
from jt_edu.cuda.gpu_function import fingerprint

SIZES = {"q": 8, "Q": 8, "d": 8, "i": 4, "I": 4, "f": 4, "h": 2, "H": 2, "b": 1, "B": 1, "?": 1}
FORMATS = {np.dtype(letter).name: letter for letter in SIZES}
REGISTERS = 65_536  # of a block
NAMES = {2: b"CUDA_ERROR_OUT_OF_MEMORY", 100: b"CUDA_ERROR_NO_DEVICE", 700: b"CUDA_ERROR_ILLEGAL_ADDRESS"}


class FakeLibrary:
    """Stands in the place of libcuda.

    Args:
        names: of its GPUs.
        room: bytes of each.
        fails: for the name of a function the number that it answers with.
    """

    takes = 0.01  # seconds of each launch and of each copy on the GPU

    def __init__(self, names: tuple[str, ...] = ("Fake 0",), room: int = 10**9, **fails: int) -> None:
        self.names, self.room, self.fails = names, room, fails
        self.version = 13_000
        self.calls: list[str] = []
        self.kernels: dict[bytes, tuple[Any, Any, int]] = {}  # machine code -> kernel, kinds, registers
        self.functions: list[tuple[Any, Any, int]] = []
        self.memory: dict[int, tuple[np.ndarray[Any, Any], int]] = {}  # address -> bytes, GPU
        self.launches: list[tuple[Any, ...]] = []
        self.streams: list[int] = []  # of each the GPU,
        self.lines: dict[int, list[Callable[[], None]]] = {}  # and what waits there
        self.nodes: dict[int, tuple[int, list[int], tuple[Any, ...]]] = {}  # handle -> graph, those before, its launch
        self.graphs: dict[int, dict[int, tuple[Any, ...]]] = {}  # executable -> the launch of each of its nodes
        self.handles = itertools.count(1)
        self.pinned: dict[int, np.ndarray[Any, Any]] = {}  # address -> bytes of this machine
        self.marks: dict[int, tuple[int, object]] = {}  # event -> the stream, and its place in that line
        self.passed: set[object] = set()
        self.now = 0.0  # seconds: the clock of all GPUs, which goes on whenever a kernel has run
        self.seconds: Callable[[str, int], float] = lambda kernel, blocks: self.takes
        self.computes = True  # False: kernels take their time, and do nothing
        self.times: dict[int, float] = {}  # event that looks at it -> when it was passed
        self.turn = threading.RLock()
        self.broken = 0
        self.mine = threading.local()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("cu") or name == "cuGetErrorName":
            return found

        def counted(*given: Any) -> int:
            self.calls.append(name)
            return self.fails.get(name) or self.broken or found(*given) or 0

        return counted

    def compile(
        self, kernel: Any, kinds: Any, cc: tuple[int, int], registers: int = 32, shared: int = 0
    ) -> compiler.Compiled:
        """What stands in the place of numba-cuda: machine code is a name for the kernel."""
        cubin = repr((fingerprint(kernel, {}), kinds, cc)).encode()
        self.kernels[cubin] = kernel, kinds, registers
        report = compiler.Report(registers, 0, 0, shared)
        return compiler.Compiled(kernel.__name__, kinds, cc, kernel.__name__, "", cubin, report)

    @property
    def taken(self) -> int:
        """Bytes that were asked for, and not given back."""
        return sum(values.size for values, _ in self.memory.values())

    # ------------------------------------------------------------------------------------------------------ devices

    def cuInit(self, flags: ctypes.c_uint) -> int:
        """Read CUDA_VISIBLE_DEVICES: numbers up to the first that is none."""
        asked = os.environ.get("CUDA_VISIBLE_DEVICES")
        known = [str(k) for k in range(len(self.names))]
        self.visible = list(range(len(self.names)))
        if asked is not None:
            words = [word.strip() for word in asked.split(",")]
            end = next((k for k, word in enumerate(words) if word not in known), len(words))
            self.visible = [int(word) for word in words[:end]]
        return 0 if self.visible else 100

    def cuGetErrorName(self, code: ctypes.c_int, name: Any) -> int:
        name._obj.value = NAMES.get(code.value)
        return 0 if code.value in NAMES else 1

    def cuDriverGetVersion(self, version: Any) -> None:
        version._obj.value = self.version

    def cuDeviceGetCount(self, count: Any) -> None:
        count._obj.value = len(self.visible)

    def cuDeviceGetName(self, text: Any, size: ctypes.c_int, device: ctypes.c_int) -> None:
        text.value = self.names[self.visible[device.value]].encode()

    def cuDeviceGetAttribute(self, found: Any, which: ctypes.c_int, device: ctypes.c_int) -> None:
        found._obj.value = {75: 9, 76: self.visible[device.value], 97: 227 * 1024, 16: 132}[which.value]

    def cuDeviceTotalMem_v2(self, found: Any, device: ctypes.c_int) -> None:
        found._obj.value = 80 << 30

    def cuDevicePrimaryCtxRetain(self, context: Any, device: ctypes.c_int) -> None:
        context._obj.value = 1000 + self.visible[device.value]

    def cuCtxSetCurrent(self, context: ctypes.c_void_p) -> None:
        self.mine.device = context.value - 1000

    def cuStreamCreate(self, stream: Any, flags: ctypes.c_uint) -> None:
        self.streams.append(self.mine.device)
        stream._obj.value = len(self.streams)
        self.lines[len(self.streams)] = []

    def _later(self, stream: ctypes.c_void_p, work: Callable[[], None]) -> int:
        self.lines[stream.value].append(work)
        return 0 if self.streams[stream.value - 1] == self.mine.device else 400

    def cuStreamQuery(self, stream: ctypes.c_void_p) -> int:
        return self._wait(stream.value, None)

    def _wait(self, stream: int, mark: object) -> int:
        """Do what stands in line, up to a mark."""
        with self.turn:  # threads that wait do not run ahead of each other
            while self.lines[stream] and not self.broken and mark not in self.passed:
                self.lines[stream].pop(0)()
        return self.broken

    def cuEventCreate(self, event: Any, flags: ctypes.c_uint) -> int:
        event._obj.value = next(self.handles)
        if flags.value == 0:
            self.times[event._obj.value] = -1.0
        return 0 if flags.value in (0, 2) else 1

    def cuEventRecord(self, event: ctypes.c_void_p, stream: ctypes.c_void_p) -> int:
        mark = object()
        self.marks[event.value] = stream.value, mark

        def pass_by() -> None:
            self.passed.add(mark)
            if event.value in self.times:
                self.times[event.value] = self.now

        return self._later(stream, pass_by)

    def cuEventElapsedTime(self, found: Any, begin: ctypes.c_void_p, end: ctypes.c_void_p) -> int:
        """Milliseconds between two marks that have been passed, and that look at a clock."""
        first, last = (self.times.get(event.value, -1.0) for event in (begin, end))
        found._obj.value = 1e3 * (last - first)
        return 0 if min(first, last) >= 0 else 600

    def cuEventQuery(self, event: ctypes.c_void_p) -> int:
        return self._wait(*self.marks[event.value]) if event.value in self.marks else 0

    # ------------------------------------------------------------------------------------------------------- memory

    def cuMemAllocAsync(self, pointer: Any, size: ctypes.c_size_t, stream: ctypes.c_void_p) -> int:
        if self.taken + size.value > self.room:
            return 2
        values = np.full(size.value, 0x55, np.uint8)
        pointer._obj.value = values.ctypes.data
        self.memory[values.ctypes.data] = values, self.mine.device
        return self._later(stream, lambda: None)

    def cuMemFreeAsync(self, pointer: ctypes.c_void_p, stream: ctypes.c_void_p) -> int:
        return self._later(stream, lambda: self.memory.pop(pointer.value) and None)

    def at(self, pointer: int, size: int) -> np.ndarray[Any, Any] | None:
        """The bytes of the GPU that an address means; None where there are fewer."""
        for begin, (values, device) in self.memory.items():
            if begin <= pointer and pointer + size <= begin + values.size and device == self.mine.device:
                return values[pointer - begin :][:size]
        return None

    def _copy(self, target: Any, source: Any, size: Any, stream: Any, *there: Any) -> int:
        if any(self.at(pointer.value, size.value) is None for pointer in there):
            return 1

        def run() -> None:
            self.now += self.takes * (len(there) == 2)
            ctypes.memmove(target, source, size.value)

        return self._later(stream, run)

    def cuMemHostAlloc(self, pointer: Any, size: ctypes.c_size_t, flags: ctypes.c_uint) -> int:
        values = np.full(size.value, 0x55, np.uint8)
        pointer._obj.value = values.ctypes.data
        self.pinned[values.ctypes.data] = values
        return 0 if flags.value == 1 else 1

    def cuMemcpyHtoDAsync_v2(self, target: Any, source: Any, size: Any, stream: Any) -> int:
        """Pinned memory is read when it is its turn: who changes it before copies something else."""
        if any(begin <= source.value < begin + len(values) for begin, values in self.pinned.items()):
            return self._copy(target, source, size, stream, target)
        return self._copy(target, ctypes.string_at(source, size.value), size, stream, target)

    def cuMemcpyDtoHAsync_v2(self, target: Any, source: Any, size: Any, stream: Any) -> int:
        return self._copy(target, source, size, stream, source)

    def cuMemcpyDtoDAsync_v2(self, target: Any, source: Any, size: Any, stream: Any) -> int:
        return self._copy(target, source, size, stream, target, source)

    # ------------------------------------------------------------------------------------------------------ kernels

    def cuModuleLoadData(self, module: Any, cubin: bytes) -> int:
        if cubin not in self.kernels:
            return 200
        self.functions.append(self.kernels[cubin])
        module._obj.value = len(self.functions)
        return 0

    def cuModuleGetFunction(self, function: Any, module: ctypes.c_void_p, entry: bytes) -> int:
        function._obj.value = module.value
        return 0

    def cuFuncSetAttribute(self, function: ctypes.c_void_p, which: ctypes.c_int, size: ctypes.c_int) -> int:
        return 0 if which.value == 8 and size.value <= 227 * 1024 else 1

    def cuLaunchKernel(self, function: Any, *given: Any) -> int:
        *sizes, stream, nothing, extra = given
        return self._launch(stream, function.value, sizes, _row(nothing, extra))

    def _launch(self, stream: Any, function: int, sizes: Any, content: bytes) -> int:
        gx, gy, gz, bx, by, bz, shared = sizes
        kernel, kinds, registers = self.functions[function - 1]
        if bx * by * bz * registers > REGISTERS:
            return 701
        arguments = Row(content, self.at).all(kinds)
        self.launches.append((kernel.__name__, (gx, gy, gz), (bx, by, bz), shared))

        def run() -> None:
            self.now += self.seconds(kernel.__name__, gx * gy * gz)
            if any(a is None for a in arguments):
                self.broken = 700
            elif not self.computes:
                return
            elif simulate(kernel, (gx, gy, gz), (bx, by, bz), *arguments, shared=shared).findings:
                self.broken = 719

        return self._later(stream, run)

    # ------------------------------------------------------------------------------------------------------- graphs

    def cuGraphCreate(self, graph: Any, flags: ctypes.c_uint) -> int:
        graph._obj.value = next(self.handles)
        return flags.value

    def cuGraphAddKernelNode_v2(self, made: Any, graph: Any, before: Any, count: Any, node: Any) -> int:
        """The arguments are copied, as those of a launch are."""
        behind = list((ctypes.c_void_p * count.value).from_buffer(before._obj)) if count.value else []
        if any(self.nodes[node][0] != graph.value for node in behind):
            return 1
        made._obj.value = next(self.handles)
        self.nodes[made._obj.value] = graph.value, behind, _launch_of(node._obj)
        return 0

    def cuGraphInstantiateWithFlags(self, made: Any, graph: Any, flags: ctypes.c_ulonglong) -> int:
        """A copy: what becomes of the nodes later does not matter."""
        made._obj.value = next(self.handles)
        nodes = {node: launch for node, (whose, _, launch) in self.nodes.items() if whose == graph.value}
        self.graphs[made._obj.value] = nodes
        return flags.value

    def cuGraphExecKernelNodeSetParams_v2(self, executable: Any, handle: Any, node: Any) -> int:
        if handle.value not in self.graphs[executable.value]:
            return 1
        self.graphs[executable.value][handle.value] = _launch_of(node._obj)
        return 0

    def cuGraphLaunch(self, executable: Any, stream: Any) -> int:
        """Each node when those are done that it waits for."""
        waiting, done = dict(self.graphs[executable.value]), set[int]()
        while waiting:
            ready = [node for node in waiting if done.issuperset(self.nodes[node][1])]
            for node in reversed(ready):  # in any order: they wait for others only
                code = self._launch(stream, *waiting.pop(node))
                if code:
                    return code
            done.update(ready)
        return 0

    def cuGraphExecDestroy(self, executable: Any) -> None:
        del self.graphs[executable.value]

    def cuGraphDestroy(self, graph: Any) -> None:
        for node in [node for node, (whose, *_) in self.nodes.items() if whose == graph.value]:
            del self.nodes[node]


def _row(parameters: Any, extra: Any) -> bytes:
    """The bytes of the arguments that a launch is given."""
    begin, buffer, end, length, last = extra
    assert (begin, end, last, parameters) == (1, 2, None, None)
    return ctypes.string_at(buffer, ctypes.cast(length, ctypes.POINTER(ctypes.c_size_t))[0])


def _launch_of(node: Any) -> tuple[int, list[int], bytes]:
    """What a CUDA_KERNEL_NODE_PARAMS says, by an own reading of its 72 bytes."""
    words = struct.unpack("<Q7I4xQQQQ", bytes(node))
    function, *sizes, parameters, extra, kernel, context = words
    assert (kernel, context) == (0, 0)
    return function, sizes, _row(parameters or None, (ctypes.c_void_p * 5).from_address(extra))


class Row:
    """The bytes of all arguments, as a kernel finds them: each number at a multiple of its size."""

    def __init__(self, content: bytes, at: Callable[[int, int], Any]) -> None:
        self.content, self.at, self.place = content, at, 0

    def number(self, letter: str) -> Any:
        """The next number."""
        self.place = -(-self.place // SIZES[letter]) * SIZES[letter]
        (found,) = struct.unpack_from(f"<{letter}", self.content, self.place)
        self.place += SIZES[letter]
        return found

    def all(self, kinds: Any) -> list[Any]:
        """All arguments; nothing is left over."""
        found = [self.one(kind) for kind in kinds]
        assert self.place == len(self.content)
        return found

    def one(self, kind: Any) -> Any:
        """The next argument; None for an array that is nowhere on the GPU."""
        if isinstance(kind, tuple):
            return tuple(self.one(part) for part in kind)
        name, bracket, axes = kind.partition("[")
        dtype = np.dtype(name)
        if bracket:
            return self._array(dtype, int(axes[:-1]))
        if dtype.kind == "c":
            letter = {8: "f", 16: "d"}[dtype.itemsize]
            return dtype.type(complex(self.number(letter), self.number(letter)))
        return dtype.type(self.number(FORMATS[name]))

    def _array(self, dtype: np.dtype[Any], axes: int) -> Any:
        *nothing, count, itemsize, pointer = (self.number("q") for _ in range(5))
        shape = tuple(self.number("q") for _ in range(axes))
        strides = tuple(self.number("q") for _ in range(axes))
        values = self.at(pointer, count * itemsize)
        if values is None:
            return None
        found = values.view(dtype).reshape(shape)
        assert (*nothing, count, itemsize, strides) == (0, 0, math.prod(shape), dtype.itemsize, found.strides)
        return found
