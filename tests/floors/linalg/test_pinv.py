"""Pseudo-inverses: the four laws of Penrose, tolerances, gradients are PyTorch's."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.linalg.pinv import pinv
from tests.floors.linalg.special import adjoint, agree, hermitian, same_as_differences, same_derivatives, some


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 2), (3, 3), (4, 2), (2, 2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_four_laws_of_penrose_hold(dtype, shape):
    a = some(*shape, dtype=dtype)
    a[..., -1:, :] = a[..., :1, :]  # a row twice: the rank is less than it looks

    with jt.flag_scope(backend="python"):
        p = pinv(jt.array(a)).numpy()

    assert p.dtype == a.dtype
    left, right = a @ p, p @ a
    for found, wanted in ((left @ a, a), (right @ p, p), (left, adjoint(left)), (right, adjoint(right))):
        agree(found, wanted, dtype, 200)


def test_a_hermitian_matrix_is_read_below_its_diagonal_only():
    a = hermitian(3, 3, dtype="complex128")

    with jt.flag_scope(backend="python"):
        p = pinv(jt.array(np.tril(a)), hermitian=True).numpy()

    agree(p, np.linalg.inv(a), "float64", 500)


def test_what_is_below_a_tolerance_counts_as_0(torch):
    a = np.stack([np.diag([4.0, 1.0, 1e-3]), np.diag([1.0, 1e-4, 0.0])])

    with jt.flag_scope(backend="python"):
        x = jt.array(a)
        for words in ({"rtol": 0.1}, {"rcond": 1e-3}, {"atol": 0.5}, {"atol": 1e-5, "rtol": 1e-2}, {"atol": 0.0}, {}):
            t = {("rtol" if k == "rcond" else k): v for k, v in words.items()}
            agree(pinv(x, **words).numpy(), torch.linalg.pinv(torch.tensor(a), **t).numpy(), "float64")
        each = pinv(x, rtol=jt.array(np.array([0.5, 1e-6]))).numpy()

    agree(each, np.linalg.pinv(a, np.array([0.5, 1e-6])), "float64")


def test_two_words_for_one_tolerance_are_one_too_many():
    with pytest.raises(jt.ArgumentError, match=r"rcond=0\.1, rtol=0\.2"):
        pinv(jt.ones((2, 2)), rcond=0.1, rtol=0.2)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 2, 3)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_both_orders_are_those_of_pytorch(torch, dtype, shape):
    def loss(pinv, array, **words):
        return lambda x: (pinv(x, **words).abs() ** 2 * array(some(*shape[:-2], shape[-1], shape[-2]))).sum()

    with jt.flag_scope(backend="python"):
        same_derivatives(loss(pinv, jt.array), loss(torch.linalg.pinv, torch.tensor), some(*shape, dtype=dtype), torch)
        if shape == (3, 3):
            both = loss(pinv, jt.array, hermitian=True), loss(torch.linalg.pinv, torch.tensor, hermitian=True)
            same_derivatives(*both, hermitian(3, 3, dtype=dtype), torch)


def test_gradients_of_both_orders_are_differences_also_where_singular_values_are_equal():
    with jt.flag_scope(backend="python"):
        for a in (some(3, 2), np.eye(3)):
            same_as_differences(lambda x: (pinv(x) * jt.array(some(*x.shape[::-1]))).sum(), a)
