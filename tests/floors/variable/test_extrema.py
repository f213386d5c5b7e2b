"""Gradients of the largest and of products, and positions: found although the numbers are computed again, otherwise."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn

WHEN = pytest.mark.parametrize("when", ["together", "value first", "value in between"])


def gradient(function, x, when):
    """The gradient of the sum of f(x) by x; its value is asked for with it, before it is built, or before it is run."""
    y = function(x)
    if when == "value first":
        y.numpy()
    found = jt.grad(y.sum(), x)
    if when == "value in between":
        y.numpy()
    return found.numpy()


def largest_of(rows, weights):
    """Where the largest of each column stands, in float64, for each number 1 or 0."""
    exact = rows.astype("f8") * weights + rows
    return (exact == exact.max(0)).astype("f8")


@WHEN
def test_the_largest_of_a_softmax_has_its_gradient(rng, when):
    x = jt.array(rng.standard_normal((64, 33), np.float32))

    found = gradient(lambda x: jt.softmax(x, 1).max(0), x, when)

    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, gradient(lambda x: jt.softmax(x.double(), 1).max(0), x, when), atol=1e-6)


@WHEN
def test_the_largest_has_its_gradient_where_a_product_is_used_twice(rng, when):
    rows, weights = rng.standard_normal((2, 64, 33), np.float32)

    def function(x):
        product = x * jt.array(weights)
        return (product + x).max(0) + (product * product).sum(0)

    found = gradient(function, jt.array(rows), when)

    expected = largest_of(rows, weights) * (weights + 1) + 2 * rows.astype("f8") * weights**2
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@WHEN
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("axis", [0, 1])
def test_halves_are_compared_as_they_are_rounded(rng, axis, dtype, when):
    rows, weights = (jt.array(rng.standard_normal((16, 9), np.float32)).cast(dtype) for _ in range(2))

    found = gradient(lambda x: (x * weights).max(axis), rows, when).astype("f4")

    products = (rows.float() * weights.float()).cast(dtype).float().numpy()
    shared = products == products.max(axis, keepdims=True)
    np.testing.assert_allclose(found, shared / shared.sum(axis, keepdims=True) * weights.float().numpy(), rtol=1e-2)


@WHEN
def test_windows_find_their_largest_again(rng, when):
    x = jt.array(rng.standard_normal((1, 4, 15, 17), np.float32))

    def pooled(x):
        return nn.max_pool2d(x - x.mean((2, 3), keepdim=True), 3, 1, 1)

    found = gradient(pooled, x, when)

    np.testing.assert_allclose(found, gradient(pooled, x.double(), when), atol=1e-5)


@WHEN
def test_positions_are_those_of_the_largest(rng, when):
    rows, weights = rng.standard_normal((2, 64, 33), np.float32)
    x = jt.array(rows)
    product = x * jt.array(weights)
    y = product + x
    images = y.reshape(1, 1, 64, 33)
    best, places = nn.max_pool2d(images, 4, return_indices=True)
    if when != "together":
        best.numpy()
    also = (product * product).sum(0)
    del y, images

    found = [jt.argmax(product + x, 0), jt.nanargmax(product + x, 0), places, also]
    jt.sync(found)

    exact = rows.astype("f8") * weights + rows
    np.testing.assert_array_equal(found[0].numpy(), exact.argmax(0))
    np.testing.assert_array_equal(found[1].numpy(), exact.argmax(0))
    np.testing.assert_array_equal(found[2].numpy().ravel(), places_of(exact))


def places_of(exact):
    """The row-major place of the largest of each window of 4 x 4."""
    rows, columns = (n // 4 for n in exact.shape)
    windows = [(r, c) for r in range(rows) for c in range(columns)]
    inside = [np.unravel_index(exact[4 * r : 4 * r + 4, 4 * c : 4 * c + 4].argmax(), (4, 4)) for r, c in windows]
    return [(4 * r + i) * exact.shape[1] + 4 * c + j for (r, c), (i, j) in zip(windows, inside, strict=True)]


def test_a_factor_near_zero_has_its_gradient_where_a_product_is_used_twice(rng):
    left, right = rng.uniform(0.5, 2, (2, 7)).astype("f4")
    offset = rng.uniform(1, 2, 7).astype("f4")
    offset[3] = -(left * right)[3]  # left * right + offset: 0, or what the product was rounded by

    def gradient(b):
        product = jt.array(left) * jt.array(right)
        return jt.grad((product + b).prod(), b) + product.exp() * 0

    others = np.delete(left.astype("f8") * right + offset, 3)
    np.testing.assert_allclose(gradient(jt.array(offset)).numpy()[3], others.prod(), rtol=1e-5)


NAN = float("nan")
ROW = [1.0, NAN, 3.0, 3.0]
TO_THE_NAN = {
    "max": lambda x: x.max(), "min": lambda x: x.min(), "amax": lambda x: x.amax(0), "amin": lambda x: x.amin(0),
    "aminmax": lambda x: jt.aminmax(x)[1], "maximum": lambda x: jt.maximum(x, 9.0),
    "minimum": lambda x: jt.minimum(jt.array([-9.0]), x), "topk": lambda x: x.topk(1)[0],
    "median": lambda x: x.median(), "kthvalue": lambda x: x.kthvalue(4)[0], "sort": lambda x: jt.sort(x)[0][3:],
    "cummax": lambda x: x.cummax(0)[0][3:], "cummin": lambda x: x.cummin(0)[0][3:],
    "scatter_reduce": lambda x: jt.scatter_reduce(jt.zeros(1), 0, jt.array([0] * 4), x, "amax"),
    "clamp": lambda x: x.clamp(8, 9), "clamp by Vars": lambda x: x.clamp(jt.array(8.0), jt.array(9.0)),
    "max_pool": lambda x: nn.functional.max_pool1d(x.reshape(1, 1, 4), 4),
    "adaptive_max_pool": lambda x: nn.functional.adaptive_max_pool1d(x.reshape(1, 1, 4), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", TO_THE_NAN)
def test_a_nan_that_is_the_answer_has_the_gradient_and_no_other(name):
    with jt.flag_scope(backend="python"):
        x = jt.array(ROW)

        assert jt.grad(TO_THE_NAN[name](x).sum(), x).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("function", [jt.fmax, jt.fmin])
def test_what_passes_over_a_nan_gives_it_no_gradient(function):
    with jt.flag_scope(backend="python"):
        x, y = jt.array([NAN, NAN, 1.0]), jt.array([NAN, 2.0, NAN])

        assert [g.tolist() for g in jt.grad(function(x, y).sum(), [x, y])] == [[1, 0, 1], [0, 1, 0]]


def test_several_nans_share_the_gradient_as_equal_numbers_do():
    with jt.flag_scope(backend="python"):
        x, y = jt.array([[NAN, 1.0, NAN], [2.0, 5.0, 5.0]]), jt.array([[NAN, NAN, 1.0], [2.0, 1.0, 9.0]])

        assert jt.grad(x.max(1).sum(), x).tolist() == [[0.5, 0, 0.5], [0, 0.5, 0.5]]
        found = [g.tolist() for g in jt.grad(jt.maximum(x, y).sum(), [x, y])]
        assert found == [[[0.5, 0, 1], [0.5, 1, 0]], [[0.5, 1, 0], [0.5, 0, 1]]]


def test_a_number_that_is_not_the_largest_has_no_gradient_however_large_the_incoming_one():
    with jt.flag_scope(backend="python"):
        x = jt.array([0.0, -1.0])

        assert jt.grad(jt.maximum(x, 0.5).sum() + jt.maximum(x, -0.5).sqrt().sum(), x)[1].item() == 0
        assert jt.grad(x.max().sqrt(), x).tolist() == [float("inf"), 0]
