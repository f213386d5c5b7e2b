"""Convolutions of one compiled step share memory of their own: as much as the largest of them needs."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.runtime.conv_step import shared_memory

SIDE, STEPS = 24, 3


def own(dtype, *shape):
    """What a kernel needs for a convolution of such an image and 3 x 3 weights."""
    x, w = (np.random.default_rng(1).standard_normal(s).astype(dtype) for s in (shape, (shape[1], shape[1], 3, 3)))
    with jt.no_grad():
        plan = jt.explain(jt.conv2d(jt.array(x), jt.array(w), padding=1)).plan
    return plan.steps[0].own


@pytest.mark.parametrize("order", [1, -1])
def test_the_shared_memory_is_that_of_the_largest_of_each_dtype(order):
    owns = [own("float32", 1, 8, 9, 9), own("float32", 2, 48, 30, 30), own("float64", 1, 16, 9, 9)][::order]

    found = shared_memory(owns, backends.get("numba"))

    assert {key: a.dtype.name for key, a in found.items()} == {
        (dtype, each): dtype for dtype in ("float32", "float64") for each in (False, True)
    }
    for one in owns:
        assert found[one.sizes.dtype, False].size >= one.prepared
        assert found[one.sizes.dtype, True].shape[1] >= one.space
    assert len({o.prepared for o in owns if o.sizes.dtype == "float32"}) == 2  # or this test says nothing


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float64", "float64"), ("float32", "float64")])
def test_a_compiled_step_of_convolutions_that_need_different_memory_computes_what_the_lazy_one_does(dtypes):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 16, SIDE, SIDE))
    values = [rng.standard_normal(s) / 10 for s in ((48, 16, 1, 1), (32, 48, 3, 3))]

    def steps(compiled):
        narrow, wide = (jt.array(v.astype(d)) for v, d in zip(values, dtypes, strict=True))
        narrow.requires_grad = wide.requires_grad = True

        def step(image):
            hidden = jt.conv2d(image.cast(dtypes[0]), narrow).relu()
            y = jt.conv2d(hidden.cast(dtypes[1]), wide, padding=1)
            loss = (y.cast("float64") ** 2).mean()
            for w, dw in zip((narrow, wide), jt.grad(loss, [narrow, wide]), strict=True):
                w.update(w - 0.5 * dw)
            return loss

        run = jt.compile(step) if compiled else step
        return [run(jt.array(x)).item() for _ in range(STEPS)], narrow.numpy(), wide.numpy()

    losses, *weights = steps(compiled=True)
    expected, *lazy = steps(compiled=False)

    tolerance = 1e-12 if "float32" not in dtypes else 1e-5
    np.testing.assert_allclose(losses, expected, rtol=tolerance)
    for got, wanted in zip(weights, lazy, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
