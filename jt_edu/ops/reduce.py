"""Reductions: many numbers become one. Each is a ReindexReduce whose index leaves axes out.

    sum, mean, prod, max, min, any, all, var, std, argmax, argmin, norm

`dim`, `dims` and `axis` mean the same, so do `keepdim` and `keepdims`; without them everything is reduced to shape ().
`max(x, dim)` returns the values alone, as Jittor does; the positions are `argmax(x, dim)`.
"""

from __future__ import annotations

import math
from builtins import max as larger  # `max` is ours, below
from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import as_dtype, bool_, float64, int64, promote, real_of, sum_of
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import constant, elementwise
from jt_edu.ir.index_expr import as_index, counter
from jt_edu.ir.meta_ops import Elementwise, ReindexReduce, reindex_reduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import unary
from jt_edu.ops.arguments import axes_of, axis_of, choice, listed_axes, number, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import as_floats, check_order, widened
from jt_edu.ops.var_function import var_function
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["all", "amax", "amin", "any", "argmax", "argmin", "max", "mean", "min", "norm", "prod", "std", "sum", "var"]


@lru_cache(maxsize=1 << 14)
def reduce_op(name: str, reducer: str, shape: Shape, gone: tuple[int, ...], keepdims: bool) -> ReindexReduce:
    """Leave out the axes `gone`, or keep them with length 1."""
    kept = [(counter(k), n) for k, n in enumerate(shape) if k not in gone]
    if keepdims:
        kept = [(as_index(0), 1) if k in gone else (counter(k), n) for k, n in enumerate(shape)]
    return reindex_reduce(name, reducer, shape, tuple(n for _, n in kept), tuple(w for w, _ in kept))


def reduced(x: Var, name: str, reducer: str, dims: Any, keepdims: bool) -> Var:
    """Reduce the axes `dims` of x."""
    node = x.node
    op = reduce_op(name, reducer, node.shape, axes_of(name, dims, len(node.shape)), bool(keepdims))
    return Var._of(Node(op, (node,), op.shape, node.dtype))


@var_function(castable)
def sum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Var:
    """Sum over axes: out = x1 + x2 + ...; accumulated in float64, so that many small numbers add up.

    Args:
        dim: an axis, several, or None for all.
        keepdim: keep the summed axes, with length 1.
        dtype: of the result; by default that of x, and 64 bits for whole numbers and bools, as in NumPy.

    Example:
        >>> sum(array([[1, 2], [3, 4]]), dims=0).numpy()
        array([4, 6])
    """
    keep = yes_or_no("sum", "keepdim", keepdim)
    v = as_var(x)
    return reduced(v.cast(sum_of(v.dtype) if dtype is None else as_dtype(dtype)), "sum", "add", dim, keep)


@var_function(castable, template)
def prod(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Var:
    """Product over axes; the arguments are those of `sum`.

    Example:
        >>> prod(array([2, 3, 4])).item()
        24
    """
    keep = yes_or_no("prod", "keepdim", keepdim)
    v = as_var(x)
    return reduced(v.cast(sum_of(v.dtype) if dtype is None else as_dtype(dtype)), "prod", "multiply", dim, keep)


@var_function(castable, template)
def mean(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Var:
    """Arithmetic mean over axes: sum / count. Whole numbers give float64; the mean of nothing is nan, as in NumPy.

    Halves are added up as float32: the mean of numbers that float16 can hold is one, their sum need not be.

    Raises:
        DtypeError: `dtype` is none of floats.

    Example:
        >>> mean(array([1.0, 2.0, 6.0])).item()
        3.0
    """
    keep = yes_or_no("mean", "keepdim", keepdim)
    floats = averaged("mean", x, dtype)
    count = float(count_of(floats, dim, "mean"))
    return (reduced(widened(floats), "sum", "add", dim, keep) / count).cast(floats.dtype)


def averaged(name: str, x: Any, dtype: Any) -> Var:
    """x as the floats that a mean is taken of."""
    if dtype is not None and not as_dtype(dtype).is_float:
        raise DtypeError(f"a {name} is a float", f"dtype={as_dtype(dtype)}", f'x.{name}().cast("{as_dtype(dtype)}")')
    return as_floats(x if dtype is None else as_var(x).cast(dtype))


def count_of(x: Var, axes: Any, name: str) -> int:
    """How many numbers are reduced to one."""
    return math.prod(x.shape[k] for k in axes_of(name, axes, x.ndim))


@var_function(template)
def max(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Largest number along axes; nan if any is nan. Equal largest numbers share the gradient. `amax` is the same.

    Example:
        >>> max(array([[1, 5], [7, 2]]), dims=1).numpy()
        array([5, 7])
    """
    keep = yes_or_no("max", "keepdim", keepdim)
    return _extremum(as_var(x), "max", "maximum", dim, keep)


def _extremum(x: Var, name: str, reducer: str, axes: Any, keep: bool) -> Var:
    if isinstance(axes, Var) and axes.ndim:
        raise ArgumentError(f"{name} takes one Var", "a second one", f"jt.{reducer}(x, y)")
    check_order(name, x)
    if count_of(x, axes, name) == 0:
        raise ShapeError(f"{name} of nothing is not a number", f"shape {x.shape}, axes {axes}", "a Var with elements")
    return reduced(x, name, reducer, axes, keep)


@var_function(template)
def min(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Smallest number along axes; nan if any is nan. Equal smallest numbers share the gradient. `amin` is the same.

    Example:
        >>> min(array([[1, 5], [7, 2]])).item()
        1
    """
    keep = yes_or_no("min", "keepdim", keepdim)
    return _extremum(as_var(x), "min", "minimum", dim, keep)


amax, amin = method(max, "amax"), method(min, "amin")


@var_function(template)
def any(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Whether any element is true (not 0).

    Example:
        >>> any(array([0, 2])).item()
        True
    """
    keep = yes_or_no("any", "keepdim", keepdim)
    return reduced(as_var(x).cast(bool_), "any", "maximum", dim, keep)


@var_function(template)
def all(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Whether all elements are true (not 0).

    Example:
        >>> all(array([0, 2])).item()
        False
    """
    keep = yes_or_no("all", "keepdim", keepdim)
    return reduced(as_var(x).cast(bool_), "all", "minimum", dim, keep)


@var_function(castable, template)
def var(
    x: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = False, *, correction: Any = None, ddof: Any = None
) -> Var:
    """Mean squared distance from the mean, taken in two passes so that a large mean costs no digits.

        var = sum(|x - mean|**2) / (n - correction)

    Args:
        unbiased: a correction of 1. Without one the correction is 0, as in NumPy; PyTorch's default is 1.
        correction, ddof: another correction; two names of the same, PyTorch's and NumPy's.

    Example:
        >>> var(array([1.0, 3.0])).item(), var(array([1.0, 3.0]), unbiased=True).item()
        (1.0, 2.0)
    """
    keep = yes_or_no("var", "keepdim", keepdim)
    floats = as_floats(x)
    spread = _variance("var", widened(floats), dim, keep, pick_correction("var", unbiased, correction, ddof))
    return spread.cast(real_of(floats.dtype))


def _variance(name: str, x: Var, dim: Any, keep: bool, correction: float) -> Var:
    """The variance in the dtype of x, which is wide enough for squares."""
    count = float(larger(count_of(x, dim, name) - correction, 0))
    return reduced(squared(x - mean(x, dim, True)), "sum", "add", dim, keep) / count


def squared(x: Var) -> Var:
    """|x|**2."""
    return x.apply(f.ABSOLUTE) ** 2 if x.dtype.kind == "c" else x * x


def pick_correction(name: str, unbiased: bool, correction: Any, ddof: Any) -> float:
    """What is taken off the count: the one of `unbiased`, `correction` and `ddof` that was given."""
    one = [1] if yes_or_no(name, "unbiased", unbiased) else []
    given = [c for c in (correction, ddof) if c is not None] + one
    if len(given) > 1:
        raise ArgumentError(f"{name} takes one of unbiased, correction and ddof", f"the corrections {given}")
    return number(name, "correction", given[0]) if given else 0


@var_function(castable, template)
def std(
    x: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = False, *, correction: Any = None, ddof: Any = None
) -> Var:
    """Square root of the variance; the arguments are those of `var`. Where it is 0, its gradient is 0, as in PyTorch.

    Example:
        >>> std(array([1.0, 3.0])).item()
        1.0
    """
    keep = yes_or_no("std", "keepdim", keepdim)
    floats = as_floats(x)
    wide = floats.cast(promote(floats.dtype, float64))  # the square of a float32 need not be one, its root is
    spread = _variance("std", wide, dim, keep, pick_correction("std", unbiased, correction, ddof))
    return root(spread, 2).cast(real_of(floats.dtype))


@var_function(template)
def argmax(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Position (int64) of the largest number along an axis, the first if there are several; of all without an axis.

    Example:
        >>> argmax(array([[1, 5, 5], [7, 2, 0]]), dim=1).numpy()
        array([1, 0])
    """
    return position(as_var(x), "argmax", "maximum", dim, yes_or_no("argmax", "keepdim", keepdim))


@var_function(template)
def argmin(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """Position (int64) of the smallest number along an axis, the first if there are several.

    Example:
        >>> argmin(array([4, 1, 3])).item()
        1
    """
    return position(as_var(x), "argmin", "minimum", dim, yes_or_no("argmin", "keepdim", keepdim))


def position(x: Var, name: str, reducer: str, dim: Any, keep: bool) -> Var:
    """The smallest position whose number is the extremum (or nan, which NumPy counts as the extremum)."""
    flat, axis = along(x, name, dim)
    best = _extremum(flat, name, reducer, (axis,), True)
    parts = [flat.node, best.node, index(flat.shape, axis).node, constant(flat.shape[axis], int64)]
    first = reduced(Var._of(elementwise(SPOT, parts, int64)), "first", "minimum", (axis,), keep)
    return first.reshape((1,) * x.ndim) if flat is not x and keep else first


def along(x: Var, name: str, dim: Any) -> tuple[Var, int]:
    """x and its axis `dim`; without one, or as a single number, x in one row."""
    axis = 0 if dim is None else axis_of(name, dim, x.ndim, lone=True)
    return x.reshape(-1) if dim is None or not x.ndim else x, axis


# the third input where the first is the second, or nan; else the fourth
SPOT = Elementwise("spot", "select(({0} == {1}) | ({0} != {0}), {2}, {3})", "int64", exact=True)


def first_where(here: Var, axis: int, keep: bool) -> Var:
    """The first position along an axis where `here` is true; the length of the axis if there is none."""
    return reduced(index(here.shape, axis).where_not(here == 0, here.shape[axis]), "first", "minimum", (axis,), keep)


@var_function(castable, template)
def norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, *, ord: Any = None) -> Var:  # noqa: A002 - NumPy's word
    """(sum |x|**p)**(1/p): length of vectors, or of all numbers as one vector.

    Args:
        p: any number; inf is the largest magnitude, -inf the smallest, 0 the count of those that are not 0, and "fro"
            the same as 2.
        ord: NumPy's: p of a vector; of a matrix "fro", or the largest (least) sum of a column 1 (-1), row inf (-inf).

    Raises:
        ArgumentError: p="nuc" or, of a matrix, ord=2, which are no sums of powers of elements but of singular values.

    Example:
        >>> norm(array([3.0, 4.0])).item()
        5.0
    """
    keep, v = yes_or_no("norm", "keepdim", keepdim), as_var(x)
    axes = () if ord is None else listed_axes("norm", tuple(range(v.ndim)) if dim is None else dim, v.ndim, lone=True)
    if ord is not None and p != 2:
        raise ArgumentError("norm takes p or ord", f"p={p!r} and ord={ord!r}", "one of them")
    if len(axes) > 1 and ord != "fro":
        return _of_matrix(v, ord, axes, keep)
    order = _order(p if ord is None else ord)
    dim = axes_of("norm", dim, v.ndim)
    if order == 2 and v.dtype.kind == "f":  # a square has no sign
        wide = widened(v)
        return root(sum(wide * wide, dim, keep), 2).cast(v.dtype)
    floats = as_floats(v.apply(f.ABSOLUTE))
    if math.isinf(order):
        return max(floats, dim, keep) if order > 0 else min(floats, dim, keep)
    size = widened(floats)
    if order == 0:
        total = sum((size != 0).cast(size.dtype), dim, keep)
    elif order == 1:
        total = sum(size, dim, keep)
    else:
        total = root(sum(_power(size, order), dim, keep), order)
    return total.cast(floats.dtype)


def _of_matrix(x: Var, order: Any, axes: tuple[int, ...], keep: bool) -> Var:
    """The largest or smallest sum of magnitudes of a column (1, -1) or a row (inf, -inf)."""
    if len(axes) > 2 or order not in (1, -1, math.inf, -math.inf):
        asked = "norm takes ord='fro', 1, -1, inf or -inf of two axes"
        raise ArgumentError(asked, f"ord={order!r} of {len(axes)}", "p=2, or jt.linalg.matrix_norm")
    summed, chosen = axes if abs(order) == 1 else axes[::-1]
    found = norm(norm(x, 1, summed, True), math.copysign(math.inf, order), chosen, True)
    return found if keep else found.squeeze(axes)


def _order(p: Any) -> float:
    if isinstance(p, str):
        return {"fro": 2.0}[choice("norm", "p", p, ("fro",))]
    return float(number("norm", "p", p))


def _power(size: Var, order: float) -> Var:
    """size ** order for lengths; below order 1 the slope at 0 is infinite, and 0 is left out of it, as in PyTorch."""
    if order == 2:
        return size * size
    if order >= 1:
        return size**order
    return (size.where_not(size == 0, 1) ** order).where_not(size == 0, 0 if order > 0 else math.inf)


ROOT = unary(
    "root", lambda o, d, x: (d / (o * 2).where_not(o == 0, 1)).where_not(o == 0, 0), 4, "float_real", "sqrt({0})"
)


def root(x: Var, p: float) -> Var:
    """x ** (1 / p), with gradient 0 where x is 0, as in PyTorch: the length of a zero vector has no direction."""
    if p == 2 and x.dtype.kind == "f":
        return x.apply(ROOT)
    at_zero = 0.0 if p > 0 else math.inf
    safe = x.where_not(x == 0, 1)
    return (safe.apply(f.SQRT) if p == 2 else safe ** (1 / p)).where_not(x == 0, at_zero)
