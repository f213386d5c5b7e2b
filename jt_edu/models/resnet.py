"""ResNet, Wide ResNet, ResNeXt: how can a network have a hundred layers and still learn?

    x --+-- conv -- conv --(+)-- relu       a block learns what to add to x: y = relu(x + f(x))
        +------------------+

What a block does not need to change goes around it, and so does the gradient. Two kinds of blocks:

    BasicBlock     3 x 3, 3 x 3                   ResNet-18 and -34
    Bottleneck     1 x 1, 3 x 3, 1 x 1            all others: the 3 x 3 sees a quarter of the channels

    image 224 x 224
      | 7 x 7, stride 2, 64; pool
      | layer1    64 channels     blocks of ResNet-18: 2     34: 3     50: 3     101: 3      152: 3
      | layer2   128                                   2         4         4          4           8
      | layer3   256                                   2         6         6         23          36
      | layer4   512                                   2         3         3          3           3
      | mean of each channel; linear               (of a Bottleneck come four times as many channels)

A Wide ResNet has more channels in the 3 x 3 of each block. A ResNeXt too, but splits them into groups that do not see
each other: "32x4d" is 32 groups of 4 channels in layer1. Where a layer begins, its first block halves height and width,
in the 3 x 3: the paper does it in the 1 x 1 before, which never looks at three quarters of the places.

Source: He et al. 2015, "Deep residual learning for image recognition" (arXiv:1512.03385); Zagoruyko and Komodakis 2016,
"Wide residual networks" (arXiv:1605.07146); Xie et al. 2016, "Aggregated residual transformations for deep neural
networks" (arXiv:1611.05431).
"""

from __future__ import annotations

from collections.abc import Sequence

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.variable.var import Var

__all__ = ["BasicBlock", "Bottleneck", "ResNet", "resnet101", "resnet152", "resnet18", "resnet34", "resnet50",
           "resnext101_32x8d", "resnext50_32x4d", "wide_resnet101_2", "wide_resnet50_2"]  # fmt: skip


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions, and a way around: (n, inputs, h, w) -> (n, channels, h / stride, w / stride).

    Args:
        inputs, channels: how many channels come in, and go out.
        stride: of the first convolution.
        groups, base_width: 1 and 64, and nothing else: they are for `Bottleneck`.

    Example:
        >>> BasicBlock(8, 16, stride=2)(jt.ones(1, 8, 6, 6)).shape
        (1, 16, 3, 3)
    """

    expansion = 1

    def __init__(self, inputs: int, channels: int, stride: int = 1, groups: int = 1, base_width: int = 64) -> None:
        if (groups, base_width) != (1, 64):
            raise ArgumentError("a BasicBlock has no groups and no other width", f"{groups} and {base_width}")
        self.conv1 = nn.Conv2d(inputs, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = shortcut(inputs, channels, stride)

    def execute(self, x: Var) -> Var:
        """relu(x + f(x))."""
        y = nn.relu(self.bn1(self.conv1(x)))  # (n, channels, h / stride, w / stride)
        y = self.bn2(self.conv2(y))  # (n, channels, h / stride, w / stride)
        return nn.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """1 x 1 to fewer channels, 3 x 3, 1 x 1 to more: (n, inputs, h, w) -> (n, 4 * channels, h / stride, w / stride).

    Args:
        inputs, channels: how many channels come in; a quarter of how many go out.
        stride: of the 3 x 3 convolution.
        groups: into how many parts its channels are split.
        base_width: how wide it is: width = channels * base_width / 64 * groups.

    Example:
        >>> Bottleneck(16, 4, stride=2)(jt.ones(1, 16, 6, 6)).shape
        (1, 16, 3, 3)
    """

    expansion = 4

    def __init__(self, inputs: int, channels: int, stride: int = 1, groups: int = 1, base_width: int = 64) -> None:
        width, outputs = channels * base_width // 64 * groups, channels * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = shortcut(inputs, outputs, stride)

    def execute(self, x: Var) -> Var:
        """relu(x + f(x))."""
        y = nn.relu(self.bn1(self.conv1(x)))  # (n, width, h, w)
        y = nn.relu(self.bn2(self.conv2(y)))  # (n, width, h / stride, w / stride)
        y = self.bn3(self.conv3(y))  # (n, 4 * channels, h / stride, w / stride)
        return nn.relu(y + (x if self.downsample is None else self.downsample(x)))


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    """The way around a block: nothing, unless x has to get the shape of f(x) first."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """Four layers of residual blocks: (n, 3, h, w) -> (n, num_classes).

    Args:
        block: `BasicBlock` or `Bottleneck`.
        blocks: how many of them each of the four layers has.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        zero_init_residual: whether each block begins as y = relu(x): its last batch norm multiplies by 0.
        groups, width_per_group: of the 3 x 3 convolutions of a `Bottleneck`.

    Source: He et al. 2015 (arXiv:1512.03385).

    Example:
        >>> [name for name, _ in ResNet(BasicBlock, (1, 1, 1, 1)).named_parameters()][:5:2]
        ['conv1.weight', 'bn1.bias', 'layer1.0.bn1.weight']
    """

    def __init__(
        self, block: type[BasicBlock | Bottleneck], blocks: Sequence[int], num_classes: int = 1000,
        zero_init_residual: bool = False, groups: int = 1, width_per_group: int = 64,
    ) -> None:  # fmt: skip
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)

        def layer(inputs: int, channels: int, count: int, stride: int) -> nn.Sequential:
            first = block(inputs, channels, stride, groups, width_per_group)
            others = [block(channels * wide, channels, 1, groups, width_per_group) for _ in range(count - 1)]
            return nn.Sequential(first, *others)

        wide = block.expansion
        self.layer1 = layer(64, 64, blocks[0], stride=1)
        self.layer2 = layer(64 * wide, 128, blocks[1], stride=2)
        self.layer3 = layer(128 * wide, 256, blocks[2], stride=2)
        self.layer4 = layer(256 * wide, 512, blocks[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = head(512 * wide, num_classes)
        self._start(zero_init_residual)

    def _start(self, zero_init_residual: bool) -> None:
        """Normal weights for convolutions, so that the gradient keeps its size on the way back."""
        for layer in own(self).modules():
            if isinstance(layer, nn.Conv2d):
                init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if zero_init_residual and isinstance(layer, (BasicBlock, Bottleneck)):
                last = "bn3.weight" if isinstance(layer, Bottleneck) else "bn2.weight"
                init.zero_(layer.get_parameter(last))

    def execute(self, x: Var) -> Var:
        """Scores of images."""  # (n, 3, 224, 224)
        x = nn.relu(self.bn1(self.conv1(x)))  # (n, 64, 112, 112)
        x = self.maxpool(x)  # (n, 64, 56, 56)
        x = self.layer1(x)  # (n, 64 * expansion, 56, 56)
        x = self.layer2(x)  # (n, 128 * expansion, 28, 28)
        x = self.layer3(x)  # (n, 256 * expansion, 14, 14)
        x = self.layer4(x)  # (n, 512 * expansion, 7, 7)
        x = self.avgpool(x).flatten(1)  # (n, 512 * expansion)
        scores: Var = self.fc(x)  # (n, num_classes)
        return scores


DEPTHS = {  # layers that have weights -> which blocks, and how many of them each of the four layers has
    18: (BasicBlock, (2, 2, 2, 2)),
    34: (BasicBlock, (3, 4, 6, 3)),
    50: (Bottleneck, (3, 4, 6, 3)),
    101: (Bottleneck, (3, 4, 23, 3)),
    152: (Bottleneck, (3, 8, 36, 3)),
}
resnet18 = variant("resnet18", ResNet, "ResNet-18", 11_689_512, *DEPTHS[18])
resnet34 = variant("resnet34", ResNet, "ResNet-34", 21_797_672, *DEPTHS[34])
resnet50 = variant("resnet50", ResNet, "ResNet-50", 25_557_032, *DEPTHS[50])
resnet101 = variant("resnet101", ResNet, "ResNet-101", 44_549_160, *DEPTHS[101])
resnet152 = variant("resnet152", ResNet, "ResNet-152", 60_192_808, *DEPTHS[152])
resnext50_32x4d = variant(
    "resnext50_32x4d", ResNet, "ResNeXt-50, 32 groups of 4 channels", 25_028_904, *DEPTHS[50],
    groups=32, width_per_group=4,
)  # fmt: skip
resnext101_32x8d = variant(
    "resnext101_32x8d", ResNet, "ResNeXt-101, 32 groups of 8 channels", 88_791_336, *DEPTHS[101],
    groups=32, width_per_group=8,
)  # fmt: skip
wide_resnet50_2 = variant(
    "wide_resnet50_2", ResNet, "Wide ResNet-50, twice as wide", 68_883_240, *DEPTHS[50], width_per_group=128
)
wide_resnet101_2 = variant(
    "wide_resnet101_2", ResNet, "Wide ResNet-101, twice as wide", 126_886_696, *DEPTHS[101], width_per_group=128
)
