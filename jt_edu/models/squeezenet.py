"""SqueezeNet: the accuracy of AlexNet with a fiftieth of its parameters?

    Fire     x --1 x 1, squeeze--+--1 x 1, expand--+--> both, one behind the other
                                 +--3 x 3, expand--+

A 3 x 3 convolution has nine times the weights of a 1 x 1. So only half of the outputs get one, and it sees few
channels: the squeeze layer has an eighth of what the expand layers make together. And there is no linear layer at the
end: a 1 x 1 convolution gives each place a score for each class, and their mean is the answer.

Version 1.1 is the one to take: it has smaller windows at the start, and pools earlier, for 0.4 times the work.

Source: Iandola et al. 2016, "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters" (arXiv:1602.07360).
"""

from __future__ import annotations

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.models.weights import variant
from jt_edu.nn import init
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var


class Fire(nn.Module):
    """Few channels, then many: (n, inputs, h, w) -> (n, 2 * expand, h, w).

    Example:
        >>> Fire(64, 16, 64)(jt.ones(1, 64, 5, 5)).shape
        (1, 128, 5, 5)
    """

    def __init__(self, inputs: int, squeeze: int, expand: int) -> None:
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.expand1x1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3x3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def execute(self, x: Var) -> Var:
        """Squeeze, and expand in two ways."""
        x = nn.relu(self.squeeze(x))  # (n, squeeze, h, w)
        return concat([nn.relu(self.expand1x1(x)), nn.relu(self.expand3x3(x))], 1)  # (n, 2 * expand, h, w)


def features_1_0() -> nn.Sequential:
    """The layers of version 1.0 in front of the classifier."""
    return nn.Sequential(  # (n, 3, 224, 224)
        nn.Conv2d(3, 96, 7, stride=2),  # (n, 96, 109, 109)
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),  # (n, 96, 54, 54)
        Fire(96, 16, 64),
        Fire(128, 16, 64),
        Fire(128, 32, 128),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),  # (n, 256, 27, 27)
        Fire(256, 32, 128),
        Fire(256, 48, 192),
        Fire(384, 48, 192),
        Fire(384, 64, 256),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),  # (n, 512, 13, 13)
        Fire(512, 64, 256),
    )


def features_1_1() -> nn.Sequential:
    """The layers of version 1.1 in front of the classifier."""
    return nn.Sequential(  # (n, 3, 224, 224)
        nn.Conv2d(3, 64, 3, stride=2),  # (n, 64, 111, 111)
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),  # (n, 64, 55, 55)
        Fire(64, 16, 64),
        Fire(128, 16, 64),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),  # (n, 128, 27, 27)
        Fire(128, 32, 128),
        Fire(256, 32, 128),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),  # (n, 256, 13, 13)
        Fire(256, 48, 192),
        Fire(384, 48, 192),
        Fire(384, 64, 256),
        Fire(512, 64, 256),
    )


FEATURES = {"1_0": features_1_0, "1_1": features_1_1}


class SqueezeNet(nn.Module):
    """Eight Fire modules between two convolutions: (n, 3, h, w) -> (n, num_classes).

    Args:
        version: "1_0" or "1_1"; h and w are at least 21 or 17.
        num_classes: how many scores each image gets; 0 leaves out the last convolution.
        dropout: how likely a feature is forgotten in front of the last convolution, while training.

    Raises:
        ArgumentError: there is no such version.

    Source: Iandola et al. 2016 (arXiv:1602.07360).

    Example:
        >>> [name for name, _ in SqueezeNet("1_1").named_parameters()][2:5]
        ['features.3.squeeze.weight', 'features.3.squeeze.bias', 'features.3.expand1x1.weight']
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        if version not in FEATURES:
            raise ArgumentError(f"SqueezeNet has the versions {', '.join(FEATURES)}", repr(version))
        self.features = FEATURES[version]()  # (n, 3, 224, 224) -> (n, 512, 13, 13)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Conv2d(512, num_classes, 1) if num_classes else nn.Identity(),  # scores of each place
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),  # (n, num_classes, 1, 1)
        )
        for layer in own(self).modules():
            if isinstance(layer, nn.Conv2d) and layer.bias is not None:
                init.kaiming_uniform_(layer.weight)
                init.zero_(layer.bias)
        if num_classes:
            init.gauss_(self.classifier[1].weight, 0.0, 0.01)

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        x = self.features(x)  # (n, 512, 13, 13)
        scores: Var = self.classifier(x).flatten(1)  # (n, num_classes)
        return scores


squeezenet1_0 = variant("squeezenet1_0", SqueezeNet, "SqueezeNet 1.0", 1_248_424, "1_0")
squeezenet1_1 = variant("squeezenet1_1", SqueezeNet, "SqueezeNet 1.1", 1_235_496, "1_1")
