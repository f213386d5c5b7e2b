"""Comparisons: which of two is larger, whether they are equal, and what kind of number something is.

equal, less, ...         bools, element by element
logical_and, ...         bools from anything: what is not 0 is true
isnan, isreal, ...       bools about each element
isclose                  equal apart from rounding; allclose and array_equal put all answers together
maximum, fmax, ...       the larger or smaller of two
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jt_edu.base.dtypes import bool_, promote, real_of
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import broadcast_shape
from jt_edu.ops.arguments import beside, function, number, yes_or_no
from jt_edu.variable.var import Var, as_var, method

__all__ = ["allclose", "array_equal", "array_equiv", "eq", "equal", "fmax", "fmin", "ge", "greater", "greater_equal",
           "gt", "is_complex", "is_floating_point", "is_nonzero", "isclose", "iscomplex", "isfinite", "isinf", "isnan",
           "isneginf", "isposinf", "isreal", "le", "less", "less_equal", "logical_and", "logical_not", "logical_or",
           "logical_xor", "lt", "maximum", "minimum", "ne", "not_equal", "signbit"]  # fmt: skip
_function = partial(function, __name__)

equal = _function(f.EQUAL, "Whether x and y are equal; nan is not.", "equal(array(1), 1).item()", "True", "eq")
not_equal = _function(f.NOT_EQUAL, "Whether x and y differ.", "not_equal(array(1), 1).item()", "False", "ne")
less = _function(f.LESS, "Whether x < y.", "less(array(1), 2).item()", "True", "lt")
less_equal = _function(f.LESS_EQUAL, "Whether x <= y.", "less_equal(array(1), 1).item()", "True", "le")
greater = _function(f.GREATER, "Whether x > y.", "greater(array(1), 2).item()", "False", "gt")
greater_equal = _function(f.GREATER_EQUAL, "Whether x >= y.", "greater_equal(array(1), 1).item()", "True", "ge")
eq, ne, lt, le, gt, ge = equal, not_equal, less, less_equal, greater, greater_equal

logical_and = _function(f.LOGICAL_AND, "Whether both are true.", "logical_and(array(True), False).item()", "False")
logical_or = _function(f.LOGICAL_OR, "Whether one is true.", "logical_or(array(True), False).item()", "True")
logical_xor = _function(f.LOGICAL_XOR, "Whether exactly one is true.", "logical_xor(array(True), True).item()", "False")
logical_not = _function(f.LOGICAL_NOT, "Whether x is false.", "logical_not(array(True)).item()", "False")

isnan = _function(f.ISNAN, "Whether x is not a number.", "isnan(array(float('nan'))).item()", "True")
isinf = _function(f.ISINF, "Whether x is infinite.", "isinf(array(float('inf'))).item()", "True")
isfinite = _function(f.ISFINITE, "Whether x is neither infinite nor nan.", "isfinite(array(1.0)).item()", "True")
signbit = _function(f.SIGNBIT, "Whether x has a minus sign; -0.0 has.", "signbit(array(-0.0)).item()", "True")

maximum = _function(f.MAXIMUM, "The larger of two; nan if either is.", "maximum(array(1.0), 2).item()", "2.0")
minimum = _function(f.MINIMUM, "The smaller of two; nan if either is.", "minimum(array(1.0), 2).item()", "1.0")
fmax = _function(f.FMAX, "The larger of two, and no nan if it can.", "fmax(array(1.0), float('nan')).item()", "1.0")
fmin = _function(f.FMIN, "The smaller of two, and no nan if it can.", "fmin(array(1.0), float('nan')).item()", "1.0")


@method
def isposinf(x: Any) -> Var:
    """Whether x is +inf.

    Example:
        >>> isposinf(array([float("inf"), float("-inf"), 1.0])).numpy()
        array([ True, False, False])
    """
    v = _real("isposinf", x)
    return v.apply(f.ISINF) & (v > 0)


@method
def isneginf(x: Any) -> Var:
    """Whether x is -inf.

    Example:
        >>> isneginf(array([float("inf"), float("-inf"), 1.0])).numpy()
        array([False,  True, False])
    """
    v = _real("isneginf", x)
    return v.apply(f.ISINF) & (v < 0)


def _real(name: str, x: Any) -> Var:
    v = as_var(x)
    if v.dtype.kind == "c":
        raise DtypeError(f"{name} needs real numbers", f"dtype {v.dtype}", "x.real or x.imag")
    return v


@method
def isreal(x: Any) -> Var:
    """Whether the imaginary part of x is 0.

    Example:
        >>> isreal(array([1 + 0j, 1j])).numpy()
        array([ True, False])
    """
    return as_var(x).apply(f.IMAG) == 0


@method
def iscomplex(x: Any) -> Var:
    """Whether the imaginary part of x is not 0.

    Example:
        >>> iscomplex(array([1 + 0j, 1j])).numpy()
        array([False,  True])
    """
    return as_var(x).apply(f.IMAG) != 0


@method
def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Var:
    """Whether x and y are equal apart from rounding: |x - y| <= atol + rtol * |y|. An infinity is close only to itself.

    Args:
        x: the number in question.
        y: the number it should be.
        rtol: so large a part of |y| may be missing.
        atol: and this much besides.
        equal_nan: whether nan is close to nan.

    Example:
        >>> isclose(array([1.0, 2.0]), array([1.000001, 2.1])).numpy()
        array([ True, False])
    """
    a, b = beside(x, y), beside(y, x)
    common = promote(a.dtype, b.dtype)
    wide = common if common.is_float else promote(common, real_of(as_var(1.0, common).dtype))
    a, b = a.cast(wide), b.cast(wide)
    slack = b.apply(f.ABSOLUTE) * number("isclose", "rtol", rtol) + number("isclose", "atol", atol)
    near = ((a - b).apply(f.ABSOLUTE) <= slack) & b.apply(f.ISFINITE) & a.apply(f.ISFINITE)
    close = near | (a == b)
    if not yes_or_no("isclose", "equal_nan", equal_nan):
        return close
    return close | (a.apply(f.ISNAN) & b.apply(f.ISNAN))


@method
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements of x and y are close, as `isclose` says. Computed at once.

    Example:
        >>> allclose(array([1.0, 2.0]), array([1.000001, 2.0]))
        True
    """
    return bool(isclose(x, y, rtol, atol, equal_nan).all().item())


@method
def array_equal(x: Any, y: Any, equal_nan: bool = False) -> bool:
    """Whether x and y have the same shape and equal elements. Computed at once.

    Example:
        >>> array_equal(array([1, 2]), array([1, 2])), array_equal(array([1]), array([1, 1]))
        (True, False)
    """
    a, b = beside(x, y), beside(y, x)
    same_nan = yes_or_no("array_equal", "equal_nan", equal_nan)
    if a.shape != b.shape:
        return False
    same = a == b
    return bool((same | (a.apply(f.ISNAN) & b.apply(f.ISNAN)) if same_nan else same).all().item())


@method
def array_equiv(x: Any, y: Any) -> bool:
    """Whether x and y can be broadcast to one shape and are equal there. Computed at once.

    Example:
        >>> array_equiv(array([1, 1]), array([1]))
        True
    """
    a, b = beside(x, y), beside(y, x)
    try:
        broadcast_shape("array_equiv", a.shape, b.shape)
    except ShapeError:
        return False
    return bool((a == b).all().item())


@method
def is_floating_point(x: Any) -> bool:
    """Whether the dtype of x is a real float.

    Example:
        >>> is_floating_point(array(1.0)), is_floating_point(array(1))
        (True, False)
    """
    return as_var(x).dtype.kind == "f"


@method
def is_complex(x: Any) -> bool:
    """Whether the dtype of x is complex; `isreal` asks about the numbers.

    Example:
        >>> is_complex(array(1j)), is_complex(array(1.0))
        (True, False)
    """
    return as_var(x).dtype.kind == "c"


@method
def is_nonzero(x: Any) -> bool:
    """Whether the only element of x is not 0.

    Example:
        >>> is_nonzero(array(0.0))
        False
    """
    return bool(as_var(x).cast(bool_))
