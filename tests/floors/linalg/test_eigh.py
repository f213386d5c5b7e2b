"""Eigenvalues of Hermitian matrices: the matrix comes back, vectors are perpendicular, gradients are PyTorch's."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.linalg.eigh import eigh, eigvalsh
from tests.floors.linalg.special import (
    adjoint,
    agree,
    graded,
    hard,
    hermitian,
    same_as_differences,
    same_derivatives,
    some,
)

SIZES = [("float64", 1e300), ("float64", 1e-300), ("float32", 1e37), ("float32", 1e-37)]


def holds(a, w, v, times=40.0):
    """A = V diag(w) V^H, V^H V = 1, and w rises to what NumPy finds."""
    assert v.dtype == a.dtype
    assert w.dtype == a.real.dtype
    size = np.float64(max(abs(a).max(initial=0), np.finfo(a.dtype).tiny))
    agree((v * (w / size)[..., None, :]) @ adjoint(v), a / size, a.dtype, times)
    agree(adjoint(v) @ v, np.broadcast_to(np.eye(a.shape[-1]), a.shape), a.dtype, times)
    agree(w / size, np.linalg.eigvalsh(a.astype("complex128") / size), a.dtype, times)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 2), (0, 3, 3), (2, 3, 4, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_matrices_come_back_from_their_values_and_vectors(dtype, shape):
    a = hermitian(*shape, dtype=dtype)

    with jt.flag_scope(backend="python"):
        w, v = eigh(jt.array(a))
        alone = eigvalsh(jt.array(a))

    holds(a, w.numpy(), v.numpy())
    agree(alone.numpy(), w.numpy(), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_hard_matrices_are_as_good_as_others(dtype):
    for name, a in hard().items():
        turn = np.exp(1j * some(*a.shape)) if dtype == "complex128" else 1
        b = np.tril(a * turn, -1).astype(dtype)
        b = b + adjoint(b) + np.diag(np.diag(a)).astype(dtype)
        w, v = eigh(jt.array(b[None]))
        try:
            holds(b[None], w.numpy(), v.numpy())
        except AssertionError:
            pytest.fail(name)


@pytest.mark.parametrize(("dtype", "backend", "n"), [("float32", "numba", 40), ("complex64", "python", 14)])
def test_numbers_of_40_powers_of_ten_leave_vectors_perpendicular(dtype, backend, n):
    a = graded(n, n, dtype)
    a = np.tril(a, -1) + adjoint(np.tril(a, -1)) + np.eye(n) * a.real

    with jt.flag_scope(backend=backend):
        for b in (a, a[:, ::-1, ::-1]):
            holds(b, *(part.numpy() for part in eigh(jt.array(b))))


def test_a_large_matrix_and_many_small_ones_come_back_too():
    for a in (hermitian(90, 90), hermitian(200, 8, 8)):
        w, v = eigh(jt.array(a))
        holds(a, w.numpy(), v.numpy())


@pytest.mark.parametrize(("dtype", "size"), SIZES)
def test_very_large_and_very_small_numbers_are_no_trouble(dtype, size):
    a = (hermitian(6, 6) * size).astype(dtype)

    w, v = eigh(jt.array(a))

    holds(a, w.numpy(), v.numpy())


def test_only_the_triangle_that_is_named_is_read():
    a = hermitian(4, 4, dtype="complex128")
    lower, upper = np.tril(a) + np.triu(np.full((4, 4), np.nan), 1), np.triu(a) + np.tril(np.full((4, 4), np.nan), -1)

    with jt.flag_scope(backend="python"):
        found = [eigvalsh(jt.array(lower)).numpy(), eigvalsh(jt.array(upper), "U").numpy()]
        vectors = eigh(jt.array(upper), UPLO="u").eigenvectors.numpy()

    for w in found:
        agree(w, np.linalg.eigvalsh(a), "float64")
    holds(a, found[1], vectors)


def test_numbers_below_the_normal_ones_count():
    a = np.array([[2e-41, 1e-41], [1e-41, 2e-41]], "float32")

    np.testing.assert_allclose(eigvalsh(jt.array(a)).numpy(), [1e-41, 3e-41], atol=4e-45)


def test_whole_numbers_become_float64_and_halves_stay_halves():
    with jt.flag_scope(backend="python"):
        assert eigvalsh(jt.array([[2, 1], [1, 2]])).numpy().tolist() == pytest.approx([1, 3])
        assert eigvalsh(jt.array([[2, 1], [1, 2]])).dtype == "float64"
        half = eigh(jt.array([[2.0, 1.0], [1.0, 2.0]], dtype="float16"))
        assert (half.eigenvalues.dtype, half.eigenvectors.dtype) == ("float16", "float16")
        assert half.eigenvalues.numpy().tolist() == [1, 3]


def test_values_and_vectors_are_computed_together():
    with jt.flag_scope(backend="python"), jt.trace() as t:
        w, v = eigh(jt.array(hermitian(3, 3)))
        w.sync()
        v.sync()

    assert sum("implicit_ql" in kernel.name for kernel in t.kernels) == 1


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused_where_it_is_asked_for(backend, bad):
    a = np.eye(3)
    a[2, 1] = bad

    with jt.flag_scope(backend=backend), pytest.raises(np.linalg.LinAlgError, match="inf or nan in a matrix"):
        eigh(jt.array(a)).eigenvalues.numpy()


def test_what_is_no_square_matrix_is_refused_at_once():
    with pytest.raises(jt.ShapeError, match=r"eigh takes square matrices; found shape \(2, 3\)"):
        eigh(jt.ones((2, 3)))
    with pytest.raises(jt.ArgumentError, match="UPLO"):
        eigvalsh(jt.ones((2, 2)), "lower")


def loss(eigh, array):
    """The same for Vars and for tensors; signs and phases of vectors do not count."""

    def f(x):
        w, v = eigh(x)
        return ((v * (w**2)[..., None, :]) @ v.mH).abs().sum() + (v.abs() ** 2 * array(some(*x.shape))).sum()

    return f


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_orders_are_those_of_pytorch(torch, dtype):
    a = hermitian(2, 3, 3, dtype=dtype)

    with jt.flag_scope(backend="python"):
        same_derivatives(loss(eigh, jt.array), loss(torch.linalg.eigh, torch.tensor), a, torch)
        for triangle in "LU":
            same_derivatives(
                lambda x, t=triangle: (eigvalsh(x, t) ** 3).sum(),
                lambda x, t=triangle: (torch.linalg.eigvalsh(x, t) ** 3).sum(),
                some(3, 3, dtype=dtype), torch,
            )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_orders_are_differences(dtype):
    with jt.flag_scope(backend="python"):
        f = loss(eigh, jt.array)
        same_as_differences(lambda x: f(x + x.mH), some(3, 3, dtype=dtype))


def test_equal_eigenvalues_have_finite_gradients_and_their_vectors_have_none():
    x = jt.array(np.eye(3))

    with jt.flag_scope(backend="python"):
        for values in (eigvalsh(x), eigh(x).eigenvalues):
            assert (
                jt.grad((values * jt.array([1.0, 2.0, 3.0])).sum(), x).numpy().tolist() == np.diag([1, 2, 3]).tolist()
            )
        assert not np.isfinite(jt.grad((eigh(x).eigenvectors * jt.array(some(3, 3))).sum(), x).numpy()).all()
