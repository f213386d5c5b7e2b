"""Dropout: while training, forget some of what was computed, so that no neuron can rely on another one.

Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting".
"""

from __future__ import annotations

from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.nn.module import Module
from jt_edu.random import random
from jt_edu.var import Var, as_var


def dropout(x: Any, p: float = 0.5, is_train: bool = True) -> Var:
    """Each number becomes 0 with probability p; the others are multiplied by 1 / (1 - p), so that the mean stays.

    Which ones is drawn anew at each call, from the generator of `jt.set_global_seed`. With `is_train=False`, x itself.

    Raises:
        ArgumentError: p is no probability.

    Example:
        >>> dropout(jt.ones(2), p=1.0).numpy(), dropout(jt.ones(2), is_train=False).numpy()
        (array([0., 0.], dtype=float32), array([1., 1.], dtype=float32))
    """
    _check(p)
    v = as_var(x)
    if not is_train or p == 0:
        return v
    gone = random(v.shape, "float32").detach() < p
    return (v * (1 / (1 - p) if p < 1 else 0)).where_not(gone, 0)


def _check(p: Any) -> None:
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ArgumentError("dropout forgets with a probability p from 0 to 1", repr(p))


class Dropout(Module):
    """While training, each number becomes 0 with probability p and is multiplied by 1 / (1 - p) otherwise.

    Example:
        >>> Dropout(0.5).eval()(jt.ones(2)).numpy()
        array([1., 1.], dtype=float32)
    """

    def __init__(self, p: float = 0.5) -> None:
        _check(p)
        self.p = p

    def execute(self, x: Any) -> Var:
        """x with some zeros while training, x itself otherwise."""
        return dropout(x, self.p, self.is_train)

    def extra_repr(self) -> str:
        """How much is forgotten."""
        return f"p={self.p}"
