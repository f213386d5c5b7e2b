"""Walks: some steps of learning, taken by a learner's function; what is left of the parameters is plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import jt_edu as jt
from jt_edu import nn, optim
from jt_exercises.seed import random


class Task(NamedTuple):
    """Where a layer begins, a batch with its right classes, and the learning rate."""

    weight: np.ndarray
    bias: np.ndarray
    images: np.ndarray
    classes: np.ndarray
    lr: float = 0.5

    def layer(self) -> nn.Linear:
        """The layer, not trained yet."""
        count, pixels = self.weight.shape
        net = nn.Linear(pixels, count)
        for p, values in zip(net.parameters(), self[:2], strict=True):
            p.assign(jt.array(values))
        return net

    def loss(self, net: nn.Module) -> jt.Var:
        """How far off a network is."""
        return jt.cross_entropy_loss(net(jt.array(self.images)), jt.array(self.classes))


def drawn(case: int, images: int = 12, pixels: int = 5, count: int = 3) -> Task:
    """A task of random numbers."""
    draw = random(case)
    weight, bias, batch = (draw.normal(size=s).astype(np.float32) for s in ((count, pixels), count, (images, pixels)))
    return Task(weight, bias, batch, draw.integers(count, size=images))


def by_sgd(task: Task, steps: int) -> list[np.ndarray]:
    """Weight and bias after some steps of `optim.SGD`."""
    net = task.layer()
    optimizer = optim.SGD(net.parameters(), lr=task.lr)
    for _ in range(steps):
        optimizer.step(task.loss(net))
    return [p.numpy() for p in net.parameters()]


def by_hand(descend: Callable[..., Any], task: Task, steps: int) -> list[np.ndarray]:
    """The same, where `descend(parameters, loss, lr)` takes a step; an optimiser cannot take one meanwhile."""
    net = task.layer()
    with _without_optimizers():
        for _ in range(steps):
            descend(net.parameters(), task.loss(net), task.lr)
    return [p.numpy() for p in net.parameters()]


@contextmanager
def _without_optimizers() -> Iterator[None]:
    def refused(*_: Any, **__: Any) -> None:
        raise ValueError("an optimiser takes this step; here it is yours to take, with `jt.grad` and `p.assign`")

    step = optim.Optimizer.step
    setattr(optim.Optimizer, "step", refused)  # noqa: B010 - for so long
    try:
        yield
    finally:
        setattr(optim.Optimizer, "step", step)  # noqa: B010


def with_optimizer(learn: Callable[..., Any], task: Task, steps: int) -> list[np.ndarray]:
    """The same, where `learn(net, optimizer, x, y)` takes a step; this optimiser takes no loss."""
    net = task.layer()
    optimizer = _Lossless(net.parameters(), lr=task.lr)
    for _ in range(steps):
        learn(net, optimizer, jt.array(task.images), jt.array(task.classes))
    return [p.numpy() for p in net.parameters()]


class _Lossless(optim.SGD):
    def step(self, loss: Any = None, retain_graph: bool = False) -> Any:
        """Move all parameters along what is in `.grad`."""
        if loss is not None:
            raise ValueError("step(loss) is three calls at once; here it is `step()`, without a loss")
        return super().step(None, retain_graph)
