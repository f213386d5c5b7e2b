"""The numba backend: the text of a kernel, compiled for this CPU.

    source --(memory)--> program
           --(disk)----> machine code --> program        0.5 ms
           --(numba)---> machine code --> program        30 to 100 ms, and kept on disk

A kernel is compiled for one signature and releases the GIL. It has no parallel loops of its own: the pool gives each
thread its part of [lo, hi). `numba_pipeline` knows how to talk numba into that, `code_loader` how to run what comes
out, `kernel_cache` where files are, `thread_pool` how threads share. Numba is imported when a kernel is compiled, and
not where all are on the disk.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from types import BuiltinFunctionType
from typing import Any, TypeVar

import llvmlite
import numpy as np
from llvmlite import binding

from jt_edu.backends import Program, code_loader, define, epilogues, learner_bodies, thread_pool
from jt_edu.backends.kernel_cache import Store
from jt_edu.base import allocator
from jt_edu.base.errors import KernelError
from jt_edu.codegen.emit_python import Parameter, Source

_NOT_IMPORTED = (  # by any kernel: whoever tunes a cost model compiles nothing anew
    "autotuner", "depthwise", "depthwise_simd", "direct", "fft", "im2col_gemm", "indirect_gemm", "options", "packing",
    "pointwise", "selection", "standalone", "tuner_report", "winograd",
)  # fmt: skip
_COMPILES = (  # files beside this one that decide what comes out
    "code_loader", "cpython_entry", "epilogues", "llvm_array", "llvm_library", "llvm_number", "numba_pipeline",
    "spin_wait", "text_to_llvm",
)  # fmt: skip
_SETTINGS = (  # of numba's settings, those that change what it compiles
    "BOUNDSCHECK", "CPU_FEATURES", "CPU_NAME", "DEBUGINFO_DEFAULT", "DISABLE_JIT", "ENABLE_AVX",
    "LLVM_REFPRUNE_PASS", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USE_LLVMLITE_MEMORY_MANAGER",
)  # fmt: skip


SPIN = Source(  # says mine[0] = lo, unless lo is 0; returns when other[0] > hi, or after a moment: see spin_wait.py
    """from jt_edu.backends.spin_wait import look


def kernel(lo, hi, mine, other):
    if lo != 0:
        mine[0] = lo
    for _ in range(2000):
        if look(other) > hi:
            return
""",
    (Parameter("mine", "int64", 1), Parameter("other", "int64", 1)),
)
Answer = TypeVar("Answer")


class NumbaBackend:
    """Compiles with numba, and runs on the threads of the pool."""

    name = "numba"
    empty = staticmethod(allocator.pool.empty)

    def __init__(self) -> None:
        self._store = Store(f"numba-{_stamp()}")
        self._programs: dict[str, Program] = {}
        self._lock = threading.RLock()
        self._spins = False
        if hasattr(os, "register_at_fork"):  # a child must not inherit the lock from a thread that it does not have
            release = self._lock.release
            os.register_at_fork(before=self._lock.acquire, after_in_parent=release, after_in_child=release)

    def compile(self, source: Source) -> Program:
        """The program for a source: from memory, from disk, or compiled now."""
        known = self._programs.get(source.key)
        if known is not None:
            return known
        with self._lock:
            if source.key in self._programs:
                return self._programs[source.key]
            program = _apart(lambda: self._make(source))
            self._programs[source.key] = program._replace(compiled=False, seconds=0.0)
            return program

    def compile_apart(self, algorithm: Source, tail: Source | None) -> Program:
        """One program of an algorithm with a hook, which is compiled once, and the tail that is hung there."""
        begun = self.compile(algorithm)
        if tail is None:
            return begun._replace(call=epilogues.without(begun.call))
        with self._lock:
            address, seconds = _apart(lambda: epilogues.address_of(tail, self._store))
        return epilogues.program(begun, algorithm, address, seconds, tail)

    def has(self, source: Source) -> bool:
        """Whether it was compiled before, and need not be compiled now."""
        return source.key in self._programs or self._store.load(source.key) is not None

    def launch(
        self, program: Program, arguments: Sequence[Any], span: int, scratch: Sequence[int] = (), align: int = 1,
        depth: int = 1,
    ) -> None:  # fmt: skip
        """Run a kernel over [0, span): a block on each thread, or pieces of it on whichever is free."""
        count, call = thread_pool.threads(), program.call
        if scratch:
            count = min(count, *(len(arguments[p]) for p in scratch))
        if count == 1 and not scratch:
            call(0, span, *arguments)
            return
        blocks = thread_pool.pieces(span, count, align, depth if count > 1 else 1)
        if len(blocks) > 1 and not self._spins:
            self._spins, spin = True, self.compile(SPIN).call
            if isinstance(spin, BuiltinFunctionType):  # Python would spin under the GIL
                thread_pool.lend_spin(spin)
        count = min(count, len(blocks))
        if isinstance(program.call, epilogues.Joined):  # once for all pieces
            call, arguments = program.call.algorithm, program.call.bind(arguments)
        given = [arguments] * count
        if scratch:
            given = [[a[k, ...] if p in scratch else a for p, a in enumerate(arguments)] for k in range(count)]
        if depth == 1:
            thread_pool.run(lambda k: call(*blocks[k], *given[k]), count)
            return
        left = iter(blocks)  # two threads cannot have the same piece of it

        def work(k: int) -> None:
            for piece in left:
                call(*piece, *given[k])

        thread_pool.run(work, count)

    def _make(self, source: Source) -> Program:
        if any(word in source.text for word in ("np.dot(", "import minus_", "plus_ahb(")):
            resolve_name("jt_edu.backends.blas:provide")()  # here, because loading BLAS takes a while
        name, path = self._store.write_text(source)
        frozen = self._store.load(source.key)
        if frozen is not None:
            with suppress(Exception):  # whatever is wrong with it, the text is there
                return Program(code_loader.thaw(frozen), compiled=False, seconds=0.0, path=path)
        begin = time.thread_time()
        call, frozen = _build(source, name)
        if frozen is not None:
            self._store.save(source.key, frozen)
        return Program(call, compiled=True, seconds=time.thread_time() - begin, path=path)


def _apart(work: Callable[[], Answer]) -> Answer:
    """What `work` returns, in a thread of its own.

    Ctrl-C reaches the main thread only. LLVM calls back into Python while it compiles: an
    interrupt in such a call would be lost, or end the process. And numba keeps errors with the frames that led to them,
    which here are none of the learner's: those would keep all their arrays.
    """
    answer: Future[Answer] = Future()

    def do() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            answer.set_exception(error)

    threading.Thread(target=do, name="jt_edu compiles").start()
    try:
        return answer.result()
    except KeyboardInterrupt:
        wait([answer])  # who forks now must not find numba at work
        raise


def _build(source: Source, name: str) -> tuple[Callable[..., None], bytes | None]:
    function = define(source, name)
    function.__qualname__ = f"kernel_{source.key}"  # the name of its machine code, which must be its own
    try:
        build = resolve_name("jt_edu.backends.numba_pipeline:build")
        return build(  # type: ignore[no-any-return]
            function, signature(source), source.apart, text=source.text
        )
    except Exception as error:
        raise KernelError(f"numba compiles {name}", learner_bodies.told(error, source.text)) from error


def signature(source: Source) -> Any:
    """The types of a kernel's arguments, as numba names them."""
    numba = resolve_name("numba")
    types: list[Any] = [numba.int64, numba.int64]
    for p in source.parameters:
        scalar = numba.from_dtype(np.dtype(p.dtype))
        types.append(scalar if p.rank is None else numba.types.Array(scalar, p.rank, "C"))
    return numba.void(*types)


def _stamp() -> str:
    """Short name of everything besides the source that decides the machine code; see `numba_pipeline` for the flags."""
    here = Path(__file__).parent
    imported = [f for folder in ("mathlib", "convolve", "matmul") for f in sorted((here / folder).glob("*.py"))]
    files = [here / f"{name}.py" for name in _COMPILES]
    files += [f for f in imported if f.stem not in _NOT_IMPORTED]
    parts = [
        _numba(), llvmlite.__version__, sys.version, sys.maxsize, np.__version__, binding.get_process_triple(),
        binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), [f.read_bytes() for f in files],
    ]  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _numba() -> list[Any]:
    """Which numba it is, and how it is set, told without importing it: by its environment, its file, and its user."""
    found = find_spec("numba")
    home = Path(found.origin).parent if found is not None and found.origin else Path()
    told = [os.environ.get(f"NUMBA_{s}") for s in _SETTINGS]
    files = [f.read_bytes() for f in (home / "_version.py", Path(".numba_config.yaml")) if f.is_file()]
    if "numba" not in sys.modules:
        return [files, told, []]
    config, fresh = resolve_name("numba:config"), runpy.run_path(str(home / "core" / "config.py"))
    return [files, told, [(s, v) for s in _SETTINGS if (v := getattr(config, s, None)) != fresh.get(s)]]
