"""Colour: brightness, contrast, saturation and hue.

Light is a number from 0 to 1 (in whole numbers, to 255). Three of the four are one idea, a line through two images:

    blend = factor * image + (1 - factor) * other       kept in 0 to 1

    brightness    other is black
    contrast      other is the mean grey of the whole image
    saturation    other is the same image in grey
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.data.checks import number
from jt_edu.data.transform.base import Transform, floats, is_float, settled, shuffled, twin, uniform
from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.ops.stacks import concat
from jt_edu.var import Var

RED, GREEN, BLUE = 0.2989, 0.587, 0.114  # how bright each looks: ITU-R BT.601, as PyTorch rounds it


class Grayscale(Transform):
    """The image in grey, in 1 channel or in 3 equal ones.

        grey = 0.2989 red + 0.587 green + 0.114 blue

    Raises:
        ShapeError: the image has not 3 channels.

    Example:
        >>> Grayscale()(np.array([[[1.0]], [[0.0]], [[0.0]]]))
        array([[[0.2989]]])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise ArgumentError("an image in grey has 1 channel, or 3", repr(num_output_channels))
        self.num_output_channels = num_output_channels

    def change(self, planes: Any) -> Any:
        """One plane of grey, or three of them."""
        grey = settled(_grey(floats(planes), "Grayscale"), planes)
        return grey if self.num_output_channels == 1 else _beside([grey] * 3)


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue, each changed by a random factor, in random order.

    Args:
        brightness, contrast, saturation: x, for a factor from max(0, 1 - x) to 1 + x; or the two limits.
        hue: x from 0 to 0.5, for a turn of the colour circle by -x to x; or the two limits, from -0.5 to 0.5.

    Raises:
        ArgumentError: a limit is negative, or hue more than half a turn.
        ShapeError: the image has neither 3 channels nor 1. One channel has no saturation and no hue to change.

    Example:
        >>> ColorJitter(brightness=(2.0, 2.0))(np.full((3, 1, 1), 0.25)).ravel()
        array([0.5, 0.5, 0.5])
    """

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        self.brightness = _limits("brightness", brightness)
        self.contrast = _limits("contrast", contrast)
        self.saturation = _limits("saturation", saturation)
        self.hue = _limits("hue", hue, middle=0, most=0.5)

    def change(self, planes: Any) -> Any:
        """Planes with other colours; a change whose limits are equal to no change at all is left out."""
        if planes.ndim < 3 or planes.shape[-3] not in (1, 3):
            raise ShapeError("ColorJitter changes images of 3 channels, or of 1", f"shape {planes.shape}")
        steps: list[tuple[Callable[[Any, float], Any], tuple[float, float], float]] = [
            (_brighter, self.brightness, 1.0), (_clearer, self.contrast, 1.0), (_richer, self.saturation, 1.0),
            (_turned, self.hue, 0.0),
        ]  # fmt: skip
        most = 1.0 if is_float(planes) else 255.0
        light = floats(planes) / most
        for k in shuffled(4):
            step, limits, nothing = steps[k]
            colourless = k >= 2 and planes.shape[-3] == 1
            if limits != (nothing, nothing) and not colourless:
                light = step(light, uniform(*limits))
        return settled(light * most, planes)


def _limits(name: str, value: Any, middle: float = 1.0, most: float = np.inf) -> tuple[float, float]:
    least = 0.0 if middle else -most
    if isinstance(value, (tuple, list)):
        if len(value) != 2 or value[0] > value[1]:
            raise ArgumentError(f"{name} is one number, or two limits", repr(value), "(0.5, 1.5)")
        return number(name, value[0], least, most), number(name, value[1], least, most)
    reach = number(name, value, 0, most)
    return max(least, middle - reach), middle + reach


def _channels(planes: Any) -> list[Any]:
    return [planes[..., k : k + 1, :, :] for k in range(3)]


def _beside(planes: list[Any]) -> Any:
    return concat(planes, -3) if isinstance(planes[0], Var) else np.concatenate(planes, -3)


def _grey(planes: Any, who: str = "") -> Any:
    """One plane that is as bright as the three look."""
    if planes.ndim < 3 or planes.shape[-3] != 3:
        raise ShapeError(f"{who} needs red, green and blue", f"shape {planes.shape}", "3 channels")
    red, green, blue = _channels(planes)
    return RED * red + GREEN * green + BLUE * blue


def _blend(planes: Any, other: Any, factor: float) -> Any:
    return (planes * factor + other * (1 - factor)).clip(0, 1)


def _brighter(planes: Any, factor: float) -> Any:
    return (planes * factor).clip(0, 1)


def _clearer(planes: Any, factor: float) -> Any:
    grey = planes if planes.shape[-3] == 1 else _grey(planes)
    return _blend(planes, grey.mean((-3, -2, -1), keepdims=True), factor)


def _richer(planes: Any, factor: float) -> Any:
    return _blend(planes, _grey(planes), factor)


def _turned(planes: Any, turn: float) -> Any:
    """Every colour turned on the colour circle; 1 is a whole turn.

        value v = max(r, g, b)      chroma c = v - min(r, g, b)      hue h: where on the circle, from 0 to 1
        channel n of (5, 3, 1):     k = (n + 6 h) % 6,   v - c * max(0, min(2 - |k - 2|, 1))

    Source: Smith 1978, "Color gamut transform pairs".
    """
    where = twin(planes).where
    red, green, blue = _channels(planes)
    value = _larger(_larger(red, green), blue)
    chroma = value + _larger(_larger(-red, -green), -blue)
    some = where(chroma > 0, chroma, chroma * 0 + 1)  # grey has no hue, and needs no division
    after_green = where(value == green, 2 + (blue - red) / some, 4 + (red - green) / some)
    hue = where(value == red, (green - blue) / some, after_green) / 6 + turn
    angles = [(n + 6 * hue) % 6 for n in (5, 3, 1)]
    return _beside([value - chroma * (2 - abs(k - 2)).clip(0, 1) for k in angles])


def _larger(a: Any, b: Any) -> Any:
    return twin(a).where(a > b, a, b)
