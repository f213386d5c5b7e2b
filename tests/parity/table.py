"""The table: each function beside its NumPy twin and its PyTorch twin, with the shapes and dtypes it is asked about.

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
    orders: int = 2  # how many orders of its gradients have a meaning
    layouts: bool = True  # inputs may be transposed, sliced and flipped as well


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
        ("sign", jt.sign, np.sign, lambda t, z: t.sgn(z) if z.is_complex() else t.sign(z), NUMBERS, "any", 1),
        ("abs", jt.abs, np.abs, _t("abs"), EVERY, "any", 1),
        ("absolute", jt.absolute, np.abs, None, EVERY, "odd", 1),
        ("isnan", jt.isnan, np.isnan, None, EVERY, "odd", 1),
        ("isinf", jt.isinf, np.isinf, None, EVERY, "odd", 1),
        ("isfinite", jt.isfinite, np.isfinite, None, EVERY, "odd", 1),
        ("logical_not", jt.logical_not, np.logical_not, None, EVERY, "few", 1),
        ("real", jt.real, np.real, _t("real"), EVERY, "any", 1),
        ("imag", jt.imag, np.imag, lambda t, z: t.imag(z) if z.is_complex() else z * 0, EVERY, "any", 1),
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
        ("clamp below", lambda x: jt.clamp(x, 0), lambda x: np.maximum(x, x.dtype.type(0)), _t("clamp", 0), REALS,
         "any", 1),
        ("clamp above", lambda x: jt.clamp(x, max_v=3), lambda x: np.minimum(x, x.dtype.type(3)), None, REALS, "any",
         1),
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
        ("ternary", jt.ternary, np.where, None, EVERY, "odd"),
        ("masked_fill", lambda c, x, y: jt.masked_fill(x * y, c != 0, 1),
         lambda c, x, y: np.where(c != 0, 1, x * y).astype((x * y).dtype), None, EVERY, "few"),
    )
)  # fmt: skip
ELEMENTWISE = UNARY + ODD + BINARY + TERNARY

# ------------------------------------------------------------------------------------------------------- reductions
# ours and NumPy's take (x, axes, keepdims); argmax and argmin one axis or none


def _ours(name, **options):
    return lambda x, axes, keep: getattr(jt, name)(x, axes, keep, **options)


def _numpy(function, **options):
    return lambda x, axes, keep: function(x, axis=axes, keepdims=keep, **options)


def _norm(p):
    """NumPy's vector norm along axes."""

    def norm(x, axes, keep):
        size = np.abs(x)
        kind = size.dtype if size.dtype.kind == "f" else np.float64
        if p in (np.inf, -np.inf):
            return (np.max if p > 0 else np.min)(size, axis=axes, keepdims=keep)
        powers = (size != 0).astype(kind) if p == 0 else size.astype(kind) ** p
        total = np.sum(powers, axis=axes, keepdims=keep)
        return (total ** (1 / p) if p else total).astype(kind)

    return norm


def _logsumexp(x, axes, keep):
    top = np.max(x, axis=axes, keepdims=True)
    total = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
    return total if keep else total.reshape(np.sum(x, axis=axes).shape)


REDUCTIONS = tuple(
    Row(name, ours, numpy, None, (), dtypes, domain, loose)
    for name, ours, numpy, dtypes, domain, loose in (
        ("sum", _ours("sum"), _numpy(np.sum), EVERY, "any", 4),
        ("prod", _ours("prod"), _numpy(np.prod), EVERY, "unit", 4),
        ("prod with zeros", _ours("prod"), _numpy(np.prod), EVERY, "few", 4),
        ("mean", _ours("mean"), _numpy(np.mean), EVERY, "any", 4),
        ("max", _ours("max"), _numpy(np.max), NO_COMPLEX, "any", 1),
        ("max of odd numbers", _ours("max"), _numpy(np.max), REAL_FLOATS, "odd", 1),
        ("min", _ours("min"), _numpy(np.min), NO_COMPLEX, "any", 1),
        ("min of odd numbers", _ours("min"), _numpy(np.min), REAL_FLOATS, "odd", 1),
        ("any", _ours("any"), _numpy(np.any), EVERY, "few", 1),
        ("any of odd numbers", _ours("any"), _numpy(np.any), FLOATING, "odd", 1),
        ("all", _ours("all"), _numpy(np.all), EVERY, "few", 1),
        ("var", _ours("var"), _numpy(np.var), NUMBERS, "any", 4),
        ("unbiased var", _ours("var", unbiased=True), _numpy(np.var, ddof=1), FLOATS, "any", 4),
        ("std", _ours("std"), _numpy(np.std), NUMBERS, "any", 4),
        ("logsumexp", _ours("logsumexp"), _logsumexp, FLOATS, "any", 4),
        ("norm", lambda x, axes, keep: jt.norm(x, 2, axes, keep), _norm(2), FLOATING, "any", 4),
        ("norm of order 1", lambda x, axes, keep: jt.norm(x, 1, axes, keep), _norm(1), FLOATS, "any", 4),
        ("norm of order 3", lambda x, axes, keep: jt.norm(x, 3, axes, keep), _norm(3), FLOATS, "any", 4),
        ("norm of order 0", lambda x, axes, keep: jt.norm(x, 0, axes, keep), _norm(0), FLOATS, "few", 4),
        ("norm of order inf", lambda x, axes, keep: jt.norm(x, np.inf, axes, keep), _norm(np.inf), FLOATS, "any", 1),
        ("norm of order -inf", lambda x, axes, keep: jt.norm(x, -np.inf, axes, keep), _norm(-np.inf), FLOATS, "any", 1),
    )
)  # fmt: skip

POSITIONS = (
    Row("argmax", jt.argmax, _numpy(np.argmax), None, (), NO_COMPLEX, "few"),
    Row("argmin", jt.argmin, _numpy(np.argmin), None, (), NO_COMPLEX, "few"),
    Row("argmax of odd numbers", jt.argmax, _numpy(np.argmax), None, (),
        REAL_FLOATS, "odd"),
    Row("argmin of odd numbers", jt.argmin, _numpy(np.argmin), None, (),
        REAL_FLOATS, "odd"),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ views


def _tile_widths(widths, value=0):
    """NumPy's pad and crop for PyTorch's widths: pairs from the last axis on, negative ones cut."""

    def pad(x):
        pairs = [(0, 0)] * x.ndim
        for k in range(len(widths) // 2):
            pairs[-1 - k] = (widths[2 * k], widths[2 * k + 1])
        grown = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)
        return grown[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, grown.shape, strict=True))]

    return pad


def _t_pad(widths, value=0):
    return lambda t, x: t.nn.functional.pad(x, widths, value=value)


VIEWS = tuple(
    Row(name, ours, numpy, torch, tuple((s,) for s in shapes), ("int64",))
    for name, ours, numpy, torch, shapes in (
        ("reshape to one axis", lambda x: x.reshape(-1), lambda x: x.reshape(-1), lambda t, x: x.reshape(-1),
         [(), (3,), (2, 3), (2, 0)]),
        ("reshape to more axes", lambda x: x.reshape(2, -1, 2), lambda x: x.reshape(2, -1, 2),
         lambda t, x: x.reshape(2, -1, 2), [(8,), (4, 3), (2, 3, 4)]),
        ("reshape by a tuple", lambda x: jt.reshape(x, (6, 1)), lambda x: x.reshape(6, 1), None,
         [(6,), (2, 3), (3, 1, 2)]),
        ("view", lambda x: x.view(3, 2), lambda x: x.reshape(3, 2), None, [(6,), (2, 3)]),
        ("reshape of nothing", lambda x: x.reshape(0, 5), lambda x: x.reshape(0, 5), None, [(0,), (2, 0)]),
        ("flatten", jt.flatten, lambda x: x.reshape(-1), lambda t, x: x.flatten(), [(), (3,), (2, 3, 2), (0, 2)]),
        ("flatten some axes", lambda x: x.flatten(1, 2), lambda x: x.reshape(x.shape[0], -1, *x.shape[3:]), None,
         [(2, 3, 2), (2, 3, 2, 2)]),
        ("permute", lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1), lambda t, x: x.permute(2, 0, 1),
         [(2, 3, 4), (1, 0, 2)]),
        ("permute by negative axes", lambda x: jt.permute(x, (-1, 0, -2)), lambda x: x.transpose(2, 0, 1), None,
         [(2, 3, 4)]),
        ("transpose two axes", lambda x: x.transpose(0, -1), lambda x: np.swapaxes(x, 0, -1),
         lambda t, x: x.transpose(0, -1), [(2, 3), (2, 3, 4), (1, 2, 3, 2)]),
        ("transpose all", jt.transpose, np.transpose, None, [(), (3,), (2, 3), (2, 3, 4)]),
        ("x.T", lambda x: x.T, lambda x: x.T, None, [(), (3,), (2, 3), (2, 3, 4)]),
        ("x.t()", lambda x: x.t(), lambda x: x.T, None, [(3,), (2, 3)]),
        ("unsqueeze", lambda x: x.unsqueeze(0), lambda x: x[None], lambda t, x: x.unsqueeze(0),
         [(), (3,), (2, 3), (0,)]),
        ("unsqueeze at the end", lambda x: jt.unsqueeze(x, -1), lambda x: x[..., None], None, [(), (3,), (2, 3)]),
        ("squeeze", jt.squeeze, np.squeeze, lambda t, x: x.squeeze(), [(), (1,), (1, 3, 1), (2, 3)]),
        ("squeeze one axis", lambda x: x.squeeze(-2), lambda x: x.squeeze(-2), None, [(3, 1, 2), (1, 2)]),
        ("expand", lambda x: x.expand(2, -1, 3), lambda x: np.broadcast_to(x, (2, x.shape[-2], 3)),
         lambda t, x: x.expand(2, -1, 3), [(4, 1), (4, 3), (1, 2, 1)]),
        ("expand_as", lambda x: x.expand_as(jt.ones((4, 2, 3))), lambda x: np.broadcast_to(x, (4, 2, 3)), None,
         [(3,), (2, 1)]),
        ("broadcast along new axes", lambda x: jt.broadcast(x, (3, 2, 4), [1]),
         lambda x: np.broadcast_to(x[:, None], (3, 2, 4)), None, [(3, 4), (1, 4)]),
        ("broadcast to the shape of another", lambda x: x.broadcast(jt.ones((2, 3))),
         lambda x: np.broadcast_to(x, (2, 3)), None, [(3,), (1, 1), ()]),
        ("flip", jt.flip, np.flip, lambda t, x: x.flip(tuple(range(x.ndim))), [(3,), (2, 3), (2, 1, 3), (0, 2)]),
        ("flip one axis", lambda x: x.flip(-1), lambda x: np.flip(x, -1), lambda t, x: x.flip(-1), [(3,), (2, 3)]),
        ("flip two axes", lambda x: x.flip((0, 2)), lambda x: np.flip(x, (0, 2)), lambda t, x: x.flip(0, 2),
         [(2, 3, 4)]),
        ("repeat", lambda x: x.repeat(2, 3), lambda x: np.tile(x, (2, 3)), lambda t, x: x.repeat(2, 3), [(2,), (2, 3)]),
        ("repeat onto new axes", lambda x: x.repeat(2, 1, 2), lambda x: np.tile(x, (2, 1, 2)),
         lambda t, x: x.repeat(2, 1, 2), [(3,), (2, 3)]),
        ("repeat no time", lambda x: x.repeat(0), lambda x: np.tile(x, 0), None, [(3,), (2, 3)]),
        ("repeat nothing", lambda x: jt.repeat(x, 3), lambda x: np.tile(x, 3), None, [(0,), (2, 0)]),
        ("pad", lambda x: x.pad((1, 2)), _tile_widths((1, 2)), _t_pad((1, 2)), [(3,), (2, 3), (0,)]),
        ("pad two axes", lambda x: jt.pad(x, (1, 0, 0, 2), value=7), _tile_widths((1, 0, 0, 2), 7),
         _t_pad((1, 0, 0, 2), 7), [(2, 3), (2, 2, 2)]),
        ("crop by padding", lambda x: x.pad((-1, -1)), _tile_widths((-1, -1)), _t_pad((-1, -1)), [(4,), (2, 5)]),
        ("crop and pad", lambda x: x.pad((2, -1, -1, 3), value=-5), _tile_widths((2, -1, -1, 3), -5),
         _t_pad((2, -1, -1, 3), -5), [(3, 4)]),
        ("concat", lambda x: jt.concat([x, x * 2, x]), lambda x: np.concatenate([x, x * 2, x]), None,
         [(2,), (2, 3), (0, 2)]),
        ("concat along the last axis", lambda x: jt.concat([x, x[..., :1]], -1),
         lambda x: np.concatenate([x, x[..., :1]], -1),
         lambda t, x: t.cat([x, x[..., :1]], -1), [(2,), (2, 3), (2, 1, 2)]),
        ("concat of one", lambda x: jt.concat([x]), lambda x: x, None, [(3,), (0,)]),
        ("concat with nothing", lambda x: jt.concat([x[:0], x, x[:0]]), lambda x: x, None, [(3,), (2, 2)]),
        ("concat of five", lambda x: jt.concat([x + k for k in range(5)], 1),
         lambda x: np.concatenate([x + k for k in range(5)], 1), None, [(2, 3), (2, 1, 2)]),
        ("stack", lambda x: jt.stack([x, -x]), lambda x: np.stack([x, -x]), lambda t, x: t.stack([x, -x]),
         [(), (3,), (2, 3)]),
        ("stack along the last axis", lambda x: jt.stack([x, x * x, x], -1), lambda x: np.stack([x, x * x, x], -1),
         lambda t, x: t.stack([x, x * x, x], -1), [(), (3,), (2, 3)]),
        ("split", lambda x: x.split(2)[1], lambda x: np.split(x, [2, 4])[1], lambda t, x: x.split(2)[1],
         [(5,), (4, 2)]),
        ("split by sizes", lambda x: jt.split(x, [1, 0, 2], 1)[2], lambda x: x[:, 1:3],
         lambda t, x: x.split([1, 0, 2], 1)[2], [(2, 3), (1, 3, 2)]),
        ("split off nothing", lambda x: jt.split(x, [1, 0, 2], 1)[1], lambda x: x[:, 1:1], None, [(2, 3)]),
        ("chunk", lambda x: jt.chunk(x, 3)[-1], lambda x: np.array_split(x, [2, 4])[-1], lambda t, x: x.chunk(3)[-1],
         [(5,), (6, 2)]),
        ("a view of a view", lambda x: x.flip(0).transpose(0, 1)[1:, ::-1].reshape(-1),
         lambda x: np.flip(x, 0).T[1:, ::-1].reshape(-1),
         lambda t, x: x.flip(0).transpose(0, 1)[1:].flip(1).reshape(-1), [(2, 3), (4, 2)]),
    )
)  # fmt: skip

# --------------------------------------------------------------------------------------------------------- brackets
# a key is the same for both libraries; where one is an array, we are asked a second time with a Var in its place

_ = slice(None)
KEYS = tuple(
    (sentence, key, shape)
    for shape, keys in {
        (5,): (
            ("one element", 2), ("one from the end", -1), ("a slice", slice(1, 4)),
            ("a slice to the end", slice(2, None)),
            ("every second", slice(None, None, 2)), ("every third from the second", slice(1, None, 3)),
            ("backwards", slice(None, None, -1)), ("backwards by two", slice(None, None, -2)),
            ("backwards from the middle", slice(3, 0, -1)), ("a slice beyond the end", slice(3, 100)),
            ("a slice of nothing", slice(3, 1)), ("a slice from the end", slice(-3, -1)), ("everything", ...),
            ("a new axis", None),
            ("no index at all", ()), ("a list", [0, 2, 2]), ("an array", np.array([[0, -1], [4, 2]])),
            ("an empty list", []),
            ("small integers", np.array([3, 1], np.int8)), ("unsigned ones", np.array([3, 1], np.uint8)),
            ("a mask", np.array([True, False, True, True, False])), ("a mask of nothing", np.zeros(5, bool)),
            ("a 0-d array", np.array(3)), ("True", True), ("False", False),
        ),
        (4, 3): (
            ("a row", 1), ("a column", (_, -1)), ("a number twice", (2, 1)),
            ("slices", (slice(1, 3), slice(None, None, 2))),
            ("a number and backwards", (-2, slice(None, None, -1))), ("dots", (..., 1)), ("dots in front", (1, ...)),
            ("a new axis in the middle", (_, None, 1)), ("new axes around", (None, ..., None)),
            ("dots for nothing", (1, ..., 2)),
            ("an array of rows", np.array([3, 0, 0])), ("an array of columns", (_, np.array([2, 0]))),
            ("two arrays", (np.array([0, 3]), np.array([1, 2]))),
            ("two arrays that broadcast", (np.array([[0], [3]]), np.array([1, 2]))),
            ("a number and an array", (1, np.array([2, 2, 0]))), ("an array and a number", (np.array([-1, 1]), 0)),
            ("a slice and an array", (slice(None, None, 2), np.array([[1, 0]]))),
            ("an array and a slice", (np.array([1, 1]), slice(0, 2))),
            ("an array and a new axis", (np.array([1, 2]), None)),
            ("a new axis and an array", (None, np.array([1, 2]))),
            ("a mask of all", np.arange(12).reshape(4, 3) % 5 == 0),
            ("a mask of rows", np.array([True, False, False, True])),
            ("a mask of columns", (_, np.array([True, False, True]))),
            ("a mask and an array", (np.array([True, False, True, False]), np.array([1, 2]))),
            ("an array of nothing", np.zeros((0,), np.int64)), ("an array of 1", np.array([2])),
            ("arrays of 1 and 3", (np.array([2]), np.array([0, 1, 2]))),
        ),
        (2, 3, 4): (
            ("numbers at both ends", (1, _, -2)),
            ("steps everywhere", (slice(None, None, -1), slice(0, 3, 2), slice(None, None, -3))),
            ("dots and a step", (..., slice(None, None, 2))),
            ("an array in the middle", (_, np.array([2, 0]), slice(1, 3))),
            ("arrays apart", (np.array([0, 1]), _, np.array([3, 1]))),
            ("arrays together", (_, np.array([0, 1]), np.array([3, 1]))),
            ("arrays apart by a number", (np.array([0, 1]), 2, np.array([3, 1]))),
            ("a number and an array apart", (0, _, np.array([3, 1]))),
            ("arrays apart by a new axis", (np.array([0, 1]), None, np.array([2, 1]))),
            ("an array after dots", (..., np.array([[0, 3]]))),
            ("a mask of two axes", np.arange(6).reshape(2, 3) % 2 == 0),
            ("a mask at the end", (1, np.arange(12).reshape(3, 4) % 3 == 0)),
            ("three arrays", (np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([[3], [0]]))),
            ("a new axis and a step", (None, slice(None, None, 2), ..., slice(3, None, -2))),
        ),
        (0, 3): (("a slice of nothing", slice(0, 2)), ("a column of nothing", (_, 1)),
         ("nothing backwards", slice(None, None, -1)),
                 ("an array of nothing of nothing", np.zeros((0,), np.int64))),
        (): (("dots of 0-d", ...), ("a new axis of 0-d", None), ("no index of 0-d", ()), ("True of 0-d", True),
         ("False of 0-d", False)),
    }.items()
    for sentence, key in keys
)  # fmt: skip

# --------------------------------------------------------------------------------------------------------- products


MATMUL = Row(
    "matmul", jt.matmul, np.matmul, _t("matmul"),
    (
        ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((4, 1), (1, 5)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (3, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 4)),
    ), EVERY, "any", 8,
)  # fmt: skip

CONV = tuple(
    # (sentence, image, weight, with a bias, options)
    (sentence, x, w, bias, options)
    for sentence, x, w, bias, options in (
        ("one tap", (2, 3, 4, 4), (2, 3, 1, 1), False, {}),
        ("three taps", (1, 2, 5, 4), (3, 2, 3, 3), True, {}),
        ("padding", (1, 2, 3, 3), (2, 2, 3, 3), True, {"padding": 1}),
        (
            "uneven everything",
            (1, 2, 5, 6),
            (2, 2, 2, 3),
            False,
            {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)},
        ),
        ("stride", (2, 1, 5, 5), (2, 1, 2, 2), True, {"stride": 2}),
        ("stride longer than the window", (1, 1, 6, 6), (1, 1, 1, 2), False, {"stride": 3}),
        ("dilation", (1, 1, 5, 5), (2, 1, 3, 2), False, {"dilation": 2}),
        ("groups", (2, 4, 3, 3), (6, 2, 2, 2), True, {"groups": 2}),
        ("depthwise", (1, 3, 4, 4), (3, 1, 3, 3), False, {"groups": 3, "padding": 1}),
        ("depthwise with a multiplier", (1, 2, 3, 3), (4, 1, 2, 2), False, {"groups": 2, "stride": 2, "padding": 1}),
        ("a window as large as the image", (2, 2, 3, 3), (1, 2, 3, 3), True, {}),
        ("an empty batch", (0, 2, 3, 3), (2, 2, 2, 2), False, {}),
    )
)

POOL = tuple(
    (sentence, shape, options)
    for sentence, shape, options in (
        ("two by two", (2, 2, 4, 4), {"kernel_size": 2}),
        ("overlapping", (1, 2, 5, 5), {"kernel_size": 3, "stride": 1}),
        ("padding", (1, 1, 4, 5), {"kernel_size": 3, "stride": 2, "padding": 1}),
        ("uneven", (1, 2, 5, 4), {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)}),
        ("rounded up", (1, 1, 5, 5), {"kernel_size": 2, "ceil_mode": True}),
        ("rounded up with padding", (1, 1, 6, 5), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
        ("rounded up, last window outside", (1, 1, 4, 4), {"kernel_size": 1, "stride": 3, "ceil_mode": True}),
        ("one element", (1, 1, 1, 1), {"kernel_size": 1}),
    )
)

LOSSES = tuple(
    # (sentence, scores, target, options); a weight is there or not, and -1 is the number that is ignored
    (sentence, shape, target, options)
    for sentence, shape, target, options in (
        ("plain", (3, 4), [0, 3, 1], {}),
        ("summed", (3, 4), [0, 3, 1], {"reduction": "sum"}),
        ("not reduced", (3, 4), [0, 3, 1], {"reduction": "none"}),
        ("weighted", (3, 4), [0, 3, 1], {"weight": True}),
        ("weighted and summed", (3, 4), [0, 3, 1], {"weight": True, "reduction": "sum"}),
        ("weighted and not reduced", (3, 4), [0, 3, 3], {"weight": True, "reduction": "none"}),
        ("with some ignored", (3, 4), [0, -1, 1], {"ignore_index": -1}),
        ("with a class ignored", (3, 4), [0, 2, 2], {"ignore_index": 2}),
        ("with some ignored and not reduced", (3, 4), [-1, -1, 1], {"ignore_index": -1, "reduction": "none"}),
        ("weighted with some ignored", (3, 4), [-1, 2, 1], {"ignore_index": -1, "weight": True}),
        ("with all ignored and summed", (2, 3), [-100, -100], {"reduction": "sum"}),
        ("over an image", (2, 3, 2, 2), [[[0, 1], [2, 2]], [[1, 1], [0, 2]]], {}),
        ("over an image, weighted, some ignored", (2, 3, 2), [[0, -100], [2, 1]], {"weight": True}),
        ("one example, one class", (1, 1), [0], {}),
    )
)
SMOOTHING = (0.0, 0.1, 1.0)
