"""VGG: what if every window is 3 x 3, and there are many of them?

    two 3 x 3 in a row see 5 x 5, three see 7 x 7: with fewer weights, and a ReLU after each

    image 224 x 224
      | block 1    64 channels    VGG-11: 1 convolution     13: 2     16: 2     19: 2     then a pool halves the image
      | block 2   128                     1                     2         2         2
      | block 3   256                     2                     2         3         4
      | block 4   512                     2                     2         3         4
      | block 5   512                     2                     2         3         4
      | 4096 - 4096 - classes     (11 = 8 convolutions + these 3)

The name counts the layers that have weights. The names with `_bn` have a batch norm behind each convolution; it was not
known when the paper was written, and makes the deep ones much easier to train.

Source: Simonyan and Zisserman 2014, "Very deep convolutional networks for large-scale image recognition"
(arXiv:1409.1556), table 1: columns A, B, D and E.
"""

from __future__ import annotations

from collections.abc import Sequence

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.variable.var import Var

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]
CHANNELS = (64, 128, 256, 512, 512)  # of the five blocks
BLOCKS = {  # how many convolutions each of them has
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


class VGG(nn.Module):
    """Five blocks of 3 x 3 convolutions, three linear layers: (n, 3, h, w) -> (n, num_classes); h, w from 32 on.

    Args:
        blocks: how many convolutions each of the five blocks has.
        batch_norm: whether a batch norm follows each convolution.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        dropout: how likely a feature is forgotten, behind the first two linear layers, while training.

    Source: Simonyan and Zisserman 2014 (arXiv:1409.1556).

    Example:
        >>> [name for name, _ in VGG((1, 1, 1, 1, 1)).named_parameters()][::4]
        ['features.0.weight', 'features.6.weight', 'features.12.weight', 'classifier.3.weight']
    """

    def __init__(
        self, blocks: Sequence[int], batch_norm: bool = False, num_classes: int = 1000, dropout: float = 0.5
    ) -> None:
        self.features = nn.Sequential(convolutions(blocks, batch_norm))  # (n, 3, 224, 224) -> (n, 512, 7, 7)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))  # images of other sizes come to 7 x 7 as well
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Dropout(dropout),
            head(4096, num_classes),
        )
        for layer in own(self).modules():
            start(layer)

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        x = self.features(x)  # (n, 512, 7, 7)
        x = self.avgpool(x).flatten(1)  # (n, 25088)
        scores: Var = self.classifier(x)  # (n, num_classes)
        return scores


def convolutions(blocks: Sequence[int], batch_norm: bool) -> list[nn.Module]:
    """The layers in front of the linear ones, in a row."""
    layers: list[nn.Module] = []
    inputs = 3
    for outputs, count in zip(CHANNELS, blocks, strict=True):
        for _ in range(count):
            layers.append(nn.Conv2d(inputs, outputs, 3, padding=1))  # height and width stay
            layers += [nn.BatchNorm2d(outputs)] if batch_norm else []
            layers.append(nn.ReLU())
            inputs = outputs
        layers.append(nn.MaxPool2d(2))  # height and width halve
    return layers


def start(layer: nn.Module) -> None:
    """Normal weights: of a convolution so that the gradient keeps its size on the way back, of a linear layer small."""
    if isinstance(layer, nn.Conv2d):
        init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    if isinstance(layer, nn.Linear):
        init.gauss_(layer.weight, 0.0, 0.01)
    if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
        init.zero_(layer.bias)


vgg11 = variant("vgg11", VGG, "VGG-11", 132_863_336, BLOCKS[11])
vgg11_bn = variant("vgg11_bn", VGG, "VGG-11 with batch norm", 132_868_840, BLOCKS[11], batch_norm=True)
vgg13 = variant("vgg13", VGG, "VGG-13", 133_047_848, BLOCKS[13])
vgg13_bn = variant("vgg13_bn", VGG, "VGG-13 with batch norm", 133_053_736, BLOCKS[13], batch_norm=True)
vgg16 = variant("vgg16", VGG, "VGG-16", 138_357_544, BLOCKS[16])
vgg16_bn = variant("vgg16_bn", VGG, "VGG-16 with batch norm", 138_365_992, BLOCKS[16], batch_norm=True)
vgg19 = variant("vgg19", VGG, "VGG-19", 143_667_240, BLOCKS[19])
vgg19_bn = variant("vgg19_bn", VGG, "VGG-19 with batch norm", 143_678_248, BLOCKS[19], batch_norm=True)
