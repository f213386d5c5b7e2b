"""Element functions for the learner: one line each, from the table in ir/scalar_ops.py.

Each is a function `jt.exp(x)` and a method `x.exp()`; the formula is the body in the table, the gradient stands beside
it. What can be written with others (clamp, lerp) is written with others, and fuses into one loop all the same.

Families of their own: activation.py, bits.py, compare.py, complex.py, rounding.py, special.py.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.dtypes import bool_, complex128, float64, plain, promote
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ops.arguments import beside, choice, factor, function, number, one_of
from jt_edu.ops.dtype_rules import real_floats
from jt_edu.ops.temporaries import into
from jt_edu.ops.var_function import var_function
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["add", "addcdiv", "addcmul", "cast", "cbrt", "clamp", "clamp_max", "clamp_min", "clip", "deg2rad", "degrees",
           "div", "divide", "exp", "exp2", "expm1", "float_power", "lerp", "log", "log10", "log1p", "log2", "logaddexp",
           "logaddexp2", "masked_fill", "mul", "multiply", "neg", "negative", "positive", "pow", "power", "rad2deg",
           "radians", "reciprocal", "rsqrt", "sigmoid", "sqr", "sqrt", "square", "sub", "subtract", "ternary",
           "true_divide", "where"]  # fmt: skip
CLAMP = Elementwise(  # between two numbers
    "clamp", "minimum(maximum({0}, {1}), {2})", "ordered",
    (lambda o, d, x, low, high: d.where_not((x < low) | (x > high), 0),), 2,
)  # fmt: skip
CLAMP_MIN = Elementwise("clamp_min", "maximum({0}, {1})", "ordered", (lambda o, d, x, low: d.where_not(x < low, 0),))
CLAMP_MAX = Elementwise("clamp_max", "minimum({0}, {1})", "ordered", (lambda o, d, x, high: d.where_not(x > high, 0),))

_function = partial(function, __name__)

exp = _function(f.EXP, "e to the power of x.", "exp(array(0.0)).item()", "1.0", casts=True)
expm1 = _function(f.EXPM1, "exp(x) - 1, accurate near 0.", "expm1(array(0.0)).item()", "0.0", casts=True)
log = _function(f.LOG, "Natural logarithm; log(0) is -inf, and nan below.", "log(array(1.0)).item()", "0.0", casts=True)
log1p = _function(f.LOG1P, "log(1 + x), accurate near 0.", "log1p(array(0.0)).item()", "0.0", casts=True)
exp2 = _function(f.EXP2, "2 to the power of x.", "exp2(array(3.0)).item()", "8.0")
log10 = _function(f.LOG10, "Logarithm to base 10.", "log10(array(100.0)).item()", "2.0", casts=True)
logaddexp = _function(
    f.LOGADDEXP, "log(exp(x) + exp(y)), without overflow.", "logaddexp(array(1000.0), -1000.0).item()", "1000.0"
)
logaddexp2 = _function(
    f.LOGADDEXP2, "log2(2**x + 2**y), without overflow.", "logaddexp2(array(3.0), 3.0).item()", "4.0"
)
cbrt = _function(f.CBRT, "Cube root, also of negative numbers.", "cbrt(array(-8.0)).item()", "-2.0")
log2 = _function(f.LOG2, "Logarithm to base 2.", "log2(array(8.0)).item()", "3.0", casts=True)
sqrt = _function(f.SQRT, "Square root.", "sqrt(array(9.0)).item()", "3.0")
rsqrt = _function(f.RSQRT, "1 / sqrt(x).", "rsqrt(array(4.0)).item()", "0.5", casts=True)
sigmoid = _function(f.SIGMOID, "1 / (1 + exp(-x)).", "sigmoid(array(0.0)).item()", "0.5")
multiply = _function(f.MULTIPLY, "x * y.", "multiply(array(3), 2).item()", "6", "mul")


@method
def add(x: Any, y: Any, *, alpha: Any = 1, out: Var | None = None) -> Var:
    """x + alpha * y.

    Args:
        x: two shapes that broadcast.
        y: the other one.
        alpha: a number.
        out: a Var of the shape of the answer, which is given it.

    Example:
        >>> add(array(1), 2, alpha=10).item()
        21
    """
    v = beside(x, y)
    return into(out, v.apply(f.ADD, _times("add", v, y, alpha)))


@method
def subtract(x: Any, y: Any, *, alpha: Any = 1, out: Var | None = None) -> Var:
    """x - alpha * y; arguments as of `add`.

    Example:
        >>> subtract(array(1), 2).item()
        -1
    """
    v = beside(x, y)
    return into(out, v.apply(f.SUBTRACT, _times("subtract", v, y, alpha)))


def _times(who: str, v: Var, y: Any, alpha: Any) -> Any:
    scale = factor(who, "alpha", alpha)
    return v.beside(y) * scale if isinstance(scale, Var) or scale != 1 else y


@method
def divide(x: Any, y: Any, *, rounding_mode: str | None = None) -> Var:
    """x / y; whole numbers give float64, as in NumPy.

    Args:
        x: the dividend.
        y: the divisor.
        rounding_mode: None, "trunc" (towards 0) or "floor" (down). Rounded quotients of whole numbers are whole.

    Raises:
        ArgumentError: another rounding mode.

    Example:
        >>> divide(array(-7.0), 2).item(), divide(array(-7), 2, rounding_mode="trunc").item()
        (-3.5, -3)
    """
    v = beside(x, y)
    mode = choice("divide", "rounding_mode", rounding_mode, (None, "trunc", "floor"))
    if mode is None:
        return v.apply(f.DIVIDE, y)
    if mode == "floor":
        return v.apply(f.FLOOR_DIVIDE, y)
    if v.dtype.is_float or v.beside(y).dtype.is_float:
        return v.apply(f.DIVIDE, y).apply(f.TRUNC)
    return (v - v.apply(f.FMOD, y)).apply(f.FLOOR_DIVIDE, y)


@var_function(castable(name="pow"))
def power(x: Any, y: Any) -> Var:
    """x ** y; squares are written as products, and powers of 1/2 as roots.

    Raises:
        DtypeError: a whole number to a negative power, which is a fraction.

    Example:
        >>> power(array(2.0), 3).item()
        8.0
    """
    return _raised(beside(x, y), y)


def _raised(x: Var, y: Any) -> Var:
    """x ** y."""
    if (region := current().threads.now.autocast) is not None:
        return region.run("pow", _raised, (x, y), {})  # type: ignore[no-any-return]
    other = plain(y)
    if type(other) in (int, float) and x.dtype.is_float and other in (0.5, 1, 2):
        return x * x if other == 2 else x.apply(f.SQRT) if other == 0.5 else x.apply(f.MULTIPLY, 1)
    if isinstance(other, int) and other < 0 and not x.dtype.is_float:
        raise DtypeError("a whole number to a negative power is a fraction", f"{x.dtype} ** {other}", "x.float() ** k")
    return x.apply(f.POWER, other)


method(_raised, "__pow__"), method(lambda x, y: _raised(x.beside(y), x), "__rpow__")
method(castable(Var.__rtruediv__, name="reciprocal"), "__rtruediv__")  # 1 / x


@method
def float_power(x: Any, y: Any) -> Var:
    """x ** y in double precision: float64, or complex128 where one of them is complex.

    Example:
        >>> float_power(array(2), -1).item()
        0.5
    """
    v, w = beside(x, y), beside(y, x)
    wide = complex128 if "c" in (v.dtype.kind, w.dtype.kind) else float64
    return v.cast(wide).apply(f.POWER, w.cast(wide))


@method
def square(x: Any) -> Var:
    """x * x.

    Example:
        >>> square(array(3.0)).item()
        9.0
    """
    v = as_var(x)
    return v * v


@method
@castable
def reciprocal(x: Any) -> Var:
    """1 / x; of whole numbers it is a float64, where NumPy would round it down.

    Example:
        >>> reciprocal(array([4, 2])).numpy()
        array([0.25, 0.5 ])
    """
    return 1 / as_var(x)


negative = _function(f.NEGATIVE, "-x.", "negative(array(3.0)).item()", "-3.0", "neg")


@method
def positive(x: Any) -> Var:
    """x itself; bools have no sign, as in NumPy.

    Example:
        >>> positive(array(-3)).item()
        -3
    """
    v = as_var(x)
    if v.dtype is bool_:
        raise DtypeError("positive does not accept bools (as in NumPy)", f"dtype {v.dtype}", "x.int()")
    return v


@method
def deg2rad(x: Any) -> Var:
    """Degrees as radians: x * pi / 180.

    Example:
        >>> deg2rad(array(180.0)).item()
        3.1415927410125732
    """
    return real_floats("deg2rad", x) * (math.pi / 180)


@method
def rad2deg(x: Any) -> Var:
    """Radians as degrees: x * 180 / pi.

    Example:
        >>> rad2deg(array(1.0)).item()
        57.295780181884766
    """
    return real_floats("rad2deg", x) * (180 / math.pi)


@method
def lerp(start: Any, end: Any, weight: Any) -> Var:
    """Linear interpolation: start + weight * (end - start), and exactly `end` where the weight is 1.

        end - (1 - weight) * (end - start)               from weight 1/2 on, so that no end is missed by rounding
        (1 - weight) * start + weight * end              where they have different signs: their distance may overflow

    Example:
        >>> lerp(array(10.0), array(20.0), 0.25).item(), lerp(array(1e8), 1.0, 1.0).item()
        (12.5, 1.0)
    """
    first = beside(start, end, weight)
    a, b, t = first, first.beside(end), first.beside(weight)
    common = promote(promote(a.dtype, b.dtype), t.dtype)
    a, b, t = a.cast(common), b.cast(common), t.cast(common)
    real = common.kind != "c"
    apart = (a < 0) != (b < 0) if real else t != t  # noqa: PLR0124 - never, but where the answer is nan anyway
    way = (b - a).where_not(apart, 0)
    near = (b - (1 - t) * way).where_not((t if real else t.apply(f.ABSOLUTE)) < 0.5, a + t * way)
    return near.where_not(apart, (1 - t) * a + t * b)


@method
def addcmul(x: Any, first: Any, second: Any, *, value: float = 1) -> Var:
    """x + value * first * second, in the dtype of all three.

    Example:
        >>> addcmul(array(1.0), array(2.0), array(3.0), value=10).item()
        61.0
    """
    v = beside(x, first, second)
    a, b = v.beside(first), v.beside(second)
    common = promote(promote(v.dtype, a.dtype), b.dtype)
    return v + a.cast(common) * b.cast(common) * number("addcmul", "value", value)


@method
def addcdiv(x: Any, first: Any, second: Any, *, value: float = 1) -> Var:
    """x + value * first / second.

    Example:
        >>> addcdiv(array(1.0), array(6.0), array(3.0), value=10).item()
        21.0
    """
    v = beside(x, first, second)
    return v + v.beside(first) / v.beside(second) * number("addcdiv", "value", value)


@method
@template
def clamp(
    x: Any, min: Any = None, max: Any = None, *, min_v: Any = None, max_v: Any = None, a_min: Any = None,
    a_max: Any = None,
) -> Var:  # fmt: skip
    """x limited to a lower and an upper bound; outside them the gradient is 0. A bound of nan gives nan.

    Args:
        x: any shape.
        min: the lower bound, a number or a Var; None for none. Jittor calls it `min_v`, NumPy `a_min` as well.
        max: the upper bound, likewise `max_v` and `a_max`; it wins where the lower bound is larger.
        min_v: Jittor's name of min.
        max_v: Jittor's name of max.
        a_min: NumPy's name of min.
        a_max: NumPy's name of max.

    Raises:
        ArgumentError: a bound given twice.

    Example:
        >>> clamp(array([-2.0, 0.5, 2.0]), 0, 1).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    low = plain(one_of("clamp", min=min, min_v=min_v, a_min=a_min))
    high = plain(one_of("clamp", max=max, max_v=max_v, a_max=a_max))
    v = beside(x, low, high)
    given = [b for b in (low, high) if b is not None]
    if not given:
        return v.apply(f.COPY)
    if not all(isinstance(b, (int, float)) and b == b for b in given):  # noqa: PLR0124 - nan is not
        return _between(v, low, high)
    return v.apply(CLAMP if len(given) == 2 else CLAMP_MAX if low is None else CLAMP_MIN, *given)


def _between(v: Var, low: Any, high: Any) -> Var:
    """Clamped by Vars, which have gradients too, or by nan, which makes the answer nan."""
    if low is not None:
        bound = v.beside(low)
        v = v.where_not((v < bound) | bound.apply(f.ISNAN), bound)
    if high is None:
        return v
    bound = v.beside(high)
    return v.where_not((v > bound) | bound.apply(f.ISNAN), bound)


@method
def clamp_min(x: Any, min: Any) -> Var:
    """x, no smaller than `min`.

    Example:
        >>> clamp_min(array([-1.0, 1.0]), 0).numpy()
        array([0., 1.], dtype=float32)
    """
    return clamp(x, min)


@method
def clamp_max(x: Any, max: Any) -> Var:
    """x, no larger than `max`.

    Example:
        >>> clamp_max(array([-1.0, 1.0]), 0).numpy()
        array([-1.,  0.], dtype=float32)
    """
    return clamp(x, None, max)


def where(cond: Any, x: Any = None, y: Any = None) -> Any:
    """x where cond is true, y elsewhere. With cond alone: where it is true, as one index array for each axis.

    Raises:
        ArgumentError: one of x and y without the other.

    Example:
        >>> where(array([True, False]), 1.0, 2.0).numpy()
        array([1., 2.], dtype=float32)
        >>> [k.numpy() for k in where(array([False, True, True]))]
        [array([1, 2])]
    """
    if x is None and y is None:
        return as_var(cond).nonzero(as_tuple=True)
    if x is None or y is None:
        raise ArgumentError(
            "where needs both x and y, or neither of them", f"x={short(x)}, y={short(y)}", "where(cond, x, y)"
        )
    a = beside(x, y)
    b, condition = as_var(y, a.dtype), as_var(cond)
    broadcast_shape("where", condition.shape, a.shape, b.shape)
    return b.where_not(condition, a)


@method
def masked_fill(x: Any, mask: Any, value: Any) -> Var:
    """x, with `value` where mask is true; the dtype stays that of x.

    Example:
        >>> masked_fill(array([1.0, 2.0]), array([True, False]), 0).numpy()
        array([0., 2.], dtype=float32)
    """
    v = as_var(x)
    return v.where_not(as_var(mask).cast(bool_), as_var(value, v.dtype).cast(v.dtype))


def cast(x: Any, dtype: Any) -> Var:
    """The same numbers as another dtype: `x.cast("float64")`, `x.float()`, `x.int32()`, ...

    Example:
        >>> cast(array(1.7), "int32").item()
        1
    """
    return as_var(x).cast(dtype)


mul, sub, div, true_divide, pow, neg = multiply, subtract, divide, divide, power, negative
sqr, clip, ternary, degrees, radians = square, clamp, where, rad2deg, deg2rad

method(divide, "div"), method(divide, "true_divide"), method(subtract, "sub"), method(square, "sqr")
method(clamp, "clip"), method(rad2deg, "degrees"), method(deg2rad, "radians"), method(power, "pow")
