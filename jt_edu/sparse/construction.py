"""Construction: sparse tensors from positions and numbers, and from dense Vars.

    sparse_coo_tensor   a position for each axis and entry          sparse_array: Jittor's name
    sparse_csr_tensor   where each row begins, and a column for each entry
    to_sparse, to_sparse_csr   what is not 0 in a Var

Positions are checked before a kernel relies on them: at once if they are known, else as soon as they are computed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.base.dtypes import int64
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import check_shape, short
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import choice, whole, yes_or_no
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.dtype_rules import checked
from jt_edu.ops.index import index_select
from jt_edu.ops.nonzero import positions, unravel_index
from jt_edu.ops.reduce import any
from jt_edu.sparse.layouts import numbered
from jt_edu.sparse.layouts import to_sparse_csr as row_by_row
from jt_edu.sparse.sparse_var import SparseVar, sparse_coo, sparse_csr
from jt_edu.variable.var import Var, as_var

ROWS = kernel("csr_rows", """
from jt_edu.base.errors import ArgumentError
def kernel(lo, hi, crow, col, out):
    n, nnz = len(crow), len(col)
    if crow[0] != 0 or crow[n - 1] != nnz:
        raise ArgumentError("crow_indices go from 0 to the number of entries", "other numbers at its ends")
    for i in range(n):
        out[i] = crow[i]
    for row in range(n - 1):
        if crow[row] > crow[row + 1] or crow[row + 1] > nnz:
            raise ArgumentError("crow_indices never fall", "a row that ends before it begins")
        for e in range(crow[row], crow[row + 1]):
            if e > crow[row] and col[e] <= col[e - 1]:
                raise ArgumentError("the columns of a row rise", "others", "sparse_coo_tensor(...).to_sparse_csr()")
            out[n + e] = row
""")  # fmt: skip


def sparse_coo_tensor(
    indices: Any, values: Any, size: Any = None, dtype: Any = None, is_coalesced: Any = None,
    check_invariants: Any = None,
) -> SparseVar:  # fmt: skip
    """A sparse tensor from positions and entries; those at the same position add up.

        out[indices[0, e], indices[1, e], ...] += values[e]

    Args:
        indices: (sparse axes, nnz), whole numbers from 0; a Var, an array, or a list with a row for each axis.
        values: (nnz,), or (nnz, ...), whose other axes become dense ones.
        size: the shape; without it the smallest one that has room, for which the positions are computed at once.
        dtype: of the entries; by default that of `values`.
        is_coalesced: a promise that positions are in row-major order, each once.
        check_invariants: True computes the positions now, and checks them and the promise.

    Raises:
        RangeError: a position outside, or below 0; now, or when a kernel is about to read it.

    Example:
        >>> jt.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], [7.0, 5.0, 1.0], (2, 3)).to_dense().tolist()
        [[0.0, 7.0, 0.0], [6.0, 0.0, 0.0]]
    """
    rows, entries = [_positions("indices", part) for part in indices], _entries(values, dtype)
    name, shape = "sparse_coo_tensor", _size_of(rows, entries, size)
    where = tuple(checked(name, w, 0, n) for w, n in zip(rows, shape, strict=False))
    once = is_coalesced is not None and yes_or_no(name, "is_coalesced", is_coalesced)
    made = SparseVar(where, entries, shape, once)
    if check_invariants is not None and yes_or_no(name, "check_invariants", check_invariants):
        for w in where:
            w.sync()
        if once and (np.diff(numbered(made).numpy()) <= 0).any():
            raise ArgumentError("a coalesced tensor has positions in order, each once", "others", "x.coalesce()")
    return made


def _size_of(rows: list[Var], entries: Var, size: Any) -> Shape:
    """The shape that was asked for, or the smallest one; it has to fit the positions and the entries."""
    if not rows or {len(w) for w in rows} != {len(entries)}:
        found = f"indices {(len(rows), *map(len, rows[:1]))} and values {entries.shape}"
        raise ShapeError("sparse_coo_tensor takes indices (axes, nnz) and values (nnz, ...)", found)
    tail = entries.shape[1:]
    shape = (*map(_room, rows), *tail) if size is None else check_shape(size)
    if shape[len(rows) :] != tail or len(shape) != len(rows) + len(tail):
        found = f"{len(rows)} rows of indices and values {entries.shape} for a size of {shape}"
        raise ShapeError("a size has a length for each row of indices, and then those of one entry", found)
    return shape


def sparse_array(indices: Any, values: Any, shape: Any) -> SparseVar:
    """Jittor's name for `sparse_coo_tensor`.

    Example:
        >>> jt.sparse.sparse_array([[0], [1]], [7], (1, 2)).to_dense().tolist()
        [[0, 7]]
    """
    return sparse_coo_tensor(indices, values, shape)


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, dtype: Any = None, check_invariants: Any = None
) -> SparseVar:
    """A sparse matrix row by row: row i has the columns and values from crow_indices[i] to before crow_indices[i + 1].

    Args:
        crow_indices: (rows + 1,), from 0 to nnz.
        col_indices: (nnz,), whole numbers from 0, rising in each row.
        values: (nnz,)
        size: the shape; without it as many columns as there is room for, for which they are computed at once.
        dtype: of the entries; by default that of `values`.
        check_invariants: True computes the positions now, and so checks them; else that is done when they are read.

    Raises:
        RangeError: a column outside.
        ArgumentError: rows that do not follow each other, or columns that do not rise.

    Example:
        >>> jt.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [7.0, 5.0, 6.0]).to_dense().tolist()
        [[0.0, 7.0, 0.0], [5.0, 0.0, 6.0]]
    """
    name, entries = "sparse_csr_tensor", _entries(values, dtype)
    crow, col = _positions("crow_indices", crow_indices), _positions("col_indices", col_indices)
    shape = (max(len(crow) - 1, 0), _room(col)) if size is None else check_shape(size)
    if entries.shape != col.shape or len(shape) != 2 or len(crow) != shape[0] + 1:
        found = f"{len(crow)}, {len(col)} and {entries.shape} for a size of {shape}"
        raise ShapeError("sparse_csr_tensor takes (rows + 1,) row ends, and (nnz,) columns and values", found)
    col = checked(name, col, 0, shape[1])
    both = ROWS(crow, col, shape=(len(crow) + len(col),), dtype=int64)
    crow, rows = both[: len(crow)], both[len(crow) :]
    if check_invariants is not None and yes_or_no(name, "check_invariants", check_invariants):
        rows.sync()
    return SparseVar((rows, col), entries, shape, coalesced=True, crow=crow)


def _positions(name: str, given: Any) -> Var:
    """One row of positions as whole numbers."""
    v = as_var(given)
    if v.ndim != 1 or (v.size and v.dtype.kind not in "iu"):
        raise DtypeError(f"{name} are whole numbers in rows", f"{v.dtype} of shape {v.shape}", "x.int64()")
    return v.cast(int64)


def _entries(values: Any, dtype: Any) -> Var:
    v = as_var(values)
    if v.ndim == 0:
        raise ShapeError("values have an entry for each position: (nnz, ...)", short(values), "[x]")
    return v if dtype is None else v.cast(dtype)


def _room(row: Var) -> int:
    """The smallest length of an axis in which these positions are."""
    return max(int(row.numpy().max(initial=-1)) + 1, 0)


def to_sparse(x: Any, sparse_dim: Any = None, *, layout: Any = None) -> SparseVar:
    """The entries of x that are not 0. x is computed at once to find them; gradients flow to x.

    Args:
        sparse_dim: how many axes, from the first one, are sparse; the others stay dense. All by default.
        layout: "sparse_coo", which is the default, or "sparse_csr".

    Example:
        >>> array([[0.0, 7.0], [5.0, 0.0]]).to_sparse().indices().tolist()
        [[0, 1], [1, 0]]
    """
    v = as_var(x)
    if v.ndim == 0:
        raise ShapeError("to_sparse needs an axis", "a single number", "x.reshape(1)")
    d = v.ndim if sparse_dim is None else whole("to_sparse", "sparse_dim", sparse_dim, 1, v.ndim)
    wanted = sparse_coo if layout is None else choice("to_sparse", "layout", layout, (sparse_coo, sparse_csr))
    lengths = v.shape[:d]
    found = positions(v != 0 if d == v.ndim else any(v != 0, tuple(range(d, v.ndim))))
    entries = index_select(v.reshape(math.prod(lengths), *v.shape[d:]), 0, found)
    made = SparseVar(unravel_index(found, lengths), entries, v.shape, coalesced=True)
    return row_by_row(made) if wanted == sparse_csr else made


def to_sparse_csr(x: Any) -> SparseVar:
    """The entries of a matrix that are not 0, row by row.

    Example:
        >>> array([[0.0, 7.0], [5.0, 0.0]]).to_sparse_csr().col_indices().tolist()
        [1, 0]
    """
    return row_by_row(to_sparse(x))
