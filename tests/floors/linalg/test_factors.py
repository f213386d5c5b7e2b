"""Factors of matrices: their product is the matrix, and they are triangles, or perpendicular; PyTorch says the same."""

import numpy as np
import pytest

import jt_edu as jt
from tests.floors.linalg.factors import BATCHES, BLOCKS, CLOSE, adjoint, close, definite, gives, some, steady

la = jt.linalg
OBLONG = [("python", d, s) for d in ("float64", "complex128") for s in ((0, 3), (3, 0), (2, 5), (2, 5, 3))]
WIDE = [("numba", dtype, shape) for dtype in ("float64", "complex64") for shape in ((35, 70), (2, 70, 35))]
ANY = [*BATCHES, *BLOCKS, *OBLONG, *WIDE]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(("backend", "dtype", "shape"), [*BATCHES, *BLOCKS])
def test_the_cholesky_factor_is_a_triangle_and_its_square_the_matrix(backend, dtype, shape, upper):
    a = definite(shape, dtype)

    factor = gives(backend, la.cholesky, a, upper=upper).numpy()

    other, wanted = (np.triu, adjoint(factor) @ factor) if upper else (np.tril, factor @ adjoint(factor))
    np.testing.assert_array_equal(other(factor), factor)
    np.testing.assert_allclose(wanted, a, atol=CLOSE[dtype])
    assert factor.dtype == dtype


@pytest.mark.parametrize("upper", [False, True])
def test_the_cholesky_factor_is_made_from_one_half_of_the_matrix(upper):
    a = definite((3, 3))
    half = np.triu(a) if upper else np.tril(a)

    close(gives("python", la.cholesky, half, upper=upper), gives("python", la.cholesky, a, upper=upper).numpy())


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_matrix_that_is_not_positive_definite_is_refused(backend):
    a = definite((2, 40, 40))
    a[1, 35, 35] = -1

    with pytest.raises(jt.LinAlgError, match=r"cholesky needs a matrix that is positive definite"):
        gives(backend, la.cholesky, a)
    with pytest.raises(np.linalg.LinAlgError):
        gives(backend, la.cholesky_ex, a, check_errors=True)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_cholesky_ex_says_at_which_row_it_failed(backend):
    a = definite((2, 40, 40))
    a[1, 35, 35] = -1

    factor, info = gives(backend, la.cholesky_ex, a)

    assert (info.tolist(), info.dtype) == ([0, 36], "int32")
    close(factor[0], np.linalg.cholesky(a[0]))


@pytest.mark.parametrize(("backend", "dtype", "shape"), ANY)
def test_p_l_u_are_those_of_pytorch_and_their_product_is_the_matrix(torch, backend, dtype, shape):
    a = some(shape, dtype)

    p, lower, upper = gives(backend, la.lu, a)

    near = CLOSE[dtype] * 50
    np.testing.assert_allclose(p.numpy() @ lower.numpy() @ upper.numpy(), a, atol=near)
    for ours, theirs in zip((p, lower, upper), torch.linalg.lu(torch.tensor(a)), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=near)
        assert ours.shape == theirs.shape


@pytest.mark.parametrize(("backend", "dtype", "shape"), [*BATCHES, *BLOCKS])
def test_pivots_are_those_of_pytorch_and_lu_solve_takes_them(torch, backend, dtype, shape):
    a, b = some(shape, dtype), some((*shape[:-1], 2), dtype, 1)

    both, pivots = gives(backend, la.lu_factor, a)

    theirs = torch.linalg.lu_factor(torch.tensor(a))
    close(pivots, theirs.pivots.numpy())
    for left in (True, False):
        for turned in (True, False):
            known = b if left else b.swapaxes(-1, -2)
            x = gives(backend, la.lu_solve, both, pivots, known, left=left, adjoint=turned).numpy()
            matrix = adjoint(a) if turned else a
            near = CLOSE[dtype] * 500
            np.testing.assert_allclose(matrix @ x if left else x @ matrix, known, atol=near, rtol=near)


def test_one_factor_serves_a_batch_of_right_sides():
    a, b = steady((3, 3)), some((2, 3, 2))
    both, pivots = gives("python", la.lu_factor, a)

    close(gives("python", la.lu_solve, both, pivots, b), np.linalg.solve(a, b))


@pytest.mark.parametrize("pivots", [np.array([1, 2, 3, 3]), np.array([1, 2]), np.array(1), np.array([1.0, 2.0, 3.0])])
def test_pivots_that_are_not_one_whole_number_a_row_are_refused(pivots):
    with pytest.raises(jt.ShapeError, match=rf"found pivots \({pivots.shape[0] if pivots.ndim else ''}"):
        la.lu_solve(jt.eye(3), jt.array(pivots), jt.ones((3, 1)))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_pivots_that_name_no_row_are_refused(backend):
    for wrong in (0, 4):
        with pytest.raises(jt.LinAlgError, match="a row that is not there"):
            gives(backend, la.lu_solve, np.eye(3), np.array([1, 2, wrong], "int32"), np.ones((3, 1)))


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize(("backend", "dtype", "shape"), ANY)
def test_q_is_perpendicular_r_a_triangle_and_both_those_of_pytorch(torch, backend, dtype, shape, mode):
    a = some(shape, dtype)

    q, r = (part.numpy() for part in gives(backend, la.qr, a, mode=mode))

    near = CLOSE[dtype] * 10
    np.testing.assert_allclose(
        adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), adjoint(q).shape[:-2] + (q.shape[-1],) * 2), atol=near
    )
    np.testing.assert_array_equal(np.triu(r), r)
    np.testing.assert_allclose(q @ r, a, atol=near)
    for ours, theirs in zip((q, r), torch.linalg.qr(torch.tensor(a), mode), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), atol=near)


def test_qr_in_mode_r_has_no_q():
    q, r = gives("python", la.qr, some((4, 3)), mode="r")

    assert q.shape == (0,)
    close(r, np.linalg.qr(some((4, 3)), "r"))


@pytest.mark.parametrize(
    ("dtype", "size"), [("float32", 1e37), ("float32", 1e-37), ("float64", 1e300), ("float64", 1e-300)]
)
def test_squares_of_very_large_and_very_small_numbers_do_not_spoil_q_and_r(dtype, size):
    a = (some((40, 40)) * size).astype(dtype)

    for backend, b in (("numba", a), ("python", a[:4, :3]), ("python", a[:3, :4])):
        for ours, theirs in zip(gives(backend, la.qr, b), np.linalg.qr(b), strict=True):
            near = CLOSE[dtype] * abs(theirs).max()
            np.testing.assert_allclose(ours.numpy(), theirs, atol=near)


def test_columns_of_zeros_have_reflections_that_change_nothing():
    q, r = gives("python", la.qr, np.zeros((3, 2)))

    assert (q.numpy() == np.eye(3, 2)).all() and (r.numpy() == 0).all()


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(("backend", "dtype", "shape"), [*BATCHES, *BLOCKS])
def test_a_triangle_is_solved_and_its_other_half_is_not_read(torch, backend, dtype, shape, upper, unit):
    a, b = steady(shape, dtype) / (4 if unit else 1), some((*shape[:-1], 3), dtype, 1)

    x = gives(backend, la.solve_triangular, a, b, upper=upper, unitriangular=unit)

    theirs = torch.linalg.solve_triangular(torch.tensor(a), torch.tensor(b), upper=upper, unitriangular=unit).numpy()
    near = CLOSE[dtype]
    np.testing.assert_allclose(x.numpy(), theirs, rtol=near, atol=near * max(1, abs(theirs).max(initial=0)))


def test_a_triangle_on_the_right_and_batches_that_broadcast():
    a, b = np.tril(steady((2, 1, 3, 3))), some((4, 5, 3), seed=1)

    x = gives("python", la.solve_triangular, a, b, upper=False, left=False)

    assert x.shape == (2, 4, 5, 3)
    np.testing.assert_allclose(x.numpy() @ a, np.broadcast_to(b, x.shape), atol=1e-10)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_solve_takes_the_factor(upper):
    a, b = definite((3, 3), "complex128"), some((3, 2), "complex128")
    factor = gives("python", la.cholesky, a, upper=upper)

    np.testing.assert_allclose(a @ gives("python", la.cholesky_solve, b, factor, upper=upper).numpy(), b, atol=1e-10)
