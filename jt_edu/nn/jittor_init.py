"""Jittor init: new Vars of a shape, filled as `initializers.py` fills Vars that are there. Jittor's names."""

from __future__ import annotations

import math
from typing import Any

from jt_edu.nn import initializers
from jt_edu.nn.structured_init import eye_
from jt_edu.ops.create import zeros
from jt_edu.variable.var import Var

__all__ = ["constant", "eye", "gauss", "invariant_uniform", "kaiming_normal", "kaiming_uniform", "one",
           "relu_invariant_gauss", "uniform", "xavier_gauss", "xavier_uniform", "zero"]  # fmt: skip


def eye(shape: Any, dtype: Any = "float32") -> Var:
    """1 on the diagonal; `shape` is (rows, columns), or a number for a square.

    Example:
        >>> eye(2).numpy()
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return eye_(zeros((shape, shape) if isinstance(shape, int) else shape, dtype=dtype))


def constant(shape: Any, dtype: Any = "float32", value: float = 0.0) -> Var:
    """The same number everywhere.

    Example:
        >>> constant((2,), "float32", 3).numpy()
        array([3., 3.], dtype=float32)
    """
    return initializers.constant_(zeros(shape, dtype=dtype), value)


def zero(shape: Any, dtype: Any = "float32") -> Var:
    """0 everywhere.

    Example:
        >>> zero((2,)).numpy()
        array([0., 0.], dtype=float32)
    """
    return constant(shape, dtype, 0)


def one(shape: Any, dtype: Any = "float32") -> Var:
    """1 everywhere.

    Example:
        >>> one((2,)).numpy()
        array([1., 1.], dtype=float32)
    """
    return constant(shape, dtype, 1)


def uniform(shape: Any, dtype: Any = "float32", low: float = 0.0, high: float = 1.0) -> Var:
    """Equally likely numbers from low to high.

    Example:
        >>> uniform((2,), "float32", 3, 3).numpy()
        array([3., 3.], dtype=float32)
    """
    return initializers.uniform_(zeros(shape, dtype=dtype), low, high)


def gauss(shape: Any, dtype: Any = "float32", mean: float = 0.0, std: float = 1.0) -> Var:
    """Normal numbers with a mean and a standard deviation.

    Example:
        >>> gauss((2,), "float32", 5, 0).numpy()
        array([5., 5.], dtype=float32)
    """
    return initializers.gauss_(zeros(shape, dtype=dtype), mean, std)


def invariant_uniform(shape: Any, dtype: Any = "float32", mode: str = "fan_in") -> Var:
    """Numbers from U(-1/sqrt(fan), 1/sqrt(fan)): how `Linear` and `Conv` start.

    Example:
        >>> bool((abs(invariant_uniform((3, 4)).numpy()) <= 0.5).all())
        True
    """
    return initializers.kaiming_uniform_(zeros(shape, dtype=dtype), math.sqrt(5), mode)


def relu_invariant_gauss(shape: Any, dtype: Any = "float32", mode: str = "fan_in") -> Var:
    """Normal numbers with std = sqrt(2 / fan): the signal keeps its size through layers of ReLUs.

    Example:
        >>> relu_invariant_gauss((3, 4)).shape
        (3, 4)
    """
    return initializers.kaiming_normal_(zeros(shape, dtype=dtype), 0.0, mode, "relu")


def xavier_uniform(shape: Any, dtype: Any = "float32", gain: float = 1.0) -> Var:
    """As `xavier_uniform_`.

    Example:
        >>> xavier_uniform((3, 4)).shape
        (3, 4)
    """
    return initializers.xavier_uniform_(zeros(shape, dtype=dtype), gain)


def xavier_gauss(shape: Any, dtype: Any = "float32", gain: float = 1.0) -> Var:
    """As `xavier_gauss_`.

    Example:
        >>> xavier_gauss((3, 4)).shape
        (3, 4)
    """
    return initializers.xavier_gauss_(zeros(shape, dtype=dtype), gain)


def kaiming_uniform(
    shape: Any, dtype: Any = "float32", a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Var:
    """As `kaiming_uniform_`.

    Example:
        >>> kaiming_uniform((3, 4)).shape
        (3, 4)
    """
    return initializers.kaiming_uniform_(zeros(shape, dtype=dtype), a, mode, nonlinearity)


def kaiming_normal(
    shape: Any, dtype: Any = "float32", a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Var:
    """As `kaiming_normal_`.

    Example:
        >>> kaiming_normal((3, 4)).shape
        (3, 4)
    """
    return initializers.kaiming_normal_(zeros(shape, dtype=dtype), a, mode, nonlinearity)
