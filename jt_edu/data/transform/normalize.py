"""Normalize: pixels become planes, and planes pixels; the same light in other numbers.

pixels (h, w, c) from 0 to 255   --ToTensor-->     planes (c, h, w) float32 from 0 to 1
                                 <--ToPILImage--   (as an image of Pillow)
ConvertImageDtype    either way        Normalize    floats around 0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.dtypes import as_dtype
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.data.collate import as_array
from jt_edu.data.image import PILLOW_MODES, image_of
from jt_edu.data.transform.base import Transform, across, floats, is_float, loaded, unfolded
from jt_edu.ops.arguments import choice
from jt_edu.variable.var import Var

__all__ = ["ConvertImageDtype", "ImageNormalize", "Normalize", "ToPILImage", "ToTensor"]
DTYPES = ("uint8", "float16", "float32", "float64")  # in which light has one meaning: to 255, or to 1


class ToTensor:
    """Pixels (h, w, c) from 0 to 255 become planes (c, h, w) float32 from 0 to 1: an array, and a Var once in a batch.

    A tuple of images of one size, as `FiveCrop` returns it, becomes one array (images, c, h, w).

    Raises:
        DtypeError: these are no pixels. Floats need no scaling; np.moveaxis(x, -1, 0) puts their channels first.

    Example:
        >>> ToTensor()(np.array([[[0, 51, 255]]], np.uint8)).tolist()
        [[[0.0]], [[0.20000000298023224]], [[1.0]]]
    """

    def __call__(self, image: Any) -> Any:
        """Planes of these pixels."""
        if isinstance(image, tuple):
            return np.stack([self(piece) for piece in image])
        array = loaded(image)
        if array.dtype != "uint8":
            found = f"{array.dtype} of shape {array.shape}"
            raise DtypeError("ToTensor makes planes of uint8 pixels", found, "nothing, or np.moveaxis(x, -1, 0)")
        planes = floats(unfolded(array)[0]) / 255
        return planes if isinstance(planes, Var) else np.ascontiguousarray(planes)

    def __repr__(self) -> str:
        return "ToTensor()"


class ToPILImage:
    """A Pillow image from pixels or planes; floats from 0 to 1 become 0 to 255, rounded and clipped.

    Floats are planes, unless only their end can be channels: at most 4, behind two axes of more than 4.

    Args:
        mode: of the image, in Pillow's words; "L", "LA", "RGB" or "RGBA" by default, for 1 to 4 channels.

    Raises:
        ShapeError: the image has other channels than the mode, or it is a batch.
        DtypeError: the numbers are neither floats nor uint8.
        BackendError: Pillow is not installed.

    Example:
        >>> ToPILImage()(np.zeros((3, 4, 5))).size
        (5, 4)
    """

    def __init__(self, mode: str | None = None) -> None:
        modes = (m for several in PILLOW_MODES.values() for m in several)
        self.mode = choice("ToPILImage", "mode", mode, [None, *modes])

    def __call__(self, image: Any) -> Any:
        """The image for Pillow."""
        planes = unfolded(image)[0]
        if planes.ndim == 3 and min(planes.shape[:2]) > 4 >= planes.shape[2] > 0:
            planes = np.moveaxis(planes, -1, 0)
        planes = _bytes("ToPILImage", planes)
        pixels = _as_pixels("ToPILImage", planes.numpy() if isinstance(planes, Var) else planes)
        return image_of(pixels, self.mode)

    def __repr__(self) -> str:
        return f"ToPILImage(mode={self.mode!r})"


class ConvertImageDtype:
    """The same image in another dtype: floats from 0 to 1, uint8 from 0 to 255.

        float = uint8 / 255        uint8 = round(255 float), kept in 0 to 255

    As a NumPy array of uint8 holds pixels, and one of floats planes, (h, w, c) becomes (c, h, w), and back. A Var holds
    planes either way.

    Args:
        dtype: uint8, float16, float32 or float64.

    Raises:
        DtypeError: the dtype, or that of the image, is another one.
        ShapeError: a batch of NumPy's planes has no pixels to become.

    Example:
        >>> ConvertImageDtype("uint8")(np.array([[[1.0]], [[0.2]], [[0.0]]]))
        array([[[255,  51,   0]]], dtype=uint8)
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = as_dtype(dtype)
        if self.dtype not in DTYPES:
            raise DtypeError("ConvertImageDtype takes dtype as one of " + ", ".join(DTYPES), f"dtype={self.dtype}")

    def __call__(self, image: Any) -> Any:
        """The image in that dtype."""
        array = loaded(image)
        if array.dtype == self.dtype:
            return array
        planes = unfolded(array)[0]
        if self.dtype == "uint8":
            planes = _bytes("ConvertImageDtype", planes)
            return planes if isinstance(planes, Var) else _as_pixels("ConvertImageDtype", planes)
        _check_light("ConvertImageDtype", planes)
        light = planes.cast(self.dtype) if isinstance(planes, Var) else planes.astype(self.dtype)
        return light if is_float(planes) else light / 255

    def __repr__(self) -> str:
        return f"ConvertImageDtype({self.dtype})"


class Normalize(Transform):
    """(x - mean) / std in each channel, for planes of floats.

    Args:
        mean, std: a number for each channel, or one for all.

    Raises:
        ArgumentError: a std is not above 0.
        ShapeError: there are more or fewer channels.
        DtypeError: the image has whole numbers.

    Example:
        >>> Normalize([0.5], [0.25])(np.array([[[1.0, 0.5]]]))
        array([[[2., 0.]]])
    """

    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = (np.atleast_1d(as_array(x)).astype(np.float64).tolist() for x in (mean, std))
        if not np.isfinite(self.mean).all() or not np.isfinite(self.std).all() or not np.all(np.array(self.std) > 0):
            who = type(self).__name__
            raise ArgumentError(f"{who} takes finite numbers, and a std above 0", f"mean {mean}, std {std}")

    def change(self, planes: Any) -> Any:
        """Planes with the mean taken off, and measured in units of std."""
        who = type(self).__name__
        if not is_float(planes):
            raise DtypeError(f"{who} works on floats", f"dtype {planes.dtype}", "ToTensor() before it")
        asked = f"{who} takes mean and std as one number, or one for each channel"
        mean, std = (across(asked, np.array(x), planes) for x in (self.mean, self.std))
        return (planes - mean) / std


class ImageNormalize(Normalize):
    """Jittor's name for `Normalize`, which also takes pixels: they become planes from 0 to 1 first, as by `ToTensor`.

        pixels (h, w, c)  ->  (pixels / 255 - mean) / std  (c, h, w)

    Args:
        mean, std: a number for each channel, or one for all.

    Raises:
        ArgumentError: a std is not above 0.
        ShapeError: there are more or fewer channels.

    Example:
        >>> ImageNormalize([0.5], [0.5])(np.array([[0, 255]], np.uint8))
        array([[[-1.,  1.]]], dtype=float32)
    """

    def __call__(self, image: Any) -> Any:
        """The image around 0."""
        array = loaded(image)
        return super().__call__(ToTensor()(array) if array.dtype == "uint8" else array)


def _check_light(who: str, planes: Any) -> None:
    if planes.dtype not in DTYPES:
        raise DtypeError(f"{who} takes images of " + ", ".join(DTYPES), f"dtype {planes.dtype}")


def _bytes(who: str, planes: Any) -> Any:
    """Planes of uint8."""
    _check_light(who, planes)
    if not is_float(planes):
        return planes
    whole = (planes * 255).round().clip(0, 255)
    return whole.cast("uint8") if isinstance(planes, Var) else whole.astype(np.uint8)


def _as_pixels(who: str, planes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pixels (h, w, c) of one image."""
    channels = planes.shape[0] if planes.ndim == 3 else 1
    if planes.ndim > 3 or not 1 <= channels <= 4:
        raise ShapeError(f"{who} makes pixels of one image with 1 to 4 channels", f"shape {planes.shape}")
    return np.ascontiguousarray(np.moveaxis(planes, 0, -1) if planes.ndim == 3 else planes)
