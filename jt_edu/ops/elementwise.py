"""Element functions for the learner: one line each, from the table in functions.py.

Each is a function `jt.exp(x)` and a method `x.exp()`; the formula is the body in the table, the gradient stands beside
it. What can be written with others (relu, gelu, clamp) is written with others, and fuses into one loop all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jt_edu import functions as f
from jt_edu.dtypes import DType, as_dtype, bool_, float_of
from jt_edu.errors import ArgumentError
from jt_edu.meta import Elementwise
from jt_edu.var import Var, as_var, method


def _function(op: Elementwise, what: str, example: str, answer: str) -> Callable[..., Var]:
    def function(x: Any, *others: Any) -> Var:
        arity = 1 + ("{1}" in op.body)
        if len(others) != arity - 1:
            raise ArgumentError(f"{op.name} takes {arity} argument{'s' if arity > 1 else ''}", f"{1 + len(others)}")
        return as_var(x).apply(op, *others)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = (
        f"{what}\n\n    Body: `{op.body}`, at each element.\n\n"
        f"    Example:\n        >>> {example}\n        {answer}\n    "
    )
    function.__module__ = __name__
    return method(function)


exp = _function(f.EXP, "e to the power of x.", "exp(array(0.0)).item()", "1.0")
expm1 = _function(f.EXPM1, "exp(x) - 1, accurate near 0.", "expm1(array(0.0)).item()", "0.0")
log = _function(f.LOG, "Natural logarithm; log(0) is -inf, and nan below.", "log(array(1.0)).item()", "0.0")
log1p = _function(f.LOG1P, "log(1 + x), accurate near 0.", "log1p(array(0.0)).item()", "0.0")
log2 = _function(f.LOG2, "Logarithm to base 2.", "log2(array(8.0)).item()", "3.0")
sqrt = _function(f.SQRT, "Square root.", "sqrt(array(9.0)).item()", "3.0")
rsqrt = _function(f.RSQRT, "1 / sqrt(x).", "rsqrt(array(4.0)).item()", "0.5")
sigmoid = _function(f.SIGMOID, "1 / (1 + exp(-x)).", "sigmoid(array(0.0)).item()", "0.5")
erf = _function(
    f.ERF, "Error function, 2/sqrt(pi) times the integral of exp(-t**2) from 0 to x.", "erf(array(0.0)).item()", "0.0"
)
erfinv = _function(f.ERFINV, "The x whose erf is given.", "erfinv(array(0.0)).item()", "0.0")
sin = _function(f.SIN, "Sine of an angle in radians.", "sin(array(0.0)).item()", "0.0")
cos = _function(f.COS, "Cosine of an angle in radians.", "cos(array(0.0)).item()", "1.0")
tan = _function(f.TAN, "Tangent of an angle in radians.", "tan(array(0.0)).item()", "0.0")
asin = _function(f.ASIN, "The angle whose sine is x.", "asin(array(0.0)).item()", "0.0")
acos = _function(f.ACOS, "The angle whose cosine is x.", "acos(array(1.0)).item()", "0.0")
atan = _function(f.ATAN, "The angle whose tangent is x.", "atan(array(0.0)).item()", "0.0")
sinh = _function(f.SINH, "(exp(x) - exp(-x)) / 2.", "sinh(array(0.0)).item()", "0.0")
cosh = _function(f.COSH, "(exp(x) + exp(-x)) / 2.", "cosh(array(0.0)).item()", "1.0")
tanh = _function(f.TANH, "sinh(x) / cosh(x).", "tanh(array(0.0)).item()", "0.0")
asinh = _function(f.ASINH, "The x whose sinh is given.", "asinh(array(0.0)).item()", "0.0")
acosh = _function(f.ACOSH, "The x >= 0 whose cosh is given.", "acosh(array(1.0)).item()", "0.0")
atanh = _function(f.ATANH, "The x whose tanh is given.", "atanh(array(0.0)).item()", "0.0")
atan2 = _function(f.ATAN2, "The angle of the point (second, first).", "atan2(array(0.0), array(1.0)).item()", "0.0")
hypot = _function(f.HYPOT, "sqrt(x**2 + y**2).", "hypot(array(3.0), array(4.0)).item()", "5.0")
floor = _function(f.FLOOR, "Largest whole number not above x.", "floor(array(1.7)).item()", "1.0")
ceil = _function(f.CEIL, "Smallest whole number not below x.", "ceil(array(1.2)).item()", "2.0")
trunc = _function(f.TRUNC, "x without its fraction.", "trunc(array(-1.7)).item()", "-1.0")
round = _function(f.ROUND, "Nearest whole number; halves go to the even one.", "round(array(2.5)).item()", "2.0")
sign = _function(f.SIGN, "-1, 0 or 1.", "sign(array(-3.0)).item()", "-1.0")
absolute = _function(f.ABSOLUTE, "Magnitude.", "absolute(array(-3.0)).item()", "3.0")
isnan = _function(f.ISNAN, "Whether x is not a number.", "isnan(array(math.nan)).item()", "True")
isinf = _function(f.ISINF, "Whether x is infinite.", "isinf(array(math.inf)).item()", "True")
isfinite = _function(f.ISFINITE, "Whether x is neither infinite nor nan.", "isfinite(array(1.0)).item()", "True")
maximum = _function(f.MAXIMUM, "The larger of two; nan if either is.", "maximum(array(1.0), 2).item()", "2.0")
minimum = _function(f.MINIMUM, "The smaller of two; nan if either is.", "minimum(array(1.0), 2).item()", "1.0")
add = _function(f.ADD, "x + y.", "add(array(1), 2).item()", "3")
subtract = _function(f.SUBTRACT, "x - y.", "subtract(array(1), 2).item()", "-1")
multiply = _function(f.MULTIPLY, "x * y.", "multiply(array(3), 2).item()", "6")
divide = _function(f.DIVIDE, "x / y.", "divide(array(3.0), 2).item()", "1.5")
floor_divide = _function(
    f.FLOOR_DIVIDE,
    "x // y, rounded down; whole numbers by 0 give 0, as in NumPy.",
    "floor_divide(array(-7), 2).item()",
    "-4",
)
mod = _function(f.REMAINDER, "x % y, with the sign of y.", "mod(array(-7), 2).item()", "1")
power = _function(f.POWER, "x ** y.", "power(array(2.0), 3).item()", "8.0")
logical_and = _function(f.LOGICAL_AND, "Whether both are true.", "logical_and(array(True), False).item()", "False")
logical_or = _function(f.LOGICAL_OR, "Whether one is true.", "logical_or(array(True), False).item()", "True")
logical_xor = _function(f.LOGICAL_XOR, "Whether exactly one is true.", "logical_xor(array(True), True).item()", "False")
logical_not = _function(f.LOGICAL_NOT, "Whether x is false.", "logical_not(array(True)).item()", "False")
real = _function(f.REAL, "Real part.", "real(array(1 + 2j)).item()", "1.0")
imag = _function(f.IMAG, "Imaginary part.", "imag(array(1 + 2j)).item()", "2.0")

abs = absolute
method(absolute, "abs")
method(mod, "mod")
method(lambda x, y: x**y, "pow")
method(Var.cast, "astype")
method(Var.cast, "type_as")


@method
def sqr(x: Any) -> Var:
    """x * x.

    Example:
        >>> sqr(array(3.0)).item()
        9.0
    """
    v = as_var(x)
    return v * v


@method
def relu(x: Any) -> Var:
    """max(x, 0); the gradient at 0 is 0. A nan stays a nan.

    Example:
        >>> relu(array([-1.0, 2.0])).numpy()
        array([0., 2.], dtype=float32)
    """
    v = as_var(x)
    return v.where_not(v <= 0, 0)


@method
def leaky_relu(x: Any, scale: float = 0.01) -> Var:
    """x where it is positive, scale * x elsewhere.

    Example:
        >>> leaky_relu(array([-100.0, 2.0])).numpy()
        array([-1.,  2.], dtype=float32)
    """
    v = as_var(x)
    return v.where_not(v <= 0, v * scale)


@method
def silu(x: Any) -> Var:
    """x * sigmoid(x) (Elfwing et al. 2017, arXiv:1702.03118).

    Example:
        >>> silu(array(0.0)).item()
        0.0
    """
    v = as_var(x)
    return v * v.apply(f.SIGMOID)


@method
def gelu(x: Any, approximate: str = "none") -> Var:
    """x * Phi(x), Phi the normal distribution function; approximate="tanh" takes its usual approximation.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415).

    Example:
        >>> gelu(array(0.0)).item()
        0.0
    """
    v = as_var(x)
    if approximate == "tanh":
        inner = (v + v * v * v * 0.044715) * math.sqrt(2 / math.pi)
        return v * (inner.apply(f.TANH) + 1) * 0.5
    if approximate != "none":
        raise ArgumentError("gelu is exact ('none') or approximate ('tanh')", repr(approximate), "'tanh'")
    return v * ((v * math.sqrt(0.5)).apply(f.ERF) + 1) * 0.5


@method
def softplus(x: Any) -> Var:
    """log(1 + exp(x)), without overflow.

    Example:
        >>> softplus(array(1000.0)).item()
        1000.0
    """
    v = as_var(x)
    v = v.cast(float_of(v.dtype))
    return v.where_not(v < 0, 0) + v.where_not(v >= 0, -v).apply(f.EXP).apply(f.LOG1P)


@method
def clamp(x: Any, min_v: Any = None, max_v: Any = None) -> Var:
    """x, no smaller than min_v and no larger than max_v; outside, the gradient is 0.

    Example:
        >>> clamp(array([-2.0, 0.5, 2.0]), 0, 1).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    v = as_var(x)
    if min_v is None and max_v is None:
        raise ArgumentError("clamp needs min_v, max_v, or both", f"min_v={min_v}, max_v={max_v}", "x.clamp(0, 1)")
    if min_v is not None:
        v = v.where_not(v < min_v, min_v)
    return v if max_v is None else v.where_not(v > max_v, max_v)


clip = method(clamp, "clip")


def where(cond: Any, x: Any, y: Any) -> Var:
    """x where cond is true, y elsewhere.

    Example:
        >>> where(array([True, False]), 1.0, 2.0).numpy()
        array([1., 2.], dtype=float32)
    """
    a = as_var(x, y.dtype if isinstance(y, Var) else None)
    b = as_var(y, a.dtype)
    return b.where_not(cond, a)


ternary = where


@method
def masked_fill(x: Any, mask: Any, value: float) -> Var:
    """x, with `value` where mask is true.

    Example:
        >>> masked_fill(array([1.0, 2.0]), array([True, False]), 0).numpy()
        array([0., 2.], dtype=float32)
    """
    return as_var(x).where_not(as_var(mask).cast(bool_), value)


def cast(x: Any, dtype: Any) -> Var:
    """The same numbers as another dtype: `x.cast("float64")`, `x.float()`, `x.int32()`, ...

    Example:
        >>> cast(array(1.7), "int32").item()
        1
    """
    return as_var(x).cast(dtype)


def _casts() -> None:
    """x.float(), x.half(), x.int8(), ...: a method for each dtype."""
    names = ["float", "double", "half", "long", "int", "bool", "int8", "int16", "int32", "int64", "uint8", "float16",
             "bfloat16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
    for name in names:
        method(_cast_to(as_dtype(name)), name)


def _cast_to(wanted: DType) -> Callable[[Var], Var]:
    return lambda x: x.cast(wanted)


_casts()
