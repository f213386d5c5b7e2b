"""Repeat: the same numbers several times, as a whole or one by one. A Reindex that divides, or takes the remainder.

repeat, tile         the whole again:      0 1 2 0 1 2      out[i] = x[i % n]
repeat_interleave    each one again:       0 0 1 1 2 2      out[i] = x[i // times]
"""

from __future__ import annotations

from typing import Any

from jt_edu.dtypes import int64
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.graph import Node
from jt_edu.index import counter, load, size
from jt_edu.meta import reindex
from jt_edu.ops.code import kernel
from jt_edu.ops.view import axis_of, reshape, spelled, varargs, view, whole
from jt_edu.var import Var, as_var, method


@method
def repeat(x: Any, *times: Any) -> Var:
    """The whole of x, so many times along each axis (NumPy's tile, PyTorch's repeat).

    Example:
        >>> arange(2).repeat(2, 2).numpy()
        array([[0, 1, 0, 1],
               [0, 1, 0, 1]])
    """
    v, counts = as_var(x), tuple(whole("repeat", c) for c in varargs(times))
    if any(c < 0 for c in counts):
        raise ArgumentError("repeat counts are not negative", f"{counts}")
    rank = max(len(counts), v.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    wide = reshape(v, (1,) * (rank - v.ndim) + v.shape)
    where = tuple(
        counter(k) % size(max(n, 1)) if c != 1 else counter(k)
        for k, (n, c) in enumerate(zip(wide.shape, counts, strict=True))
    )
    shape = tuple(n * c for n, c in zip(wide.shape, counts, strict=True))
    return view(wide, reindex("repeat", wide.shape, shape, where))


@method
def repeat_interleave(x: Any, repeats: Any, dim: Any = None, *, axis: Any = None) -> Var:
    """Each element (each slice along `dim`) so many times, one after the other (NumPy's repeat).

    Args:
        repeats: a number, or an array with one number for each slice; an array is computed at once, since the shape of
            the result depends on it.
        dim: without it all elements are repeated, along one axis.

    Example:
        >>> repeat_interleave(array([5, 6]), 2).tolist(), repeat_interleave(array([5, 6]), [1, 3]).tolist()
        ([5, 5, 6, 6], [5, 6, 6, 6])
    """
    v, named = as_var(x), spelled("repeat_interleave", None, dim=dim, axis=axis)
    if named is None:
        v, named = reshape(v, -1), 0
    at, counts = axis_of("repeat_interleave", named, v.ndim), as_var(repeats)
    if counts.dtype.kind not in "iub" and counts.size:
        raise DtypeError("repeat_interleave takes whole numbers of times", f"dtype {counts.dtype}", "times.int64()")
    if counts.size == 1:
        return _evenly(v, at, int(counts.item()))
    if counts.shape != (v.shape[at],):
        raise ShapeError(
            f"repeat_interleave takes one number for each of {v.shape[at]} slices", f"repeats of shape {counts.shape}"
        )
    return _unevenly(v, at, counts.cast(int64))


def _evenly(x: Var, at: int, times: int) -> Var:
    if times < 0:
        raise ArgumentError("repeat counts are not negative", f"{times}")
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
""")  # fmt: skip


def _unevenly(x: Var, at: int, counts: Var) -> Var:
    """Look each slice up at the position that is written as often as it counts."""
    if counts.size and counts.min().item() < 0:
        raise ArgumentError("repeat counts are not negative", f"{counts.min().item()}")
    total = int(counts.sum().item())
    positions = REPEATED(counts, shape=(total,), dtype=int64).sync()
    shape = (*x.shape[:at], total, *x.shape[at + 1 :])
    where = tuple(load(0, [counter(k)]) if k == at else counter(k) for k in range(x.ndim))
    op = reindex("repeat_interleave", x.shape, shape, where)
    return Var._of(Node(op, (x.node, positions.node), shape, x.dtype))._inherit(x)


tile = method(repeat, "tile")
