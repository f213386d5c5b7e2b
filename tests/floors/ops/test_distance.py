"""Distances of order 2: a kernel in blocks finds what the norm of all differences finds, and so do its gradients."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ops.distance import FEW, WIDE


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def by_norm(x, y):
    """Row by row, in NumPy and in float64."""
    return np.sqrt(((x[..., :, None, :].astype(float) - y[..., None, :, :]) ** 2).sum(-1))


@pytest.mark.parametrize("shared", [1, 8, 63, 64, 65, 200])
@pytest.mark.parametrize(("n", "m"), [(1, WIDE + 1), (2, 1), (7, WIDE), (30, 2 * WIDE - 1)])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 4e-7), ("float64", 1e-15)])
def test_blocks_of_any_size_are_all_there(n, m, shared, dtype, error):
    x, y = normal(2, n, shared).astype(dtype), normal(2, m, shared, seed=1).astype(dtype)

    np.testing.assert_allclose(jt.cdist(jt.array(x), jt.array(y)).numpy(), by_norm(x, y), error)


def test_a_cloud_meets_each_of_a_batch():
    x, y = normal(3, 4, 5), normal(2, 1, 6, 5, seed=1)

    found = jt.cdist(jt.array(x), jt.array(y))

    assert found.shape == (2, 3, 4, 6)
    np.testing.assert_allclose(found.numpy(), by_norm(x, y), 1e-14)


def test_points_that_are_near_and_far_from_the_origin_lose_no_digits():
    x = (1000 + normal(40, 3)).astype("float32")
    y = x + np.float32(1 / 1024) * np.float32([1, 0, 0])

    found = jt.cdist(jt.array(x), jt.array(y)).numpy()

    np.testing.assert_allclose(found, by_norm(x, y), 3e-7)
    assert (np.diagonal(jt.cdist(jt.array(x), jt.array(x)).numpy()) == 0).all()


@pytest.mark.parametrize("n", [3, FEW + 2])
def test_gradients_of_few_and_of_many_rows_are_those_of_the_norm_up_to_the_second(n):
    x, y, d = jt.array(100 + normal(2, n, 4)), jt.array(100 + normal(2, 28, 4, seed=1)), jt.array(normal(2, n, 28))
    y = jt.concat([x[:, :1], y], 1)[:, :28]  # one is in the same place

    def derivatives(distances):
        first = jt.vjp(distances, [x, y], d)
        return [*first, *jt.grad(sum((g * g).sum() for g in first), [x, y])]

    found, wanted = derivatives(jt.cdist(x, y)), derivatives(jt.norm(x.unsqueeze(-2) - y.unsqueeze(-3), 2, -1))

    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-9, atol=1e-9)
