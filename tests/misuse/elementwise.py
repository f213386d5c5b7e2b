"""Wrong calls of element functions: (sentence, the call, the error it must raise, what its message must say)."""

import math
import operator

import numpy as np

import jt_edu as jt

NAN = float("nan")


def x():
    return jt.array([1.0, 2.0, 3.0])


def k():
    return jt.array([1, 2, 3])


def z():
    return jt.array([1j, 2.0])


CALLS = [
    ("exp of two", lambda: jt.exp(x(), x()), jt.ArgumentError, r"exp takes 1 argument.*found 2"),
    ("hypot of one", lambda: jt.hypot(x()), jt.ArgumentError, r"hypot takes 2 arguments.*found 1"),
    ("a list of Vars beside a Var", lambda: operator.add(x(), [x()]), jt.ArgumentError, r"one Var.*list.*Try: .*stack"),
    ("a Var beside lists of a Var", lambda: operator.mul([[x()]], x()), jt.ArgumentError, r"a list of a list of a Var"),
    ("the mean of a list of Vars", lambda: jt.mean([x().sum(), x().sum()]), jt.ArgumentError, r"jt\.stack\(x\)"),
    ("shapes that do not fit", lambda: jt.fmax(x(), jt.ones(2)), jt.ShapeError, r"\(3,\) and \(2,\)"),
    ("a walk between shapes", lambda: jt.lerp(x(), jt.ones(4), 0.5), jt.ShapeError, r"\(3,\) and \(4,\)"),
    ("the cube root of a complex number", lambda: jt.cbrt(z()), jt.DtypeError, r"complex64"),
    ("the order of complex numbers", lambda: z().lt(z()), jt.DtypeError, r"complex64"),
    ("the larger of complex numbers", lambda: jt.fmax(z(), z()), jt.DtypeError, r"complex64"),
    ("bits of floats", lambda: jt.bitwise_and(x(), 1), jt.DtypeError, r"float32"),
    ("the divisor of floats", lambda: jt.gcd(x(), 2), jt.DtypeError, r"gcd works on integers.*float32"),
    ("the divisor of bools", lambda: jt.gcd(jt.array([True]), True), jt.DtypeError, r"bool"),
    ("the bits of a float counted", lambda: jt.bitwise_count(x()), jt.DtypeError, r"float32"),
    ("a shift of floats", lambda: jt.left_shift(x(), 1), jt.DtypeError, r"float32"),
    ("plus of a bool", lambda: jt.positive(jt.array([True])), jt.DtypeError, r"positive.*bool"),
    ("minus of a bool", lambda: jt.negative(jt.array([True])), jt.DtypeError, r"bool"),
    ("clamp with a bound twice", lambda: jt.clamp(x(), 0, min_v=1), jt.ArgumentError, r"min=0, min_v=1"),
    ("a rounding mode that is none", lambda: jt.divide(x(), 2, rounding_mode="up"), jt.ArgumentError, r"'up'"),
    ("decimals that are no whole number", lambda: jt.round(x(), 1.5), jt.ArgumentError, r"decimals=1.5"),
    ("a fractional exponent", lambda: jt.ldexp(x(), 0.5), jt.DtypeError, r"float32"),
    ("where with one value", lambda: jt.where(x() > 0, 1.0), jt.ArgumentError, r"y=None"),
    ("an alpha that is a word", lambda: jt.add(x(), 1, alpha="two"), jt.ArgumentError, r"'two'"),
    ("a value that is a list", lambda: jt.addcmul(x(), x(), x(), value=[1]), jt.ArgumentError, r"value=\[1\]"),
    ("a value that is nan", lambda: jt.addcdiv(x(), x(), x(), value=NAN), jt.ArgumentError, r"value=nan"),
    ("the polar form of complex parts", lambda: jt.polar(z(), 0.0), jt.DtypeError, r"complex64"),
    ("a complex number of complex parts", lambda: jt.complex(z(), 0.0), jt.DtypeError, r"complex64"),
    ("real numbers taken apart", lambda: jt.view_as_real(x()), jt.DtypeError, r"float32"),
    ("triples as complex numbers", lambda: jt.view_as_complex(x()), jt.ShapeError, r"\(3,\)"),
    ("nothing as complex numbers", lambda: jt.view_as_complex(jt.array(1.0)), jt.ShapeError, r"shape \(\)"),
    ("degrees by a number", lambda: jt.angle(z(), deg=2), jt.ArgumentError, r"deg=2"),
    ("nan replaced by a word", lambda: jt.nan_to_num(x(), nan="none"), jt.ArgumentError, r"nan='none'"),
    ("closeness by a word", lambda: jt.isclose(x(), x(), rtol="little"), jt.ArgumentError, r"rtol='little'"),
    ("closeness of nan by a number", lambda: jt.isclose(x(), x(), equal_nan=2), jt.ArgumentError, r"equal_nan=2"),
    ("closeness of other shapes", lambda: jt.allclose(x(), jt.ones(2)), jt.ShapeError, r"\(3,\) and \(2,\)"),
    ("the infinity of a complex number", lambda: jt.isposinf(z()), jt.DtypeError, r"isposinf.*complex64"),
    ("several numbers as one", lambda: jt.is_nonzero(x()), jt.ShapeError, r"\(3,\)"),
    ("radians of a complex number", lambda: jt.deg2rad(z()), jt.DtypeError, r"deg2rad.*complex64"),
    ("the parts of a complex float", lambda: jt.frexp(z()), jt.DtypeError, r"frexp.*complex64"),
    ("polygamma of a fraction", lambda: jt.polygamma(0.5, x()), jt.ArgumentError, r"n=0.5"),
    ("polygamma of a negative order", lambda: jt.polygamma(-1, x()), jt.ArgumentError, r"n=-1"),
    ("polygamma of a large order", lambda: jt.polygamma(171, x()), jt.ArgumentError, r"n=171"),
    ("mvlgamma of dimension 0", lambda: jt.mvlgamma(x(), 0), jt.ArgumentError, r"p=0"),
    ("logit with a word", lambda: jt.logit(x(), eps="small"), jt.ArgumentError, r"eps='small'"),
    ("erfc of complex numbers", lambda: jt.erfc(z()), jt.DtypeError, r"complex64"),
    ("entr of complex numbers", lambda: jt.entr(z()), jt.DtypeError, r"entr.*complex64"),
    ("elu of a word", lambda: jt.elu(x(), alpha="big"), jt.ArgumentError, r"alpha='big'"),
    ("celu of alpha 0", lambda: jt.celu(x(), 0), jt.ArgumentError, r"alpha=0"),
    ("softplus of beta 0", lambda: jt.softplus(x(), beta=0), jt.ArgumentError, r"beta=0"),
    ("hardtanh with walls exchanged", lambda: jt.hardtanh(x(), 1, -1), jt.ArgumentError, r"min_val=1, max_val=-1"),
    ("softshrink by less than 0", lambda: jt.softshrink(x(), -0.5), jt.ArgumentError, r"lambd=-0.5"),
    ("hardshrink by an array", lambda: jt.hardshrink(x(), np.ones(2)), jt.ArgumentError, r"lambd=array"),
    ("rrelu with bounds exchanged", lambda: jt.rrelu(x(), 0.5, 0.25), jt.ArgumentError, r"lower=0.5, upper=0.25"),
    ("rrelu that trains a little", lambda: jt.rrelu(x(), training=0.5), jt.ArgumentError, r"training=0.5"),
    (
        "prelu with two slopes for three",
        lambda: jt.prelu(jt.ones((1, 3)), jt.ones(2)),
        jt.ShapeError,
        r"\(2,\).*\(1, 3\)",
    ),
    ("glu of an odd axis", lambda: jt.glu(x()), jt.ShapeError, r"\(3,\), axis 0"),
    ("glu along an axis that is not there", lambda: jt.glu(x(), dim=1), jt.RangeError, r"axis 1"),
    ("gelu by another way", lambda: jt.gelu(x(), "sigmoid"), jt.ArgumentError, r"'sigmoid'"),
    ("leaky_relu of a slope of nan", lambda: jt.leaky_relu(x(), NAN), jt.ArgumentError, r"nan"),
    ("threshold without a number", lambda: jt.threshold(x(), None, 1), jt.ArgumentError, r"threshold=None"),
    ("the gradient of a comparison", lambda: jt.grad((x() == 1).sum(), x()), jt.GradientError, r"int64"),
    (
        "a slope named twice",
        lambda: jt.leaky_relu(x(), 0.5, negative_slope=0.1),
        jt.ArgumentError,
        r"scale=0.5, negative_slope=0.1",
    ),
    ("a slope that is a yes", lambda: jt.leaky_relu(x(), True), jt.ArgumentError, r"scale=True"),
    ("an axis of glu named twice", lambda: jt.glu(jt.ones((2, 2)), 0, axis=1), jt.ArgumentError, r"dim=0, axis=1"),
    ("a second argument named twice", lambda: jt.fmod(x(), 2, other=3), jt.ArgumentError, r"y=2, other=3"),
    ("an argument that exp has not", lambda: jt.exp(x(), base=2), jt.ArgumentError, r"base="),
    ("decimals that are a yes", lambda: jt.round(x(), True), jt.ArgumentError, r"decimals=True"),
    ("more dimensions than anybody has", lambda: jt.mvlgamma(x(), 10**30), jt.ArgumentError, r"p=1000000"),
    ("another device", lambda: x().to("cuda:0"), jt.ArgumentError, r"cuda:0"),
    ("a word everywhere", lambda: jt.full_like(x(), "y"), jt.ArgumentError, r"'y'"),
    ("64 bits of a ragged list", lambda: jt.array64([[1, 2], [3]]), jt.ShapeError, r"\[\[1, 2\], \[3\]\]"),
    (
        "numbers too large for their dtype",
        lambda: jt.array([[1, 300]], dtype="uint8"),
        jt.DtypeError,
        r"uint8 must fit it, 0 to 255; found 300",
    ),
    (
        "a fill that bytes cannot hold",
        lambda: jt.pad(jt.array([1], dtype="uint8"), (1, 1), value=300),
        jt.DtypeError,
        "300",
    ),
    ("a float that bytes cannot hold", lambda: jt.full((2,), 300.0, "uint8"), jt.DtypeError, r"0 to 255; found 300\.0"),
    ("nan as a whole number", lambda: jt.full((2,), math.nan, "int32"), jt.DtypeError, "found nan"),
    ("draws that bytes cannot hold", lambda: jt.randint(0, 3000, (2,), "uint8"), jt.DtypeError, "0 to 255; found 2999"),
    ("numbers too small for their dtype", lambda: jt.array([-1], "uint64"), jt.DtypeError, r"found -1"),
    ("a spread below 0", lambda: jt.normal(0.0, -1.0, (2,)), jt.ArgumentError, r"std=-1\.0"),
    ("a probability above 1", lambda: jt.bernoulli(jt.array([0.5, 2.0])), jt.ArgumentError, r"0 to 1; found 2\.0"),
    ("a probability of nan", lambda: jt.bernoulli(jt.array([0.5, NAN])), jt.ArgumentError, r"0 to 1; found nan"),
    ("a probability below 0", lambda: jt.bernoulli(-0.5), jt.ArgumentError, r"found -0\.5"),
    ("a chance that is complex", lambda: jt.bernoulli(jt.array([1j])), jt.DtypeError, r"complex64"),
    ("a rate that is nothing", lambda: jt.exponential(None), jt.ArgumentError, r"rate=None"),
]
