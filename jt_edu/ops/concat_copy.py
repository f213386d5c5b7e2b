"""Concat copy: many arrays behind each other, each copied to its place.

A choice between arrays (`concat.py`) fuses with what makes them, and asks for every element which array it is in. From
some ten arrays on, the asking costs more than the copying that it saves: stacking fifty arrays of 4,096 numbers takes
2.2 ms by choice and 0.75 ms by copy. So this one is written by hand: a loop over the arrays, which are a tuple. Where
all of them are computed in loops, and have one size, it never runs: each loop writes to its place
(`fusion/loop_fusion.py`).

    x0 (rows, n0)   x1 (rows, n1)   ...   ->   out (rows, n0 + n1 + ...)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from jt_edu.ir.index_expr import counter, size
from jt_edu.ir.meta_ops import Rule, Slabs, reindex
from jt_edu.ir.node import Shape
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.view import in_shape, view
from jt_edu.variable.var import Var

AT_ONCE = 64  # arrays that one kernel copies: the time to compile it grows with them


def slabs(parts: Sequence[Var], axis: int, shape: Shape) -> Var:
    """`parts`, of one dtype, behind each other along `axis`: the whole has `shape`."""
    rows, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    flat = [in_shape(p, rows, p.shape[axis] * inner) for p in parts]
    while len(flat) > 1:
        flat = [_copied(flat[k : k + AT_ONCE], rows) for k in range(0, len(flat), AT_ONCE)]
    return in_shape(flat[0], shape)


def _copied(parts: Sequence[Var], rows: int) -> Var:
    if len(parts) == 1:
        return parts[0]
    width = sum(p.shape[1] for p in parts)
    return _kernel(len(parts))(*parts, shape=(rows, width), dtype=parts[0].dtype, span=rows)


@cache
def _kernel(count: int) -> Callable[..., Var]:
    """The kernel for so many arrays; its gradients are the slabs of dout."""
    names = ", ".join(f"x{k}" for k in range(count))
    text = f"""
from jt_edu.backends.mathlib import at


def kernel(lo, hi, {names}, out):
    for row in range(lo, hi):
        begin = 0
        for x in ({names},):
            for j in range(x.shape[1]):
                out[at(row), at(begin + j)] = x[at(row), j]
            begin += x.shape[1]
"""
    return kernel("concat", text, [_part(k) for k in range(count)], weight=1, kind=Slabs)


def _part(k: int) -> Rule:
    def gradient(_: Var, dout: Var, *xs: Var) -> Any:
        begin = sum(x.shape[1] for x in xs[:k])
        return view(dout, reindex("slide", dout.shape, xs[k].shape, (counter(0), counter(1) + size(begin))))

    return gradient
