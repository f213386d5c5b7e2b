"""Training: whole steps of a recurrent network and of a transformer, and Adam alone on many numbers.

Both sides begin with the same weights and are compared after each of their first steps.
"""

from functools import partial

import numpy as np
import torch

from jt_edu import optim
from tests.bench import net_ours, net_peer
from tests.bench.networks import NETWORKS
from tests.bench.rows import Case, Goal, Row, vars_and_tensors

LAZY, COMPILED = (Goal("ratio", 0.8),), (Goal("ratio", 1.2),)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def network(name: str, compiled: bool, *sizes: int) -> Case:
    """Forward, mean squared error, backward, SGD."""
    return Case(net_ours.trainer(name, *sizes, compiled=compiled), net_peer.trainer(name, *sizes), steps=3)


def adam(settings: dict, count: int) -> Case:
    """One step, with gradients that are there already."""
    (p, g), (q, h) = vars_and_tensors(normal(count), normal(count) + 1)
    mine = optim.Adam([p], lr=1e-3)
    q.requires_grad_()
    theirs = torch.optim.Adam([q], lr=1e-3, **settings)
    p.grad, q.grad = g, h

    def step():
        mine.step()
        return p

    def peer_step():
        theirs.step()
        return q

    return Case(step, peer_step, steps=3)


def _rows(name, tiny) -> list[Row]:
    size = NETWORKS[name.lower()].sizes
    build = partial(network, name.lower())
    return [
        Row(f"{name} step", LAZY, partial(build, False), size, tiny, tolerance=1e-4),
        Row(f"{name} step, jt.compile", COMPILED, partial(build, True), size, tiny, tolerance=1e-4),
    ]


ROWS = (
    *_rows("LSTM", (2, 3, 4, 2)),
    *_rows("transformer", (2, 4, 2, 3, 2)),
    Row("Adam, 10 million parameters", (Goal("ratio", 1.5),), partial(adam, {}), (10_000_000,), (7,)),
    Row("Adam, peer: fused=True", (), partial(adam, {"fused": True}), (10_000_000,), (7,)),
)
