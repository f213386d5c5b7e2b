"""MobileNet v2: what is left of a convolution when a telephone has to compute it?

A 3 x 3 convolution of c to c channels costs 9 * c * c products for each place. In two steps it is 9 * c + c * c:

    depthwise    3 x 3, each channel by itself          looks around
    pointwise    1 x 1, all channels together           mixes

    x --+-- 1 x 1, 6 times as many channels -- 3 x 3 depthwise -- 1 x 1, few again, no ReLU --(+)--
        +--------------------------------------------------------------------------------------+

An inverted residual: the blocks of a ResNet are narrow inside, these are wide inside, and what goes around is narrow.
In few channels a ReLU would destroy too much, so the last 1 x 1 has none. ReLU6 ends at 6, which suits numbers of few
bits.

    image 224 x 224          channels    blocks    times as wide inside    stride of the first
      | 3 x 3                   32         1                                   2
      | layers of blocks        16         1                 1                 1
      |                         24         2                 6                 2
      |                         32         3                 6                 2
      |                         64         4                 6                 2
      |                         96         3                 6                 1
      |                        160         3                 6                 2
      |                        320         1                 6                 1
      | 1 x 1                 1280
      | mean of each channel; linear

Source: Sandler et al. 2018, "MobileNetV2: inverted residuals and linear bottlenecks" (arXiv:1801.04381), table 2.
"""

from __future__ import annotations

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.ops.arguments import number
from jt_edu.variable.var import Var

LAYERS = (  # times as wide inside, channels, blocks, stride of the first
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def convolution(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolution, batch norm and ReLU6; the image keeps its size, divided by the stride."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(),
    )


class InvertedResidual(nn.Module):
    """Wide inside: (n, inputs, h, w) -> (n, outputs, h / stride, w / stride).

    Args:
        inputs, outputs: how many channels come in, and go out.
        stride: of the depthwise convolution.
        expand: how many times as wide it is inside; with 1 there is no first convolution.

    Example:
        >>> InvertedResidual(4, 8, stride=2, expand=6)(jt.ones(1, 4, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
        wide = inputs * expand
        self.conv = nn.Sequential(
            *([] if expand == 1 else [convolution(inputs, wide, 1)]),
            convolution(wide, wide, 3, stride, groups=wide),
            nn.Conv2d(wide, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.around = stride == 1 and inputs == outputs

    def execute(self, x: Var) -> Var:
        """f(x), with x added where that has the same shape."""
        y: Var = self.conv(x)  # (n, outputs, h / stride, w / stride)
        return x + y if self.around else y


class MobileNetV2(nn.Module):
    """Seventeen inverted residuals between two convolutions: (n, 3, h, w) -> (n, num_classes).

    Args:
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        width_mult: how many times as many channels as the paper's table has, rounded to multiples of 8.
        dropout: how likely a feature is forgotten in front of the linear layer, while training.

    Source: Sandler et al. 2018 (arXiv:1801.04381).

    Example:
        >>> sum(p.size for p in MobileNetV2(num_classes=10, width_mult=0.35).parameters())
        408938
    """

    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2) -> None:
        number("MobileNetV2", "width_mult", width_mult, 0, above=True)
        inputs, last = multiple_of_8(32 * width_mult), multiple_of_8(1280 * max(1.0, width_mult))
        layers: list[nn.Module] = [convolution(3, inputs, stride=2)]  # (n, 32, 112, 112)
        for expand, channels, count, stride in LAYERS:
            outputs = multiple_of_8(channels * width_mult)
            for k in range(count):
                layers.append(InvertedResidual(inputs, outputs, stride if k == 0 else 1, expand))
                inputs = outputs
        layers.append(convolution(inputs, last, 1))  # (n, 1280, 7, 7)
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout), head(last, num_classes))
        for layer in own(self).modules():
            if isinstance(layer, nn.Conv2d):
                init.kaiming_normal_(layer.weight, mode="fan_out")
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                init.gauss_(layer.weight, 0.0, 0.01)
                init.zero_(layer.bias)

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        x = self.features(x)  # (n, 1280, 7, 7)
        x = nn.adaptive_avg_pool2d(x, 1).flatten(1)  # (n, 1280)
        scores: Var = self.classifier(x)  # (n, num_classes)
        return scores


def multiple_of_8(channels: float) -> int:
    """The multiple of 8 next to a number of channels; but never less than nine tenths of it, and at least 8."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


mobilenet_v2 = variant("mobilenet_v2", MobileNetV2, "MobileNet v2", 3_504_872)
