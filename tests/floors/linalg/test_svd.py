"""Singular values: the matrix comes back, vectors are perpendicular, gradients are PyTorch's."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.linalg.svd import svd, svdvals
from tests.floors.linalg.special import adjoint, agree, graded, hard, same_as_differences, same_derivatives, some

SIZES = [("float64", 1e300), ("float64", 1e-300), ("float32", 1e37), ("float32", 1e-37)]


def holds(a, u, s, vh, times=40.0):
    """A = U diag(S) Vh, U^H U = 1, Vh Vh^H = 1, and S falls to what NumPy finds."""
    assert u.dtype == vh.dtype == a.dtype
    assert s.dtype == a.real.dtype
    size, k = np.float64(max(abs(a).max(initial=0), np.finfo(a.dtype).tiny)), s.shape[-1]
    agree((u[..., :k] * (s / size)[..., None, :]) @ vh[..., :k, :], a / size, a.dtype, times)
    for v in (u, adjoint(vh)):
        agree(
            adjoint(v) @ v,
            np.broadcast_to(np.eye(v.shape[-1]), (*v.shape[:-2], v.shape[-1], v.shape[-1])),
            a.dtype,
            times,
        )
    if a.size:
        agree(s / size, np.linalg.svd(a.astype("complex128") / size, compute_uv=False), a.dtype, times)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (1, 1), (4, 3), (3, 5), (0, 3, 3), (2, 2, 3, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_matrices_come_back_from_their_parts(dtype, shape):
    a = some(*shape, dtype=dtype)

    with jt.flag_scope(backend="python"):
        for full in (True, False):
            found = [part.numpy() for part in svd(jt.array(a), full)]
            assert [p.shape for p in found] == [p.shape for p in np.linalg.svd(a, full)]
            holds(a, *found)
        agree(svdvals(jt.array(a)).numpy(), found[1], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_hard_matrices_are_as_good_as_others(dtype):
    for name, a in hard().items():
        turn = np.exp(1j * some(*a.shape)) if dtype == "complex128" else 1
        b = (a * turn).astype(dtype)
        try:
            holds(b[None], *(part.numpy() for part in svd(jt.array(b[None]))))
        except AssertionError:
            pytest.fail(name)


@pytest.mark.parametrize(("dtype", "backend", "n"), [("float32", "numba", 40), ("complex64", "python", 14)])
def test_numbers_of_40_powers_of_ten_leave_vectors_perpendicular(dtype, backend, n):
    a = graded(n, n, dtype)

    with jt.flag_scope(backend=backend):
        for b in (a, a[:, ::-1, ::-1]):
            holds(b, *(part.numpy() for part in svd(jt.array(b))))


def test_a_large_matrix_and_many_small_ones_come_back_too():
    for a in (some(90, 90), some(120, 30), some(30, 120), some(200, 8, 8)):
        holds(a, *(part.numpy() for part in svd(jt.array(a))))


@pytest.mark.parametrize(("dtype", "size"), SIZES)
def test_very_large_and_very_small_numbers_are_no_trouble(dtype, size):
    a = (some(5, 4) * size).astype(dtype)

    holds(a, *(part.numpy() for part in svd(jt.array(a))))


def test_numbers_below_the_normal_ones_count():
    a = np.array([[2e-41, 1e-41], [1e-41, 2e-41]], "float32")

    np.testing.assert_allclose(svdvals(jt.array(a)).numpy(), [3e-41, 1e-41], atol=4e-45)


def test_whole_numbers_become_float64_and_halves_stay_halves():
    with jt.flag_scope(backend="python"):
        assert svdvals(jt.array([[3, 0], [0, -4]])).numpy().tolist() == [4, 3]
        assert svdvals(jt.array([[3, 0], [0, -4]])).dtype == "float64"
        assert [part.dtype for part in svd(jt.ones((2, 2), dtype="bfloat16"))] == ["bfloat16"] * 3


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_no_number_is_refused_where_it_is_asked_for(backend, bad):
    a = np.ones((2, 3))
    a[1, 2] = bad

    with jt.flag_scope(backend=backend), pytest.raises(np.linalg.LinAlgError, match="inf or nan in a matrix"):
        svdvals(jt.array(a)).numpy()


def test_what_is_no_matrix_is_refused_at_once():
    with pytest.raises(jt.ShapeError, match="svd takes a matrix"):
        svd(jt.ones(3))
    with pytest.raises(jt.ArgumentError, match="full_matrices"):
        svd(jt.ones((2, 2)), "no")


def loss(svd, array, full):
    """The same for Vars and for tensors; signs and phases of vectors do not count, nor what is beside A."""

    def f(x):
        u, s, vh = svd(x, full_matrices=full)
        k = s.shape[-1]
        u, vh = u[..., :k], vh[..., :k, :]
        whole = ((u * (s**2)[..., None, :]) @ vh).abs().sum()
        return whole + (u.abs() ** 2 * array(some(*u.shape))).sum() + (vh.abs() ** 2 * array(some(*vh.shape))).sum()

    return f


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 2, 3)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_orders_are_those_of_pytorch(torch, dtype, shape, full):
    a = some(*shape, dtype=dtype)

    with jt.flag_scope(backend="python"):
        same_derivatives(loss(svd, jt.array, full), loss(torch.linalg.svd, torch.tensor, full), a, torch)
        if full:
            cubes = [lambda x, values=v: (values(x) ** 3).sum() for v in (svdvals, torch.linalg.svdvals)]
            same_derivatives(*cubes, a, torch)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_orders_are_differences(dtype):
    with jt.flag_scope(backend="python"):
        same_as_differences(loss(svd, jt.array, False), some(3, 2, dtype=dtype))


def test_equal_singular_values_and_zeros_have_finite_gradients():
    x, weights = jt.array(np.diag([1.0, 1.0, 0.0])), jt.array([1.0, 2.0, 3.0])

    with jt.flag_scope(backend="python"):
        for values in (svdvals(x), svd(x).S):
            found = jt.grad((values * weights).sum(), x).numpy()
            assert np.isfinite(found).all()
            assert abs(np.diag(found)).tolist() == [1, 2, 3]
        assert not np.isfinite(jt.grad((svd(x).U * jt.array(some(3, 3))).sum(), x).numpy()).all()
