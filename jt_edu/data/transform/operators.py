"""Operators: what can be done to a photograph, by a name and one number?

    lights      each pixel becomes another one (Invert, Posterize), or is compared with the whole image (Equalize)
    moves       each pixel is read from another place (ShearX, Rotate)

All work on planes (..., c, h, w) of uint8. Tables of augmentations (auto_augment.py) are made of their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data.transform.affine import rotation
from jt_edu.data.transform.base import floats, is_float, settled, unfolded
from jt_edu.data.transform.blur import GaussianBlur
from jt_edu.data.transform.color import brighter, check_coloured, clearer, richer
from jt_edu.data.transform.normalize import ToPILImage
from jt_edu.data.transform.resample import moved
from jt_edu.ops.arguments import choice, word_meant
from jt_edu.variable.var import Var

__all__ = ["operator_grid"]
Planes = np.ndarray[Any, Any]


def operate(
    name: str, planes: Planes, value: float = 0.0, interpolation: str = "nearest", fill: Any = 0, pillows: bool = False
) -> Planes:
    """Planes of uint8, changed by the operator of this name.

    `interpolation`, `fill`, `pillows`: how a move reads between pixels and beyond the rim, as in `resample.moved`.
    """
    if name in LIGHTS:
        return LIGHTS[name](planes, value)
    h, w = planes.shape[-2:]
    back, shift = MOVES[name](value, h, w)
    moved_planes: Planes = moved(planes, back, shift, interpolation, fill, pillows)
    return moved_planes


def in_bytes(planes: Any) -> tuple[Planes, Callable[[Planes], Any]]:
    """Planes as an array of uint8, and how that becomes planes of the same kind again."""
    array = planes.numpy() if isinstance(planes, Var) else planes
    most = 255 if is_float(array) else 1
    pixels = settled(floats(array) * most, np.zeros(1, np.uint8))

    def back(changed: Planes) -> Any:
        light = changed if most == 1 else changed.astype(array.dtype) / array.dtype.type(most)
        return Var(light, planes.dtype) if isinstance(planes, Var) else light.astype(array.dtype, copy=False)

    return pixels, back


def _blended(step: Callable[[Any, float], Any]) -> Callable[[Planes, float], Planes]:
    """An operator of a change of light from 0 to 1."""

    def change(planes: Planes, factor: float) -> Planes:
        check_coloured("an operator", planes)
        changed: Planes = settled(step(planes.astype(np.float32) / 255, factor) * 255, planes)
        return changed

    return change


def _sharper(light: Any, factor: float) -> Any:
    """A line through the image and a blurred one, whose rim is as it was: 5/13 of a pixel, 1/13 of its neighbours."""
    blurred, (h, w) = light.copy(), light.shape[-2:]
    around = sum(light[..., y : h - 2 + y, x : w - 2 + x] for y in range(3) for x in range(3))
    blurred[..., 1:-1, 1:-1] = (around + 4 * light[..., 1:-1, 1:-1]) / 13
    return (light * factor + np.rint(blurred * 255) / 255 * (1 - factor)).clip(0, 1)


def _same_colour(light: Any, factor: float) -> Any:
    return light if light.shape[-3] == 1 else richer(light, factor)


def _posterized(planes: Planes, bits: float) -> Planes:
    """The upper bits alone."""
    return planes & np.uint8(-(1 << max(0, 8 - int(bits))) & 255)


def _solarized(planes: Planes, threshold: float) -> Planes:
    return np.where(planes >= threshold, 255 - planes, planes)


def _raised(planes: Planes, add: float) -> Planes:
    """The darker half, brighter."""
    return np.where(planes < 128, np.minimum(planes + int(add), 255), planes).astype(np.uint8)


def _stretched(planes: Planes, _: float) -> Planes:
    """Each channel from 0 to 255; one of a single brightness as it is."""
    low, high = (f(planes, (-2, -1), keepdims=True).astype(np.float32) for f in (np.min, np.max))
    wide = np.where(high > low, high - low, 255)
    return np.where(high > low, (planes - low) * 255 / wide, planes).astype(np.uint8)


def _equalized(planes: Planes, _: float) -> Planes:
    """In each channel, every brightness about equally often: a pixel becomes its rank."""
    flat = planes.reshape(-1, math.prod(planes.shape[-2:]))
    return np.stack([_ranked(channel) for channel in flat]).reshape(planes.shape)


def _ranked(channel: Planes) -> Planes:
    counts = np.bincount(channel, minlength=256)
    step = (counts.sum() - counts[np.flatnonzero(counts)[-1:]].sum()) // 255
    if not step:
        return channel
    below = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ranks: Planes = ((below + step // 2) // step).clip(0, 255).astype(np.uint8)
    return ranks[channel]


def _softened(planes: Planes, sigma: float) -> Planes:
    reach = min(math.ceil(3 * sigma), *(n - 1 for n in planes.shape[-2:]))
    blurred: Planes = GaussianBlur(2 * reach + 1, sigma).change(planes)
    return blurred


LIGHTS: dict[str, Callable[[Planes, float], Planes]] = {
    "Identity": lambda planes, _: planes,
    "Brightness": _blended(brighter),  # value: the factor; 1 changes nothing
    "Color": _blended(_same_colour),
    "Contrast": _blended(clearer),
    "Sharpness": _blended(_sharper),
    "Posterize": _posterized,  # value: how many bits are kept
    "Solarize": _solarized,  # value: what is at least as bright is inverted
    "SolarizeAdd": _raised,
    "AutoContrast": _stretched,
    "Equalize": _equalized,
    "Invert": lambda planes, _: 255 - planes,
    "GaussianBlur": _softened,  # value: the width of the bell, in pixels
}
MOVES: dict[str, Callable[[float, int, int], tuple[Any, tuple[float, float]]]] = {  # value, h, w -> back, shift
    "ShearX": lambda part, h, w: ([[1, part], [0, 1]], (-part * h / 2, 0)),  # the top left corner stays
    "ShearY": lambda part, h, w: ([[1, 0], [part, 1]], (0, -part * w / 2)),
    "TranslateX": lambda pixels, h, w: (np.eye(2), (pixels, 0)),
    "TranslateY": lambda pixels, h, w: (np.eye(2), (0, pixels)),
    "Rotate": lambda degrees, h, w: (rotation(degrees), (0, 0)),  # counter-clockwise
}


def operator_grid(image: Any, values: dict[str, list[float]], interpolation: str = "nearest", fill: Any = 0) -> Any:
    """A picture of what operators do to an image: a row for each, and in it the image for each of its values.

    Args:
        image: pixels (h, w) or (h, w, c), planes (c, h, w), or an image of Pillow.
        values: name of an operator -> its values, equally many for each.
        interpolation: how moves read between pixels, "nearest" or "bilinear".
        fill: the colour of what was not in the image.

    Returns:
        An image of Pillow, which a notebook shows: (names * h, values * w).

    Raises:
        ArgumentError: there is no such operator, or the rows differ in length.

    Example:
        >>> operator_grid(np.zeros((4, 6), np.uint8), {"Rotate": [-9, 0, 9], "Solarize": [0, 128, 255]}).size
        (18, 8)
    """
    planes = unfolded(image)[0]
    known = [*LIGHTS, *MOVES]
    for wrong in [name for name in values if name not in known]:
        raise ArgumentError("operator_grid takes names of operators", repr(wrong), word_meant(wrong, known))
    lengths = {name: len(row) for name, row in values.items()}
    if not lengths or len({*lengths.values()}) > 1 or 0 in lengths.values():
        raise ArgumentError("operator_grid takes equally many values for each operator", f"{lengths}")
    choice("operator_grid", "interpolation", interpolation, ("nearest", "bilinear"))
    pixels = in_bytes(planes)[0]
    rows = [
        np.concatenate([operate(name, pixels, value, interpolation, fill) for value in row], -1)
        for name, row in values.items()
    ]
    return ToPILImage()(np.concatenate(rows, -2).astype(np.float32) / 255)
