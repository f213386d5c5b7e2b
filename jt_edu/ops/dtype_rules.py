"""Dtype rules: what dtype does a function compute in, and which numbers may it be asked about?

floats, real_floats     NumPy's rule: small whole numbers become small floats
as_floats               means and the like: whole numbers become float64
widened                 halves as float32: squares of theirs do not overflow; rounded once, at the end
check_order             complex numbers are neither smaller nor larger than each other
checked                 numbers that must lie in a range, looked at before a kernel reads them
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import float32, float64, float_of
from jt_edu.base.errors import DtypeError
from jt_edu.ir.index_expr import counters
from jt_edu.ir.meta_ops import Reindex
from jt_edu.ir.node import Node, Shape
from jt_edu.variable.index_bounds import check_there
from jt_edu.variable.var import Var, as_var


def floats(x: Any) -> Var:
    """x as floats: int8 and bool as float16, int16 as float32, larger ones as float64, as NumPy's functions take them.

    Example:
        >>> floats(array([1, 2], "int16")).dtype
        jt.float32
    """
    v = as_var(x)
    return v.cast(float_of(v.dtype))


def real_floats(name: str, x: Any) -> Var:
    """The same for a function that knows no complex numbers.

    Example:
        >>> real_floats("rint", array([1.5])).dtype
        jt.float32
    """
    v = as_var(x)
    if v.dtype.kind == "c":
        raise DtypeError(f"{name} needs real numbers", f"dtype {v.dtype}", "x.real, x.imag or x.abs()")
    return v.cast(float_of(v.dtype))


def as_floats(x: Any) -> Var:
    """x, or whole numbers and bools as float64: what means, variances and the like are taken of.

    Example:
        >>> as_floats(array([1, 2], "int8")).dtype
        jt.float64
    """
    v = as_var(x)
    return v if v.dtype.is_float else v.cast(float64)


def widened(x: Var) -> Var:
    """Halves as float32, all else as it is: what is squared or added up is rounded to halves once, at the end.

    Example:
        >>> h = array([300.0], "float16")
        >>> (h * h).item(), (widened(h) * widened(h)).item()
        (inf, 90000.0)
    """
    return x.cast(float32) if x.dtype.is_half else x


def check_order(name: str, x: Var) -> None:
    """Complex numbers are neither smaller nor larger than each other.

    Example:
        >>> check_order("max", array([1.0]))
    """
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} needs numbers that have an order", f"dtype {x.dtype}", "x.abs()")


def checked(name: str, x: Var, low: float, high: float, spared: float | None = None) -> Var:
    """Numbers from `low` to below `high`; others raise, in the name of `name`, when a kernel would read them.

    Whole numbers that are there already are looked at at once.

    Args:
        name: who reads them.
        x: whole numbers.
        low: the smallest allowed.
        high: the first that is too large.
        spared: one more number that is allowed.

    Example:
        >>> checked("one_hot", array([0, 2]), 0, 3).tolist()
        [0, 2]
    """
    also = spared if spared is not None else low if low < high else low - 1
    op = _check_op(name, x.shape, low, high, also)
    return Var._of(check_there(Node(op, (x.node,), x.shape, x.dtype)))


@lru_cache(maxsize=1 << 12)
def _check_op(name: str, shape: Shape, low: Any, high: Any, spared: Any) -> Reindex:
    return Reindex(name, shape, counters(len(shape)), flat=True, within=(low, high, spared))
