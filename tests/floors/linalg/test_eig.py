"""Eigenvalues of any square matrix: A V = V diag(L), real where they should be, gradients are PyTorch's."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.linalg.eig import eig, eigvals
from tests.floors.linalg.special import adjoint, agree, hard, same_as_differences, same_derivatives, some


def holds(a, w, v, times=100.0):
    """A V = V diag(L), and vectors have length 1; eigenvalues of real matrices come in conjugate pairs."""
    assert w.dtype == v.dtype == np.result_type(a.dtype, "complex64")
    size = np.float64(max(abs(a).max(initial=0), np.finfo(a.dtype).tiny))
    agree((a / size) @ v - v * (w / size)[..., None, :] + 1, np.ones(v.shape), a.dtype, times)
    agree((abs(v) ** 2).sum(-2), np.ones(w.shape), a.dtype)
    if np.isrealobj(a):
        assert (np.sort(w, -1) == np.sort(w.conj(), -1)).all()
        assert (v.imag[np.broadcast_to((w.imag == 0)[..., None, :], v.shape)] == 0).all()
        first = np.broadcast_to((w.imag > 0)[..., None, :], v.shape)
        assert (v[first] == np.roll(v, -1, -1)[first].conj()).all()


def trouble(n=8):
    """Name -> a matrix that a method for eigenvalues may stumble over."""
    steps = 10.0 ** np.arange(n)
    frank = np.triu(np.minimum.outer(n - np.arange(n), n - np.arange(n))) + np.diag(np.arange(n - 1.0, 0, -1), -1)
    return hard(n) | {
        "Jordan": 2 * np.eye(n) + np.eye(n, k=1),
        "Jordan, turned": some(n, n) @ (np.eye(n) + np.eye(n, k=1)) @ np.linalg.inv(some(n, n)),
        "roll": np.roll(np.eye(n), 1, 0),
        "rotation": np.kron(np.eye(n // 2), [[0, -1], [1, 0]]),
        "out of balance": some(n, n) * steps / steps[:, None] / 1e7,
        "Frank": frank,
        "more ones": np.ones((9, 9)),
        "companion": np.vstack([-np.poly(np.arange(1, n + 1))[1:], np.eye(n)[:-1]]),
    }


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 2), (0, 3, 3), (2, 2, 5, 5)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_matrices_turn_their_vectors_into_multiples(dtype, shape):
    a = some(*shape, dtype=dtype)

    with jt.flag_scope(backend="python"):
        w, v = (part.numpy() for part in eig(jt.array(a)))
        alone = eigvals(jt.array(a)).numpy()

    holds(a, w, v)
    agree(alone, w, dtype)
    agree(np.sort_complex(w.reshape(-1)), np.sort_complex(np.linalg.eigvals(a).reshape(-1)), dtype, 1e3)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_troublesome_matrices_are_as_good_as_others(dtype):
    for name, a in trouble().items():
        turn = np.exp(1j * some(*a.shape)) if dtype == "complex128" else 1
        b = a * turn / abs(a).max(initial=1e-300)
        try:
            holds(b[None], *(part.numpy() for part in eig(jt.array(b[None]))), times=1e3)
        except AssertionError:
            pytest.fail(name)


def test_real_matrices_with_real_eigenvalues_have_no_others():
    for name in ("Frank", "companion", "with twins"):
        a = trouble()[name]
        assert not eigvals(jt.array(a)).numpy().imag.any(), name


def test_other_units_leave_the_eigenvalues_as_they_are():
    a, units = some(6, 6), 2.0 ** (10 * np.array([3, 0, 5, 1, 4, 2]))

    found = eigvals(jt.array(a * units / units[:, None])).numpy()

    agree(np.sort_complex(found), np.sort_complex(np.linalg.eigvals(a)), "float64", 1e3)


def test_a_large_matrix_and_many_small_ones_and_one_whose_vectors_are_all_the_same():
    for a in (some(60, 60), some(100, 6, 6), 2 * np.eye(40) + np.eye(40, k=1)):
        holds(a, *(part.numpy() for part in eig(jt.array(a))))


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_very_large_and_very_small_numbers_are_no_trouble(size):
    a = some(5, 5) * size

    holds(a, *(part.numpy() for part in eig(jt.array(a))))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused_where_it_is_asked_for(backend, bad):
    a = np.ones((3, 3))
    a[0, 2] = bad

    with jt.flag_scope(backend=backend), pytest.raises(np.linalg.LinAlgError, match="inf or nan in a matrix"):
        eigvals(jt.array(a)).numpy()


def test_what_is_no_square_matrix_is_refused_at_once():
    with pytest.raises(jt.ShapeError, match=r"eigvals takes square matrices; found shape \(2, 3\)"):
        eigvals(jt.ones((2, 3)))


def loss(eig, array):
    """The same for Vars and for tensors, whatever the order of eigenvalues; phases of vectors do not count."""

    def f(x):
        w, v = eig(x)
        return (v.abs() ** 2 * (w**2).abs()[..., None, :] * array(some(x.shape[-1], 1))).sum()

    return f


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_orders_are_those_of_pytorch(torch, dtype):
    a = some(2, 3, 3, dtype=dtype)
    a[1] = a[1] @ adjoint(a[1])

    with jt.flag_scope(backend="python"):
        same_derivatives(loss(eig, jt.array), loss(torch.linalg.eig, torch.tensor), a, torch)
        same_derivatives(*(lambda x, f=f: (f(x) ** 3).abs().sum() for f in (eigvals, torch.linalg.eigvals)), a, torch)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_orders_are_differences(dtype):
    with jt.flag_scope(backend="python"):
        same_as_differences(loss(eig, jt.array), some(3, 3, dtype=dtype, seed=3))


def test_gradients_of_float32_are_float32():
    x = jt.array(some(3, 3, dtype="float32"))

    with jt.flag_scope(backend="python"):
        found = jt.grad(eigvals(x).abs().sum(), x)

    assert found.dtype == "float32"
