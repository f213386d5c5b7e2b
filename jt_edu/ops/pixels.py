"""Pixels and channels exchanged: a block of r * r pixels is r * r channels, seen otherwise. Nothing is computed."""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ShapeError
from jt_edu.ops.arguments import same_words
from jt_edu.ops.sliding_window import each_way
from jt_edu.variable.var import Var, as_var


@same_words
def pixel_shuffle(x: Any, upscale_factor: int) -> Var:
    """Channels become pixels: (..., c * r * r, h, w) -> (..., c, h * r, w * r), r = upscale_factor.

        out[c, y, x] = input[(c * r + y % r) * r + x % r, y // r, x // r]

    Raises:
        ShapeError: fewer than three axes, or channels that r * r does not divide.

    Example:
        >>> pixel_shuffle(arange(4).reshape(4, 1, 1), 2).tolist()
        [[[0, 1], [2, 3]]]

    Source: Shi et al. 2016 (arXiv:1609.05158).
    """
    image, (r,) = _image("pixel_shuffle", x), each_way("pixel_shuffle", "upscale_factor", upscale_factor, 1, 1)
    *rest, c, h, w = image.shape
    if c % (r * r):
        raise ShapeError(f"pixel_shuffle makes {r} * {r} pixels of as many channels", f"{c} channels in {image.shape}")
    k = len(rest)
    blocks = image.reshape(*rest, c // (r * r), r, r, h, w)
    return blocks.permute(*range(k + 1), k + 3, k + 1, k + 4, k + 2).reshape(*rest, c // (r * r), h * r, w * r)


@same_words
def pixel_unshuffle(x: Any, downscale_factor: int) -> Var:
    """Pixels become channels: (..., c, h * r, w * r) -> (..., c * r * r, h, w), r = downscale_factor.

    Raises:
        ShapeError: fewer than three axes, or an image that r does not divide.

    Example:
        >>> pixel_unshuffle(arange(4).reshape(1, 2, 2), 2).shape
        (4, 1, 1)
    """
    image, (r,) = _image("pixel_unshuffle", x), each_way("pixel_unshuffle", "downscale_factor", downscale_factor, 1, 1)
    *rest, c, h, w = image.shape
    if h % r or w % r:
        raise ShapeError(f"pixel_unshuffle takes blocks of {r} * {r} pixels", f"{h} * {w} pixels in {image.shape}")
    k = len(rest)
    blocks = image.reshape(*rest, c, h // r, r, w // r, r)
    return blocks.permute(*range(k + 1), k + 2, k + 4, k + 1, k + 3).reshape(*rest, c * r * r, h // r, w // r)


@same_words
def channel_shuffle(x: Any, groups: int) -> Var:
    """The channels (axis 1) of several groups taken in turn: 0 1 2 3 4 5 in two groups becomes 0 3 1 4 2 5.

    Raises:
        ShapeError: fewer than three axes, or channels that groups does not divide.

    Example:
        >>> channel_shuffle(arange(6).reshape(1, 6, 1), 2).numpy()[0, :, 0]
        array([0, 3, 1, 4, 2, 5])

    Source: Zhang et al. 2018, "ShuffleNet" (arXiv:1707.01083).
    """
    image, (g,) = _image("channel_shuffle", x), each_way("channel_shuffle", "groups", groups, 1, 1)
    n, c, *plane = image.shape
    if c % g:
        raise ShapeError("channel_shuffle splits the channels into equal groups", f"{c} channels, {g} groups")
    return image.reshape(n, g, c // g, *plane).transpose(1, 2).reshape(image.shape)


def _image(name: str, x: Any) -> Var:
    v = as_var(x)
    if v.ndim < 3:
        raise ShapeError(f"{name} takes images, with at least three axes", f"shape {v.shape}", "x.unsqueeze(0)")
    return v
