"""Driver: how does Python speak to a GPU?

    Driver(library)      some thirty functions of NVIDIA's driver, by ctypes: nothing has to be installed for them
    library              libcuda, or whatever has functions of these names: tests bring one that needs no GPU
    Launch(...)          a kernel, its sizes, and its arguments in a row of bytes, which are read when it is launched
    failed(code, ...)    what the driver answers if it cannot, as an error in words

Pointers and handles are whole numbers. Copies and launches are put in line on a stream: they return before they are
done. An error of a kernel therefore shows at a later call, or at one that waits. Who waits asks again and again, for a
wait inside the driver would not hear Ctrl-C.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from ctypes import addressof, byref, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from functools import cached_property
from time import sleep
from typing import Any

from jt_edu.base.errors import ArgumentError, BackendError, JtError, KernelError, OutOfMemoryError

MAJOR, MINOR, PROCESSORS = 75, 76, 16  # numbers of attributes: compute capability; multiprocessors;
SHARED, DYNAMIC_SHARED = 97, 8  # and the bytes of shared memory of a block, and those that a launch may ask for
NOT_READY = 600  # the answer, while something in line is not done
LOOKS = 1000  # without a pause between them: the end of what takes less than a millisecond is seen at once
PAUSE, GROWTH, LONGEST = 20e-6, 1.05, 0.5e-3  # seconds: of the first pause, from one to the next, and of the longest
POINTER, SIZE, END = 1, 2, 0  # what is in the list that a launch is given

_RESTART = (
    "cuda.simulate(...), which says what is wrong; the GPU is back when Python starts anew; "
    "until then the CPU goes on, with jt.flags.use_cuda = 0"
)
_STILL_RUNS = (
    "nobody waits for the GPU any more, but what was launched still runs, and what comes later waits for its end. "
    "With jt.flags.use_cuda = 0 the CPU goes on. If it never ends: start Python anew, which ends it, and ask "
    "cuda.simulate(...) which loop does not end"
)
NEEDED = "this needs a GPU"
UPDATE = "a newer driver of NVIDIA; until then kernels run in the interpreter"
_ASKED: dict[int, tuple[type[JtError], str, str]] = {  # by the driver's number: kind, what was asked, what to try
    1: (BackendError, "the driver is given sizes and addresses that the GPU has", "fewer blocks, threads and bytes"),
    2: (OutOfMemoryError, "the GPU has room for all arrays", "smaller arrays, or `del` for those that nobody needs"),
    3: (BackendError, "the driver of the GPU is ready", "nvidia-smi, which says what is wrong with it"),
    34: (BackendError, "there is a real driver", "the driver itself: this is the stub that compilers link with"),
    35: (BackendError, "the driver is as new as CUDA", UPDATE),
    46: (BackendError, "the GPU is free", "nvidia-smi, which tells who has it, or another one by CUDA_VISIBLE_DEVICES"),
    100: (BackendError, NEEDED, "CUDA_VISIBLE_DEVICES, which may hide it; kernels run in the interpreter"),
    101: (ArgumentError, "a device has a number below jt.cuda.device_count()", "jt.cuda.set_device(0)"),
    200: (BackendError, "a kernel is machine code of this GPU", UPDATE),
    209: (BackendError, "a kernel is machine code of this GPU", UPDATE),
    218: (BackendError, "a kernel is text that the driver understands", UPDATE),
    222: (BackendError, "a kernel is text that the driver understands", UPDATE),
    701: (KernelError, "a block has registers and shared memory for all of its threads", "fewer threads in a block"),
    801: (BackendError, "the GPU has pools of memory", UPDATE),
    802: (BackendError, "the machine has started its GPUs", "a minute later, and whether nvidia-fabricmanager runs"),
    803: (BackendError, "kernel module and library of the driver have one version", "a restart of the machine"),
    804: (BackendError, "libcuda is that of the driver", "LD_LIBRARY_PATH without the folder of cuda-compat"),
}  # fmt: skip
# a kernel went wrong, or the memory of the GPU did (214): it answers nothing any more
LOST = (214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719)


def failed(code: int, doing: str, name: str = "") -> JtError:
    """The error for a number of the driver's that is not 0.

    Example:
        >>> print(failed(2, "asking for 8 bytes"))
        the GPU has room for all arrays; found error 2 while asking for 8 bytes. Try: smaller arrays, or `del` ...
    """
    found = f"error {code}{f' ({name})' if name else ''} while {doing}"
    if code in LOST:
        return KernelError("a kernel touches its own arrays only, and ends", found, _RESTART)
    kind, asked, way = _ASKED.get(code, (BackendError, "the driver does what it is asked", ""))
    return kind(asked, found, way)


def libcuda() -> Any:
    """The driver's library; None where there is none."""
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


class KernelNode(ctypes.Structure):
    """What a node of a graph launches: CUDA_KERNEL_NODE_PARAMS of cuda.h, version 2."""

    _fields_ = (
        ("function", c_void_p),
        *((f"{of}_{axis}", c_uint) for of in ("grid", "block") for axis in "xyz"),
        ("shared", c_uint),
        *((name, c_void_p) for name in ("parameters", "extra", "kernel", "context")),
    )


class Launch:
    """A kernel that is to be launched, as often as one likes.

    Args:
        function: its handle.
        sizes: three of the grid, and three of a block.
        shared: bytes of shared memory.
        address: of all of its arguments, in a row of bytes, which are read whenever it is launched.
        length: of that row.
    """

    def __init__(self, function: int, sizes: Sequence[int], shared: int, address: int, length: int) -> None:
        self._length = c_size_t(length)
        self._extra = (c_void_p * 5)(POINTER, address, SIZE, addressof(self._length), END)
        self.words = c_void_p(function), *sizes, shared  # a plain number is one of 32 bits
        self.extra = None, self._extra

    @cached_property
    def node(self) -> KernelNode:
        """The same as a node of a graph."""
        function, *sizes = self.words
        return KernelNode(function, *sizes, None, addressof(self._extra))


class Driver:
    """The functions of the driver that are needed, each with Python's numbers.

    Args:
        library: libcuda, or what stands in its place.

    Raises:
        BackendError: there is no GPU, or no driver that works.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self.lost = 0  # the number that says so
        self._call("starting the driver", "cuInit", c_uint(0))

    def _call(self, doing: str | Callable[[], str], name: str, *given: Any) -> int:
        function = getattr(self._library, name, None)
        if function is None:
            raise BackendError(f"the driver of the GPU has {name}", "an older driver", UPDATE)
        code = function(*given)
        if code and code != NOT_READY:
            if code in LOST:
                self.lost = self.lost or code
            raise self._failed(code, doing if isinstance(doing, str) else doing())
        return int(code)

    def _failed(self, code: int, doing: str) -> JtError:
        return failed(code, doing, self._name(code))

    def well(self) -> None:
        """Refuse to go on, if a GPU is lost."""
        if self.lost:
            raise self._failed(self.lost, "running an earlier kernel")

    def _name(self, code: int) -> str:
        text = ctypes.c_char_p()
        return (text.value or b"").decode() if not self._library.cuGetErrorName(c_int(code), byref(text)) else ""

    def _handle(self, doing: str, name: str, *given: Any) -> int:
        """What a function writes at the address that is its first argument."""
        made = c_void_p()
        self._call(doing, name, byref(made), *given)
        return made.value or 0

    # ------------------------------------------------------------------------------------------------------ devices

    def version(self) -> int:
        """For which CUDA the driver was made: 13000 for 13.0."""
        found = c_int()
        self._call("asking for its version", "cuDriverGetVersion", byref(found))
        return found.value

    def count(self) -> int:
        """How many GPUs CUDA_VISIBLE_DEVICES shows."""
        found = c_int()
        self._call("counting GPUs", "cuDeviceGetCount", byref(found))
        return found.value

    def name(self, device: int) -> str:
        """What a GPU is called."""
        text = ctypes.create_string_buffer(256)
        self._call("asking for a name", "cuDeviceGetName", text, c_int(256), c_int(device))
        return text.value.decode()

    def capability(self, device: int) -> tuple[int, int]:
        """Its compute capability, such as (9, 0): which instructions it knows."""
        return self._attribute(MAJOR, device), self._attribute(MINOR, device)

    def shared(self, device: int) -> int:
        """How many bytes of shared memory a block can have."""
        return self._attribute(SHARED, device)

    def processors(self, device: int) -> int:
        """How many multiprocessors it has, each of which runs some blocks at once."""
        return self._attribute(PROCESSORS, device)

    def memory(self, device: int) -> int:
        """How many bytes it has in all."""
        found = c_size_t()
        self._call("asking for its memory", "cuDeviceTotalMem_v2", byref(found), c_int(device))
        return found.value

    def _attribute(self, which: int, device: int) -> int:
        found = c_int()
        self._call("asking what it can do", "cuDeviceGetAttribute", byref(found), c_int(which), c_int(device))
        return found.value

    def context(self, device: int) -> int:
        """What a process has of a GPU; others in this process, such as PyTorch, share it."""
        return self._handle("opening the GPU", "cuDevicePrimaryCtxRetain", c_int(device))

    def enter(self, context: int) -> None:
        """From here on, calls of this thread mean that GPU."""
        self._call("choosing the GPU", "cuCtxSetCurrent", c_void_p(context))

    def stream(self) -> int:
        """A new line in which work waits; 1: it does not wait for the stream that everybody has."""
        return self._handle("opening a stream", "cuStreamCreate", c_uint(1))

    def synchronize(self, stream: int) -> None:
        """Wait until all in that line is done."""
        self._until_done("cuStreamQuery", stream)

    def _until_done(self, name: str, handle: int) -> None:
        looks, pause = 0, PAUSE
        try:
            while self._call("waiting for kernels", name, c_void_p(handle)) == NOT_READY:
                looks += 1
                if looks > LOOKS:
                    sleep(pause)
                    pause = min(pause * GROWTH, LONGEST)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_STILL_RUNS) from None

    def event(self, timed: bool = False) -> int:
        """A mark that can be put in a line; 2: it does not look at a clock."""
        return self._handle("making an event", "cuEventCreate", c_uint(0 if timed else 2))

    def record(self, event: int, stream: int) -> None:
        """Put the mark in line, and nowhere else any more."""
        self._call("marking a place in line", "cuEventRecord", c_void_p(event), c_void_p(stream))

    def wait(self, event: int) -> None:
        """Wait until all that is before the mark is done; not at all, where it is in no line."""
        self._until_done("cuEventQuery", event)

    def elapsed(self, begin: int, end: int) -> float:
        """Seconds between two marks that look at a clock."""
        found = c_float()
        self._call("reading a clock", "cuEventElapsedTime", byref(found), c_void_p(begin), c_void_p(end))
        return found.value / 1e3

    # ------------------------------------------------------------------------------------------------------- memory

    def allocate(self, size: int, stream: int) -> int:
        """The address of so many bytes."""
        return self._handle(f"asking for {size:,} bytes", "cuMemAllocAsync", c_size_t(size), c_void_p(stream))

    def free(self, pointer: int, stream: int) -> None:
        """Give them back, when what is in line before is done."""
        self._call("giving memory back", "cuMemFreeAsync", c_void_p(pointer), c_void_p(stream))

    def pinned(self, size: int) -> int:
        """The address of so many bytes of this machine that stay where they are; 1: for all GPUs."""
        doing = f"pinning {size:,} bytes of this machine"
        return self._handle(doing, "cuMemHostAlloc", c_size_t(size), c_uint(1))

    def to_device(self, pointer: int, source: int, size: int, stream: int) -> None:
        """Copy bytes of this machine; pinned ones are read when it is their turn, others before this returns."""
        sizes = c_size_t(size), c_void_p(stream)
        self._call("copying to the GPU", "cuMemcpyHtoDAsync_v2", c_void_p(pointer), c_void_p(source), *sizes)

    def to_host(self, target: int, pointer: int, size: int, stream: int) -> None:
        """Copy bytes to this machine; who needs them waits."""
        sizes = c_size_t(size), c_void_p(stream)
        self._call("copying from the GPU", "cuMemcpyDtoHAsync_v2", c_void_p(target), c_void_p(pointer), *sizes)

    def between(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy bytes inside the GPU."""
        sizes = c_size_t(size), c_void_p(stream)
        self._call("copying on the GPU", "cuMemcpyDtoDAsync_v2", c_void_p(target), c_void_p(source), *sizes)

    # ------------------------------------------------------------------------------------------------------ kernels

    def load(self, cubin: bytes, entry: str) -> int:
        """A function of machine code, which stays loaded."""
        module = self._handle("loading a kernel", "cuModuleLoadData", cubin)
        return self._handle("loading a kernel", "cuModuleGetFunction", c_void_p(module), entry.encode())

    def allow_shared(self, function: int, size: int) -> None:
        """Let launches of a function ask for so much shared memory."""
        given = c_void_p(function), c_int(DYNAMIC_SHARED), c_int(size)
        self._call(f"asking for {size:,} bytes of shared memory", "cuFuncSetAttribute", *given)

    def launch(self, launch: Launch, stream: int, doing: Callable[[], str]) -> None:
        """Put a kernel in line."""
        self._call(doing, "cuLaunchKernel", *launch.words, c_void_p(stream), *launch.extra)

    # ------------------------------------------------------------------------------------------------------- graphs

    def graph(self, launches: Sequence[Launch]) -> tuple[int, list[int]]:
        """A graph of launches, one after the other, and the handles of its nodes."""
        doing = f"making a graph of {len(launches)} kernels"
        graph, nodes = self._handle(doing, "cuGraphCreate", c_uint(0)), list[int]()
        for launch in launches:
            before = c_void_p(nodes[-1] if nodes else None)
            given = c_void_p(graph), byref(before), c_size_t(len(nodes[-1:])), byref(launch.node)
            nodes.append(self._handle(doing, "cuGraphAddKernelNode_v2", *given))
        return graph, nodes

    def executable(self, graph: int) -> int:
        """What can be launched, of the nodes as they were added."""
        return self._handle("readying a graph", "cuGraphInstantiateWithFlags", c_void_p(graph), c_ulonglong(0))

    def change_node(self, executable: int, node: int, launch: Launch) -> None:
        """Give a node other arguments, from the next time on: what is in line already has its own."""
        given = c_void_p(executable), c_void_p(node), byref(launch.node)
        self._call("changing a graph", "cuGraphExecKernelNodeSetParams_v2", *given)

    def launch_graph(self, executable: int, stream: int) -> None:
        """Put all of its kernels in line."""
        self._call("launching a graph", "cuGraphLaunch", c_void_p(executable), c_void_p(stream))

    def forget_graph(self, graph: int, executables: Sequence[int]) -> None:
        """Give back what a graph takes; one that runs ends first."""
        for executable in executables:
            self._call("forgetting a graph", "cuGraphExecDestroy", c_void_p(executable))
        self._call("forgetting a graph", "cuGraphDestroy", c_void_p(graph))
