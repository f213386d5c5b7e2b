"""Initializers: what a parameter is before it has learned anything.

Each function gives an existing Var new numbers (it keeps its shape and dtype) and returns it. A layer that starts well
neither blows its signal up nor lets it die: the spread is chosen by how many inputs a neuron sees ("fan in"), or how
many see it ("fan out").

    kaiming    std = gain / sqrt(fan)                 for layers followed by a ReLU
    xavier     std = gain * sqrt(2 / (in + out))      for layers followed by tanh or sigmoid
"""

from __future__ import annotations

import math
from collections.abc import Callable

from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.scalar_ops import ERFINV
from jt_edu.ops.arguments import one_of
from jt_edu.ops.create import full
from jt_edu.ops.elementwise import clamp
from jt_edu.variable.random import random
from jt_edu.variable.var import Var

__all__ = ["calculate_gain", "constant_", "fans", "gauss_", "kaiming_normal_", "kaiming_uniform_", "normal_", "one_",
           "ones_", "trunc_normal_", "uniform_", "xavier_gauss_", "xavier_normal_", "xavier_uniform_", "zero_",
           "zeros_"]  # fmt: skip


def constant_(var: Var, value: float | None = None, *, val: float | None = None) -> Var:
    """The same number everywhere: `value`, which PyTorch calls `val`; 0 by default.

    Example:
        >>> constant_(jt.zeros(2), 3).numpy()
        array([3., 3.], dtype=float32)
    """
    constant = one_of("constant_", 0.0, value=value, val=val)
    return give(var, lambda: full(var.shape, constant, var.dtype))


def zero_(var: Var) -> Var:
    """0 everywhere.

    Example:
        >>> zero_(jt.ones(2)).numpy()
        array([0., 0.], dtype=float32)
    """
    return constant_(var, 0)


def one_(var: Var) -> Var:
    """1 everywhere.

    Example:
        >>> one_(jt.zeros(2)).numpy()
        array([1., 1.], dtype=float32)
    """
    return constant_(var, 1)


def uniform_(
    var: Var, low: float | None = None, high: float | None = None, *, a: float | None = None, b: float | None = None
) -> Var:
    """Equally likely numbers from low to high, 0 and 1 by default; PyTorch calls them a and b.

    Example:
        >>> bool((abs(uniform_(jt.zeros(9), -2, 2).numpy()) <= 2).all())
        True
    """
    least, most = one_of("uniform_", 0.0, low=low, a=a), one_of("uniform_", 1.0, high=high, b=b)
    if not least <= most:
        raise ArgumentError("uniform_ draws from low to high", f"low {least}, high {most}")
    return give(var, lambda: random(var.shape, check_real(var)) * (most - least) + least)


def gauss_(var: Var, mean: float = 0.0, std: float = 1.0) -> Var:
    """Normal numbers with a mean and a standard deviation.

    Example:
        >>> gauss_(jt.zeros(2), 5, 0).numpy()
        array([5., 5.], dtype=float32)
    """
    if not std >= 0:
        raise ArgumentError("a standard deviation is not negative", short(std))
    return give(var, lambda: random(var.shape, check_real(var), "normal") * std + mean)


def trunc_normal_(var: Var, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Var:
    """Normal numbers, of which only those between a and b are taken: the inverse distribution function of uniform ones.

    Example:
        >>> bool((abs(trunc_normal_(jt.zeros(99), std=5).numpy()) <= 2).all())
        True
    """
    if not a < b or not std > 0:
        raise ArgumentError("trunc_normal_ draws between a and b, with a positive std", f"a {a}, b {b}, std {std}")
    low, high = (math.erf((edge - mean) / (std * math.sqrt(2))) for edge in (a, b))
    if low == high:
        found = f"a {a}, b {b}, mean {mean}, std {std}"
        raise ArgumentError("trunc_normal_ draws where normal numbers may fall, within 8 std of the mean", found)
    check_real(var)

    def draw() -> Var:
        spread = random(var.shape, "float64") * (high - low) + low  # in a tail low and high agree in many digits
        return clamp(spread.apply(ERFINV) * (std * math.sqrt(2)) + mean, a, b).cast(var.dtype)

    return give(var, draw)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The gain that makes up for what a layer's nonlinearity takes away.

        linear, sigmoid, conv: 1     tanh: 5/3     relu: sqrt(2)     leaky_relu: sqrt(2 / (1 + slope**2))     selu: 3/4

    Args:
        nonlinearity: its name, as above.
        param: the slope of leaky_relu (0.01).

    Example:
        >>> calculate_gain("tanh"), calculate_gain("leaky_relu", 1.0)
        (1.6666666666666667, 1.0)
    """
    slope = 0.01 if param is None else param
    gains = {"linear": 1.0, "sigmoid": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "tanh": 5 / 3, "selu": 3 / 4,
             "relu": math.sqrt(2), "leaky_relu": math.sqrt(2 / (1 + slope * slope))}  # fmt: skip
    if nonlinearity not in gains:
        raise ArgumentError("a gain is known for " + ", ".join(gains), short(nonlinearity))
    return gains[nonlinearity]


def fans(var: Var) -> tuple[int, int]:
    """How many inputs each output sees, and how many outputs each input feeds, for weights (out, in, kernel...).

    Example:
        >>> fans(jt.zeros(8, 3, 5, 5))
        (75, 200)
    """
    if var.ndim < 2:
        raise ShapeError("weights have the axes (out, in, ...)", f"shape {var.shape}", "uniform_ or gauss_ with a std")
    taps = math.prod(var.shape[2:])
    return var.shape[1] * taps, var.shape[0] * taps


def _kaiming(var: Var, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError("kaiming counts inputs ('fan_in') or outputs ('fan_out')", short(mode))
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fans(var)[mode == "fan_out"], 1))


def kaiming_uniform_(var: Var, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Var:
    """Uniform numbers with std = gain / sqrt(fan): the signal keeps its size through layers of ReLUs.

    Args:
        var: weights (out, in, ...).
        a: slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the size of the signal, "fan_out" that of the gradient.
        nonlinearity: what follows, as in `calculate_gain`.

    Source: He et al. 2015 (arXiv:1502.01852).

    Example:
        >>> kaiming_uniform_(jt.zeros(4, 2)).shape
        (4, 2)
    """
    bound = math.sqrt(3) * _kaiming(var, a, mode, nonlinearity)
    return uniform_(var, -bound, bound)


def kaiming_normal_(var: Var, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Var:
    """Normal numbers with std = gain / sqrt(fan); arguments as in `kaiming_uniform_`.

    Source: He et al. 2015 (arXiv:1502.01852).

    Example:
        >>> kaiming_normal_(jt.zeros(4, 2)).shape
        (4, 2)
    """
    return gauss_(var, 0.0, _kaiming(var, a, mode, nonlinearity))


def xavier_uniform_(var: Var, gain: float = 1.0) -> Var:
    """Uniform numbers with std = gain * sqrt(2 / (fan in + fan out)): a compromise between signal and gradient.

    Source: Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks".

    Example:
        >>> xavier_uniform_(jt.zeros(4, 2)).shape
        (4, 2)
    """
    bound = gain * math.sqrt(6 / sum(fans(var)))
    return uniform_(var, -bound, bound)


def xavier_gauss_(var: Var, gain: float = 1.0) -> Var:
    """Normal numbers with std = gain * sqrt(2 / (fan in + fan out)).

    Source: Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks".

    Example:
        >>> xavier_gauss_(jt.zeros(4, 2)).shape
        (4, 2)
    """
    return gauss_(var, 0.0, gain * math.sqrt(2 / sum(fans(var))))


zeros_, ones_, normal_, xavier_normal_ = zero_, one_, gauss_, xavier_gauss_  # PyTorch's names


def give(var: Var, draw: Callable[[], Var]) -> Var:
    """New numbers for a Var; whether it takes part in gradients stays as it is.

    Example:
        >>> give(jt.zeros(2), lambda: jt.ones(2)).numpy()
        array([1., 1.], dtype=float32)
    """
    if not isinstance(var, Var):
        raise ArgumentError("this gives a Var new numbers", type(var).__name__, "jt.zeros(shape)")
    with no_grad():
        return var.update(draw())


def check_real(var: Var) -> str:
    """The dtype to draw random numbers in for a Var, which must be of real floats.

    Example:
        >>> check_real(jt.zeros(2))
        'float32'
    """
    if var.dtype.kind != "f":
        raise DtypeError("random numbers are real floats", f"a Var of dtype {var.dtype}")
    return "float64" if var.dtype == "float64" else "float32"
