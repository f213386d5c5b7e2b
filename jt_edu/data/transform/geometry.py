"""Geometry: which pixel of the image stands where?

    cut, flip, Pad    other rows and columns: planes[..., rows, :][..., columns]
    Resize            between two rows, between two columns

Rows are counted from the top, columns from the left. Pixel k covers the stretch from k to k + 1: its centre is k + 1/2.
What turns an image stands in affine.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import doing
from jt_edu.data.transform.base import (
    Transform,
    below,
    chance,
    filler,
    is_float,
    settled,
    twin,
    unfolded,
    uniform,
)
from jt_edu.data.transform.resample import (
    border_of,
    check_not_empty,
    cut,
    interpolation_of,
    limits,
    mode_of,
    padded,
    pair,
    random_box,
    random_hole,
    resized,
)
from jt_edu.ops.arguments import yes_or_no
from jt_edu.variable.var import Var

__all__ = ["CenterCrop", "FiveCrop", "Pad", "RandomCrop", "RandomCropAndResize", "RandomErasing",
           "RandomHorizontalFlip", "RandomResizedCrop", "RandomVerticalFlip", "Resize", "TenCrop"]  # fmt: skip
TRIES = 10  # how often a random box is drawn before the middle of the image is taken


class Resize(Transform):
    """The image with another height and width.

    "bilinear" looks at the two nearest pixels along each axis:

        s = max(0, (k + 1/2) * old / new - 1/2)     f = s - floor s
        new[k] = (1 - f) old[floor s] + f old[floor s + 1]

    An image that shrinks would lose what stands between them, and show stripes that are not there. So it is averaged:

        new[k] = sum over i of old[i] w(i) / sum of w
        w(i) = max(0, 1 - |i + 1/2 - (k + 1/2) r| / r),     r = old / new

    and "nearest" takes old[floor(k * old / new)]. "bicubic" weighs the four nearest pixels by a cubic curve (or those
    that a wider curve reaches, where the image is averaged).

    Args:
        size: (height, width), or the length of the shorter side.
        interpolation: "bilinear", "bicubic" or "nearest".
        antialias: whether the first two average where the image shrinks.

    Raises:
        ShapeError: the image has no pixel, or will have none.
        OutOfMemoryError: no memory holds an image of that size.

    Example:
        >>> Resize((1, 4))(np.array([[[0.0, 1.0]]]))
        array([[[0.  , 0.25, 0.75, 1.  ]]])
    """

    def __init__(self, size: Any, interpolation: str = "bilinear", antialias: bool = True) -> None:
        both = pair("Resize", "size", size)
        self.size = both if isinstance(size, (tuple, list)) and len(size) == 2 else both[0]
        self.interpolation = interpolation_of("Resize", interpolation, "bicubic")
        self.antialias = yes_or_no("Resize", "antialias", antialias)

    def change(self, planes: Any) -> Any:
        """Planes of the new size."""
        h, w = planes.shape[-2:]
        check_not_empty("what is resized is", planes)
        short = self.size
        size = short if isinstance(short, tuple) else (short * h // min(h, w), short * w // min(h, w))
        return resized(planes, size, self.interpolation, self.antialias)


class CenterCrop(Transform):
    """The middle of the image; a smaller image is padded first.

    Args:
        size: (height, width), or one number for both.
        fill: the colour of what is padded, a number or one for each channel.

    Example:
        >>> CenterCrop(1)(np.arange(9.0).reshape(1, 3, 3))
        array([[[4.]]])
    """

    def __init__(self, size: Any, fill: Any = 0) -> None:
        self.size, self.fill = pair("CenterCrop", "size", size), fill

    def change(self, planes: Any) -> Any:
        """The middle of the planes."""
        (h, w), (rows, columns) = planes.shape[-2:], self.size
        high, wide = max(0, rows - h), max(0, columns - w)
        if high or wide:
            planes = padded(planes, (wide // 2, high // 2, (wide + 1) // 2, (high + 1) // 2), self.fill, "constant")
        return _middle(planes, self.size)


class FiveCrop:
    """The four corners of the image and its middle, as a tuple: top left, top right, bottom left, bottom right, middle.

    Args:
        size: (height, width) of each, or one number for both.

    Raises:
        ShapeError: the image is smaller than that.

    Example:
        >>> [int(piece[0, 0, 0]) for piece in FiveCrop(1)(np.arange(9.0).reshape(1, 3, 3))]
        [0, 2, 6, 8, 4]

    Source: Krizhevsky et al. 2012, "ImageNet classification with deep convolutional neural networks", section 4.1.
    """

    def __init__(self, size: Any) -> None:
        self.size = pair("FiveCrop", "size", size)

    def __call__(self, image: Any) -> tuple[Any, ...]:
        """The five pieces, each as such an image."""
        planes, back = unfolded(image)
        (h, w), (rows, columns) = planes.shape[-2:], self.size
        if h < rows or w < columns:
            raise ShapeError(
                f"{type(self).__name__} cuts {rows} by {columns} of a larger image", f"{h} by {w}", "Pad(...) before it"
            )
        corners = [(top, left) for top in (0, h - rows) for left in (0, w - columns)]
        pieces = [cut(planes, top, left, self.size) for top, left in corners]
        return tuple(back(piece) for piece in (*pieces, _middle(planes, self.size)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(FiveCrop):
    """What `FiveCrop` cuts of the image, and then of its mirror image.

    Args:
        size: (height, width) of each, or one number for both.
        vertical_flip: exchange top and bottom in the mirror image, and not left and right.

    Raises:
        ShapeError: the image is smaller than that.

    Example:
        >>> [int(piece[0, 0, 0]) for piece in TenCrop(1)(np.arange(9.0).reshape(1, 3, 3))]
        [0, 2, 6, 8, 4, 2, 0, 8, 6, 4]

    Source: Krizhevsky et al. 2012, "ImageNet classification with deep convolutional neural networks", section 4.1.
    """

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        self.size = pair("TenCrop", "size", size)
        self.vertical_flip = yes_or_no("TenCrop", "vertical_flip", vertical_flip)

    def __call__(self, image: Any) -> tuple[Any, ...]:
        """The ten pieces, each as such an image."""
        planes, back = unfolded(image)
        mirrored = planes[..., ::-1, :] if self.vertical_flip else planes[..., ::-1]
        return (*super().__call__(image), *super().__call__(back(mirrored)))


class Pad(Transform):
    """A border around the image.

    Args:
        padding: how wide: one number; (left and right, top and bottom); or (left, top, right, bottom).
        fill: its colour, a number or one for each channel; only for "constant".
        padding_mode: "constant"; "edge" repeats the last pixel; "reflect" mirrors
            without repeating it, "symmetric" with.

    Raises:
        ShapeError: a mirror image would be larger than the image, or the image has no pixel.
        OutOfMemoryError: no memory holds an image with that border.

    Example:
        >>> Pad((1, 0), padding_mode="reflect")(np.array([[[1.0, 2.0, 3.0]]]))
        array([[[2., 1., 2., 3., 2.]]])
    """

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        self.padding, self.fill = border_of("Pad", padding), fill
        self.padding_mode = mode_of("Pad", padding_mode, fill)

    def change(self, planes: Any) -> Any:
        """Planes with a border."""
        return padded(planes, self.padding, self.fill, self.padding_mode)


class RandomCrop(Transform):
    """A piece of the image, at a random place.

    Args:
        size: (height, width), or one number for both.
        padding, fill, padding_mode: a border around the image, as for `Pad`, before the piece is cut.
        pad_if_needed: an image that is too small gets a border of what it lacks, on both sides.

    Raises:
        ShapeError: the image is too small.

    Example:
        >>> RandomCrop(2)(np.ones((1, 5, 5))).shape
        (1, 2, 2)
    """

    def __init__(
        self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        who = "RandomCrop"
        self.size, self.padding = pair(who, "size", size), None if padding is None else border_of(who, padding)
        self.pad_if_needed = yes_or_no(who, "pad_if_needed", pad_if_needed)
        self.fill, self.padding_mode = fill, mode_of(who, padding_mode, fill)

    def change(self, planes: Any) -> Any:
        """A piece of the planes."""
        if self.padding is not None:
            planes = padded(planes, self.padding, self.fill, self.padding_mode)
        (h, w), (rows, columns) = planes.shape[-2:], self.size
        if self.pad_if_needed and (h < rows or w < columns):
            wide, high = max(0, columns - w), max(0, rows - h)
            planes = padded(planes, (wide, high, wide, high), self.fill, self.padding_mode)
            h, w = planes.shape[-2:]
        if h < rows or w < columns:
            found = f"{h} by {w}"
            raise ShapeError(f"a piece of {rows} by {columns} is cut of a larger image", found, "pad_if_needed=True")
        return cut(planes, below(h - rows + 1), below(w - columns + 1), self.size)


class RandomHorizontalFlip(Transform):
    """Left and right exchanged, with probability p.

    Example:
        >>> RandomHorizontalFlip(p=1.0)(np.array([[[1.0, 2.0]]]))
        array([[[2., 1.]]])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = chance("RandomHorizontalFlip", p)

    def change(self, planes: Any) -> Any:
        """Planes, mirrored or not."""
        return planes[..., ::-1] if uniform(0, 1) < self.p else planes


class RandomVerticalFlip(Transform):
    """Top and bottom exchanged, with probability p.

    Example:
        >>> RandomVerticalFlip(p=1.0)(np.array([[[1.0], [2.0]]])).ravel()
        array([2., 1.])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = chance("RandomVerticalFlip", p)

    def change(self, planes: Any) -> Any:
        """Planes, mirrored or not."""
        return planes[..., ::-1, :] if uniform(0, 1) < self.p else planes


class RandomResizedCrop(Transform):
    """A piece of random area and shape, at a random place, resized.

    Args:
        size: (height, width) of the result, or one number for both.
        scale: limits of the area, as a part of the image.
        ratio: limits of width / height, drawn so that r and 1 / r are equally likely.
        interpolation, antialias: as for `Resize`.

    Example:
        >>> RandomResizedCrop(4)(np.ones((3, 9, 7))).shape
        (3, 4, 4)

    Source: Szegedy et al. 2015, "Going deeper with convolutions", section 6 (arXiv:1409.4842).
    """

    def __init__(
        self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3 / 4, 4 / 3), interpolation: str = "bilinear",
        antialias: bool = True,
    ) -> None:  # fmt: skip
        who = "RandomResizedCrop"
        self.antialias = yes_or_no(who, "antialias", antialias)
        self.size, self.interpolation = pair(who, "size", size), interpolation_of(who, interpolation, "bicubic")
        self.scale = limits(who, "scale", scale, 0, above=True)
        self.ratio = limits(who, "ratio", ratio, 0, above=True)

    def change(self, planes: Any) -> Any:
        """A piece of the planes in the new size."""
        check_not_empty("a piece is cut of", planes)
        top, left, rows, columns = doing(self, "box")(*planes.shape[-2:])
        return resized(cut(planes, top, left, (rows, columns)), self.size, self.interpolation, self.antialias)

    def box(self, h: int, w: int) -> tuple[int, int, int, int]:
        """A random piece: top, left, height, width; if none fits, the largest in the middle whose shape is allowed."""
        for _ in range(TRIES):
            columns, rows = random_box(h * w, self.scale, self.ratio)
            if 0 < columns <= w and 0 < rows <= h:
                return below(h - rows + 1), below(w - columns + 1), rows, columns
        low, high = self.ratio
        rows, columns = (round(w / low), w) if w / h < low else (h, round(h * high)) if w / h > high else (h, w)
        rows, columns = min(rows, h), min(columns, w)
        return (h - rows) // 2, (w - columns) // 2, rows, columns


RandomCropAndResize = RandomResizedCrop  # Jittor's name


class RandomErasing(Transform):
    """A random box of the image filled with something else, with probability p.

    Args:
        p: how likely an image is changed.
        scale: limits of the area of the box, as a part of the image.
        ratio: limits of height / width of the box.
        value: the colour, a number or one for each channel; or "random", normally distributed noise.

    Example:
        >>> RandomErasing(p=0.0)(np.ones((1, 4, 4))).min()
        np.float64(1.0)

    Source: Zhong et al. 2020, "Random erasing data augmentation" (arXiv:1708.04896).
    """

    def __init__(self, p: float = 0.5, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3), value: Any = 0) -> None:
        who = "RandomErasing"
        self.p, self.value = chance(who, p), value
        self.scale, self.ratio = (
            limits(who, "scale", scale, 0, 1, above=True),
            limits(who, "ratio", ratio, 0, above=True),
        )
        if isinstance(value, str) and value != "random":
            raise ArgumentError(f"{who} takes value as a colour, or 'random'", f"value={value!r}")

    def change(self, planes: Any) -> Any:
        """Planes with a hole."""
        h, w = planes.shape[-2:]
        box = random_hole((h, w), h * w, self.scale, self.ratio) if uniform(0, 1) < self.p else None
        return planes if box is None else self._erased(planes, box)

    def _erased(self, planes: Any, box: tuple[slice, slice]) -> Any:
        hole = np.zeros(planes.shape[-2:], bool)
        hole[box] = True
        if not isinstance(self.value, str):
            return twin(planes).where(hole, filler(self.value, planes), planes)
        noise = np.random.standard_normal(planes.shape)  # noqa: NPY002 - seeded by jt.set_global_seed
        if not is_float(planes):
            noise = noise * 255
        other = Var(noise, "float32") if isinstance(planes, Var) else noise.astype(np.float32)
        return twin(planes).where(hole, settled(other, planes), planes)


def _middle(planes: Any, size: tuple[int, int]) -> Any:
    (h, w), (rows, columns) = planes.shape[-2:], size
    return cut(planes, round((h - rows) / 2), round((w - columns) / 2), size)
