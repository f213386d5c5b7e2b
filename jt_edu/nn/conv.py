"""Convolution as a layer: one small window of weights, applied at every place of an image."""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.initializers import kaiming_uniform_, uniform_
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.conv import convolution
from jt_edu.ops.conv_transpose import transposed
from jt_edu.ops.create import zeros
from jt_edu.ops.fold import fold, unfold
from jt_edu.ops.pad import pad
from jt_edu.ops.sliding_window import Numbers, borders, each_way
from jt_edu.variable.var import Var, as_var

__all__ = ["Conv", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose", "ConvTranspose1d", "ConvTranspose2d",
           "ConvTranspose3d", "Fold", "Unfold"]  # fmt: skip
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class Windowed(Module):
    """What all layers with a window of weights have in common: channels, numbers for each direction, parameters."""

    ways = 2
    padding: Any = 0
    output_padding: Numbers = ()

    def _begin(
        self, channels: tuple[Any, Any], kernel_size: Any, stride: Any, padding: Any, dilation: Any, groups: Any,
        padding_mode: Any, modes: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.in_channels = count(self, "in_channels", channels[0])
        self.out_channels = count(self, "out_channels", channels[1])
        self.groups = count(self, "groups", groups)
        if self.in_channels % groups or self.out_channels % groups:
            raise ArgumentError(
                "groups must divide both numbers of channels",
                f"groups {groups}, {self.in_channels} and {self.out_channels} channels",
            )
        who = type(self).__name__
        if padding_mode not in modes:
            raise ArgumentError(f"padding_mode of {who} is one of {modes}", short(padding_mode))
        self.kernel_size = each_way(who, "kernel_size", kernel_size, self.ways, 1)
        self.stride = each_way(who, "stride", stride, self.ways, 1)
        self.dilation = each_way(who, "dilation", dilation, self.ways, 1)
        borders(who, padding, self.kernel_size, self.stride, self.dilation)
        self.padding = padding if isinstance(padding, str) else each_way(who, "padding", padding, self.ways, 0)
        self.padding_mode = padding_mode

    def _draw(self, outer: int, inner: int, bias: bool) -> None:
        """Weights (outer, inner, kernel...) and a bias from U(-1/sqrt(fan in), 1/sqrt(fan in))."""
        self.weight = kaiming_uniform_(zeros(outer, inner, *self.kernel_size), a=math.sqrt(5))
        bound = 1 / math.sqrt(inner * math.prod(self.kernel_size))
        wanted = yes_or_no(type(self).__name__, "bias", bias)
        self.bias = uniform_(zeros(self.out_channels), -bound, bound) if wanted else None

    def _check_channels(self, image: Var, c: int) -> None:
        """Refuse an image or a batch that does not have the `c` channels that the weights are for."""
        single = image.ndim - self.ways  # single: 1 without an axis for the batch, else 2
        if single not in (1, 2) or image.shape[single - 1] == c:
            return
        batch, places = tuple(range(single - 1)), tuple(range(single - 1, image.ndim - 1))
        if image.shape[-1] == c:
            way = f"x.permute{(*batch, image.ndim - 1, *places)}: the channels seem to be last"
        elif single == c == 1:
            way = "x.unsqueeze(1), for a batch of images without channels"
        else:
            way = f"{type(self).__name__}({image.shape[single - 1]}, {self.out_channels}, ...)"
        raise ShapeError(
            f"{type(self).__name__}({c}, {self.out_channels}) takes {c} channels, on axis {single - 1}",
            f"shape {image.shape}", way,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Its sizes, and what differs from the usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        none, one = (0,) * self.ways, (1,) * self.ways
        usual = (("padding", none), ("dilation", one), ("output_padding", self.output_padding and none), ("groups", 1))
        for name, value in usual:
            text += "" if getattr(self, name) == value else f", {name}={getattr(self, name)}"
        text += "" if self.bias is not None else ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Convolution(Windowed):
    """Convolution of so many directions as a subclass says."""

    @takes_placement
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
    ) -> None:  # fmt: skip
        channels = (in_channels, out_channels)
        self._begin(channels, kernel_size, stride, padding, dilation, groups, padding_mode, PADDING_MODES)
        self._draw(out_channels, in_channels // groups, bias)

    def execute(self, x: Any) -> Var:
        """(n, c, lengths...) -> (n, o, lengths'...)."""
        image: Var = as_var(x)
        self._check_channels(image, self.weight.shape[1] * self.groups)
        if image.ndim == self.ways + 1:  # a single image
            return type(self).execute(self, image.unsqueeze(0)).squeeze(0)
        padding: Any = self.padding
        if self.padding_mode != "zeros" and image.ndim == self.ways + 2:
            around = borders(type(self).__name__, padding, self.kernel_size, self.stride, self.dilation)
            image, padding = pad(image, [n for sides in reversed(around) for n in sides], self.padding_mode), 0
        return convolution(self.ways, image, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Convolution):
    """Two-dimensional convolution: (n, c, h, w) -> (n, o, h', w'); without n for a single image.

        h' = (h + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1

    Weight and bias are drawn from U(-1/sqrt(fan in), 1/sqrt(fan in)), fan in = c / groups * kernel area.

    Args:
        in_channels, out_channels: c and o.
        kernel_size, stride, dilation: one number, or one for each direction.
        padding: the same, or "valid" for none, or "same" for as much as keeps the size (with stride 1).
        groups: c and o are split into so many groups that do not see each other.
        bias: whether a number is added to each output channel.
        padding_mode: what the border shows: "zeros", "reflect", "replicate" or "circular".

    Example:
        >>> Conv2d(3, 8, 3, stride=2, padding=1)(jt.ones(2, 3, 8, 8)).shape
        (2, 8, 4, 4)
    """

    ways = 2


Conv = Conv2d  # Jittor's name


class Conv1d(_Convolution):
    """One-dimensional convolution: (n, c, w) -> (n, o, w'). Arguments as in `Conv2d`.

    Example:
        >>> Conv1d(2, 4, 3, padding="same")(jt.ones(1, 2, 5)).shape
        (1, 4, 5)
    """

    ways = 1


class Conv3d(_Convolution):
    """Three-dimensional convolution: (n, c, d, h, w) -> (n, o, d', h', w'). Arguments as in `Conv2d`.

    Example:
        >>> Conv3d(1, 2, (1, 2, 3))(jt.ones(1, 1, 3, 3, 3)).shape
        (1, 2, 3, 2, 1)
    """

    ways = 3


class _Transposed(Windowed):
    """Transposed convolution of so many directions as a subclass says."""

    @takes_placement
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
    ) -> None:  # fmt: skip
        channels, around = (in_channels, out_channels), each_way(type(self).__name__, "padding", padding, self.ways, 0)
        self._begin(channels, kernel_size, stride, around, dilation, groups, padding_mode, PADDING_MODES[:1])
        self.output_padding = each_way(type(self).__name__, "output_padding", output_padding, self.ways, 0)
        self._draw(in_channels, out_channels // groups, bias)

    def execute(self, x: Any, output_size: Any = None) -> Var:
        """(n, c, lengths...) -> (n, o, lengths'...); `output_size` says which lengths', instead of output_padding."""
        image, more = as_var(x), self.output_padding
        self._check_channels(image, self.weight.shape[0])
        if image.ndim == self.ways + 1:  # a single image
            return type(self).execute(self, image.unsqueeze(0), output_size).squeeze(0)
        if output_size is not None:
            more = self._missing(image, each_way(type(self).__name__, "output_size", output_size, self.ways, 1))
        return transposed(
            self.ways, image, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation
        )

    def _missing(self, image: Var, wanted: Numbers) -> Numbers:
        """The output_padding that makes the image as large as wanted."""
        parts = zip(image.shape[2:], self.stride, self.padding, self.dilation, self.kernel_size, strict=False)
        least = tuple((n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in parts)
        if len(least) != self.ways or any(
            not n <= m < n + s for n, m, s in zip(least, wanted, self.stride, strict=True)
        ):
            raise ShapeError(
                f"{type(self).__name__} makes images from {least} on, by less than its stride {self.stride} more",
                f"output_size {wanted}",
            )
        return tuple(m - n for n, m in zip(least, wanted, strict=True))


class ConvTranspose2d(_Transposed):
    """Transposed convolution: (n, c, h, w) -> (n, o, h', w'), which enlarges what `Conv2d` makes smaller.

        h' = (h - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1

    Weight and bias are drawn from U(-1/sqrt(fan), 1/sqrt(fan)), fan = o / groups * kernel area.

    Args:
        in_channels, out_channels: c and o.
        kernel_size, stride, padding, dilation: one number, or one for each direction.
        output_padding: rows added at the end, less than stride or dilation.
        groups: c and o are split into so many groups that do not see each other.
        bias: whether a number is added to each output channel.
        padding_mode: "zeros", and nothing else.

    Example:
        >>> ConvTranspose2d(8, 3, 2, stride=2)(jt.ones(1, 8, 4, 4)).shape
        (1, 3, 8, 8)
    """

    ways = 2


ConvTranspose = ConvTranspose2d  # Jittor's name


class ConvTranspose1d(_Transposed):
    """One-dimensional transposed convolution: (n, c, w) -> (n, o, w'). Arguments as in `ConvTranspose2d`.

    Example:
        >>> ConvTranspose1d(2, 1, 3)(jt.ones(1, 2, 5)).shape
        (1, 1, 7)
    """

    ways = 1


class ConvTranspose3d(_Transposed):
    """Three-dimensional transposed convolution: (n, c, d, h, w) -> (n, o, d', h', w'). As `ConvTranspose2d`.

    Example:
        >>> ConvTranspose3d(1, 2, 2, stride=2)(jt.ones(1, 1, 2, 2, 2)).shape
        (1, 2, 4, 4, 4)
    """

    ways = 3


class Unfold(Module):
    """All windows of an image, each as a column: (n, c, h, w) -> (n, c * kh * kw, places).

    Args:
        kernel_size, dilation, padding, stride: one number, or one for each direction.

    Example:
        >>> Unfold(2)(jt.ones(1, 3, 3, 3)).shape
        (1, 12, 4)
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride
        _check_window(type(self).__name__, kernel_size, dilation, padding, stride)

    def execute(self, x: Any) -> Var:
        """(n, c, h, w) -> (n, c * kh * kw, places)."""
        return unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Its numbers."""
        return _window_text(self)


class Fold(Module):
    """An image from columns, each of which is one window: (n, c * kh * kw, places) -> (n, c, h, w); overlaps are added.

    Args:
        output_size: (h, w), or one number for both.
        kernel_size, dilation, padding, stride: as the `Unfold` had them.

    Example:
        >>> Fold(3, 2)(jt.ones(1, 12, 4)).shape
        (1, 3, 3, 3)
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        self.output_size = output_size
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride
        each_way(type(self).__name__, "output_size", output_size, 2, 1)
        _check_window(type(self).__name__, kernel_size, dilation, padding, stride)

    def execute(self, x: Any) -> Var:
        """(n, c * kh * kw, places) -> (n, c, h, w)."""
        return fold(x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Its numbers."""
        return f"output_size={self.output_size}, {_window_text(self)}"


def _check_window(who: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> None:
    given = (("kernel_size", kernel_size, 1), ("dilation", dilation, 1), ("padding", padding, 0), ("stride", stride, 1))
    for name, value, least in given:
        each_way(who, name, value, 2, least)


def _window_text(layer: Any) -> str:
    return ", ".join(f"{name}={getattr(layer, name)}" for name in ("kernel_size", "dilation", "padding", "stride"))
