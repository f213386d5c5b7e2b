"""Random numbers of a GPU are those of a CPU, since each is a function of its number; a step with them stays there."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from tests.gpu.conftest import card, gpu  # noqa: F401 - fixtures

WIDE = jt.ones((7, 9))


def drawn(work, backend):
    jt.set_global_seed(11)
    with jt.flag_scope(backend=backend):
        return [v.numpy() for v in work()]


@pytest.mark.parametrize(
    "work",
    [
        lambda: [jt.rand(40), jt.rand(3, 5, dtype="float64"), jt.rand(40, dtype="float16")],
        lambda: [jt.randint(-3, 9, (40,)), jt.randint(0, 1 << 40, (5,)), jt.randperm(40)],
        lambda: [nn.dropout(WIDE, 0.3), nn.dropout(WIDE, 0.5), nn.dropout2d(jt.ones((2, 3, 4, 4)), 0.5)],
        lambda: [jt.bernoulli(WIDE * 0.4), jt.multinomial(jt.arange(1, 9).float32(), 6, replacement=True)],
    ],
    ids=["uniform", "whole", "dropout", "drawn"],
)
def test_the_same_seed_gives_the_same_numbers_to_the_last_bit(work):
    for mine, theirs in zip(drawn(work, "cudasim"), drawn(work, "numba"), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


def test_normal_numbers_are_a_cpus_to_the_digits_of_their_logarithms():
    def work():
        return [jt.randn(40), jt.randn(5, dtype="float64"), jt.normal(2.0, 3.0, (9,))]

    for mine, theirs in zip(drawn(work, "cudasim"), drawn(work, "numba"), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5 if mine.itemsize == 4 else 1e-13, atol=1e-6)


def trained(backend):
    """Losses of a net with dropout, and what its parameters are afterwards."""
    jt.set_global_seed(3)
    with jt.flag_scope(backend=backend):
        net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Dropout(0.5), nn.LayerNorm(8), nn.Linear(8, 3))
        x, y = jt.array(np.linspace(-1, 1, 24, dtype="float32").reshape(4, 6)), jt.ones((4, 3))
        optimizer = jt.optim.AdamW(net.parameters(), 0.01)
        losses = []
        for _ in range(2):
            losses.append(nn.mse_loss(net(x), y))
            optimizer.step(losses[-1])
            jt.sync_all()
            yield losses
        yield [*losses, *net.parameters()]


def test_a_step_with_dropout_and_adam_is_a_cpus():
    (*_, mine), (*_, theirs) = trained("cudasim"), trained("numba")

    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


def test_a_step_with_dropout_and_adam_sends_nothing_to_the_cpu(gpu):  # noqa: F811
    steps = trained("cuda")
    next(steps)
    before = gpu.calls.count("cuMemcpyDtoHAsync_v2")
    next(steps)

    assert gpu.calls.count("cuMemcpyDtoHAsync_v2") == before
    assert len(gpu.launches) > 10
