"""Pooling: a window slides over the input, and what it sees is reduced to one number.

    out[n, c, y, x] = reduce over ky, kx of   input[n, c, y*s + ky*d - p, x*s + kx*d - p]

A Reindex with the window's taps as further axes, then a reduction over those axes; outside the image maximum reads
-inf and the sum reads 0. One text for images of one, two and three directions: `(n, c, *plane)`, or `(c, *plane)` for
a single image.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from jt_edu.base.dtypes import float32, sum_of
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.index_expr import counter, counters
from jt_edu.ir.meta_ops import REDUCERS, Reindex, ReindexReduce, Rules, reindex
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.arguments import choice, number, same_words, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import as_floats, widened
from jt_edu.ops.elementwise import clamp
from jt_edu.ops.reduce import reduce_op, reduced
from jt_edu.ops.sliding_window import each_way, window
from jt_edu.ops.view import view
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d",
           "max_pool3d", "pool2d"]  # fmt: skip
REDUCE_BY = ("maximum", "minimum", "mean", "add")


class Windows(NamedTuple):
    """Where windows stand, each with one number per direction: `out` says how many there are."""

    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    out: Shape


def images(name: str, x: Any, dims: int) -> Var:
    """A Var of shape (n, c, *plane) or (c, *plane), with `dims` directions in the plane."""
    v = as_var(x)
    plane = ("(n, c, l) or (c, l)", "(n, c, h, w) or (c, h, w)", "(n, c, d, h, w) or (c, d, h, w)")[dims - 1]
    if v.ndim not in (dims + 1, dims + 2):
        raise ShapeError(f"{name} takes images of shape {plane}", f"shape {v.shape}", "x.unsqueeze(0)")
    return v


def windows(
    who: str, plane: Shape, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Windows:  # fmt: skip
    """Check the settings of a window, and count the places where it stands."""
    dims = len(plane)
    kernel = each_way(who, "kernel_size", kernel_size, dims, 1)
    step = kernel if stride is None else each_way(who, "stride", stride, dims, 1)
    around, spread = each_way(who, "padding", padding, dims, 0), each_way(who, "dilation", dilation, dims, 1)
    reach = tuple(d * (k - 1) + 1 for d, k in zip(spread, kernel, strict=True))
    if any(2 * p > r for p, r in zip(around, reach, strict=True)):
        raise ArgumentError("padding is at most half of the kernel", f"padding {around} for a kernel of {reach}")
    out = tuple(
        _places(n + 2 * p - r, s, n + p, ceil_mode) for n, p, r, s in zip(plane, around, reach, step, strict=True)
    )
    if min(out) < 1:
        raise ShapeError("the window must fit into the padded image", f"a kernel of {reach} for {plane}", "padding")
    return Windows(kernel, step, around, spread, out)


def _places(room: int, step: int, end: int, ceil_mode: bool) -> int:
    """How many windows; with ceil_mode the last may reach over the end, but must begin before it."""
    if not yes_or_no("pooling", "ceil_mode", ceil_mode):
        return room // step + 1
    count = -(-room // step) + 1
    return count - ((count - 1) * step >= end)


def reduce_taps(seen: Var, reducer: str, dims: int) -> Var:
    """Reduce the last `dims` axes, in which a window sees what it sees."""
    return reduced(seen, "pool", reducer, tuple(range(seen.ndim - dims, seen.ndim)), False)


def extremum(x: Var, look: Reindex, reducer: str, dims: int, indices: bool) -> Any:
    """The largest or smallest number that each window sees, and where it stands in the plane, if asked for.

    The position is row-major, as PyTorch counts it; of equal numbers it is the first.
    """
    seen = view(x, look)
    op = _first_extremum(seen.shape, reducer, dims)
    best = Var._of(Node(op, (seen.node,), op.shape, seen.dtype))
    if not yes_or_no("pooling", "return_indices", indices):
        return best
    plane = x.shape[-dims:]
    beyond = math.prod(plane)
    places = reindex(look.name, plane, look.shape, look.where[-dims:], beyond, look.valid)
    counted = view(index((beyond,), 0).reshape(plane), places)
    return best, reduce_taps(counted.where_not(seen.is_what(op) == 0, beyond), "minimum", dims)


class FirstExtremum(ReindexReduce):
    """The largest or smallest of the taps of each window; of equal ones the first has all of the gradient.

    (Without windows, in `max`, they share it. PyTorch has both rules too.)
    """

    @property
    def gradients(self) -> Rules:  # type: ignore[override]
        """Number the taps of a window, and find the lowest number of those that are as large as the answer."""
        return (self._to_the_first,)

    def _to_the_first(self, out: Var, dout: Var, x: Var) -> Var:
        taps = x.shape[len(self.shape) :]
        many = math.prod(taps)
        tap = index((many,), 0).cast(float32 if x.dtype.is_half else x.dtype).reshape(taps)
        first = tap.broadcast_to(x.shape).where_not(x.is_what(self) == 0, many).reduce_as(self, (), "minimum")
        return dout.gather_by(self, x.shape).where_not(first.gather_by(self, x.shape) != tap, 0)


@lru_cache(maxsize=1 << 12)
def _first_extremum(seen: Shape, reducer: str, dims: int) -> ReindexReduce:
    op = reduce_op("pool", reducer, seen, tuple(range(len(seen) - dims, len(seen))), False)
    return FirstExtremum(op.name, op.reducer, op.shape, op.where, op.valid, op.guards, op.whole)


def start_of(name: str, reducer: str, x: Var) -> float:
    """What a maximum or minimum begins with, and reads outside the image."""
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} needs numbers that have an order", f"dtype {x.dtype}", "x.abs()")
    return REDUCERS[reducer].start(x.dtype)


@castable(name="{op}_pool{dims}d")
@template
def pool(
    x: Any, dims: int, kernel_size: Any, stride: Any = None, padding: Any = 0, op: str = "maximum",
    ceil_mode: bool = False, count_include_pad: bool = True, dilation: Any = 1, divisor_override: Any = None,
    return_indices: bool = False, who: str = "pool",
) -> Any:  # fmt: skip
    """Windows of images with `dims` directions, each reduced to one number; see `pool2d`. `who` is named in errors.

    Example:
        >>> pool(arange(6).reshape(1, 1, 6), 1, 2, op="add").numpy()[0, 0]
        array([1, 5, 9])
    """
    choice(who, "op", op, REDUCE_BY)
    image = images(who, x, dims)
    w = windows(who, image.shape[-dims:], kernel_size, stride, padding, dilation, ceil_mode)
    if op in ("maximum", "minimum"):
        look = _look(image.shape, w, start_of(who, op, image))
        return extremum(image, look, op, dims, return_indices)
    if return_indices:
        raise ArgumentError("only a maximum or a minimum has a position", f"return_indices=True with op={op!r}")
    if op == "add":
        total = image.cast(sum_of(image.dtype))
        return reduce_taps(view(total, _look(image.shape, w, 0)), "add", dims)
    floats = as_floats(image)
    total = reduce_taps(view(widened(floats), _look(image.shape, w, 0)), "add", dims)
    mean = total / _divisor(image.shape[-dims:], w, count_include_pad, divisor_override, total)
    return mean.cast(floats.dtype)


@lru_cache(maxsize=1 << 12)
def _look(image: Shape, w: Windows, fill: float) -> Reindex:
    """Read through the windows: axes (..., *out, *kernel)."""
    dims = len(w.out)
    rest, rank = len(image) - dims, len(image)
    where = (
        window(counter(rest + k), w.stride[k], counter(rank + k), w.dilation[k], w.padding[k]) for k in range(dims)
    )
    return reindex("window", image, (*image[:rest], *w.out, *w.kernel), (*counters(rest), *where), fill)


def _divisor(plane: Shape, w: Windows, include: bool, override: Any, total: Var) -> Any:
    """What a mean divides by: how many elements each window sees, unless it is told another number."""
    if override is not None:
        if not number("avg_pool", "divisor_override", override):
            raise ArgumentError("a mean is divided by a number other than 0", f"divisor_override={override}")
        return float(override)
    count: Any = 1.0
    for axis in range(len(plane)):
        count = count * _taps_inside(plane, w, axis, include)
    return count.cast(total.dtype) if isinstance(count, Var) else count


def _taps_inside(plane: Shape, w: Windows, axis: int, include: bool) -> Any:
    """How many taps along an axis count; padding does if `include`, what lies beyond it never does."""
    kernel, step, around, spread, out = (part[axis] for part in w)
    border = around if yes_or_no("pooling", "count_include_pad", include) else 0
    first, last = -around, (out - 1) * step - around + (kernel - 1) * spread
    low, high = -border, plane[axis] + border
    if first >= low and last < high:
        return float(kernel)
    start = index((out,), 0) * step - around
    before, upto = (clamp(-((start - end) // spread), 0, kernel) for end in (low, high))
    return (upto - before).reshape(out, *(1,) * (len(plane) - 1 - axis))


def pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, op: str = "maximum", ceil_mode: bool = False,
    count_include_pad: bool = True, dilation: Any = 1, divisor_override: Any = None, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Windows of an image, each reduced to one number.

        h' = (h + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1, rounded up with ceil_mode

    Args:
        x: (n, c, h, w) or (c, h, w).
        kernel_size, stride, padding, dilation: one number, or one per direction; stride is the kernel size by default.
        op: "maximum", "minimum", "mean" or "add".
        ceil_mode: let the last window stand partly outside, if it begins inside.
        count_include_pad: for "mean", whether padding counts as elements.
        divisor_override: for "mean", the number to divide by.
        return_indices: for "maximum" and "minimum", answer also where each number stands in its plane, row by row; a
            window that sees padding alone has the number of elements there, which is no place (PyTorch's is none too).

    Raises:
        ShapeError: x is no image, or the window is larger than it. ArgumentError: a setting that makes no sense.

    Example:
        >>> pool2d(arange(16).float().reshape(1, 1, 4, 4), 2).numpy()[0, 0]
        array([[ 5.,  7.],
               [13., 15.]], dtype=float32)
    """
    return pool(
        x, 2, kernel_size, stride, padding, op, ceil_mode, count_include_pad, dilation, divisor_override,
        return_indices, "pool2d",
    )  # fmt: skip


@same_words
def max_pool1d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest number of each window of a signal (n, c, l) or (c, l); settings as in `pool2d`.

    With `return_indices`, also where it stands in its plane, counted row by row. Of equal largest
    numbers the first has the gradient.

    Example:
        >>> max_pool1d(array([[3, 1, 4, 1, 5]]), 3, 2).numpy()
        array([[4, 5]])
    """
    return _maximum(x, 1, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@same_words
def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest number of each window of an image (n, c, h, w) or (c, h, w); settings as in `pool2d`.

    With `return_indices`, also where it stands in its plane, counted row by row. Of equal largest
    numbers the first has the gradient.

    Example:
        >>> max_pool2d(arange(16).reshape(1, 4, 4), 2).tolist()
        [[[5, 7], [13, 15]]]
    """
    return _maximum(x, 2, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@same_words
def max_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest number of each window of a volume (n, c, d, h, w) or (c, d, h, w); settings as in `pool2d`.

    With `return_indices`, also where it stands in its plane, counted row by row. Of equal largest
    numbers the first has the gradient.

    Example:
        >>> max_pool3d(arange(16).reshape(1, 2, 2, 4), 2).tolist()
        [[[[13, 15]]]]
    """
    return _maximum(x, 3, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@same_words
def avg_pool1d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Var:  # fmt: skip
    """Mean of each window of a signal (n, c, l) or (c, l); settings as in `pool2d`.

    Example:
        >>> avg_pool1d(array([[3.0, 1.0, 4.0, 2.0]]), 2).numpy()
        array([[2., 3.]], dtype=float32)
    """
    return _mean(x, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@same_words
def avg_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Var:  # fmt: skip
    """Mean of each window of an image (n, c, h, w) or (c, h, w); settings as in `pool2d`.

    Example:
        >>> avg_pool2d(arange(16).reshape(1, 4, 4), 2).tolist()
        [[[2.5, 4.5], [10.5, 12.5]]]
    """
    return _mean(x, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@same_words
def avg_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Var:  # fmt: skip
    """Mean of each window of a volume (n, c, d, h, w) or (c, d, h, w); settings as in `pool2d`.

    Example:
        >>> avg_pool3d(arange(16).reshape(1, 2, 2, 4), 2).tolist()
        [[[[6.5, 8.5]]]]
    """
    return _mean(x, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@same_words
def lp_pool1d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Var:
    """p-norm of each window of a signal (n, c, l) or (c, l).

        out = (sum x**p) ** (1/p), p = norm_type

    Example:
        >>> lp_pool1d(array([[3.0, 4.0, 0.0, 1.0]]), 2, 2).numpy()
        array([[5., 1.]], dtype=float32)
    """
    return _power_pool(x, 1, norm_type, kernel_size, stride, ceil_mode)


@same_words
def lp_pool2d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Var:
    """p-norm of each window of an image (n, c, h, w) or (c, h, w).

        out = (sum x**p) ** (1/p), p = norm_type

    Example:
        >>> lp_pool2d(array([[[3.0, 0.0], [0.0, 4.0]]]), 2, 2).item()
        5.0
    """
    return _power_pool(x, 2, norm_type, kernel_size, stride, ceil_mode)


@same_words
def lp_pool3d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Var:
    """p-norm of each window of a volume (n, c, d, h, w) or (c, d, h, w).

        out = (sum x**p) ** (1/p), p = norm_type

    Example:
        >>> lp_pool3d(ones((1, 1, 2, 2)), 2, (1, 2, 2)).item()
        2.0
    """
    return _power_pool(x, 3, norm_type, kernel_size, stride, ceil_mode)


def _maximum(
    x: Any, dims: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool
) -> Any:
    more = (None, return_indices, f"max_pool{dims}d")
    return pool(x, dims, kernel_size, stride, padding, "maximum", ceil_mode, True, dilation, *more)


def _mean(
    x: Any, dims: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_padding: bool, divisor: Any
) -> Var:
    more = (1, divisor, False, f"avg_pool{dims}d")
    out: Var = pool(x, dims, kernel_size, stride, padding, "mean", ceil_mode, count_padding, *more)
    return out


def _power_pool(x: Any, dims: int, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool) -> Var:
    """A window that stands partly outside counts as if it were full of what it sees inside, as in PyTorch."""
    name = f"lp_pool{dims}d"
    p = number(name, "norm_type", norm_type, 0, above=True)
    if p == math.inf:
        raise ArgumentError(
            f"{name} takes a finite norm_type above 0", f"norm_type={p}", "max_pool of x.abs() for infinity"
        )
    image = images(name, x, dims)
    floats = as_floats(image)
    mean = pool(widened(floats) ** p, dims, kernel_size, stride, 0, "mean", ceil_mode, who=name)
    total = mean * float(math.prod(each_way(name, "kernel_size", kernel_size, dims, 1)))
    nothing = total == 0  # a root has no slope there; PyTorch gives it 0
    out: Var = (total.where_not(nothing, 1) ** (1 / p)).where_not(nothing, 0)
    return out.cast(floats.dtype)
