"""Losses of float16 and bfloat16: what PyTorch computes of the same numbers in float64, rounded once or twice."""

import numpy as np
import pytest

import jt_edu as jt
from tests.parity.families import families
from tests.parity.inputs import HALVES, TOLERANCE, draw, seed_of

ROWS = [row for row in families()["losses"] if row.torch is not None]
LARGE = 70_000  # ones, whose sum float16 cannot hold


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in ROWS])
def test_a_loss_of_halves_is_that_of_float64_rounded(torch, row):
    shapes = max(row.shapes, key=lambda s: (max(map(len, s)) <= 2, len(s[0])))
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"):
        for dtype in HALVES:
            arrays = [draw(seed_of(row.name, dtype, k), s, dtype, row.domain) for k, s in enumerate(shapes)]
            ours = row.ours(*(jt.array(a, dtype) for a in arrays))
            wanted = row.torch(torch, *(torch.tensor(np.array(a, np.float64)) for a in arrays)).numpy()

            assert str(ours.dtype) == dtype
            near = 2 * TOLERANCE[dtype]
            np.testing.assert_allclose(ours.numpy(), wanted, near, near * max(1.0, float(np.abs(wanted).max())))


MANY = {
    "nll_loss": lambda f, x, classes, ones: f.nll_loss((x - 1).reshape(-1, 1), classes),
    "nll_loss, weights": lambda f, x, classes, ones: f.nll_loss((x - 1).reshape(-1, 1), classes, weight=ones),
    "smoothed": lambda f, x, classes, ones: f.cross_entropy((x - 1).reshape(-1, 1), classes, label_smoothing=0.5),
    "mse_loss": lambda f, x, classes, ones: f.mse_loss(x + 1, x),
    "l1_loss": lambda f, x, classes, ones: f.l1_loss(x + 1, x),
}


@pytest.mark.parametrize("loss", MANY.values(), ids=MANY)
def test_a_mean_of_more_ones_than_float16_can_count_is_finite(torch, loss):
    x = np.zeros(LARGE)

    ours = loss(jt.nn.functional, jt.zeros(LARGE, dtype="float16"), jt.zeros(LARGE, dtype="int64"), jt.ones(1))
    wanted = loss(
        torch.nn.functional, torch.tensor(x), torch.zeros(LARGE, dtype=torch.int64), torch.ones(1, dtype=torch.float64)
    )

    np.testing.assert_allclose(ours.item(), wanted.item(), 1e-3)
    assert ours.dtype == "float16"


ROUNDABOUT = {
    "softmax": (lambda x: x.softmax(0)[0] * LARGE, 1.0),
    "log_softmax": (lambda x: x.log_softmax(0)[0], -np.log(LARGE)),
    "logsumexp": (lambda x: x.logsumexp(0), np.log(LARGE)),
}


@pytest.mark.parametrize(("function", "right"), ROUNDABOUT.values(), ids=ROUNDABOUT)
def test_so_many_equal_scores_have_a_softmax(function, right):
    np.testing.assert_allclose(function(jt.zeros(LARGE, dtype="float16")).item(), right, 1e-3)


@pytest.mark.parametrize(("function", "right"), ROUNDABOUT.values(), ids=ROUNDABOUT)
def test_so_many_equal_scores_have_a_softmax_along_an_axis_of_several(function, right):
    answer = function(jt.zeros((LARGE, 2), dtype="float16"))

    assert answer.dtype == "float16"
    np.testing.assert_allclose(answer.numpy().ravel()[-1:], [right], 1e-3)


def test_so_many_keys_are_looked_at_in_halves():
    keys = jt.ones((70_000, 4), dtype="float16")

    seen = jt.nn.functional.scaled_dot_product_attention(keys[:1], keys, keys)

    np.testing.assert_allclose(seen.numpy(), 1, 1e-2)
