"""Activations as layers: what makes a network more than one big matrix. The formulas stand in `ops/activation.py`.

Here are those that let positive numbers through, more or less as they are. Those that squash numbers into an interval,
or share 1 among them, stand in `squashing_activation.py`.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import in_its_name, takes_placement
from jt_edu.nn.initializers import constant_
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.ops.activation import (
    celu,
    elu,
    gelu,
    hardswish,
    leaky_relu,
    mish,
    relu,
    relu6,
    selu,
    silu,
    softplus,
    threshold,
)
from jt_edu.ops.arguments import choice, number, one_of, yes_or_no
from jt_edu.ops.create import zeros
from jt_edu.ops.gated_activation import prelu, rrelu
from jt_edu.variable.var import Var

__all__ = ["CELU", "ELU", "GELU", "Hardswish", "LeakyReLU", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU",
           "Softplus", "Swish", "Threshold"]  # fmt: skip


class Activation(Module):
    """A function as a layer; its attributes are the settings of the function, and are shown when it prints.

    Example:
        >>> ELU(0.5)
        ELU(alpha=0.5)
    """

    def extra_repr(self) -> str:
        """Its settings."""
        shown = ((name, value) for name, value in vars(self).items() if not name.startswith("_"))
        return ", ".join(f"{name}={value!r}" for name, value in shown if name != "is_train")


class InPlace(Activation):
    """An activation that PyTorch may compute in place. Here nothing is overwritten: the wish changes nothing.

    Example:
        >>> jt.nn.ReLU(inplace=True)
        ReLU()
    """

    @in_its_name
    def __init__(self, inplace: bool = False) -> None:
        yes_or_no(type(self).__name__, "inplace", inplace)


def setting(layer: Activation, name: str, value: Any) -> float:
    """A number that a layer is made with.

    Example:
        >>> setting(ReLU(), "alpha", 1)
        1.0
    """
    return float(number(type(layer).__name__, name, value))


class ReLU(InPlace):
    """max(x, 0).

    Example:
        >>> ReLU()(jt.array([-1.0, 2.0])).numpy()
        array([0., 2.], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """max(x, 0)."""
        return relu(x)


class ReLU6(InPlace):
    """min(max(x, 0), 6).

    Example:
        >>> ReLU6()(jt.array([-1.0, 2.0, 9.0])).numpy()
        array([0., 2., 6.], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """min(max(x, 0), 6)."""
        return relu6(x)


class LeakyReLU(InPlace):
    """x where it is positive, scale * x elsewhere.

    Args:
        scale: the slope on the left, 0.01 by default.
        inplace: costs nothing here, see `InPlace`.
        negative_slope: PyTorch's name of `scale`.

    Example:
        >>> LeakyReLU(0.5)(jt.array([-1.0, 2.0])).numpy()
        array([-0.5,  2. ], dtype=float32)
    """

    def __init__(
        self, scale: float | None = None, inplace: bool = False, *, negative_slope: float | None = None
    ) -> None:
        super().__init__(inplace)
        slope = one_of("LeakyReLU", 0.01, scale=scale, negative_slope=negative_slope)
        self.scale = setting(self, "negative_slope", slope)

    def execute(self, x: Any) -> Var:
        """x or scale * x."""
        return leaky_relu(x, self.scale)


class PReLU(Module):
    """x where it is positive, weight * x elsewhere, with slopes that are learned.

    Args:
        num_parameters: 1, or as many as there are channels (axis 1).
        init_: the slope to begin with, 0.25 by default.
        init: PyTorch's name of the same number.

    Source: He et al. 2015 (arXiv:1502.01852).

    Example:
        >>> PReLU()(jt.array([-1.0, 2.0])).numpy()
        array([-0.25,  2.  ], dtype=float32)
    """

    @takes_placement
    def __init__(self, num_parameters: int = 1, init_: float | None = None, *, init: float | None = None) -> None:
        self.num_parameters = count(self, "num_parameters", num_parameters)
        slope = number("PReLU", "init", one_of("PReLU", 0.25, init_=init_, init=init))
        self.weight = constant_(zeros(self.num_parameters), slope)

    def execute(self, x: Any) -> Var:
        """x or weight * x."""
        return prelu(x, self.weight)

    def extra_repr(self) -> str:
        """How many slopes."""
        return f"num_parameters={self.num_parameters}"


class RReLU(InPlace):
    """x where it is positive; elsewhere x times a slope that is drawn at random for each number during training.

    Outside of training the slope is (lower + upper) / 2.

    Args:
        lower, upper: between which the slopes are drawn.

    Source: Xu et al. 2015 (arXiv:1505.00853).

    Example:
        >>> RReLU(0.25, 0.75).eval()(jt.array([-1.0])).numpy()
        array([-0.5], dtype=float32)
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower, self.upper = setting(self, "lower", lower), setting(self, "upper", upper)
        if not self.lower <= self.upper:
            raise ArgumentError("RReLU draws slopes from lower to upper", f"lower {lower}, upper {upper}")

    def execute(self, x: Any) -> Var:
        """x or slope * x."""
        return rrelu(x, self.lower, self.upper, self.is_train)


class ELU(InPlace):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere.

    Source: Clevert et al. 2015 (arXiv:1511.07289).

    Example:
        >>> ELU()(jt.array([-100.0, 2.0])).numpy()
        array([-1.,  2.], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = setting(self, "alpha", alpha)

    def execute(self, x: Any) -> Var:
        """x or alpha * (exp(x) - 1)."""
        return elu(x, self.alpha)


class CELU(InPlace):
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere: smooth at 0 for any alpha.

    Source: Barron 2017 (arXiv:1704.07483).

    Example:
        >>> CELU(2.0)(jt.array([-100.0, 2.0])).numpy()
        array([-2.,  2.], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = setting(self, "alpha", alpha)
        if self.alpha == 0:
            raise ArgumentError("CELU divides by alpha", short(alpha))

    def execute(self, x: Any) -> Var:
        """x or alpha * (exp(x / alpha) - 1)."""
        return celu(x, self.alpha)


class SELU(InPlace):
    """A scaled ELU that gives numbers mean 0 and variance 1 by itself, layer after layer.

    Source: Klambauer et al. 2017 (arXiv:1706.02515).

    Example:
        >>> SELU()(jt.array([1.0])).numpy().round(3)
        array([1.051], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """1.05... * (x or 1.67... * (exp(x) - 1))."""
        return selu(x)


class GELU(Activation):
    """x * Phi(x), where Phi is the normal distribution function; approximate="tanh" uses the usual approximation.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415).

    Example:
        >>> GELU()(jt.array([0.0])).item()
        0.0
    """

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = choice("GELU", "approximate", approximate, ("none", "tanh"))

    def execute(self, x: Any) -> Var:
        """x * Phi(x)."""
        return gelu(x, self.approximate)


class SiLU(InPlace):
    """x * sigmoid(x).

    Source: Elfwing et al. 2017 (arXiv:1702.03118).

    Example:
        >>> SiLU()(jt.array([0.0])).item()
        0.0
    """

    def execute(self, x: Any) -> Var:
        """x * sigmoid(x)."""
        return silu(x)


Swish = SiLU


class Mish(InPlace):
    """x * tanh(log(1 + exp(x))).

    Source: Misra 2019 (arXiv:1908.08681).

    Example:
        >>> Mish()(jt.array([0.0])).item()
        0.0
    """

    def execute(self, x: Any) -> Var:
        """x * tanh(log(1 + exp(x)))."""
        return mish(x)


class Hardswish(InPlace):
    """x * min(max(x + 3, 0), 6) / 6: a SiLU made of straight lines and one parabola.

    Source: Howard et al. 2019 (arXiv:1905.02244).

    Example:
        >>> Hardswish()(jt.array([-4.0, 0.0, 4.0])).numpy()
        array([-0.,  0.,  4.], dtype=float32)
    """

    def execute(self, x: Any) -> Var:
        """x * min(max(x + 3, 0), 6) / 6."""
        return hardswish(x)


class Softplus(Activation):
    """log(1 + exp(beta * x)) / beta: a smooth ReLU.

    Args:
        beta: how sharp the corner is.
        threshold: where beta * x is larger, the answer is x itself.

    Example:
        >>> Softplus()(jt.array([100.0])).item()
        100.0
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta, self.threshold = setting(self, "beta", beta), setting(self, "threshold", threshold)
        if not self.beta > 0:
            raise ArgumentError("softplus needs a positive beta", short(beta))

    def execute(self, x: Any) -> Var:
        """log(1 + exp(beta * x)) / beta."""
        return softplus(x, self.beta, self.threshold)


class Threshold(InPlace):
    """x where it is above the threshold, `value` elsewhere.

    Example:
        >>> Threshold(1.0, -7.0)(jt.array([1.0, 2.0])).numpy()
        array([-7.,  2.], dtype=float32)
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold, self.value = setting(self, "threshold", threshold), setting(self, "value", value)

    def execute(self, x: Any) -> Var:
        """x or value."""
        return threshold(x, self.threshold, self.value)
