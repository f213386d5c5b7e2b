"""Walks: some steps of learning, taken by a learner's function; what is left of the parameters is plain arrays."""

from __future__ import annotations

from collections.abc import Callable
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


def by_hand(descend: Callable[..., Any], task: Task, steps: int) -> list[np.ndarray]:
    """Weight and bias after some steps of `descend(parameters, loss, lr)`."""
    net = task.layer()
    for _ in range(steps):
        descend(net.parameters(), task.loss(net), task.lr)
    return [p.numpy() for p in net.parameters()]


def with_optimizer(learn: Callable[..., Any], task: Task, steps: int) -> list[np.ndarray]:
    """The same, where `learn(net, optimizer, x, y)` takes a step."""
    net = task.layer()
    optimizer = optim.SGD(net.parameters(), lr=task.lr)
    for _ in range(steps):
        learn(net, optimizer, jt.array(task.images), jt.array(task.classes))
    return [p.numpy() for p in net.parameters()]
