"""Products: a sparse matrix times a dense one, and what is made of it.

    sparse_coo @ dense   out[row[e], j] += values[e] * dense[column[e], j]     two loads: a Reindex, a ReindexReduce
    sparse_csr @ dense   the same sums, row by row: a kernel by hand, whose rows threads share
    sparse @ sparse      each entry (i, k) meets the entries of row k
    sampled_addmm        entries of a dense product, at the positions of a sparse matrix

No product is stored for each entry and column: kernels read where they need it. The gradient of the entries is a
sampled product, that of the dense side a product with the transposed matrix; neither is larger than what it belongs to.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import contracted, promote
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import factor
from jt_edu.ops.create import arange
from jt_edu.ops.cumulative import cumsum
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.index import index_select
from jt_edu.ops.reduce import sum
from jt_edu.ops.repeat import repeat_interleave
from jt_edu.sparse.layouts import coalesce, put_together, t, to_sparse_csr
from jt_edu.sparse.sparse_var import SparseVar, attach, is_sparse
from jt_edu.variable.var import Var, as_var


def spread(rows: Var, columns: Var, entries: Var, dense: Var, length: int) -> Var:
    """(length, ...), the sums of entries[e] * dense[columns[e]] at rows[e]."""
    terms = index_select(dense, 0, columns)
    return put_together((rows,), entries.reshape(len(entries), *[1] * (dense.ndim - 1)) * terms, (length,))


def sampled(rows: Var, columns: Var, x: Var, y: Var) -> Var:
    """(nnz,), the products of x[rows[e]] and y[columns[e]], summed over what other axes they have."""
    terms = index_select(x, 0, rows) * index_select(y, 0, columns)
    return terms if terms.ndim == 1 else sum(terms, 1)


GRADIENTS = (
    None,
    None,
    None,
    lambda out, dout, crow, rows, columns, entries, dense: sampled(rows, columns, dout, dense.conj()),
    lambda out, dout, crow, rows, columns, entries, dense: spread(columns, rows, entries.conj(), dout, len(dense)),
)
HEAD = """
from jt_edu.base.errors import RangeError
def kernel(lo, hi, crow, rows, columns, entries, dense, out):
    n = np.uint64(len(dense))  # numbers below 0 are above it
    for row in range(lo, hi):
        first, last = crow[row], crow[row + 1]
        if not 0 <= first <= last <= len(columns):
            raise RangeError("rows of a sparse matrix follow each other", "other numbers in crow_indices")
"""
OUTSIDE = 'raise RangeError("columns of a sparse matrix are inside it", "others in col_indices")'
BY_ROWS = {  # axes of the dense side -> the kernel
    1: kernel("csr_times_vector", HEAD + f"""
        total = entries[:1].sum() * 0
        for e in range(np.uint64(first), np.uint64(last)):
            k = np.uint64(columns[e])
            if k >= n:
                {OUTSIDE}
            total += entries[e] * dense[k]
        out[row] = total
""", GRADIENTS),
    2: kernel("csr_times_matrix", HEAD + f"""
        sums, e = out[row], np.uint64(first)
        sums[:] = 0
        if (last - first) % 2:
            k = np.uint64(columns[e])
            if k >= n:
                {OUTSIDE}
            a, line = entries[e], dense[k]
            for j in range(len(line)):
                sums[j] = a * line[j]
            first += 1
        for e in range(np.uint64(first), np.uint64(last), 2):  # sums are read and written once for two entries
            f = e + np.uint64(1)
            k, m = np.uint64(columns[e]), np.uint64(columns[f])
            if k >= n or m >= n:
                {OUTSIDE}
            a, b, line, other = entries[e], entries[f], dense[k], dense[m]
            for j in range(len(line)):
                sums[j] += a * line[j] + b * other[j]
""", GRADIENTS),
}  # fmt: skip


@attach
def matmul(x: SparseVar, y: Any) -> Any:
    """A sparse matrix times a vector, a matrix, or another sparse matrix: x @ y.

        out[i, j] = sum over k of x[i, k] * y[k, j]

    Returns:
        A Var; of two sparse matrices a sparse one.

    Raises:
        ShapeError: no two matrices, or lengths that differ.

    Example:
        >>> a = jt.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0])
        >>> (a @ array([[1.0], [10.0]])).tolist(), (a @ a).to_dense().tolist()
        ([[20.0], [3.0]], [[6.0, 0.0], [0.0, 6.0]])
    """
    other = _given(y)
    if x.sparse_dim() != 2 or x.dense_dim() or other.ndim not in (1, 2) or other.shape[0] != x.shape[1]:
        asked = "a sparse matrix (n, m) is multiplied with (m,) or (m, k)"
        raise ShapeError(asked, f"{_told(x)} and {_told(other)}", "x.t(), or y.reshape(m, -1)")
    if isinstance(other, SparseVar):
        return _of_two(x, other)
    dtype, n, (rows, columns) = contracted(promote(x.dtype, other.dtype)), x.shape[0], x.where
    entries, dense = x.entries.cast(dtype), other.cast(dtype)
    if x.crow is None:
        return spread(rows, columns, entries, dense, n).cast(dtype)
    shape = (n, *dense.shape[1:])
    return BY_ROWS[dense.ndim](x.crow, rows, columns, entries, dense, shape=shape, dtype=dtype, span=n)


def _given(x: Any) -> Any:
    return x if isinstance(x, SparseVar) else as_var(x)


def _told(x: Any) -> str:
    dense = x.dense_dim() if isinstance(x, SparseVar) else 0
    return f"shape {x.shape}" + f" with {dense} dense axes" * bool(dense)


def _of_two(x: SparseVar, y: SparseVar) -> SparseVar:
    """Each entry of x meets the entries in the row of y that its column names; how many is computed at once."""
    if y.sparse_dim() != 2:
        raise ShapeError("a sparse matrix is multiplied with a sparse matrix", f"{y.sparse_dim()} sparse axes")
    other, (rows, columns) = to_sparse_csr(y), x.where
    crow = other.crow_indices()
    begin = index_select(crow, 0, columns)
    many = index_select(crow, 0, columns + 1) - begin
    mine = repeat_interleave(arange(x.nnz), many)
    first = begin - cumsum(many) + many  # of the row of y, less the number of the first pair
    theirs = arange(len(mine)) + index_select(first, 0, mine)
    entries = index_select(x.entries, 0, mine) * index_select(other.entries, 0, theirs)
    where = (index_select(rows, 0, mine), index_select(other.where[1], 0, theirs))
    product = SparseVar(where, entries, (x.shape[0], y.shape[1]))
    return product if x.crow is None else to_sparse_csr(product)


attach(matmul, "__matmul__")


def _from_right(x: SparseVar, y: Any) -> Var:
    """y @ x for a dense y: the transposed product of the transposed matrices."""
    other = as_var(y)
    if x.sparse_dim() != 2 or x.dense_dim() or other.ndim not in (1, 2) or other.shape[-1] != x.shape[0]:
        raise ShapeError("(n,) or (k, n) is multiplied with a sparse matrix (n, m)", f"{other.shape} and {_told(x)}")
    product: Var = matmul(t(x), other if other.ndim == 1 else other.transpose(0, 1))
    return product if other.ndim == 1 else product.transpose(0, 1)


attach(_from_right, "__rmatmul__")


def mm(x: Any, y: Any) -> Any:
    """The product of two matrices, of which one or both are sparse.

    Example:
        >>> jt.sparse.mm(jt.sparse_coo_tensor([[0], [1]], [2.0]), ones((2, 2))).tolist()
        [[2.0, 2.0]]
    """
    if not isinstance(x, SparseVar) and not isinstance(y, SparseVar):
        raise ArgumentError("jt.sparse.mm takes a sparse matrix", f"{short(x)} and {short(y)}", "jt.mm")
    a, b = _given(x), _given(y)
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError("mm takes two matrices", f"shapes {a.shape} and {b.shape}", "x @ y")
    return a @ b


spmm = mm


def addmm(start: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * start + alpha * (x @ y), where x is sparse.

    Example:
        >>> jt.sparse.addmm(ones((1, 2)), jt.sparse_coo_tensor([[0], [1]], [2.0]), ones((2, 2)), alpha=3).tolist()
        [[7.0, 7.0]]
    """
    product = mm(x, y) * factor("addmm", "alpha", alpha)
    return product + _given(start) * factor("addmm", "beta", beta)


def sampled_addmm(x: SparseVar, y: Any, z: Any, *, beta: Any = 1, alpha: Any = 1) -> SparseVar:
    """beta * x + alpha * (y @ z) at the positions of x: no other element of the product is computed.

    Example:
        >>> x = jt.sparse_coo_tensor([[0], [1]], [1.0])
        >>> jt.sparse.sampled_addmm(x, ones((1, 3)), ones((3, 2)), alpha=2).to_dense().tolist()
        [[0.0, 7.0]]
    """
    once, a, b = coalesce(is_sparse("sampled_addmm", x)), as_var(y), as_var(z)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or (a.shape[0], b.shape[1]) != x.shape:
        raise ShapeError("sampled_addmm takes (n, m), (n, k) and (k, m)", f"{x.shape}, {a.shape} and {b.shape}")
    rows, columns = once.where
    product = sampled(rows, columns, a, b.transpose(0, 1))
    scale, weight = factor("sampled_addmm", "beta", beta), factor("sampled_addmm", "alpha", alpha)
    return once.with_entries(once.entries * scale + product * weight)
