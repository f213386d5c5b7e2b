"""Probes: what happens beside a learner's kernel, in the process of the learner.

Each calls a function, or runs a text, and carries what came of it as plain values; what is right is for others to say.
"""

# mypy: disable-error-code="no-untyped-call, call-overload"
# numba is typed in part

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import jt_edu as jt
from jt_edu.backends import numba_cpu, numba_pipeline
from jt_edu.lens.kernel_edit import find
from jt_edu.ops import custom_kernel
from jt_exercises.kernels.cases import column_sum, models
from jt_exercises.kernels.tried import Seen, compiled, in_words, plain, tried, watched
from jt_exercises.timing import ratio

TIMES = 20  # that a kernel runs between two looks at the clock
Report = dict[str, Any]


def kernels_of_model(kernels_of: Callable[..., Any], model: int, words: str) -> Any:
    """In which kernels of a model a line is, as a learner's function says."""
    return kernels_of(models()[model], words)


def sums(kernel: Callable[..., Any], table: np.ndarray, lo: int, hi: int) -> Report:
    """The sums of columns that a kernel finds as plain Python, and how often it reads each array."""
    rows, columns = table.shape
    out, held = np.full(columns, np.nan, np.float32), np.full(hi - lo, np.nan)
    arguments = {"n0": rows, "a0": table, "out0": out, "acc0": held}
    return _report(lambda: watched(plain(kernel), lo, hi, arguments), out)


def race(kernel: Callable[..., Any], table: np.ndarray) -> Report:
    """The sums that a kernel finds when it is compiled, and how many times as fast as the framework's it is."""
    source, space, (rows, columns) = find(column_sum()), dict[str, Any](), table.shape
    exec(source.text, space)  # noqa: S102 - it is ours
    as_kernels_are = numba.njit(numba.void(*numba_cpu.signature(source).args), **numba_pipeline.FLAGS)
    theirs, ours = in_words(lambda: as_kernels_are(plain(kernel))), as_kernels_are(space["kernel"])
    out, held = np.full(columns, np.nan, np.float32), np.full(columns, np.nan)

    def run(compiled: Callable[..., Any]) -> None:
        for _ in range(TIMES):
            compiled(0, columns, rows, table, out, held)

    speed = ratio(lambda: run(ours), lambda: run(theirs))
    return {"out": out, "speed": speed}  # `theirs` ran last


def text_on_rows(_: Any, text: str, x: np.ndarray, lo: int, hi: int, by_numba: bool) -> Report:
    """What a text of kernel(lo, hi, x, out) writes into `out`."""
    out = np.full(x.shape, np.nan, np.float32)
    whole = with_imports(text)
    return _report(lambda: (compiled if by_numba else tried)(whole, lo, hi, [x, out]), out)


def with_imports(text: str) -> str:
    """The text as its operator runs it: with imports, where it needs some."""
    made = custom_kernel.kernel("leaky", text)(jt.array([[0.0]]), shape=(1, 1), dtype="float32")
    return str(getattr(made.node.op, "text"))  # noqa: B009 - of a kernel written by hand


def gradients(rule: Callable[..., Any], text: str, x: np.ndarray, dout: np.ndarray) -> Any:
    """A rule's answer, and the gradient that an operator with this rule has; where it is no Var, what it is."""
    with jt.flag_scope(backend="python"):  # what is wrong in it stops with an error, and takes nothing with it
        given, arrives = jt.array(x), jt.array(dout)
        made = custom_kernel.kernel("leaky", text, [rule])
        out = made(given, shape=x.shape, dtype=given.dtype, span=len(x))
        answer = rule(out, arrives, given)
        if answer is None:
            return None
        if not isinstance(answer, jt.Var) or answer.shape != x.shape:
            return {"kind": type(answer).__name__, "shape": tuple(getattr(answer, "shape", ()))}
        return {"rule": answer.numpy(), "operator": jt.grad((out * arrives).sum(), given).numpy()}


def _report(run: Callable[[], Seen | None], out: np.ndarray) -> Report:
    seen = run() or Seen()
    return {"out": out, "reads": dict(seen.reads), "writes": dict(seen.writes), "backwards": seen.backwards}
