"""Activations that squash numbers into an interval, shrink them towards 0, or share 1 among them."""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.scalar_ops import LOG
from jt_edu.nn.activation import Activation, InPlace, setting
from jt_edu.ops.activation import (
    hardshrink,
    hardsigmoid,
    hardtanh,
    logsigmoid,
    softshrink,
    softsign,
    tanhshrink,
)
from jt_edu.ops.arguments import axis_of, number, same_words, whole, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.elementwise import sigmoid
from jt_edu.ops.gated_activation import glu
from jt_edu.ops.reduce import argmax
from jt_edu.ops.softmax import log_softmax, softmax, softmin
from jt_edu.ops.trigonometry import tanh
from jt_edu.variable.random import random
from jt_edu.variable.var import Var, as_var

__all__ = ["GLU", "Hardshrink", "Hardsigmoid", "Hardtanh", "LogSigmoid", "LogSoftmax", "Sigmoid", "Softmax",
           "Softmax2d", "Softmin", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "gumbel_softmax"]  # fmt: skip


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


class Hardsigmoid(InPlace):
    """min(max(x + 3, 0), 6) / 6: a sigmoid made of straight lines.

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


class Hardtanh(InPlace):
    """x, cut off below min_val and above max_val.

    Example:
        >>> Hardtanh()(jt.array([-9.0, 0.5, 9.0])).numpy()
        array([-1. ,  0.5,  1. ], dtype=float32)
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.min_val, self.max_val = setting(self, "min_val", min_val), setting(self, "max_val", max_val)
        if self.min_val > self.max_val:
            raise ArgumentError("hardtanh needs min_val <= max_val", f"min_val={min_val}, max_val={max_val}")

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
            raise ArgumentError("softshrink takes a lambd that is not negative", short(lambd))

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

    @same_words
    def __init__(self, dim: int = -1) -> None:
        self.dim = whole(type(self).__name__, "dim", dim)

    def execute(self, x: Any) -> Var:
        """Half as long along `dim`."""
        return glu(x, self.dim)


class Softmax(Activation):
    """exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.

    Example:
        >>> Softmax()(jt.array([0.0, 0.0])).numpy()
        array([0.5, 0.5], dtype=float32)
    """

    @same_words
    def __init__(self, dim: int = -1) -> None:
        self.dim = whole(type(self).__name__, "dim", dim)

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

    @same_words
    def __init__(self, dim: int = -1) -> None:
        self.dim = whole(type(self).__name__, "dim", dim)

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

    @same_words
    def __init__(self, dim: int = -1) -> None:
        self.dim = whole(type(self).__name__, "dim", dim)

    def execute(self, x: Any) -> Var:
        """Positive, and 1 in all along `dim`."""
        return softmin(x, self.dim)


@same_words
def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Var:
    """softmax((logits + noise) / tau) along an axis: a draw from softmax(logits) that has a gradient.

        noise = -log(-log(u)),    u equally likely from 0 to 1

    Args:
        logits: scores, of any shape.
        tau: temperature; the smaller, the nearer to one class alone.
        hard: return 1 for the largest and 0 for the others; the gradient stays that of the soft answer.
        eps: PyTorch takes it, and no longer uses it; neither does jt_edu.
        dim: the axis of the classes.

    Source: Jang, Gu and Poole 2016 (arXiv:1611.01144).

    Example:
        >>> gumbel_softmax(jt.array([0.0, 1000.0]), hard=True).numpy()
        array([0., 1.], dtype=float32)
    """
    v, heat = as_var(logits), number("gumbel_softmax", "tau", tau, 0, above=True)
    number("gumbel_softmax", "eps", eps)
    if v.dtype.kind != "f":
        raise DtypeError("gumbel_softmax draws by real scores", f"dtype {v.dtype}", "logits.float()")
    drawn = random(v.shape, "float64" if v.dtype == "float64" else "float32").detach()
    noise = -(-drawn.apply(LOG)).apply(LOG)
    soft = softmax((widened(v) + noise) / heat, dim).cast(v.dtype)
    if not yes_or_no("gumbel_softmax", "hard", hard):
        return soft
    largest = argmax(soft, dim, True)
    one = (index(soft.shape, axis_of("gumbel_softmax", dim, soft.ndim)) == largest).cast(soft.dtype)
    return one + (soft - soft.detach())  # the value of `one`, the gradient of `soft`


class Softmax2d(Activation):
    """Softmax over the channels of each pixel of (n, c, h, w) or (c, h, w).

    Example:
        >>> Softmax2d()(jt.zeros(2, 1, 1)).numpy().ravel()
        array([0.5, 0.5], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """1 in all over the channels."""
        v = as_var(x)
        if v.ndim not in (3, 4):
            raise ShapeError("Softmax2d takes (n, c, h, w) or (c, h, w)", f"shape {v.shape}")
        out: Var = softmax(v, -3)
        return out
