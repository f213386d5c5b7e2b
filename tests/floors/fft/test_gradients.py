"""Gradients of first and second order: against PyTorch, and by differences."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import fft

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
ASKED = ({}, {"n": 4, "norm": "ortho"}, {"n": 9, "norm": "forward"}, {"n": 17})
CASES = [
    *((name, asked) for name in ONE for asked in ASKED),
    *((name + k, {"s": (3, 6)}) for name in ONE for k in "2n"),
    ("fftshift", {}), ("ifftshift", {"dim": 1}),
]  # fmt: skip


def numbers(rng, name, *shape):
    x = rng.standard_normal(shape)
    return x if name.startswith(("rfft", "ihfft")) else x + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize(("name", "asked"), CASES, ids=str)
def test_gradients_of_both_orders_are_those_of_pytorch(torch, rng, name, asked):
    x = numbers(rng, name, 2, 5)
    v, t = jt.array(x), torch.tensor(x, requires_grad=True)

    def loss(y, kind):  # no symmetry that a wrong sign or a lost factor would survive
        weight = kind(np.arange(y.numel()).reshape(y.shape) % 5 - 1.5)
        return ((y.real if "c" in str(y.dtype) else y) ** 3 * weight).sum() + (abs(y) ** 4).sum()

    with jt.flag_scope(backend="python"):  # what is compiled for each of these graphs is no transform
        value = loss(getattr(fft, name)(v, **asked), jt.array)
        dx = jt.grad(value, v)
        again = jt.grad((abs(dx) ** 2).sum(), v)
        jt.sync([value, dx, again])
    other = loss(getattr(torch.fft, name)(t, **asked), torch.tensor)
    (dt,) = torch.autograd.grad(other, t, create_graph=True)
    (more,) = torch.autograd.grad((abs(dt) ** 2).sum(), t)

    np.testing.assert_allclose(value.item(), other.item())
    np.testing.assert_allclose(dx.numpy(), dt.detach().resolve_conj().numpy(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again.numpy(), more.resolve_conj().numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [10, 9, 17])
@pytest.mark.parametrize("name", ["fft", "rfft", "irfft"])
def test_a_gradient_is_the_limit_of_differences(rng, name, n):
    x, direction, weight = numbers(rng, name, n), numbers(rng, name, n), rng.standard_normal(2 * n)

    def loss(v):
        y = getattr(fft, name)(v)
        return (abs(y) ** 2 * jt.array(weight[: y.shape[0]])).sum()

    v, h = jt.array(x), 1e-5
    with jt.flag_scope(backend="python"):
        dx = jt.grad(loss(v), v).numpy()
        slope = (loss(jt.array(x + h * direction)).item() - loss(jt.array(x - h * direction)).item()) / (2 * h)

    np.testing.assert_allclose(np.vdot(dx, direction).real, slope, rtol=1e-7)


def test_inner_waves_count_twice():
    x = jt.array(np.zeros(5) + 0j)

    dx = jt.grad(fft.irfft(x, norm="forward")[0], x)

    assert dx.tolist() == [1, 2, 2, 2, 1]
