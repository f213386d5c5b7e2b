"""Custom kernel: kernels that are written by hand, where the meta-operators have no words for the work.

A scan needs the element before, sorting needs to exchange: neither is one expression per index. Such a kernel is text
like the generated ones, `kernel(lo, hi, *inputs, out)`; the chosen backend runs it, the trace shows it, threads share
it. Its gradient, if it has one, is Var arithmetic, and stands beside the text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import as_dtype, float32
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import check_shape
from jt_edu.ir.meta_ops import CONSTANT, Code, Rule
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import COPY
from jt_edu.variable.var import Var

HEAD = {  # what the text may use, where it does
    "math.": "import math", "np.": "import numpy as np", "scratch(": "from jt_edu.backends.mathlib import scratch",
}  # fmt: skip


class Rows(Code):
    """Row i of the answer is made of row i of each input, and of nothing else; `span` grows with the rows."""


class RowsByTables(Rows):
    """The same of the first input; the others are tables, which all rows read."""


def kernel(
    name: str, text: str, gradient: Sequence[Rule | None] = (), weight: int = 8, kind: type[Code] = Code,
    threads: str = "",
) -> Callable[..., Var]:  # fmt: skip
    """An operator from a kernel written by hand, under a name for pictures and messages.

    Args:
        text: numba-Python of `kernel(lo, hi, *inputs, out)`, which does the part [lo, hi) of its work. Arrays lie in
            row-major order, with the rank and dtype of their Vars (halves come as float32).
        gradient: for each input a rule (out, dout, *inputs) -> gradient, or None.
        weight: what one element of the output costs, in multiplications; decides whether threads are woken.
        kind: what a fuser may know of it, and a batch: `Rows`, where the work goes by rows.
        threads: the same for a GPU, see gpu_rows.py; without it a CPU does it there, too.

    Returns:
        op(*inputs, shape=..., dtype=..., span=1); [0, span) are pieces of work that do not depend on each other.

    Example:
        >>> RUNNING = kernel("running_sum", '''
        ... def kernel(lo, hi, x, out):
        ...     total = 0.0
        ...     for i in range(len(x)):
        ...         out[i] = total = total + x[i]
        ... ''')
        >>> RUNNING(x := array([1.0, 2.0, 3.0]), shape=x.shape, dtype=x.dtype).numpy()
        array([1., 3., 6.], dtype=float32)
    """
    clean, rules = _cleaned(name, text), tuple(gradient)

    @lru_cache(maxsize=1 << 12)
    def operator(span: int) -> Code:
        return kind(name, clean, span, weight, rules, threads)

    def op(*inputs: Var, shape: Any, dtype: Any, span: int = 1) -> Var:
        given = [as_array(x.cast(float32) if x.dtype.is_half else x) for x in inputs]
        wanted = as_dtype(dtype)
        computed, nodes = float32 if wanted.is_half else wanted, tuple(x.node for x in given)
        return Var._of(Node(operator(int(span)), nodes, check_shape(shape), computed)).cast(wanted)

    return op


def _cleaned(name: str, text: str) -> str:
    """The text without its indentation, and with the imports that it needs."""
    body = textwrap.dedent(text).strip() + "\n"
    if "def kernel(lo, hi" not in body:
        raise ArgumentError(f"{name} is made of a function kernel(lo, hi, *inputs, out)", repr(text.strip()[:40]))
    imports = [line for word, line in HEAD.items() if word in body]
    return "\n".join([*imports, "", "", body]) if imports else body


def as_array(x: Var) -> Var:
    """A number of the graph as an array of shape (); everything else is one already.

    Example:
        >>> as_array(array([1.0])).shape
        (1,)
    """
    return x.apply(COPY) if x.node.op is CONSTANT else x
