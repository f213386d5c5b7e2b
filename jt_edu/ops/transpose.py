"""Transpose: axes exchanged, or walked along in another way. Each is one Reindex that copies nothing by itself.

permute, transpose, moveaxis   the counters change places       flip, rot90   a counter runs backwards
roll                           a counter starts elsewhere
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.index_expr import as_index, counter, size
from jt_edu.ir.meta_ops import Reindex, reindex
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import axis_of, listed_axes, whole
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import apart, lone, reshape, varargs, view
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.torch_keywords import spread
from jt_edu.variable.var import Var, as_var, method

__all__ = ["flip", "fliplr", "flipud", "matrix_transpose", "moveaxis", "movedim", "permute", "permute_dims", "roll",
           "rot90", "swapaxes", "swapdims", "transpose"]  # fmt: skip


@lru_cache(maxsize=1 << 14)
def permute_op(found: Shape, axes: tuple[int, ...]) -> Reindex:
    """Axis k of the result is axis axes[k] of the input."""
    where = [as_index(0)] * len(axes)
    for k, a in enumerate(axes):
        where[a] = counter(k)
    return reindex("permute", found, tuple(found[a] for a in axes), tuple(where))


@method
@template
@spread("axes", "dims")
def permute(x: Any, *order: Any) -> Var:
    """Reorder the axes; without arguments, reverse them.

    Example:
        >>> ones((2, 3, 4)).permute(2, 0, 1).shape
        (4, 2, 3)
    """
    v, named = as_var(x), varargs(order)
    backwards = list(reversed(range(v.ndim)))
    fits = len(named) in (0, v.ndim)
    places = [axis_of("permute", a, v.ndim) for a in named if fits] or backwards
    if not fits or sorted(places) != backwards[::-1]:
        example = f"x.permute({', '.join(map(str, backwards))})"
        raise ShapeError(f"permute names each of the {v.ndim} axes once", f"axes {named}", example)
    return view(v, permute_op(v.shape, tuple(places)))


@method
@template
@lone
@spread("axes", "dims")
def transpose(x: Any, *order: Any, dim0: Any = None, dim1: Any = None) -> Var:
    """Exchange two axes: `x.transpose(0, 1)`; with as many axes as x has (or none) it permutes, as NumPy and Jittor do.

    Example:
        >>> ones((2, 3, 4)).transpose(0, 2).shape
        (4, 3, 2)
    """
    order = (*order, *(k for k in (dim0, dim1) if k is not None))
    v, named = as_var(x), varargs(order)
    if len(named) == 2 and (v.ndim != 2 or len(order) == 2):
        return swapaxes(v, *(axis_of("transpose", k, v.ndim) for k in named))
    return permute(v, *named)


@var_function(template, lone)
def swapaxes(x: Any, dim1: int, dim2: int) -> Var:
    """Two axes exchanged.

    Example:
        >>> swapaxes(ones((2, 3, 4)), 0, -1).shape
        (4, 3, 2)
    """
    v = as_var(x)
    p, q = axis_of("swapaxes", dim1, v.ndim), axis_of("swapaxes", dim2, v.ndim)
    order = list(range(v.ndim))
    order[p], order[q] = order[q], order[p]
    return permute(v, order)


@method
@template
@lone
def moveaxis(x: Any, source: Any, destination: Any) -> Var:
    """The axes `source` become the axes `destination`; the others keep their order.

    Example:
        >>> moveaxis(ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    v = as_var(x)
    before, after = (listed_axes("moveaxis", a, v.ndim) for a in (source, destination))
    if len(before) != len(after):
        raise ArgumentError("moveaxis takes as many places as axes", f"{source} to {destination}")
    moved = dict(zip(after, before, strict=True))
    others = (k for k in range(v.ndim) if k not in before)
    return permute(v, [moved[k] if k in moved else next(others) for k in range(v.ndim)])


@method
@template
def matrix_transpose(x: Any) -> Var:
    """The last two axes exchanged; also `x.mT`, and `x.mH`, which conjugates as well.

    Example:
        >>> matrix_transpose(ones((2, 3, 4))).shape
        (2, 4, 3)
    """
    v = as_var(x)
    if v.ndim < 2:
        raise ShapeError("a matrix has two axes or more", f"shape {v.shape}", "x.T")
    return swapaxes(v, -1, -2)


@var_function(template)
def flip(x: Any, dims: Any = None, *others: Any) -> Var:
    """Backwards along the axes in `dims`, by default all, for () none; `x.flip(0, 1)` is `x.flip((0, 1))`.

    Example:
        >>> arange(4).flip().numpy()
        array([3, 2, 1, 0])
    """
    v, named = as_var(x), (dims, *others) if others else dims
    turned = tuple(range(v.ndim)) if named is None else listed_axes("flip", named, v.ndim, lone=True)
    return view(v, _flip_op(v.shape, turned))


@lru_cache(maxsize=1 << 12)
def _flip_op(shape: Shape, turned: tuple[int, ...]) -> Reindex:
    where = tuple(size(n - 1) - counter(k) if k in turned else counter(k) for k, n in enumerate(shape))
    return reindex("flip", shape, shape, where)


@method
def flipud(x: Any) -> Var:
    """Upside down: the first axis backwards.

    Example:
        >>> flipud(array([[1, 2], [3, 4]])).tolist()
        [[3, 4], [1, 2]]
    """
    return flip(x, axis_of("flipud", 0, as_var(x).ndim))


@method
def fliplr(x: Any) -> Var:
    """Left becomes right: the second axis backwards.

    Example:
        >>> fliplr(array([[1, 2], [3, 4]])).tolist()
        [[2, 1], [4, 3]]
    """
    return flip(x, 1)


@var_function(template)
def rot90(x: Any, k: int = 1, dims: Any = (0, 1)) -> Var:
    """Turned by k times 90 degrees, from the first axis of `dims` towards the second, (0, 1) by default.

    Example:
        >>> rot90(array([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    v = as_var(x)
    plane = listed_axes("rot90", dims, v.ndim)
    if len(plane) != 2:
        raise ArgumentError("rot90 turns in the plane of two axes", f"dims {dims}", "(0, 1)")
    turns, (p, q) = whole("rot90", "k", k) % 4, plane
    if turns % 2 == 0:
        return flip(v, plane) if turns else apart(x, v)
    return flip(swapaxes(v, p, q), p if turns == 1 else q)


@var_function(template)
def roll(x: Any, shift: Any, axis: Any = None) -> Var:
    """Shift along axes by a number of places; what falls off the end comes back at the beginning.

        out[i] = x[(i - shift) % n]

    Args:
        shift: a number of places, or one for each axis in `axis`.
        axis: the axes; without them x is rolled as if it had one axis.

    Example:
        >>> roll(arange(5), 2).numpy()
        array([3, 4, 0, 1, 2])
    """
    v = as_var(x)
    if axis is None:
        return reshape(roll(reshape(v, -1), shift, 0), v.shape)
    axes = [axis_of("roll", a, v.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    steps = [whole("roll", "shift", s) for s in (shift if isinstance(shift, (tuple, list)) else (shift,))]
    steps = steps * len(axes) if len(steps) == 1 else steps
    if len(steps) != len(axes) or not axes:
        raise ArgumentError("roll takes one shift for each axis", f"shift {shift} for axis {axis}")
    start = [0] * v.ndim
    for a, step in zip(axes, steps, strict=True):
        start[a] -= step
    return view(v, _roll_op(v.shape, tuple(s % max(n, 1) for s, n in zip(start, v.shape, strict=True))))


@dataclass(frozen=True, eq=False)
class Roll(Reindex):
    """A Reindex whose gradient rolls back: that no two reads meet cannot be seen where counters have remainders."""

    back: tuple[int, ...] = ()

    def _gradient(self, out: Any, dout: Any, x: Any, *arrays: Any) -> Any:
        return view(dout, _roll_op(self.shape, self.back))


@lru_cache(maxsize=1 << 12)
def _roll_op(shape: Shape, start: tuple[int, ...]) -> Roll:
    where = tuple(
        (counter(k) + size(s)) % size(n) if s else counter(k) for k, (s, n) in enumerate(zip(start, shape, strict=True))
    )
    parts = vars(reindex("roll", shape, shape, where))
    return Roll(**parts, back=tuple(-s % max(n, 1) for s, n in zip(start, shape, strict=True)))


Var.T = property(permute)  # type: ignore[attr-defined]
Var.mT = property(matrix_transpose)  # type: ignore[attr-defined]
Var.H = property(lambda x: permute(x).conj())  # type: ignore[attr-defined]
Var.mH = property(lambda x: matrix_transpose(x).conj())  # type: ignore[attr-defined]
method(permute, "t")
permute_dims = permute
movedim = method(moveaxis, "movedim")
swapdims = method(swapaxes, "swapdims")
