"""Convolutions of other numbers than float32: halves, complex ones, and one number instead of an array."""

import numpy as np
import pytest

import jt_edu as jt


def convolutions(*wanted):
    """The kernels that are algorithms for convolutions."""
    return [k.name for k in jt.explain(*wanted).kernels if k.kind == "convolution"]


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"])
@pytest.mark.parametrize("groups", [1, 2])
def test_the_gradients_of_a_plain_sum_are_pytorchs(torch, name, groups):
    rng, ways = np.random.default_rng(10), int(name[-2])
    arrays = [rng.normal(size=(2, 4, *[6] * ways)), rng.normal(size=(4, 4 // groups, *[3] * ways))]
    options = {"groups": groups, "stride": 2, "padding": 1}
    xs, ts = [jt.array(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]

    found = jt.grad(getattr(jt, name)(*xs, **options).sum(), xs)
    expected = torch.autograd.grad(getattr(torch.nn.functional, name)(*ts, **options).sum(), ts)

    assert len(convolutions(*found)) == 2
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_convolution_of_halves_is_rounded_once_with_its_bias(torch, name, dtype):
    rng = np.random.default_rng(8)
    arrays = [rng.integers(-8, 9, s).astype(float) for s in ((2, 8, 4, 4), (8, 4, 3, 3), (8,))]  # float32 is exact
    arrays[2] = arrays[2] / 4 + 1 / 4
    options = {"padding": 1, "groups": 2}

    y = getattr(jt, name)(*(jt.array(a, dtype) for a in arrays), **options)
    exact = getattr(torch.nn.functional, name)(*map(torch.tensor, arrays), **options)

    assert str(y.dtype) == dtype
    np.testing.assert_array_equal(y.float().numpy(), exact.to(getattr(torch, dtype)).float().numpy())


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_halves_and_complex_numbers_are_convolved_and_differentiated_by_algorithms(name, dtype):
    rng = np.random.default_rng(9)
    x, w, v = (jt.array(rng.normal(size=s), dtype) for s in ((2, 4, 5, 5), (4, 4, 3, 3), (2, 4, 5, 5)))
    jt.sync([x, w, v])
    y = getattr(jt, name)(x, w, padding=1)

    gradients = jt.grad(y.abs().sum(), [x, w])

    assert len(convolutions(y)) == 1
    assert len(convolutions(*gradients)) == 3
    assert convolutions(jt.grad((gradients[0] * v).abs().sum(), w))
    assert not any(k.loops_because for k in jt.explain(*gradients).kernels)


def test_a_bias_that_is_wider_than_halves_widens_them():
    x, w = jt.ones((1, 1, 1, 2), dtype="float16"), jt.full((1, 1, 1, 1), 1 / 2048, dtype="float16")

    y = jt.conv2d(x, w, jt.array([1.0]))

    assert (y.dtype, y[0, 0, 0, 0].item()) == (jt.float32, 1 + 1 / 2048)
