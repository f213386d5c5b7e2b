"""Jittor operators: its meta-operators and functions by name, made of what is here under other names.

jt.arg_reduce(x, "max", 1)        x.argmax(1), x.max(1)
x.reindex_var([rows, columns])    x[rows, columns], and a number outside x
jt.binary(x, y, "maximum")        jt.maximum(x, y)
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from jt_edu.base.dtypes import DType
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.variable.var import Var

__all__ = [
    "all_equal", "arg_reduce", "binary", "broadcast_var", "floor_int", "fuse_transpose", "index_var", "reduce",
    "reindex", "reindex_reduce", "reindex_var", "safe_clip", "unary",
]  # fmt: skip

jt: Any = sys.modules["jt_edu"]  # the door, which looks here, and so is there


def _by_name(op: str, *given: Any) -> Any:
    function = getattr(jt, op) if op in jt.__all__ else None
    if isinstance(function, DType):
        return given[0].astype(function)
    if not callable(function) or isinstance(function, type):
        raise ArgumentError("an operator has the name of a function of jt", repr(op), '"add", "maximum", "exp"')
    return function(*given)


def unary(x: Any, op: str) -> Any:
    """A function of jt by its name; the name of a dtype casts.

    Example:
        >>> unary(jt.array([4.0]), "sqrt").tolist()
        [2.0]
    """
    return _by_name(op, x)


def binary(x: Any, y: Any, op: str) -> Any:
    """A function of two Vars by its name.

    Example:
        >>> binary(jt.array([4.0]), jt.array([3.0]), "maximum").tolist()
        [4.0]
    """
    return _by_name(op, x, y)


def floor_int(x: Any) -> Any:
    """x rounded down, as int32.

    Example:
        >>> floor_int(jt.array([1.5, -0.5])).tolist()
        [1, -1]
    """
    return jt.floor(x).int32()


def all_equal(x: Any, y: Any) -> bool:
    """Whether two arrays have equal elements, all of them.

    Example:
        >>> all_equal(jt.array([1, 2]), [1, 2])
        True
    """
    return bool(jt.equal(x, y).all().item())


def reduce(x: Any, op: str, dim: Any = None, keepdims: bool = False) -> Any:
    """Along axes, by "add" (or sum), "multiply" (prod), "maximum" (max), "minimum" (min) or "mean".

    Example:
        >>> reduce(jt.array([[1, 2], [3, 4]]), "add", 1).tolist()
        [3, 7]
    """
    names = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
    return getattr(jt, names.get(op, op))(x, dim, keepdims)


def arg_reduce(x: Any, op: str, dim: Any, keepdims: bool = False) -> tuple[Var, Var]:
    """Where the largest ("max") or the smallest ("min") is along an axis, and what it is.

    Example:
        >>> [v.tolist() for v in arg_reduce(jt.array([[1, 5], [4, 2]]), "max", 1)]
        [[1, 0], [5, 4]]
    """
    names = {
        "max": ("argmax", "max"),
        "maximum": ("argmax", "max"),
        "min": ("argmin", "min"),
        "minimum": ("argmin", "min"),
    }
    if op not in names:
        raise ArgumentError('arg_reduce takes "max" or "min"', repr(op))
    place, value = (getattr(jt, name)(x, dim, keepdims) for name in names[op])
    return place, value


def reindex(x: Any, *given: Any, **more: Any) -> Any:
    """x.reindex(...).

    Example:
        >>> reindex(jt.array([1, 2, 3]), [2], ["i0+1"]).tolist()
        [2, 3]
    """
    return x.reindex(*given, **more)


def reindex_reduce(x: Any, *given: Any, **more: Any) -> Any:
    """x.reindex_reduce(...).

    Example:
        >>> reindex_reduce(jt.array([1, 2, 3]), "add", [1], ["0"]).tolist()
        [6]
    """
    return x.reindex_reduce(*given, **more)


def reindex_var(x: Any, indexes: Any, overflow_value: float = 0) -> Any:
    """Read at the places that Vars hold, one for each axis of x, and `overflow_value` outside x.

        out[i, j, ...] = x[indexes[0][i, j, ...], indexes[1][i, j, ...], ...]

    Args:
        indexes: whole numbers, of one shape or of shapes that broadcast to one. Negative ones are outside x.
        overflow_value: what is read there.

    Raises:
        ShapeError: there are more or fewer of them than axes.
        DtypeError: they are no whole numbers.

    Example:
        >>> x = jt.array([[1, 2], [3, 4]])
        >>> reindex_var(x, [jt.array([0, 1, 2]), jt.array([1, 0, 0])], -1).tolist()
        [2, 3, -1]
    """
    if (
        not isinstance(indexes, (list, tuple))
        or not indexes
        or not all(isinstance(v, (Var, np.ndarray)) for v in indexes)
    ):
        raise ArgumentError("reindex takes a shape and what is read, or a list of Vars", repr(indexes), "x[1:]")
    places = jt.broadcast_tensors(*indexes)
    if len(places) != x.ndim:
        raise ShapeError("there is one index for each axis", f"{len(places)} for shape {x.shape}", "x[rows]")
    if 0 in x.shape:
        return jt.full(places[0].shape, overflow_value, x.dtype)
    inside = jt.ones(places[0].shape, bool)
    for k, n in zip(places, x.shape, strict=True):
        inside = inside & (k >= 0) & (k < n)
    read = x[tuple(k.clamp(0, n - 1) for k, n in zip(places, x.shape, strict=True))]
    return jt.where(inside, read, jt.array(overflow_value, x.dtype))


def fuse_transpose(x: Any, axes: Any = ()) -> Any:
    """x with its axes in another order: `x.transpose(axes)`, each of which is part of the kernel that reads it here.

    Example:
        >>> fuse_transpose(jt.ones(2, 3, 4), (1, 2, 0)).shape
        (3, 4, 2)
    """
    return x.permute(*axes)


class _SafeClip(jt.Function):  # type: ignore[misc]  # jt is looked up
    def __init__(self, left: float, right: float) -> None:
        self.left, self.right = left, right

    def execute(self, x: Var) -> Any:
        limits = jt.finfo(x.dtype)
        return x.clamp(max(self.left, limits.min), min(self.right, limits.max))

    def grad(self, dout: Var) -> Any:
        return dout


def safe_clip(x: Any, left: float = -1e300, right: float = 1e300) -> Any:
    """x limited to bounds, and to what its dtype can hold, so that it is finite. Its gradient is that of x everywhere.

    Args:
        x: floats of any shape.
        left: the lower bound.
        right: the upper bound.

    Raises:
        DtypeError: x holds no floats.

    Example:
        >>> x = jt.array([-jt.inf, 0.5, 2.0])
        >>> safe_clip(x, 0, 1).tolist(), jt.grad(safe_clip(x, 0, 1).sum(), x).tolist()
        ([0.0, 0.5, 1.0], [1.0, 1.0, 1.0])
    """
    return _SafeClip(left, right)(jt.as_tensor(x))


def index_var(x: Any, dim: int | None = None) -> Any:
    """The loop counter of axis `dim` of x, or those of all axes.

    Example:
        >>> index_var(jt.zeros(2, 2), 1).tolist()
        [[0, 1], [0, 1]]
    """
    return jt.index(x.shape, dim)


def broadcast_var(x: Any, y: Any, dims: Any = ()) -> Any:
    """x in the shape that x and y have together; `dims` are the axes of y that x lacks.

    Example:
        >>> broadcast_var(jt.array([1, 2]), jt.zeros(2, 2), [1]).tolist()
        [[1, 1], [2, 2]]
    """
    return jt.broadcast(x, jt.as_tensor(y), list(dims))
