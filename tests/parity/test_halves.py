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


SQUARES = {
    "embedding_bag": lambda t, f, x: f.embedding_bag(t.zeros((1, 300), dtype=t.int64), abs(x)),
    "cosine_embedding_loss": lambda t, f, x: f.cosine_embedding_loss(x[:3], x[1:], t.ones(3)),
    "cov": lambda t, f, x: t.cov(x),
    "corrcoef": lambda t, f, x: t.corrcoef(x),
    "attention": lambda t, f, x: f.scaled_dot_product_attention(x[:, :2], x[:, :2], x),
    "rms_norm": lambda t, f, x: f.rms_norm(x, (8,)),
    "norm": lambda t, f, x: t.norm(x),
    "pairwise_distance": lambda t, f, x: f.pairwise_distance(x[:3], x[1:]),
    "normalize": lambda t, f, x: f.normalize(x),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("scale", [300.0, 1e-2])
@pytest.mark.parametrize("function", SQUARES.values(), ids=SQUARES)
def test_what_is_squared_or_added_up_on_the_way_need_not_be_a_half(torch, function, dtype, scale):
    drawn = draw(seed_of("squares", dtype, 0), (4, 8), "float64") * scale / 3
    x = jt.array(drawn, dtype)
    t = torch.tensor(x.numpy().astype(np.float32), requires_grad=True)
    with jt.flag_scope(backend="python"):
        ours = function(jt, jt.nn.functional, x)
        wanted = function(torch, torch.nn.functional, t)
        wanted.sum().backward()
        holds = np.abs(wanted.detach().numpy()) < np.finfo(np.float16).max

        assert ours.dtype == dtype
        near = {"rtol": 2 * TOLERANCE[dtype], "atol": 2 * TOLERANCE[dtype] * float(wanted.detach().abs().max())}
        np.testing.assert_allclose(ours.numpy()[holds], wanted.detach().numpy()[holds], **near)
        found = jt.grad(ours.float32().sum(), x).float32().numpy()
        near = 2 * TOLERANCE[dtype] * float(t.grad.abs().max())
        np.testing.assert_allclose(found, t.grad.numpy(), rtol=2 * TOLERANCE[dtype], atol=near)
