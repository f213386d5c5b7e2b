"""Transforms by arguments: which steps lead from a photograph to what a network is fed?

    training    a random piece, resized -> mirrored -> other colours, or drawn operators -> planes around 0 -> erased
    else        resized -> the middle -> planes around 0

Photographs are pixels (h, w) or (h, w, c), images of Pillow, or planes of floats (c, h, w) from 0 to 1.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.data.transform.base import Transform, unfolded
from jt_edu.data.transform.blur import GaussianBlur
from jt_edu.data.transform.color import ColorJitter, RandomGrayscale
from jt_edu.data.transform.compose import Compose, RandomApply, RandomChoice
from jt_edu.data.transform.geometry import (
    CenterCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from jt_edu.data.transform.normalize import Normalize
from jt_edu.data.transform.operators import in_bytes
from jt_edu.data.transform.resample import cut, interpolation_of, pair, resized
from jt_edu.ops.arguments import choice, number, whole, word_meant, yes_or_no
from jt_edu.zoo.data.auto_augment import augment_and_mix_transform, auto_augment_transform, rand_augment_transform
from jt_edu.zoo.data.random_erasing import RandomErasing
from jt_edu.zoo.registry import MEAN, STD

__all__ = ["create_transform"]

Steps = list[Callable[[Any], Any]]
BLUR = 23  # pixels of the kernel, as in timm


class KeepRatio(Transform):
    """The image resized in its own shape: so that `size` fits into it, or, `inside`, so that it fits into `size`."""

    def __init__(self, size: tuple[int, int], inside: bool, interpolation: str) -> None:
        self.size, self.inside, self.interpolation = size, inside, interpolation

    def change(self, planes: Any) -> Any:
        """Planes of that size."""
        sides = planes.shape[-2:]
        factor = (max if self.inside else min)(old / new for old, new in zip(sides, self.size, strict=True))
        rows, columns = (max(1, round(old / factor)) for old in sides)
        return resized(planes, (rows, columns), self.interpolation, antialias=True)


class TrimBorder(Transform):
    """The image without so many pixels at each side."""

    def __init__(self, border: int) -> None:
        self.border = border

    def change(self, planes: Any) -> Any:
        """A piece of the planes."""
        (h, w), border = planes.shape[-2:], self.border
        if min(h, w) <= 2 * border:
            raise ShapeError(f"crop_border_pixels={border} leaves something of an image", f"{h} by {w}")
        return cut(planes, border, border, (h - 2 * border, w - 2 * border))


class ToPlanes:
    """Photographs as planes (c, h, w): float32 from 0 to 1 if `scaled`, else uint8."""

    def __init__(self, scaled: bool) -> None:
        self.scaled = scaled

    def __call__(self, image: Any) -> Any:
        """Planes of one image."""
        pixels = np.ascontiguousarray(in_bytes(unfolded(image)[0])[0])
        return pixels.astype(np.float32) / 255 if self.scaled else pixels

    def __repr__(self) -> str:
        return f"ToPlanes(scaled={self.scaled})"


class ImageTransform(Compose):
    """The steps from a photograph to planes for a network, in training or not.

    Args:
        input_size: what the network is fed: (channels, height, width), (height, width), or one side.
        is_training: with random changes; `no_aug`: without them, but of the same size.
        scale, ratio: of a random piece, as in `RandomResizedCrop`: (0.08, 1) and (3/4, 4/3) by default.
        hflip, vflip: how likely left and right, top and bottom are exchanged.
        color_jitter: limits of brightness, contrast and saturation, as in `ColorJitter`; or a number for each, and for
            hue; None: none. With `auto_augment`, only for "3a".
        color_jitter_prob, grayscale_prob, gaussian_blur_prob: how likely each is; of jitter, None is always.
        auto_augment: "rand-m9-mstd0.5", "original", "augmix-m5": see `rand_augment_transform` and its neighbours.
        interpolation: "bilinear", "bicubic", "nearest"; in training also "random", one of the first two.
        mean, std: of the channels: what is fed is (x - mean) / std.
        re_prob, re_mode, re_count: `RandomErasing` with this likelihood and mode, and up to so many boxes.
        crop_pct: without training, the middle is this part of the resized image; 0.875 by default.
        crop_mode: "center", the shorter side fits; "squash", both sides, whatever the shape; "border", the longer side,
            and the rest is filled with the mean.
        crop_border_pixels: without training, so many are cut off first.
        use_prefetcher, normalize: end with planes of uint8, which a loader will normalize; or nobody will.
        others: none; timm's other arguments are refused by name.

    Call: a photograph -> planes (c, h, w), float32 or uint8.

    Raises:
        ArgumentError: an argument makes no sense.

    Example:
        >>> jt.zoo.data.create_transform(4)(np.zeros((9, 7, 3), np.uint8)).shape
        (3, 4, 4)

    Source: timm (Wightman, "PyTorch image models").
    """

    def __init__(
        self, input_size: Any = 224, is_training: bool = False, no_aug: bool = False, scale: Any = None,
        ratio: Any = None, hflip: float = 0.5, vflip: float = 0.0, color_jitter: Any = 0.4,
        color_jitter_prob: float | None = None, grayscale_prob: float = 0.0, gaussian_blur_prob: float = 0.0,
        auto_augment: str | None = None, interpolation: str = "bilinear", mean: Any = MEAN, std: Any = STD,
        re_prob: float = 0.0, re_mode: str = "const", re_count: int = 1, crop_pct: float | None = None,
        crop_mode: str | None = None,
        crop_border_pixels: int | None = None, use_prefetcher: bool = False, normalize: bool = True, **others: Any,
    ) -> None:  # fmt: skip
        who = "create_transform"
        check_others(who, others, type(self))
        training, plain = yes_or_no(who, "is_training", is_training), yes_or_no(who, "no_aug", no_aug)
        size = pair(who, "input_size", input_size[-2:] if isinstance(input_size, (tuple, list)) else input_size)
        crop_mode = choice(who, "crop_mode", crop_mode, (None, "center", "squash", "border"))
        part = 0.875 if crop_pct is None else number(who, "crop_pct", crop_pct, 0, above=True, finite=True)
        border = 0 if crop_border_pixels is None else whole(who, "crop_border_pixels", crop_border_pixels, 0)
        later = yes_or_no(who, "use_prefetcher", use_prefetcher) or not yes_or_no(who, "normalize", normalize)
        end: Steps = [ToPlanes(scaled=not later), *[Normalize(mean, std)][: not later]]
        erasing = RandomErasing(re_prob, mode=re_mode, max_count=re_count)
        if training and not plain:
            chances = {"color_jitter": color_jitter_prob, "gray": grayscale_prob, "blur": gaussian_blur_prob}
            steps: Steps = [*_piece(size, scale, ratio, interpolation), RandomHorizontalFlip(hflip)]
            steps += [RandomVerticalFlip(vflip)]
            steps += [*_drawn(auto_augment, size, mean, interpolation), *_colours(color_jitter, auto_augment, chances)]
            super().__init__([*steps, *end, *[erasing][: not later and re_prob > 0]])
            return
        way = interpolation_of(who, "bilinear" if training and interpolation == "random" else interpolation, "bicubic")
        if training:
            steps = [Resize(size if isinstance(input_size, (tuple, list)) else size[0], way), CenterCrop(size)]
        else:
            steps = [*[TrimBorder(border)][: border > 0], *_middle(size, part, crop_mode, way, mean)]
        super().__init__([*steps, *end])


create_transform = ImageTransform  # timm's name


def check_others(who: str, others: dict[str, Any], kind: type) -> None:
    """Refuse arguments that timm has and this class has not, by name."""
    words = [name for name in inspect.signature(kind).parameters if name != "others"]
    for wrong, value in others.items():
        like = word_meant(wrong, words)
        way = "leaving it out" if like == ", ".join(words) else like
        raise ArgumentError(f"{who} takes no argument {wrong}", f"{wrong}={value!r}", way)


def _piece(size: tuple[int, int], scale: Any, ratio: Any, interpolation: str) -> Steps:
    """A random piece of the image."""
    ways = ("bilinear", "bicubic") if interpolation == "random" else (interpolation,)
    limits = (0.08, 1.0) if scale is None else scale, (3 / 4, 4 / 3) if ratio is None else ratio
    pieces = [RandomResizedCrop(size, *limits, way) for way in ways]
    return [pieces[0] if len(pieces) == 1 else RandomChoice(pieces)]


def _drawn(auto_augment: str | None, size: tuple[int, int], mean: Any, interpolation: str) -> Steps:
    """Operators that a string names."""
    if auto_augment is None:
        return []
    name = str(auto_augment).split("-")[0]
    by_name = {"rand": rand_augment_transform, "augmix": augment_and_mix_transform}
    hparams = {
        "translate_const": int(min(size) * 0.45), "img_mean": _colour(mean),
        **({} if interpolation == "random" else {"interpolation": interpolation}),
        **({"translate_pct": 0.3} if name == "augmix" else {}),
    }  # fmt: skip
    make: Any = by_name.get(name, auto_augment_transform)
    return [make(auto_augment, hparams)]


def _colours(color_jitter: Any, auto_augment: str | None, chances: dict[str, float | None]) -> Steps:
    """Jitter, which is left out where operators are drawn; grey; blur."""
    steps, p = list[Any](), chances["color_jitter"]
    if color_jitter is not None and (auto_augment is None or "3a" in auto_augment):
        several = isinstance(color_jitter, (tuple, list))
        if several and len(color_jitter) not in (3, 4):
            asked = "create_transform takes color_jitter as one number, or 3, or 4 with hue"
            raise ArgumentError(asked, f"color_jitter={color_jitter!r}")
        jitter = ColorJitter(*(color_jitter if several else (color_jitter,) * 3))
        steps += [jitter if p is None else RandomApply([jitter], p)]
    steps += [RandomGrayscale(chances["gray"])] if chances["gray"] else []
    return steps + ([RandomApply([GaussianBlur(BLUR)], chances["blur"])] if chances["blur"] else [])


def _middle(size: tuple[int, int], part: float, mode: str | None, way: str, mean: Any) -> Steps:
    """The middle of the resized image."""
    h, w = (math.floor(side / part) for side in size)
    if mode == "squash":
        return [Resize((h, w), way), CenterCrop(size)]
    if mode == "border":
        return [KeepRatio((h, w), True, way), CenterCrop(size, _colour(mean))]
    return [Resize(h, way) if h == w else KeepRatio((h, w), False, way), CenterCrop(size)]


def _colour(mean: Any) -> tuple[int, ...]:
    """The mean as a colour of pixels."""
    return tuple(min(255, round(255 * float(m))) for m in np.atleast_1d(mean))
