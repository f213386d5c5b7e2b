"""EfficientNet: a network is to become larger: deeper, wider, or for larger images? All three, by the same rule.

Blocks as in MobileNet v2 (`jt.models.mobilenet`), with SiLU for ReLU6, in which channels are weighed by what the whole
image has (`SqueezeExcite`):

    x --+-- 1 x 1, 6 times as many -- k x k depthwise -- gate -- 1 x 1, few again --(+)--
        +---------------------------------------------------------------------------+

    image 224 x 224       channels    blocks    k    times as wide inside    stride of the first
      | 3 x 3                32         1                                        2
      | blocks.0             16         1       3            1                   1
      | blocks.1             24         2       3            6                   2
      | blocks.2             40         2       5            6                   2
      | blocks.3             80         3       3            6                   2
      | blocks.4            112         3       5            6                   1
      | blocks.5            192         4       5            6                   2
      | blocks.6            320         1       3            6                   1
      | 1 x 1              1280
      | mean of each channel; linear

This is b0, found by a search. For twice the work alpha * beta^2 * gamma^2 = 2: alpha = 1.2 times as many blocks, beta =
1.1 times as many channels, images gamma = 1.15 times as large. So b1 has 1.1 times as many blocks, for images of
240 x 240.

Source: Tan and Le 2019, "EfficientNet: rethinking model scaling for convolutional neural networks" (arXiv:1905.11946).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from jt_edu import nn
from jt_edu.models.weights import head
from jt_edu.nn import init
from jt_edu.variable.var import Var
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import DropPath, check_rates
from jt_edu.zoo.layers.gates import SqueezeExcite, divisible
from jt_edu.zoo.layers.norm_act import BatchNormAct2d
from jt_edu.zoo.layers.pool import SelectAdaptivePool2d
from jt_edu.zoo.network import LayerNet, check_pooled, start_layers
from jt_edu.zoo.registry import PretrainedCfg, register_model

__all__ = ["EfficientNet"]
STAGES = (  # blocks, k, stride of the first, times as wide inside, channels
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)  # fmt: skip
norm_act = partial(BatchNormAct2d, act_layer=nn.SiLU)


class DepthwiseSeparableConv(nn.Module):
    """A block that is not wider inside: (n, in_chs, h, w) -> (n, out_chs, h / stride, w / stride).

    Args:
        in_chs, out_chs: how many channels come in, and go out.
        kernel_size, stride: of the convolution in which each channel is by itself.
        drop_path: how often all of an image's branch is forgotten, where there is a way around.

    Example:
        >>> DepthwiseSeparableConv(8, 4)(jt.ones(1, 8, 6, 6)).shape
        (1, 4, 6, 6)
    """

    def __init__(
        self, in_chs: int, out_chs: int, kernel_size: int = 3, stride: int = 1, drop_path: float = 0.0
    ) -> None:
        self.around = stride == 1 and in_chs == out_chs
        self.conv_dw = depthwise(in_chs, kernel_size, stride)
        self.bn1 = norm_act(in_chs)
        self.se = SqueezeExcite(in_chs, act_layer=nn.SiLU)
        self.conv_pw = pointwise(in_chs, out_chs)
        self.bn2 = norm_act(out_chs, apply_act=False)
        self.drop_path = DropPath(drop_path)

    def execute(self, x: Var) -> Var:
        """f(x), with x added where that has the same shape."""
        y = self.bn1(self.conv_dw(x))  # (n, in_chs, h / stride, w / stride)
        y = self.bn2(self.conv_pw(self.se(y)))  # (n, out_chs, h / stride, w / stride)
        return x + self.drop_path(y) if self.around else y  # type: ignore[no-any-return]


class InvertedResidual(nn.Module):
    """A block that is wider inside: (n, in_chs, h, w) -> (n, out_chs, h / stride, w / stride).

    Args:
        in_chs, out_chs, kernel_size, stride, drop_path: as in `DepthwiseSeparableConv`.
        exp_ratio: how many times as many channels there are inside.

    Example:
        >>> InvertedResidual(8, 4, 5, stride=2)(jt.ones(1, 8, 6, 6)).shape
        (1, 4, 3, 3)
    """

    def __init__(
        self, in_chs: int, out_chs: int, kernel_size: int = 3, stride: int = 1, exp_ratio: int = 6,
        drop_path: float = 0.0,
    ) -> None:  # fmt: skip
        wide = in_chs * exp_ratio
        self.around = stride == 1 and in_chs == out_chs
        self.conv_pw = pointwise(in_chs, wide)
        self.bn1 = norm_act(wide)
        self.conv_dw = depthwise(wide, kernel_size, stride)
        self.bn2 = norm_act(wide)
        self.se = SqueezeExcite(wide, rd_ratio=0.25 / exp_ratio, act_layer=nn.SiLU)  # a quarter of in_chs
        self.conv_pwl = pointwise(wide, out_chs)
        self.bn3 = norm_act(out_chs, apply_act=False)
        self.drop_path = DropPath(drop_path)

    def execute(self, x: Var) -> Var:
        """f(x), with x added where that has the same shape."""
        y = self.bn1(self.conv_pw(x))  # (n, wide, h, w)
        y = self.bn2(self.conv_dw(y))  # (n, wide, h / stride, w / stride)
        y = self.bn3(self.conv_pwl(self.se(y)))  # (n, out_chs, h / stride, w / stride)
        return x + self.drop_path(y) if self.around else y  # type: ignore[no-any-return]


def depthwise(channels: int, kernel_size: int, stride: int) -> nn.Conv2d:
    """A convolution in which each channel is by itself.

    Example:
        >>> depthwise(8, 3, 1).weight.shape
        (8, 1, 3, 3)
    """
    return nn.Conv2d(channels, channels, kernel_size, stride, kernel_size // 2, groups=channels, bias=False)


def pointwise(in_chs: int, out_chs: int) -> nn.Conv2d:
    """A 1 x 1 convolution.

    Example:
        >>> pointwise(8, 4).weight.shape
        (4, 8, 1, 1)
    """
    return nn.Conv2d(in_chs, out_chs, 1, bias=False)


class EfficientNet(LayerNet):
    """Seven stages of blocks that are narrow outside: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        channel_multiplier, depth_multiplier: how many times as many channels and blocks there are as in b0.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        in_chans: channels of an image.
        global_pool: how maps become features: "avg", "max", "avgmax", "catavgmax", or "", which leaves them maps.
        drop_rate: how likely a feature is forgotten in front of the last layer, while training.
        drop_path_rate: block k of m forgets its branch drop_path_rate * k / m times, k from 0; the first never.

    Raises:
        ArgumentError: scores, and no pool.

    Source: Tan and Le 2019 (arXiv:1905.11946).

    Example:
        >>> net = EfficientNet(channel_multiplier=0.25, num_classes=10)
        >>> net(jt.ones(1, 3, 64, 64)).shape, net.num_features
        ((1, 10), 320)
    """

    rows, scores = "conv_stem bn1 blocks conv_head bn2", "classifier"
    global_pool: SelectAdaptivePool2d

    def __init__(
        self, channel_multiplier: float = 1.0, depth_multiplier: float = 1.0, num_classes: int = 1000,
        in_chans: int = 3, global_pool: str = "avg", drop_rate: float = 0.0, drop_path_rate: float = 0.0,
    ) -> None:  # fmt: skip
        check_rates("EfficientNet", drop_rate=drop_rate, drop_path_rate=drop_path_rate)
        stem, *widths, last = (divisible(c * channel_multiplier) for c in (32, *(row[4] for row in STAGES), 1280))
        self.in_chans, self.num_features, self.drop_rate = in_chans, last, drop_rate
        self.conv_stem = nn.Conv2d(in_chans, stem, 3, stride=2, padding=1, bias=False)
        self.bn1 = norm_act(stem)
        counts = [math.ceil(row[0] * depth_multiplier) for row in STAGES]
        rates = iter([drop_path_rate * k / sum(counts) for k in range(sum(counts))])
        stages, before = [], stem
        for (_, size, stride, wide, _), count, width in zip(STAGES, counts, widths, strict=True):
            block = DepthwiseSeparableConv if wide == 1 else partial(InvertedResidual, exp_ratio=wide)
            shapes = [(before, stride), *[(width, 1)] * (count - 1)]
            stages.append([block(chs, width, size, step, drop_path=next(rates)) for chs, step in shapes])
            before = width
        self.blocks = nn.Sequential(*(nn.Sequential(*stage) for stage in stages))
        self.conv_head = pointwise(before, last)
        self.bn2 = norm_act(last)
        ends = [k for k in range(len(STAGES)) if k + 1 == len(STAGES) or STAGES[k + 1][2] == 2]  # of maps of one size
        self.feature_info = [
            {"num_chs": widths[k], "reduction": 2 * 2**i, "module": f"blocks.{k}"} for i, k in enumerate(ends)
        ]
        self.reset_classifier(num_classes, global_pool)
        start_layers(self, lambda w: init.uniform_(w, -1 / math.sqrt(len(w)), 1 / math.sqrt(len(w))))

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        kind = self.global_pool.pool_type if global_pool is None else global_pool
        check_pooled(kind, num_classes)
        self.num_classes = num_classes
        self.global_pool = SelectAdaptivePool2d(pool_type=kind, flatten=bool(kind))
        self.head_hidden_size = self.num_features * self.global_pool.feat_mult()
        self.classifier = head(self.head_hidden_size, num_classes).train(self.is_train)

    def forward_head(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores of a map; with `pre_logits` what the last layer is given."""
        x = nn.dropout(self.global_pool(x), self.drop_rate, self.is_train)
        return x if pre_logits else self.classifier(x)


RELEASE = "https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-weights/"
LOOKS = partial(PretrainedCfg, interpolation="bicubic", first_conv="conv_stem", classifier="classifier")
default_cfgs = {
    "efficientnet_b0.ra_in1k": LOOKS(url=RELEASE + "efficientnet_b0_ra-3dd342df.pth"),
    "efficientnet_b1.ft_in1k": LOOKS(url=RELEASE + "efficientnet_b1-533bc792.pth"),
}


def efficientnet(name: str, pretrained: bool, settings: dict[str, Any], **own: Any) -> Any:
    """The network of this name, with what is its own, and with the settings that were asked for.

    Example:
        >>> efficientnet("efficientnet_b0", False, {"num_classes": 0}, depth_multiplier=0.1).num_classes
        0
    """
    how = {"flatten_sequential": True}
    return build_model_with_cfg(EfficientNet, name, pretrained, feature_cfg=how, **{**own, **settings})


@register_model
def efficientnet_b0(pretrained: bool = False, **settings: Any) -> Any:
    """EfficientNet-B0: 5.3 million parameters; `settings` are those of `EfficientNet`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("efficientnet_b0").parameters())
        5288548
    """
    return efficientnet("efficientnet_b0", pretrained, settings)


@register_model
def efficientnet_b1(pretrained: bool = False, **settings: Any) -> Any:
    """EfficientNet-B1: 7.8 million parameters; `settings` are those of `EfficientNet`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("efficientnet_b1").parameters())
        7794184
    """
    return efficientnet("efficientnet_b1", pretrained, settings, depth_multiplier=1.1)
