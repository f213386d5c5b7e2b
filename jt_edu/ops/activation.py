"""Activations as functions: what bends the line between two layers. The layers stand in `nn/activation.py`.

    kinked     relu relu6 hardtanh leaky_relu threshold hardshrink softshrink hardsigmoid hardswish
    smooth     elu celu selu softplus logsigmoid silu mish gelu softsign tanhshrink
    gated      prelu, rrelu and glu, which need a slope that is learned or drawn, or a gate (gated_activation.py)

Each fuses with what is around it, and takes nan to nan. Those of many networks are a row of the table, with a gradient
of their own; the others are arithmetic on Vars. At a kink the gradient is PyTorch's. A side that would overflow is
computed from a number that was cut off before: a gradient of 0 times inf would be nan.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ops.arguments import choice, in_place, number, one_of
from jt_edu.ops.dtype_rules import floats
from jt_edu.ops.special import BELL, NDTR
from jt_edu.ops.trigonometry import TANH
from jt_edu.ops.var_function import var_function
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid",
           "mish", "relu", "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "swish", "tanhshrink",
           "threshold"]  # fmt: skip
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

# the table: body and derivative, as in ir/scalar_ops.py; inputs behind x are numbers, which have no gradient
HARDTANH = Elementwise(
    "hardtanh", "minimum(maximum({0}, {1}), {2})", "ordered",
    (lambda o, d, x, low, high: d.where_not((x <= low) | (x >= high), 0),), 2,
)  # fmt: skip
LEAKY_RELU = Elementwise(
    "leaky_relu", "select({0} <= 0, {0} * {1}, {0})", "ordered",
    (lambda o, d, x, slope: (d * slope).where_not(x > 0, d),), 2,
)  # fmt: skip
HARDSIGMOID = Elementwise(  # the others are 3, 0 and 6
    "hardsigmoid", "minimum(maximum({0} + {1}, {2}), {3}) / {3}", "float_real",
    (lambda o, d, x, *_: (d / 6).where_not(~((x > -3) & (x < 3)), 0),), 4,
)  # fmt: skip
HARDSWISH = Elementwise(  # the others are 3, 0 and 6
    "hardswish", "{0} * minimum(maximum({0} + {1}, {2}), {3}) / {3}", "float_real",
    (lambda o, d, x, *_: d.where_not(x < 3, d * (x / 3 + 0.5)).where_not(x <= -3, 0),), 5,
)  # fmt: skip
ELU = Elementwise(
    "elu", "select({0} <= 0, expm1({0}) * {1}, {0})", "float_real",
    (lambda o, d, x, alpha: d.where_not(x <= 0, d * _below_zero(x).apply(f.EXP) * alpha),), 12,
)  # fmt: skip
SOFTPLUS = Elementwise(  # log(1 + exp(x)) without overflow; from the second number on it is x, and the third is 0
    "softplus", "select({0} > {1}, {0}, maximum({0}, {2}) + log1p(exp(-absolute({0}))))", "float_real",
    (lambda o, d, x, end, zero: d * f.SIGMOID(x).where_not(x > end, 1),), 16,
)  # fmt: skip
LOGSIGMOID = Elementwise(  # the second number is 0
    "logsigmoid", "-(maximum(-{0}, {1}) + log1p(exp(-absolute({0}))))", "float_real",
    (lambda o, d, x, zero: d * f.SIGMOID(-x),), 16,
)  # fmt: skip
SILU = f.unary("silu", lambda o, d, x: d * _silu_slope(o, f.SIGMOID(x)).conj(), 10, "float", "{0} * sigmoid({0})")
GELU = f.unary(  # 1 + erf would lose its digits far below 0
    "gelu", lambda o, d, x: d * (NDTR(x) + x * f.EXP(x * x * -0.5) * BELL), 20, "float_real", "{0} * ndtr({0})"
)


def _silu_slope(out: Any, gate: Any) -> Any:
    """The derivative of x * gate, gate = sigmoid(x)."""
    return gate + out * (1 - gate)


@var_function(template, in_place)
def relu(x: Any) -> Var:
    """max(x, 0); the gradient at 0 is 0.

    Example:
        >>> relu(array([-1.0, 2.0])).numpy()
        array([0., 2.], dtype=float32)
    """
    return as_var(x).apply(f.RELU, 0)


@var_function(template, in_place)
def relu6(x: Any) -> Var:
    """min(max(x, 0), 6); the gradient at 0 and at 6 is 0.

    Source: Krizhevsky 2010, "Convolutional deep belief networks on CIFAR-10".

    Example:
        >>> relu6(array([-1.0, 2.0, 7.0])).numpy()
        array([0., 2., 6.], dtype=float32)
    """
    return as_var(x).apply(f.RELU6, 0, 6)


@var_function(template, in_place)
def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Var:
    """x clipped to a range: min(max(x, min_val), max_val); the gradient at both ends is 0.

    Raises:
        ArgumentError: min_val is larger than max_val.

    Example:
        >>> hardtanh(array([-3.0, 0.5, 3.0])).numpy()
        array([-1. ,  0.5,  1. ], dtype=float32)
    """
    low, high = number("hardtanh", "min_val", min_val), number("hardtanh", "max_val", max_val)
    if low > high:
        raise ArgumentError("hardtanh needs min_val <= max_val", f"min_val={low}, max_val={high}")
    return floats(x).apply(HARDTANH, low, high)


@var_function(template, in_place)
def leaky_relu(x: Any, scale: float | None = None, *, negative_slope: float | None = None) -> Var:
    """x where it is positive, scale * x elsewhere; the gradient at 0 is `scale`.

    Args:
        x: any shape.
        scale: the slope on the left, 0.01 by default.
        negative_slope: PyTorch's name of the same number.

    Example:
        >>> leaky_relu(array([-100.0, 2.0])).numpy()
        array([-1.,  2.], dtype=float32)

    Source: Maas et al. 2013, "Rectifier nonlinearities improve neural network acoustic models".
    """
    slope = number("leaky_relu", "scale", one_of("leaky_relu", 0.01, scale=scale, negative_slope=negative_slope))
    return as_var(x).apply(LEAKY_RELU, slope)


@var_function(template, in_place)
def threshold(x: Any, threshold: float, value: float) -> Var:
    """x where it is above the threshold, `value` elsewhere.

    Example:
        >>> threshold(array([0.5, 2.0]), 1.0, -3.0).numpy()
        array([-3.,  2.], dtype=float32)
    """
    v = as_var(x)
    edge = number("threshold", "threshold", threshold)
    return v.where_not(v <= edge, number("threshold", "value", value))


@var_function(template)
def hardshrink(x: Any, lambd: float = 0.5) -> Var:
    """x, and 0 where |x| <= lambd.

    Example:
        >>> hardshrink(array([-1.0, 0.25, 1.0])).numpy()
        array([-1.,  0.,  1.], dtype=float32)
    """
    v, edge = floats(x), number("hardshrink", "lambd", lambd)
    return v.where_not((v >= -edge) & (v <= edge), 0)


@var_function(template)
def softshrink(x: Any, lambd: float = 0.5) -> Var:
    """x moved towards 0 by lambd, and 0 where |x| <= lambd.

    Raises:
        ArgumentError: lambd is negative.

    Example:
        >>> softshrink(array([-1.0, 0.25, 1.0])).numpy()
        array([-0.5,  0. ,  0.5], dtype=float32)
    """
    v, edge = floats(x), number("softshrink", "lambd", lambd, 0)
    return (v - edge).where_not(v < -edge, v + edge).where_not((v >= -edge) & (v <= edge), 0)


@var_function(template, in_place)
def hardsigmoid(x: Any) -> Var:
    """relu6(x + 3) / 6: a sigmoid made of three straight lines.

    Example:
        >>> hardsigmoid(array([-4.0, 0.0, 4.0])).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return floats(x).apply(HARDSIGMOID, 3, 0, 6)


@var_function(template, in_place)
def hardswish(x: Any) -> Var:
    """x * relu6(x + 3) / 6.

    Example:
        >>> hardswish(array([-4.0, 0.0, 4.0])).numpy()
        array([-0.,  0.,  4.], dtype=float32)

    Source: Howard et al. 2019, "Searching for MobileNetV3" (arXiv:1905.02244).
    """
    return floats(x).apply(HARDSWISH, 3, 0, 6)


@var_function(template, in_place)
def elu(x: Any, alpha: float = 1.0) -> Var:
    """x where it is positive, alpha * (exp(x) - 1) elsewhere.

    Example:
        >>> elu(array([-1000.0, 2.0]), alpha=0.5).numpy()
        array([-0.5,  2. ], dtype=float32)

    Source: Clevert et al. 2015 (arXiv:1511.07289).
    """
    return floats(x).apply(ELU, number("elu", "alpha", alpha))


def _below_zero(v: Var) -> Var:
    """min(v, 0): what the left side of a kink is computed from."""
    return v.where_not(~(v <= 0), 0)  # nan counts as right of it, as in PyTorch


@var_function(template, in_place)
def celu(x: Any, alpha: float = 1.0) -> Var:
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere: its slope is continuous at 0.

    Raises:
        ArgumentError: alpha is 0.

    Example:
        >>> celu(array([-1000.0, 2.0]), alpha=0.5).numpy()
        array([-0.5,  2. ], dtype=float32)

    Source: Barron 2017 (arXiv:1704.07483).
    """
    v, scale = floats(x), number("celu", "alpha", alpha)
    if scale == 0:
        raise ArgumentError("celu divides by alpha, which must not be 0", f"alpha={alpha}")
    return v.where_not(v <= 0, (_below_zero(v) / scale).apply(f.EXPM1) * scale)


@var_function(template, in_place)
def selu(x: Any) -> Var:
    """1.0507 * elu(x, 1.6733): mean 0 and variance 1 are kept from layer to layer.

    Example:
        >>> selu(array([0.0, 1.0])).numpy()
        array([0.      , 1.050701], dtype=float32)

    Source: Klambauer et al. 2017 (arXiv:1706.02515).
    """
    return elu(x, SELU_ALPHA) * SELU_SCALE


@var_function(castable, template)
def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Var:
    """log(1 + exp(beta * x)) / beta: a smooth relu.

    Args:
        x: any shape.
        beta: how sharp the corner is.
        threshold: where beta * x is larger, the answer is x itself.

    Raises:
        ArgumentError: beta is not above 0.

    Example:
        >>> softplus(array(1000.0)).item()
        1000.0
    """
    sharp, end = number("softplus", "beta", beta, 0, above=True), number("softplus", "threshold", threshold)
    v = floats(x)
    if sharp == 1:
        return v.apply(SOFTPLUS, end, 0)
    scaled = v * sharp
    return (scaled.apply(SOFTPLUS, end, 0) / sharp).where_not(scaled > end, v)


@var_function(template)
def logsigmoid(x: Any) -> Var:
    """log(sigmoid(x)), which is still x where sigmoid(x) is too small for a float.

    Example:
        >>> logsigmoid(array([-1000.0, 1000.0])).numpy()
        array([-1000.,    -0.], dtype=float32)
    """
    return floats(x).apply(LOGSIGMOID, 0)


@var_function(template, in_place)
def silu(x: Any) -> Var:
    """x * sigmoid(x).

    Example:
        >>> silu(array(0.0)).item()
        0.0

    Source: Elfwing et al. 2017 (arXiv:1702.03118).
    """
    return as_var(x).apply(SILU)


@var_function(template, in_place)
def mish(x: Any) -> Var:
    """x * tanh(log(1 + exp(x))).

    Example:
        >>> mish(array([0.0, 100.0])).numpy()
        array([  0., 100.], dtype=float32)

    Source: Misra 2019 (arXiv:1908.08681).
    """
    v = floats(x)
    return v * v.apply(SOFTPLUS, math.inf, 0).apply(TANH)


@var_function(castable, template)
def gelu(x: Any, approximate: str = "none") -> Var:
    """x * Phi(x), where Phi is the normal distribution function; approximate="tanh" uses the usual approximation.

    Example:
        >>> gelu(array(0.0)).item()
        0.0

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415).
    """
    v = as_var(x)
    if choice("gelu", "approximate", approximate, ("none", "tanh")) == "tanh":
        return v * (((v + v * v * v * 0.044715) * math.sqrt(2 / math.pi)).apply(TANH) + 1) * 0.5
    return v.apply(GELU)


@var_function(template)
def softsign(x: Any) -> Var:
    """x / (1 + |x|).

    Example:
        >>> softsign(array([-1.0, 0.0, 3.0])).numpy()
        array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    v = floats(x)
    return v / (v.apply(f.ABSOLUTE) + 1)


@var_function(template)
def tanhshrink(x: Any) -> Var:
    """x - tanh(x).

    Example:
        >>> tanhshrink(array([0.0, 100.0])).numpy()
        array([ 0., 99.], dtype=float32)
    """
    return (v := floats(x)) - v.apply(TANH)


swish = method(silu, "swish")
