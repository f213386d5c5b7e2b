"""Sparse tensors: shapes, promises and dtypes of new ones; axes; scales of products."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import some
from tests.arguments.rows import Row, as_torch, refuses, shows

WHERE, VALUES = np.array([[0, 1, 1], [1, 2, 0]]), np.array([7.0, 5.0, 6.0])
CROW, COLUMNS = np.array([0, 1, 3]), np.array([1, 0, 2])
HOLES = np.array([[0.0, 7.0, 0.0, 1.0], [5.0, 0.0, 6.0, 0.0]])
A, B, START = some(2, 3), some(3, 2), some(2, 2)
MIX = {"beta": 3.0, "alpha": 2.0}
BOTH = "check_invariants"


def _coo(**given):
    return jt.sparse_coo_tensor(WHERE, VALUES, **given)


def _csr(**given):
    return jt.sparse_csr_tensor(CROW, COLUMNS, VALUES, **given)


def _later(**given):
    """A tensor whose positions are not there yet, and are outside of it."""
    return jt.sparse_coo_tensor([jt.array([0, 1]) * 3], [1.0, 2.0], (3,), **given)


def _rows_later(**given):
    return jt.sparse_csr_tensor(jt.array([0, 1]) * 3, [0], [1.0], (1, 2), **given)


def _made(whose, make, theirs, **tries) -> list[Row]:
    return as_torch(lambda **given: make(**given).to_dense(), whose=whose, twin=theirs, **tries)


def _theirs(torch, **given):
    return torch.sparse_coo_tensor(WHERE, VALUES, check_invariants=True, **given).to_dense()


def _their_rows(torch, size=(2, 3), dtype=None):
    dense = np.zeros(size)
    dense[[0, 1, 1], COLUMNS] = VALUES
    return torch.tensor(dense, dtype=dtype)


def _summed(x, **given):
    answer = jt.sparse.sum(jt.sparse.to_sparse(x), **given)
    return answer.to_dense() if isinstance(answer, jt.sparse.SparseVar) else answer


X3 = jt.sparse_coo_tensor(WHERE, VALUES, (2, 4))
ROWS = [
    *_made(jt.sparse_coo_tensor, _coo, _theirs, size=(3, 4), dtype="float32"),
    *shows(jt.sparse_coo_tensor, "is_coalesced", True, lambda **given: _coo(**given).is_coalesced()),
    *refuses(jt.sparse_coo_tensor, BOTH, True, _later),
    *_made(jt.sparse_csr_tensor, _csr, _their_rows, size=(2, 5), dtype="float32"),
    *refuses(jt.sparse_csr_tensor, BOTH, True, _rows_later),
    *shows(jt.sparse.to_sparse, "sparse_dim", 1, lambda **given: jt.array(HOLES).to_sparse(**given).values().shape,
           (2, 4)),
    *shows(jt.sparse.to_sparse, "layout", "sparse_csr", lambda **given: jt.array(HOLES).to_sparse(**given).layout,
           "sparse_csr"),
    *shows(jt.sparse.SparseVar.size, "dim", 1, lambda **given: X3.size(**given), 4),
    *as_torch(_summed, HOLES, whose=jt.sparse.sum, twin="sum", dim=1),
    *as_torch(lambda start, x, y, **given: jt.sparse.addmm(start, x.to_sparse(), y, **given), START, A, B,
              whose=jt.sparse.addmm, twin="addmm", **MIX),
    *as_torch(lambda x, y, z, **given: jt.sparse.sampled_addmm(x.to_sparse(), y, z, **given).to_dense(), START, A, B,
              whose=jt.sparse.sampled_addmm, twin="addmm", **MIX),
    *shows(jt.sparse.SparseVar, "coalesced", True,
           lambda **given: jt.sparse.SparseVar((jt.array([0]),), jt.array([1.0]), (2,), **given).is_coalesced()),
    *shows(jt.sparse.SparseVar, "crow", jt.array([0, 0]), lambda **given: jt.sparse.SparseVar(
        (jt.array([0]),), jt.array([1.0]), (2,), **given).layout, "sparse_csr"),
]  # fmt: skip
