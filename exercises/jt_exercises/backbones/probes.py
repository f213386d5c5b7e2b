"""Probes: networks are made and run where a learner's function is, and plain arrays come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu import nn
from jt_exercises.backbones.foreign import COUNTER
from jt_exercises.verdict import short

RATE, STEPS = 0.5, 2  # of the training of a head
State = Mapping[str, Any]


def block(residual: Callable[..., Any], x: jt.Var, around: bool) -> Any:
    """What comes out of a residual block whose body is 1 - x, and its way around 2 x, where it has one."""
    return residual(x, lambda v: 1 - v, (lambda v: 2 * v) if around else None)


def body(bottleneck: Callable[..., Any], state: State, x: jt.Var, *sizes: int) -> Any:
    """The kinds of its layers, the shapes of their weights, and what comes out with these weights, where they fit."""
    made = bottleneck(*sizes)
    if not isinstance(made, nn.Sequential):
        return None if made is None else short(type(made))
    shapes = {name: var.shape for name, var in made.state_dict().items() if not name.endswith(COUNTER)}
    out = None
    if shapes == {name: values.shape for name, values in state.items()}:
        made.load_state_dict(state)
        out = made.eval()(x)
    return [type(layer).__name__ for layer in made], shapes, out


def folded(fold: Callable[..., Any], weight: Any, bias: Any, norm: State, eps: float) -> Any:
    """What `fold` makes of a convolution and a batch norm with these numbers."""
    outputs, inputs, *window = weight.shape
    conv = nn.Conv2d(inputs, outputs, tuple(window), bias=bias is not None)
    conv.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    bn = nn.BatchNorm2d(outputs, eps=eps)
    bn.load_state_dict(norm)
    return fold(conv, bn.eval())


class Tiny(nn.Module):
    """A backbone and a head, called as those of the notebook."""

    def __init__(self, channels: int, classes: int) -> None:
        self.conv1, self.bn1 = nn.Conv2d(1, channels, 3, bias=False), nn.BatchNorm2d(channels)
        self.fc = nn.Linear(channels, classes)

    def execute(self, x: jt.Var) -> jt.Var:
        """(n, 1, h, w) -> scores (n, classes)."""
        scores: jt.Var = self.fc(self.bn1(self.conv1(x)).relu().mean((2, 3)))
        return scores


def trained(new_head: Callable[..., Any], state: State, classes: int, x: jt.Var, labels: jt.Var) -> Any:
    """Is the head the old one, what needs a gradient, and all numbers before and after some steps, where it can learn.

    A text where nothing to train came back.
    """
    net = Tiny(*reversed(state["fc.weight"].shape))
    net.load_state_dict(state)
    old, given = net.fc, new_head(net, classes)
    if not isinstance(given, Iterable):
        return None if given is None else short(given)
    optimizer, before = jt.optim.SGD(list(given), lr=RATE), _copied(net)
    learn = [name for name, p in net.named_parameters() if p.requires_grad]
    if "fc.bias" in learn and len(before["fc.bias"]) == classes:
        for _ in range(STEPS):
            optimizer.step(jt.cross_entropy_loss(net(x), labels))
    return net.fc is old, learn, before, _copied(net)


def _copied(net: nn.Module) -> dict[str, np.ndarray[Any, Any]]:
    return {name: var.numpy().copy() for name, var in net.state_dict().items()}
