"""Differences and areas: derivatives and integrals of what is known at points.

diff, ediff1d       one number and the next       gradient               the slope at each point
trapezoid           the area below the points     cumulative_trapezoid   the area so far
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import bool_
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ops.arguments import axes_of, axis_of, same_words, whole
from jt_edu.ops.concat import concat
from jt_edu.ops.cumulative import cumsum
from jt_edu.ops.dtype_rules import as_floats
from jt_edu.ops.reduce import sum
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import apart
from jt_edu.variable.var import Var, as_var

__all__ = ["cumulative_trapezoid", "diff", "ediff1d", "gradient", "trapezoid", "trapz"]


@var_function()
def diff(x: Any, n: int = 1, dim: Any = None, prepend: Any = None, append: Any = None) -> Var:
    """out[i] = x[i + 1] - x[i] along an axis (the last one by default), n times; for bools whether they differ.

    Args:
        prepend, append: numbers or arrays that stand before and behind x along the axis, unless n is 0.

    Example:
        >>> diff(array([1, 4, 9, 16]), n=2).numpy()
        array([2, 2])
    """
    v, times = as_var(x), whole("diff", "n", n, 0)
    at = axis_of("diff", -1 if dim is None else dim, v.ndim)
    if times == 0:
        return apart(x, v)
    parts = [_beside(v, prepend, at), v, _beside(v, append, at)]
    found = concat([p for p in parts if p is not None], at) if len(parts) > 1 else v
    for _ in range(min(times, found.shape[at])):  # then nothing is left
        after, here = _part(found, at, slice(1, None)), _part(found, at, slice(None, -1))
        found = after != here if found.dtype is bool_ else after - here
    return found


def _beside(x: Var, value: Any, axis: int) -> Var | None:
    if value is None:
        return None
    v = as_var(value, x.dtype)
    return v.stretched((*x.shape[:axis], 1, *x.shape[axis + 1 :])) if v.ndim == 0 else v


def _part(x: Var, axis: int, part: Any) -> Var:
    """A slice along one axis."""
    return x[(*[slice(None)] * axis, part)]


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Var:
    """Differences of neighbours in the flattened x, with numbers before and behind them.

    Example:
        >>> ediff1d(array([1, 2, 4]), to_end=array([9]), to_begin=0).numpy()
        array([0, 1, 2, 9])
    """
    v = as_var(x).reshape(-1)
    between = diff(v) if len(v) else v
    parts = [as_var(p, v.dtype).cast(v.dtype).reshape(-1) for p in (to_begin, between, to_end) if p is not None]
    return concat(parts)


@same_words
def gradient(x: Any, *spacing: Any, dim: Any = None, edge_order: int = 1) -> Any:
    """Slopes at the points, by central differences inside and one-sided ones at both ends.

    Args:
        spacing: nothing (1), one distance for all axes, or for each axis a distance or the coordinates of its points.
        dim: one axis or several; all by default.
        edge_order: 1 or 2, the accuracy at the ends.

    Returns:
        A Var where there is one axis, a list of Vars where there are more, as in NumPy.

    Example:
        >>> gradient(array([1.0, 2.0, 4.0, 7.0])).numpy()
        array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    v = as_floats(as_var(x))
    axes = axes_of("gradient", dim, v.ndim)
    order = whole("gradient", "edge_order", edge_order, 1, 2)
    if len(spacing) not in (0, 1, len(axes)):
        raise ArgumentError(f"gradient takes the spacing of {len(axes)} axes", f"{len(spacing)} of them", "one for all")
    steps = list(spacing) if len(spacing) == len(axes) else list(spacing or (1.0,)) * len(axes)
    slopes = [_slope(v, k, _distances(v, k, s), as_var(s).ndim == 0, order) for k, s in zip(axes, steps, strict=True)]
    return slopes[0] if len(slopes) == 1 else slopes


def _distances(x: Var, axis: int, spacing: Any) -> Var:
    """Distances between neighbours, shaped to stand beside x."""
    n = x.shape[axis]
    s = as_var(spacing, x.dtype).cast(x.dtype)
    if s.ndim == 0:
        s = s.stretched((n - 1,))
    elif s.shape == (n,):
        s = diff(s)
    else:
        raise ShapeError(f"gradient takes a distance, or {n} coordinates for axis {axis}", f"shape {s.shape}")
    return s.reshape(tuple(n - 1 if k == axis else 1 for k in range(x.ndim)))


def _slope(x: Var, axis: int, h: Var, even: bool, edge: int) -> Var:
    if x.shape[axis] < edge + 1:
        raise ShapeError(f"gradient needs {edge + 1} points along each axis", f"shape {x.shape}, axis {axis}")
    rise = (diff(x, dim=axis)) / h  # one slope between each two neighbours
    first, last = _part(rise, axis, slice(0, 1)), _part(rise, axis, slice(-1, None))
    p, q = _part(h, axis, slice(None, -1)), _part(h, axis, slice(1, None))
    left, right = _part(rise, axis, slice(None, -1)), _part(rise, axis, slice(1, None))
    inside = (left * q + right * p) / (p + q)
    if even:  # the point itself does not count
        inside = (_part(x, axis, slice(2, None)) - _part(x, axis, slice(None, -2))) / (p + q)
    if edge == 2:  # the parabola through the last three points
        first = first + (first - _part(rise, axis, slice(1, 2))) * _ratio(h, axis, 0, 1)
        last = last + (last - _part(rise, axis, slice(-2, -1))) * _ratio(h, axis, -1, -2)
    return concat([first, inside, last], axis)


def _ratio(h: Var, axis: int, outer: int, inner: int) -> Var:
    a, b = (_part(h, axis, slice(k, k + 1 or None)) for k in (outer, inner))
    return a / (a + b)


@same_words
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, dim: Any = None) -> Var:
    """Area below points that are joined by lines: sum((y[i] + y[i + 1]) / 2 * (x[i + 1] - x[i])). `trapz` is the same.

    Args:
        x: coordinates, of the shape of y or one for each point along the axis; without them the points are dx apart.
        dim: the axis, the last one by default.

    Example:
        >>> trapezoid(array([1.0, 2.0, 3.0])).item()
        4.0
    """
    strips, at = _strips("trapezoid", y, x, dx, dim)
    return sum(strips, at)


trapz = trapezoid


@same_words
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, dim: Any = None, initial: Any = None) -> Var:
    """The area of `trapezoid` up to each point but the first; or to the first as well, where it is `initial`.

    Example:
        >>> cumulative_trapezoid(array([1.0, 2.0, 3.0])).numpy()
        array([1.5, 4. ], dtype=float32)
    """
    name = "cumulative_trapezoid"
    strips, at = _strips(name, y, x, dx, dim)
    areas = cumsum(strips, at)
    start = _beside(areas, initial, at)
    return areas if start is None else concat([start, areas], at)


def _strips(name: str, y: Any, x: Any, dx: Any, dim: Any) -> tuple[Var, int]:
    v = as_floats(as_var(y))
    at = axis_of(name, -1 if dim is None else dim, v.ndim)
    middle = (_part(v, at, slice(1, None)) + _part(v, at, slice(None, -1))) / 2
    if x is None:
        return middle * as_var(dx, v.dtype), at
    points = as_var(x)
    if points.ndim == 1 and v.ndim > 1:
        points = points.reshape(tuple(-1 if k == at else 1 for k in range(v.ndim)))
    if points.ndim != v.ndim or points.shape[at] != v.shape[at]:
        raise ShapeError(f"{name} takes one x for each y along axis {at}", f"x {as_var(x).shape}, y {v.shape}")
    return middle * diff(points, dim=at), at
