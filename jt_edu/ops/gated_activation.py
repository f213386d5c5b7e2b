"""Gated activation: activations that need more than x.

prelu    a slope that is learned        rrelu    a slope that is drawn        glu    one half of x opens the other
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ops.activation import leaky_relu
from jt_edu.ops.arguments import axis_of, in_place, number, same_words, yes_or_no
from jt_edu.ops.dtype_rules import floats
from jt_edu.ops.var_function import var_function
from jt_edu.variable.autocast import castable
from jt_edu.variable.random import random
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method


@var_function(castable, template)
def prelu(x: Any, weight: Any) -> Var:
    """x where it is positive, weight * x elsewhere, with a slope that is learned.

    Args:
        x: (n, c, ...), or any shape where there is one slope.
        weight: one slope, or (c,), one for each channel.

    Raises:
        ShapeError: neither one slope nor one for each channel.

    Example:
        >>> prelu(array([[-1.0, -1.0]]), array([0.5, 0.25])).numpy()
        array([[-0.5 , -0.25]], dtype=float32)

    Source: He et al. 2015, "Delving deep into rectifiers" (arXiv:1502.01852).
    """
    v = floats(x)
    w = as_var(weight, v.dtype)
    if w.ndim > 1 or (w.size != 1 and w.shape != v.shape[1:2]):
        raise ShapeError("prelu needs one slope, or one for each channel of x", f"weight {w.shape} for x of {v.shape}")
    slopes = w.reshape(()) if w.size == 1 else w.reshape((w.size,) + (1,) * (v.ndim - 2))
    return (slopes * _not_above_zero(v)).where_not(v > 0, v)


@var_function(in_place)
def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Var:
    """leaky_relu with a slope drawn anew for each element while training, and their mean otherwise.

    Raises:
        ArgumentError: lower is larger than upper.

    Example:
        >>> rrelu(array([-8.0, 1.0]), 0.25, 0.75).numpy()
        array([-4.,  1.], dtype=float32)

    Source: Xu et al. 2015, "Empirical evaluation of rectified activations" (arXiv:1505.00853).
    """
    low, high = number("rrelu", "lower", lower), number("rrelu", "upper", upper)
    if low > high:
        raise ArgumentError("rrelu needs lower <= upper", f"lower={low}, upper={high}")
    v = floats(x)
    if not yes_or_no("rrelu", "training", training):
        return leaky_relu(v, (low + high) / 2)
    return v.where_not(v <= 0, (random(v.shape) * (high - low) + low).cast(v.dtype) * _not_above_zero(v))


def _not_above_zero(v: Var) -> Var:
    """min(v, 0), nan as it is: on the right the slope has nothing to overflow with."""
    return v.where_not(v > 0, 0)


@method
@same_words
@template
def glu(x: Any, dim: int = -1) -> Var:
    """a * sigmoid(b), where a and b are the two halves of x along an axis.

    Args:
        x: its length along `dim` is even; `axis` means the same as `dim`.

    Raises:
        ShapeError: the axis has an odd length.

    Example:
        >>> glu(array([3.0, 0.0])).numpy()
        array([1.5], dtype=float32)

    Source: Dauphin et al. 2016 (arXiv:1612.08083).
    """
    v = floats(x)
    halved = axis_of("glu", dim, v.ndim)
    half, odd = divmod(v.shape[halved], 2)
    if odd:
        raise ShapeError("glu halves an axis of even length", f"shape {v.shape}, axis {halved}")
    left, right = v.split([half, half], halved)
    return left * right.apply(f.SIGMOID)
