"""Activations that squash numbers into an interval, shrink them towards 0, or share 1 among them."""

from __future__ import annotations

from typing import Any

from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.nn.activation import Activation, setting
from jt_edu.ops.activation import (
    glu,
    hardshrink,
    hardsigmoid,
    hardtanh,
    logsigmoid,
    softshrink,
    softsign,
    tanhshrink,
)
from jt_edu.ops.elementwise import sigmoid, tanh
from jt_edu.ops.softmax import log_softmax, softmax
from jt_edu.var import Var, as_var


class Sigmoid(Activation):
    """1 / (1 + exp(-x)).

    Example:
        >>> Sigmoid()(jt.array([0.0])).item()
        0.5
    """

    def execute(self, x: Any) -> Var:
        """1 / (1 + exp(-x))."""
        return sigmoid(x)


class LogSigmoid(Activation):
    """log(1 / (1 + exp(-x))), without loss of digits where the sigmoid is almost 0.

    Example:
        >>> LogSigmoid()(jt.array([-100.0])).item()
        -100.0
    """

    def execute(self, x: Any) -> Var:
        """-log(1 + exp(-x))."""
        return logsigmoid(x)


class Hardsigmoid(Activation):
    """min(max(x + 3, 0), 6) / 6: a sigmoid of straight lines.

    Example:
        >>> Hardsigmoid()(jt.array([-9.0, 0.0, 9.0])).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """min(max(x + 3, 0), 6) / 6."""
        return hardsigmoid(x)


class Tanh(Activation):
    """Hyperbolic tangent.

    Example:
        >>> Tanh()(jt.array([0.0])).item()
        0.0
    """

    def execute(self, x: Any) -> Var:
        """tanh(x)."""
        return tanh(x)


class Hardtanh(Activation):
    """x, cut off below min_val and above max_val.

    Example:
        >>> Hardtanh()(jt.array([-9.0, 0.5, 9.0])).numpy()
        array([-1. ,  0.5,  1. ], dtype=float32)
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        self.min_val, self.max_val = setting(self, "min_val", min_val), setting(self, "max_val", max_val)
        if not self.min_val < self.max_val:
            raise ArgumentError("hardtanh needs min_val < max_val", f"min_val={min_val}, max_val={max_val}")

    def execute(self, x: Any) -> Var:
        """min(max(x, min_val), max_val)."""
        return hardtanh(x, self.min_val, self.max_val)


class Softsign(Activation):
    """x / (1 + |x|).

    Example:
        >>> Softsign()(jt.array([1.0])).item()
        0.5
    """

    def execute(self, x: Any) -> Var:
        """x / (1 + |x|)."""
        return softsign(x)


class Tanhshrink(Activation):
    """x - tanh(x).

    Example:
        >>> Tanhshrink()(jt.array([0.0])).item()
        0.0
    """

    def execute(self, x: Any) -> Var:
        """x - tanh(x)."""
        return tanhshrink(x)


class Softshrink(Activation):
    """x, moved towards 0 by lambd; 0 if it is nearer than that.

    Example:
        >>> Softshrink(1.0)(jt.array([-3.0, 0.5, 3.0])).numpy()
        array([-2.,  0.,  2.], dtype=float32)
    """

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = setting(self, "lambd", lambd)
        if self.lambd < 0:
            raise ArgumentError("softshrink moves numbers by a lambd that is not negative", repr(lambd))

    def execute(self, x: Any) -> Var:
        """x - lambd, 0 or x + lambd."""
        return softshrink(x, self.lambd)


class Hardshrink(Activation):
    """x, but 0 where |x| is at most lambd.

    Example:
        >>> Hardshrink(1.0)(jt.array([-3.0, 0.5, 3.0])).numpy()
        array([-3.,  0.,  3.], dtype=float32)
    """

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = setting(self, "lambd", lambd)

    def execute(self, x: Any) -> Var:
        """x or 0."""
        return hardshrink(x, self.lambd)


class GLU(Activation):
    """a * sigmoid(b), where a and b are the two halves of x along `dim`.

    Source: Dauphin et al. 2016 (arXiv:1612.08083).

    Example:
        >>> GLU()(jt.array([[3.0, 0.0]])).numpy()
        array([[1.5]], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def execute(self, x: Any) -> Var:
        """Half as long along `dim`."""
        return glu(x, self.dim)


class Softmax(Activation):
    """exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.

    Example:
        >>> Softmax()(jt.array([0.0, 0.0])).numpy()
        array([0.5, 0.5], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def execute(self, x: Any) -> Var:
        """Positive, and 1 in all along `dim`."""
        out: Var = softmax(as_var(x), self.dim)
        return out


class LogSoftmax(Activation):
    """log(softmax(x)) along an axis, without loss of digits.

    Example:
        >>> LogSoftmax()(jt.array([0.0, -1000.0])).numpy()
        array([    0., -1000.], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def execute(self, x: Any) -> Var:
        """x - logsumexp(x)."""
        out: Var = log_softmax(as_var(x), self.dim)
        return out


class Softmin(Activation):
    """softmax(-x) along an axis: the smallest number gets the largest share.

    Example:
        >>> Softmin()(jt.array([0.0, 1000.0])).numpy()
        array([1., 0.], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def execute(self, x: Any) -> Var:
        """Positive, and 1 in all along `dim`."""
        return softmin(x, self.dim)


def softmin(x: Any, dim: int = -1) -> Var:
    """softmax(-x) along an axis.

    Example:
        >>> softmin(jt.array([0.0, 0.0])).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    out: Var = softmax(-as_var(x), dim)
    return out


class Softmax2d(Activation):
    """Softmax over the channels of each pixel of (n, c, h, w) or (c, h, w).

    Example:
        >>> Softmax2d()(jt.zeros(1, 2, 1, 1)).numpy().ravel()
        array([0.5, 0.5], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """1 in all over the channels."""
        v = as_var(x)
        if v.ndim not in (3, 4):
            raise ShapeError("Softmax2d takes (n, c, h, w) or (c, h, w)", f"shape {v.shape}")
        out: Var = softmax(v, -3)
        return out
