"""Trigonometry: angles, circular and hyperbolic. First the table, in the form of `scalar_ops.py`; then the functions.

    sin cos tan       asin acos atan atan2      of an angle in radians, and back
    sinh cosh tanh    asinh acosh atanh         the same on a hyperbola
    hypot                                       the length that belongs to two sides

How each is computed, and how exactly, stands in `backends/mathlib`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ir.scalar_ops import unary
from jt_edu.ops.arguments import function

__all__ = ["acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
           "atan", "atan2", "atanh", "cos", "cosh", "hypot", "sin", "sinh", "tan", "tanh"]  # fmt: skip
SIN = unary("sin", lambda o, d, x: d * COS(x).conj())
COS: Elementwise = unary("cos", lambda o, d, x: -d * SIN(x).conj())
TAN = unary("tan", lambda o, d, x: d * (o * o + 1).conj(), 12)
ASIN = unary("asin", lambda o, d, x: d * f.RSQRT(1 - x * x).conj(), 20)
ACOS = unary("acos", lambda o, d, x: -d * f.RSQRT(1 - x * x).conj(), 20)
ATAN = unary("atan", lambda o, d, x: d / (x * x + 1).conj(), 20)
SINH = unary("sinh", lambda o, d, x: d * COSH(x).conj(), 10)
COSH: Elementwise = unary("cosh", lambda o, d, x: d * SINH(x).conj(), 10)
TANH = unary("tanh", lambda o, d, x: d * (1 - o * o).conj())
ASINH = unary("asinh", lambda o, d, x: d * f.RSQRT(x * x + 1).conj(), 20)
ACOSH = unary("acosh", lambda o, d, x: d * (f.RSQRT(x - 1) * f.RSQRT(x + 1)).conj(), 20)
ATANH = unary("atanh", lambda o, d, x: d / (1 - x * x).conj(), 20)
ATAN2 = Elementwise(
    "atan2", "atan2({0}, {1})", "float_real",
    (lambda o, d, y, x: d * _slope(x, y), lambda o, d, y, x: -d * _slope(y, x)), 30,
)  # fmt: skip
HYPOT = Elementwise(
    "hypot",
    "hypot({0}, {1})",
    "float_real",
    (lambda o, d, x, y: d * _share(x, o), lambda o, d, x, y: d * _share(y, o)),
    8,
)


def _share(x: Any, o: Any) -> Any:
    """x / o, and 0 where both are 0: as of a norm, the length of nothing has no direction."""
    return (x / o.where_not(o == 0, 1)).where_not(o == 0, 0)


def _slope(x: Any, y: Any) -> Any:
    """x / |(x, y)| ** 2, without squares, which overflow; 0 at the origin, where the angle has no slope."""
    origin = (x == 0) & (y == 0)
    size = HYPOT(x.where_not(origin, 1), y)
    return (x / size / size).where_not(origin, 0)


# for the learner
_function = partial(function, __name__)

sin = _function(SIN, "Sine of an angle in radians.", "sin(array(0.0)).item()", "0.0")
cos = _function(COS, "Cosine of an angle in radians.", "cos(array(0.0)).item()", "1.0")
tan = _function(TAN, "Tangent of an angle in radians.", "tan(array(0.0)).item()", "0.0", casts=True)
asin = _function(ASIN, "The angle whose sine is x.", "asin(array(0.0)).item()", "0.0", "arcsin", casts=True)
acos = _function(ACOS, "The angle whose cosine is x.", "acos(array(1.0)).item()", "0.0", "arccos", casts=True)
atan = _function(ATAN, "The angle whose tangent is x.", "atan(array(0.0)).item()", "0.0", "arctan")
sinh = _function(SINH, "(exp(x) - exp(-x)) / 2.", "sinh(array(0.0)).item()", "0.0", casts=True)
cosh = _function(COSH, "(exp(x) + exp(-x)) / 2.", "cosh(array(0.0)).item()", "1.0", casts=True)
tanh = _function(TANH, "sinh(x) / cosh(x).", "tanh(array(0.0)).item()", "0.0")
asinh = _function(ASINH, "The x whose sinh is given.", "asinh(array(0.0)).item()", "0.0", "arcsinh")
acosh = _function(ACOSH, "The x >= 0 whose cosh is given.", "acosh(array(1.0)).item()", "0.0", "arccosh")
atanh = _function(ATANH, "The x whose tanh is given.", "atanh(array(0.0)).item()", "0.0", "arctanh")
atan2 = _function(
    ATAN2, "The angle of the point (second, first).", "atan2(array(0.0), array(1.0)).item()", "0.0", "arctan2"
)
hypot = _function(HYPOT, "sqrt(x**2 + y**2).", "hypot(array(3.0), array(4.0)).item()", "5.0")

arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
