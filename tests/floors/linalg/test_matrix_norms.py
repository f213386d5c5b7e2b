"""Norms, condition numbers and ranks are those of PyTorch, along any axes; so are the products under its names."""

import math

import numpy as np
import pytest

import jt_edu as jt
from tests.floors.linalg.factors import close, gives, some, steady

la = jt.linalg
ORDERS = ["fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("shape", "dim"), [((3, 4), (-2, -1)), ((2, 4, 3), (0, 2)), ((2, 3, 3), (2, 1))])
def test_norms_of_matrices_are_those_of_pytorch(torch, order, dtype, shape, dim):
    a = some(shape, dtype)

    for keep in (False, True):
        theirs = torch.linalg.matrix_norm(torch.tensor(a), order, dim, keep).numpy()
        close(gives("python", la.matrix_norm, a, ord=order, dim=dim, keepdim=keep), theirs)
        close(gives("python", la.norm, a, ord=order, dim=dim, keepdim=keep), theirs)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, math.inf, -math.inf, -2.5])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("dim", [None, 1, (0, 1)])
def test_norms_of_vectors_are_those_of_pytorch(torch, order, dtype, dim):
    a = some((3, 4), dtype)

    for keep in (False, True):
        theirs = torch.linalg.vector_norm(torch.tensor(a), order, dim, keep).numpy()
        close(gives("python", la.vector_norm, a, ord=order, dim=dim, keepdim=keep), theirs)


def test_norm_is_of_all_numbers_of_vectors_or_of_matrices_as_it_is_asked(torch):
    a = some((3, 4), "float32")
    for given in ({}, {"ord": 1}, {"ord": 1, "dim": 1}, {"dim": (0, 1)}, {"ord": "nuc"}, {"dtype": "float64"}):
        theirs = {**given, **({"dtype": torch.float64} if "dtype" in given else {})}

        close(gives("python", la.norm, a, **given), torch.linalg.norm(torch.tensor(a), **theirs).numpy())


@pytest.mark.parametrize("p", [None, *ORDERS])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_condition_numbers_are_those_of_pytorch(torch, p, dtype):
    a = steady((2, 3, 3), dtype)

    close(gives("python", la.cond, a, p=p), torch.linalg.cond(torch.tensor(a), p).numpy())


def test_singular_matrices_have_an_infinite_condition_number_and_empty_ones_none():
    a = np.array([[1.0, 2.0], [2.0, 4.0]])

    for singular in (a, np.ones((3, 3))):
        assert gives("python", la.cond, singular, p=1).item() == math.inf
    assert gives("python", la.cond, a).item() > 1e15
    assert gives("python", la.cond, np.zeros((2, 0, 0))).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_ranks_are_those_of_pytorch(torch, dtype):
    a = some((2, 4, 4), dtype)
    a[1, 3] = a[1, 0] - a[1, 2]
    t = torch.tensor(a)
    least = np.array([0.1, 10.0])

    for ours, theirs in (
        ({}, {}), ({"atol": 1.0}, {"atol": 1.0}), ({"rtol": 0.5}, {"rtol": 0.5}), ({"tol": 1.0}, {"atol": 1.0}),
        ({"atol": 0.1, "rtol": 0.5}, {"atol": 0.1, "rtol": 0.5}), ({"atol": least}, {"atol": torch.tensor(least)}),
    ):  # fmt: skip
        close(gives("python", la.matrix_rank, a, **ours), torch.linalg.matrix_rank(t, **theirs).numpy())
    twice = a[1] / 3  # its smallest singular value is rounding, and not 0
    for atol in (0.0, None):
        assert gives("python", la.matrix_rank, twice, atol=atol).item() == 3
    half = np.tril(a @ a.conj().swapaxes(-1, -2))
    close(gives("python", la.matrix_rank, half, hermitian=True, rtol=1e-4),
          torch.linalg.matrix_rank(torch.tensor(half), hermitian=True, rtol=1e-4).numpy())  # fmt: skip
    assert gives("python", la.matrix_rank, np.zeros((2, 0, 3))).tolist() == [0, 0]


def test_norms_of_zeros_have_gradient_0():
    with jt.flag_scope(backend="python"):
        x = jt.array(np.zeros((2, 2)))

        for norm in (la.vector_norm, la.matrix_norm, la.norm):
            assert jt.grad(norm(x), x).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: la.matrix_norm(x, 3), "ord=3"),
        (lambda x: la.matrix_norm(x, "max"), "ord='max'"),
        (lambda x: la.matrix_norm(x, dim=1), "dim=1"),
        (lambda x: la.vector_norm(x, "fro"), "ord='fro'"),
        (lambda x: la.norm(jt.ones((2, 2, 2)), 1), r"shape \(2, 2, 2\)"),
        (lambda x: la.matrix_rank(x, 1.0, atol=1.0), "tol=1.0, atol=1.0"),
        (lambda x: la.matrix_power(x, 0.5), r"n=0\.5"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_value(call, words):
    with pytest.raises((jt.ShapeError, jt.ArgumentError), match=words):
        call(jt.ones((2, 2)))


# ------------------------------------------------------------------------------------------- under PyTorch's names


def test_products_and_parts_take_the_last_two_axes(torch):
    a, t = some((2, 3, 4)), torch.tensor(some((2, 3, 4)))

    close(gives("python", la.diagonal, a, offset=1), torch.linalg.diagonal(t, offset=1).numpy())
    close(gives("python", la.trace, a, offset=1), np.linalg.trace(a, offset=1))
    close(gives("python", la.vander, a, N=3), torch.linalg.vander(t, N=3).numpy())
    close(gives("python", la.vander, np.array(2.0), N=3), torch.linalg.vander(torch.tensor(2.0).double(), N=3).numpy())
    close(gives("python", la.vander, a), torch.linalg.vander(t).numpy())
    close(gives("python", la.matrix_transpose, a), a.swapaxes(-1, -2))
    close(gives("python", la.vecdot, a, a), np.linalg.vecdot(a, a))


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 5])
def test_powers_of_a_matrix_may_be_negative(n):
    a = steady((2, 3, 3))

    close(gives("python", la.matrix_power, a, n=n), np.linalg.matrix_power(a, n))


def test_jt_matrix_power_leads_to_the_one_that_inverts():
    with pytest.raises(jt.ArgumentError, match=r"power -1. Try: jt\.linalg\.matrix_power"):
        jt.matrix_power(jt.ones((2, 2)), -1)
