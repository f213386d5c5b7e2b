"""MobileNet v3: what does a search find, and what do people change in it?

Blocks as in `mobilenet`, of sizes that a search has found for a telephone's processor. In half of them channels are
weighed by what the whole image has (*squeeze and excitation*):

    x --+--------------------------------------------------------(*)
        +-- mean of each channel -- few -- as many -- hardsigmoid --+

and instead of x * sigmoid(x) there is x * hardsigmoid(x), which needs no exp: hardsigmoid(x) = clip(x + 3, 0, 6) / 6.

Source: Howard et al. 2019, "Searching for MobileNetV3" (arXiv:1905.02244), tables 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.mobilenet import multiple_of_8
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.variable.var import Var

EPS, MOMENTUM = 0.001, 0.01  # of batch norm
Row = tuple[int, int, int, bool, bool, int]
LARGE: tuple[Row, ...] = (  # window, channels inside, channels, weighed, hardswish, stride
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)
SMALL: tuple[Row, ...] = (
    (3, 16, 16, True, False, 2),
    (3, 72, 24, False, False, 2),
    (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1),
    (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1),
    (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1),
    (5, 576, 96, True, True, 1),
)


def convolution(
    inputs: int, outputs: int, kernel: int, swish: bool | None, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """Convolution, batch norm, and hardswish (True), ReLU (False) or neither (None)."""
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=EPS, momentum=MOMENTUM),
    ]
    return nn.Sequential(*layers, *([] if swish is None else [nn.Hardswish() if swish else nn.ReLU()]))


class SqueezeExcitation(nn.Module):
    """Channels, weighed by what the whole image has: (n, c, h, w) -> (n, c, h, w).

    Source: Hu et al. 2018, "Squeeze-and-excitation networks" (arXiv:1709.01507).

    Example:
        >>> SqueezeExcitation(4, 8)(jt.ones(1, 4, 5, 5)).shape
        (1, 4, 5, 5)
    """

    def __init__(self, channels: int, squeeze: int) -> None:
        self.fc1 = nn.Conv2d(channels, squeeze, 1)
        self.fc2 = nn.Conv2d(squeeze, channels, 1)
        self.scale = nn.Hardsigmoid()

    def execute(self, x: Var) -> Var:
        """x, times a number from 0 to 1 for each channel."""
        weight: Var = self.scale(self.fc2(nn.relu(self.fc1(nn.adaptive_avg_pool2d(x, 1)))))  # (n, c, 1, 1)
        return weight * x


class InvertedResidual(nn.Module):
    """Wide inside: (n, inputs, h, w) -> (n, outputs, h / stride, w / stride); `row` is one of a table above.

    Example:
        >>> InvertedResidual(16, (3, 64, 24, True, True, 2))(jt.ones(1, 16, 6, 6)).shape
        (1, 24, 3, 3)
    """

    def __init__(self, inputs: int, row: Row) -> None:
        kernel, wide, outputs, weighed, swish, stride = row
        self.block = nn.Sequential(
            *([] if wide == inputs else [convolution(inputs, wide, 1, swish)]),
            convolution(wide, wide, kernel, swish, stride, groups=wide),
            *([SqueezeExcitation(wide, multiple_of_8(wide // 4))] if weighed else []),
            convolution(wide, outputs, 1, None),
        )
        self.around = stride == 1 and inputs == outputs

    def execute(self, x: Var) -> Var:
        """f(x), with x added where that has the same shape."""
        y: Var = self.block(x)
        return x + y if self.around else y


class MobileNetV3(nn.Module):
    """Inverted residuals of a table: (n, 3, h, w) -> (n, num_classes).

    Args:
        rows: LARGE, SMALL, or rows of one's own.
        last_channel: features in front of the last linear layer.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        dropout: how likely a feature is forgotten in front of the last linear layer, while training.

    Source: Howard et al. 2019 (arXiv:1905.02244).

    Example:
        >>> net = MobileNetV3(SMALL[:2], 32, num_classes=10)
        >>> net(jt.ones(1, 3, 32, 32)).shape
        (1, 10)
    """

    def __init__(
        self, rows: Sequence[Row] = LARGE, last_channel: int = 1280, num_classes: int = 1000, dropout: float = 0.2
    ) -> None:
        inputs = 16
        layers: list[nn.Module] = [convolution(3, inputs, 3, True, stride=2)]  # (n, 16, 112, 112)
        for row in rows:
            layers.append(InvertedResidual(inputs, row))
            inputs = row[2]
        layers.append(convolution(inputs, 6 * inputs, 1, True))  # (n, 960, 7, 7)
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(6 * inputs, last_channel),
            nn.Hardswish(),
            nn.Dropout(dropout),
            head(last_channel, num_classes),
        )
        for layer in own(self).modules():
            if isinstance(layer, nn.Conv2d):
                init.kaiming_normal_(layer.weight, mode="fan_out")
            if isinstance(layer, nn.Linear):
                init.gauss_(layer.weight, 0.0, 0.01)
            if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
                init.zero_(layer.bias)

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        x = nn.adaptive_avg_pool2d(self.features(x), 1).flatten(1)  # (n, 960)
        scores: Var = self.classifier(x)  # (n, num_classes)
        return scores


mobilenet_v3_large = variant("mobilenet_v3_large", MobileNetV3, "MobileNet v3, large", 5_483_032, LARGE)
mobilenet_v3_small = variant("mobilenet_v3_small", MobileNetV3, "MobileNet v3, small", 2_542_856, SMALL, 1024)
