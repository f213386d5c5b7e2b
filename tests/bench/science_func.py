"""Derivatives of functions, and functions of many examples: rows of the suite science.

In rows that say so the other side is ours as well: the same work in a loop, or the gradient that a product is made of.
"""

from functools import partial

import numpy as np
import torch

import jt_edu as jt
from jt_edu import func, nn
from jt_edu.autograd import functional
from jt_edu.data import digits
from tests.bench.pairs import normal
from tests.bench.rows import Case, Goal, Row, vars_and_tensors

theirs = torch.func
CHANNELS = (16, 32)


# -------------------------------------------------------------------------------------------------------- Jacobians


def two_layers(outputs, hidden, inputs):
    """A network of two layers at a place, ours and theirs."""
    sizes = ((inputs,), (hidden, inputs), (outputs, hidden))
    (x, *w), (t, *u) = vars_and_tensors(*(normal(*s, seed=k) / s[-1] ** 0.5 for k, s in enumerate(sizes)))
    return (lambda x: jt.tanh(w[1] @ jt.tanh(w[0] @ x)), x), (lambda x: torch.tanh(u[1] @ torch.tanh(u[0] @ x)), t)


def rows_at_once(*sizes):
    (f, x), _ = two_layers(*sizes)
    return Case(lambda: jt.jacobian(f, x, vectorize=True).sync(), lambda: jt.jacobian(f, x).sync())


def rows_beside_theirs(*sizes):
    (f, x), (g, t) = two_layers(*sizes)
    return Case(lambda: func.jacrev(f)(x).sync(), lambda: theirs.jacrev(g)(t))


# ---------------------------------------------------------------------------------------------- gradients of examples


def reader(lib):
    """A small network for digits."""
    a, b = CHANNELS
    pool = lib.Pool(2, op="maximum") if lib is nn else lib.MaxPool2d(2)
    first, second = lib.Conv2d(1, a, 3, padding=1), lib.Conv2d(a, b, 3, padding=1)
    return lib.Sequential(first, lib.ReLU(), pool, second, lib.ReLU(), pool, lib.Flatten(), lib.Linear(4 * b, 10))


def of_digits(count):
    """Our loss of one digit, parameters and a batch; and theirs, with the same numbers."""
    images, labels = (v.numpy()[:count] for v in next(iter(digits(batch_size=count))))
    (x, y), (t, u) = vars_and_tensors(images, labels)
    net, peer = reader(nn), reader(torch.nn)
    for (_, ours), (_, other) in zip(net.named_parameters(), peer.named_parameters(), strict=True):
        ours.update(jt.array(other.detach().numpy()))

    def loss(params, x, y):
        return nn.cross_entropy_loss(func.functional_call(net, params, x.unsqueeze(0)), y.unsqueeze(0))

    def peer_loss(params, x, y):
        answer = theirs.functional_call(peer, params, (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(answer, y.unsqueeze(0))

    mine = (loss, dict(net.named_parameters()), x, y)
    return mine, (peer_loss, {n: p.detach() for n, p in peer.named_parameters()}, t, u)


def gradients_at_once(loss, params, x, y):
    found = list(jt.vmap(func.grad(loss), (None, 0, 0))(params, x, y).values())
    jt.sync(found)
    return found


def gradients_one_by_one(loss, params, x, y):
    found = []
    for k in range(len(x)):
        found.append(list(func.grad(loss)(params, x[k], y[k]).values()))
        jt.sync(found[-1])
    return [np.stack([part.numpy() for part in parts]) for parts in zip(*found, strict=True)]


def examples_at_once(count):
    mine, _ = of_digits(count)
    return Case(partial(gradients_at_once, *mine), partial(gradients_one_by_one, *mine))


def examples_beside_theirs(count):
    mine, (loss, params, t, u) = of_digits(count)
    call = theirs.vmap(theirs.grad(loss), (None, 0, 0))
    return Case(partial(gradients_at_once, *mine), lambda: list(call(params, t, u).values()))


# ---------------------------------------------------------------------------------------------------------- Hessians


def loss_of_matrices(batch, width):
    """The loss of a network of two square layers, its weights, and a direction to move them in; ours and theirs."""
    v, t = vars_and_tensors(*(normal(width, width, seed=k) / width**0.5 for k in range(4)))
    (x,), (z,) = vars_and_tensors(normal(batch, width, seed=5))

    def mine(a, b):
        return (jt.tanh(jt.tanh(x @ a) @ b) ** 2).mean()

    def other(a, b):
        return (torch.tanh(torch.tanh(z @ a) @ b) ** 2).mean()

    return (mine, tuple(v[:2]), tuple(v[2:])), (other, tuple(t[:2]), tuple(t[2:]))


def synced(parts):
    jt.sync(list(parts))
    return parts


def products_beside_theirs(*sizes):
    (mine, weights, v), (other, theirs_at, u) = loss_of_matrices(*sizes)
    return Case(
        lambda: synced(functional.hvp(mine, weights, v)[1]),
        lambda: theirs.jvp(theirs.grad(other, (0, 1)), theirs_at, u)[1],
    )


def products_by_gradients(*sizes):
    """A product with the Hessian, and a gradient, which has the same shapes and nothing else in common."""
    (mine, weights, v), _ = loss_of_matrices(*sizes)
    return Case(
        lambda: synced(functional.hvp(mine, weights, v)[1]),
        lambda: synced(func.grad(mine, (0, 1))(*weights)),
        told=lambda a: np.array(np.shape(a)),
    )


ROWS = [
    Row("Jacobian of 64 outputs at once, peer: our loop", (Goal("ratio", 3),), rows_at_once, (64, 256, 128), (3, 4, 2)),
    Row("Jacobian of 64 outputs, peer: torch.func", (), rows_beside_theirs, (64, 256, 128), (3, 4, 2)),
    Row("gradients of 64 digits at once, peer: our loop", (Goal("ratio", 5),), examples_at_once, (64,), (3,)),
    Row("gradients of 64 digits, peer: torch.func", (), examples_beside_theirs, (64,), (3,)),
    Row("hvp, peer: torch.func", (), products_beside_theirs, (128, 256), (3, 4)),
    Row("hvp, peer: our gradient", (Goal("ratio", 0.2),), products_by_gradients, (128, 256), (3, 4)),
]  # fmt: skip
