"""Places: cutting, padding, resizing and reading between pixels, for planes (..., h, w), and what sizes are allowed.

All are reads from other places: of whole rows and columns, or, for an image that is turned, of single pixels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.data.checks import number, whole
from jt_edu.data.transform.base import filler, floats, settled, twin, uniform
from jt_edu.errors import ArgumentError, ShapeError

MODES = ("constant", "edge", "reflect", "symmetric")


def cut(planes: Any, top: int, left: int, size: tuple[int, int]) -> Any:
    """A piece of this size."""
    return planes[..., top : top + size[0], left : left + size[1]]


def padded(planes: Any, border: tuple[int, int, int, int], fill: Any, mode: str) -> Any:
    """A border (left, top, right, bottom) around the planes."""
    left, top, right, bottom = border
    h, w = planes.shape[-2:]
    rows, columns = np.arange(-top, h + bottom), np.arange(-left, w + right)
    if mode != "constant":
        return read(planes, _mirrored(rows, h, mode), _mirrored(columns, w, mode))
    if not h or not w:
        raise ShapeError("a border stands around an image", f"shape {planes.shape}")
    inside = ((rows >= 0) & (rows < h))[:, None] & ((columns >= 0) & (columns < w))
    repeated = read(planes, rows.clip(0, h - 1), columns.clip(0, w - 1))
    return twin(planes).where(inside, repeated, filler(fill, planes))


def resized(planes: Any, size: tuple[int, int], interpolation: str) -> Any:
    """Planes of another size."""
    h, w = planes.shape[-2:]
    if not h or not w or 0 in size:
        raise ShapeError("an image has at least one pixel, before and after", f"{h} by {w} to {size[0]} by {size[1]}")
    if interpolation == "nearest":
        return read(planes, _nearest(h, size[0]), _nearest(w, size[1]))
    light = floats(planes)
    low, high, part = _neighbours(w, size[1], light)
    light = light[..., low] * (1 - part) + light[..., high] * part
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


def random_box(area: float, scale: tuple[float, float], ratio: tuple[float, float]) -> tuple[int, int]:
    """Two sides of a box: its area is a random part of `area`, first / second a random ratio."""
    part = area * uniform(*scale)
    shape = math.exp(uniform(math.log(ratio[0]), math.log(ratio[1])))
    return round(math.sqrt(part * shape)), round(math.sqrt(part / shape))


def pair(name: str, value: Any) -> tuple[int, int]:
    """(height, width), of one number or two."""
    if isinstance(value, (tuple, list)) and len(value) == 1:
        value = value[0]
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ArgumentError(f"{name} is one number, or (height, width)", repr(value), "(32, 32)")
        return whole(name, value[0], 1), whole(name, value[1], 1)
    return (whole(name, value, 1),) * 2


def limits(name: str, value: Any, least: float = -math.inf) -> tuple[float, float]:
    """(low, high), in this order."""
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not value[0] <= value[1]:
        raise ArgumentError(f"{name} is two limits, the lower one first", repr(value), "(0.5, 2.0)")
    return number(name, value[0], least), number(name, value[1], least)


def positive_limits(name: str, value: Any) -> tuple[float, float]:
    """(low, high), both above 0."""
    low, high = limits(name, value, 0.0)
    if not low > 0:
        raise ArgumentError(f"{name} is above 0", repr(value))
    return low, high


def border_of(padding: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom), of one number, two or four."""
    parts = padding if isinstance(padding, (tuple, list)) else (padding,)
    if len(parts) not in (1, 2, 4):
        found = repr(padding)
        raise ArgumentError("padding is 1 number, 2 (left and right, top and bottom) or 4 (from the left)", found)
    left, top, right, bottom = (whole("padding", x, 0) for x in tuple(parts) * (4 // len(parts)))
    return left, top, right, bottom


def mode_of(name: Any, fill: Any) -> str:
    """How a border is made; only a constant one has a colour."""
    if name not in MODES:
        raise ArgumentError("padding_mode is one of " + ", ".join(MODES), repr(name))
    if name != "constant" and not (np.ndim(fill) == 0 and fill == 0):
        raise ArgumentError("only a constant border has a colour", f"fill {fill!r} with padding_mode {name!r}")
    return str(name)


def interpolation_of(name: Any) -> str:
    """How to read between pixels."""
    if name not in ("nearest", "bilinear"):
        raise ArgumentError("interpolation is 'nearest' or 'bilinear'", repr(name))
    return str(name)


def _mirrored(places: Any, n: int, mode: str) -> Any:
    """Places outside of 0 to n - 1 as places inside."""
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


def _neighbours(old: int, new: int, like: Any) -> tuple[Any, Any, Any]:
    """The two old pixels that each new one lies between, and how far it is from the first."""
    place = np.maximum((np.arange(new) + 0.5) * (old / new) - 0.5, 0)
    low = np.floor(place).astype(int).clip(0, old - 1)
    part = (place - low).astype("float64" if like.dtype == "float64" else "float32")
    return low, np.minimum(low + 1, old - 1), part
