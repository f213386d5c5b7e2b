"""Training: whole steps of a recurrent network and of a transformer, and Adam alone on many numbers.

Both sides begin with the same weights and are compared after each of their first steps.
"""

from functools import partial

import numpy as np
import torch

import jt_edu as jt
from jt_edu import nn, optim
from tests.bench.rows import Case, Goal, Row, vars_and_tensors

RATE = 0.1
LAZY, COMPILED = (Goal("ratio", 0.8),), (Goal("ratio", 1.2),)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def lstm(compiled: bool, layers: int, width: int, length: int, batch: int) -> Case:
    """Layers of LSTM, whose answers are to become the inputs of the next moment."""
    mine, theirs = nn.LSTM(width, width, layers), torch.nn.LSTM(width, width, layers)
    waves = normal(length + 1, batch, width)
    return _steps(lambda x: mine(x)[0], lambda x: theirs(x)[0], mine, theirs, waves[:-1], waves[1:], compiled)


def transformer(compiled: bool, layers: int, width: int, heads: int, length: int, batch: int) -> Case:
    """An encoder without dropout, whose answers are to become given numbers."""
    mine = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True), layers)
    one = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True)
    theirs = torch.nn.TransformerEncoder(one, layers, enable_nested_tensor=False)
    x, wanted = normal(2, batch, length, width)
    return _steps(mine, theirs, mine, theirs, x, wanted, compiled)


def _steps(ours, peer, mine, theirs, x, wanted, compiled) -> Case:
    """Forward, mean squared error, backward, SGD."""
    mine.load_state_dict({name: t.detach().numpy().copy() for name, t in theirs.state_dict().items()})
    (a, b), (t, u) = vars_and_tensors(x, wanted)
    sgd, peer_sgd = optim.SGD(mine.parameters(), lr=RATE), torch.optim.SGD(theirs.parameters(), lr=RATE)

    def step(x, wanted):
        loss = nn.mse_loss(ours(x), wanted)
        sgd.step(loss)
        return loss

    def peer_step():
        loss = torch.nn.functional.mse_loss(peer(t), u)
        peer_sgd.zero_grad()
        loss.backward()
        peer_sgd.step()
        return loss

    taken = jt.compile(step) if compiled else step
    return Case(lambda: taken(a, b), peer_step, steps=3)


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


def _rows(name, build, size, tiny) -> list[Row]:
    return [
        Row(f"{name} step", LAZY, partial(build, False), size, tiny, tolerance=1e-4),
        Row(f"{name} step, jt.compile", COMPILED, partial(build, True), size, tiny, tolerance=1e-4),
    ]


ROWS = (
    *_rows("LSTM", lstm, (2, 128, 50, 32), (2, 3, 4, 2)),
    *_rows("transformer", transformer, (2, 128, 4, 64, 16), (2, 4, 2, 3, 2)),
    Row("Adam, 10 million parameters", (Goal("ratio", 1.5),), partial(adam, {}), (10_000_000,), (7,)),
    Row("Adam, peer: fused=True", (), partial(adam, {"fused": True}), (10_000_000,), (7,)),
)
