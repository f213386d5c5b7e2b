"""Views: the same numbers at other places. Each is one Reindex; none copies anything by itself.

reshape, flatten     other axes, same order     expand, broadcast     read a smaller array more than once
unsqueeze, squeeze   axes of length 1

A Var that is stored lies in row-major order, whatever views it came through; a view that is not stored lies nowhere,
and is read through its index. So every shape of the right size is a view. What it costs shows in the kernel: an index,
or a copy where a value must be stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

from jt_edu.base.dtypes import DType, as_dtype
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import broadcast_shape, check_shape, flat_view, same, short
from jt_edu.ir.index_expr import as_index, counter
from jt_edu.ir.meta_ops import Reindex, reindex
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import COPY
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import axis_of, listed_axes, whole, yes_or_no
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.var_function import var_function
from jt_edu.variable.torch_keywords import spread
from jt_edu.variable.var import Var, as_var, method

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast", "broadcast_arrays", "broadcast_shapes",
           "broadcast_tensors", "broadcast_to", "expand", "expand_dims", "flatten", "ravel", "reshape", "squeeze",
           "unflatten", "unsqueeze"]  # fmt: skip
Function = TypeVar("Function", bound=Callable[..., Any])


def view(x: Var, op: Reindex) -> Var:
    """`x` looked at through a Reindex."""
    return Var._of(Node(op, (x.node,), op.shape, x.node.dtype))


def apart(x: Any, v: Var) -> Var:
    """`v`, or, where that is `x` itself, a Var of its own: what is written into a view never reaches `x`."""
    return Var._of(same("view", v.node)) if v is x else v


def varargs(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        return tuple(arguments[0])
    return tuple(arguments)


def listed(name: str, vars: Any, dim: Any = 0) -> list[Var]:
    """The Vars to put together, at least one."""
    if isinstance(vars, (Var, np.ndarray)) and isinstance(dim, (Var, np.ndarray)):
        raise ArgumentError(f"{name} takes its Vars in one list", "two arguments", f"jt.{name}([x, y])")
    if not isinstance(vars, (list, tuple, Var, np.ndarray)) or len(vars) == 0:
        raise ArgumentError(f"{name} takes a list of one Var or more", short(vars), f"jt.{name}([x, y])")
    return [as_var(v) for v in vars]


# ---------------------------------------------------------------------------------------------------- another shape


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
@spread("shape", "size")
def reshape(x: Any, *lengths: Any, copy: bool | None = None) -> Var:
    """The same elements in the same order in another shape; one length may be -1, and is worked out.

    Args:
        copy: True copies the numbers into memory of their own; without it they are copied where a kernel needs that.

    Raises:
        ShapeError: another number of elements; or none, and beside a -1 a length of 0: then it could be anything.

    Example:
        >>> arange(6).reshape(2, -1).shape
        (2, 3)
    """
    if copy is not None and yes_or_no("reshape", "copy", copy):
        return in_shape(x, *lengths).apply(COPY)
    return apart(x, in_shape(x, *lengths))


def in_shape(x: Any, *shape: Any) -> Var:
    """As `reshape`; and `x` itself where it has that shape."""
    v, wanted = as_var(x), [whole("reshape", "shape", n) for n in varargs(shape)]
    if wanted.count(-1) > 1 or any(n < -1 for n in wanted):
        raise ShapeError("reshape takes lengths, at most one of them -1", f"shape {tuple(wanted)}")
    total = math.prod(v.shape)
    if -1 in wanted:
        others = math.prod(n for n in wanted if n != -1)
        if others == total == 0:
            found = f"{v.shape} for {tuple(varargs(shape))}, where -1 could be anything"
            raise ShapeError("reshape works out a length from the number of elements", found, "that length")
        wanted[wanted.index(-1)] = total // others if others and total % others == 0 else -1
    if -1 in wanted or math.prod(wanted) != total:
        raise ShapeError(
            "reshape keeps the number of elements", f"{v.shape} ({total} elements) for {tuple(varargs(shape))}",
            _shape_that_fits(total, wanted),
        )  # fmt: skip
    return v if tuple(wanted) == v.shape else view(v, reshape_op(v.shape, check_shape(wanted)))


def _shape_that_fits(total: int, wanted: list[int]) -> str:
    """How to reshape so many elements, with one of the lengths changed if that is enough."""
    for k in reversed(range(len(wanted))):
        others = math.prod(wanted[:k] + wanted[k + 1 :])
        if others > 0 and total % others == 0:
            return f"x.reshape{(*wanted[:k], total // others, *wanted[k + 1 :])}".replace(",)", ")")
    return "x.reshape(-1), which has one axis"


def lone(function: Function) -> Function:
    """Let a function that works along axes take a single number, as if it had one axis; the answer is one again.

    Example:
        >>> @lone
        ... def backwards(x):
        ...     return x[::-1]
        >>> backwards(array(3)).shape, backwards(array([3])).shape
        ((), (1,))
    """

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        v = as_var(args[0]) if args else None
        if v is None or v.ndim:
            return function(*args, **named)
        return reshape(function(reshape(v, 1), *args[1:], **named), ())

    return call  # type: ignore[return-value]


BITS = kernel("bits", """
def kernel(lo, hi, x, out):
    bits, answer = x.reshape(-1).view(out.dtype), out.reshape(-1)
    for i in range(lo, hi):
        answer[i] = bits[i]
""", threads=gpu_rows.elements("out[e] = x[e]", "x", "x.reshape(-1).view(out.dtype), out.reshape(-1)"))  # fmt: skip


@spread("shape", "size", "dtype")
def view_as_shape(x: Any, *wanted: Any) -> Var:
    """PyTorch's `view`: `x.view(2, -1)` is `x.reshape(2, -1)`; `x.view("int32")` are the same bits as another dtype.

    Every shape of the right size will do, since no Var keeps strides of its own; whether the numbers are copied on the
    way, `jt.explain` says. The view of a dtype has no gradient, and keeps the width of the elements.

    Example:
        >>> jt.view(arange(6), 2, 3).shape, hex(array(1.0).view("int32").item())
        ((2, 3), '0x3f800000')
    """
    v = as_var(x)
    if len(wanted) != 1 or not isinstance(wanted[0], (str, type, DType, np.dtype)):
        return reshape(v, *wanted)
    dtype = as_dtype(wanted[0])
    if dtype.size != v.dtype.size or dtype.is_half != v.dtype.is_half or "b" in (dtype.kind, v.dtype.kind):
        raise DtypeError("a view keeps the bits, so its dtype has the same width", f"{v.dtype} as {dtype}", "x.cast")
    return apart(x, v) if dtype is v.dtype else BITS(v, shape=v.shape, dtype=dtype, span=v.size)


view_as_shape.__name__ = view_as_shape.__qualname__ = "view"
method(view_as_shape)


@method
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Var:
    """Axes start_dim to end_dim as one.

    Example:
        >>> ones((2, 3, 4)).flatten(1).shape
        (2, 12)
    """
    v = as_var(x)
    start, end = (axis_of("flatten", d, max(v.ndim, 1)) for d in (start_dim, end_dim))
    if start > end:
        raise ArgumentError("flatten joins the axes from start_dim to end_dim", f"start {start} after end {end}")
    return reshape(v, *v.shape[:start], math.prod(v.shape[start : end + 1]), *v.shape[end + 1 :])


@method
def ravel(x: Any) -> Var:
    """All elements along one axis.

    Example:
        >>> ravel(ones((2, 3))).shape
        (6,)
    """
    return reshape(x, -1)


@var_function()
def unflatten(x: Any, dim: int, sizes: Sequence[int]) -> Var:
    """Axis `dim` as several axes of these lengths, one of which may be -1.

    Example:
        >>> unflatten(ones((2, 12)), 1, (3, -1)).shape
        (2, 3, 4)
    """
    v = as_var(x)
    at, parts = axis_of("unflatten", dim, v.ndim), [whole("unflatten", "sizes", n) for n in varargs((sizes,))]
    known = math.prod(n for n in parts if n != -1)
    if parts.count(-1) == 1 and known > 0 and v.shape[at] % known == 0:
        parts[parts.index(-1)] = v.shape[at] // known
    if min(parts, default=-1) < 0 or math.prod(parts) != v.shape[at]:
        raise ShapeError(f"unflatten divides an axis of length {v.shape[at]}", f"sizes {sizes} for shape {v.shape}")
    return reshape(v, *v.shape[:at], *parts, *v.shape[at + 1 :])


@var_function()
def unsqueeze(x: Any, axis: Any = None) -> Var:
    """New axes of length 1: `axis` says where they are in the result (PyTorch's unsqueeze, NumPy's expand_dims).

    Example:
        >>> ones((2, 3)).unsqueeze(-1).shape, expand_dims(ones(2), (0, 2)).shape
        ((2, 3, 1), (1, 2, 1))
    """
    v = as_var(x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new, lengths = listed_axes("unsqueeze", axis, v.ndim + count, verb="makes"), iter(v.shape)
    return reshape(v, tuple(1 if k in new else next(lengths) for k in range(v.ndim + count)))


@var_function()
def squeeze(x: Any, axis: Any = None) -> Var:
    """Without axes of length 1: all of them, or those in `axis`.

    Example:
        >>> ones((1, 2, 1)).squeeze(0).shape
        (2, 1)
    """
    v = as_var(x)
    named = range(v.ndim) if axis is None else listed_axes("squeeze", axis, v.ndim, lone=True)[: v.ndim]
    gone = [k for k in named if v.shape[k] == 1]
    if axis is not None and len(gone) != len(named):
        raise ShapeError("squeeze removes axes of length 1", f"axis {axis} of shape {v.shape}", "x.reshape")
    return reshape(v, tuple(n for k, n in enumerate(v.shape) if k not in gone))


# ------------------------------------------------------------------------------------------------------ a larger shape


@method
@spread("shape", "size", "sizes")
def expand(x: Any, *lengths: Any) -> Var:
    """Axes of length 1 repeated to `shape`, without copying; -1 keeps a length.

    Example:
        >>> ones((2, 1)).expand(-1, 3).shape
        (2, 3)
    """
    v, wanted = as_var(x), [whole("expand", "a length", n, -1) for n in varargs(lengths)]
    shift = len(wanted) - v.ndim
    size = tuple(v.shape[k - shift] if n == -1 and k >= shift else n for k, n in enumerate(wanted))
    return apart(x, v.stretched(size))


@var_function()
def broadcast(x: Any, shape: Any, dims: Any = ()) -> Var:
    """Repeat x to `shape`, or to that of a Var; `dims` are the axes of it that are new (Jittor's form).

    Where `shape` has the length 1, x keeps its own; `broadcast_to` refuses that.

    Example:
        >>> arange(3).broadcast((3, 2), [1]).numpy()[2]
        array([2, 2])
        >>> arange(3).broadcast((2, 1)).shape
        (2, 3)
    """
    v = as_var(x)
    wanted = shape.shape if isinstance(shape, Var) else check_shape(shape)
    new = {axis_of("broadcast", d, len(wanted)) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))}
    if not new:
        return apart(x, v.stretched(broadcast_shape("broadcast", v.shape, wanted)))
    lengths = iter(v.shape)
    if len(wanted) - len(new) != v.ndim:
        raise ShapeError("broadcast adds the axes in dims", f"shape {v.shape} with dims {tuple(new)} for {wanted}")
    fitted = tuple(1 if k in new else next(lengths) for k in range(len(wanted)))
    return reshape(v, fitted).stretched(broadcast_shape("broadcast", fitted, wanted))


@method
def broadcast_to(x: Any, shape: Sequence[int]) -> Var:
    """Read x as if it had a larger shape: aligned at the last axis, axes of length 1 are repeated.

    Example:
        >>> broadcast_to(arange(2), (3, 2)).numpy()[2]
        array([0, 1])
    """
    return apart(x, as_var(x).stretched(shape))


def broadcast_tensors(*vars: Any) -> tuple[Var, ...]:
    """Several Vars, read as if they had their common shape.

    Example:
        >>> [v.shape for v in broadcast_tensors(ones((3, 1)), ones(4))]
        [(3, 4), (3, 4)]
    """
    parts = listed("broadcast_tensors", varargs(vars))
    shape = broadcast_shape("broadcast_tensors", *(v.shape for v in parts))
    return tuple(apart(v, v.stretched(shape)) for v in parts)


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape to which arrays of these shapes are broadcast.

    Example:
        >>> broadcast_shapes((3, 1), 4, (1,))
        (3, 4)
    """
    return broadcast_shape("broadcast_shapes", (), *(check_shape(s) for s in shapes))


@method
def atleast_1d(*vars: Any) -> Any:
    """x with one axis or more; a tuple if there are several x.

    Example:
        >>> atleast_1d(array(3)).shape
        (1,)
    """
    return _each(vars, lambda v: reshape(v, 1) if v.ndim == 0 else v)


@method
def atleast_2d(*vars: Any) -> Any:
    """x with two axes or more: new ones come first.

    Example:
        >>> atleast_2d(ones(3)).shape
        (1, 3)
    """
    return _each(vars, lambda v: reshape(v, (1,) * (2 - v.ndim) + v.shape) if v.ndim < 2 else v)


@method
def atleast_3d(*vars: Any) -> Any:
    """x with three axes or more: (n,) becomes (1, n, 1), and (n, m) becomes (n, m, 1).

    Example:
        >>> atleast_3d(ones(3)).shape, atleast_3d(ones((3, 4))).shape
        ((1, 3, 1), (3, 4, 1))
    """
    return _each(vars, lambda v: reshape(v, (*(1,) * (2 - v.ndim), *v.shape, 1)) if v.ndim < 3 else v)


def _each(vars: Sequence[Any], change: Callable[[Var], Var]) -> Any:
    done = tuple(apart(v, change(v)) for v in listed("atleast", varargs(vars)))
    return done[0] if len(vars) == 1 and not isinstance(vars[0], (tuple, list)) else done


expand_dims = method(unsqueeze, "expand_dims")
broadcast_arrays = broadcast_tensors
