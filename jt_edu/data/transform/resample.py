"""Resample: cutting, padding, resizing and reading between pixels, for planes (..., h, w), and what sizes are allowed.

All are reads from other places: of whole rows and columns, or, for an image that is turned, of single pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jt_edu.base.allocator import no_room
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.data.transform.base import below, filler, floats, settled, twin, uniform
from jt_edu.ops.arguments import choice, number, whole
from jt_edu.variable.var import Var

TRIES = 10  # how often a box is drawn that does not fit
MODES = ("constant", "edge", "reflect", "symmetric")


def cut(planes: Any, top: int, left: int, size: tuple[int, int]) -> Any:
    """A piece of this size."""
    return planes[..., top : top + size[0], left : left + size[1]]


def padded(planes: Any, border: tuple[int, int, int, int], fill: Any, mode: str) -> Any:
    """A border (left, top, right, bottom) around the planes."""
    left, top, right, bottom = border
    h, w = planes.shape[-2:]
    check_not_empty("a border stands around", planes)
    _check_room(planes, (top + h + bottom, left + w + right))
    rows, columns = np.arange(-top, h + bottom), np.arange(-left, w + right)
    if mode != "constant":
        return read(planes, _mirrored(rows, h, mode), _mirrored(columns, w, mode))
    inside = ((rows >= 0) & (rows < h))[:, None] & ((columns >= 0) & (columns < w))
    repeated = read(planes, rows.clip(0, h - 1), columns.clip(0, w - 1))
    return twin(planes).where(inside, repeated, filler(fill, planes))


def resized(planes: Any, size: tuple[int, int], interpolation: str, antialias: bool) -> Any:
    """Planes of another size. `antialias`: where they shrink, a pixel is a mean of all that it stands for."""
    h, w = planes.shape[-2:]
    check_not_empty("what is resized is", planes)
    if 0 in size:
        raise ShapeError("an image has at least one pixel, before and after", f"{h} by {w} to {size[0]} by {size[1]}")
    if (h, w) == tuple(size):
        return planes
    _check_room(planes, size)
    if interpolation == "nearest":
        return read(planes, _nearest(h, size[0]), _nearest(w, size[1]))
    light = floats(planes)
    if interpolation == "bicubic":
        wide = light @ _cubics(w, size[1], light, antialias).T
        wide = wide.clip(0, 255) if planes.dtype == "uint8" else wide  # a curve swings over, and is cut off each time
        return settled(_cubics(h, size[0], light, antialias) @ wide, planes)
    if antialias and size[1] < w:
        light = light @ _means(w, size[1], light).T
    else:
        low, high, part = _neighbours(w, size[1], light)
        light = light[..., low] * (1 - part) + light[..., high] * part
    if antialias and size[0] < h:
        return settled(_means(h, size[0], light) @ light, planes)
    low, high, part = _neighbours(h, size[0], light)
    part = part[:, None]
    return settled(light[..., low, :] * (1 - part) + light[..., high, :] * part, planes)


def read(planes: Any, rows: Any, columns: Any) -> Any:
    """Planes made of these rows and these columns."""
    return planes[..., rows, :][..., columns]


def picked(planes: Any, y: Any, x: Any) -> tuple[Any, Any]:
    """The pixels at whole places, and whether there are such pixels."""
    h, w = planes.shape[-2:]
    inside = (y >= 0) & (y < h) & (x >= 0) & (x < w)
    return planes[..., y.clip(0, h - 1).astype(int), x.clip(0, w - 1).astype(int)], inside


def between(planes: Any, y: Any, x: Any) -> tuple[Any, Any]:
    """The light at any places, and how much of it comes from the image: the four pixels around, by their nearness."""
    top, left = np.floor(y), np.floor(x)
    light, covered = 0, 0
    for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        pixels, inside = picked(planes, row, column)
        near = ((1 - abs(y - row)) * (1 - abs(x - column)) * inside).astype(np.float32)
        light, covered = light + pixels * near, covered + near
    return light, covered


def moved(
    planes: Any, back: Any, shift: tuple[float, float], interpolation: str, fill: Any, pillows: bool = False
) -> Any:
    """Each pixel read from another place: (dx, dy) from the centre, less the shift, times the matrix `back`.

    `pillows`: by the rule of Pillow, where the outermost pixels go on for half a pixel; "bicubic" has no other one.
    """
    h, w = planes.shape[-2:]
    check_not_empty("what is moved is", planes)
    dy, dx = np.mgrid[:h, :w] - np.array([(h - 1) / 2 + shift[1], (w - 1) / 2 + shift[0]])[:, None, None]
    (xx, xy), (yx, yy) = back
    x = xx * dx + xy * dy + (w - 1) / 2
    y = yx * dx + yy * dy + (h - 1) / 2
    colour = filler(fill, planes)
    if interpolation == "nearest":
        pixels, inside = picked(planes, np.rint(np.round(y, 9)), np.rint(np.round(x, 9)))
        return twin(planes).where(inside, pixels, colour)
    if pillows:
        light = _by_kernel(floats(planes), y, x, *KERNELS[interpolation])
        inside = (x >= -0.5) & (x < w - 0.5) & (y >= -0.5) & (y < h - 0.5)
        return twin(planes).where(inside, settled(light, planes), colour)
    light, covered = between(floats(planes), y, x)
    # PyTorch's rule: pixels at the rim are weighted with what is covered a second time
    return settled(light * covered + (1 - covered) * floats(colour), planes)


def random_box(area: float, scale: tuple[float, float], ratio: tuple[float, float]) -> tuple[int, int]:
    """Two sides of a box: its area is a random part of `area`, first / second a random ratio."""
    part = area * uniform(*scale)
    shape = math.exp(uniform(math.log(ratio[0]), math.log(ratio[1])))
    return round(math.sqrt(part * shape)), round(math.sqrt(part / shape))


def random_hole(size: tuple[int, int], area: float, scale: Any, ratio: Any) -> tuple[slice, slice] | None:
    """Rows and columns of a random box that is smaller than an image of this size; None, if ten in a row are not."""
    for _ in range(TRIES):
        sides = random_box(area, scale, ratio)
        if all(0 < side < whole for side, whole in zip(sides, size, strict=True)):
            top, left = (below(whole - side + 1) for side, whole in zip(sides, size, strict=True))
            return slice(top, top + sides[0]), slice(left, left + sides[1])
    return None


def check_not_empty(asked: str, planes: Any) -> None:
    """Refuse an image without a pixel."""
    if 0 in planes.shape[-2:]:
        raise ShapeError(f"{asked} an image, with one pixel at least", f"shape {tuple(planes.shape)}")


def pair(who: str, name: str, value: Any, what: str = "(height, width)") -> tuple[int, int]:
    """(height, width), of one number or two."""
    if isinstance(value, (tuple, list)) and len(value) == 1:
        value = value[0]
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ArgumentError(f"{who} takes {name} as one number, or {what}", f"{name}={value!r}", "(32, 32)")
        return whole(who, name, value[0], 1), whole(who, name, value[1], 1)
    return (whole(who, name, value, 1),) * 2


def limits(
    who: str, name: str, value: Any, least: float = -math.inf, most: float = math.inf, above: bool = False
) -> tuple[float, float]:
    """(low, high), in this order, both from `least` to `most`; `above`: `least` itself is not allowed."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(f"{who} takes {name} as two limits", f"{name}={value!r}", "(0.5, 1.5)")
    low, high = (number(who, f"each limit of {name}", x, least, most, above, finite=True) for x in value)
    if low > high:
        raise ArgumentError(f"{who} takes {name} with the lower limit first", f"{name}={value!r}", f"({high}, {low})")
    return low, high


def angles(who: str, name: str, value: Any) -> tuple[float, float]:
    """Two limits of an angle; of one number, as far to either side."""
    if isinstance(value, (tuple, list)):
        return limits(who, name, value)
    reach = number(who, name, value, 0, finite=True)
    return -reach, reach


def border_of(who: str, padding: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom), of one number, two or four."""
    parts = padding if isinstance(padding, (tuple, list)) else (padding,)
    if len(parts) not in (1, 2, 4):
        asked = f"{who} takes padding as 1 number, 2 (left and right, top and bottom) or 4 (from the left)"
        raise ArgumentError(asked, f"padding={padding!r}")
    left, top, right, bottom = (whole(who, "padding", x, 0) for x in tuple(parts) * (4 // len(parts)))
    return left, top, right, bottom


def mode_of(who: str, name: Any, fill: Any) -> str:
    """How a border is made; only a constant one has a colour."""
    mode: str = choice(who, "padding_mode", name, MODES)
    if mode != "constant" and not (np.ndim(fill) == 0 and fill == 0):
        raise ArgumentError("only a constant border has a colour", f"fill {fill!r} with padding_mode {name!r}")
    return mode


def interpolation_of(who: str, name: Any, *more: str) -> str:
    """How to read between pixels; `more`: what else is allowed."""
    return str(choice(who, "interpolation", name, ("nearest", "bilinear", *more)))


def _check_room(planes: Any, size: tuple[int, int]) -> None:
    """Refuse an image of a size that no memory holds, before the places of its rows and columns are written down."""
    shape = (*planes.shape[:-2], *size)
    width = planes.dtype.size if isinstance(planes, Var) else planes.dtype.itemsize
    try:
        np.empty(shape, f"V{width}")  # nobody writes to it, so the system only says whether it could
    except (MemoryError, ValueError, OverflowError):
        raise no_room("an image", shape, width * math.prod(shape)) from None


def _mirrored(places: Any, n: int, mode: str) -> Any:
    """Places outside 0 to n - 1 as places inside."""
    if mode == "edge":
        return places.clip(0, n - 1)
    skip = 1 if mode == "reflect" else 0  # whether the last pixel is its own mirror image
    if -places.min() > n - skip or places.max() - (n - 1) > n - skip:
        wide = max(-places.min(), places.max() - (n - 1))
        raise ShapeError(f"a {mode} border is at most {n - skip} wide", f"{wide} beside {n} pixels", "'edge'")
    low = np.where(places < 0, -places - 1 + skip, places)
    return np.where(low >= n, 2 * n - 1 - skip - low, low)


def _nearest(old: int, new: int) -> Any:
    """Which old pixel each new one shows; in float32, as PyTorch."""
    step = np.float32(old) / np.float32(new)
    return np.floor(np.arange(new, dtype=np.float32) * step).astype(int).clip(0, old - 1)


def _means(old: int, new: int, like: Any) -> Any:
    """(new, old) weights: for each new pixel a triangle, which ends where its neighbours have their tips."""
    step = old / new
    away = abs(np.arange(old) + 0.5 - (np.arange(new)[:, None] + 0.5) * step) / step
    weights = np.maximum(1 - away, 0)
    return (weights / weights.sum(1, keepdims=True)).astype("float64" if like.dtype == "float64" else "float32")


def _cubics(old: int, new: int, like: Any, antialias: bool) -> Any:
    """(new, old) weights: for each new pixel a cubic curve, which is wider where the image shrinks if `antialias`."""
    wide = max(old / new, 1) if antialias else 1
    places = np.arange(old) if antialias else np.arange(-3, old + 3)
    away = (places + 0.5 - (np.arange(new)[:, None] + 0.5) * (old / new)) / wide
    weights = cubic(away, -0.5 if antialias else -0.75)
    if not antialias:  # what lies outside is the pixel at the rim
        weights = weights @ (places.clip(0, old - 1)[:, None] == np.arange(old))
    return (weights / weights.sum(1, keepdims=True)).astype("float64" if like.dtype == "float64" else "float32")


def cubic(away: Any, slope: float) -> Any:
    """Keys' curve: 1 at 0, 0 at 1 and beyond 2, and with this slope where it passes 1.

    Source: Keys 1981, "Cubic convolution interpolation for digital image processing".
    """
    d = abs(away)
    near = ((slope + 2) * d - (slope + 3)) * d * d + 1
    return np.where(d < 1, near, np.where(d < 2, slope * (((d - 5) * d + 8) * d - 4), 0))


def _by_kernel(planes: Any, y: Any, x: Any, weight: Callable[[Any], Any], reach: int) -> Any:
    """The light at any places: a mean of the pixels around, by a weight for each axis; the rim goes on outside."""
    (h, w), steps = planes.shape[-2:], range(1 - reach, reach + 1)
    top, left = np.floor(y).astype(np.int32), np.floor(x).astype(np.int32)
    rows = [((top + k).clip(0, h - 1) * w, weight(y - top - k).astype(np.float32)) for k in steps]
    columns = [((left + k).clip(0, w - 1), weight(x - left - k).astype(np.float32)) for k in steps]
    pixels = planes.reshape(*planes.shape[:-2], h * w)
    return sum(pixels.take(r + c, -1) * (high * wide) for r, high in rows for c, wide in columns)


KERNELS: dict[str, tuple[Callable[[Any], Any], int]] = {  # of Pillow, for images that are moved; how far each reaches
    "bilinear": (lambda away: 1 - abs(away), 1),
    "bicubic": (partial(cubic, slope=-1.0), 2),
}


def _neighbours(old: int, new: int, like: Any) -> tuple[Any, Any, Any]:
    """The two old pixels that each new one lies between, and how far it is from the first."""
    place = np.maximum((np.arange(new) + 0.5) * (old / new) - 0.5, 0)
    low = np.floor(place).astype(int).clip(0, old - 1)
    part = (place - low).astype("float64" if like.dtype == "float64" else "float32")
    return low, np.minimum(low + 1, old - 1), part
