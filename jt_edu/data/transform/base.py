"""Base: what an image is, and the transforms that know nothing of places and colours.

pixels (h, w, c) uint8   ->   planes (c, h, w)   ->   change   ->   planes   ->   pixels
planes (..., c, h, w)    ->                           change   ->   planes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jt_edu.data.checks import function, number
from jt_edu.data.collate import as_array
from jt_edu.data.image import pixels_of
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ops import elementwise
from jt_edu.var import Var


class Transform:
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
        return back(self.change(planes))

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
    if colour.ndim == 1 and planes.ndim >= 3 and len(colour) in (1, planes.shape[-3]):
        colour = colour[:, None, None]
    elif colour.ndim:
        raise ShapeError("a colour has a number for each channel", f"{fill!r} for planes of shape {planes.shape}")
    if planes.dtype == "uint8" and (colour.min() < 0 or colour.max() > 255):
        raise ArgumentError("a colour of pixels is from 0 to 255", repr(fill))
    return Var(colour, planes.dtype) if isinstance(planes, Var) else colour.astype(planes.dtype)


def uniform(low: float, high: float) -> float:
    """A random number between the two."""
    return float(np.random.uniform(low, high))  # noqa: NPY002 - seeded by jt.set_global_seed, and for each batch


def below(count: int) -> int:
    """A random whole number from 0 to count - 1."""
    return int(np.random.randint(count))  # noqa: NPY002 - the same


def shuffled(count: int) -> list[int]:
    """0 to count - 1 in random order."""
    return [int(k) for k in np.random.permutation(count)]  # noqa: NPY002 - the same


def chance(p: Any) -> float:
    """A probability, checked."""
    return number("p", p, 0, 1)


class Compose:
    """One transform after the other.

    Example:
        >>> Compose([lambda x: x + 1, lambda x: 2 * x])(3)
        8
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = _functions(transforms)

    def __call__(self, image: Any) -> Any:
        """The image after the last transform."""
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        rest = [f"{name}={value!r}," for name, value in vars(self).items() if name != "transforms"]
        return "\n    ".join([f"{type(self).__name__}(", *(f"{t!r}," for t in self.transforms), *rest]) + "\n)"


class Lambda:
    """A function as a transform. For workers it stands at the top of a file, and is no lambda.

    Example:
        >>> Lambda(abs)(-3)
        3
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if lambd is None:
            raise ArgumentError("Lambda takes a function", repr(lambd))
        self.lambd = function("lambd", lambd)

    def __call__(self, image: Any) -> Any:
        """What the function makes of it."""
        return self.lambd(image)

    def __repr__(self) -> str:
        return f"Lambda({getattr(self.lambd, '__name__', self.lambd)})"


class RandomApply(Compose):
    """All of the transforms with probability p, else none.

    Example:
        >>> RandomApply([abs], p=1.0)(-3), RandomApply([abs], p=0.0)(-3)
        (3, -3)
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5) -> None:
        super().__init__(transforms)
        self.p = chance(p)

    def __call__(self, image: Any) -> Any:
        """The changed image, or the same one."""
        return super().__call__(image) if uniform(0, 1) < self.p else image


class RandomChoice(Compose):
    """One of the transforms; p, if it is given, holds the weight of each.

    Example:
        >>> RandomChoice([abs, float], p=[1.0, 0.0])(-3)
        3
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        weights = [1.0] * len(self.transforms) if p is None else [number("p", x) for x in p]
        if len(weights) != len(self.transforms) or not sum(weights) > 0:
            raise ArgumentError("each transform has a weight, and not all are 0", f"{p} for {len(transforms)}")
        self.p = weights

    def __call__(self, image: Any) -> Any:
        """The image after one of the transforms."""
        mark = uniform(0, sum(self.p))
        which = int(np.searchsorted(np.cumsum(self.p), mark, side="right"))
        return self.transforms[which](image)


class ToTensor:
    """Pixels (h, w, c) from 0 to 255 become planes (c, h, w) float32 from 0 to 1; an array, which a batch makes a Var.

    Raises:
        DtypeError: these are no pixels. Floats need no scaling; np.moveaxis(x, -1, 0) puts their channels first.

    Example:
        >>> ToTensor()(np.array([[[0, 51, 255]]], np.uint8)).tolist()
        [[[0.0]], [[0.20000000298023224]], [[1.0]]]
    """

    def __call__(self, image: Any) -> Any:
        """Planes of these pixels."""
        array = loaded(image)
        if array.dtype != "uint8":
            found = f"{array.dtype} of shape {array.shape}"
            raise DtypeError("ToTensor makes planes of uint8 pixels", found, "nothing, or np.moveaxis(x, -1, 0)")
        planes = floats(unfolded(array)[0]) / 255
        return planes if isinstance(planes, Var) else np.ascontiguousarray(planes)

    def __repr__(self) -> str:
        return "ToTensor()"


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
            raise ArgumentError("Normalize takes finite numbers, and a std above 0", f"mean {mean}, std {std}")

    def change(self, planes: Any) -> Any:
        """Planes with the mean taken off, and measured in units of std."""
        if not is_float(planes):
            raise DtypeError("Normalize works on floats", f"dtype {planes.dtype}", "ToTensor() before it")
        mean, std = filler(self.mean, planes), filler(self.std, planes)
        return (planes - mean) / std


def _functions(transforms: Any) -> list[Callable[[Any], Any]]:
    if not isinstance(transforms, Sequence) or not all(callable(t) for t in transforms) or not transforms:
        raise ArgumentError("transforms are a list of functions", repr(transforms), "[ToTensor()]")
    return list(transforms)
