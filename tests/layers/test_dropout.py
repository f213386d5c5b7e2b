"""Dropout: what is forgotten together, how often, and what becomes of the rest."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, ShapeError

CHANNELS = [
    (nn.Dropout1d, (40, 50, 3), 2), (nn.Dropout1d, (2000, 3), 1), (nn.Dropout2d, (40, 50, 2, 2), 2),
    (nn.Dropout2d, (40, 50, 3), 2), (nn.Dropout2d, (40, 50), 2), (nn.Dropout3d, (40, 50, 2, 1, 2), 2),
    (nn.Dropout3d, (2000, 2, 1, 2), 1), (nn.FeatureAlphaDropout, (40, 50, 3), 2),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _seeded(seed):
    jt.set_global_seed(seed)
    with jt.flag_scope(backend="python"):
        yield


@pytest.mark.parametrize(("kind", "shape", "kept"), CHANNELS)
def test_whole_channels_are_forgotten(kind, shape, kept):
    y = kind(0.25)(jt.ones(shape)).numpy().reshape(math.prod(shape[:kept]), -1)

    assert (y == y[:, :1]).all()
    assert len(np.unique(y)) == 2
    assert (y == y.min()).mean() == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(("kind", "shape", "kept"), CHANNELS)
def test_nothing_is_forgotten_outside_of_training_and_everything_with_certainty(kind, shape, kept):
    x = jt.ones(shape)

    assert kind(0.9).eval()(x) is x
    assert kind(0.0)(x) is x
    assert (kind(1.0)(x).numpy() == 0).all()


def test_what_is_left_of_channels_makes_up_for_what_is_gone():
    assert set(np.unique(nn.Dropout2d(0.2)(jt.ones(9, 9, 2, 2)).numpy())) == {np.float32(0), np.float32(1 / 0.8)}


@pytest.mark.parametrize("function", ["alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("p", [0.2, 0.7])
def test_alpha_dropout_keeps_mean_and_variance_and_has_pytorchs_two_answers(torch, rng, function, p):
    x = jt.array(rng.normal(size=(200, 100)))
    y = getattr(nn, function)(x, p, training=True).numpy()
    theirs = getattr(torch.nn.functional, function)(torch.ones(50, 50, 1), p, True).numpy()
    ours = getattr(nn, function)(jt.ones(50, 50, 1), p, training=True).numpy()

    assert y.mean() == pytest.approx(0, abs=0.05)
    assert y.std() == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(np.unique(ours), np.unique(theirs), rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"]
)
def test_functions_know_training_by_two_names(name):
    x, drop = jt.ones(2, 3, 2, 2, 2) if name == "dropout3d" else jt.ones(2, 30, 2), getattr(nn, name)

    assert drop(x, 0.5, is_train=False) is drop(x, 0.5, training=False) is drop(x, 0.5, False) is x
    assert drop(x, 0.5, training=True) is not x
    with pytest.raises(ArgumentError, match="is_train=False, training=True"):
        drop(x, 0.5, False, training=True)


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_functions_forget_by_default_where_pytorchs_do(torch, name):
    torch.manual_seed(0)
    ours, theirs = getattr(nn, name)(jt.ones(9, 9, 9)), getattr(torch.nn.functional, name)(torch.ones(9, 9, 9))

    assert bool((ours.numpy() == 1).all()) == bool((theirs == 1).all())


def test_slopes_of_rrelu_are_drawn_between_their_bounds_while_training():
    layer, x = nn.RReLU(0.2, 0.4), jt.array(np.linspace(-1, 1, 2000).astype("float32"))
    slopes = layer(x).numpy()[:1000] / x.numpy()[:1000]

    assert slopes.min() >= 0.2
    assert slopes.max() <= 0.4
    assert slopes.mean() == pytest.approx(0.3, abs=0.01)
    assert (layer(x).numpy() != layer(x).numpy()).any()
    assert (layer(x).numpy()[1000:] == x.numpy()[1000:]).all()


@pytest.mark.parametrize(
    ("kind", "shape"),
    [(nn.Dropout1d, (2,)), (nn.Dropout2d, (2,)), (nn.Dropout3d, (2, 3)), (nn.FeatureAlphaDropout, (2,))],
)
def test_channels_need_axes(kind, shape):
    with pytest.raises(ShapeError, match=rf"\({shape[0]},"):
        kind()(jt.ones(shape))
