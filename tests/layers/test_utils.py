"""Utilities: parameters as one vector, clipped gradients, weights that are computed from others."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, GradientError
from tests.layers.harness import agrees

pytestmark = pytest.mark.usefixtures("python_backend")


def old(function, *arguments, **settings):
    """PyTorch's older form of a norm, which says that there is a newer one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return function(*arguments, **settings)


# ---------------------------------------------------------------------------------------------------------- vectors


def test_parameters_become_a_vector_and_come_back():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = nn.utils.parameters_to_vector(net.parameters())
    before = [p.tolist() for p in net.parameters()]

    nn.utils.vector_to_parameters(vector * 2, net.parameters())

    assert vector.shape == (6 + 3 + 3 + 1,)
    for p, was in zip(net.parameters(), before, strict=True):
        np.testing.assert_allclose(p.numpy(), 2 * np.array(was), rtol=1e-6)
        assert p.requires_grad


def test_a_vector_of_parameters_has_gradients():
    p, q = jt.array([1.0, 2.0]), jt.array([[3.0]])
    vector = nn.utils.parameters_to_vector([p, q])

    assert [g.tolist() for g in jt.grad((vector * vector).sum(), [p, q])] == [[2.0, 4.0], [[6.0]]]


# -------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.5, float("inf")])
@pytest.mark.parametrize("max_norm", [0.0, 0.5, 100.0])
def test_gradients_are_clipped_as_in_pytorch(torch, rng, norm_type, max_norm):
    arrays = [rng.normal(size=3), rng.normal(size=(2, 2))]
    ours, theirs = [jt.array(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    for some in (ours, theirs):
        sum((p**3).sum() for p in some).backward()

    total = nn.utils.clip_grad_norm_(ours, max_norm, norm_type)
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)

    assert total.item() == pytest.approx(expected.item())
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-9, atol=1e-15)


def test_each_number_of_a_gradient_is_clipped():
    p, q = jt.array([-3.0, 0.5, 4.0]), jt.array([1.0])
    (p * p / 2).sum().backward()

    nn.utils.clip_grad_value_([p, q], 2.0)

    assert p.grad.tolist() == [-2.0, 0.5, 2.0]
    assert q.grad is None


def test_clipping_takes_one_var_or_none_with_a_gradient():
    p = jt.array([3.0, 4.0])
    assert nn.utils.clip_grad_norm_(p, 1.0).item() == 0
    (p * p / 2).sum().backward()
    assert nn.utils.clip_grad_norm_(p, 1.0).item() == 5


def test_a_norm_that_is_not_finite_raises_if_asked_to():
    p = jt.array([1.0])
    (p * np.inf).sum().backward()

    with pytest.raises(GradientError, match="inf"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_(p, 1.0).item() == np.inf


# ------------------------------------------------------------------------------------------------- computed weights


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_is_pytorchs(torch, rng, dim):
    theirs = old(torch.nn.utils.weight_norm, torch.nn.Linear(3, 4), "weight", dim)

    agrees(torch, nn.utils.weight_norm(nn.Linear(3, 4), "weight", dim), theirs, rng.normal(size=(2, 3)))


def test_weight_norm_of_a_convolution_and_of_another_parameter(torch, rng):
    theirs = old(torch.nn.utils.weight_norm, torch.nn.Conv2d(2, 3, 2))
    agrees(torch, nn.utils.weight_norm(nn.Conv2d(2, 3, 2)), theirs, rng.normal(size=(1, 2, 3, 3)))

    theirs = old(torch.nn.utils.weight_norm, torch.nn.Linear(2, 3), "bias")
    agrees(torch, nn.utils.weight_norm(nn.Linear(2, 3), "bias"), theirs, rng.normal(size=(1, 2)))


@pytest.mark.parametrize("settings", [{}, {"n_power_iterations": 3}, {"eps": 0.5}, {"dim": 1}], ids=str)
def test_spectral_norm_is_pytorchs(torch, rng, settings):
    theirs = old(torch.nn.utils.spectral_norm, torch.nn.Conv2d(2, 3, 2), **settings)

    agrees(torch, nn.utils.spectral_norm(nn.Conv2d(2, 3, 2), **settings), theirs, rng.normal(size=(1, 2, 3, 3)))


def test_a_weight_with_spectral_norm_stretches_nothing_by_more_than_one():
    jt.set_global_seed(0)  # where the two largest stretches are almost the same, 30 rounds do not tell them apart
    layer = nn.utils.spectral_norm(nn.Linear(5, 4), n_power_iterations=30)
    layer(jt.ones(1, 5))

    assert np.linalg.norm(layer.weight.numpy(), 2) == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize(
    ("norm", "remove"),
    [(nn.utils.weight_norm, nn.utils.remove_weight_norm), (nn.utils.spectral_norm, nn.utils.remove_spectral_norm)],
)
def test_a_norm_is_taken_away_again(norm, remove):
    plain = nn.Linear(3, 2)
    before = plain.weight.numpy().copy()
    layer, x = norm(plain), jt.ones(1, 3)
    assert "weight" not in layer.state_dict()
    assert len(layer.parameters()) == (3 if norm is nn.utils.weight_norm else 2)
    layer.eval()
    y = layer(x).numpy().copy()

    assert remove(layer) is layer

    assert list(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer(x).numpy(), y, rtol=1e-6)
    assert not layer._hooks_before
    assert norm is nn.utils.spectral_norm or np.allclose(layer.weight.numpy(), before)
    with pytest.raises(ArgumentError, match="without it"):
        remove(layer)


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.spectral_norm])
def test_a_layer_with_a_norm_learns_is_copied_and_pickled(norm):
    layer, x = norm(nn.Linear(2, 2)).eval(), jt.ones(1, 2)
    twins = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]  # noqa: S301 - bytes of its own
    before = layer(x).tolist()
    for p in layer.parameters():
        p.update(p * 0.5 + 1)

    assert layer(x).tolist() != before
    for twin in twins:
        assert twin(x).tolist() == before
