"""Views: the same numbers at other places. Each is one Reindex; none copies anything by itself.

transpose, permute   exchange axes              flip, slices    walk along an axis differently
reshape, flatten     other axes, same order     concat, stack   choose between several arrays
unsqueeze, squeeze   axes of length 1           pad, repeat     read a smaller array more than once, or not at all
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jt_edu import functions as f
from jt_edu.build import flat_view
from jt_edu.dtypes import int64, promote
from jt_edu.errors import ArgumentError, RangeError, ShapeError
from jt_edu.graph import Node, Shape
from jt_edu.index import Index, as_index, counter, size
from jt_edu.meta import COUNTERS, Reindex, reindex
from jt_edu.var import Var, as_var, method


def view(x: Var, op: Reindex) -> Var:
    """`x` looked at through a Reindex."""
    return Var._of(Node(op, (x.node,), op.shape, x.node.dtype))


def whole(name: str, value: Any) -> int:
    """A whole number, of any integer type."""
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} takes whole numbers", repr(value), "int(...)") from None


def axis_of(name: str, axis: Any, ndim: int) -> int:
    """An axis counted from either end, as a number from 0."""
    try:
        k = operator.index(axis)
    except TypeError:
        raise ArgumentError(f"{name} takes an axis as a whole number", repr(axis), "0 or -1") from None
    if not -ndim <= k < ndim:
        raise RangeError(f"{name} on a Var with {ndim} axes", f"axis {k}", f"{-ndim} to {ndim - 1}" if ndim else "none")
    return k % ndim


def axes_of(name: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """One axis, several, or None for all, as sorted numbers from 0 without repeats."""
    if axes is None or axes == ():
        return tuple(range(ndim))
    parts = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = [axis_of(name, a, ndim) for a in parts]
    if len(set(found)) != len(found):
        raise ArgumentError(f"{name} names each axis once", f"axes {tuple(parts)}")
    return tuple(sorted(found))


def varargs(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        return tuple(arguments[0])
    return tuple(arguments)


@lru_cache(maxsize=1 << 14)
def reshape_op(found: Shape, wanted: Shape) -> Reindex:
    """A reshape; where only axes of length 1 come or go it keeps the counters, so that fusion can look through it."""
    long = [k for k, n in enumerate(found) if n != 1]
    here = [k for k, n in enumerate(wanted) if n != 1]
    if [found[k] for k in long] == [wanted[k] for k in here] and 0 not in found:
        place = dict(zip(long, here, strict=True))
        where = tuple(counter(place[k]) if k in place else as_index(0) for k in range(len(found)))
        return reindex("reshape", found, wanted, where, None, None, True)
    return flat_view("reshape", found, wanted)


@method
def reshape(x: Var, *shape: Any) -> Var:
    """The same elements in the same order under another shape; one length may be -1, and is worked out.

    Example:
        >>> arange(6).reshape(2, -1).shape
        (2, 3)
    """
    wanted = [whole("reshape", n) for n in varargs(shape)]
    if wanted.count(-1) > 1 or any(n < -1 for n in wanted):
        raise ShapeError("reshape takes lengths, at most one of them -1", f"shape {tuple(wanted)}")
    total = math.prod(x.shape)
    if -1 in wanted:
        others = math.prod(n for n in wanted if n != -1)
        wanted[wanted.index(-1)] = total // others if others and total % others == 0 else -1 if total or others else 0
    if -1 in wanted or math.prod(wanted) != total:
        raise ShapeError(
            "reshape keeps the number of elements", f"{x.shape} ({total} elements) for {tuple(varargs(shape))}"
        )
    return x if tuple(wanted) == x.shape else view(x, reshape_op(x.shape, tuple(wanted)))


method(reshape, "view")


@method
def flatten(x: Var, start_dim: int = 0, end_dim: int = -1) -> Var:
    """Axes start_dim to end_dim as one.

    Example:
        >>> ones((2, 3, 4)).flatten(1).shape
        (2, 12)
    """
    if x.ndim == 0:
        return x.reshape(1)
    start, end = axis_of("flatten", start_dim, x.ndim), axis_of("flatten", end_dim, x.ndim)
    if start > end:
        raise ArgumentError("flatten joins the axes from start_dim to end_dim", f"start {start} after end {end}")
    return x.reshape(*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :])


@lru_cache(maxsize=1 << 14)
def permute_op(found: Shape, axes: tuple[int, ...]) -> Reindex:
    """Axis k of the result is axis axes[k] of the input."""
    where = [as_index(0)] * len(axes)
    for k, a in enumerate(axes):
        where[a] = counter(k)
    return reindex("permute", found, tuple(found[a] for a in axes), tuple(where))


@method
def permute(x: Var, *axes: Any) -> Var:
    """Axes in another order; without arguments, in reverse.

    Example:
        >>> ones((2, 3, 4)).permute(2, 0, 1).shape
        (4, 2, 3)
    """
    order = [axis_of("permute", a, x.ndim) for a in varargs(axes)] or list(reversed(range(x.ndim)))
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"permute names each of the {x.ndim} axes once", f"axes {varargs(axes)}", "x.permute(1, 0)")
    return view(x, permute_op(x.shape, tuple(order)))


@method
def transpose(x: Var, *axes: Any) -> Var:
    """Exchange two axes: `x.transpose(0, 1)`; with as many axes as x has (or none) it permutes, as NumPy and Jittor do.

    Example:
        >>> ones((2, 3, 4)).transpose(0, 2).shape
        (4, 3, 2)
    """
    named = varargs(axes)
    if len(named) == 2 and (x.ndim != 2 or len(axes) == 2):
        p, q = (axis_of("transpose", a, x.ndim) for a in named)
        order = list(range(x.ndim))
        order[p], order[q] = order[q], order[p]
        return permute(x, *order)
    return permute(x, *named)


@method
def unsqueeze(x: Var, dim: int) -> Var:
    """A new axis of length 1 before axis `dim`.

    Example:
        >>> ones((2, 3)).unsqueeze(-1).shape
        (2, 3, 1)
    """
    at = axis_of("unsqueeze", dim, x.ndim + 1)
    return x.reshape(*x.shape[:at], 1, *x.shape[at:])


@method
def squeeze(x: Var, dim: Any = None) -> Var:
    """Without axes of length 1: all of them, or those in `dim`.

    Example:
        >>> ones((1, 2, 1)).squeeze(0).shape
        (2, 1)
    """
    named = axes_of("squeeze", dim, x.ndim)
    gone = [k for k in named if x.shape[k] == 1]
    if dim is not None and len(gone) != len(named):
        raise ShapeError("squeeze removes axes of length 1", f"axis {dim} of shape {x.shape}", "x.reshape")
    return x.reshape(tuple(n for k, n in enumerate(x.shape) if k not in gone))


@method
def expand(x: Var, *shape: Any) -> Var:
    """Axes of length 1 repeated to `shape`, without copying; -1 keeps a length.

    Example:
        >>> ones((2, 1)).expand(-1, 3).shape
        (2, 3)
    """
    wanted = varargs(shape)
    shift = len(wanted) - x.ndim
    return x.broadcast_to(tuple(x.shape[k - shift] if n == -1 and k >= shift else n for k, n in enumerate(wanted)))


@method
def broadcast(x: Var, shape: Any, dims: Any = ()) -> Var:
    """Repeat x to `shape`; `dims` are the axes of `shape` that are new (Jittor's form).

    Example:
        >>> arange(3).broadcast((3, 2), [1]).numpy()[2]
        array([2, 2])
    """
    wanted = tuple(shape.shape if isinstance(shape, Var) else shape)
    new = {axis_of("broadcast", d, len(wanted)) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))}
    if not new:
        return x.broadcast_to(wanted)
    lengths = iter(x.shape)
    if len(wanted) - len(new) != x.ndim:
        raise ShapeError("broadcast adds the axes in dims", f"shape {x.shape} with dims {tuple(new)} for {wanted}")
    return x.reshape(tuple(1 if k in new else next(lengths) for k in range(len(wanted)))).broadcast_to(wanted)


@method
def flip(x: Var, dims: Any = None) -> Var:
    """Backwards along the axes in `dims` (all by default).

    Example:
        >>> arange(4).flip().numpy()
        array([3, 2, 1, 0])
    """
    turned = axes_of("flip", dims, x.ndim)
    return view(x, _flip_op(x.shape, turned))


@lru_cache(maxsize=1 << 12)
def _flip_op(shape: Shape, turned: tuple[int, ...]) -> Reindex:
    where = tuple(size(n - 1) - counter(k) if k in turned else counter(k) for k, n in enumerate(shape))
    return reindex("flip", shape, shape, where)


@method
def repeat(x: Var, *times: Any) -> Var:
    """The whole of x, so many times along each axis (NumPy's tile, PyTorch's repeat).

    Example:
        >>> arange(2).repeat(2, 2).numpy()
        array([[0, 1, 0, 1],
               [0, 1, 0, 1]])
    """
    counts = varargs(times)
    rank = max(len(counts), x.ndim)
    counts = (1,) * (rank - len(counts)) + tuple(whole("repeat", c) for c in counts)
    if any(c < 0 for c in counts):
        raise ArgumentError("repeat counts are not negative", f"{counts}")
    wide = x.reshape((1,) * (rank - x.ndim) + x.shape)
    where = tuple(
        counter(k) % size(max(n, 1)) if c != 1 else counter(k)
        for k, (n, c) in enumerate(zip(wide.shape, counts, strict=True))
    )
    return view(
        wide, reindex("repeat", wide.shape, tuple(n * c for n, c in zip(wide.shape, counts, strict=True)), where)
    )


@method
def pad(x: Var, widths: Sequence[int], mode: str = "constant", value: float = 0) -> Var:
    """Rows of `value` around x; `widths` are (before, after) pairs from the last axis on, and may be negative (crop).

    Example:
        >>> ones((2,)).pad((1, 2), value=7).numpy()
        array([7., 1., 1., 7., 7.], dtype=float32)
    """
    if mode != "constant":
        raise ArgumentError("pad fills with a constant", f"mode {mode!r}", "mode='constant'")
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ShapeError(f"pad takes up to {x.ndim} pairs of widths for shape {x.shape}", f"{tuple(widths)}")
    pairs = [(0, 0)] * x.ndim
    for k in range(len(widths) // 2):
        pairs[-1 - k] = (whole("pad", widths[2 * k]), whole("pad", widths[2 * k + 1]))
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True))
    if any(n < 0 for n in shape):
        raise ShapeError("cropping leaves at least nothing", f"widths {tuple(widths)} for shape {x.shape}")
    where = tuple(counter(k) - size(a) if a else counter(k) for k, (a, _) in enumerate(pairs))
    return view(x, reindex("pad", x.shape, shape, where, value))


def listed(name: str, vars: Any) -> list[Var]:
    """The Vars to put together, at least one."""
    if not isinstance(vars, (list, tuple, Var, np.ndarray)) or len(vars) == 0:
        raise ArgumentError(f"{name} takes a list of one Var or more", repr(vars), f"jt.{name}([x, y])")
    return [as_var(v) for v in vars]


def concat(vars: Sequence[Any], dim: int = 0) -> Var:
    """Arrays behind each other along axis `dim`.

    Example:
        >>> concat([arange(2), arange(3)]).numpy()
        array([0, 1, 0, 1, 2])
    """
    parts = listed("concat", vars)
    axis = axis_of("concat", dim, parts[0].ndim)
    dtype = parts[0].dtype
    for p in parts[1:]:
        dtype = promote(dtype, p.dtype)
        if p.shape[:axis] + p.shape[axis + 1 :] != parts[0].shape[:axis] + parts[0].shape[axis + 1 :]:
            raise ShapeError(f"concat along axis {axis} needs equal other axes", f"{[p.shape for p in parts]}")
    total = sum(p.shape[axis] for p in parts)
    shape = (*parts[0].shape[:axis], total, *parts[0].shape[axis + 1 :])
    return _side_by_side([p.cast(dtype) for p in parts], axis, shape)


def _side_by_side(parts: list[Var], axis: int, shape: Shape) -> Var:
    """Choose the array that the index falls into, halving the list so that the choice nests only log2 deep."""
    starts = [0]
    for p in parts:
        starts.append(starts[-1] + p.shape[axis])
    moved = [
        view(p, reindex("slide", p.shape, shape, _slid(len(shape), axis, start), 0))
        for p, start in zip(parts, starts[:-1], strict=True)
    ]
    return _choose(moved, starts, Var._of(Node(COUNTERS[axis], (), shape, int64)))


def _choose(parts: list[Var], starts: list[int], position: Var) -> Var:
    """The part that the position falls into; part k begins at starts[k]."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    first = _choose(parts[:middle], starts[:middle], position)
    return (position < starts[middle]).apply(f.SELECT, first, _choose(parts[middle:], starts[middle:], position))


def _slid(rank: int, axis: int, start: int) -> tuple[Index, ...]:
    return tuple(counter(k) - size(start) if k == axis and start else counter(k) for k in range(rank))


def stack(vars: Sequence[Any], dim: int = 0) -> Var:
    """Arrays of equal shape along a new axis.

    Example:
        >>> stack([arange(2), arange(2)], 1).shape
        (2, 2)
    """
    parts = listed("stack", vars)
    if len({p.shape for p in parts}) != 1:
        raise ShapeError("stack needs arrays of one shape", f"{[p.shape for p in parts]}", "jt.concat")
    at = axis_of("stack", dim, parts[0].ndim + 1)
    return concat([p.unsqueeze(at) for p in parts], at)


@method
def split(x: Var, sizes: Any, dim: int = 0) -> tuple[Var, ...]:
    """Parts along an axis: of one size (the last may be shorter), or of the sizes listed.

    Example:
        >>> [p.shape for p in arange(5).split(2)]
        [(2,), (2,), (1,)]
    """
    axis = axis_of("split", dim, x.ndim)
    length = x.shape[axis]
    if not isinstance(sizes, (list, tuple)):
        each = whole("split", sizes)
        if each < 1:
            raise ArgumentError("split takes a size of 1 or more", repr(each), "x.chunk(2)")
        sizes = [min(each, length - k) for k in range(0, length, each)] or [0]
    sizes = [whole("split", n) for n in sizes]
    if sum(sizes) != length or any(n < 0 for n in sizes):
        raise ShapeError(f"the parts of a split add up to the axis, {length}", f"{list(sizes)}")
    parts, start = [], 0
    for n in sizes:
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        where = tuple(counter(k) + size(start) if k == axis else counter(k) for k in range(x.ndim))
        parts.append(view(x, reindex("slice", x.shape, shape, where)))
        start += n
    return tuple(parts)


@method
def chunk(x: Var, chunks: int, dim: int = 0) -> tuple[Var, ...]:
    """At most `chunks` parts of equal size along an axis; the last may be shorter.

    Example:
        >>> [p.shape for p in arange(5).chunk(2)]
        [(3,), (2,)]
    """
    axis, chunks = axis_of("chunk", dim, x.ndim), whole("chunk", chunks)
    if chunks < 1:
        raise ArgumentError("chunk makes 1 part or more", repr(chunks), "x.chunk(2)")
    return split(x, max(-(-x.shape[axis] // chunks), 1), axis)


def matrix_transpose(x: Var) -> Var:
    """The last two axes exchanged."""
    return permute(x, *range(x.ndim - 2), x.ndim - 1, x.ndim - 2)


Var.T = property(permute)  # type: ignore[attr-defined]
method(permute, "t")
method(lambda x, other: x.reshape(other.shape), "view_as")
method(lambda x, other: x.broadcast_to(other.shape), "expand_as")
