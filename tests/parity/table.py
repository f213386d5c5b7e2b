"""The table: each function beside its NumPy twin and its PyTorch twin, with the shapes and dtypes that it is asked about.

    Row(sentence, ours, NumPy's, PyTorch's, shapes of the inputs, dtypes, domain of the numbers)

`t` is the torch module. Where PyTorch has no twin, or spells it as we do, the place is None.
"""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import jt_edu as jt
from tests.parity.inputs import BOOL, COMPLEX, EVERY, FLOATS, HALVES, NUMBERS, REALS, WHOLE


class Row(NamedTuple):
    """One function, and whom to ask whether it is right."""

    name: str
    ours: Callable[..., Any]
    numpy: Callable[..., Any] | None
    torch: Callable[..., Any] | None
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    dtypes: tuple[str, ...]
    domain: str = "any"
    loose: float = 1.0  # so many times the usual error


ONE = (((),), ((0,),), ((1,),), ((5,),), ((3, 4),), ((2, 0, 3),), ((2, 1, 3, 2),))
TWO = (
    ((), ()), ((3,), ()), ((), (2, 2)), ((3, 1), (1, 4)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((0, 3), (1, 3)),
    ((1,), (0,)), ((2, 1, 3), (4, 1)),
)  # fmt: skip
THREE = (((3,), (3,), (3,)), ((2, 1), (3,), ()), ((), (2, 3), (1,)), ((0,), (1,), (0,)))

FLOATING = (*HALVES, *FLOATS, *COMPLEX)
REAL_FLOATS = (*HALVES, *FLOATS)
NO_COMPLEX = (*BOOL, *REALS)


def _as_float(function):
    """A twin of SciPy, which knows only float32 and float64: its answer in the dtype that NumPy's exp has."""
    return lambda x: np.asarray(function(x)).astype(np.exp(np.zeros(1, x.dtype)).dtype)


def _on_floats(function):
    """A twin made of several steps, on the dtype that NumPy's exp has."""
    return lambda x: function(x.astype(np.exp(np.zeros(1, x.dtype)).dtype))


def _t(name, *rest):
    """PyTorch's function of that name."""
    return lambda t, *xs: getattr(t, name)(*xs, *rest)


def _f(name, **options):
    """A function of torch.nn.functional."""
    return lambda t, *xs: getattr(t.nn.functional, name)(*xs, **options)


UNARY = tuple(
    Row(name, ours, numpy, torch, ONE, dtypes, domain, loose)
    for name, ours, numpy, torch, dtypes, domain, loose in (
        ("exp", jt.exp, np.exp, _t("exp"), EVERY, "any", 1),
        ("expm1", jt.expm1, np.expm1, _t("expm1"), EVERY, "any", 1),
        ("log", jt.log, np.log, _t("log"), EVERY, "positive", 1),
        ("log1p", jt.log1p, np.log1p, _t("log1p"), EVERY, "positive", 1),
        ("log2", jt.log2, np.log2, _t("log2"), EVERY, "positive", 1),
        ("sqrt", jt.sqrt, np.sqrt, _t("sqrt"), EVERY, "positive", 1),
        ("rsqrt", jt.rsqrt, lambda x: 1 / np.sqrt(x), _t("rsqrt"), EVERY, "positive", 1),
        ("sigmoid", jt.sigmoid, _on_floats(lambda x: 1 / (1 + np.exp(-x))), _t("sigmoid"), EVERY, "any", 1),
        ("erf", jt.erf, _as_float(scipy.special.erf), _t("erf"), NO_COMPLEX, "any", 1),
        ("erfinv", jt.erfinv, _as_float(scipy.special.erfinv), _t("erfinv"), REAL_FLOATS, "unit", 4),
        ("sin", jt.sin, np.sin, _t("sin"), EVERY, "any", 1),
        ("cos", jt.cos, np.cos, _t("cos"), EVERY, "any", 1),
        ("tan", jt.tan, np.tan, _t("tan"), EVERY, "unit", 1),
        ("asin", jt.asin, np.arcsin, _t("asin"), EVERY, "unit", 1),
        ("acos", jt.acos, np.arccos, _t("acos"), EVERY, "unit", 1),
        ("atan", jt.atan, np.arctan, _t("atan"), EVERY, "any", 1),
        ("sinh", jt.sinh, np.sinh, _t("sinh"), EVERY, "any", 1),
        ("cosh", jt.cosh, np.cosh, _t("cosh"), EVERY, "any", 1),
        ("tanh", jt.tanh, np.tanh, _t("tanh"), EVERY, "any", 1),
        ("asinh", jt.asinh, np.arcsinh, _t("asinh"), EVERY, "any", 1),
        ("acosh", jt.acosh, np.arccosh, _t("acosh"), EVERY, "above", 1),
        ("atanh", jt.atanh, np.arctanh, _t("atanh"), EVERY, "unit", 1),
        ("floor", jt.floor, np.floor, _t("floor"), REALS, "any", 1),
        ("ceil", jt.ceil, np.ceil, _t("ceil"), REALS, "any", 1),
        ("trunc", jt.trunc, np.trunc, _t("trunc"), REALS, "any", 1),
        ("round", jt.round, np.round, _t("round"), REALS, "any", 1),
        ("sign", jt.sign, np.sign, _t("sgn"), NUMBERS, "any", 1),
        ("abs", jt.abs, np.abs, _t("abs"), EVERY, "any", 1),
        ("absolute", jt.absolute, np.abs, None, EVERY, "odd", 1),
        ("isnan", jt.isnan, np.isnan, None, EVERY, "odd", 1),
        ("isinf", jt.isinf, np.isinf, None, EVERY, "odd", 1),
        ("isfinite", jt.isfinite, np.isfinite, None, EVERY, "odd", 1),
        ("logical_not", jt.logical_not, np.logical_not, None, EVERY, "few", 1),
        ("real", jt.real, np.real, _t("real"), EVERY, "any", 1),
        ("imag", jt.imag, np.imag, _t("imag"), EVERY, "any", 1),
        ("x.conj()", lambda x: x.conj(), np.conj, None, NUMBERS, "any", 1),
        ("negative", operator.neg, operator.neg, _t("neg"), NUMBERS, "any", 1),
        ("positive", operator.pos, operator.pos, None, NUMBERS, "any", 1),
        ("invert", operator.invert, operator.invert, None, (*BOOL, *WHOLE), "any", 1),
        ("sqr", jt.sqr, np.square, _t("square"), NUMBERS, "any", 1),
        ("relu", jt.relu, lambda x: np.maximum(x, x.dtype.type(0)), _t("relu"), REALS, "any", 1),
        ("leaky_relu", lambda x: jt.leaky_relu(x, 0.25), lambda x: np.where(x > 0, x, x * x.dtype.type(0.25)),
         _f("leaky_relu", negative_slope=0.25), REAL_FLOATS, "any", 1),
        ("silu", jt.silu, _on_floats(lambda x: x / (1 + np.exp(-x))), _f("silu"), REAL_FLOATS, "any", 1),
        ("gelu", jt.gelu, _as_float(lambda x: x * scipy.special.ndtr(x)), _f("gelu"), REAL_FLOATS, "any", 4),
        ("gelu by tanh", lambda x: jt.gelu(x, "tanh"), None, _f("gelu", approximate="tanh"), FLOATS, "any", 4),
        ("softplus", jt.softplus, _on_floats(lambda x: np.logaddexp(x, x.dtype.type(0))), _f("softplus"), REAL_FLOATS,
         "any", 1),
        ("clamp below", lambda x: jt.clamp(x, 0), lambda x: np.maximum(x, x.dtype.type(0)), _t("clamp", 0), REALS, "any", 1),
        ("clamp above", lambda x: jt.clamp(x, max_v=3), lambda x: np.minimum(x, x.dtype.type(3)), None, REALS, "any", 1),
        ("clamp both ways", lambda x: x.clamp(1, 3), lambda x: np.clip(x, 1, 3), _t("clamp", 1, 3), REALS, "any", 1),
        ("clip", lambda x: jt.clip(x, 0, 1), lambda x: np.clip(x, 0, 1), None, REALS, "odd", 1),
        ("copy", jt.copy, np.copy, None, EVERY, "odd", 1),
        ("clone", jt.clone, np.copy, _t("clone"), EVERY, "any", 1),
    )
)  # fmt: skip

# infinities, nan, halves and signed zeros, where the usual domain is a narrower one
ODD = tuple(
    row._replace(name=f"{row.name} of odd numbers", domain="odd", dtypes=REAL_FLOATS, shapes=(((13,),), ((4, 5),)))
    for row in UNARY
    if row.numpy is not None and row.domain != "odd" and "float32" in row.dtypes
)

BINARY = tuple(
    Row(name, ours, numpy, torch, TWO, dtypes, domain)
    for name, ours, numpy, torch, dtypes, domain in (
        ("add", jt.add, np.add, _t("add"), EVERY, "any"),
        ("subtract", jt.subtract, np.subtract, _t("sub"), NUMBERS, "any"),
        ("multiply", jt.multiply, np.multiply, _t("mul"), EVERY, "any"),
        ("divide", jt.divide, np.divide, _t("div"), EVERY, "any"),
        ("divide by zero", jt.divide, np.divide, None, REALS, "few"),
        ("divide odd numbers", jt.divide, np.divide, None, REAL_FLOATS, "odd"),
        ("floor_divide", jt.floor_divide, np.floor_divide, None, REALS, "any"),
        ("floor_divide by zero", jt.floor_divide, np.floor_divide, None, REALS, "few"),
        ("floor_divide odd numbers", jt.floor_divide, np.floor_divide, None, REAL_FLOATS, "odd"),
        ("mod", jt.mod, np.mod, _t("remainder"), REALS, "any"),
        ("mod of zero", jt.mod, np.mod, None, REALS, "few"),
        ("mod of odd numbers", jt.mod, np.mod, None, REAL_FLOATS, "odd"),
        ("power", jt.power, np.power, _t("pow"), NUMBERS, "positive"),
        ("power of whole numbers", jt.power, np.power, None, NUMBERS, "small"),
        ("power of odd numbers", jt.power, np.power, None, REAL_FLOATS, "odd"),
        ("maximum", jt.maximum, np.maximum, _t("maximum"), NO_COMPLEX, "any"),
        ("maximum of odd numbers", jt.maximum, np.maximum, None, REAL_FLOATS, "odd"),
        ("minimum", jt.minimum, np.minimum, _t("minimum"), NO_COMPLEX, "any"),
        ("minimum of odd numbers", jt.minimum, np.minimum, None, REAL_FLOATS, "odd"),
        ("atan2", jt.atan2, np.arctan2, _t("atan2"), NO_COMPLEX, "any"),
        ("hypot", jt.hypot, np.hypot, _t("hypot"), NO_COMPLEX, "any"),
        ("logical_and", jt.logical_and, np.logical_and, None, EVERY, "few"),
        ("logical_or", jt.logical_or, np.logical_or, None, EVERY, "few"),
        ("logical_xor", jt.logical_xor, np.logical_xor, None, EVERY, "few"),
        ("x + y", operator.add, operator.add, None, EVERY, "odd"),
        ("x - y", operator.sub, operator.sub, None, NUMBERS, "odd"),
        ("x * y", operator.mul, operator.mul, None, (*BOOL, *REALS), "odd"),
        ("x / y", operator.truediv, operator.truediv, None, EVERY, "positive"),
        ("x // y", operator.floordiv, operator.floordiv, None, REALS, "positive"),
        ("x % y", operator.mod, operator.mod, None, REALS, "positive"),
        ("x ** y", operator.pow, operator.pow, None, NUMBERS, "small"),
        ("x == y", operator.eq, operator.eq, None, EVERY, "few"),
        ("x != y", operator.ne, operator.ne, None, EVERY, "odd"),
        ("x < y", operator.lt, operator.lt, None, NO_COMPLEX, "few"),
        ("x <= y", operator.le, operator.le, None, NO_COMPLEX, "odd"),
        ("x > y", operator.gt, operator.gt, None, NO_COMPLEX, "odd"),
        ("x >= y", operator.ge, operator.ge, None, NO_COMPLEX, "few"),
        ("x & y", operator.and_, operator.and_, None, (*BOOL, *WHOLE), "any"),
        ("x | y", operator.or_, operator.or_, None, (*BOOL, *WHOLE), "any"),
        ("x ^ y", operator.xor, operator.xor, None, (*BOOL, *WHOLE), "any"),
        ("x << y", operator.lshift, operator.lshift, None, WHOLE, "small"),
        ("x >> y", operator.rshift, operator.rshift, None, WHOLE, "small"),
        ("outer", jt.outer, lambda x, y: np.multiply.outer(x.ravel(), y.ravel()), None, EVERY, "any"),
    )
)  # fmt: skip

TERNARY = tuple(
    Row(name, ours, numpy, torch, THREE, dtypes, domain)
    for name, ours, numpy, torch, dtypes, domain in (
        ("where", lambda c, x, y: jt.where(c != 0, x, y), lambda c, x, y: np.where(c != 0, x, y), None, EVERY, "few"),
        ("ternary", lambda c, x, y: jt.ternary(c, x, y), lambda c, x, y: np.where(c, x, y), None, EVERY, "odd"),
        ("masked_fill", lambda c, x, y: jt.masked_fill(x * y, c != 0, 1), lambda c, x, y: np.where(c != 0, 1, x * y),
         None, EVERY, "few"),
    )
)  # fmt: skip
ELEMENTWISE = UNARY + ODD + BINARY + TERNARY
