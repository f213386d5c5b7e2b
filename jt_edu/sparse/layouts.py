"""Layouts: the same tensor stored in another way.

    coalesce        entries in order, those at one position added up
    to_dense        one ReindexReduce: each entry is added where it belongs
    to_sparse_csr   coalesced, and for each row where it begins; to_sparse_coo is the way back
    transpose, t, T the positions change places; no number moves

How many different positions there are depends on the numbers, so `coalesce` computes the positions at once, as `unique`
does. The entries stay a graph, so gradients flow through their sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jt_edu.base.dtypes import int64
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.index_expr import load
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import axis_of
from jt_edu.ops.cumulative import cumsum
from jt_edu.ops.histogram import counted
from jt_edu.ops.nonzero import unravel_index
from jt_edu.ops.pad import pad
from jt_edu.ops.sets import unique
from jt_edu.sparse.sparse_var import SparseVar, attach
from jt_edu.variable.var import Var


def put_together(where: Sequence[Var], entries: Var, lengths: Shape, reducer: str = "add") -> Var:
    """(*lengths, ...), the sums (or the like) of the entries (nnz, ...) that stand at the same positions.

    out[where[0][e], where[1][e], ..., j] += entries[e, j]
    """
    shape, axes = (*lengths, *entries.shape[1:]), range(len(where))
    return entries.reindex_reduce(reducer, shape, lambda e, *j: [*(load(k, [e]) for k in axes), *j], extras=where)


def numbered(x: SparseVar) -> Var:
    """(nnz,), the row-major number of each position."""
    lengths = x.shape[: x.sparse_dim()]
    if math.prod(lengths) >= 1 << 63:
        raise ShapeError("positions of a sparse tensor are numbered with 64 bits", f"sparse axes of {lengths}")
    number = x.where[0].cast(int64)
    for w, n in zip(x.where[1:], lengths[1:], strict=True):
        number = number * n + w
    return number


@attach
def coalesce(x: SparseVar) -> SparseVar:
    """The same tensor with its entries in row-major order, those at one position added up.

    Example:
        >>> jt.sparse_coo_tensor([[1, 0, 1]], [5.0, 6.0, 7.0]).coalesce().values().tolist()
        [6.0, 12.0]
    """
    if x.coalesced:
        return x
    lengths = x.shape[: x.sparse_dim()]
    numbers, group = unique(numbered(x), return_inverse=True)
    entries = put_together((group,), x.entries, numbers.shape).cast(x.dtype)
    return SparseVar(unravel_index(numbers, lengths), entries, x.shape, coalesced=True)


@attach
def to_dense(x: SparseVar) -> Var:
    """All entries, stored or 0, as a Var.

    Example:
        >>> jt.sparse_coo_tensor([[0, 1], [1, 0]], [7, 5]).to_dense().tolist()
        [[0, 7], [5, 0]]
    """
    return put_together(x.where, x.entries, x.shape[: x.sparse_dim()]).cast(x.dtype)


@attach
def to_sparse_coo(x: SparseVar) -> SparseVar:
    """The same entries with a position for each axis."""
    return replace(x, crow=None)


attach(to_sparse_coo, "to_sparse")


@attach
def to_sparse_csr(x: SparseVar) -> SparseVar:
    """A matrix row by row: products with it are faster than those of coordinates, and shared by threads.

    Example:
        >>> jt.sparse_coo_tensor([[2, 0], [1, 0]], [7, 5]).to_sparse_csr().crow_indices().tolist()
        [0, 1, 1, 2]
    """
    if x.sparse_dim() != 2 or x.dense_dim():
        asked, found = (
            "the layout sparse_csr is for matrices",
            f"{x.sparse_dim()} sparse and {x.dense_dim()} dense axes",
        )
        raise ArgumentError(asked, found, "the layout sparse_coo")
    if x.crow is not None:
        return x
    once = coalesce(x)
    return replace(once, crow=pad(cumsum(counted(once.where[0], x.shape[0])), (1, 0)))


@attach
def transpose(x: SparseVar, dim0: Any, dim1: Any) -> SparseVar:
    """Two sparse axes change places; the answer has the layout sparse_coo, and is not coalesced.

    Example:
        >>> jt.sparse_coo_tensor([[0], [1]], [7], (2, 3)).transpose(0, 1).shape
        (3, 2)
    """
    one, other = (axis_of("transpose", dim, x.ndim) for dim in (dim0, dim1))
    if max(one, other) >= x.sparse_dim():
        raise ArgumentError(
            "transpose exchanges sparse axes", f"axes {dim0} and {dim1} of {x.sparse_dim()} sparse ones"
        )
    order = [*range(x.ndim)]
    order[one], order[other] = other, one
    where = tuple(x.where[k] for k in order[: x.sparse_dim()])
    return SparseVar(where, x.entries, tuple(x.shape[k] for k in order), x.coalesced and one == other)


@attach
def t(x: SparseVar) -> SparseVar:
    """The transposed matrix."""
    if x.ndim != 2:
        raise ShapeError("t() is of a matrix", f"shape {x.shape}", "x.transpose(0, 1)")
    return transpose(x, 0, 1)


SparseVar.T = property(t)  # type: ignore[attr-defined]
