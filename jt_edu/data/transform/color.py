"""Colour: grey, brightness, contrast, saturation and hue.

Light is a number from 0 to 1 (in whole numbers, to 255). Three of the four are one idea, a line through two images:

    blend = factor * image + (1 - factor) * other       kept in 0 to 1

    brightness    other is black
    contrast      other is the mean grey of the whole image
    saturation    other is the same image in grey
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.base.errors import ShapeError
from jt_edu.data.transform.base import Transform, chance, floats, is_float, settled, shuffled, twin, uniform
from jt_edu.data.transform.normalize import ToTensor
from jt_edu.data.transform.resample import check_not_empty, limits
from jt_edu.ops.arguments import choice, number, whole
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var

__all__ = ["ColorJitter", "Gray", "Grayscale", "RandomGray", "RandomGrayscale"]
RED, GREEN, BLUE = 0.2989, 0.587, 0.114  # how bright each looks: ITU-R BT.601, as PyTorch rounds it


class Grayscale(Transform):
    """The image in grey, in 1 channel or in 3 equal ones.

        grey = 0.2989 red + 0.587 green + 0.114 blue

    An image with 1 channel is its own grey.

    Raises:
        ShapeError: the image has neither 3 channels nor 1.

    Example:
        >>> Grayscale()(np.array([[[1.0]], [[0.0]], [[0.0]]]))
        array([[[0.2989]]])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        who, name = type(self).__name__, "num_output_channels"
        self.num_output_channels = choice(who, name, whole(who, name, num_output_channels), (1, 3))

    def change(self, planes: Any) -> Any:
        """One plane of grey, or three of them."""
        check_coloured(type(self).__name__, planes)
        return _in_grey(planes, self.num_output_channels)


class RandomGrayscale(Transform):
    """The image in grey, in as many channels as it has, with probability p.

    Args:
        p: how likely an image is changed.

    Raises:
        ArgumentError: p is not from 0 to 1.
        ShapeError: the image has neither 3 channels nor 1.

    Example:
        >>> RandomGrayscale(p=1.0)(np.array([[[1.0]], [[0.0]], [[0.0]]])).ravel()
        array([0.2989, 0.2989, 0.2989])

    Source: Chen et al. 2020, "A simple framework for contrastive learning of visual representations", appendix A
    (arXiv:2002.05709).
    """

    def __init__(self, p: float = 0.1) -> None:
        self.p = chance("RandomGrayscale", p)

    def change(self, planes: Any) -> Any:
        """Planes in grey, or as they are."""
        check_coloured("RandomGrayscale", planes)
        return _in_grey(planes, planes.shape[-3]) if uniform(0, 1) < self.p else planes


RandomGray = RandomGrayscale  # Jittor's name


class Gray(Grayscale):
    """Jittor's name for `Grayscale` and `ToTensor` in one: it turns pixels into planes of floats from 0 to 1.

    Args:
        num_output_channels: 1, or 3 equal ones.

    Raises:
        ShapeError: the image has neither 3 channels nor 1.

    Example:
        >>> Gray()(np.array([[0, 255]], np.uint8))
        array([[[0., 1.]]], dtype=float32)
    """

    def __call__(self, image: Any) -> Any:
        """Planes in grey."""
        grey = super().__call__(image)
        return ToTensor()(grey) if grey.dtype == "uint8" else grey


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
        self.brightness = _around(1.0, "brightness", brightness)
        self.contrast = _around(1.0, "contrast", contrast)
        self.saturation = _around(1.0, "saturation", saturation)
        self.hue = _around(0.0, "hue", hue, -0.5, 0.5)

    def change(self, planes: Any) -> Any:
        """Planes with other colours; a change whose limits are equal to no change at all is left out."""
        check_coloured("ColorJitter", planes)
        check_not_empty("ColorJitter changes", planes)
        steps: list[tuple[Callable[[Any, float], Any], tuple[float, float], float]] = [
            (brighter, self.brightness, 1.0), (clearer, self.contrast, 1.0), (richer, self.saturation, 1.0),
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


def _around(middle: float, name: str, value: Any, least: float = 0, most: float = math.inf) -> tuple[float, float]:
    """Two limits; a single number means that far to either side of the middle."""
    if isinstance(value, (tuple, list)):
        return limits("ColorJitter", name, value, least, most)
    reach = number("ColorJitter", name, value, 0, most, finite=True)
    return max(least, middle - reach), middle + reach


def check_coloured(who: str, planes: Any) -> None:
    """Refuse an image that has neither 3 channels nor 1."""
    if planes.ndim < 3 or planes.shape[-3] not in (1, 3):
        raise ShapeError(f"{who} changes images of 3 channels, or of 1", f"shape {planes.shape}", "(3, height, width)")


def _channels(planes: Any) -> list[Any]:
    return [planes[..., k : k + 1, :, :] for k in range(3)]


def _beside(planes: list[Any]) -> Any:
    return concat(planes, -3) if isinstance(planes[0], Var) else np.concatenate(planes, -3)


def _in_grey(planes: Any, channels: int) -> Any:
    """The image in one plane of grey, or in several that are equal."""
    grey = planes if planes.shape[-3] == 1 else settled(_grey(floats(planes)), planes)
    return grey if channels == 1 else _beside([grey] * channels)


def _grey(planes: Any) -> Any:
    """One plane that is as bright as the three look."""
    red, green, blue = _channels(planes)
    return RED * red + GREEN * green + BLUE * blue


def _blend(planes: Any, other: Any, factor: float) -> Any:
    return (planes * factor + other * (1 - factor)).clip(0, 1)


def brighter(planes: Any, factor: float) -> Any:
    """Light from 0 to 1, times the factor."""
    return (planes * factor).clip(0, 1)


def clearer(planes: Any, factor: float) -> Any:
    """Farther from the mean grey, or nearer to it."""
    grey = planes if planes.shape[-3] == 1 else _grey(planes)
    return _blend(planes, grey.mean((-3, -2, -1), keepdims=True), factor)


def richer(planes: Any, factor: float) -> Any:
    """Farther from grey, or nearer to it."""
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
