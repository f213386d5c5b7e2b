"""Index parsing: what the key in `x[key]` means, as NumPy understands it.

read_brackets    the shape of the answer, one index per axis of x, and the index arrays it reads
spelled, meant   a key that says all before any number is known, as something that can be looked up; and back
roving           the same key, with places that may be any of many as arrays: one plan serves them all
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.dtypes import bool_, int64
from jt_edu.base.errors import ArgumentError, DtypeError, RangeError
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.ir.index_expr import Index, as_index, counter, load, size
from jt_edu.ir.node import Shape
from jt_edu.ops.nonzero import nonzero
from jt_edu.variable.var import Var, as_var

FEW = 256  # positions on an axis that are worth a plan of their own, each of them
TIMES = 4  # that slices of the same length may begin elsewhere than in the runs before, and be worth a new plan
LENGTHS = 4096  # of slices, and brackets, that are remembered
PLAIN = {int, type(None), type(Ellipsis)}  # in brackets, beside slices and arrays of positions


@dataclass(frozen=True)
class Brackets:
    """What brackets mean: the shape they return, one index per axis of x, and the index arrays they read."""

    shape: Shape
    where: tuple[Index, ...]
    arrays: tuple[Var, ...]


@dataclass
class Leafed:
    """Slices that this rank has read: how often those of a length moved on, as of which run; which stay views."""

    moved: dict[Any, tuple[int, int]]
    views: set[Any]


def read_brackets(x: Var, key: Any) -> Brackets:
    """Understand `x[key]` as NumPy does."""
    parts = _expand(x, keys := key if isinstance(key, tuple) else (key,))
    boxes = [(int(p),) if isinstance(p, bool) else p.shape for p in parts if isinstance(p, (bool, Var))]
    if not boxes:
        return _basic(x, parts)
    box = broadcast_shape("indexing", *boxes)
    first = next(k for k, p in enumerate(parts) if isinstance(p, (Var, int)))
    between = "".join(" " if k is None or k is Ellipsis or isinstance(k, slice) else "i" for k in keys).strip()
    return _advanced(x, parts, box, first if " " not in between else 0)  # a ... of no axes keeps apart, too


def _expand(x: Var, key: tuple[Any, ...]) -> list[Any]:
    """Masks become positions, `...` becomes full slices, arrays become Vars; a bool stays, and stands for no axis."""
    parts: list[Any] = []
    masks: dict[int, Shape] = {}
    for k in key:
        if isinstance(k, (list, tuple, range, np.ndarray, Var, bool, np.bool_)):
            v = as_var(k)
            if v.dtype == bool_ and v.ndim:
                masks[len(parts)] = v.shape
            parts += _positions(v)
        elif k is None or k is Ellipsis or isinstance(k, slice):
            parts.append(k)
        else:
            parts.append(_whole_number(k))
    used = sum(p is not None and p is not Ellipsis and not isinstance(p, bool) for p in parts)
    if used > x.ndim:
        raise RangeError(f"a Var with {x.ndim} axes takes up to {x.ndim} indices", f"{used}", f"{used - x.ndim} fewer")
    if sum(p is Ellipsis for p in parts) > 1:
        raise ArgumentError("brackets take at most one ...", f"{sum(p is Ellipsis for p in parts)}", "x[..., 0]")
    at = next((n for n, p in enumerate(parts) if p is Ellipsis), len(parts))
    full = [slice(None)] * (x.ndim - used)
    expanded = parts[:at] + full + parts[at + 1 :]
    _check_masks(x, expanded, {k if k < at else k + len(full) - 1: shape for k, shape in masks.items()})
    return expanded


def _check_masks(x: Var, parts: list[Any], masks: dict[int, Shape]) -> None:
    axis = 0
    for k, p in enumerate(parts):
        mask = masks.get(k, ())
        wanted = x.shape[axis : axis + len(mask)]
        if len(mask) > len(wanted) or any(n not in (0, m) for n, m in zip(mask, wanted, strict=True)):  # 0: as in NumPy
            raise RangeError(
                "a mask has the shape of the axes that it selects from", f"a mask of shape {mask} for {wanted}"
            )
        axis += p is not None and not isinstance(p, bool)


def _whole_number(k: Any) -> int:
    try:
        return operator.index(k)
    except TypeError:
        raise ArgumentError(
            "brackets take whole numbers, slices, None, ..., masks and arrays of whole numbers", short(k)
        ) from None


def _positions(v: Var) -> list[Any]:
    if v.dtype == bool_:
        return list(nonzero(v, as_tuple=True)) if v.ndim else [bool(v.item())]
    if v.dtype.kind not in "iu" and v.size:
        raise DtypeError("arrays of positions hold whole numbers", f"dtype {v.dtype}", "x[i.int64()]")
    return [v.cast(int64)]


def _basic(x: Var, parts: list[Any]) -> Brackets:
    shape: list[int] = []
    where: list[Index] = []
    for p in parts:
        if p is None:
            shape.append(1)
            continue
        length = x.shape[len(where)]
        if isinstance(p, slice):
            index, n = _slice(p, length, len(shape))
            shape.append(n)
            where.append(index)
        else:
            where.append(_number(p, length, len(where), x.shape))
    return Brackets(tuple(shape), tuple(where), ())


def _slice(part: slice, length: int, axis: int) -> tuple[Index, int]:
    """Axis `axis` of the answer walks from start in steps; a step is part of the kernel, a start is an argument."""
    try:
        start, stop, step = part.indices(length)
    except (TypeError, ValueError) as error:
        raise ArgumentError("a slice is made of whole numbers, and its step is not 0", f"{part}", "x[1:5:2]") from error
    n = len(range(start, stop, step))
    step = step if n > 1 else 1
    here: Index = counter(axis)
    if step == -1:
        return size(start) - here, n
    moved = here if step == 1 else here * step
    return (moved if start == 0 else moved + size(start)), n


def _number(p: int, length: int, axis: int, shape: Shape) -> Index:
    if not -length <= p < length:
        raise RangeError(
            f"axis {axis} of shape {shape} has length {length}", f"the index {p}", f"{-length} to {length - 1}"
        )
    return size(p % length) if length > 1 else as_index(0)


def _advanced(x: Var, parts: list[Any], box: Shape, at: int) -> Brackets:
    """Index arrays are broadcast to `box`, whose axes stand where the arrays stood, or in front if they stood apart."""
    before = sum(1 for p in parts[:at] if not isinstance(p, int)) if at else 0
    shape: list[int] = []
    where: list[Index] = []
    arrays: list[Var] = []
    for p in parts:
        if len(shape) == before:
            shape.extend(box)
        if isinstance(p, bool):
            continue
        axis = len(shape)
        length = x.shape[len(where)] if p is not None else 1
        if p is None:
            shape.append(1)
        elif isinstance(p, slice):
            index, n = _slice(p, length, axis)
            shape.append(n)
            where.append(index)
        elif isinstance(p, int):
            where.append(_number(p, length, len(where), x.shape))
        else:
            shift = before + len(box) - p.ndim
            spot = [
                counter(shift + k) if n == box[k - p.ndim + len(box)] and n != 1 else as_index(0)
                for k, n in enumerate(p.shape)
            ]
            where.append(load(len(arrays), spot))
            arrays.append(p)
    if len(shape) == before:
        shape.extend(box)
    return Brackets(tuple(shape), tuple(where), tuple(arrays))


def spelled(key: Any) -> tuple[Any, ...] | None:
    """Brackets with a word for each slice, which a template can look up; None where it cannot.

    A mask has to be computed first, and a list may be one.

    Example:
        >>> spelled((slice(1, 5), 0))
        ('1:5:None', 0)
    """
    parts: list[Any] = []
    for k in key if type(key) is tuple else (key,):
        kind = type(k)
        if kind is slice and PLAIN.issuperset((type(k.start), type(k.stop), type(k.step))):
            try:
                parts.append(f"{k.start}:{k.stop}:{k.step}")
            except ValueError:  # Python spells no number of more than 4300 digits
                return None
        elif kind in PLAIN or (isinstance(k, Var) and k.dtype.kind in "iu"):
            parts.append(k)
        elif isinstance(k, np.integer):
            parts.append(int(k))
        else:
            return None
    return tuple(parts)


def roving(x: Var, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Spelled brackets with an array for each number on a long axis, and for slices of what is leafed through.

    Where a slice begins is part of a plan, and planning a step takes longer than running it (decision 067).

    Example:
        >>> roving(Var([0.0] * 300), (7,))[0].item(), roving(Var([0.0] * 3), (2,))
        (7, (2,))
        >>> x = Var([0.0] * 9)
        >>> for k in range(5):
        ...     part = roving(x, (f"{k}:{k + 2}:1",))[0]
        ...     numbers = x.numpy()  # another run
        >>> part
        jt.Var([4, 5], dtype=int64)
    """
    shape, found, axis = x._node.shape, list(parts), 0
    for k, p in enumerate(parts):
        if axis == len(shape) or not (p is None or type(p) in (int, str)):
            break
        if type(p) is int and shape[axis] > FEW:
            _number(p, shape[axis], axis, shape)  # whether it is there
            found[k] = as_var(np.array(p % shape[axis]))
        axis += p is not None
    if x._node.data is None or str not in map(type, parts):
        return tuple(found)
    context = current()
    leafed: Leafed = context.rank_state.setdefault("leafed", Leafed({}, set()))
    return tuple(found) if (shape, parts) in leafed.views else _leafing(shape, parts, found, leafed, context.runs)


def _leafing(shape: Shape, parts: tuple[Any, ...], found: list[Any], leafed: Leafed, run: int) -> tuple[Any, ...]:
    """The brackets `found`; slices that have moved on `TIMES` times, from run to run, as arrays of positions.

    Weights that are cut into many parts in each step do not move. Slices mean each with each, so arrays that stand for
    them must not meet those of the learner, nor stand apart.
    """
    slices = _positions_of_slices(shape, parts)
    at = sorted([*(k for k, p in enumerate(parts) if isinstance(p, (int, Var))), *slices])
    boxes = any(isinstance(p, Var) and p.ndim for p in parts)
    if not slices or boxes or at[-1] - at[0] >= len(at):
        return tuple(found)
    if max(len(leafed.moved), len(leafed.views)) >= LENGTHS:
        leafed.moved.clear()
        leafed.views.clear()
    lengths = (shape, *((k, len(r), r.step) for k, r in slices.items()))
    times, last = leafed.moved.get(lengths, (0, -1))
    if times < TIMES:
        leafed.moved[lengths] = (times + (run != last), run)
        leafed.views.add((shape, parts))
        return tuple(found)
    for n, (k, r) in enumerate(slices.items()):
        found[k] = as_var(np.arange(r.start, r.stop, r.step).reshape([-1, *[1] * (len(slices) - 1 - n)]))
    return tuple(found)


def _positions_of_slices(shape: Shape, parts: tuple[Any, ...]) -> dict[int, range]:
    """The positions that each slice in front of a ... means, by its place in the brackets, if it leaves some out."""
    found, axis = dict[int, range](), 0
    for k, p in enumerate(parts):
        if p is Ellipsis or axis == len(shape):
            break
        if type(p) is str and not p.endswith(":0"):  # a step of 0 is refused by who reads the brackets
            part = range(*_slice_of(p).indices(shape[axis]))
            if 0 < len(part) < shape[axis]:
                found[k] = part
        axis += p is not None
    return found


def meant(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The brackets that were spelled so.

    Example:
        >>> meant(("1:5:None", 0))
        (slice(1, 5, None), 0)
    """
    return tuple(_slice_of(p) if type(p) is str else p for p in parts)


def _slice_of(text: str) -> slice:
    return slice(*(None if n == "None" else int(n) for n in text.split(":")))
