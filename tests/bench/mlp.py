"""Mlp: the data and the first weights of the small network that both sides train."""

import numpy as np

SIZES = (64, 128, 10, 64)  # features, hidden, classes, batch
RATE = 0.1


def numbers(sizes=SIZES, seed=0):
    """(x, labels), [w1, b1, w2, b2]: weights as (out, in)."""
    features, hidden, classes, batch = sizes
    rng = np.random.default_rng(seed)
    shapes = [(hidden, features), (hidden,), (classes, hidden), (classes,)]
    weights = [rng.uniform(-1, 1, s).astype(np.float32) / np.float32(np.sqrt(s[-1])) for s in shapes]
    return (rng.standard_normal((batch, features), np.float32), rng.integers(0, classes, batch)), weights


def products_of_a_step(sizes=SIZES):
    """(m, k, n) of the products of a step: two forward, two for the weights, one back to the hidden layer."""
    f, h, c, b = sizes
    return [(b, f, h), (b, h, c), (c, b, h), (b, c, h), (h, b, f)]
