"""Scans do four rows side by side, and the rest one by one: both are the same sums."""

import numpy as np
import pytest

import jt_edu as jt


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("rows", [0, 1, 3, 4, 9])
def test_rows_are_summed_alike_whether_or_not_they_have_company(rng, backend, dtype, rows):
    x = (rng.random((rows, 5)) * 7).astype(dtype)

    with jt.flag_scope(backend=backend):
        total, product = jt.cumsum(jt.array(x), 1).numpy(), jt.cumprod(jt.array(x), 1).numpy()

    wide = x.astype("float64" if dtype == "float32" else x.dtype)
    np.testing.assert_allclose(total, np.cumsum(wide, 1), rtol=1e-6)
    np.testing.assert_allclose(product, np.cumprod(wide, 1), rtol=1e-6)


def test_gradients_of_both_orders_are_those_of_sums(rng):
    with jt.flag_scope(backend="python"):
        x = jt.array(rng.random((5, 3)))
        (dx,) = jt.vjp(jt.cumsum(x * x, 1), [x], jt.ones((5, 3), dtype="float64"))
        again = jt.grad(dx.sum(), x)
    left = np.array([3.0, 2.0, 1.0])
    np.testing.assert_allclose(dx.numpy(), 2 * x.numpy() * left)
    np.testing.assert_allclose(again.numpy(), np.broadcast_to(2 * left, (5, 3)))
