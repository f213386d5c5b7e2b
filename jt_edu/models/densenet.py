"""DenseNet: what if each layer saw what all layers before it made?

    x0 --layer--> x1           x1 = f(x0)
    x0, x1 --layer--> x2       x2 = f(x0, x1)             all maps side by side
    x0, x1, x2 --layer--> x3   x3 = f(x0, x1, x2)

A layer then needs to add only a few maps, its *growth*: what was found before is still there, and each map has a short
way to the loss. In front of the 3 x 3 convolution a 1 x 1 makes four times the growth of them. Between blocks a
*transition* halves the number of maps and the size of the image.

    image 224 x 224            DenseNet-121
      | 7 x 7, stride 2; 3 x 3 max pool, stride 2
      | 6 layers, transition        56 x 56
      | 12 layers, transition       28 x 28
      | 24 layers, transition       14 x 14
      | 16 layers                    7 x 7
      | mean of each map; linear

Source: Huang, Liu, van der Maaten and Weinberger 2017, "Densely connected convolutional networks" (arXiv:1608.06993).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]
WIDER = 4  # times the growth, between the two convolutions of a layer


class DenseLayer(nn.Module):
    """A few more maps: (n, inputs, h, w) -> (n, growth, h, w).

    Example:
        >>> DenseLayer(6, 4)(jt.ones(1, 6, 5, 5)).shape
        (1, 4, 5, 5)
    """

    def __init__(self, inputs: int, growth: int, drop_rate: float = 0.0) -> None:
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, WIDER * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(WIDER * growth)
        self.conv2 = nn.Conv2d(WIDER * growth, growth, 3, padding=1, bias=False)
        self.dropout = nn.Dropout(drop_rate)

    def execute(self, x: Var) -> Var:
        """Batch norm and ReLU come first, since each layer needs other scales of the same maps."""
        x = self.conv1(nn.relu(self.norm1(x)))  # (n, 4 * growth, h, w)
        x = self.conv2(nn.relu(self.norm2(x)))  # (n, growth, h, w)
        return self.dropout(x) if self.dropout.p else x


class DenseBlock(nn.Module):
    """Layers that see all maps before them: (n, inputs, h, w) -> (n, inputs + layers * growth, h, w).

    Example:
        >>> DenseBlock(3, 6, 4)(jt.ones(1, 6, 5, 5)).shape
        (1, 18, 5, 5)
    """

    def __init__(self, layers: int, inputs: int, growth: int, drop_rate: float = 0.0) -> None:
        self.names = [f"denselayer{k + 1}" for k in range(layers)]
        for k, name in enumerate(self.names):
            setattr(self, name, DenseLayer(inputs + k * growth, growth, drop_rate))

    def execute(self, x: Var) -> Var:
        """What each layer makes goes behind what is there."""
        for name in self.names:
            x = concat([x, getattr(self, name)(x)], 1)
        return x  # (n, inputs + layers * growth, h, w)


class Transition(nn.Module):
    """Half as many maps, half as large: (n, inputs, h, w) -> (n, inputs / 2, h / 2, w / 2).

    Example:
        >>> Transition(6)(jt.ones(1, 6, 4, 4)).shape
        (1, 3, 2, 2)
    """

    def __init__(self, inputs: int) -> None:
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, inputs // 2, 1, bias=False)

    def execute(self, x: Var) -> Var:
        """Mix maps, then take the mean of four places."""
        return nn.avg_pool2d(self.conv(nn.relu(self.norm(x))), 2, stride=2)


class DenseNet(nn.Module):
    """Four dense blocks: (n, 3, h, w) -> (n, num_classes).

    Args:
        growth_rate: how many maps each layer adds.
        block_config: how many layers each block has.
        num_init_features: how many maps the first convolution makes.
        drop_rate: how likely a new map is forgotten, while training.
        num_classes: how many scores each image gets; 0 leaves out the last layer.

    Source: Huang et al. 2017 (arXiv:1608.06993).

    Example:
        >>> DenseNet(4, (2, 2), 8, num_classes=10)(jt.ones(1, 3, 32, 32)).shape
        (1, 10)
    """

    def __init__(
        self, growth_rate: int = 32, block_config: Sequence[int] = (6, 12, 24, 16), num_init_features: int = 64,
        drop_rate: float = 0.0, num_classes: int = 1000,
    ) -> None:  # fmt: skip
        maps = num_init_features
        parts: dict[str, nn.Module] = {
            "conv0": nn.Conv2d(3, maps, 7, stride=2, padding=3, bias=False),  # (n, maps, 112, 112)
            "norm0": nn.BatchNorm2d(maps),
            "relu0": nn.ReLU(),
            "pool0": nn.MaxPool2d(3, stride=2, padding=1),  # (n, maps, 56, 56)
        }
        for k, layers in enumerate(block_config, 1):
            parts[f"denseblock{k}"] = DenseBlock(layers, maps, growth_rate, drop_rate)
            maps += layers * growth_rate
            if k < len(block_config):
                parts[f"transition{k}"] = Transition(maps)
                maps //= 2
        parts["norm5"] = nn.BatchNorm2d(maps)
        self.features = nn.Sequential(parts)
        self.classifier = head(maps, num_classes)
        own(self).register_load_state_dict_pre_hook(_as_now)
        for layer in own(self).modules():
            if isinstance(layer, nn.Conv2d):
                init.kaiming_normal_(layer.weight)
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                init.zero_(layer.bias)

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        x = nn.relu(self.features(x))  # (n, maps, 7, 7)
        scores: Var = self.classifier(nn.adaptive_avg_pool2d(x, 1).flatten(1))  # (n, num_classes)
        return scores


def _as_now(_: nn.Module, state: dict[str, Any], __: str) -> None:
    """Files that torchvision has published say `norm.1` where the layer is called `norm1` now."""
    for key in list(state):
        state[re.sub(r"(denselayer\d+\.(?:norm|conv))\.(\d)", r"\1\2", key)] = state.pop(key)


densenet121 = variant("densenet121", DenseNet, "DenseNet-121", 7_978_856)
densenet161 = variant("densenet161", DenseNet, "DenseNet-161", 28_681_000, 48, (6, 12, 36, 24), 96)
densenet169 = variant("densenet169", DenseNet, "DenseNet-169", 14_149_480, 32, (6, 12, 32, 32))
densenet201 = variant("densenet201", DenseNet, "DenseNet-201", 20_013_928, 32, (6, 12, 48, 32))
