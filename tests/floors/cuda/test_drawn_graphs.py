"""Graphs that nobody chose, as kernels of a GPU: a CPU's numbers, gradients too, and nothing wrong with a kernel."""

import numpy as np
import pytest

import jt_edu as jt

LENGTHS = [1, 2, 3, 5, 17, 33]
STEPS = [
    lambda x, y, k: jt.tanh(x),
    lambda x, y, k: x * 1.5 + y.mean(),
    lambda x, y, k: x.sum(k, keepdims=True) + x,
    lambda x, y, k: x.max(k),
    lambda x, y, k: jt.nn.softmax(x, k),
    lambda x, y, k: x - x.mean(k, keepdims=True),
    lambda x, y, k: x.transpose(*range(x.ndim)[::-1]),
    lambda x, y, k: x.reshape(x.shape[0], -1) @ x.reshape(x.shape[0], -1).transpose(1, 0),
    lambda x, y, k: x[np.arange(2 * x.shape[0]) % x.shape[0]],
    lambda x, y, k: jt.where(x > 0, x, x * 0.1),
    lambda x, y, k: jt.concat([x, x * y.sum()], k),
    lambda x, y, k: x[-3:].cumsum(0),
]


def drawn(number):
    """Two arrays, and a function that makes a graph of them: the same one each time."""
    rng = np.random.default_rng(number)
    shapes = [tuple(rng.choice(LENGTHS, rng.integers(1, 4)).tolist()) for _ in range(2)]
    steps = [(STEPS[rng.integers(len(STEPS))], rng.integers(1 << 30, size=3)) for _ in range(rng.integers(2, 6))]

    def graph(leaves):
        made = [*leaves]
        for step, (first, second, axis) in steps:
            x, y = made[first % len(made)], made[second % len(made)]
            if x.ndim and x.size < 3000:
                made.append(step(x, y, int(axis % x.ndim)))
        return made[-1].sum() + (made[-2] ** 2).mean()

    return [rng.standard_normal(shape).astype("float32") for shape in shapes], graph


@pytest.mark.parametrize("number", range(16))
def test_a_drawn_graph_gives_a_cpus_numbers(number):
    arrays, graph = drawn(number)

    def found():
        leaves = [jt.array(a) for a in arrays]
        total = graph(leaves)
        gradients = jt.grad(total, leaves, allow_unused=True)
        return [v.numpy() for v in (total, *gradients) if v is not None]

    expected = found()
    with jt.flag_scope(backend="cudasim"):
        mine = found()

    for a, b in zip(mine, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * max(1, np.abs(b).max(initial=0)))
