"""Training: a small network that several ranks train by hand. These run in a learner's process, on simulated ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu import nn
from jt_exercises.ranks.probes import on_ranks

NAMES = ("w", "first.weight", "first.bias")  # of its parameters; the last two do not learn
STEPS, RATE = 3, 0.5


class Tied(nn.Module):
    """x -> tanh(x W) Wᵀ, after a layer that does not learn."""

    def __init__(self) -> None:
        self.first = nn.Linear(6, 6)
        self.w = jt.randn(6, 4) * 0.3
        self.first.weight.stop_grad()
        self.first.bias.stop_grad()

    def execute(self, x: jt.Var) -> jt.Var:
        """(n, 6) to (n, 6)."""
        return jt.matmul(jt.tanh(jt.matmul(self.first(x), self.w)), self.w.transpose())


def beginnings(begin: Callable[..., Any], arguments: Sequence[tuple[int]], options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of each rank after `begin`; before it they are drawn with a seed of its own."""
    return on_ranks(lambda comm, seed: _values(_begun(comm, begin, seed)), arguments, options)


def trainings(
    begin: Callable[..., Any],
    together: Callable[..., Any],
    arguments: Sequence[tuple[int, np.ndarray]],
    options: dict[str, Any],
) -> dict[str, Any]:
    """The parameters of each rank after three steps on its share of a batch."""

    def train(comm: Any, seed: int, batch: np.ndarray) -> list[np.ndarray]:
        net = _begun(comm, begin, seed)
        x = jt.array(np.array_split(batch, comm.size)[comm.rank])
        for _ in range(STEPS):
            learns = [p for p in net.parameters() if p.requires_grad]
            loss = ((net(x) - x) ** 2).mean()
            for p, gradient in zip(learns, jt.grad(loss, learns), strict=True):
                mean = together(comm, gradient.numpy(), len(x))
                if mean is None:
                    raise NotImplementedError("`together` returns None: is a `return` missing?")
                p.update(p - RATE * jt.array(mean))
        return _values(net)

    return on_ranks(train, arguments, options)


def _begun(comm: Any, begin: Callable[..., Any], seed: int) -> Tied:
    jt.set_global_seed(seed)
    net = Tied()
    begin(comm, net)
    return net


def _values(net: Tied) -> list[np.ndarray]:
    return [p.numpy() for p in net.parameters()]
