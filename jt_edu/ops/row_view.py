"""Row view: how a kernel written by hand sees its work, whatever the shape: (rows, n), and each row is a piece of work.

as_rows(x, axes)        the axes `axes` last, as one; all others before, as one
from_rows(y, shape, k)  the way back for answers that keep axis k: (rows, m) -> shape with length m there
one_each(y, ...)        the way back for one answer a row, in the shape of a reduction
ranked                  what answers numbers and their positions says so by name
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import axis_of
from jt_edu.ops.index import gather
from jt_edu.ops.transpose import permute
from jt_edu.variable.var import Var

Function = TypeVar("Function", bound=Callable[..., Any])


class Ranked(NamedTuple):
    """Numbers, and where they stood: a pair, by PyTorch's names."""

    values: Var
    indices: Var


def ranked(function: Function) -> Function:
    """Give the pair that a function returns names.

    Example:
        >>> ranked(lambda x: (x, -x))(Var([1.0])).indices.item()
        -1.0
    """

    @wraps(function)
    def call(*args: Any, **named: Any) -> Ranked:
        return Ranked(*function(*args, **named))

    return call  # type: ignore[return-value]


def as_rows(x: Var, gone: tuple[int, ...]) -> Var:
    """(rows, n), n numbers of the axes `gone` in each row; a single number is a row of its own."""
    gone = gone[: x.ndim]
    kept = tuple(k for k in range(x.ndim) if k not in gone)
    moved = x if (*kept, *gone) == tuple(range(x.ndim)) else permute(x, *kept, *gone)
    return moved.reshape(math.prod(x.shape[k] for k in kept), math.prod(x.shape[k] for k in gone))


def from_rows(y: Var, shape: Shape, axis: int) -> Var:
    """(rows, m) as `shape`, with length m along `axis`."""
    if not shape:
        return y.reshape(())
    rest = shape[:axis] + shape[axis + 1 :]
    wide = y.reshape(*rest, y.shape[1])
    order = [k if k < axis else k - 1 for k in range(len(shape))]
    order[axis] = len(shape) - 1
    return wide if axis == len(shape) - 1 else permute(wide, *order)


def one_each(y: Var, shape: Shape, gone: tuple[int, ...], keep: bool) -> Var:
    """(rows,) as what is left of `shape` without the axes `gone`, or with length 1 there."""
    if keep:
        return y.reshape(tuple(1 if k in gone else n for k, n in enumerate(shape)))
    return y.reshape(tuple(n for k, n in enumerate(shape) if k not in gone))


def picked(rows: Var, positions: Var) -> Var:
    """rows[r, positions[r, j]]: gradients flow to what was picked."""
    return gather(rows, 1, positions)


def one_axis(name: str, dims: Any, ndim: int) -> int:
    """The axis to go along; it may be left out where there is but one.

    Without an axis NumPy flattens, Jittor takes the last one and PyTorch refuses: so do we, before a number is wrong.
    """
    if dims is None and ndim > 1:
        raise ArgumentError(
            f"{name} works along one axis", f"none of {ndim} axes", "dim=-1, or x.flatten() first for NumPy's answer"
        )
    if isinstance(dims, (tuple, list)):
        raise ArgumentError(f"{name} works along one axis", short(dims), "dim=0")
    return axis_of(name, 0 if dims is None else dims, ndim, lone=True)
