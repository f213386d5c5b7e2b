"""Reductions: many numbers become one. Each is a ReindexReduce whose index leaves axes out.

    sum, mean, prod, max, min, any, all, var, std, argmax, argmin, logsumexp, norm

`dim`, `dims` and `axis` mean the same, so do `keepdim` and `keepdims`; without them everything is reduced to shape ().
`max(x, dim)` answers with the values alone, as Jittor does; the positions are `argmax(x, dim)`.
"""

from __future__ import annotations

import math
from builtins import max as larger  # `max` is ours, below
from functools import lru_cache
from typing import Any

from jt_edu import functions as f
from jt_edu.dtypes import as_dtype, bool_, float32, float64, float_of, int64, real_of, sum_of
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
        raise ArgumentError(f"{name} takes its axes once", f"{' and '.join(map(repr, given))} for dims, dim and axis")
    for keep in (keepdims, keepdim):
        if keep not in (True, False):
            raise ArgumentError(f"{name} keeps the reduced axes, or does not", f"keepdims={keep!r}", "True or False")
    return (given[0] if given else None), bool(keepdims or keepdim)


@method
def sum(
    x: Any, dims: Any = None, keepdims: bool = False, dtype: Any = None, *, dim: Any = None, axis: Any = None,
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
    v = as_var(x)
    return reduced(v.cast(sum_of(v.dtype) if dtype is None else as_dtype(dtype)), "sum", "add", axes, keep)


@method
def prod(
    x: Any, dims: Any = None, keepdims: bool = False, dtype: Any = None, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Product over axes; the arguments are those of `sum`.

    Example:
        >>> prod(array([2, 3, 4])).item()
        24
    """
    axes, keep = pick_axes("prod", dims, dim, axis, keepdims, keepdim)
    v = as_var(x)
    return reduced(v.cast(sum_of(v.dtype) if dtype is None else as_dtype(dtype)), "prod", "multiply", axes, keep)


@method
def mean(
    x: Any, dims: Any = None, keepdims: bool = False, dtype: Any = None, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """Arithmetic mean over axes: sum / count. Whole numbers give float64; the mean of nothing is nan, as in NumPy.

    Halves are added up as float32: the mean of numbers that float16 can hold is one, their sum need not be.

    Example:
        >>> mean(array([1.0, 2.0, 6.0])).item()
        3.0
    """
    axes, keep = pick_axes("mean", dims, dim, axis, keepdims, keepdim)
    floats = as_floats(as_var(x) if dtype is None else as_var(x).cast(dtype))
    total = reduced(_unhalved(floats), "sum", "add", axes, keep)
    return (total / float(count_of(floats, axes, "mean"))).cast(floats.dtype)


def as_floats(x: Var) -> Var:
    """x, or whole numbers and bools as float64: what means, variances and the like are taken of."""
    return x if x.dtype.is_float else x.cast(float64)


def _unhalved(x: Var) -> Var:
    return x.cast(float32) if x.dtype.is_half else x


def count_of(x: Var, axes: Any, name: str) -> int:
    """How many numbers are reduced to one."""
    return math.prod(x.shape[k] for k in axes_of(name, axes, x.ndim))


def _extremum(x: Var, name: str, reducer: str, axes: Any, keep: bool) -> Var:
    check_order(name, x)
    if count_of(x, axes, name) == 0:
        raise ShapeError(f"{name} of nothing is not a number", f"shape {x.shape}, axes {axes}", "a Var with elements")
    return reduced(x, name, reducer, axes, keep)


def check_order(name: str, x: Var) -> None:
    """Complex numbers are neither smaller nor larger than each other."""
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} needs numbers that have an order", f"dtype {x.dtype}", "x.abs()")


@method
def max(
    x: Any, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Largest number along axes; nan if there is one. Equal largest numbers share the gradient. `amax` is the same.

    Example:
        >>> max(array([[1, 5], [7, 2]]), dims=1).numpy()
        array([5, 7])
    """
    axes, keep = pick_axes("max", dims, dim, axis, keepdims, keepdim)
    return _extremum(as_var(x), "max", "maximum", axes, keep)


@method
def min(
    x: Any, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Smallest number along axes; nan if there is one. Equal smallest numbers share the gradient. `amin` is the same.

    Example:
        >>> min(array([[1, 5], [7, 2]])).item()
        1
    """
    axes, keep = pick_axes("min", dims, dim, axis, keepdims, keepdim)
    return _extremum(as_var(x), "min", "minimum", axes, keep)


amax, amin = method(max, "amax"), method(min, "amin")


@method
def any(
    x: Any, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Whether any element is true (not 0).

    Example:
        >>> any(array([0, 2])).item()
        True
    """
    axes, keep = pick_axes("any", dims, dim, axis, keepdims, keepdim)
    return reduced(as_var(x).cast(bool_), "any", "maximum", axes, keep)


@method
def all(
    x: Any, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """Whether all elements are true (not 0).

    Example:
        >>> all(array([0, 2])).item()
        False
    """
    axes, keep = pick_axes("all", dims, dim, axis, keepdims, keepdim)
    return reduced(as_var(x).cast(bool_), "all", "minimum", axes, keep)


@method
def var(
    x: Any, dims: Any = None, keepdims: bool = False, unbiased: bool = False, *, correction: Any = None,
    ddof: Any = None, dim: Any = None, axis: Any = None, keepdim: bool = False,
) -> Var:  # fmt: skip
    """Mean squared distance from the mean, taken in two passes so that a large mean costs no digits.

        var = sum(|x - mean|**2) / (n - correction)

    Args:
        unbiased: a correction of 1. Without one the correction is 0, as in NumPy; PyTorch's default is 1.
        correction, ddof: another correction; two names of the same, PyTorch's and NumPy's.

    Example:
        >>> var(array([1.0, 2.0, 3.0])).item() == 2 / 3, var(array([1.0, 2.0, 3.0]), unbiased=True).item()
        (False, 1.0)
    """
    axes, keep = pick_axes("var", dims, dim, axis, keepdims, keepdim)
    floats = as_floats(as_var(x))
    wide = _unhalved(floats)
    away = wide - mean(wide, axes, True)
    total = reduced(squared(away), "sum", "add", axes, keep)
    left = count_of(floats, axes, "var") - pick_correction("var", unbiased, correction, ddof)
    return (total / float(larger(left, 0))).cast(real_of(floats.dtype))


def squared(x: Var) -> Var:
    """|x|**2."""
    return x.apply(f.ABSOLUTE) ** 2 if x.dtype.kind == "c" else x * x


def pick_correction(name: str, unbiased: bool, correction: Any, ddof: Any) -> float:
    """What is taken off the count: the one of `unbiased`, `correction` and `ddof` that was given."""
    given = [c for c in (correction, ddof) if c is not None] + ([1] if unbiased else [])
    if len(given) > 1:
        raise ArgumentError(f"{name} takes one of unbiased, correction and ddof", f"the corrections {given}")
    if given and not isinstance(given[0], (int, float)):
        raise ArgumentError(f"{name} corrects the count by a number", repr(given[0]), "correction=1")
    return given[0] if given else 0


@method
def std(
    x: Any, dims: Any = None, keepdims: bool = False, unbiased: bool = False, *, correction: Any = None,
    ddof: Any = None, dim: Any = None, axis: Any = None, keepdim: bool = False,
) -> Var:  # fmt: skip
    """Square root of the variance; the arguments are those of `var`. Where it is 0, its gradient is 0, as in PyTorch.

    Example:
        >>> std(array([1.0, 3.0])).item()
        1.0
    """
    axes, keep = pick_axes("std", dims, dim, axis, keepdims, keepdim)
    return root(var(x, axes, keep, unbiased, correction=correction, ddof=ddof), 2)


@method
def logsumexp(
    x: Any, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None, keepdim: bool = False
) -> Var:
    """log(sum(exp(x))), shifted by the maximum so that nothing overflows; of nothing it is -inf.

    Example:
        >>> logsumexp(array([1000.0, 1000.0])).item() == 1000 + 0.6931472
        False
    """
    axes, keep = pick_axes("logsumexp", dims, dim, axis, keepdims, keepdim)
    v = as_var(x)
    check_order("logsumexp", v)
    floats = v.cast(float_of(v.dtype))
    if count_of(v, axes, "logsumexp") == 0:
        return reduced(floats, "sum", "add", axes, keep).apply(f.LOG)
    top = finite(max(floats, axes, True).detach())
    total = reduced((floats - top).apply(f.EXP), "sum", "add", axes, True).apply(f.LOG) + top
    kept = reduce_op("sum", "add", v.shape, axes_of("logsumexp", axes, v.ndim), keep).shape
    return total if keep else total.reshape(kept)


def finite(x: Var) -> Var:
    """x, with 0 in place of infinities, so that inf - inf does not arise."""
    return x.where_not(x.apply(f.ISINF), 0)


@method
def argmax(x: Any, dim: Any = None, keepdims: bool = False, *, axis: Any = None, keepdim: bool = False) -> Var:
    """Position (int64) of the largest number along an axis, the first if there are several; of all without an axis.

    Example:
        >>> argmax(array([[1, 5, 5], [7, 2, 0]]), dim=1).numpy()
        array([1, 0])
    """
    return position(as_var(x), "argmax", "maximum", *pick_axes("argmax", dim, axis, None, keepdims, keepdim))


@method
def argmin(x: Any, dim: Any = None, keepdims: bool = False, *, axis: Any = None, keepdim: bool = False) -> Var:
    """Position (int64) of the smallest number along an axis, the first if there are several.

    Example:
        >>> argmin(array([4, 1, 3])).item()
        1
    """
    return position(as_var(x), "argmin", "minimum", *pick_axes("argmin", dim, axis, None, keepdims, keepdim))


def position(x: Var, name: str, reducer: str, dim: Any, keep: bool) -> Var:
    """The smallest position whose number is the extremum (or nan, which NumPy counts as the extremum)."""
    flat = x.reshape(-1) if dim is None else x
    axis = axis_of(name, 0 if dim is None else dim, flat.ndim)
    best = _extremum(flat, name, reducer, (axis,), True)
    here = (flat == best).apply(f.BITWISE_OR, flat.apply(f.ISNAN)) if flat.dtype.is_float else flat == best
    first = first_where(here, axis, keep)
    return first.reshape((1,) * x.ndim) if dim is None and keep else first


def first_where(here: Var, axis: int, keep: bool) -> Var:
    """The first position along an axis where `here` is true; the length of the axis if there is none."""
    number = Var._of(Node(COUNTERS[axis], (), here.shape, int64))
    return reduced(number.where_not(here == 0, here.shape[axis]), "first", "minimum", (axis,), keep)


@method
def norm(
    x: Any, p: Any = 2, dims: Any = None, keepdims: bool = False, *, dim: Any = None, axis: Any = None,
    keepdim: bool = False,
) -> Var:  # fmt: skip
    """(sum |x|**p)**(1/p): length of vectors, or of all numbers as one vector.

    Args:
        p: any number; inf is the largest magnitude, -inf the smallest, 0 the count of those that are not 0, and "fro"
            the same as 2.

    Raises:
        ArgumentError: p="nuc", which is no sum of powers of elements but of singular values.

    Example:
        >>> norm(array([3.0, 4.0])).item()
        5.0
    """
    axes, keep = pick_axes("norm", dims, dim, axis, keepdims, keepdim)
    order = _order(p)
    floats = as_floats(as_var(x).apply(f.ABSOLUTE))
    if math.isinf(order):
        return max(floats, axes, keep) if order > 0 else min(floats, axes, keep)
    size = _unhalved(floats)
    if order == 0:
        total = sum((size != 0).cast(size.dtype), axes, keep)
    elif order == 1:
        total = sum(size, axes, keep)
    else:
        total = root(sum(size * size if order == 2 else size**order, axes, keep), order)
    return total.cast(floats.dtype)


def _order(p: Any) -> float:
    if isinstance(p, (int, float)) and not math.isnan(p):
        return float(p)
    if p == "fro":
        return 2.0
    raise ArgumentError("the order of a norm is a number, inf, -inf or 'fro'", repr(p), "jt.linalg for singular values")


def root(x: Var, p: float) -> Var:
    """x ** (1 / p), with gradient 0 where x is 0, as in PyTorch: the length of a zero vector has no direction."""
    at_zero = 0.0 if p > 0 else math.inf
    safe = x.where_not(x == 0, 1)
    return (safe.apply(f.SQRT) if p == 2 else safe ** (1 / p)).where_not(x == 0, at_zero)
