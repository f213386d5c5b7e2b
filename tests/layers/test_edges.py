"""Edges: halves whose squares overflow, infinities, tails of distributions, answers that are certain and wrong."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn

F = nn.functional
BIG = np.array([[1000.0, -1000.0]])
HALVES = ("float16", "bfloat16")

NORMS = {
    "layer_norm": lambda f, x, one: f.layer_norm(x, (2,)),
    "rms_norm": lambda f, x, one: f.rms_norm(x, (2,)),
    "group_norm": lambda f, x, one: f.group_norm(x, 1, one, one),
    "batch_norm": lambda f, x, one: f.batch_norm(x.T, None, None, weight=one[:1], bias=one[:1], training=True),
    "instance_norm": lambda f, x, one: f.instance_norm(x[:, None], weight=one[:1], bias=one[:1]),
    "normalize": lambda f, x, one: f.normalize(x),
    "cosine_similarity": lambda f, x, one: f.cosine_similarity(x, x + 1),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("weights", ["half", "float32"])
def test_norms_of_halves_square_as_float32_and_answer_halves(torch, name, dtype, weights):
    x, one = jt.array(BIG).cast(dtype), jt.ones(2).cast(dtype if weights == "half" else weights)
    wide = NORMS[name](torch.nn.functional, torch.tensor(BIG).float(), torch.ones(2))

    ours = NORMS[name](F, x, one)

    assert str(ours.dtype) == dtype
    np.testing.assert_allclose(ours.float().numpy(), wide.numpy(), rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("layer", ["LayerNorm", "BatchNorm1d", "InstanceNorm1d"])
def test_layers_of_halves_too(layer):
    shape = (2, 1) if layer == "BatchNorm1d" else (1, 1, 2)
    made = getattr(nn, layer)(2 if layer == "LayerNorm" else 1).half()

    y = made(jt.array(BIG).half().reshape(shape))

    assert str(y.dtype) == "float16"
    assert y.numpy().ravel().tolist() == [1, -1]


def test_running_statistics_of_halves_are_used_as_float32():
    norm = nn.BatchNorm1d(1).half().eval()
    norm.running_mean.update(jt.array([-60000.0]).half())

    assert norm(jt.array([[60000.0]]).half()).item() == math.inf  # 120000 is no half
    assert (norm(jt.array([[-60000.0]]).half()) == 0).item()


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_losses_with_a_corner_have_pytorchs_gradient_at_infinity(torch, name):
    a = np.array([math.inf, -math.inf, 3.0, 0.25, math.nan])
    x, t = jt.array(a), torch.tensor(a, requires_grad=True)

    ours = jt.grad(getattr(F, name)(x, jt.zeros_like(x), reduction="sum"), x)
    getattr(torch.nn.functional, name)(t, torch.zeros(5, dtype=t.dtype), reduction="sum").backward()

    np.testing.assert_array_equal(ours.numpy(), t.grad.numpy())


def test_who_is_certain_and_wrong_is_told_to_go_back(torch):
    p, y = np.array([1.0, 0.0, 0.3, 1e-13]), np.array([0.0, 1.0, 0.5, 1.0])
    x, t = jt.array(p), torch.tensor(p, requires_grad=True)

    loss = F.binary_cross_entropy(x, jt.array(y), reduction="none")
    theirs = torch.nn.functional.binary_cross_entropy(t, torch.tensor(y), reduction="none")
    theirs.sum().backward()

    np.testing.assert_allclose(loss.numpy(), theirs.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(jt.grad(loss.sum(), x).numpy(), t.grad.numpy(), rtol=1e-8)


@pytest.mark.parametrize("dtype", HALVES)
def test_binary_cross_entropy_of_halves_is_finite(dtype):
    p = jt.array([1.0, 0.0, 0.5]).cast(dtype)

    loss = F.binary_cross_entropy(p, jt.array([0.0, 1.0, 1.0]).cast(dtype), reduction="none")

    np.testing.assert_allclose(loss.float().numpy(), [100, 100, math.log(2)], rtol=1e-2)


@pytest.mark.parametrize("bounds", [(5.5, 6.0), (-6.0, -5.5), (-1.0, 0.5)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tails_of_the_normal_distribution_are_no_two_points(bounds, dtype):
    from_, to = bounds
    drawn = nn.init.trunc_normal_(jt.zeros((4000,), dtype=dtype), a=from_, b=to).numpy()
    grid = np.linspace(from_, to, 20001)
    density = np.exp(-grid * grid / 2)

    assert (drawn >= from_).all()
    assert (drawn <= to).all()
    assert len(np.unique(drawn)) > 3000
    assert drawn.mean() == pytest.approx((grid * density).sum() / density.sum(), abs=0.03)


def test_gumbel_softmax_draws_each_class_as_often_as_softmax_says():
    scores = jt.array(np.broadcast_to(np.log([0.1, 0.2, 0.7]), (4000, 3)).copy())

    hard = F.gumbel_softmax(scores, hard=True)
    soft = F.gumbel_softmax(scores, tau=0.5)

    assert set(hard.numpy().ravel()) == {0, 1}
    np.testing.assert_allclose(hard.numpy().sum(1), 1)
    np.testing.assert_allclose(hard.numpy().mean(0), [0.1, 0.2, 0.7], atol=0.03)
    np.testing.assert_allclose(soft.numpy().sum(1), 1)
    assert np.abs(jt.grad((hard * jt.array([1.0, 2.0, 3.0])).sum(), scores).numpy()).max() > 0
    assert F.gumbel_softmax(scores, hard=True, dim=0).numpy().sum(0).tolist() == [1, 1, 1]


def test_a_softmin_there_is_only_one(torch):
    assert nn.softmin is jt.softmin is F.softmin
    x = np.array([0, 1], "uint8")

    np.testing.assert_allclose(jt.nn.Softmin()(jt.array(x)).numpy(), torch.softmax(-torch.tensor([0.0, 1.0]), 0))
    assert str(F.softmin(jt.array(x), 0, dtype="float32").dtype) == "float32"


def test_a_row_may_be_counted_from_the_back_as_padding():
    table = jt.array([[1.0], [2.0], [3.0]])

    rows = F.embedding(jt.array([0, 2, -1]), table, padding_idx=-1)

    assert jt.grad(rows.sum(), table).numpy().ravel().tolist() == [1, 0, 0]


def test_functions_of_batches_do_not_need_a_layer(torch, rng):
    x = rng.normal(size=(4, 3, 5))
    for own in (True, False):
        for name, word in (("batch_norm", "training"), ("instance_norm", "use_input_stats")):
            ours = [jt.array(np.full(3, k + 0.5)) for k in range(4)]
            theirs = [torch.full((3,), k + 0.5, dtype=torch.float64) for k in range(4)]

            y = getattr(F, name)(jt.array(x), *ours, **{word: own}, momentum=0.3)
            z = getattr(torch.nn.functional, name)(torch.tensor(x), *theirs, **{word: own}, momentum=0.3)

            np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-9, err_msg=f"{name} {own}")
            for a, b in zip(ours[:2], theirs[:2], strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, err_msg=f"{name} {own}")
    assert F.batch_norm(jt.array(x), np.zeros(3), np.ones(3)).shape == (4, 3, 5)


def test_running_statistics_in_halves_hold_a_share_of_what_halves_cannot_hold():
    norm = nn.BatchNorm1d(1).float16()

    norm(jt.array([[-300.0], [300.0]], dtype="float16"))

    assert norm.running_var.dtype == "float16"
    assert norm.running_var.item() == pytest.approx(0.9 + 0.1 * 180_000, rel=1e-3)


def test_softmax2d_of_one_image_is_that_of_a_batch_of_one(rng):
    image = jt.array(rng.normal(size=(3, 2, 2)))

    alone, batch = nn.Softmax2d()(image), nn.Softmax2d()(image.reshape(1, 3, 2, 2))

    np.testing.assert_allclose(alone.numpy(), batch.numpy()[0], rtol=1e-12)
    np.testing.assert_allclose(alone.numpy().sum(0), 1, rtol=1e-12)
