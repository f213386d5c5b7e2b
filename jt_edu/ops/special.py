"""Special functions: areas under curves, factorials between whole numbers, and logarithms that do not blow up.

    erf erfc erfcx erfinv ndtr log_ndtr       under the bell curve
    gamma lgamma digamma polygamma zeta       factorials
    i0 i0e i1 i1e sinc                        waves, standing and growing
    logit xlogy xlog1py entr                  odds, and information

How each is computed, and how exactly, stands in `backends/mathlib`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ir.scalar_ops import unary
from jt_edu.ops.arguments import function, number, whole
from jt_edu.ops.dtype_rules import as_floats, floats, real_floats
from jt_edu.ops.elementwise import sigmoid
from jt_edu.ops.trigonometry import SIN
from jt_edu.variable.var import Var, method

__all__ = ["digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expit", "gamma", "gammaln", "i0", "i0e", "i1", "i1e",
           "lgamma", "log_ndtr", "logit", "multigammaln", "mvlgamma", "ndtr", "polygamma", "psi", "sinc", "xlog1py",
           "xlogy", "zeta"]  # fmt: skip

# the table: body and derivative, as in ir/scalar_ops.py
_GAUSS, BELL = 2 / math.sqrt(math.pi), 1 / math.sqrt(2 * math.pi)  # the heights of two bell curves
ERFC = unary("erfc", lambda o, d, x: d * (f.EXP(-(x * x)) * -_GAUSS), 24, "float_real")
NDTR = unary("ndtr", lambda o, d, x: d * (f.EXP(x * x * -0.5) * BELL), 18, "float_real")
ERFCX = unary("erfcx", lambda o, d, x: d * (x * o * 2 - _GAUSS), 24, "float_real")
GAMMA = unary("gamma", lambda o, d, x: d * (o * DIGAMMA(x)), 60, "float_real")
LGAMMA = unary("lgamma", lambda o, d, x: d * DIGAMMA(x), 60, "float_real")
DIGAMMA: Elementwise = unary("digamma", lambda o, d, x: d * POLYGAMMA(x, 1), 60, "float_real")
POLYGAMMA: Elementwise = Elementwise(
    "polygamma", "polygamma({1}, {0})", "float_real", (lambda o, d, x, n: d * POLYGAMMA(x, n + 1),), 200
)
ZETA: Elementwise = Elementwise(
    "zeta", "zeta({0}, {1})", "float_real", (None, lambda o, d, s, q: d * (ZETA(s + 1, q) * -s)), 200
)
I0 = unary("i0", lambda o, d, x: d * I1(x), 80, "float_real", "bessel0({0})")
I1: Elementwise = unary("i1", lambda o, d, x: d * (I0(x) - _by(o, x)), 80, "float_real", "bessel1({0})")
I0E = unary("i0e", lambda o, d, x: d * (I1E(x) - f.SIGN(x) * o), 80, "float_real", "bessel0e({0})")
I1E: Elementwise = unary(
    "i1e", lambda o, d, x: d * (I0E(x) - f.SIGN(x) * o - _by(o, x)), 80, "float_real", "bessel1e({0})"
)
XLOGY = Elementwise(
    "xlogy", "select(({0} == 0) & ({1} == {1}), {0}, {0} * log({1}))", "float_real",
    (lambda o, d, x, y: d * f.LOG(y).where_not((x == 0) & (y <= 0), 0), lambda o, d, x, y: d * (x / y)), 10,
)  # fmt: skip
XLOG1PY = Elementwise(
    "xlog1py", "select(({0} == 0) & ({1} == {1}), {0}, {0} * log1p({1}))", "float_real",
    (lambda o, d, x, y: d * f.LOG1P(y).where_not((x == 0) & (y <= -1), 0), lambda o, d, x, y: d * (x / (y + 1))), 10,
)  # fmt: skip
LOGIT = Elementwise(  # the second number is 1, in the dtype of x
    "logit", "log({0} / ({1} - {0}))", "float",
    (lambda o, d, x, one: (d / (x * (1 - x))).where_not(f.ISNAN(o), math.nan),), 12,
)  # fmt: skip
ENTR = unary("entr", lambda o, d, x: d * (-f.LOG(x) - 1), 10, "float_real", "select({0} == 0, {0}, -({0} * log({0})))")


def _by(o: Any, x: Any) -> Any:
    """o / x, and its limit 1/2 at 0: the slope of I1."""
    return (o / x.where_not(x == 0, 1)).where_not(x == 0, 0.5)


# for the learner
_function = partial(function, __name__)

erf = _function(
    f.ERF, "Error function, 2/sqrt(pi) times the integral of exp(-t**2) from 0 to x.", "erf(array(0.0)).item()", "0.0"
)
erfc = _function(ERFC, "1 - erf(x), exact also where that is nearly 0.", "erfc(array(0.0)).item()", "1.0")
erfcx = _function(ERFCX, "exp(x**2) * erfc(x).", "erfcx(array(0.0)).item()", "1.0")
erfinv = _function(f.ERFINV, "The x whose erf is given.", "erfinv(array(0.0)).item()", "0.0", casts=True)
gamma = _function(GAMMA, "(x - 1)!, also between whole numbers.", "gamma(array(5.0)).item()", "24.0")
lgamma = _function(LGAMMA, "log |gamma(x)|.", "lgamma(array(1.0)).item()", "0.0", "gammaln")
digamma = _function(DIGAMMA, "The derivative of lgamma.", "digamma(array(1.0)).item()", "-0.5772156715393066", "psi")
zeta = _function(
    ZETA, "Hurwitz' zeta function, the sum of 1 / (y + k)**x over k = 0, 1, 2, ...", "zeta(array(2.0), 1.0).item()",
    "1.644934058189392",
)  # fmt: skip
i0 = _function(I0, "Modified Bessel function of order 0.", "i0(array(0.0)).item()", "1.0")
i0e = _function(I0E, "exp(-|x|) * i0(x), which does not overflow.", "i0e(array(0.0)).item()", "1.0")
i1 = _function(I1, "Modified Bessel function of order 1.", "i1(array(0.0)).item()", "0.0")
i1e = _function(I1E, "exp(-|x|) * i1(x), which does not overflow.", "i1e(array(0.0)).item()", "0.0")
xlogy = _function(XLOGY, "x * log(y), and 0 where x is 0.", "xlogy(array(0.0), 0.0).item()", "0.0")
xlog1py = _function(XLOG1PY, "x * log(1 + y), and 0 where x is 0.", "xlog1py(array(0.0), -1.0).item()", "0.0")
gammaln, psi, expit = lgamma, digamma, sigmoid


@method
def polygamma(n: int, x: Any) -> Var:
    """The n-th derivative of digamma: (-1)**(n + 1) * n! * zeta(n + 1, x).

    Args:
        n: a whole number from 0 to 170, beyond which n! is too large for a float.
        x: any shape.

    Raises:
        ArgumentError: n is no such number.

    Example:
        >>> polygamma(1, array(1.0)).item()
        1.644934058189392
    """
    return real_floats("polygamma", x).apply(POLYGAMMA, float(whole("polygamma", "n", n, 0, 170)))


@method
def mvlgamma(x: Any, p: int) -> Var:
    """log of the multivariate gamma function: p (p - 1) / 4 log(pi) + the sum of lgamma(x - k / 2), k = 0 ... p - 1.

    Raises:
        ArgumentError: p is not a whole number of 1 or more.

    Example:
        >>> mvlgamma(array(3.0), 1).item() == lgamma(array(3.0)).item()
        True
    """
    v, n = real_floats("mvlgamma", x), whole("mvlgamma", "p", p, 1, 10_000)
    total = lgamma(v)
    for k in range(1, n):
        total = total + lgamma(v - k / 2)
    return total + n * (n - 1) / 4 * math.log(math.pi)


multigammaln = mvlgamma


@method
def ndtr(x: Any) -> Var:
    """The area under the normal distribution up to x: erfc(-x / sqrt(2)) / 2.

    Example:
        >>> ndtr(array(0.0)).item()
        0.5
    """
    return real_floats("ndtr", x).apply(NDTR)


@method
def log_ndtr(x: Any) -> Var:
    """log(ndtr(x)), which is still a number where ndtr(x) is too small for one.

    Example:
        >>> log_ndtr(array(-100.0)).item()
        -5005.5244140625
    """
    v = real_floats("log_ndtr", x)
    left, right = v.where_not(v > -1, -1), v.where_not(v <= -1, -1)
    tail = ((left * -math.sqrt(0.5)).apply(ERFCX) * 0.5).apply(f.LOG) - left * left * 0.5
    return tail.where_not(v > -1, ((right * math.sqrt(0.5)).apply(ERFC) * -0.5).apply(f.LOG1P))


@method
def logit(x: Any, eps: float | None = None) -> Var:
    """log(x / (1 - x)), the inverse of sigmoid.

    Args:
        x: probabilities.
        eps: x is first brought into [eps, 1 - eps]; None leaves it as it is, and outside 0 to 1 the answer is nan.

    Example:
        >>> logit(array([0.5, 0.0])).numpy()
        array([  0., -inf], dtype=float32)
    """
    v = floats(x)
    if eps is not None:
        low = number("logit", "eps", eps)
        v = v.where_not(v < low, low).where_not(v > 1 - low, 1 - low)
    return v.apply(LOGIT, 1)


@method
def entr(x: Any) -> Var:
    """-x * log(x), the share of an outcome of probability x in the entropy; 0 at 0, and -inf below.

    Example:
        >>> entr(array([1.0, 0.0, -1.0])).numpy()
        array([ -0.,   0., -inf], dtype=float32)
    """
    v = real_floats("entr", x)
    return v.apply(ENTR).where_not(v < 0, -math.inf)


@method
def sinc(x: Any) -> Var:
    """sin(pi x) / (pi x), and 1 at 0.

    Example:
        >>> sinc(array([0.0, 0.5])).numpy()
        array([1.        , 0.63661975], dtype=float32)
    """
    v = as_floats(x)
    near = v.apply(f.ABSOLUTE) < 0.25
    far = v.where_not(near, 1)
    wave = (far * math.pi).apply(SIN) if v.dtype.kind == "c" else _wave(far)
    return (wave / (far * math.pi)).where_not(near, _hill(v.keep_where(near) * math.pi))


def _hill(u: Var) -> Var:
    """sin(u) / u for |u| < 0.8, by its series, whose slope keeps the digits that the slope of the quotient loses."""
    square, total = u * u, u.zeros_like()
    for k in range(8, -1, -1):
        total = total * square + (-1) ** k / math.factorial(2 * k + 1)
    return total


def _wave(v: Var) -> Var:
    """sin(pi v), exact near every whole v: the whole turns are taken off before pi comes in."""
    turns = v.apply(f.ROUND)
    wave = ((v - turns) * math.pi).apply(SIN)
    return wave.where_not(turns % 2 != 0, -wave)
