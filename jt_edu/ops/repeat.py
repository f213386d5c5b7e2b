"""Repeat: the same numbers several times, as a whole or one by one: a Reindex.

repeat, tile         the whole again:      0 1 2 0 1 2      out[t, i] = x[i], and both axes as one
repeat_interleave    each one again:       0 0 1 1 2 2      out[i] = x[i // times]
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import int64
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.index_expr import Index, counter, load, size
from jt_edu.ir.meta_ops import reindex
from jt_edu.ir.node import Node
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import axis_of, whole
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import reshape, varargs, view
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.torch_keywords import spread
from jt_edu.variable.var import Var, as_var, method


@method
@template
@spread("repeats", "reps", "dims", "sizes", "repetitions")
def repeat(x: Any, *times: Any, axis: Any = ...) -> Var:
    """The whole of x, so many times along each axis (NumPy's tile, PyTorch's repeat).

    With `axis` it is NumPy's repeat, which is something else (decision 087): each slice so many times, one after the
    other, as by `repeat_interleave`. PyTorch's repeat has no `dim`, so there is none here.

    Args:
        times: one for each axis; with `axis` a number, or one for each slice.
        axis: along which axis slices are repeated; None: all numbers, along one axis.

    Example:
        >>> arange(2).repeat(2, 2).numpy()
        array([[0, 1, 0, 1],
               [0, 1, 0, 1]])
        >>> repeat(arange(2), 2, axis=0).tolist()
        [0, 0, 1, 1]
    """
    if axis is not ...:
        return repeat_interleave(x, times[0] if len(times) == 1 else times, axis)
    v, counts = as_var(x), tuple(whole("repeat", "times", c) for c in varargs(times))
    if any(c < 0 for c in counts):
        raise ArgumentError("repeat counts must not be negative", f"{counts}")
    rank = max(len(counts), v.ndim)
    return _repeated(reshape(v, (1,) * (rank - v.ndim) + v.shape), (1,) * (rank - len(counts)) + counts)


def _repeated(x: Var, counts: tuple[int, ...]) -> Var:
    """An axis for the times in front of each axis that is repeated: no remainder is taken for every element."""
    box: list[int] = []
    where: list[Index] = []
    for n, times in zip(x.shape, counts, strict=True):
        box += [n] if times == 1 else [times, n]
        where.append(counter(len(box) - 1))
    again = view(x, reindex("repeat", x.shape, tuple(box), tuple(where)))
    return reshape(again, tuple(n * times for n, times in zip(x.shape, counts, strict=True)))


@var_function()
def repeat_interleave(x: Any, repeats: Any, dim: Any = None) -> Var:
    """Each element (each slice along `dim`) so many times, one after the other (NumPy's repeat).

    Args:
        repeats: a number, or an array with one number for each slice; an array is computed at once, since the shape of
            the result depends on it.
        dim: without it all elements are repeated, along one axis.

    Example:
        >>> repeat_interleave(array([5, 6]), 2).tolist(), repeat_interleave(array([5, 6]), [1, 3]).tolist()
        ([5, 5, 6, 6], [5, 6, 6, 6])
    """
    v, named = as_var(x), dim
    if named is None:
        v, named = reshape(v, -1), 0
    at, counts = axis_of("repeat_interleave", named, v.ndim), as_var(repeats)
    if counts.dtype.kind not in "iub" and counts.size:
        raise DtypeError("repeat_interleave takes repeats as whole numbers", f"dtype {counts.dtype}", "times.int64()")
    if counts.size == 1:
        return _evenly(v, at, int(counts.item()))
    if counts.shape != (v.shape[at],):
        raise ShapeError(
            f"repeat_interleave takes one number for each of {v.shape[at]} slices", f"repeats of shape {counts.shape}"
        )
    return _unevenly(v, at, counts.cast(int64))


def _evenly(x: Var, at: int, times: int) -> Var:
    if times < 0:
        raise ArgumentError("repeat counts must not be negative", f"{times}")
    shape = (*x.shape[:at], x.shape[at] * times, *x.shape[at + 1 :])
    where = tuple(counter(k) // size(max(times, 1)) if k == at else counter(k) for k in range(x.ndim))
    return view(x, reindex("repeat_interleave", x.shape, shape, where))


REPEATED = kernel("repeated_positions", """
def kernel(lo, hi, counts, out):
    k = 0
    for i in range(len(counts)):
        for _ in range(counts[i]):
            if k < len(out):
                out[k] = i
            k += 1
""", threads=gpu_rows.scan(
    (("np.int64", "np.int64(0)"),), "np.int64(counts[i])", "return p0 + s0",
    "for k in range(s0 - counts[i], min(s0, len(out))):\n    out[k] = i", "counts",
))  # fmt: skip


def _unevenly(x: Var, at: int, counts: Var) -> Var:
    """Look each slice up at the position that is written as often as it counts."""
    if counts.size and counts.min().item() < 0:
        raise ArgumentError("repeat counts must not be negative", f"{counts.min().item()}")
    total = int(counts.sum().item())
    positions = REPEATED(counts, shape=(total,), dtype=int64).sync()
    shape = (*x.shape[:at], total, *x.shape[at + 1 :])
    where = tuple(load(0, [counter(k)]) if k == at else counter(k) for k in range(x.ndim))
    op = reindex("repeat_interleave", x.shape, shape, where)
    return Var._of(Node(op, (x.node, positions.node), shape, x.dtype))


tile = method(repeat, "tile")
