"""Element functions of NumPy and PyTorch: signs, rounding, bits, comparisons, complex numbers, and their arguments."""

import operator

import numpy as np

import jt_edu as jt
from tests.parity.inputs import BOOL, COMPLEX, EVERY, FLOATS, HALVES, INTS, NUMBERS, REALS, UINTS, WHOLE
from tests.parity.table import ONE, THREE, TWO, Row

REAL_FLOATS = (*HALVES, *FLOATS)
FLOATING = (*REAL_FLOATS, *COMPLEX)
NO_COMPLEX = (*BOOL, *REALS)
WIDE = FLOATS  # where NumPy has no halves
BITS = (*BOOL, *WHOLE)
FEW = (((5,),), ((3, 4),), ((2, 0, 3),))


def _t(name, *rest, **options):
    """PyTorch's function of that name, here or in torch.special."""
    return lambda t, *xs: (getattr(t, name, None) or getattr(t.special, name))(*xs, *rest, **options)


def _rows(table, shapes=ONE, **options):
    """Rows of (name, ours, NumPy's, PyTorch's, dtypes, domain)."""
    return tuple(Row(n, ours, np_, torch, shapes, dtypes, domain, **options)
                 for n, ours, np_, torch, dtypes, domain in table)  # fmt: skip


def _floats(function):
    """A twin of several steps, on the dtype that NumPy's exp has."""
    return lambda *xs: function(*(x.astype(np.exp(np.zeros(1, x.dtype)).dtype) for x in xs))


def _clamp_of_one_shape(t, *xs):
    """PyTorch's gradient of a clamp fails where the bounds are broadcast."""
    return t.clamp(*t.broadcast_tensors(*xs))


def _rounded(decimals):
    return lambda x: (
        np.round(x.astype(np.float64), decimals).astype(x.dtype) if x.dtype.kind == "f" else np.round(x, decimals)
    )


SMOOTH = _rows((
    ("exp2", jt.exp2, np.exp2, _t("exp2"), EVERY, "any"),
    ("log10", jt.log10, np.log10, _t("log10"), EVERY, "positive"),
    ("cbrt", jt.cbrt, np.cbrt, None, NO_COMPLEX, "any"),
    ("square", jt.square, np.square, _t("square"), NUMBERS, "any"),
    ("reciprocal", jt.reciprocal, lambda x: 1 / x, _t("reciprocal"), NUMBERS, "positive"),
    ("negative", jt.negative, np.negative, _t("negative"), NUMBERS, "any"),
    ("neg", jt.neg, np.negative, _t("neg"), NUMBERS, "any"),
    ("positive", jt.positive, np.positive, _t("positive"), NUMBERS, "any"),
    ("deg2rad", jt.deg2rad, _floats(lambda x: x * (np.pi / 180)), _t("deg2rad"), NO_COMPLEX, "any"),
    ("rad2deg", jt.rad2deg, _floats(lambda x: x * (180 / np.pi)), _t("rad2deg"), NO_COMPLEX, "any"),
    ("radians", jt.radians, _floats(lambda x: x * (np.pi / 180)), _t("deg2rad"), REAL_FLOATS, "any"),
    ("degrees", jt.degrees, _floats(lambda x: x * (180 / np.pi)), _t("rad2deg"), REAL_FLOATS, "any"),
    ("arcsin", jt.arcsin, np.arcsin, _t("arcsin"), EVERY, "unit"),
    ("arccos", jt.arccos, np.arccos, _t("arccos"), EVERY, "unit"),
    ("arctan", jt.arctan, np.arctan, _t("arctan"), EVERY, "any"),
    ("arcsinh", jt.arcsinh, np.arcsinh, _t("arcsinh"), EVERY, "any"),
    ("arccosh", jt.arccosh, np.arccosh, _t("arccosh"), EVERY, "above"),
    ("arctanh", jt.arctanh, np.arctanh, _t("arctanh"), EVERY, "unit"),
    ("conj", jt.conj, np.conj, _t("conj_physical"), NUMBERS, "any"),
    ("conjugate", jt.conjugate, np.conjugate, _t("conj_physical"), NUMBERS, "any"),
    ("conj_physical", jt.conj_physical, np.conj, _t("conj_physical"), NUMBERS, "any"),
))  # fmt: skip

ROUNDING = _rows((
    ("rint", jt.rint, np.rint, _t("round"), NO_COMPLEX, "any"),
    ("fix", jt.fix, np.trunc, _t("fix"), REALS, "any"),
    ("round to 0 decimals", lambda x: jt.round(x, 0), np.round, _t("round"), REALS, "any"),
    ("round to 2 decimals", lambda x: jt.round(x, 2), _rounded(2), _t("round", decimals=2), REALS, "any"),
    ("round to tens", lambda x: jt.round(x * 7, decimals=-1),
     lambda x: _rounded(-1)(x * x.dtype.type(7)), lambda t, x: t.round(x * 7, decimals=-1), (*WHOLE, *FLOATS), "few"),
    ("round to hundreds", lambda x: jt.round(x * 50, -2), lambda x: np.round(x * 50, -2), None, ("int32", "int64"),
     "any"),
    ("round(x, 1)", lambda x: round(x, 1), _rounded(1), None, FLOATS, "any"),
    ("frac", jt.frac, lambda x: np.modf(x)[0], _t("frac"), REALS, "any"),
    ("the fraction of modf", lambda x: jt.modf(x)[0], lambda x: np.modf(x)[0], None, NO_COMPLEX, "any"),
    ("the whole of modf", lambda x: jt.modf(x)[1], lambda x: np.modf(x)[1], None, NO_COMPLEX, "any"),
    ("the mantissa of frexp", lambda x: jt.frexp(x)[0], lambda x: np.frexp(x)[0], lambda t, x: t.frexp(x)[0],
     NO_COMPLEX, "any"),
    ("the exponent of frexp", lambda x: jt.frexp(x)[1], lambda x: np.frexp(x)[1], lambda t, x: t.frexp(x)[1],
     NO_COMPLEX, "any"),
    ("ldexp by 3", lambda x: jt.ldexp(x, 3), lambda x: np.ldexp(x, 3), lambda t, x: t.ldexp(x, t.tensor(3)),
     NO_COMPLEX, "any"),
    ("spacing", jt.spacing, np.spacing, None, WIDE, "any"),
    ("spacing of halves", jt.spacing, np.spacing, None, ("float16", "float32"), "positive"),
    ("sgn", jt.sgn, np.sign, _t("sgn"), NUMBERS, "any"),
    ("signbit", jt.signbit, np.signbit, _t("signbit"), NO_COMPLEX, "any"),
), orders=1)  # fmt: skip

ASKING = _rows((
    ("isposinf", jt.isposinf, np.isposinf, _t("isposinf"), NO_COMPLEX, "odd"),
    ("isneginf", jt.isneginf, np.isneginf, _t("isneginf"), NO_COMPLEX, "odd"),
    ("isreal", jt.isreal, np.isreal, _t("isreal"), EVERY, "few"),
    ("iscomplex", jt.iscomplex, np.iscomplex, None, EVERY, "odd"),
    ("nan_to_num", jt.nan_to_num, np.nan_to_num, _t("nan_to_num"), ("int64", "float16", *FLOATS, *COMPLEX), "odd"),
    ("nan_to_num with a nan of 7", lambda x: jt.nan_to_num(x, 7.0), lambda x: np.nan_to_num(x, nan=7.0),
     _t("nan_to_num", 7.0), ("float16", *FLOATS, *COMPLEX), "odd"),
    ("nan_to_num with other infinities", lambda x: jt.nan_to_num(x, posinf=5, neginf=-4),
     lambda x: np.nan_to_num(x, posinf=5, neginf=-4), _t("nan_to_num", posinf=5, neginf=-4), REAL_FLOATS, "odd"),
    ("bitwise_not", jt.bitwise_not, np.bitwise_not, _t("bitwise_not"), BITS, "any"),
    ("bitwise_invert", jt.bitwise_invert, np.bitwise_invert, None, BITS, "any"),
    ("invert", jt.invert, np.invert, None, BITS, "any"),
    ("bitwise_count", jt.bitwise_count, np.bitwise_count, None, BITS, "any"),
    ("signbit of odd numbers", jt.signbit, np.signbit, _t("signbit"), REAL_FLOATS, "odd"),
    ("angle of odd numbers", jt.angle, np.angle, None, WIDE, "odd"),
    ("the fraction of modf of odd numbers", lambda x: jt.modf(x)[0], lambda x: np.modf(x)[0], None, WIDE, "odd"),
    ("the mantissa of frexp of odd numbers", lambda x: jt.frexp(x)[0], lambda x: np.frexp(x)[0], None, WIDE, "odd"),
    ("the exponent of frexp of odd numbers", lambda x: jt.frexp(x)[1], lambda x: np.frexp(x)[1], None, WIDE, "odd"),
    ("is_floating_point", lambda x: jt.array(jt.is_floating_point(x)),
     lambda x: np.bool_(x.dtype.kind == "f"), None, EVERY, "any"),
    ("is_complex", lambda x: jt.array(x.is_complex()), lambda x: np.bool_(x.dtype.kind == "c"), None, EVERY,
     "any"),
), FEW, orders=0)  # fmt: skip

TWO_NUMBERS = _rows((
    ("logaddexp", jt.logaddexp, np.logaddexp, _t("logaddexp"), NO_COMPLEX, "any"),
    ("logaddexp2", jt.logaddexp2, np.logaddexp2, _t("logaddexp2"), NO_COMPLEX, "any"),
    ("copysign", jt.copysign, np.copysign, _t("copysign"), NO_COMPLEX, "any"),
    ("fmod", jt.fmod, np.fmod, _t("fmod"), REALS, "positive"),
    ("remainder", jt.remainder, np.remainder, _t("remainder"), REALS, "positive"),
    ("the quotient of divmod", lambda x, y: jt.divmod(x, y)[0], lambda x, y: np.divmod(x, y)[0], None, REALS,
     "positive"),
    ("the rest of divmod", lambda x, y: divmod(x, y)[1], lambda x, y: np.divmod(x, y)[1], None, REALS, "positive"),
    ("float_power", jt.float_power, np.float_power, _t("float_power"), ("int32", *FLOATS, *COMPLEX), "positive"),
    ("div", jt.div, np.divide, _t("div"), EVERY, "positive"),
    ("true_divide", jt.true_divide, np.true_divide, _t("true_divide"), EVERY, "positive"),
    ("div towards 0", lambda x, y: jt.div(x, y, rounding_mode="trunc"),
     lambda x, y: np.trunc(x / y).astype(np.result_type(x, y)), _t("div", rounding_mode="trunc"), REALS, "positive"),
    ("div downwards", lambda x, y: x.div(y, rounding_mode="floor"), np.floor_divide, _t("div", rounding_mode="floor"),
     REALS, "positive"),
    ("sub", jt.sub, np.subtract, _t("sub"), NUMBERS, "any"),
    ("mul", jt.mul, np.multiply, _t("mul"), EVERY, "any"),
    ("pow", jt.pow, np.power, _t("pow"), FLOATING, "positive"),
    ("add of a multiple", lambda x, y: jt.add(x, y, alpha=3), lambda x, y: x + y * y.dtype.type(3),
     _t("add", alpha=3), NUMBERS, "any"),
    ("subtract of a multiple", lambda x, y: jt.subtract(x, y, alpha=2), lambda x, y: x - y * y.dtype.type(2),
     _t("sub", alpha=2), NUMBERS, "any"),
    ("fmax", jt.fmax, np.fmax, _t("fmax"), NO_COMPLEX, "any"),
    ("fmin", jt.fmin, np.fmin, _t("fmin"), NO_COMPLEX, "any"),
    ("arctan2", jt.arctan2, np.arctan2, _t("arctan2"), NO_COMPLEX, "any"),
    ("clamp from below by numbers of its own", jt.clamp_min, np.maximum, _t("clamp_min"), REALS, "any"),
    ("clamp from above by numbers of its own", jt.clamp_max, np.minimum, _t("clamp_max"), REALS, "any"),
    ("x.maximum", lambda x, y: x.maximum(y), np.maximum, _t("maximum"), NO_COMPLEX, "any"),
), TWO)  # fmt: skip

STEPS = _rows((
    ("heaviside", jt.heaviside, np.heaviside, lambda t, x, y: t.heaviside(x.detach(), y.detach()), NO_COMPLEX, "few"),
    ("heaviside of odd numbers", jt.heaviside, np.heaviside, None, REAL_FLOATS, "odd"),
    ("nextafter", jt.nextafter, np.nextafter, _t("nextafter"), ("float16", *FLOATS), "any"),
    ("nextafter of odd numbers", jt.nextafter, np.nextafter, _t("nextafter"), WIDE, "odd"),
    ("copysign of odd numbers", jt.copysign, np.copysign, _t("copysign"), REAL_FLOATS, "odd"),
    ("fmax of odd numbers", jt.fmax, np.fmax, _t("fmax"), REAL_FLOATS, "odd"),
    ("fmin of odd numbers", jt.fmin, np.fmin, _t("fmin"), REAL_FLOATS, "odd"),
    ("fmod of odd numbers", jt.fmod, np.fmod, None, WIDE, "odd"),
    ("fmod by zero", jt.fmod, np.fmod, None, REALS, "few"),
    ("logaddexp of odd numbers", jt.logaddexp, np.logaddexp, _t("logaddexp"), WIDE, "odd"),
    ("logaddexp2 of odd numbers", jt.logaddexp2, np.logaddexp2, _t("logaddexp2"), WIDE, "odd"),
    ("remainder of odd numbers", jt.remainder, np.remainder, None, WIDE, "odd"),
    ("gcd", jt.gcd, np.gcd, _t("gcd"), WHOLE, "any"),
    ("gcd with zeros", jt.gcd, np.gcd, None, WHOLE, "few"),
    ("lcm", jt.lcm, np.lcm, _t("lcm"), WHOLE, "any"),
    ("lcm with zeros", lambda x, y: x.lcm(y), np.lcm, None, WHOLE, "few"),
    ("bitwise_and", jt.bitwise_and, np.bitwise_and, _t("bitwise_and"), BITS, "any"),
    ("bitwise_or", jt.bitwise_or, np.bitwise_or, _t("bitwise_or"), BITS, "any"),
    ("bitwise_xor", jt.bitwise_xor, np.bitwise_xor, _t("bitwise_xor"), BITS, "any"),
    ("left_shift", jt.left_shift, np.left_shift, None, WHOLE, "small"),
    ("right_shift", jt.right_shift, np.right_shift, None, WHOLE, "small"),
    ("bitwise_left_shift", jt.bitwise_left_shift, np.left_shift, _t("bitwise_left_shift"), WHOLE, "small"),
    ("bitwise_right_shift", jt.bitwise_right_shift, np.right_shift, _t("bitwise_right_shift"), WHOLE, "small"),
    ("equal", jt.equal, np.equal, _t("eq"), EVERY, "few"),
    ("not_equal", jt.not_equal, np.not_equal, _t("ne"), EVERY, "few"),
    ("less", jt.less, np.less, _t("less"), NO_COMPLEX, "few"),
    ("less_equal", jt.less_equal, np.less_equal, _t("less_equal"), NO_COMPLEX, "few"),
    ("greater", jt.greater, np.greater, _t("greater"), NO_COMPLEX, "few"),
    ("greater_equal", jt.greater_equal, np.greater_equal, _t("greater_equal"), NO_COMPLEX, "few"),
    ("x.eq(y)", lambda x, y: x.eq(y), operator.eq, _t("eq"), EVERY, "odd"),
    ("x.ne(y)", lambda x, y: x.ne(y), operator.ne, _t("ne"), EVERY, "odd"),
    ("x.lt(y)", lambda x, y: x.lt(y), operator.lt, _t("lt"), NO_COMPLEX, "odd"),
    ("x.le(y)", lambda x, y: x.le(y), operator.le, _t("le"), NO_COMPLEX, "odd"),
    ("x.gt(y)", lambda x, y: x.gt(y), operator.gt, _t("gt"), NO_COMPLEX, "odd"),
    ("x.ge(y)", lambda x, y: x.ge(y), operator.ge, _t("ge"), NO_COMPLEX, "odd"),
    ("isclose", jt.isclose, np.isclose, None, EVERY, "few"),
    ("isclose of odd numbers", jt.isclose, np.isclose, _t("isclose"), WIDE, "odd"),
    ("isclose with nan", lambda x, y: jt.isclose(x, y, equal_nan=True), lambda x, y: np.isclose(x, y, equal_nan=True),
     _t("isclose", equal_nan=True), (*WIDE, *COMPLEX), "odd"),
    ("isclose by a part", lambda x, y: jt.isclose(x, y, rtol=0.6, atol=0), lambda x, y: np.isclose(x, y, 0.6, 0),
     _t("isclose", rtol=0.6, atol=0), (*WHOLE, *WIDE, *COMPLEX), "positive"),
    ("isclose by a width", lambda x, y: x.isclose(y, rtol=0, atol=1.0), lambda x, y: np.isclose(x, y, 0, 1.0),
     _t("isclose", rtol=0, atol=1.0), (*WHOLE, *WIDE, *COMPLEX), "any"),
), TWO, orders=0)  # fmt: skip

ANSWERS = _rows((
    ("allclose", lambda x, y: jt.array(jt.allclose(x, y)), lambda x, y: np.bool_(np.allclose(x, y)), None,
     EVERY, "few"),
    ("allclose to itself", lambda x, y: jt.array(jt.allclose(x, x)), lambda x, y: np.bool_(np.allclose(x, x)),
     None, FLOATING, "odd"),
    ("allclose with nan", lambda x, y: jt.array(x.allclose(x, equal_nan=True)), lambda x, y: np.bool_(1), None,
     FLOATING, "odd"),
    ("allclose by a width", lambda x, y: jt.array(jt.allclose(x, y, 0, 30)), lambda x, y: np.bool_(
        np.allclose(x, y, 0, 30)), None, FLOATING, "any"),
    ("array_equal", lambda x, y: jt.array(jt.array_equal(x, y)), lambda x, y: np.bool_(np.array_equal(x, y)),
     None, EVERY, "few"),
    ("array_equal to itself", lambda x, y: jt.array(jt.array_equal(x, x)),
     lambda x, y: np.bool_(np.array_equal(x, x)), None, FLOATING, "odd"),
    ("array_equal with nan", lambda x, y: jt.array(jt.array_equal(x, x, equal_nan=True)),
     lambda x, y: np.bool_(1), None, FLOATING, "odd"),
    ("array_equiv", lambda x, y: jt.array(jt.array_equiv(x, y)), lambda x, y: np.bool_(np.array_equiv(x, y)),
     None, EVERY, "few"),
), (*TWO, ((2, 3), (4,))), orders=0, layouts=False)  # fmt: skip
ANSWERS = tuple(r if "array" in r.name else r._replace(shapes=TWO) for r in ANSWERS)

THREE_NUMBERS = _rows((
    ("lerp", jt.lerp, lambda x, y, w: x + w * (y - x), _t("lerp"), FLOATING, "any"),
    ("addcmul", jt.addcmul, lambda x, y, z: x + y * z, _t("addcmul"), NUMBERS, "any"),
    ("addcmul of a multiple", lambda x, y, z: x.addcmul(y, z, value=2), lambda x, y, z: x + y * z * y.dtype.type(2),
     _t("addcmul", value=2), NUMBERS, "any"),
    ("addcdiv", jt.addcdiv, lambda x, y, z: x + y / z, _t("addcdiv"), FLOATING, "positive"),
    ("addcdiv of a multiple", lambda x, y, z: jt.addcdiv(x, y, z, value=0.5), lambda x, y, z: x + y / z / 2,
     _t("addcdiv", value=0.5), FLOATING, "positive"),
    ("clamp between numbers of its own", jt.clamp, np.clip, _clamp_of_one_shape, REALS, "any"),
    ("clip by NumPy's names", lambda x, y, z: jt.clip(x, a_max=z, a_min=y), np.clip, _clamp_of_one_shape, WIDE, "any"),
    ("clamp by PyTorch's names", lambda x, y, z: x.clamp(max=z, min=y), np.clip, _clamp_of_one_shape, WIDE, "any"),
    ("where", jt.where, np.where, lambda t, c, x, y: t.where(c.bool(), x, y), EVERY, "few"),
), THREE)  # fmt: skip
ODD_BOUNDS = _rows((
    ("clamp between odd numbers", jt.clamp, np.clip, _clamp_of_one_shape, WIDE, "odd"),
    ("clamp from below by odd numbers", lambda x, y, z: jt.clamp(x, y), lambda x, y, z: np.maximum(x, y), None, WIDE,
     "odd"),
), (((3,), (3,), (3,)), ((4, 5), (4, 5), (4, 5))), orders=0)  # fmt: skip

COMPLEX_NUMBERS = _rows((
    ("angle", jt.angle, np.angle, _t("angle"), ("int32", "int64", *WIDE, *COMPLEX), "any"),
    ("arg", jt.arg, np.angle, _t("angle"), (*WIDE, *COMPLEX), "any"),
    ("angle in degrees", lambda z: jt.angle(z, deg=True), lambda z: np.angle(z, deg=True), None, (*WIDE, *COMPLEX),
     "any"),
    ("view_as_real", jt.view_as_real, lambda z: np.stack([z.real, z.imag], -1), _t("view_as_real"), COMPLEX, "any"),
    ("abs of a complex number", jt.abs, np.abs, _t("abs"), COMPLEX, "any"),
    ("sgn of a complex number", lambda z: z.sgn(), np.sign, _t("sgn"), COMPLEX, "any"),
    ("a number put together from its parts", lambda z: jt.complex(z.real(), z.imag()), lambda z: z,
     lambda t, z: t.complex(t.real(z), t.imag(z)), COMPLEX, "any"),
    ("a number put together from its polar parts", lambda z: jt.polar(z.abs(), z.angle()), lambda z: z,
     lambda t, z: t.polar(t.abs(z), t.angle(z)), COMPLEX, "any"),
    ("there and back by view_as_real", lambda z: jt.view_as_complex(jt.view_as_real(z)), lambda z: z, None, COMPLEX,
     "any"),
))  # fmt: skip
PARTS = _rows((
    ("complex", jt.complex, lambda x, y: (x + 1j * y.astype(np.result_type(y, np.complex64))), None, WIDE, "any"),
    ("complex by PyTorch", jt.complex, None, lambda t, x, y: t.complex(*t.broadcast_tensors(x, y)), WIDE, "any"),
    ("polar", jt.polar, lambda x, y: (x * np.cos(y) + 1j * (x * np.sin(y))).astype(
        np.complex64 if x.dtype == np.float32 else np.complex128), None, WIDE, "any"),
    ("polar by PyTorch", jt.polar, None, lambda t, x, y: t.polar(*t.broadcast_tensors(x, y)), WIDE, "positive"),
), TWO)  # fmt: skip
PAIRS = (
    Row("view_as_complex", jt.view_as_complex, lambda x: np.asarray(x[..., 0] + 1j * x[..., 1]).astype(
        np.complex64 if x.dtype == np.float32 else np.complex128), lambda t, x: t.view_as_complex(x.contiguous()),
        (((2,),), ((3, 2),), ((2, 1, 3, 2),)), WIDE, "any", layouts=False),
    Row("view_as_complex of nothing", lambda x: x.view_as_complex(), lambda x: np.zeros(x.shape[:-1], np.result_type(
        x, np.complex64)), None, (((0, 2),), ((2, 0, 2),)), WIDE, "any", orders=0, layouts=False),
)  # fmt: skip
SIGNS = (
    Row("ldexp by exponents of int8", lambda x: x.ldexp(jt.array([-3, 0, 5], "int8").reshape(3, 1, 1)),
        lambda x: np.ldexp(x, np.array([-3, 0, 5], np.int8).reshape(3, 1, 1)), None,
        (((),), ((4,),), ((3, 1, 2),), ((2, 1, 1, 0),)), FLOATS, "any"),
    Row("fmod of both signs", jt.fmod, np.fmod, None, TWO, (*INTS, *UINTS, *FLOATS), "any", orders=0),
    Row("div towards 0 of both signs", lambda x, y: jt.divide(x, y, rounding_mode="trunc"),
        lambda x, y: np.trunc(np.divide(x, y)), None, TWO, FLOATS, "any", orders=1),
)  # fmt: skip

ROWS = (*SMOOTH, *ROUNDING, *ASKING, *TWO_NUMBERS, *STEPS, *ANSWERS, *THREE_NUMBERS, *ODD_BOUNDS, *COMPLEX_NUMBERS,
        *PARTS, *PAIRS, *SIGNS)  # fmt: skip
