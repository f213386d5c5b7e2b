"""Reductions that leave nan out, as NumPy's functions of the same names do.

    nansum, nanprod, nanmean, nanmax, nanmin, nanvar, nanstd, nanargmax, nanargmin

nan is replaced by what changes nothing (0 in a sum, 1 in a product, -inf in a maximum), and not counted. The median and
the quantiles without nan are in quantile.py.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu import functions as f
from jt_edu.dtypes import float32, float64, real_of
from jt_edu.errors import ShapeError
from jt_edu.ops.create import arange
from jt_edu.ops.reduce import (
    as_floats,
    check_order,
    count_of,
    first_where,
    max,
    min,
    pick_axes,
    pick_correction,
    prod,
    root,
    squared,
    sum,
)  # fmt: skip
from jt_edu.ops.view import axis_of
from jt_edu.var import Var, as_var, method


def without_nan(x: Var, value: float) -> Var:
    """x, with `value` in place of nan."""
    return x.where_not(x.apply(f.ISNAN), value) if x.dtype.is_float else x


def _number_of(x: Var, axes: Any, keep: bool) -> Var:
    """How many are not nan, as float64 (a count, or what is divided by)."""
    return sum((x.apply(f.ISNAN) == 0).cast(float64), axes, keep)


@method
def nansum(
    x: Any, dims: Any = None, keepdims: bool = False, dtype: Any = None, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Sum of what is not nan; 0 if all is.

    Example:
        >>> nansum(array([1.0, math.nan, 2.0])).item()
        3.0
    """
    axes, keep = pick_axes("nansum", dims, dim, axis, keepdims, keepdim)
    return sum(without_nan(as_var(x), 0), axes, keep, dtype)


@method
def nanprod(
    x: Any, dims: Any = None, keepdims: bool = False, dtype: Any = None, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Product of what is not nan; 1 if all is.

    Example:
        >>> nanprod(array([3.0, math.nan, 2.0])).item()
        6.0
    """
    axes, keep = pick_axes("nanprod", dims, dim, axis, keepdims, keepdim)
    return prod(without_nan(as_var(x), 1), axes, keep, dtype)


@method
def nanmean(
    x: Any, dims: Any = None, keepdims: bool = False, dtype: Any = None, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Mean of what is not nan; nan if all is.

    Example:
        >>> nanmean(array([1.0, math.nan, 2.0])).item()
        1.5
    """
    axes, keep = pick_axes("nanmean", dims, dim, axis, keepdims, keepdim)
    floats = as_floats(as_var(x) if dtype is None else as_var(x).cast(dtype))
    wide = floats.cast(float32) if floats.dtype.is_half else floats
    total = sum(without_nan(wide, 0), axes, keep)
    return (total / _number_of(wide, axes, keep)).cast(floats.dtype)


@method
def nanvar(
    x: Any, dims: Any = None, keepdims: bool = False, unbiased: bool = False, *, correction: Any = None,
    ddof: Any = None, dim: Any = None, axis: Any = None, keepdim: bool = False,
) -> Var:  # fmt: skip
    """Variance of what is not nan; the arguments are those of `var`. nan where no more is left than the correction.

    Example:
        >>> nanvar(array([1.0, math.nan, 3.0])).item()
        1.0
    """
    axes, keep = pick_axes("nanvar", dims, dim, axis, keepdims, keepdim)
    floats = as_floats(as_var(x))
    wide = floats.cast(float32) if floats.dtype.is_half else floats
    away = (wide - nanmean(wide, axes, True)).where_not(wide.apply(f.ISNAN), 0)
    left = _number_of(wide, axes, keep) - pick_correction("nanvar", unbiased, correction, ddof)
    return (sum(squared(away), axes, keep) / left.where_not(left <= 0, math.nan)).cast(real_of(floats.dtype))


@method
def nanstd(
    x: Any, dims: Any = None, keepdims: bool = False, unbiased: bool = False, *, correction: Any = None,
    ddof: Any = None, dim: Any = None, axis: Any = None, keepdim: bool = False,
) -> Var:  # fmt: skip
    """Square root of `nanvar`.

    Example:
        >>> nanstd(array([1.0, math.nan, 3.0])).item()
        1.0
    """
    axes, keep = pick_axes("nanstd", dims, dim, axis, keepdims, keepdim)
    return root(nanvar(x, axes, keep, unbiased, correction=correction, ddof=ddof), 2)


@method
def nanmax(
    x: Any, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Largest of what is not nan; nan if all is.

    Example:
        >>> nanmax(array([1.0, math.nan, 2.0])).item()
        2.0
    """
    axes, keep = pick_axes("nanmax", dims, dim, axis, keepdims, keepdim)
    return _extremum(as_var(x), "nanmax", axes, keep)


@method
def nanmin(
    x: Any, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Smallest of what is not nan; nan if all is.

    Example:
        >>> nanmin(array([1.0, math.nan, 2.0])).item()
        1.0
    """
    axes, keep = pick_axes("nanmin", dims, dim, axis, keepdims, keepdim)
    return _extremum(as_var(x), "nanmin", axes, keep)


def _extremum(x: Var, name: str, axes: Any, keep: bool) -> Var:
    check_order(name, x)
    if count_of(x, axes, name) == 0:
        raise ShapeError(f"{name} of nothing is not a number", f"shape {x.shape}, axes {axes}", "a Var with elements")
    low = name == "nanmax"
    best = (max if low else min)(without_nan(x, -math.inf if low else math.inf), axes, keep)
    return best.where_not(_number_of(x, axes, keep) == 0, math.nan) if x.dtype.is_float else best


@method
def nanargmax(x: Any, dim: Any = None, keepdims: bool = False, *, axis: Any = None, keepdim: bool = False) -> Var:
    """Position of the largest number that is not nan, the first if there are several; all nan raises when it runs.

    Example:
        >>> nanargmax(array([1.0, math.nan, 2.0])).item()
        2
    """
    return _position(as_var(x), nanmax, "nanargmax", *pick_axes("nanargmax", dim, axis, None, keepdims, keepdim))


@method
def nanargmin(x: Any, dim: Any = None, keepdims: bool = False, *, axis: Any = None, keepdim: bool = False) -> Var:
    """Position of the smallest number that is not nan, the first if there are several; all nan raises when it runs.

    Example:
        >>> nanargmin(array([1.0, math.nan, 2.0])).item()
        0
    """
    return _position(as_var(x), nanmin, "nanargmin", *pick_axes("nanargmin", dim, axis, None, keepdims, keepdim))


def _position(x: Var, best: Any, name: str, dim: Any, keep: bool) -> Var:
    """nan equals nothing: where all is nan the position is the length of the axis, and reading there raises."""
    flat = x.reshape(-1) if dim is None else x
    axis = axis_of(name, 0 if dim is None else dim, flat.ndim)
    found = arange(flat.shape[axis])[first_where(flat == best(flat, axis, True), axis, keep)]
    return found.reshape((1,) * x.ndim) if dim is None and keep else found
