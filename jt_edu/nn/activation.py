"""Activations as layers: what makes a network more than one big matrix. The formulas stand in `ops/elementwise.py`."""

from __future__ import annotations

from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.nn.module import Module
from jt_edu.ops.elementwise import gelu, leaky_relu, relu, sigmoid, silu, softplus, tanh
from jt_edu.ops.softmax import softmax
from jt_edu.var import Var, as_var


class ReLU(Module):
    """max(x, 0).

    Example:
        >>> ReLU()(jt.array([-1.0, 2.0])).numpy()
        array([0., 2.], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """max(x, 0)."""
        return relu(x)


class LeakyReLU(Module):
    """x where it is positive, scale * x elsewhere.

    Example:
        >>> LeakyReLU(0.5)(jt.array([-1.0, 2.0])).numpy()
        array([-0.5,  2. ], dtype=float32)
    """

    def __init__(self, scale: float = 0.01) -> None:
        self.scale = float(scale)

    def execute(self, x: Any) -> Var:
        """x or scale * x."""
        return leaky_relu(x, self.scale)

    def extra_repr(self) -> str:
        """Its slope."""
        return f"scale={self.scale}"


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    Example:
        >>> Sigmoid()(jt.array([0.0])).item()
        0.5
    """

    def execute(self, x: Any) -> Var:
        """1 / (1 + exp(-x))."""
        return sigmoid(x)


class Tanh(Module):
    """Hyperbolic tangent.

    Example:
        >>> Tanh()(jt.array([0.0])).item()
        0.0
    """

    def execute(self, x: Any) -> Var:
        """tanh(x)."""
        return tanh(x)


class GELU(Module):
    """x * Phi(x), Phi the normal distribution function; approximate="tanh" takes its usual approximation.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415).

    Example:
        >>> GELU()(jt.array([0.0])).item()
        0.0
    """

    def __init__(self, approximate: str = "none") -> None:
        if approximate not in ("none", "tanh"):
            raise ArgumentError("gelu is exact ('none') or approximate ('tanh')", repr(approximate))
        self.approximate = approximate

    def execute(self, x: Any) -> Var:
        """x * Phi(x)."""
        return gelu(x, self.approximate)

    def extra_repr(self) -> str:
        """Which formula."""
        return f"approximate={self.approximate!r}"


class SiLU(Module):
    """x * sigmoid(x).

    Source: Elfwing et al. 2017 (arXiv:1702.03118).

    Example:
        >>> SiLU()(jt.array([0.0])).item()
        0.0
    """

    def execute(self, x: Any) -> Var:
        """x * sigmoid(x)."""
        return silu(x)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta: a ReLU with a round corner.

    Args:
        beta: how sharp the corner is.
        threshold: where beta * x is larger, the answer is x itself.

    Example:
        >>> Softplus()(jt.array([100.0])).item()
        100.0
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        if not beta > 0:
            raise ArgumentError("softplus needs a positive beta", repr(beta))
        self.beta, self.threshold = float(beta), float(threshold)

    def execute(self, x: Any) -> Var:
        """log(1 + exp(beta * x)) / beta."""
        v = as_var(x)
        scaled = v * self.beta
        return (softplus(scaled) / self.beta).where_not(scaled > self.threshold, v)

    def extra_repr(self) -> str:
        """Its corner."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1.

    Example:
        >>> Softmax()(jt.array([0.0, 0.0])).numpy()
        array([0.5, 0.5], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def execute(self, x: Any) -> Var:
        """Positive, and 1 in all along `dim`."""
        out: Var = softmax(x, self.dim)
        return out

    def extra_repr(self) -> str:
        """Which axis."""
        return f"dim={self.dim}"
