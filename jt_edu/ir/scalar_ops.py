"""Scalar ops: the table of element functions, each with its loop body and its derivative on one line.

    NAME = Elementwise(name, body, rule for dtypes, (derivative for each input,), weight)

`{0}` and `{1}` stand for the inputs; names in a body are those of `backends/mathlib`. A derivative gets the output, the
gradient that comes in, and the inputs, and is ordinary arithmetic on Vars, so it can be differentiated again. `conj`
does nothing to real numbers; for complex ones the gradient is the conjugate of the derivative, as in PyTorch.

The rows of sines and their kin stand in `ops/trigonometry.py`, those of gamma and Bessel in `ops/special.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from jt_edu.base import dtypes, hints
from jt_edu.base.dtypes import DType, as_dtype, bool_, float_of, promote, real_of
from jt_edu.base.errors import DtypeError
from jt_edu.ir.meta_ops import Elementwise, Rule, Rules


def unary(name: str, gradient: Rule | None, weight: int = 8, rule: str = "float", body: str = "") -> Elementwise:
    """A row with one input."""
    return Elementwise(name, body or f"{name}({{0}})", rule, (gradient,) if gradient else (), weight)


def _flat(o: Any, d: Any, *inputs: Any) -> Any:
    """The gradient of a staircase: 0, whatever comes in; nan * 0 would be nan."""
    return d.zeros_like()


# arithmetic
ADD = Elementwise("add", "{0} + {1}", "same", (lambda o, d, x, y: d, lambda o, d, x, y: d), 1, {"b": "{0} or {1}"})
SUBTRACT = Elementwise("subtract", "{0} - {1}", "number", (lambda o, d, x, y: d, lambda o, d, x, y: -d))
MULTIPLY = Elementwise(
    "multiply", "{0} * {1}", "same",
    (lambda o, d, x, y: d * y.conj(), lambda o, d, x, y: d * x.conj()), 1, {"b": "{0} and {1}"},
)  # fmt: skip
DIVIDE = Elementwise(
    "divide", "divide({0}, {1})", "divide", (lambda o, d, x, y: d / y.conj(), lambda o, d, x, y: -d * (o / y).conj()), 2
)
FLOOR_DIVIDE = Elementwise("floor_divide", "floor_divide({0}, {1})", "count", (_flat, _flat), 4)
REMAINDER = Elementwise(
    "remainder", "remainder({0}, {1})", "count", (lambda o, d, x, y: d, lambda o, d, x, y: -d * FLOOR_DIVIDE(x, y)), 4
)
FMOD = Elementwise("fmod", "fmod({0}, {1})", "count", (lambda o, d, x, y: d, lambda o, d, x, y: -d * TRUNC(x / y)), 4)
POWER = Elementwise(
    "power", "power({0}, {1})", "power",
    (
        lambda o, d, x, y: d * (y * x ** (y - 1).where_not(y == 0, 0)).conj().where_not(y == 0, 0),
        lambda o, d, x, y: d * (o * LOG(x.where_not(_stays(x, y), 1))).conj().where_not(_stays(x, y), 0),
    ), 30,
)  # fmt: skip
NEGATIVE = Elementwise("negative", "-{0}", "number", (lambda o, d, x: -d,))
ABSOLUTE = Elementwise("absolute", "absolute({0})", "magnitude", (lambda o, d, x: d * SIGN(x),))
SIGN: Elementwise = Elementwise(
    "sign", "sign({0})", "number", (lambda o, d, x: _turned(o, d, x) if x.dtype.kind == "c" else _flat(o, d),)
)
MAXIMUM = Elementwise(
    "maximum", "maximum({0}, {1})", "ordered",
    (lambda o, d, x, y: _won(d, x, y, AT_LEAST), lambda o, d, x, y: _won(d, y, x, AT_LEAST)), 1, {"b": "{0} or {1}"},
)  # fmt: skip
MINIMUM = Elementwise(
    "minimum", "minimum({0}, {1})", "ordered",
    (lambda o, d, x, y: _won(d, x, y, AT_MOST), lambda o, d, x, y: _won(d, y, x, AT_MOST)), 1, {"b": "{0} and {1}"},
)  # fmt: skip
RELU = Elementwise(  # the second input is 0; the derivative asks the output, so that nobody needs to keep x
    "relu", "maximum({0}, {1})", "ordered", (lambda o, d, x, low: d.where_not(o <= 0, 0), None), 1, {"b": "{0} or {1}"}
)
RELU6 = Elementwise(  # the others are 0 and 6
    "relu6", "minimum(maximum({0}, {1}), {2})", "ordered",
    (lambda o, d, x, low, high: d.where_not(o <= 0, 0).where_not(o >= 6, 0), None, None), 2,
)  # fmt: skip
FMAX = Elementwise(
    "fmax", "fmax({0}, {1})", "ordered",
    (lambda o, d, x, y: d.keep_where((x >= y) | ISNAN(y)), lambda o, d, x, y: d.where_not((x >= y) | ISNAN(y), 0)),
)  # fmt: skip
FMIN = Elementwise(
    "fmin", "fmin({0}, {1})", "ordered",
    (lambda o, d, x, y: d.keep_where((x <= y) | ISNAN(y)), lambda o, d, x, y: d.where_not((x <= y) | ISNAN(y), 0)),
)  # fmt: skip
COPYSIGN = Elementwise(
    "copysign", "copysign({0}, {1})", "float_real", (lambda o, d, x, y: d * (SIGN(x) * SIGN(o)), _flat), 2
)
SELECT = Elementwise(
    "select", "select({0}, {1}, {2})", "select",
    (None, lambda o, d, c, x, y: d.keep_where(c), lambda o, d, c, x, y: d.where_not(c, 0)),
)  # fmt: skip
PICKED = Elementwise(  # a gradient x, but y where it is nan and was not chosen: see variable/autograd.py
    "picked", "select({0} or {1} == {1}, {1}, {2})", "select",
    (None, lambda o, d, c, x, y: d.where_not(ISNAN(x) & ~c, 0)),
)  # fmt: skip


def _stays(x: Any, y: Any) -> Any:
    """Where x**y does not move with y: 0 to a power from 0 on, as in PyTorch."""
    return (x == 0) & ((REAL(y) if y.dtype.kind == "c" else y) >= 0)


def _turned(o: Any, d: Any, z: Any) -> Any:
    """The gradient of z / |z|: what of d turns z; what of it stretches z has no effect. 0 at 0, as in PyTorch."""
    return ((d - o * REAL(d * o.conj())) / ABSOLUTE(z)).where_not(z == 0, 0)


def _won(d: Any, x: Any, y: Any, reaches: Elementwise) -> Any:
    """d where x is the answer, half of it where y is as well, as in PyTorch; beside a number, nan is the answer."""
    mine, theirs = reaches(x, y), reaches(y, x)
    return d.where_not(mine & theirs, d * 0.5).keep_where(mine)


# comparisons and logic
EQUAL = Elementwise("equal", "{0} == {1}", "compare", exact=True)
NOT_EQUAL = Elementwise("not_equal", "{0} != {1}", "compare", exact=True)
LESS = Elementwise("less", "{0} < {1}", "compare", (), 1, {"c": ""}, exact=True)
LESS_EQUAL = Elementwise("less_equal", "{0} <= {1}", "compare", (), 1, {"c": ""}, exact=True)
GREATER = Elementwise("greater", "{0} > {1}", "compare", (), 1, {"c": ""}, exact=True)
GREATER_EQUAL = Elementwise("greater_equal", "{0} >= {1}", "compare", (), 1, {"c": ""}, exact=True)
AT_LEAST: Elementwise = Elementwise("at_least", "{0} >= {1} or {0} != {0}", "compare", (), 1, {"c": ""}, exact=True)
AT_MOST: Elementwise = Elementwise("at_most", "{0} <= {1} or {0} != {0}", "compare", (), 1, {"c": ""}, exact=True)
LOGICAL_AND = Elementwise("logical_and", "{0} and {1}", "logic")
LOGICAL_OR = Elementwise("logical_or", "{0} or {1}", "logic")
LOGICAL_XOR = Elementwise("logical_xor", "{0} != {1}", "logic")
LOGICAL_NOT = Elementwise("logical_not", "not {0}", "logic")
BITWISE_AND = Elementwise("bitwise_and", "{0} & {1}", "bits", (), 1, {"b": "{0} and {1}"})
BITWISE_OR = Elementwise("bitwise_or", "{0} | {1}", "bits", (), 1, {"b": "{0} or {1}"})
BITWISE_XOR = Elementwise("bitwise_xor", "{0} ^ {1}", "bits", (), 1, {"b": "{0} != {1}"})
INVERT = Elementwise("invert", "~{0}", "bits", (), 1, {"b": "not {0}"})
LEFT_SHIFT = Elementwise("left_shift", "shift_left({0}, {1})", "whole")
RIGHT_SHIFT = Elementwise("right_shift", "shift_right({0}, {1})", "whole")
SIGNBIT = Elementwise("signbit", "signbit({0})", "test_real", (), 1, {"b": "{0} < 0", "i": "{0} < 0", "u": "{0} < 0"})
BIT_COUNT = Elementwise("bitwise_count", "bit_count({0})", "bit_count")
GCD = Elementwise("gcd", "gcd({0}, {1})", "integer", (), 40)
ISNAN: Elementwise = Elementwise("isnan", "isnan({0})", "test")
ISINF = Elementwise("isinf", "isinf({0})", "test")
ISFINITE = Elementwise("isfinite", "isfinite({0})", "test")

# exponentials and logarithms
EXP = unary("exp", lambda o, d, x: d * o.conj())
EXPM1 = unary("expm1", lambda o, d, x: d * EXP(x).conj())  # o + 1 has lost its digits far below 0
LOG: Elementwise = unary("log", lambda o, d, x: d / x.conj())
LOG1P = unary("log1p", lambda o, d, x: d / (x + 1).conj())
LOG2 = unary("log2", lambda o, d, x: d / (x.conj() * math.log(2)))
LOG10 = unary("log10", lambda o, d, x: d / (x.conj() * math.log(10)))
EXP2 = unary("exp2", lambda o, d, x: d * (o * math.log(2)).conj())
LOGADDEXP = Elementwise(
    "logaddexp", "logaddexp({0}, {1})", "float_real",
    (lambda o, d, x, y: d * _rises(x, y), lambda o, d, x, y: d * _rises(y, x)), 16,
)  # fmt: skip
LOGADDEXP2 = Elementwise(
    "logaddexp2", "logaddexp2({0}, {1})", "float_real",
    (lambda o, d, x, y: d * _rises(x, y, math.log(2)), lambda o, d, x, y: d * _rises(y, x, math.log(2))), 16,
)  # fmt: skip
CBRT = unary("cbrt", lambda o, d, x: d / (o * o * 3), 16, "float_real")
SQRT = unary("sqrt", lambda o, d, x: d / (o * 2).conj(), 4)
RSQRT = unary("rsqrt", lambda o, d, x: d * (o / x * -0.5).conj(), 6)
SIGMOID = unary("sigmoid", lambda o, d, x: d * (o - o * o).conj())
ERF = unary("erf", lambda o, d, x: d * (EXP(-(x * x)) * (2 / math.sqrt(math.pi))), 8, "float_real")
ERFINV = unary("erfinv", lambda o, d, x: d * (EXP(o * o) * (math.sqrt(math.pi) / 2)), 20, "float_real")


def _rises(x: Any, y: Any, scale: float = 1.0) -> Any:
    """e ** x / (e ** x + e ** y): how much of a logaddexp is due to x; half of it where both are the same infinity."""
    return SIGMOID((x - y).where_not(ISINF(x) & (x == y), 0) * scale)


# rounding, and parts of numbers
FLOOR = Elementwise("floor", "floor({0})", "real", (_flat,), 1, {"b": "{0}"})
CEIL = Elementwise("ceil", "ceil({0})", "real", (_flat,), 1, {"b": "{0}"})
TRUNC: Elementwise = Elementwise("trunc", "trunc({0})", "real", (_flat,), 1, {"b": "{0}"})
ROUND = unary("round", _flat, 1, "round", "round_even({0})")
FRACTION = unary("fraction", lambda o, d, x: d, 2, "float_real")
MANTISSA = unary("mantissa", lambda o, d, x: LDEXP(d, -EXPONENT(x).cast(d.dtype)), 4, "float_real")
EXPONENT: Elementwise = unary("exponent", None, 4, "exponent")
LDEXP: Elementwise = Elementwise("ldexp", "ldexp({0}, {1})", "float_real", (lambda o, d, x, n: LDEXP(d, n),), 6)
COPY = unary("copy", lambda o, d, x: d, 1, "same", "{0}")
CONJ = unary("conj", lambda o, d, x: d.conj(), 1, "same")
REAL = unary("real", lambda o, d, x: d.cast(x.dtype), 1, "part")
IMAG = unary("imag", lambda o, d, x: d.cast(x.dtype) * 1j, 1, "part")
ANGLE = unary(
    "angle", lambda o, d, z: d * (z / (z * z.conj()).where_not(z == 0, 1)) * 1j if z.dtype.kind == "c" else _flat(o, d),
    30, "angle",
)  # fmt: skip
COMPLEX = Elementwise(
    "complex", "complex_of({0}, {1})", "complex", (lambda o, d, x, y: REAL(d), lambda o, d, x, y: IMAG(d)), 1
)

# random bits (see variable/random.py), and floats made of them
BITS = Elementwise("random_bits", "philox({0}, {1})", "word", (), 20)
UNIFORM32 = Elementwise("uniform", "uniform32({0})", "float32", (), 2)
UNIFORM64 = Elementwise("uniform", "uniform64({0})", "float64", (), 2)
NORMAL32 = Elementwise("normal", "normal32({0})", "float32", (), 20)
NORMAL64 = Elementwise("normal", "normal64({0}, {1})", "float64", (), 20)


@cache
def cast_to(wanted: DType, found: DType) -> Elementwise:
    """The operator that turns `found` into `wanted`; halves are rounded, complex numbers lose their imaginary part."""
    inner = "real({0})" if found.kind == "c" and wanted.kind != "c" else "{0}"
    body = "{0} != 0" if wanted is bool_ else f"{wanted.compute}({inner})"
    if wanted.is_half:
        short = "half" if wanted == "float16" else "bfloat"
        body = f"{short}_to_float(float_to_{short}({body}))"
    gradient: Rules = (lambda o, d, x: d.cast(x.dtype),) if wanted.is_float and found.is_float else ()
    return Elementwise(f"cast_{wanted}", body, wanted, gradient)


def _count(d: DType) -> DType:
    """Bools count as 0 and 1 in the smallest integers, as in NumPy."""
    return dtypes.int8 if d is bool_ else d


def _part_of(d: DType) -> DType:
    """The parts of complex numbers have 32 or 64 bits."""
    return dtypes.float32 if d.is_half or d.size < 4 else float_of(d)


def _complex_of(d: DType) -> DType:
    return dtypes.complex64 if d is dtypes.float32 else dtypes.complex128


Become = DType | Callable[[DType], DType] | None  # another dtype, one that follows from it, or the same
NEEDS_REAL = ("c", "needs real numbers")

# rule: (kinds of dtype that are refused, and why; what the inputs become; what the output becomes)
RULES: dict[str, tuple[tuple[str, str], Become, Become]] = {
    "same": (("", ""), None, None),
    "number": (("b", "does not know bools (as in NumPy)"), None, None),
    "power": (("", ""), _count, None),
    "count": (NEEDS_REAL, _count, None),
    "real": (NEEDS_REAL, None, None),
    "round": (NEEDS_REAL, lambda d: float_of(d) if d is bool_ else d, None),
    "ordered": (("c", "needs numbers that have an order"), None, None),
    "float": (("", ""), float_of, None),
    "float_real": (NEEDS_REAL, float_of, None),
    "divide": (("", ""), lambda d: d if d.is_float else dtypes.float64, None),
    "compare": (("", ""), None, bool_),
    "logic": (("", ""), bool_, None),
    "bits": (("fc", "works on the bits of whole numbers"), None, None),
    "whole": (("fc", "works on whole numbers"), _count, None),
    "integer": (("bfc", "works on integers (as in NumPy)"), None, None),
    "bit_count": (("fc", "works on the bits of whole numbers"), None, dtypes.uint8),
    "test_real": (NEEDS_REAL, None, bool_),
    "exponent": (NEEDS_REAL, float_of, dtypes.int32),
    "angle": (("", ""), float_of, real_of),
    "complex": (("c", "needs the real and the imaginary part as real numbers"), _part_of, _complex_of),
    "test": (("", ""), None, bool_),
    "magnitude": (("", ""), None, real_of),
    "part": (("", ""), None, real_of),
    "select": (("", ""), None, None),
}


@cache
def meet(op: Elementwise, *dtypes: DType) -> tuple[DType, DType]:
    """What the inputs of `op` are cast to, and the dtype of its output.

    Example:
        >>> from jt_edu.base.dtypes import float32, int32
        >>> meet(ADD, int32, float32), meet(LESS, int32, int32), meet(EXP, int32)
        ((jt.float64, jt.float64), (jt.int32, jt.bool), (jt.float64, jt.float64))
    """
    if op.rule not in RULES:  # the dtype itself: casts and random bits
        return dtypes[0], as_dtype(op.rule)
    common = dtypes[0]
    for d in dtypes[1:]:
        common = common if d is common else promote(common, d)
    (refused, why), become, answer = RULES[op.rule]
    if common.kind in refused:
        raise DtypeError(f"{op.name} {why}", f"dtype {common}", hints.OF_A_KIND[common.kind])
    if op.bodies.get(common.kind) == "":
        raise DtypeError(f"{op.name} compares by size", f"dtype {common}", "compare x.real or x.abs()")
    inputs = become if isinstance(become, DType) else become(common) if become else common
    return inputs, answer if isinstance(answer, DType) else answer(inputs) if answer else inputs
