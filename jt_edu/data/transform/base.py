"""Base: what an image is, and what all transforms share.

pixels (h, w, c) uint8   ->   planes (c, h, w)   ->   change   ->   planes   ->   pixels
planes (..., c, h, w)    ->                           change   ->   planes
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import Extended, doing
from jt_edu.data.collate import as_array
from jt_edu.data.image import pixels_of
from jt_edu.ops import elementwise
from jt_edu.ops.arguments import number
from jt_edu.variable.var import Var


class Transform(Extended):
    """A change of an image. Your own one has a method `change`, which is given planes (..., c, h, w).

    Example:
        >>> class Negative(Transform):
        ...     def change(self, planes):
        ...         return 1 - planes
        >>> Negative()(np.array([[[0.25]]]))
        array([[[0.75]]])
    """

    def __call__(self, image: Any) -> Any:
        """The changed image."""
        planes, back = unfolded(image)
        return back(doing(self, "change")(planes))

    def change(self, planes: Any) -> Any:
        """Other planes."""
        raise ArgumentError(f"{type(self).__name__} must say what it does to planes", "no method change")

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({said})"


def unfolded(image: Any) -> tuple[Any, Callable[[Any], Any]]:
    """An image as planes, and how planes become such an image again."""
    array = loaded(image)
    if isinstance(array, Var) or array.dtype != np.uint8:
        if array.ndim < 2:
            raise ShapeError("an image has a height and a width", f"shape {array.shape}", "(channels, height, width)")
        return array, lambda planes: planes
    if array.ndim == 2:
        return array[None], lambda planes: planes[0] if len(planes) == 1 else np.moveaxis(planes, 0, -1)
    if array.ndim != 3 or not 1 <= array.shape[2] <= 4:
        raise ShapeError(
            "a uint8 array holds pixels: (height, width) or (height, width, 1 to 4 channels)", f"shape {array.shape}",
            "np.moveaxis(x, 0, -1), if the channels come first",
        )  # fmt: skip
    return np.moveaxis(array, -1, 0), lambda planes: np.moveaxis(planes, 0, -1)


def loaded(image: Any) -> Any:
    """An image of Pillow as an array; arrays and Vars as they are."""
    if isinstance(image, (Var, np.ndarray)):
        return image
    if not hasattr(image, "__array_interface__"):
        raise ArgumentError("an image is an array, a Var or an image of Pillow", type(image).__name__)
    return pixels_of(image) if hasattr(image, "mode") else np.asarray(image)


def twin(planes: Any) -> Any:
    """Who has `where` for these planes: NumPy or jt_edu."""
    return elementwise if isinstance(planes, Var) else np


def is_float(planes: Any) -> bool:
    """Whether light is a number from 0 to 1; otherwise it is one from 0 to 255."""
    return bool(planes.dtype.is_float) if isinstance(planes, Var) else planes.dtype.kind == "f"


def floats(planes: Any) -> Any:
    """Planes to calculate with."""
    if is_float(planes):
        return planes
    return planes.cast("float32") if isinstance(planes, Var) else planes.astype(np.float32)


def settled(planes: Any, like: Any) -> Any:
    """What was calculated, in the dtype of the image it came from; whole numbers are rounded."""
    if is_float(like):
        return planes if isinstance(planes, Var) else planes.astype(like.dtype, copy=False)
    whole = planes.round()
    if like.dtype == "uint8":
        whole = whole.clip(0, 255)
    return whole.cast(like.dtype) if isinstance(planes, Var) else whole.astype(like.dtype)


def filler(fill: Any, planes: Any) -> Any:
    """A colour (a number, or one for each channel) that fits beside planes."""
    colour = as_array(fill)
    if colour.dtype.kind not in "biuf" or not np.isfinite(colour).all():
        raise ArgumentError("a colour is a finite number, or one for each channel", repr(fill))
    if planes.dtype == "uint8" and colour.size and (colour.min() < 0 or colour.max() > 255):
        raise ArgumentError("a colour of pixels is from 0 to 255", repr(fill))
    return across("a colour is one number, or one for each channel", colour, planes)


def across(asked: str, numbers: np.ndarray[Any, Any], planes: Any) -> Any:
    """One number, or one for each channel, in the dtype of planes, and so that it fits beside them."""
    channels = planes.shape[-3] if planes.ndim >= 3 else 1
    if numbers.ndim > 1 or numbers.size not in (1, channels):
        raise ShapeError(asked, f"{numbers.tolist()} for planes of shape {planes.shape}")
    fitted = numbers.reshape(-1, 1, 1) if numbers.size > 1 else numbers.reshape(())
    return Var(fitted, planes.dtype) if isinstance(planes, Var) else fitted.astype(planes.dtype)


def uniform(low: float, high: float) -> float:
    """A random number between the two."""
    return float(np.random.uniform(low, high))  # noqa: NPY002 - seeded by jt.set_global_seed, and for each batch


def below(count: int) -> int:
    """A random whole number from 0 to count - 1."""
    return int(np.random.randint(count))  # noqa: NPY002 - the same


def shuffled(count: int) -> list[int]:
    """0 to count - 1 in random order."""
    return [int(k) for k in np.random.permutation(count)]  # noqa: NPY002 - the same


def drawn(law: str, *args: Any, **kwargs: Any) -> Any:
    """Random numbers of another law of NumPy: `beta`, `normal`, `choice`."""
    return getattr(np.random, law)(*args, **kwargs)


def chance(who: str, p: Any) -> float:
    """A probability, checked."""
    return number(who, "p", p, 0, 1)
