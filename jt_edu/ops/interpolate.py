"""Interpolation: an image read at places between its pixels.

    out[..., y, x] = sum over taps ty, tx of   input[..., place(y, ty), place(x, tx)] * weight(y, ty) * weight(x, tx)

A Reindex whose index is loaded from small arrays, one per direction, times weights that are made of counters. `nearest`
has one tap and is one read; `linear` has two in each direction, which are written beside each other; `cubic` has four,
which are summed over. `grid_sample` does the same, and differs in where it looks.

Where output pixel i looks, along an axis of n pixels that becomes one of o:

    align_corners    i * (n - 1) / (o - 1)          the first and the last pixel stay where they are
    otherwise        (i + 1/2) * n / o - 1/2        pixels are squares, and their edges stay where they are
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jt_edu.base.dtypes import float32, float64, int64, real_of, uint8
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.ir.index_expr import Index, as_index, counter, load, size
from jt_edu.ir.meta_ops import Elementwise, reindex
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.adaptive_pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from jt_edu.ops.arguments import choice, number, same_words, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import as_floats, widened
from jt_edu.ops.elementwise import clamp
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import reduced
from jt_edu.ops.rounding import floor
from jt_edu.ops.sliding_window import each_way
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

DIRECTIONS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}  # the others take any number of them
MODES = ("nearest", "nearest-exact", *DIRECTIONS, "area")
AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
SHARPNESS = -0.75  # of the cubic, as in PyTorch and OpenCV


@castable
@template
@same_words
def interpolate(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool = False, antialias: bool = False,
) -> Var:  # fmt: skip
    """An image in another size.

    Args:
        x: (n, c, l), (n, c, h, w) or (n, c, d, h, w).
        size: of the answer: one number, or one per direction. Either this or scale_factor.
        scale_factor: how much larger, one number or one per direction; o = floor(n * scale_factor).
        mode: "nearest", "nearest-exact" (the same, for pixels that are squares), "linear", "bilinear", "trilinear",
            "bicubic", or "area" (`adaptive_avg_pool2d`).
        align_corners: for the four modes in the middle: whether the outermost pixels stay where they are.
        recompute_scale_factor: take the scale from the sizes, n / o, where it would be 1 / scale_factor.
        antialias: for "bilinear" and "bicubic": where the image becomes smaller, look at all pixels, as Pillow does.

    Returns:
        (n, c, *size). Pixels of uint8 are rounded, as in PyTorch; other whole numbers become float64, except for the
        nearest.

    Raises:
        ShapeError: x is no image, or not one that the mode takes. ArgumentError: any other setting.

    Example:
        >>> interpolate(array([[[0.0, 4.0]]]), scale_factor=2, mode="linear").numpy()
        array([[[0., 1., 3., 4.]]], dtype=float32)

    Source: the cubic is that of Keys 1981, "Cubic convolution interpolation for digital image processing".
    """
    image = _image(as_var(x), choice("interpolate", "mode", mode, MODES))
    align, smooth = _switches(mode, align_corners, antialias)
    plane = image.shape[2:]
    out, scales = _sizes(plane, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return _like_pixels(image, AREA[len(plane) - 1](image, out))
    if mode not in DIRECTIONS:
        return _nearest(image, out, scales, 0.5 if mode == "nearest-exact" else 0)
    way = partial(_smooth, mode) if smooth else _cubic if mode == "bicubic" else _linear
    return _like_pixels(image, way(image, out, tuple(scales), align))


def _like_pixels(image: Var, found: Var) -> Var:
    """What was found for an image; pixels are rounded to pixels, a half to the next one."""
    return clamp(floor(found + 0.5), 0, 255).cast(uint8) if image.dtype is uint8 else found


def _switches(mode: str, align_corners: Any, antialias: Any) -> tuple[bool, bool]:
    """Whether corners stay where they are, and whether all pixels count; each is for some modes only."""
    align = align_corners is not None and yes_or_no("interpolate", "align_corners", align_corners)
    if align_corners is not None and mode not in DIRECTIONS:
        raise ArgumentError(f"align_corners is for {', '.join(DIRECTIONS)}", f"align_corners={align_corners}, {mode}")
    smooth = yes_or_no("interpolate", "antialias", antialias)
    if smooth and mode not in ("bilinear", "bicubic"):
        raise ArgumentError("antialias is for bilinear and bicubic", f"antialias=True, {mode}")
    return align, smooth


@template
def _linear(image: Var, out: Shape, scales: tuple[float, ...], align: bool) -> Var:
    """Between two pixels of each direction, written out: one pass over the answer, with the corners side by side."""
    floats = as_floats(image)
    wide = floats.cast(widened(floats).dtype)
    found: dict[Any, tuple[Var, Var]] = {}  # directions that are alike share theirs
    ways = list(zip(image.shape[2:], out, scales, strict=True))
    for n, o, scale in dict.fromkeys(ways):
        step, start = ((n - 1) / (o - 1) if o > 1 else 0.0, 0.0) if align else (scale, 0.5 * scale - 0.5)
        if n == o and not align:
            step, start = 1.0, 0.0
        here = index((o,), 0).cast(real_of(wide.dtype)).apply(PLACE, step, start, 0, n - 1)
        behind = here.cast(int64)
        found[n, o, scale] = behind, here - behind.cast(here.dtype)
    return _between(wide, out, [found[w][0] for w in ways], [found[w][1] for w in ways]).cast(floats.dtype)


PLACE = Elementwise("place", "minimum(maximum({0} * {1} + {2}, {3}), {4})", "float_real", (), 4)
BETWEEN = Elementwise(
    "between", "{0} + ({1} - {0}) * {2}", "float",
    (lambda o, d, a, b, t: d * (1 - t), lambda o, d, a, b, t: d * t), 3,
)  # fmt: skip


def _between(x: Var, out: Shape, behind: Sequence[Var], shares: Sequence[Var]) -> Var:
    """x at places between pixels: `behind` are those before them, `shares` how far they are from there to the next."""
    dims, shape = len(out), (*x.shape[:2], *out)
    corners = []
    for steps in itertools.product((0, 1), repeat=dims):  # the last direction changes first
        where = [counter(0), counter(1)]
        for k, step in enumerate(steps):
            here = load(k, [counter(2 + k)])
            where.append(here + (here < size(x.shape[2 + k] - 1)) if step else here)
        op = reindex("sample", x.shape, shape, tuple(where))
        corners.append(Var._of(Node(op, (x.node, *(b.node for b in behind)), shape, x.dtype)))
    for k in reversed(range(dims)):
        share = shares[k].reshape(-1, *(1,) * (dims - 1 - k))
        corners = [a.apply(BETWEEN, b, share) for a, b in zip(corners[::2], corners[1::2], strict=True)]
    return corners[0]


@template
def _cubic(image: Var, out: Shape, scales: tuple[float, ...], align: bool) -> Var:
    """The sum over taps, with places and weights that are made of counters."""
    floats = as_floats(image)
    wide = widened(floats).dtype
    dims, places, weights = len(out), [], []
    for k, (n, o, scale) in enumerate(zip(image.shape[2:], out, scales, strict=True)):
        i = counts_along(2 + k, o, 2 + 2 * dims).cast(real_of(wide))
        here = i * ((n - 1) / (o - 1) if o > 1 else 0.0) if align else (i + 0.5) * scale - 0.5
        tap = counts_along(2 + dims + k, TAPS["cubic"], 2 + 2 * dims)
        places.append(clamp(floor(here).cast(int64) + tap - taps_before("cubic"), 0, n - 1))
        weights.append(weigh("cubic", here - floor(here), tap))
    return blend(floats.cast(wide), places, weights, dims).cast(floats.dtype)


def _smooth(mode: str, image: Var, out: Shape, scales: Sequence[float], align: bool) -> Var:
    """Each direction by itself: a row of the answer is a weighted mean of as many rows as become one."""
    floats = as_floats(image)
    wide = floats.cast(widened(floats).dtype)
    for k, (n, o, scale) in enumerate(zip(image.shape[2:], out, scales, strict=True)):
        step = ((n - 1) / (o - 1) if o > 1 else 0.0) if align else scale
        weights = as_var(_means(n, o, step, mode), real_of(wide.dtype)).stop_grad()
        wide = matmul(weights, wide) if k == 0 else matmul(wide, weights.transpose(0, 1))
    return wide.cast(floats.dtype)


def _means(n: int, o: int, step: float, mode: str) -> np.ndarray[Any, Any]:
    """(o, n): how much each of n pixels counts in each of o; triangles or cubics, as wide as a step."""
    reach, wide = (2.0 if mode == "bicubic" else 1.0), max(step, 1.0)
    here = step * (np.arange(o) + 0.5)
    first = np.maximum((here - reach * wide + 0.5).astype(int), 0)
    last = np.minimum((here + reach * wide + 0.5).astype(int), n)
    pixel = np.arange(n)
    far = np.abs((pixel + 0.5 - here[:, None]) / wide)
    if mode == "bilinear":
        weights = np.maximum(1 - far, 0)
    else:  # Keys' cubic with -1/2, as in Pillow
        near, outer = (1.5 * far - 2.5) * far * far + 1, ((-0.5 * far + 2.5) * far - 4) * far + 2
        weights = np.where(far < 1, near, np.where(far < 2, outer, 0))
    weights *= (pixel >= first[:, None]) & (pixel < last[:, None])
    means: np.ndarray[Any, Any] = weights / np.maximum(weights.sum(1, keepdims=True), 1e-300)
    return means


def _image(x: Var, mode: str) -> Var:
    wanted = DIRECTIONS.get(mode)
    if not 3 <= x.ndim <= 5 or (wanted and x.ndim != wanted + 2):
        shapes = ("(n, c, l)", "(n, c, h, w)", "(n, c, d, h, w)")
        asked = shapes[wanted - 1] if wanted else " or ".join(shapes)
        raise ShapeError(f"interpolate with mode={mode!r} takes {asked}", f"shape {x.shape}", "x.unsqueeze(0)")
    if 0 in x.shape[2:]:
        raise ShapeError("interpolate reads between pixels", f"none in shape {x.shape}")
    return x


def _sizes(plane: Shape, wanted: Any, factor: Any, recompute: bool) -> tuple[Shape, list[float]]:
    """The size of the answer, and by how much a step in it moves along the input."""
    dims = len(plane)
    again = recompute is not None and yes_or_no("interpolate", "recompute_scale_factor", recompute)
    if (wanted is None) == (factor is None):
        raise ArgumentError("interpolate takes either size or scale_factor", f"size={wanted}, scale_factor={factor}")
    if wanted is not None:
        if again:
            raise ArgumentError("recompute_scale_factor is for a scale_factor", f"size={short(wanted)}")
        out = each_way("interpolate", "size", wanted, dims, 1)
        return out, [n / o for n, o in zip(plane, out, strict=True)]
    parts = tuple(factor) if isinstance(factor, (tuple, list)) else (factor,) * dims
    factors = [float(number("interpolate", "scale_factor", p)) for p in parts]
    if len(factors) != dims or not all(0 < s < math.inf for s in factors):
        raise ArgumentError(f"scale_factor is a number above 0, or {dims} of them", short(factor))
    scaled = [math.floor(n * s) for n, s in zip(plane, factors, strict=True)]
    out = each_way("interpolate", "the size that scale_factor leads to", scaled, dims, 1)
    return out, [n / o if again else 1 / s for n, o, s in zip(plane, out, factors, strict=True)]


def _nearest(x: Var, out: Shape, scales: Sequence[float], offset: float) -> Var:
    """One tap, and no arithmetic: out[i] = x[floor((i + offset) * scale)].

    PyTorch has a kernel of its own for images (n, c, h, w): it rounds the scale to float32 whatever the dtype, and
    where the size stays or doubles it forgets the scale_factor. Both can be seen, so both are the same here.
    """
    flat = len(out) == 2
    kind = float64 if x.dtype == float64 and not flat else float32
    where: list[Index] = [counter(0), counter(1)]
    arrays: list[Var] = []
    for k, (n, o, scale) in enumerate(zip(x.shape[2:], out, scales, strict=True)):
        step = n / o if flat and not offset and o in (n, 2 * n) else scale
        exact = _ratio(counter(2 + k), n, o, step, offset)
        if exact is None:
            here = (counts_along(0, o, 1).cast(kind) + offset) * float(kind.storage.type(step))
            exact = load(len(arrays), [counter(2 + k)])
            arrays.append(clamp(floor(here.cast(float32)).cast(int64), 0, n - 1))
        where.append(exact)
    shape = (*x.shape[:2], *out)
    op = reindex("nearest", x.shape, shape, tuple(where))
    return Var._of(Node(op, (x.node, *(a.node for a in arrays)), shape, x.dtype))


def _ratio(i: Index, n: int, o: int, scale: float, offset: float) -> Index | None:
    """The same in whole numbers, where float32 rounds nothing: n / o has a power of two below the line."""
    shared = math.gcd(n, o)
    up, down = n // shared, o // shared
    if scale != n / o or down & (down - 1) or max(n, o) >= 1 << 22:
        return None
    return (i * (2 * up) + up) // (2 * down) if offset else (i * up) // down


def counts_along(axis: int, length: int, rank: int) -> Var:
    """0, 1, 2, ... along one of `rank` axes; the others have length 1.

    Example:
        >>> counts_along(1, 3, 2).numpy()
        array([[0, 1, 2]])
    """
    return index(tuple(length if k == axis else 1 for k in range(rank)), axis)


TAPS = {"linear": 2, "cubic": 4}


def taps_before(kind: str) -> int:
    """How many taps lie in front of the pixel that one looks at."""
    return TAPS[kind] // 2 - 1


def weigh(kind: str, fraction: Var, tap: Var) -> Var:
    """The weight of a tap, for a place `fraction` behind the pixel before it: of a line, or of Keys' cubic."""
    if kind == "linear":
        return fraction.where_not(tap == 0, 1 - fraction)
    far = (tap - 1 - fraction).where_not(tap < 2, fraction + 1 - tap)  # the distance to the tap
    a = SHARPNESS
    inner = ((a + 2) * far - (a + 3)) * far * far + 1
    outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return outer.where_not((tap == 1) | (tap == 2), inner)


def blend(x: Var, places: Sequence[Var], weights: Sequence[Var], dims: int, inside: Sequence[Var] = ()) -> Var:
    """x read at `places` in its last axes, times `weights`, summed over the taps.

    Args:
        x: (n, c, *plane).
        places, weights: one for each axis of the plane, of shapes that broadcast to (n, c, *out, *taps).
        dims: how many axes the plane has.
        inside: for each axis, which places are pixels; others show 0, and a weight that is nan gives them no gradient.
    """
    rest = x.shape[: x.ndim - dims]
    loops = broadcast_shape("interpolate", (*rest, *(1,) * (2 * dims)), *(p.shape for p in places))
    where = [counter(k) for k in range(len(rest))]
    for k, p in enumerate(places):
        where.append(load(k, [counter(j) if m > 1 else as_index(0) for j, m in enumerate(p.shape)]))
    op = reindex("sample", x.shape, loops, tuple(where))
    total = Var._of(Node(op, (x.node, *(p.node for p in places)), loops, x.dtype))
    for i in inside:
        total = total.where_not(i == 0, 0)
    for w in weights:
        total = total * w
    return reduced(total, "interpolate", "add", tuple(range(len(loops) - dims, len(loops))), False)
