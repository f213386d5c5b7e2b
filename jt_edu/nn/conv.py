"""Convolution as a layer: one small window of weights, applied at every place of an image."""

from __future__ import annotations

import math
from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.nn.start import kaiming_uniform_, uniform_
from jt_edu.ops.conv import conv2d, pair
from jt_edu.ops.create import zeros
from jt_edu.var import Var


class Conv(Module):
    """Two-dimensional convolution: (n, c, h, w) -> (n, o, h', w').

        h' = (h + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1

    Weight and bias are drawn from U(-1/sqrt(fan in), 1/sqrt(fan in)), fan in = c / groups * kernel area.

    Args:
        in_channels, out_channels: c and o.
        kernel_size, stride, padding, dilation: one number, or one for each direction.
        groups: c and o are split into so many groups that do not see each other.
        bias: whether a number is added to each output channel.

    Example:
        >>> Conv(3, 8, 3, stride=2, padding=1)(jt.ones(2, 3, 8, 8)).shape
        (2, 8, 4, 4)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True,
    ) -> None:  # fmt: skip
        self.in_channels, self.out_channels = count("in_channels", in_channels), count("out_channels", out_channels)
        self.groups = count("groups", groups)
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(
                "groups divide both numbers of channels", f"groups {groups}, {in_channels} and {out_channels} channels"
            )
        self.kernel_size, self.stride = pair("kernel_size", kernel_size, 1), pair("stride", stride, 1)
        self.padding, self.dilation = pair("padding", padding, 0), pair("dilation", dilation, 1)
        self.weight = kaiming_uniform_(zeros(out_channels, in_channels // groups, *self.kernel_size), a=math.sqrt(5))
        bound = 1 / math.sqrt(in_channels // groups * math.prod(self.kernel_size))
        self.bias = uniform_(zeros(out_channels), -bound, bound) if bias else None

    def execute(self, x: Any) -> Var:
        """(n, c, h, w) -> (n, o, h', w')."""
        return conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """Its sizes, and what differs from the usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)):
            value = getattr(self, name)
            text += "" if value == usual else f", {name}={value}"
        return text + ("" if self.bias is not None else ", bias=False")


Conv2d = Conv
