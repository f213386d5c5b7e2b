"""Train: whole steps of training of convolutional networks: forward, loss, backward, SGD.

Both sides begin with the same weights, and the losses of their first steps are compared.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import jt_edu as jt
from jt_edu import models, nn, optim
from tests.bench import net_ours, net_peer, networks, shares
from tests.bench.mirror import mirror
from tests.bench.rows import Case, Goal, Row, vars_and_tensors

ROUNDS = 25
TITLE = "Steps of training of convolutional networks, beside PyTorch eager and torch.compile."
NOTES = """
* **ResNet-18**: 16 images of 3 x 64 x 64, 1000 classes, SGD with momentum 0.9. **digits CNN**: like LeNet, two
  convolutions of 3 x 3 with 6 and 16 channels, each followed by a pool, and layers of 120, 84 and 10; 64 images of
  8 x 8, SGD. A step is forward, cross entropy, backward and SGD, on both sides.
* **jt.compile**: the step is captured once, and then replayed; the other rows build their graph in each step.
* **peer: torch.compile**: the network of the peer is compiled by PyTorch's inductor, where there is a C++ compiler; its
  optimiser is eager. Compiling takes it a minute, which does not count.
* **error**: of the losses of the first steps.
"""
RATE, MOMENTUM = 0.01, 0.9


def resnet(compiled: bool, peer_compiled: bool, *size: int) -> Case:
    """ResNet-18 for images of size (batch, 3, h, w)."""
    jt.set_global_seed(0)
    net = models.resnet18()
    net.train()
    jt.sync([*net.parameters(), *net.buffers()])
    return stepping(net, mirror(net), size, compiled, peer_compiled)


def stepping(net: Any, theirs: Any, size: tuple[int, ...], compiled: bool = True, peer_compiled: bool = False) -> Case:
    """A step of training of either network with images of size (batch, 3, h, w)."""
    rng = np.random.default_rng(0)
    (x, y), (t, u) = vars_and_tensors(rng.standard_normal(size, np.float32), rng.integers(0, 1000, size[0]))
    sgd = optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM)
    peer_sgd = torch.optim.SGD(theirs.parameters(), lr=RATE, momentum=MOMENTUM)
    model = torch.compile(theirs) if peer_compiled else theirs

    def step(x: Any, y: Any) -> Any:
        loss = nn.cross_entropy_loss(net(x), y)
        sgd.step(loss)
        return loss

    def peer_step() -> torch.Tensor:
        loss = torch.nn.functional.cross_entropy(model(t), u)
        peer_sgd.zero_grad()
        loss.backward()
        peer_sgd.step()
        return loss

    taken = jt.compile(step) if compiled else step
    return _told(lambda: taken(x, y), peer_step, 2)


def digits(compiled: bool, peer_compiled: bool, *size: int) -> Case:
    """The digits CNN for (side, batch)."""
    return _told(
        net_ours.trainer("cnn", *size, compiled=compiled), net_peer.trainer("cnn", *size, compiled=peer_compiled), 4
    )


def _told(ours: Callable[[], Any], peer: Callable[[], Any], steps: int) -> Case:
    return Case(ours, peer, steps=steps, how=lambda: shares.told(ours))


COMPILED = "peer: torch.compile"


def _rows(
    name: str, build: Callable[..., Case], sizes: tuple[tuple[int, ...], tuple[int, ...]], goal: float, bar: float
) -> list[Row]:
    return [
        Row(f"{name} step", (), partial(build, False, False), *sizes, tolerance=bar),
        Row(f"{name} step, jt.compile", (Goal("ratio", goal),), partial(build, True, False), *sizes, tolerance=bar),
        Row(f"{name} step, jt.compile, {COMPILED}", (), partial(build, True, True), *sizes, tolerance=bar),
    ]


ROWS = (
    *_rows("ResNet-18", resnet, ((16, 3, 64, 64), (2, 3, 32, 32)), 1.0, 1e-3),
    *_rows("digits CNN", digits, (networks.NETWORKS["cnn"].sizes, (8, 3)), 2.0, 1e-4),
)


tables = shares.tables


def QUICK(row: Row) -> bool:  # noqa: N802  a constant of the suite, which happens to be a function
    """All but those for which PyTorch compiles."""
    return COMPILED not in row.name
