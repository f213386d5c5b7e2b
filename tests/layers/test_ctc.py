"""CTC where it is large, empty, improbable or impossible; tests/layers/test_losses.py asks what it means."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn


def drawn(rng, t, n, classes, s):
    """log-probabilities, letters, and both lengths; the first sequence is as long as can be."""
    x, letters = rng.normal(size=(t, n, classes)), rng.integers(1, classes, (n, s))
    letters[:, 1::3] = letters[:, :-1:3]  # some are said twice
    moments, counts = rng.integers(2 * s, t + 1, n), rng.integers(0, s + 1, n)
    moments[0], counts[0] = t, s
    return x - np.log(np.exp(x).sum(2, keepdims=True)), letters, moments, counts


def beside_torch(torch, logs, letters, moments, counts, atol, **options):
    """Losses and gradients; PyTorch's gradient counts on a softmax before the loss, so both have one."""
    x, theirs = jt.array(logs), torch.tensor(logs, requires_grad=True)
    found = nn.ctc_loss(jt.log_softmax(x, 2), jt.array(letters), jt.array(moments), jt.array(counts), **options)
    expected = torch.nn.functional.ctc_loss(
        theirs.log_softmax(2), torch.tensor(letters), torch.tensor(moments), torch.tensor(counts), **options
    )
    expected.sum().backward()
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=atol)
    np.testing.assert_allclose(jt.grad(found.sum(), x).numpy(), theirs.grad.numpy(), atol=atol)


@pytest.mark.parametrize(("t", "s"), [(20, 8), (330, 150)])  # more places than a kernel does at once
def test_long_targets_of_several_lengths_are_pytorchs(torch, rng, t, s):
    beside_torch(torch, *drawn(rng, t, 3, 5, s), 1e-9, reduction="none")


def test_what_is_nearly_impossible_keeps_its_logarithm(torch, rng):
    logs, letters, moments, counts = drawn(rng, 40, 2, 4, 6)

    beside_torch(torch, logs * 300, letters, moments, counts, 1e-8, reduction="none")


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_moment_that_can_only_say_one_letter_is_no_reason_for_nan(backend):
    logs = np.log(np.full((4, 1, 3), 1 / 3))
    logs[1, 0] = [-np.inf, 0, -np.inf]  # "a", at the second moment

    with jt.flag_scope(backend=backend):
        x = jt.array(logs)
        loss = nn.ctc_loss(x, jt.array([[1]]), [4], [1], reduction="sum")
        gradient = jt.grad(loss, x)

        ways = 2 * 3  # (a or -) a, then a a, a -, - -
        np.testing.assert_allclose(loss.item(), -np.log(ways / 3**3), rtol=1e-12)
        np.testing.assert_allclose(gradient.numpy().sum((1, 2)), -1, rtol=1e-12)  # at each moment, something is said


@pytest.mark.parametrize("options", [{"reduction": "none"}, {"zero_infinity": True}])
def test_a_sequence_of_no_moments_spells_no_letter_as_in_pytorch(torch, rng, options):
    logs, letters, _, _ = drawn(rng, 5, 3, 4, 2)

    beside_torch(torch, logs, letters, np.array([5, 0, 0]), np.array([2, 0, 1]), 1e-9, **options)


@pytest.mark.parametrize(
    ("moments", "counts", "message"),
    [
        ([6], [2], "ctc_loss input_lengths reads whole numbers from 0 to 5; found the index 6"),
        ([-1], [2], "ctc_loss input_lengths reads whole numbers from 0 to 5; found the index -1"),
        ([5], [3], "ctc_loss target_lengths reads whole numbers from 0 to 2; found the index 3"),
    ],
)
def test_a_length_that_cannot_be_is_refused_by_its_name(rng, moments, counts, message):
    logs, letters, _, _ = drawn(rng, 5, 1, 4, 2)

    with pytest.raises(jt.base.errors.RangeError, match=message):
        nn.ctc_loss(jt.array(logs), jt.array(letters), moments, counts).item()


def test_nothing_is_said_by_blanks_alone():
    logs = jt.log_softmax(jt.array([[[1.0, 2.0]], [[0.5, 0.0]]]), 2)

    loss = nn.ctc_loss(logs, jt.array([[1]]), [2], [0], reduction="sum")

    np.testing.assert_allclose(loss.item(), -logs.numpy()[:, 0, 0].sum(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_ways_of_halves_are_added_up_in_float32_and_rounded_once(rng, dtype):
    logs, *rest = drawn(rng, 50, 2, 4, 10)
    x = jt.array(logs, dtype)
    rest = [jt.array(a) for a in rest]

    loss = nn.ctc_loss(x, *rest, reduction="none")

    assert str(loss.dtype) == dtype
    np.testing.assert_array_equal(
        loss.float().numpy(), nn.ctc_loss(x.float(), *rest, reduction="none").cast(dtype).float().numpy()
    )


def test_second_gradients_of_long_targets_in_float32_are_finite(rng):
    logs, *rest = drawn(rng, 300, 2, 5, 120)  # three ways to each place: 3 ** 120 would be too large

    x = jt.array(logs.astype("float32"))
    gradient = jt.grad(nn.ctc_loss(x, *map(jt.array, rest)), x)
    second = jt.grad((gradient * jt.array(rng.normal(size=logs.shape).astype("float32"))).sum(), x)

    assert np.isfinite(gradient.numpy()).all() and np.isfinite(second.numpy()).all()


def test_a_longer_sequence_takes_no_more_kernels(rng):
    def kernels(t):
        logs, *rest = map(jt.array, drawn(rng, t, 2, 4, 3))
        jt.sync([logs, *rest])
        return [k.name for k in jt.explain(jt.grad(nn.ctc_loss(logs, *rest), logs)).kernels]

    assert kernels(9) == kernels(40)
    assert {"ways", "ways_backwards"} <= set(kernels(40))
