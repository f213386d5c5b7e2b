"""Launch: how is a kernel started, and what is known of it afterwards?

    @cuda.jit
    def twice(x, out): ...

    twice[2, 32](x, out)                       2 blocks of 32 threads; KernelError, if something is wrong with it
    run = cuda.simulate(twice, 2, 32, x, out)  the same, and says what it found: run.findings, run.trips

Without a GPU a kernel runs in an interpreter: one thread after the other, always in the same order, with a look at each
access. `simulate` is always that. With a GPU, `kernel[blocks, threads]` compiles and launches it there (on_card.py).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jt_edu.base.did_you_mean import suggest
from jt_edu.base.errors import ArgumentError, KernelError
from jt_edu.base.plural import plural
from jt_edu.cuda import on_card
from jt_edu.cuda.device_array import HostArray, on_host
from jt_edu.cuda.findings import Finding
from jt_edu.cuda.gpu_function import GpuFunction
from jt_edu.cuda.kernel_names import has_room
from jt_edu.cuda.memory import NUMBERS, Array, Memory, current
from jt_edu.cuda.occupancy import MOST_THREADS, OF_SHARED, whole
from jt_edu.cuda.run import SECONDS, STEPS, Ended, Run
from jt_edu.cuda.scheduler import run_block
from jt_edu.cuda.thread import WARPSIZE, Block, Dim3, Thread, Warp
from jt_edu.cuda.translator import Program, translate

DEEP = 64  # threads of a block along z, as many as a card has room for
ALONG_X, ALONG_Y = 2**31 - 1, 65_535  # blocks along x, and along y or z, that every GPU has
SIZES = 1000  # of launches that a kernel remembers


def shown(blocks: Iterable[Dim3], kernel: str, total: int) -> Iterable[Dim3]:  # noqa: ARG001 - for who tells it
    """Go over the blocks of a launch: lens/simulation_progress.py, which tells how far it is, puts itself here."""
    return blocks


def _go(run: Run, arguments: Sequence[Any], names: Sequence[str]) -> Run:
    grid, block = run.grid, run.block
    given = _seen(arguments, names)
    run.until = time.monotonic() + SECONDS
    before, current.run = current.run, run
    try:
        with np.errstate(all="ignore"):
            for number, index in enumerate(shown(_places(grid), run.program.name, grid.size)):
                _in_time(run, number)
                here = Block(number, index)
                warps = [Warp(w) for w in range(-(-block.size // WARPSIZE))]
                threads = [
                    Thread(run, here, warps[k // WARPSIZE], k, place) for k, place in enumerate(_in_block(block))
                ]
                run_block(threads, lambda thread: run.program.run(thread, *given), run)
    except Ended:
        pass
    finally:
        current.run = before
    return run


def _in_time(run: Run, done: int) -> None:
    if time.monotonic() > run.until:
        asked = f"the interpreter gives a launch {SECONDS:g} seconds"
        found = f"{done:,} of {run.grid.size:,} blocks in them\n{run}"
        raise KernelError(asked, found, "fewer blocks, or smaller arrays")


def _places(extent: Dim3) -> Iterator[Dim3]:
    """All places of a grid or a block, x first."""
    return (Dim3(x, y, z) for z in range(extent.z) for y in range(extent.y) for x in range(extent.x))


@lru_cache(maxsize=8)
def _in_block(block: Dim3) -> tuple[Dim3, ...]:
    return tuple(_places(block))  # kept: all blocks have the same ones, and most launches


def _seen(arguments: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Arguments as a kernel sees them; arrays that overlap have one history."""
    seen = [_memory(value, name) for value, name in zip(arguments, names, strict=True)]
    spans = [(m.values.__array_interface__["data"][0], m) for m in seen if isinstance(m, Memory) and m.values.size]
    begin, end, first = 0, 0, None
    for start, memory in sorted(spans, key=lambda span: span[0]):
        if first is None or start >= end:
            begin, end, first = start, start, memory
        size = memory.values.itemsize
        if size != first.values.itemsize or (start - begin) % size:
            found = f"{first.values.dtype} and {memory.values.dtype}"
            raise ArgumentError(
                f"{first.name} and {memory.name}, which overlap, have numbers of one size", found, "a copy"
            )
        memory.history, memory.first = first.history, (start - begin) // size
        end = max(end, start + memory.values.nbytes)
    return [Array(m, value.shape) if isinstance(m, Memory) else m for m, value in zip(seen, arguments, strict=True)]


def _memory(value: Any, name: str) -> Any:
    """The numbers of an argument; a number is itself."""
    if isinstance(value, HostArray):
        return Memory(name, "global", value.values.reshape(-1), value.written)
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        if not value.flags.c_contiguous:
            found = "gaps between them, or columns first"
            raise ArgumentError(f"{name} is an array whose numbers are in one row", found, "a copy of it")
        return Memory(name, "global", value.reshape(-1), np.ones(value.size, bool))
    if isinstance(value, (bool, int, float, complex, np.number, np.bool_, tuple)):
        return value
    found = f"{name}, {type(value).__name__}{f' of {value.dtype}' if isinstance(value, np.ndarray) else ''}"
    way = "x.astype(np.float32)" if isinstance(value, np.ndarray) else "np.array(x), or cuda.to_device(x)"
    raise ArgumentError("a kernel takes arrays and numbers", found, way)


class Kernel(GpuFunction):
    """A function of one thread. `kernel[blocks, threads](...)` runs it for many.

    Args:
        function: what one thread does.
        device: other kernels call it, and nobody launches it.

    Raises:
        ArgumentError: sizes or arguments that make no sense.
        KernelError: the interpreter found something that is wrong with it, or it stopped with an error.

    Example:
        >>> jt.cuda.jit(lambda x: None)
        <kernel <lambda>>
    """

    def __init__(self, function: Callable[..., Any], device: bool = False) -> None:
        super().__init__(function, device)
        self._program: Program | None = None
        self._launches: dict[Any, Callable[..., None]] = {}  # by sizes: to look at them takes as long as a launch

    @property
    def program(self) -> Program:
        """What the interpreter runs; made once."""
        if self._program is None:
            self._program = translate(self.function, _device_run)
        return self._program

    def start(self, *given: Any, **named: Any) -> Any:
        """What one thread does with these arguments, of which it is the first: a generator of waits."""
        return self.program.run(*given, **named)

    def __repr__(self) -> str:
        return f"<{'device function' if self.device else 'kernel'} {self.__name__}>"

    def __call__(self, *arguments: Any) -> Any:
        """Refuse: a kernel is launched, and a device function is called by kernels."""
        raise self._misused("a plain call" if current.run is None else "a call by a kernel")

    def _misused(self, found: str) -> KernelError:
        asked = f"{self.__name__} is a {'device function: kernels call it' if self.device else 'kernel'}"
        way = f"a kernel that calls {self.__name__}" if self.device else f"{self.__name__}[blocks, threads](...)"
        if current.run is not None and not self.device:
            way = "@cuda.jit(device=True) above it: such a function is called by kernels"
        return KernelError(asked, found, way)

    def __getitem__(self, how: Any) -> Callable[..., None]:
        """Launch it: `kernel[blocks, threads]`; as in numba also a stream, 0, and bytes of shared memory."""
        try:
            return self._launches[how]
        except KeyError:
            if len(self._launches) >= SIZES:
                self._launches.clear()
            found = self._launches[how] = self._launch(how)
        except TypeError:  # a list of sizes
            found = self._launch(how)
        return found

    def _launch(self, how: Any) -> Callable[..., None]:
        if self.device:
            raise self._misused("a launch")
        where = how if isinstance(how, tuple) else (how,)
        if not 2 <= len(where) <= 4:
            raise ArgumentError(f"{self.__name__}[blocks, threads] takes two sizes", f"{how}", "kernel[4, 32]")
        grid, block, stream, shared = (*where, 0, 0)[:4]
        if stream is not None and (not isinstance(stream, int) or stream):
            raise ArgumentError("a launch here has the stream 0", f"{stream!r:.40}", "0: it waits for those before")
        sizes = _size("blocks", grid), _block(block), whole(OF_SHARED, shared, 0)

        def launch(*arguments: Any, **named: Any) -> None:
            """Run it; KernelError, if something is wrong with it."""
            if named:
                raise ArgumentError(
                    "a launch takes its arguments in order", f"{'=, '.join(named)}=", "x in place of x=x"
                )
            if on_card.has(arguments):
                on_card.launch(self, *sizes, arguments)
                return
            run = simulate(self, grid, block, *arguments, shared=shared)
            if run.findings:
                raise _not_right(self.__name__, run.findings)

        return launch


suggest(Kernel, "a kernel", "kernel")


def _not_right(name: str, findings: Sequence[Finding]) -> KernelError:
    """The error that says what is wrong, and how the first of it is mended."""
    found = "\n".join([f"{plural(len(findings), 'mistake')}:", *map(str, findings)])
    return KernelError(f"{name} is not right", found, findings[0].cure)


def _device_run(value: Any) -> Callable[..., Any] | None:
    """What runs a device function. It is translated when it is first called, for it may call itself."""
    if not isinstance(value, Kernel) or not value.device:
        return None
    return value.start


def jit(function: Any = None, *, device: bool = False) -> Any:
    """Make a kernel of a function that says what one thread does. Also a decorator, with or without brackets.

    Args:
        function: it takes arrays and numbers, and returns nothing; a device function may return something.
        device: True for a function that kernels call.

    Raises:
        ArgumentError: it is no function.

    Example:
        >>> @jt.cuda.jit
        ... def twice(x, out):
        ...     i = jt.cuda.grid(1)
        ...     if i < x.size:
        ...         out[i] = 2 * x[i]
        >>> out = np.zeros(3)
        >>> twice[2, 32](np.array([1.0, 2.0, 3.0]), out)
        >>> out.tolist()
        [2.0, 4.0, 6.0]

    Source: numba's documentation, "CUDA kernels".
    """
    if function is None:
        return lambda later: jit(later, device=device)
    if not inspect.isfunction(function):
        raise ArgumentError("cuda.jit takes a function", repr(function), "@cuda.jit before a def")
    return Kernel(function, device)


def simulate(kernel: Kernel, grid: Any, block: Any, *arguments: Any, shared: int = 0, steps: int = STEPS) -> Run:
    """Run a kernel in the interpreter, and say what is wrong with it.

    Args:
        kernel: under `cuda.jit`.
        grid: how many blocks: a number, or up to three.
        block: how many threads a block has: the same.
        arguments: what the kernel takes. NumPy arrays are changed in place.
        shared: bytes for `cuda.shared.array(0, ...)`, whose size a launch says.
        steps: how many iterations the loops of one thread may make, all together.

    Returns:
        `findings`, what is `slow`, `snapshots` of each block at each barrier, and `trips` to memory.

    Raises:
        ArgumentError: sizes or arguments that make no sense.
        KernelError: the kernel stopped with an error.

    Example:
        >>> @jt.cuda.jit
        ... def swapped(x):
        ...     i = jt.cuda.grid(1)
        ...     x[i] = x[1 - i]
        >>> [(f.kind, f.line, f.threads) for f in jt.cuda.simulate(swapped, 1, 2, np.zeros(2)).findings]
        [('race', 4, ((0, 1), (0, 0)))]
    """
    if not isinstance(kernel, Kernel) or kernel.device:
        raise ArgumentError("simulate takes a kernel", repr(kernel), "a function under @cuda.jit")
    shared = whole(OF_SHARED, shared, 0)
    has_room(0, shared, " in a launch")  # a GPU says what it has itself
    run = Run(kernel.program, _size("blocks", grid), _block(block), shared, steps)
    with on_host(arguments) as given:
        return _go(run, given, kernel.parameters(len(arguments)))


def _size(what: str, size: Any) -> Dim3:
    sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if not 0 < len(sizes) < 4 or any(not isinstance(s, (int, np.integer)) or s is True or s < 1 for s in sizes):
        raise ArgumentError(f"a number of {what} is a whole number above 0, or up to three", f"{size}", "32, or (8, 4)")
    if sizes[0] > ALONG_X:
        raise ArgumentError(f"a GPU has up to {ALONG_X:,} {what} along x", f"{size}", "a loop in each thread")
    if max(sizes[1:], default=0) > ALONG_Y:
        raise ArgumentError(f"a GPU has up to {ALONG_Y:,} {what} along y and z", f"{size}", "the long side along x")
    return Dim3(*map(int, sizes))


def _block(size: Any) -> Dim3:
    found = _size("threads", size)
    if found.size > MOST_THREADS:
        raise ArgumentError(f"a block has at most {MOST_THREADS} threads", f"{size}", "more blocks of fewer threads")
    if found.z > DEEP:
        raise ArgumentError(f"a block has at most {DEEP} threads along z", f"{size}", "more of them along x")
    return found
