"""Inputs: a few small arrays, the same in each run, so that a row reads as one line."""

import numpy as np


def some(*shape: int, seed: int = 0) -> np.ndarray:
    """Float64 numbers around 0, no two of them alike."""
    return np.random.default_rng(seed).normal(size=shape)


def above(*shape: int, seed: int = 0) -> np.ndarray:
    """Float64 numbers from 0.1 to 1."""
    return np.random.default_rng(seed).uniform(0.1, 1, shape)


def few(*shape: int, seed: int = 0) -> np.ndarray:
    """Whole numbers from 0 to 3, so that some are alike."""
    return np.random.default_rng(seed).integers(0, 4, shape)


X, Y, Z = some(3, 4), some(3, 4, seed=1), some(3, 4, seed=2)
CUBE = some(2, 3, 4)
INTS = few(3, 4)
ODD = np.array([[1.0, np.nan, -2.0, 0.5], [np.inf, -np.inf, np.nan, 3.0], [0.25, 1.5, -0.5, 2.0]])
HOLES = np.array([[1.0, np.nan, -2.0, 0.5], [np.nan, 4.0, 1.0, 3.0], [0.25, 1.5, np.nan, 2.0]])
BITS = X > 0
