"""11.4: a frozen backbone, and a new head that learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import Array, numbers, same
from jt_exercises.backbones import probes
from jt_exercises.backbones.arrays import NEAR, batch_norm, convolution, norm
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

CASES = ((4, 3, 5), (7, 3, 2))  # channels of the backbone, classes of the old head, of the new one
BATCH = 16


@exercise(
    "11.4",
    "a new question, ten images",
    points=2,
    hints=(
        """`net.requires_grad_(False)` freezes the parameters that `net` has when you call it. So make the new head
        after that.""",
        "What in a batch norm changes without a gradient? In which mode does it stay as it is?",
        "`net.fc = nn.Linear(net.fc.weight.shape[1], classes)`",
    ),
    why="Few people train a large network from nothing: they train a head, which needs few images and little time.",
)
def head(new_head: Callable[..., Any]) -> str:
    """Train with the parameters that come back, and look what has changed besides the head."""
    for case, (channels, old, classes) in enumerate(CASES):
        draw, told = random(4, case), f"new_head(net, {classes})"
        state = {f"bn1.{name}": values for name, values in norm(draw, channels).items()}
        shapes = {"conv1.weight": (channels, 1, 3, 3), "fc.weight": (old, channels), "fc.bias": (old,)}
        state |= {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        x, labels = draw.normal(3, 2, (BATCH, 1, 6, 6)).astype(np.float32), draw.integers(0, classes, BATCH)
        handed = (state, classes, jt.array(x), jt.array(labels))
        found = ask(new_head, *handed, case=f"net, {classes}", name="new_head", through=probes.trained)
        if isinstance(found, str):
            raise RefusedError(f"{told} returns the parameters to train, not {found}")
        old_one, learn, before, after = found
        if old_one:
            raise RefusedError(f"after {told} net.fc is the old one: put a new nn.Linear in its place")
        if "fc.bias" not in learn:
            raise RefusedError(f"after {told} net.fc is frozen, too: freeze first, then make the head")
        asked = f"after {told} net.fc.weight should have the shape {(classes, channels)}"
        begin = numbers(before["fc.weight"], asked, (classes, channels)), before["fc.bias"]
        _backbone(state, after, [name for name in learn if not name.startswith("fc.")])
        end = after["fc.weight"], after["fc.bias"]
        right = _stepped(*begin, batch_norm(convolution(x, state["conv1.weight"]), state, "bn1"), labels)
        if any(np.array_equal(was, now) for was, now in zip(begin, end, strict=True)):
            raise RefusedError("after two steps a part of the new head is as it was: return all of its parameters")
        for now, wanted in zip(end, right, strict=True):
            same(now, wanted, near=NEAR, otherwise="after two steps the new head is not where its gradients lead")
    return "the head learns, and nothing else moves"


def _backbone(state: dict[str, Array], after: dict[str, Array], learn: list[str]) -> None:
    """Judge what has become of all but the head."""
    kept = [*(name for name in state if not name.startswith("fc.")), "bn1.num_batches_tracked"]
    moved = [name for name in kept if not np.array_equal(after[name], state.get(name, 0))]  # no batch was counted
    weights = [name for name in moved if "running" not in name and "tracked" not in name]
    if weights:
        raise RefusedError(f"after two steps {weights[0]} of the backbone has changed: only the head may be returned")
    if moved:
        raise RefusedError(
            f"no weight of the backbone has changed, but {moved[0]} has: while it trains, a batch norm takes its "
            f"statistics from the batch and remembers them. `eval()` stops that"
        )
    if learn:
        raise RefusedError(
            f"{learn[0]} stays as it is, but its gradient is computed in vain: freeze it with `requires_grad_(False)`"
        )


def _stepped(weight: Array, bias: Array, maps: Array, labels: Array) -> tuple[Array, Array]:
    """A head after some steps of gradient descent, on maps (n, c, h, w)."""
    features = np.maximum(maps, 0).mean((2, 3))  # (n, c)
    for _ in range(probes.STEPS):
        powers = np.exp(features @ weight.T + bias)
        d = (powers / powers.sum(1, keepdims=True) - np.eye(len(bias))[labels]) / len(labels)  # of the scores
        weight, bias = weight - probes.RATE * d.T @ features, bias - probes.RATE * d.sum(0)
    return weight, bias
