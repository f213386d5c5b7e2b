"""Patterns: random sparse tensors, beside SciPy's."""

import numpy as np
import scipy.sparse

import jt_edu as jt

SHAPES = [(3, 4, 0), (3, 4, 5), (4, 3, 30), (1, 1, 2), (0, 3, 0), (3, 0, 0), (0, 0, 0), (7, 2, 6)]  # rows, columns, nnz


def pattern(rng, n, m, nnz, dtype="float64"):
    """(rows, columns, values): positions repeat, and some rows are empty."""
    rows, columns = (
        rng.integers(0, n, nnz) if n else np.zeros(0, int),
        rng.integers(0, m, nnz) if m else np.zeros(0, int),
    )
    return rows, columns, numbers(rng, nnz, dtype=dtype)


def numbers(rng, *shape, dtype="float64"):
    """Numbers around 0 of any dtype."""
    x = rng.standard_normal(shape) * 3
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def pair(rng, n, m, nnz, dtype="float64"):
    """Ours (coordinates, not coalesced) and SciPy's."""
    rows, columns, values = pattern(rng, n, m, nnz, dtype)
    return jt.sparse_coo_tensor([rows, columns], values, (n, m)), scipy.sparse.coo_array(
        (values, (rows, columns)), (n, m)
    )


def close(ours, wanted):
    """Whether a sparse or dense answer is what was wanted, to 1e-12, in the same dtype."""
    found = ours.to_dense() if isinstance(ours, jt.sparse.SparseVar) else ours
    wanted = wanted.toarray() if scipy.sparse.issparse(wanted) else np.asarray(wanted)
    assert found.shape == wanted.shape and found.numpy().dtype == wanted.dtype
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)
