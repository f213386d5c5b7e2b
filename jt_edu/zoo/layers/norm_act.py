"""Norm act: what stands between two convolutions? A norm, and an activation, which count as one layer.

    ConvNormAct    convolution -- batch norm -- activation
    BatchNormAct2d                batch norm -- activation

Source: https://huggingface.co/docs/timm
"""

from __future__ import annotations

from typing import Any

from jt_edu import nn
from jt_edu.ops.arguments import yes_or_no
from jt_edu.variable.var import Var
from jt_edu.zoo.layers.gates import activation

__all__ = ["BatchNormAct2d", "ConvNormAct"]


class BatchNormAct2d(nn.BatchNorm2d):
    """act(batch norm of x): (n, c, h, w) -> the same shape.

    Args:
        num_features: c.
        eps, momentum: as in `BatchNorm2d`.
        apply_act: whether there is an activation.
        act_layer: its class, or its name.

    Example:
        >>> BatchNormAct2d(1).eval()(jt.array([[[[-1.0, 1.0]]]])).numpy().round(2).ravel()
        array([0., 1.], dtype=float32)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        apply_act: bool = True,
        act_layer: Any = nn.ReLU,
    ) -> None:
        super().__init__(num_features, eps, momentum)
        self.act = activation(act_layer if yes_or_no("BatchNormAct2d", "apply_act", apply_act) else nn.Identity)

    def execute(self, x: Any) -> Var:
        """The same shape."""
        y: Var = self.act(super().execute(x))
        return y


class ConvNormAct(nn.Module):
    """act(batch norm of a convolution of x): (n, in_channels, h, w) -> (n, out_channels, h / stride, w / stride).

    Args:
        in_channels, out_channels: how many channels come in, and go out.
        kernel_size: odd; zeros around the map keep its size.
        stride, groups, bias: of the convolution.
        apply_act, act_layer: as in `BatchNormAct2d`.

    Example:
        >>> ConvNormAct(3, 8, 3, stride=2)(jt.ones(1, 3, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int = 1, stride: int = 1, groups: int = 1,
        bias: bool = False, apply_act: bool = True, act_layer: Any = nn.ReLU,
    ) -> None:  # fmt: skip
        around = kernel_size // 2
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride, around, groups=groups, bias=bias)
        self.bn = BatchNormAct2d(out_channels, apply_act=apply_act, act_layer=act_layer)

    def execute(self, x: Var) -> Var:
        """(n, out_channels, h / stride, w / stride)."""
        y: Var = self.bn(self.conv(x))
        return y
