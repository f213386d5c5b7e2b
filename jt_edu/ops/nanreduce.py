"""Reductions that leave nan out, as NumPy's functions of the same names do.

    nansum, nanprod, nanmean, nanmax, nanmin, nanvar, nanstd, nanargmax, nanargmin

nan is replaced by what changes nothing (0 in a sum, 1 in a product, -inf in a maximum), and not counted. The median and
the quantiles without nan are in quantile.py.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import float64, promote, real_of
from jt_edu.base.errors import ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.create import arange
from jt_edu.ops.dtype_rules import as_floats, check_order, widened
from jt_edu.ops.reduce import (
    along,
    averaged,
    count_of,
    first_where,
    max,
    min,
    pick_correction,
    prod,
    root,
    squared,
    sum,
)  # fmt: skip
from jt_edu.ops.var_function import var_function
from jt_edu.variable.var import Var, as_var

__all__ = ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]


def without_nan(x: Var, value: float) -> Var:
    """x, with `value` instead of nan."""
    return x.where_not(x.apply(f.ISNAN), value) if x.dtype.is_float else x


@var_function()
def nansum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Var:
    """Sum of the numbers that are not nan; 0 if all are.

    Example:
        >>> nansum(array([1.0, math.nan, 2.0])).item()
        3.0
    """
    keep = yes_or_no("nansum", "keepdim", keepdim)
    return sum(without_nan(as_var(x), 0), dim, keep, dtype)


@var_function()
def nanprod(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Var:
    """Product of the numbers that are not nan; 1 if all are.

    Example:
        >>> nanprod(array([3.0, math.nan, 2.0])).item()
        6.0
    """
    keep = yes_or_no("nanprod", "keepdim", keepdim)
    return prod(without_nan(as_var(x), 1), dim, keep, dtype)


@var_function()
def nanmean(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Var:
    """Mean of the numbers that are not nan; nan if all are.

    Example:
        >>> nanmean(array([1.0, math.nan, 2.0])).item()
        1.5
    """
    keep = yes_or_no("nanmean", "keepdim", keepdim)
    floats = averaged("nanmean", x, dtype)
    wide = widened(floats)
    total = sum(without_nan(wide, 0), dim, keep)
    return (total / _how_many(wide, dim, keep)).cast(floats.dtype)


def _how_many(x: Var, dim: Any, keep: bool) -> Var:
    """How many are not nan, as float64: what is divided by."""
    return sum((x.apply(f.ISNAN) == 0).cast(float64), dim, keep)


@var_function()
def nanvar(
    x: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = False, *, correction: Any = None, ddof: Any = None
) -> Var:
    """Variance of the numbers that are not nan; arguments as in `var`. nan where too few numbers are left.

    Example:
        >>> nanvar(array([1.0, math.nan, 3.0])).item()
        1.0
    """
    keep = yes_or_no("nanvar", "keepdim", keepdim)
    floats = as_floats(x)
    spread = _variance(widened(floats), dim, keep, pick_correction("nanvar", unbiased, correction, ddof))
    return spread.cast(real_of(floats.dtype))


def _variance(x: Var, dim: Any, keep: bool, correction: float) -> Var:
    """The variance in the dtype of x, which is wide enough for squares."""
    away = (x - nanmean(x, dim, True)).where_not(x.apply(f.ISNAN), 0)
    left = _how_many(x, dim, keep) - correction
    return sum(squared(away), dim, keep) / left.where_not(left <= 0, math.nan)


@var_function()
def nanstd(
    x: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = False, *, correction: Any = None, ddof: Any = None
) -> Var:
    """Square root of `nanvar`.

    Example:
        >>> nanstd(array([1.0, math.nan, 3.0])).item()
        1.0
    """
    keep = yes_or_no("nanstd", "keepdim", keepdim)
    floats = as_floats(x)
    wide = floats.cast(promote(floats.dtype, float64))  # as in `std`
    spread = _variance(wide, dim, keep, pick_correction("nanstd", unbiased, correction, ddof))
    return root(spread, 2).cast(real_of(floats.dtype))


@var_function()
def nanmax(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Largest of the numbers that are not nan; nan if all are.

    Example:
        >>> nanmax(array([1.0, math.nan, 2.0])).item()
        2.0
    """
    keep = yes_or_no("nanmax", "keepdim", keepdim)
    return _extremum(as_var(x), "nanmax", dim, keep)


@var_function()
def nanmin(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Smallest of the numbers that are not nan; nan if all are.

    Example:
        >>> nanmin(array([1.0, math.nan, 2.0])).item()
        1.0
    """
    keep = yes_or_no("nanmin", "keepdim", keepdim)
    return _extremum(as_var(x), "nanmin", dim, keep)


def _extremum(x: Var, name: str, axes: Any, keep: bool) -> Var:
    check_order(name, x)
    if count_of(x, axes, name) == 0:
        raise ShapeError(f"{name} of nothing is not a number", f"shape {x.shape}, axes {axes}", "a Var with elements")
    low = name == "nanmax"
    best = (max if low else min)(without_nan(x, -math.inf if low else math.inf), axes, keep)
    return best.where_not(_how_many(x, axes, keep) == 0, math.nan) if x.dtype.is_float else best


@var_function()
def nanargmax(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Position of the largest number that is not nan, the first if there are several; all nan raises when it runs.

    Example:
        >>> nanargmax(array([1.0, math.nan, 2.0])).item()
        2
    """
    return _position(as_var(x), nanmax, "nanargmax", dim, yes_or_no("nanargmax", "keepdim", keepdim))


@var_function()
def nanargmin(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Position of the smallest number that is not nan, the first if there are several; all nan raises when it runs.

    Example:
        >>> nanargmin(array([1.0, math.nan, 2.0])).item()
        0
    """
    return _position(as_var(x), nanmin, "nanargmin", dim, yes_or_no("nanargmin", "keepdim", keepdim))


def _position(x: Var, best: Any, name: str, dim: Any, keep: bool) -> Var:
    """nan equals nothing: where all is nan the position is the length of the axis, and reading there raises."""
    flat, axis = along(x, name, dim)
    found = arange(flat.shape[axis])[first_where(flat == best(flat, axis, True), axis, keep)]
    return found.reshape((1,) * x.ndim) if flat is not x and keep else found
