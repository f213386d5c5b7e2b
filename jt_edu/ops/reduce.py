"""Reductions: many numbers become one. Each is a ReindexReduce whose index leaves axes out.

    sum, mean, prod, max, min, any, all, var, std, argmax, argmin, logsumexp, norm

`dim`, `dims` and `axis` mean the same, so do `keepdim` and `keepdims`; without them everything is reduced to shape ().
"""

from __future__ import annotations

import math
from builtins import max as larger  # `max` is ours, below
from functools import lru_cache
from typing import Any

from jt_edu import functions as f
from jt_edu.dtypes import as_dtype, bool_, float64, int64, sum_of
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.graph import Node, Shape
from jt_edu.index import as_index, counter
from jt_edu.meta import COUNTERS, ReindexReduce, reindex_reduce
from jt_edu.ops.view import axes_of, axis_of
from jt_edu.var import Var, as_var, method


@lru_cache(maxsize=1 << 14)
def reduce_op(name: str, reducer: str, shape: Shape, gone: tuple[int, ...], keepdims: bool) -> ReindexReduce:
    """Leave out the axes `gone`, or keep them with length 1."""
    kept = [(counter(k), n) for k, n in enumerate(shape) if k not in gone]
    if keepdims:
        kept = [(as_index(0), 1) if k in gone else (counter(k), n) for k, n in enumerate(shape)]
    return reindex_reduce(name, reducer, shape, tuple(n for _, n in kept), tuple(w for w, _ in kept))


def reduced(x: Var, name: str, reducer: str, dims: Any, keepdims: bool) -> Var:
    """Reduce the axes `dims` of x."""
    gone = axes_of(name, dims, x.ndim)
    op = reduce_op(name, reducer, x.shape, gone, bool(keepdims))
    return Var._of(Node(op, (x.node,), op.shape, x.node.dtype))


def pick_axes(name: str, dims: Any, dim: Any, axis: Any, keepdims: bool, keepdim: bool) -> tuple[Any, bool]:
    """The one of `dims`, `dim`, `axis` that was given."""
    given = [d for d in (dims, dim, axis) if d is not None]
    if len(given) > 1:
        raise ArgumentError(f"{name} takes its axes once", "two of dims, dim and axis")
    return (given[0] if given else None), bool(keepdims or keepdim)


@method
def sum(
    x: Var, dims: Any = None, keepdims: bool = False, dtype: Any = None, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Sum over axes: out = x1 + x2 + ...; accumulated in float64, so that many small numbers add up.

    Args:
        dims: an axis, several, or None for all.
        keepdims: keep the summed axes, with length 1.
        dtype: of the result; by default that of x, and 64 bits for whole numbers and bools, as in NumPy.

    Example:
        >>> sum(array([[1, 2], [3, 4]]), dims=0).numpy()
        array([4, 6])
    """
    axes, keep = pick_axes("sum", dims, dim, axis, keepdims, keepdim)
    return reduced(x.cast(sum_of(x.dtype) if dtype is None else as_dtype(dtype)), "sum", "add", axes, keep)


@method
def prod(
    x: Var, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Product over axes.

    Example:
        >>> prod(array([2, 3, 4])).item()
        24
    """
    axes, keep = pick_axes("prod", dims, dim, axis, keepdims, keepdim)
    return reduced(x.cast(sum_of(x.dtype)), "prod", "multiply", axes, keep)


@method
def mean(
    x: Var, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Arithmetic mean over axes: sum / count. Whole numbers give float64; the mean of nothing is nan, as in NumPy.

    Example:
        >>> mean(array([1.0, 2.0, 6.0])).item()
        3.0
    """
    axes, keep = pick_axes("mean", dims, dim, axis, keepdims, keepdim)
    floats = x if x.dtype.is_float else x.cast(float64)
    return reduced(floats, "sum", "add", axes, keep) / float(_count(x, axes, "mean"))


def _count(x: Var, axes: Any, name: str) -> int:
    return math.prod(x.shape[k] for k in axes_of(name, axes, x.ndim))


def _extremum(x: Var, name: str, reducer: str, axes: Any, keep: bool) -> Var:
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} needs numbers that have an order", f"dtype {x.dtype}", "x.abs()")
    if _count(x, axes, name) == 0:
        raise ShapeError(f"{name} of nothing is not a number", f"shape {x.shape}, axes {axes}", "a Var with elements")
    return reduced(x, name, reducer, axes, keep)


@method
def max(
    x: Var, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Largest number along axes; nan if there is one. Equal largest numbers share the gradient.

    Example:
        >>> max(array([[1, 5], [7, 2]]), dims=1).numpy()
        array([5, 7])
    """
    axes, keep = pick_axes("max", dims, dim, axis, keepdims, keepdim)
    return _extremum(x, "max", "maximum", axes, keep)


@method
def min(
    x: Var, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Smallest number along axes; nan if there is one.

    Example:
        >>> min(array([[1, 5], [7, 2]])).item()
        1
    """
    axes, keep = pick_axes("min", dims, dim, axis, keepdims, keepdim)
    return _extremum(x, "min", "minimum", axes, keep)


@method
def any(
    x: Var, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Whether any element is true (not 0).

    Example:
        >>> any(array([0, 2])).item()
        True
    """
    axes, keep = pick_axes("any", dims, dim, axis, keepdims, keepdim)
    return reduced(x.cast(bool_), "any", "maximum", axes, keep)


@method
def all(
    x: Var, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Whether all elements are true (not 0).

    Example:
        >>> all(array([0, 2])).item()
        False
    """
    axes, keep = pick_axes("all", dims, dim, axis, keepdims, keepdim)
    return reduced(x.cast(bool_), "all", "minimum", axes, keep)


@method
def var(
    x: Var, dims: Any = None, keepdims: bool = False, unbiased: bool = False, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Mean squared distance from the mean, taken in two passes so that a large mean costs no digits.

        var = sum((x - mean)**2) / n,   n - 1 if `unbiased`

    Example:
        >>> var(array([1.0, 2.0, 3.0])).item() == 2 / 3, var(array([1.0, 2.0, 3.0]), unbiased=True).item()
        (False, 1.0)
    """
    axes, keep = pick_axes("var", dims, dim, axis, keepdims, keepdim)
    floats = x if x.dtype.is_float else x.cast(float64)
    away = floats - mean(floats, axes, True)
    squares = away * away if x.dtype.kind != "c" else away.apply(f.ABSOLUTE) ** 2
    return reduced(squares, "sum", "add", axes, keep) / float(larger(_count(x, axes, "var") - bool(unbiased), 0))


@method
def std(
    x: Var, dims: Any = None, keepdims: bool = False, unbiased: bool = False, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Square root of the variance.

    Example:
        >>> std(array([1.0, 3.0])).item()
        1.0
    """
    axes, keep = pick_axes("std", dims, dim, axis, keepdims, keepdim)
    return _root(var(x, axes, keep, unbiased), 2)


@method
def logsumexp(
    x: Var, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """log(sum(exp(x))), shifted by the maximum so that nothing overflows.

    Example:
        >>> logsumexp(array([1000.0, 1000.0])).item() == 1000 + 0.6931472
        False
    """
    axes, keep = pick_axes("logsumexp", dims, dim, axis, keepdims, keepdim)
    top = finite(max(x, axes, True).detach())
    total = reduced((x - top).apply(f.EXP), "sum", "add", axes, True).apply(f.LOG) + top
    return (
        total
        if keep
        else total.reshape(reduce_op("sum", "add", x.shape, axes_of("logsumexp", axes, x.ndim), False).shape)
    )


def finite(x: Var) -> Var:
    """x, with 0 in place of infinities, so that inf - inf does not arise."""
    return x.where_not(x.apply(f.ISINF), 0)


@method
def argmax(x: Var, dim: Any = None, keepdims: bool = False, *, axis: Any = None, keepdim: bool = False) -> Var:
    """Position (int64) of the largest number along an axis, the first if there are several; of all without an axis.

    Example:
        >>> argmax(array([[1, 5, 5], [7, 2, 0]]), dim=1).numpy()
        array([1, 0])
    """
    return _position(x, "argmax", "maximum", *pick_axes("argmax", dim, axis, None, keepdims, keepdim))


@method
def argmin(x: Var, dim: Any = None, keepdims: bool = False, *, axis: Any = None, keepdim: bool = False) -> Var:
    """Position (int64) of the smallest number along an axis, the first if there are several.

    Example:
        >>> argmin(array([4, 1, 3])).item()
        1
    """
    return _position(x, "argmin", "minimum", *pick_axes("argmin", dim, axis, None, keepdims, keepdim))


def _position(x: Var, name: str, reducer: str, dim: Any, keep: bool) -> Var:
    """The smallest position whose number is the extremum (or nan, which NumPy counts as the extremum)."""
    flat = x.reshape(-1) if dim is None else x
    axis = axis_of(name, 0 if dim is None else dim, flat.ndim)
    best = _extremum(flat, name, reducer, (axis,), True)
    here = (flat == best).apply(f.BITWISE_OR, flat.apply(f.ISNAN)) if flat.dtype.is_float else flat == best
    number = Var._of(Node(COUNTERS[axis], (), flat.shape, int64))
    first = reduced(number.where_not(here == 0, flat.shape[axis]), name, "minimum", (axis,), keep)
    return first.reshape((1,) * x.ndim) if dim is None and keep else first


@method
def norm(
    x: Var,
    p: float = 2,
    dims: Any = None,
    keepdims: bool = False,
    *,
    dim: Any = None,
    axis: Any = None,
    keepdim: bool = False,
) -> Var:
    """(sum |x|**p)**(1/p): length of vectors; p may be inf, -inf, 0 (count of non-zeros) or any number.

    Example:
        >>> norm(array([3.0, 4.0])).item()
        5.0
    """
    axes, keep = pick_axes("norm", dims, dim, axis, keepdims, keepdim)
    size = as_var(x).apply(f.ABSOLUTE)
    if p in (math.inf, -math.inf):
        return max(size, axes, keep) if p > 0 else min(size, axes, keep)
    if p == 0:
        return sum((size != 0).cast(size.dtype), axes, keep)
    if p == 1:
        return sum(size, axes, keep)
    total = sum(size * size if p == 2 else size**p, axes, keep)
    return _root(total, p)


def _root(x: Var, p: float) -> Var:
    """x ** (1 / p), with gradient 0 where x is 0, as in PyTorch: the length of a zero vector has no direction."""
    safe = x.where_not(x == 0, 1)
    return (safe.apply(f.SQRT) if p == 2 else safe ** (1 / p)).where_not(x == 0, 0)
