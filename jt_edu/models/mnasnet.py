"""MNASNet: what does a network look like that a search has built, and not a person?

The search tried layers of inverted residuals (see `mobilenet.py`) and measured each network on a telephone, since a
count of products says little about seconds. It came back with 5 x 5 windows in the middle, and no two layers alike:

    image 224 x 224                 channels    blocks    window    times as wide inside    stride of the first
      | 3 x 3                          32         1        3 x 3                                2
      | depthwise, pointwise           16         1        3 x 3                                1
      | layers of blocks               24         3        3 x 3              3                 2
      |                                40         3        5 x 5              3                 2
      |                                80         3        5 x 5              6                 2
      |                                96         2        3 x 3              6                 1
      |                               192         4        5 x 5              6                 2
      |                               320         1        3 x 3              6                 1
      | 1 x 1                        1280
      | mean of each channel; linear

This is the paper's B1, without squeeze and excitation. The number in a builder's name is `alpha`, a factor of all
channels but the last. Files of an early version of others, with 32 channels at the start whatever alpha is, do not fit.

Source: Tan et al. 2018, "MnasNet: platform-aware neural architecture search for mobile" (arXiv:1807.11626), figure 7.
"""

from __future__ import annotations

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.mobilenet import multiple_of_8
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.ops.arguments import number
from jt_edu.variable.var import Var

__all__ = ["MNASNet", "mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3"]
MOMENTUM = 3e-4  # of all batch norms: running statistics are means of some thousand batches

LAYERS = (  # times as wide inside, channels, blocks, window, stride of the first
    (3, 24, 3, 3, 2),
    (3, 40, 3, 5, 2),
    (6, 80, 3, 5, 2),
    (6, 96, 2, 3, 1),
    (6, 192, 4, 5, 2),
    (6, 320, 1, 3, 1),
)


def convolution(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Convolution and batch norm; the image keeps its size, divided by the stride."""
    return [
        nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, momentum=MOMENTUM),
    ]


class InvertedResidual(nn.Module):
    """Wide inside: (n, inputs, h, w) -> (n, outputs, h / stride, w / stride).

    Args:
        inputs, outputs: how many channels come in, and go out.
        kernel, stride: of the depthwise convolution.
        expand: how many times as wide it is inside.

    Example:
        >>> InvertedResidual(4, 8, kernel=5, stride=2, expand=3)(jt.ones(1, 4, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expand: int) -> None:
        wide = inputs * expand
        self.layers = nn.Sequential(
            *convolution(inputs, wide),  # (n, wide, h, w)
            nn.ReLU(),
            *convolution(wide, wide, kernel, stride, groups=wide),  # (n, wide, h / stride, w / stride)
            nn.ReLU(),
            *convolution(wide, outputs),  # (n, outputs, h / stride, w / stride)
        )
        self.around = stride == 1 and inputs == outputs

    def execute(self, x: Var) -> Var:
        """f(x), with x added where that has the same shape."""
        y: Var = self.layers(x)
        return y + x if self.around else y


class MNASNet(nn.Module):
    """Six layers of inverted residuals: (n, 3, h, w) -> (n, num_classes).

    Args:
        alpha: how many times as many channels as the table above has, rounded to multiples of 8.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        dropout: how likely a feature is forgotten in front of the linear layer, while training.

    Source: Tan et al. 2018 (arXiv:1807.11626).

    Example:
        >>> [name for name, _ in MNASNet(0.5).named_parameters()][9:12]
        ['layers.8.0.layers.0.weight', 'layers.8.0.layers.1.weight', 'layers.8.0.layers.1.bias']
    """

    _version = 2  # torchvision's: in version 1 the stem was as wide for each alpha

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        number("MNASNet", "alpha", alpha, 0, above=True)
        first, inputs = multiple_of_8(32 * alpha), multiple_of_8(16 * alpha)
        layers = [*convolution(3, first, 3, stride=2), nn.ReLU()]  # (n, 32, 112, 112)
        layers += [*convolution(first, first, 3, groups=first), nn.ReLU()]  # (n, 32, 112, 112)
        layers += convolution(first, inputs)  # (n, 16, 112, 112)
        for expand, channels, count, kernel, stride in LAYERS:
            outputs = multiple_of_8(channels * alpha)
            blocks = [InvertedResidual(inputs, outputs, kernel, stride, expand)]
            blocks += [InvertedResidual(outputs, outputs, kernel, 1, expand) for _ in range(count - 1)]
            layers.append(nn.Sequential(*blocks))
            inputs = outputs
        layers += [*convolution(inputs, 1280), nn.ReLU()]  # (n, 1280, 7, 7)
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout), head(1280, num_classes))
        for layer in own(self).modules():
            if isinstance(layer, nn.Conv2d):
                init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                init.kaiming_uniform_(layer.weight, mode="fan_out", nonlinearity="sigmoid")
                init.zero_(layer.bias)

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        x = self.layers(x).mean((2, 3))  # (n, 1280)
        scores: Var = self.classifier(x)  # (n, num_classes)
        return scores


mnasnet0_5 = variant("mnasnet0_5", MNASNet, "MNASNet of alpha 0.5", 2_218_512, 0.5)
mnasnet0_75 = variant("mnasnet0_75", MNASNet, "MNASNet of alpha 0.75", 3_170_208, 0.75)
mnasnet1_0 = variant("mnasnet1_0", MNASNet, "MNASNet of alpha 1.0", 4_383_312, 1.0)
mnasnet1_3 = variant("mnasnet1_3", MNASNet, "MNASNet of alpha 1.3", 6_282_256, 1.3)
