"""AlexNet: how far does a convolutional network come that is deep for its time?

    image 224 x 224
      | 11 x 11, stride 4, 64      large windows first: edges and colours
      | pool
      | 5 x 5, 192
      | pool
      | 3 x 3, 384                 then small ones, on maps that have become small
      | 3 x 3, 256
      | 3 x 3, 256
      | pool, to 6 x 6
      | 4096 - 4096 - classes      58.6 of the 61.1 million parameters are in these three layers

It made ReLU and dropout known. This is the version with one column of the later paper: the first paper has two columns
of half the width, since a network of 61 million parameters did not fit on one graphics card.

Source: Krizhevsky, Sutskever and Hinton 2012, "ImageNet classification with deep convolutional neural networks";
Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks" (arXiv:1404.5997).
"""

from __future__ import annotations

from jt_edu import nn
from jt_edu.models.weights import head, variant
from jt_edu.variable.var import Var


class AlexNet(nn.Module):
    """Five convolutions, three linear layers: (n, 3, h, w) -> (n, num_classes); h and w are 63 or more.

    Args:
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        dropout: how likely a feature is forgotten, in front of the first two linear layers, while training.

    Source: Krizhevsky 2014 (arXiv:1404.5997).

    Example:
        >>> net = AlexNet(num_classes=10)
        >>> [name for name, _ in net.named_parameters()][:3]
        ['features.0.weight', 'features.0.bias', 'features.3.weight']
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        self.features = nn.Sequential(  # (n, 3, 224, 224)
            nn.Conv2d(3, 64, 11, stride=4, padding=2),  # (n, 64, 55, 55)
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2),  # (n, 64, 27, 27)
            nn.Conv2d(64, 192, 5, padding=2),  # (n, 192, 27, 27)
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2),  # (n, 192, 13, 13)
            nn.Conv2d(192, 384, 3, padding=1),  # (n, 384, 13, 13)
            nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1),  # (n, 256, 13, 13)
            nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1),  # (n, 256, 13, 13)
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2),  # (n, 256, 6, 6)
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))  # images of other sizes come down to 6 x 6 as well
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            head(4096, num_classes),
        )

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        x = self.features(x)  # (n, 256, 6, 6)
        x = self.avgpool(x).flatten(1)  # (n, 9216)
        scores: Var = self.classifier(x)  # (n, num_classes)
        return scores


alexnet = variant("alexnet", AlexNet, "AlexNet", 61_100_840)
