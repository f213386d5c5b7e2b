"""C++: how would a kernel be written for nvcc, and how for the cards of AMD?

    print(cuda.source(twice, x, out))                     __global__ void twice(const float* x, long long x_n0, ...
    print(cuda.source(twice, x, out, language="hip"))     the same in HIP, which differs where a warp is meant

It is a text to read, or to compile. Nothing here compiles it: jt_edu runs a kernel from its text in Python. Types are
those of numba, found by going through the text (cpp_arithmetic.py).
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.errors import ArgumentError, JtError, KernelError
from jt_edu.base.source_text import remember
from jt_edu.base.trace import KernelRun
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda import cublas, cudnn
from jt_edu.cuda.arguments import kind_of
from jt_edu.cuda.cpp_arithmetic import Spelled
from jt_edu.cuda.cpp_expressions import Array, spelled
from jt_edu.cuda.cpp_function import Function, Library
from jt_edu.cuda.cpp_words import LANGUAGES, NAMES
from jt_edu.cuda.gpu_function import PRINTED
from jt_edu.cuda.launch import Kernel
from jt_edu.cuda.thread import Dim3
from jt_edu.runtime.plan import living

LONG = 2048  # a row of an example: some texts launch more kernels for long rows


class Launch(NamedTuple):
    """A kernel that is launched: with what, by how many threads in a block, and with how much more shared memory."""

    kernel: Kernel
    arguments: tuple[Any, ...]
    threads: int = 0
    shared: int = 0


def source(kernel: Any, *arguments: Any, language: str = "cuda") -> str:
    """The text of a kernel in C++.

    Args:
        kernel: a function under `cuda.jit`; or a kernel that a trace has seen on the backend cudasim.
        arguments: such as a launch would take. Their dtypes and numbers of axes count, and of whole numbers, whether
            one is negative; nothing is run. None for a kernel of a trace.
        language: "cuda" for nvcc, or "hip" for the cards of AMD.

    Raises:
        ArgumentError: it is no kernel, or the language another one.
        KernelError: something in the kernel cannot be written in C++ here; it names the line.

    Example:
        >>> @jt.cuda.jit
        ... def twice(x, out):
        ...     i = jt.cuda.grid(1)
        ...     if i < x.size:
        ...         out[i] = 2 * x[i]
        >>> x = np.zeros(3, "float32")
        >>> print(jt.cuda.source(twice, x, x), end="")
        __global__ void twice(const float* x, long long x_n0, float* out)
        {
            long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
            if (i < x_n0) {
                out[i] = 2 * x[i];
            }
        }
    """
    if isinstance(kernel, KernelRun):
        return generated(_found(kernel), language)
    if not isinstance(kernel, Kernel) or kernel.device:
        raise ArgumentError("source takes a kernel", repr(kernel), "a function under @cuda.jit")
    return written([Launch(kernel, arguments)], language)


def generated(text: Source, language: str = "cuda") -> str:
    """The C++ of kernels that were generated: a text whose `kernel(lo, hi, ...)` launches them."""
    if "@cuda.jit" not in text.text:
        way = 'jt.flags.backend = "cudasim", whose loops are kernels of a GPU'
        raise ArgumentError("C++ is written for kernels of a GPU", text.text.split("\n", 1)[0], way)
    return written(launched(text), language)


def launched(text: Source, given: Sequence[Any] = (), span: int = 1) -> list[Launch]:
    """The kernels that a generated text launches, each once: with what it is given, or else with examples.

    Raises:
        KernelError: the text, which a learner may have edited, stopped.
    """
    made: dict[Any, Launch] = {}
    space: dict[str, Any] = {"__name__": PRINTED + text.key}  # by which the compiler knows them again
    where = remember(text.text, f"<kernels {text.key[:10]}>")
    try:
        exec(compile(text.text, where, "exec"), space)  # noqa: S102 - ours
        _listen(space, made)
        space["kernel"](0, span, *(given or [example(p.dtype, p.rank) for p in text.parameters]))
    except JtError:
        raise
    except Exception as error:
        lines = [at.lineno or 1 for at in traceback.extract_tb(error.__traceback__) if at.filename == where]
        line = (lines or [getattr(error, "lineno", 1)])[-1]
        asked = f"a text launches kernels to its end; this one stopped in line {line}: {_line(text, line)}"
        raise KernelError(asked, f"{type(error).__name__}: {error}", "what stands there") from error
    return [*made.values()]


def _line(text: Source, number: int) -> str:
    return "".join(text.text.splitlines()[number - 1 : number]).strip()


def _listen(space: dict[str, Any], made: dict[Any, Launch]) -> None:
    """Put listeners in the place of kernels, and nothing in that of libraries, which would need a GPU."""
    for name, value in list(space.items()):
        if isinstance(value, Kernel) and not value.device:
            space[name] = _Listener(value, made)
        elif value is cublas.gemm or value is cudnn.convolve:
            space[name] = lambda *_, **__: None


def _found(run: KernelRun) -> Source:
    """The text that ran, with the types of its parameters, which the plan knows."""
    steps = (step for plan in living.values() for step in plan.steps if step.key == run.key)
    step = next(steps, None)
    if step is None:
        raise ArgumentError("the plan of a kernel is needed", f"none for {run.name}", "source while the trace is open")
    return replace(step.source, text=run.source)


def written(launches: Sequence[Launch], language: str = "cuda") -> str:
    """Kernels in one text, with all that they need above them."""
    if language not in LANGUAGES:
        raise ArgumentError("a kernel is written in cuda or in hip", repr(language), 'language="hip"')
    library = Library(LANGUAGES[language])
    kernels = []
    for kernel, arguments, *_ in launches:
        names = kernel.parameters(len(arguments))
        given = {name: _known(value, name) for name, value in zip(names, arguments, strict=True)}
        kernels.append(Function(library, kernel, spelled(kernel.__name__), given))
        kernels[-1].write()
    parts = [library.language.top, library.text(), *(k.text for k in kernels)]
    return "\n".join(part for part in parts if part)


def _known(value: Any, name: str) -> Array | Spelled:
    """What of an argument counts: dtype, and axes or sign."""
    dtype = getattr(value, "dtype", np.dtype(type(value)) if isinstance(value, (bool, int, float)) else None)
    if not isinstance(dtype, np.dtype) or dtype not in NAMES:
        found = f"{name}, {type(value).__name__}{f' of {dtype}' if dtype is not None else ''}"
        raise ArgumentError("a kernel in C++ takes arrays and numbers, whole or real", found, "float32, or int64")
    shape = getattr(value, "shape", ())
    if isinstance(value, (bool, int, float, np.generic)):
        return Spelled(name, dtype, dtype, natural=float(value) >= 0)
    return Array(name, dtype, shape)


class _Listener:
    """Stands in the place of a kernel, and notes with what it is launched."""

    def __init__(self, kernel: Kernel, made: dict[Any, Launch]) -> None:
        self.kernel, self.made = kernel, made

    def __getitem__(self, how: Any) -> Any:
        _, block, _, shared = (*how, 0, 0)[:4]
        threads = Dim3(*block).size if isinstance(block, tuple) else block

        def launch(*arguments: Any) -> None:
            """Note it, unless it was noted before."""
            key = self.kernel, tuple(map(kind_of, arguments))
            self.made.setdefault(key, Launch(self.kernel, arguments, threads, shared))

        return launch


def example(dtype: str, rank: int | None) -> Any:
    """An argument of a dtype, with so many axes of which the last is long."""
    kind = np.dtype(dtype)
    return kind.type(1) if rank is None else np.zeros((1,) * (rank - 1) + (LONG,) * (rank > 0), kind)
