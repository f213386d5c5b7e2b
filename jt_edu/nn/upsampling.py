"""Layers that change the size of images: upsampling, and pixels exchanged for channels."""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.ops.interpolate import MODES, interpolate
from jt_edu.ops.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from jt_edu.ops.sliding_window import each_way
from jt_edu.variable.var import Var

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2d",
           "UpsamplingNearest2d"]  # fmt: skip


class Upsample(Module):
    """Resize an image; the formulas are in `ops/interpolate.py`.

    Args:
        size: of the answer: one number, or one per direction. Either this or scale_factor.
        scale_factor: how much larger, one number or one per direction.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" or "area".
        align_corners: for the modes with lines and cubics, whether the outermost pixels stay where they are.
        recompute_scale_factor: take the scale from the sizes, n / o, where it would be 1 / scale_factor.

    Example:
        >>> Upsample(scale_factor=2, mode="linear")(jt.array([[[0.0, 4.0]]])).numpy()
        array([[[0., 1., 3., 4.]]], dtype=float32)
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        if (size is None) == (scale_factor is None):
            raise ArgumentError(
                f"{type(self).__name__} takes either size or scale_factor", f"size={size}, scale_factor={scale_factor}"
            )
        self.size, self.scale_factor = size, _floats(scale_factor)
        self.mode = choice("Upsample", "mode", mode, MODES)
        self.align_corners = (
            align_corners if align_corners is None else yes_or_no("Upsample", "align_corners", align_corners)
        )
        self.recompute_scale_factor = recompute_scale_factor

    def execute(self, x: Any) -> Var:
        """(n, c, *plane) -> (n, c, *size)."""
        again = bool(self.recompute_scale_factor)
        return interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners, again)

    def extra_repr(self) -> str:
        """Its size or factor, and its mode."""
        what = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{what}, mode={self.mode!r}"


def _floats(factor: Any) -> Any:
    """A scale factor as PyTorch keeps it; `interpolate` says what is wrong with others."""
    if isinstance(factor, (tuple, list)):
        return tuple(_floats(part) for part in factor)
    return float(factor) if isinstance(factor, int) else factor


class UpsamplingNearest2d(Upsample):
    """A larger image by repeating the nearest pixel.

    Args:
        size, scale_factor: as in `Upsample`.

    Example:
        >>> UpsamplingNearest2d(scale_factor=2)(jt.array([[[[1, 2]]]])).tolist()
        [[[[1, 1, 2, 2], [1, 1, 2, 2]]]]
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """A larger image by straight lines between the pixels; the outermost pixels stay where they are.

    Args:
        size, scale_factor: as in `Upsample`.

    Example:
        >>> UpsamplingBilinear2d(size=(1, 3))(jt.array([[[[0.0, 4.0]]]])).tolist()
        [[[[0.0, 2.0, 4.0]]]]
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class PixelShuffle(Module):
    """Channels become pixels: (..., c * r * r, h, w) -> (..., c, h * r, w * r), r = upscale_factor.

    Source: Shi et al. 2016 (arXiv:1609.05158).

    Example:
        >>> PixelShuffle(2)(jt.arange(4).reshape(1, 4, 1, 1)).tolist()
        [[[[0, 1], [2, 3]]]]
    """

    def __init__(self, upscale_factor: int) -> None:
        (self.upscale_factor,) = each_way("PixelShuffle", "upscale_factor", upscale_factor, 1, 1)

    def execute(self, x: Any) -> Var:
        """(..., c * r * r, h, w) -> (..., c, h * r, w * r)."""
        return pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        """Its factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels become channels: (..., c, h * r, w * r) -> (..., c * r * r, h, w), r = downscale_factor.

    Example:
        >>> PixelUnshuffle(2)(jt.ones(1, 1, 4, 4)).shape
        (1, 4, 2, 2)
    """

    def __init__(self, downscale_factor: int) -> None:
        (self.downscale_factor,) = each_way("PixelUnshuffle", "downscale_factor", downscale_factor, 1, 1)

    def execute(self, x: Any) -> Var:
        """(..., c, h * r, w * r) -> (..., c * r * r, h, w)."""
        return pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        """Its factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels of several groups taken in turn: 0 1 2 3 in two groups becomes 0 2 1 3.

    Source: Zhang et al. 2018, "ShuffleNet" (arXiv:1707.01083).

    Example:
        >>> ChannelShuffle(2)(jt.arange(4).reshape(1, 4, 1)).tolist()
        [[[0], [2], [1], [3]]]
    """

    def __init__(self, groups: int) -> None:
        (self.groups,) = each_way("ChannelShuffle", "groups", groups, 1, 1)

    def execute(self, x: Any) -> Var:
        """(n, c, *plane) -> (n, c, *plane)."""
        return channel_shuffle(x, self.groups)

    def extra_repr(self) -> str:
        """Its number of groups."""
        return f"groups={self.groups}"
