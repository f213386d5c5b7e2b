"""A softmax over many words in clusters: PyTorch's numbers, a distribution, and one graph whatever the targets are."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import RangeError
from tests.layers.harness import agrees

WORDS = np.array([0, 3, 4, 9, 10, 19])  # first and last of the frequent ones, and of two clusters
SETTINGS = [
    {"cutoffs": [4, 10], "div_value": 2.0},
    {"cutoffs": [4, 10], "div_value": 2.0, "head_bias": True},
    {"cutoffs": [4]},
    {"cutoffs": [1, 19], "div_value": 1.5},
    {"cutoffs": [10], "div_value": 0.5},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_clusters_agree_with_pytorch(torch, rng, settings):
    ours = nn.AdaptiveLogSoftmaxWithLoss(8, 20, **settings)
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, **settings)

    agrees(torch, ours, theirs, rng.normal(size=(6, 8)), WORDS)
    agrees(torch, ours, theirs, rng.normal(size=(3, 8)), np.array([1, 1, 0]))
    agrees(torch, ours, theirs, rng.normal(size=8), np.array(12))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_probabilities_and_predictions_agree_with_pytorch(torch, rng, settings):
    ours = nn.AdaptiveLogSoftmaxWithLoss(8, 20, **settings).double()
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, **settings).double()
    ours.load_state_dict({name: value.detach().numpy() for name, value in theirs.state_dict().items()})
    x = rng.normal(size=(40, 8)) * 4

    with jt.flag_scope(backend="python"):
        np.testing.assert_allclose(
            ours.log_prob(jt.array(x)).numpy(), theirs.log_prob(torch.tensor(x)).detach().numpy(), rtol=1e-9
        )
        np.testing.assert_array_equal(ours.predict(jt.array(x)).numpy(), theirs.predict(torch.tensor(x)).numpy())


def test_the_answer_has_names_and_is_the_probability_of_the_targets(rng):
    layer, x = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0), jt.array(rng.normal(size=(6, 8)).astype("float32"))

    answer, logs = layer(x, jt.array(WORDS)), layer.log_prob(x).numpy()

    assert isinstance(answer, nn.AdaptiveAnswer)
    np.testing.assert_allclose(np.exp(logs).sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(answer.output.numpy(), logs[np.arange(6), WORDS], rtol=1e-5)
    assert answer.loss.item() == pytest.approx(-answer.output.numpy().mean())


def test_a_row_whose_target_is_elsewhere_teaches_a_cluster_nothing():
    layer, x = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2]), jt.ones(2, 4)

    frequent, rare = (jt.grad(layer(x, jt.array(t)).loss, layer.tail[0][1].weight) for t in ([0, 1], [0, 5]))

    assert not frequent.numpy().any()
    assert rare.numpy().any()


@pytest.mark.parametrize("target", [-1, 6])
def test_a_target_that_is_no_word_is_told_at_once_or_when_the_answer_is_computed(target):
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])
    pending = layer(jt.ones(1, 4), jt.array([target - 1]) + 1)

    with pytest.raises(RangeError, match=f"AdaptiveLogSoftmaxWithLoss.*{target}"):
        layer(jt.ones(1, 4), jt.array([target]))
    with pytest.raises(RangeError, match=f"AdaptiveLogSoftmaxWithLoss.*{target}"):
        pending.loss.item()


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_targets_of_any_whole_dtype_are_the_same_words(dtype):
    layer, x = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], 2.0), jt.ones(3, 4)

    found = layer(x, jt.array([0, 3, 5], dtype)).output

    assert found.tolist() == layer(x, jt.array([0, 3, 5])).output.tolist()


def test_one_captured_step_serves_all_targets():
    layer, x = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], 2.0), jt.ones(3, 4)
    step = jt.compile(lambda x, target: layer(x, target).output)

    for targets in ([0, 1, 0], [5, 4, 3], [0, 3, 5]):
        np.testing.assert_allclose(
            step(x, jt.array(targets)).numpy(), layer(x, jt.array(targets)).output.numpy(), rtol=1e-6
        )


def test_halves_stay_halves():
    answer = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], dtype="float16")(jt.ones(2, 4).half(), jt.array([0, 5]))

    assert str(answer.output.dtype) == str(answer.loss.dtype) == "float16"
