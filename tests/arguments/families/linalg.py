"""Linear algebra: halves, sides and orders; errors that are asked for; and which axes are those of the matrices."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import CUBE, some
from tests.arguments.rows import Row, as_numpy, as_torch, refuses

la = jt.linalg
S = some(3, 3) @ some(3, 3).T + np.eye(3)
A, B = some(3, 3, seed=3) + 2 * np.eye(3), some(3, 2)
T = np.triu(A) + np.tril(some(3, 3), -1)
SINGULAR = np.ones((2, 2))


def linalg(ours, *args, **tries) -> list[Row]:
    """Rows against torch.linalg."""
    return as_torch(ours, *args, twin=lambda torch, *a, **k: getattr(torch.linalg, ours.__name__)(*a, **k), **tries)


def checked(name, *args) -> list[Row]:
    """With check_errors a function raises what it would only tell."""
    ours = getattr(la, name)

    def ask(**given):
        answer = ours(*map(jt.array, args), **given)
        return [part.numpy() for part in answer]

    return refuses(ours, "check_errors", True, ask)


def lu_solve(A, B, **given):
    """From a matrix, not from its factors."""
    return la.lu_solve(*la.lu_factor(A), B, **given)


def of_lu(torch, A, B, **given):
    return torch.linalg.lu_solve(*torch.linalg.lu_factor(A), B, **given).resolve_conj()


ROWS = [
    *(row for f in (la.lu, la.lu_factor) for row in refuses(f, "pivot", False, lambda f=f, **k: f(jt.array(A), **k))),
    *linalg(la.cholesky, S, upper=True),
    *linalg(la.cholesky_ex, S, upper=True),
    *checked("cholesky_ex", -S),
    *as_torch(la.cholesky_solve, B, np.linalg.cholesky(S), upper=True),
    *linalg(la.cond, A, p=1),
    *linalg(la.diagonal, CUBE, offset=1, dim1=0, dim2=0),
    *checked("inv_ex", SINGULAR),
    *linalg(la.lstsq, A, B, using={"driver": "gelsd"}, rcond=0.9),
    *as_torch(la.lstsq, A, B, twin=lambda torch, a, b, driver: torch.linalg.lstsq(a, b, driver=driver), driver="gelsd"),
    *as_torch(lu_solve, A, B, whose=la.lu_solve, twin=of_lu, adjoint=True),
    *as_torch(lu_solve, A, S, whose=la.lu_solve, twin=of_lu, left=False),
    *linalg(la.matrix_norm, CUBE, ord=1, dim=(0, 1), keepdim=True),
    *as_torch(
        la.matrix_norm,
        CUBE.astype("float32"),
        dtype="float64",
        twin=lambda torch, a, dtype: torch.linalg.matrix_norm(a, dtype=torch.float64),
    ),
    *as_torch(
        la.norm,
        CUBE.astype("float32"),
        dtype="float64",
        twin=lambda torch, a, dtype: torch.linalg.norm(a, dtype=torch.float64),
    ),
    *as_torch(
        la.vector_norm,
        CUBE.astype("float32"),
        dtype="float64",
        twin=lambda torch, a, dtype: torch.linalg.vector_norm(a, dtype=torch.float64),
    ),
    *linalg(la.norm, S, ord="nuc", dim=0, keepdim=True),
    *linalg(la.vector_norm, CUBE, ord=3, dim=1, keepdim=True),
    *linalg(la.matrix_rank, A, atol=1.0, rtol=0.9),
    *as_numpy(la.matrix_rank, A, twin=np.linalg.matrix_rank, tol=1.0),
    *linalg(la.matrix_rank, np.array([[1.0, 5.0], [1.0, 1.0]]), hermitian=True),
    *linalg(la.qr, some(3, 2), mode="complete"),
    *linalg(la.solve, A, S, left=False),
    *linalg(la.solve_ex, A, S, left=False),
    *checked("solve_ex", SINGULAR, np.ones(2)),
    *linalg(la.solve_triangular, T, S, using={"upper": True}, left=False, unitriangular=True),
    *as_numpy(la.tensorinv, some(6, 2, 3), twin=np.linalg.tensorinv, ind=1),
    *as_numpy(la.tensorsolve, some(2, 6, 3), some(6), words={"dims": "axes"}, twin=np.linalg.tensorsolve, dims=(0, 2)),
    *as_numpy(la.trace, some(2, 3, 3), twin=np.linalg.trace, offset=1, dtype="float32"),
    *linalg(la.vander, some(3), N=5),
]
