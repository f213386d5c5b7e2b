"""Gates: which channels matter for this image? Each channel is multiplied by a number between 0 and 1.

    squeeze and excite    mean of each channel -> fewer numbers -> a number for each channel
    efficient (ECA)       each number is made from the means of a few neighbouring channels: k weights in all

Source: Hu et al. 2017, "Squeeze-and-excitation networks" (arXiv:1709.01507); Wang et al. 2019, "ECA-Net"
(arXiv:1910.03151).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.ops.arguments import choice, whole, yes_or_no
from jt_edu.variable.var import Var

__all__ = ["EcaModule", "SEModule", "SqueezeExcite", "activation", "divisible"]
NAMES = {
    "relu": nn.ReLU, "relu6": nn.ReLU6, "silu": nn.SiLU, "swish": nn.SiLU, "gelu": nn.GELU, "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid, "hard_sigmoid": nn.Hardsigmoid, "hard_swish": nn.Hardswish, "identity": nn.Identity,
}  # fmt: skip


def activation(layer: Any) -> nn.Module:
    """A new layer of the kind that is asked for, by its name or by its class.

    Example:
        >>> activation("silu"), activation(jt.nn.ReLU)
        (SiLU(), ReLU())
    """
    made = NAMES[choice("activation", "layer", layer, tuple(NAMES))] if isinstance(layer, str) else layer
    return made()  # type: ignore[no-any-return]


def divisible(channels: float, divisor: int = 8, least: int = 0, keep: float = 0.9) -> int:
    """The multiple of `divisor` that is nearest to a number of channels.

    Args:
        channels: how many there would be.
        divisor: what they are to be a multiple of.
        least: the smallest answer; `divisor` by default.
        keep: the answer is at least so many of them; otherwise it is the next multiple.

    Example:
        >>> divisible(33), divisible(11), divisible(11, keep=0.0)
        (32, 16, 8)
    """
    near = max(least or divisor, int(channels + divisor / 2) // divisor * divisor)
    return near + divisor if near < keep * channels else near


class SEModule(nn.Module):
    """x * gate(fc2(act(norm(fc1(mean of each channel))))): (n, c, h, w) -> the same shape.

    Args:
        channels: c.
        rd_ratio: how many of them are left between the two layers, as a multiple of `rd_divisor`.
        rd_channels: or how many exactly.
        rd_divisor: 8 by default.
        add_maxpool: whether the largest number of each channel counts as much as the mean.
        bias: whether both layers add something.
        act_layer, norm_layer, gate_layer: classes of layers; the first and the last also by name.

    Example:
        >>> SEModule(8)(jt.ones(1, 8, 2, 2)).shape
        (1, 8, 2, 2)
    """

    def __init__(
        self, channels: int, rd_ratio: float = 1 / 16, rd_channels: int | None = None, rd_divisor: int = 8,
        add_maxpool: bool = False, bias: bool = True, act_layer: Any = nn.ReLU, norm_layer: Any = None,
        gate_layer: Any = "sigmoid",
    ) -> None:  # fmt: skip
        self.add_maxpool = yes_or_no("SEModule", "add_maxpool", add_maxpool)
        few = rd_channels or divisible(channels * rd_ratio, rd_divisor, keep=0.0)
        self.fc1 = nn.Conv2d(channels, few, 1, bias=bias)
        self.bn = norm_layer(few) if norm_layer else nn.Identity()
        self.act = activation(act_layer)
        self.fc2 = nn.Conv2d(few, channels, 1, bias=bias)
        self.gate = activation(gate_layer)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        seen = x.mean((2, 3), keepdims=True)  # (n, c, 1, 1)
        if self.add_maxpool:
            seen = seen * 0.5 + x.max((2, 3), keepdims=True) * 0.5
        out: Var = x * self.gate(self.fc2(self.act(self.bn(self.fc1(seen)))))
        return out


class SqueezeExcite(nn.Module):
    """The same as in EfficientNet: x * gate(conv_expand(act(conv_reduce(mean of each channel)))).

    Args:
        in_chs: how many channels come in, and go out.
        rd_ratio: how many of them are left between the two layers.
        rd_channels: or how many exactly.
        act_layer, gate_layer: classes of layers, or their names.
        rd_round_fn: what makes a whole number of in_chs * rd_ratio; `round` by default.

    Source: Tan and Le 2019, "EfficientNet" (arXiv:1905.11946).

    Example:
        >>> SqueezeExcite(8).conv_reduce.weight.shape
        (2, 8, 1, 1)
    """

    def __init__(
        self, in_chs: int, rd_ratio: float = 0.25, rd_channels: int | None = None, act_layer: Any = nn.ReLU,
        gate_layer: Any = nn.Sigmoid, rd_round_fn: Callable[[float], int] | None = None,
    ) -> None:  # fmt: skip
        few = (rd_round_fn or round)(in_chs * rd_ratio) if rd_channels is None else rd_channels
        self.conv_reduce = nn.Conv2d(in_chs, few, 1)
        self.act1 = activation(act_layer)
        self.conv_expand = nn.Conv2d(few, in_chs, 1)
        self.gate = activation(gate_layer)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        seen = x.mean((2, 3), keepdims=True)  # (n, in_chs, 1, 1)
        out: Var = x * self.gate(self.conv_expand(self.act1(self.conv_reduce(seen))))
        return out


class EcaModule(nn.Module):
    """x * gate(conv over neighbouring channels(mean of each channel)): (n, c, h, w) -> the same shape.

        k = the odd number at, or behind, |log2(c) + beta| / gamma, and at least 3

    Args:
        channels: c; without it, `kernel_size` says how many neighbours there are.
        kernel_size: an odd number, k.
        gamma, beta: as in the formula.
        act_layer: between two convolutions, where `use_mlp` asks for two; `ReLU` by default.
        gate_layer: a class of layers, or its name.
        rd_ratio, rd_channels, rd_divisor: of two convolutions, how many maps there are between them.
        use_mlp: whether there are two.

    Raises:
        ArgumentError: an even kernel size, or `use_mlp` without `channels`.

    Example:
        >>> EcaModule(64).conv.weight.shape
        (1, 1, 3)
    """

    def __init__(
        self, channels: int | None = None, kernel_size: int = 3, gamma: float = 2, beta: float = 1,
        act_layer: Any = None, gate_layer: Any = "sigmoid", rd_ratio: float = 1 / 8, rd_channels: int | None = None,
        rd_divisor: int = 8, use_mlp: bool = False,
    ) -> None:  # fmt: skip
        k = whole("EcaModule", "kernel_size", kernel_size, 1)
        if channels is not None:
            near = int(abs(math.log2(channels) + beta) / gamma)
            k = max(near + 1 - near % 2, 3)
        if k % 2 == 0:
            raise ArgumentError("EcaModule looks as far to the left as to the right", f"kernel_size={k}", str(k + 1))
        if yes_or_no("EcaModule", "use_mlp", use_mlp) and channels is None:
            raise ArgumentError("EcaModule with use_mlp=True is told its channels", "channels=None", "channels=64")
        maps = (rd_channels or divisible((channels or 0) * rd_ratio, rd_divisor)) if use_mlp else 1
        first = nn.Conv1d(1, maps, 1) if use_mlp else nn.Conv1d(1, 1, k, padding=k // 2, bias=False)
        self.conv = first
        self.act = activation(act_layer or nn.ReLU) if use_mlp else None
        self.conv2 = nn.Conv1d(maps, 1, k, padding=k // 2) if use_mlp else None
        self.gate = activation(gate_layer)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        n, c = x.shape[:2]
        seen = self.conv(x.mean((2, 3)).reshape(n, 1, c))
        seen = seen if self.conv2 is None else self.conv2(self.act(seen))  # type: ignore[misc]
        out: Var = x * self.gate(seen).reshape(n, c, 1, 1)
        return out
