"""RegNet: which rule do the widths of good networks follow?

Thousands of networks were trained, and what the good ones have in common was kept: widths grow linearly with depth.

    u_j = w0 + wa * j                                 block j, from 0
    w_j = w0 * wm ^ k, k = round(log_wm(u_j / w0))    rounded, so that several blocks share a width: a stage
    and to a multiple of 8, then of the width of a group

So four numbers and a group's width say it all. regnety_004, of 400 million products:

    w0 = 48, wa = 27.89, wm = 2.09, 16 blocks, groups of 8 channels -> widths 48, 104, 208, 440; blocks 1, 3, 6, 6

A block is that of a ResNeXt (`jt.models.resnet`), as wide inside as outside; in RegNet-Y channels are weighed by what
the whole image has (`SEModule`), in RegNet-X they are not:

    x --+-- 1 x 1 -- 3 x 3 in groups -- gate -- 1 x 1 --(+)-- relu
        +-- (1 x 1, where the size changes) -------------+

Source: Radosavovic et al. 2020, "Designing network design spaces" (arXiv:2003.13678).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.nn import init
from jt_edu.variable.var import Var
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import DropPath, check_rates, drop_path_rates
from jt_edu.zoo.layers.gates import SEModule
from jt_edu.zoo.layers.norm_act import ConvNormAct
from jt_edu.zoo.layers.pool import ClassifierHead
from jt_edu.zoo.network import LayerNet, start_layers
from jt_edu.zoo.registry import PretrainedCfg, register_model

__all__ = ["RegNet", "regnet_stages"]


def regnet_stages(w0: int, wa: float, wm: float, depth: int, group_size: int) -> list[tuple[int, int, int]]:
    """For each stage: how wide it is, how many blocks it has, and how many channels are in a group.

    Args:
        w0, wa, wm: as in the formula above.
        depth: blocks in all.
        group_size: how many channels a group would have; where they are fewer, there is one group.

    Example:
        >>> regnet_stages(48, 27.89, 2.09, depth=16, group_size=8)
        [(48, 1, 8), (104, 3, 8), (208, 6, 8), (440, 6, 8)]
    """
    powers = [round(math.log(1 + wa * j / w0) / math.log(wm)) for j in range(depth)]
    counts = Counter(round(w0 * wm**k / 8) * 8 for k in powers)  # in order: they grow
    groups = [min(group_size, width) for width in counts]
    return [(round(w / g) * g, counts[w], g) for w, g in zip(counts, groups, strict=True)]


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 in groups, 1 x 1, and a way around: (n, in_chs, h, w) -> (n, out_chs, h / stride, w / stride).

    Args:
        in_chs, out_chs: how many channels come in, and go out; inside there are out_chs.
        stride: of the 3 x 3 convolution.
        group_size: how many channels see each other in it.
        se_ratio: how many times in_chs the gate has between its layers; 0 leaves it out.
        drop_path: how often all of an image's branch is forgotten.

    Example:
        >>> Bottleneck(4, 8, stride=2, group_size=4)(jt.ones(1, 4, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(
        self, in_chs: int, out_chs: int, stride: int = 1, group_size: int = 1, se_ratio: float = 0.25,
        drop_path: float = 0.0,
    ) -> None:  # fmt: skip
        same = stride == 1 and in_chs == out_chs
        few = round(in_chs * se_ratio)
        self.conv1 = ConvNormAct(in_chs, out_chs)
        self.conv2 = ConvNormAct(out_chs, out_chs, 3, stride, groups=out_chs // group_size)
        self.se = SEModule(out_chs, rd_channels=few) if few else nn.Identity()
        self.conv3 = ConvNormAct(out_chs, out_chs, apply_act=False)
        self.downsample = nn.Identity() if same else ConvNormAct(in_chs, out_chs, stride=stride, apply_act=False)
        self.drop_path = DropPath(drop_path)

    def execute(self, x: Var) -> Var:
        """relu(x + f(x))."""
        y = self.conv3(self.se(self.conv2(self.conv1(x))))  # (n, out_chs, h / stride, w / stride)
        return nn.relu(self.drop_path(y) + self.downsample(x))


class RegStage(nn.Sequential):
    """Blocks of one width, of which the first halves height and width: (n, in_chs, h, w) -> (n, out_chs, h / 2, w / 2).

    Args:
        in_chs, out_chs, group_size, se_ratio: as in `Bottleneck`.
        drop_path: for each block, how often its branch is forgotten.

    Example:
        >>> RegStage(4, 8, 4, 0.0, [0.0, 0.0])(jt.ones(1, 4, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(self, in_chs: int, out_chs: int, group_size: int, se_ratio: float, drop_path: Sequence[float]) -> None:
        super().__init__()
        for k, rate in enumerate(drop_path):
            before, stride = (out_chs, 1) if k else (in_chs, 2)
            self.add_module(f"b{k + 1}", Bottleneck(before, out_chs, stride, group_size, se_ratio, rate))


class RegNet(LayerNet):
    """Four stages of blocks whose widths follow a rule: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        w0, wa, wm, depth, group_size: as in `regnet_stages`; they are to give four stages.
        se_ratio: as in `Bottleneck`.
        stem_width: channels of the first convolution.
        in_chans: channels of an image.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        global_pool: how maps become features: "avg", "max", "avgmax", "catavgmax", or "", which leaves them maps.
        drop_rate: how likely a feature is forgotten in front of the last layer, while training.
        drop_path_rate: how often a branch of the last block is; earlier ones less, the first never.
        zero_init_last: whether each block begins as y = relu(x): its last batch norm multiplies by 0.

    Source: Radosavovic et al. 2020 (arXiv:2003.13678).

    Example:
        >>> net = RegNet(8, 8.0, 2.0, depth=4, group_size=8, num_classes=3)
        >>> net(jt.ones(1, 3, 32, 32)).shape, [one["num_chs"] for one in net.feature_info]
        ((1, 3), [32, 8, 16, 32])
    """

    def __init__(
        self, w0: int, wa: float, wm: float, depth: int, group_size: int, se_ratio: float = 0.0, stem_width: int = 32,
        in_chans: int = 3, num_classes: int = 1000, global_pool: str = "avg", drop_rate: float = 0.0,
        drop_path_rate: float = 0.0, zero_init_last: bool = True,
    ) -> None:  # fmt: skip
        check_rates("RegNet", drop_rate=drop_rate, drop_path_rate=drop_path_rate)
        self.num_classes, self.in_chans = num_classes, in_chans
        self.stem = ConvNormAct(in_chans, stem_width, 3, stride=2)
        self.feature_info = [{"num_chs": stem_width, "reduction": 2, "module": "stem"}]
        stages = regnet_stages(w0, wa, wm, depth, group_size)
        rates, before = drop_path_rates(drop_path_rate, [blocks for _, blocks, _ in stages]), stem_width
        for k, (width, _, group) in enumerate(stages, 1):
            self.add_module(f"s{k}", RegStage(before, width, group, se_ratio, rates[k - 1]))
            self.feature_info.append({"num_chs": width, "reduction": 2 * 2**k, "module": f"s{k}"})
            before = width
        self.rows = " ".join(one["module"] for one in self.feature_info)
        self.num_features = before
        self.head = ClassifierHead(before, num_classes, global_pool, drop_rate)
        self.head_hidden_size = self.head.num_features
        start_layers(self, partial(init.gauss_, std=0.01))
        for layer in own(self).modules() if zero_init_last else ():
            if isinstance(layer, Bottleneck):
                init.zero_(layer.get_parameter("conv3.bn.weight"))


LOOKS = partial(PretrainedCfg, interpolation="bicubic", first_conv="stem.conv", classifier="head.fc")
default_cfgs = {"regnetx_004": LOOKS(), "regnety_004": LOOKS()}


@register_model
def regnetx_004(pretrained: bool = False, **settings: Any) -> Any:
    """RegNet-X of 400 million products: 5.2 million parameters; `settings` are those of `RegNet`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("regnetx_004").parameters())
        5157512
    """
    own = {"w0": 24, "wa": 24.48, "wm": 2.54, "depth": 22, "group_size": 16}
    return build_model_with_cfg(RegNet, "regnetx_004", pretrained, **{**own, **settings})


@register_model
def regnety_004(pretrained: bool = False, **settings: Any) -> Any:
    """RegNet-Y of 400 million products: 4.3 million parameters; `settings` are those of `RegNet`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("regnety_004").parameters())
        4344144
    """
    own = {"w0": 48, "wa": 27.89, "wm": 2.09, "depth": 16, "group_size": 8, "se_ratio": 0.25}
    return build_model_with_cfg(RegNet, "regnety_004", pretrained, **{**own, **settings})
