"""ShuffleNet v2: if memory is what takes the time, which network is fast?

Counting products is not measuring. The paper times layers, and concludes: as many channels out as in, few groups, few
branches, few operators on single numbers. So half of the channels pass by untouched, and the other half gets a block:

    stride 1     x --split--+------------------------------------------+-- concat -- shuffle
                            +-- 1 x 1 -- 3 x 3 depthwise -- 1 x 1 ------+

    stride 2     x --+----------- 3 x 3 depthwise, stride 2 -- 1 x 1 ---+-- concat -- shuffle
                     +-- 1 x 1 -- 3 x 3 depthwise, stride 2 -- 1 x 1 ---+

The shuffle takes channels from both halves in turn, so that the next block works on others too.

    image 224 x 224           channels of x0.5    x1.0    x1.5    x2.0
      | 3 x 3, stride 2; pool              24       24      24      24
      | stage2, 4 blocks                   48      116     176     244
      | stage3, 8 blocks                   96      232     352     488
      | stage4, 4 blocks                  192      464     704     976
      | 1 x 1                            1024     1024    1024    2048
      | mean of each channel; linear

Source: Ma et al. 2018, "ShuffleNet V2: practical guidelines for efficient CNN architecture design" (arXiv:1807.11164),
figure 3 and table 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from jt_edu import nn
from jt_edu.models.weights import head, variant
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var

__all__ = ["ShuffleNetV2", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0"]
BLOCKS = (4, 8, 4)  # of stages 2, 3 and 4


def pointwise(inputs: int, outputs: int) -> list[nn.Module]:
    """1 x 1: mixes channels."""
    return [nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def depthwise(channels: int, stride: int) -> list[nn.Module]:
    """3 x 3, each channel by itself: looks around. There is no ReLU behind it."""
    window = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, groups=channels, bias=False)
    return [window, nn.BatchNorm2d(channels)]


class ShuffleBlock(nn.Module):
    """Two branches, shuffled: (n, inputs, h, w) -> (n, outputs, h / stride, w / stride).

    Args:
        inputs, outputs: how many channels come in, and go out; both even, and the same if stride is 1.
        stride: of the depthwise convolutions.

    Example:
        >>> ShuffleBlock(4, 8, stride=2)(jt.ones(1, 4, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        half, self.splits = outputs // 2, stride == 1
        self.branch1 = nn.Sequential(*([] if self.splits else [*depthwise(inputs, stride), *pointwise(inputs, half)]))
        self.branch2 = nn.Sequential(
            *pointwise(half if self.splits else inputs, half),  # (n, half, h, w)
            *depthwise(half, stride),  # (n, half, h / stride, w / stride)
            *pointwise(half, half),  # (n, half, h / stride, w / stride)
        )

    def execute(self, x: Var) -> Var:
        """Each branch takes its half of x, or both take all of it."""
        one, other = x.chunk(2, 1) if self.splits else (x, x)
        y = concat([self.branch1(one), self.branch2(other)], 1)  # (n, outputs, h / stride, w / stride)
        return nn.channel_shuffle(y, 2)


class ShuffleNetV2(nn.Module):
    """Three stages of blocks between two convolutions: (n, 3, h, w) -> (n, num_classes).

    Args:
        channels: of the first convolution, the three stages and the last convolution.
        num_classes: how many scores each image gets; 0 leaves out the last layer.

    Source: Ma et al. 2018 (arXiv:1807.11164).

    Example:
        >>> [name for name, _ in ShuffleNetV2((8, 16, 32, 64, 128)).named_parameters()][3:5]
        ['stage2.0.branch1.0.weight', 'stage2.0.branch1.1.weight']
    """

    def __init__(self, channels: Sequence[int], num_classes: int = 1000) -> None:
        def stage(inputs: int, outputs: int, count: int) -> nn.Sequential:
            others = [ShuffleBlock(outputs, outputs, stride=1) for _ in range(count - 1)]
            return nn.Sequential(ShuffleBlock(inputs, outputs, stride=2), *others)

        first, second, third, fourth, last = channels
        window = nn.Conv2d(3, first, 3, stride=2, padding=1, bias=False)
        self.conv1 = nn.Sequential(window, nn.BatchNorm2d(first), nn.ReLU())
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.stage2 = stage(first, second, BLOCKS[0])
        self.stage3 = stage(second, third, BLOCKS[1])
        self.stage4 = stage(third, fourth, BLOCKS[2])
        self.conv5 = nn.Sequential(*pointwise(fourth, last))
        self.fc = head(last, num_classes)

    def execute(self, x: Var) -> Var:
        """Scores of images."""  # (n, 3, 224, 224)
        x = self.maxpool(self.conv1(x))  # (n, first, 56, 56)
        x = self.stage2(x)  # (n, second, 28, 28)
        x = self.stage3(x)  # (n, third, 14, 14)
        x = self.stage4(x)  # (n, fourth, 7, 7)
        x = self.conv5(x).mean((2, 3))  # (n, last)
        scores: Var = self.fc(x)  # (n, num_classes)
        return scores


shufflenet_v2_x0_5 = variant(
    "shufflenet_v2_x0_5", ShuffleNetV2, "ShuffleNet v2 x0.5", 1_366_792, (24, 48, 96, 192, 1024)
)
shufflenet_v2_x1_0 = variant(
    "shufflenet_v2_x1_0", ShuffleNetV2, "ShuffleNet v2 x1.0", 2_278_604, (24, 116, 232, 464, 1024)
)
shufflenet_v2_x1_5 = variant(
    "shufflenet_v2_x1_5", ShuffleNetV2, "ShuffleNet v2 x1.5", 3_503_624, (24, 176, 352, 704, 1024)
)
shufflenet_v2_x2_0 = variant(
    "shufflenet_v2_x2_0", ShuffleNetV2, "ShuffleNet v2 x2.0", 7_393_996, (24, 244, 488, 976, 2048)
)
