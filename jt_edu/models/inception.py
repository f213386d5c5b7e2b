"""Inception v3: how small can the parts of a large window be?

    5 x 5  ->  3 x 3, 3 x 3             18 weights instead of 25 see as much
    7 x 7  ->  1 x 7, 7 x 1             14 instead of 49
    3 x 3  ->  1 x 3 beside 3 x 1       where there are 2048 maps

Modules as in `googlenet`, with large windows written in these ways; B and D halve the image by a convolution beside a
pool, so that nothing is lost in a narrow place.

    image 299 x 299         maps    size        modules
      | 3 x 3 ... 3 x 3      192     35 x 35
      | A                    288     35 x 35     3
      | B, C                 768     17 x 17     1, 4      while training: a small classifier
      | D, E                2048      8 x 8      1, 2
      | mean of each map; linear

Source: Szegedy et al. 2016, "Rethinking the Inception architecture for computer vision" (arXiv:1512.00567).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.googlenet import BasicConv2d, rescaled
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var

WIDE: dict[str, Any] = {"kernel_size": (1, 7), "padding": (0, 3)}
HIGH: dict[str, Any] = {"kernel_size": (7, 1), "padding": (3, 0)}
ROW: dict[str, Any] = {"kernel_size": (1, 3), "padding": (0, 1)}
COLUMN: dict[str, Any] = {"kernel_size": (3, 1), "padding": (1, 0)}
SQUARE: dict[str, Any] = {"kernel_size": 3, "padding": 1}
HALF: dict[str, Any] = {"kernel_size": 3, "stride": 2}
POINT: dict[str, Any] = {"kernel_size": 1}


def mean(x: Var) -> Var:
    """The mean of nine places: (n, c, h, w) -> (n, c, h, w)."""
    y: Var = nn.avg_pool2d(x, 3, stride=1, padding=1)
    return y


class InceptionA(nn.Module):
    """5 x 5, and 3 x 3 twice: (n, inputs, h, w) -> (n, 224 + pool, h, w).

    Example:
        >>> InceptionA(6, 4)(jt.ones(1, 6, 5, 5)).shape
        (1, 228, 5, 5)
    """

    def __init__(self, inputs: int, pool: int) -> None:
        self.branch1x1 = BasicConv2d(inputs, 64, **POINT)
        self.branch5x5_1 = BasicConv2d(inputs, 48, **POINT)
        self.branch5x5_2 = BasicConv2d(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = BasicConv2d(inputs, 64, **POINT)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, **SQUARE)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, **SQUARE)
        self.branch_pool = BasicConv2d(inputs, pool, **POINT)

    def execute(self, x: Var) -> Var:
        """All branches, side by side."""
        five = self.branch5x5_2(self.branch5x5_1(x))
        twice = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return concat([self.branch1x1(x), five, twice, self.branch_pool(mean(x))], 1)


class InceptionB(nn.Module):
    """Half as large: (n, inputs, h, w) -> (n, 480 + inputs, h / 2, w / 2).

    Example:
        >>> InceptionB(6)(jt.ones(1, 6, 5, 5)).shape
        (1, 486, 2, 2)
    """

    def __init__(self, inputs: int) -> None:
        self.branch3x3 = BasicConv2d(inputs, 384, **HALF)
        self.branch3x3dbl_1 = BasicConv2d(inputs, 64, **POINT)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, **SQUARE)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, **HALF)

    def execute(self, x: Var) -> Var:
        """Convolutions beside a pool."""
        twice = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return concat([self.branch3x3(x), twice, nn.max_pool2d(x, 3, stride=2)], 1)


class InceptionC(nn.Module):
    """7 x 7, written as 1 x 7 and 7 x 1: (n, inputs, h, w) -> (n, 768, h, w).

    Example:
        >>> InceptionC(6, 4)(jt.ones(1, 6, 5, 5)).shape
        (1, 768, 5, 5)
    """

    def __init__(self, inputs: int, inside: int) -> None:
        self.branch1x1 = BasicConv2d(inputs, 192, **POINT)
        self.branch7x7_1 = BasicConv2d(inputs, inside, **POINT)
        self.branch7x7_2 = BasicConv2d(inside, inside, **WIDE)
        self.branch7x7_3 = BasicConv2d(inside, 192, **HIGH)
        self.branch7x7dbl_1 = BasicConv2d(inputs, inside, **POINT)
        self.branch7x7dbl_2 = BasicConv2d(inside, inside, **HIGH)
        self.branch7x7dbl_3 = BasicConv2d(inside, inside, **WIDE)
        self.branch7x7dbl_4 = BasicConv2d(inside, inside, **HIGH)
        self.branch7x7dbl_5 = BasicConv2d(inside, 192, **WIDE)
        self.branch_pool = BasicConv2d(inputs, 192, **POINT)

    def execute(self, x: Var) -> Var:
        """All branches, side by side."""
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        twice = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        twice = self.branch7x7dbl_5(self.branch7x7dbl_4(twice))
        return concat([self.branch1x1(x), seven, twice, self.branch_pool(mean(x))], 1)


class InceptionD(nn.Module):
    """Half as large: (n, inputs, h, w) -> (n, 512 + inputs, h / 2, w / 2).

    Example:
        >>> InceptionD(6)(jt.ones(1, 6, 5, 5)).shape
        (1, 518, 2, 2)
    """

    def __init__(self, inputs: int) -> None:
        self.branch3x3_1 = BasicConv2d(inputs, 192, **POINT)
        self.branch3x3_2 = BasicConv2d(192, 320, **HALF)
        self.branch7x7x3_1 = BasicConv2d(inputs, 192, **POINT)
        self.branch7x7x3_2 = BasicConv2d(192, 192, **WIDE)
        self.branch7x7x3_3 = BasicConv2d(192, 192, **HIGH)
        self.branch7x7x3_4 = BasicConv2d(192, 192, **HALF)

    def execute(self, x: Var) -> Var:
        """Convolutions beside a pool."""
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_4(self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x))))
        return concat([three, seven, nn.max_pool2d(x, 3, stride=2)], 1)


class InceptionE(nn.Module):
    """1 x 3 beside 3 x 1: (n, inputs, h, w) -> (n, 2048, h, w).

    Example:
        >>> InceptionE(6)(jt.ones(1, 6, 3, 3)).shape
        (1, 2048, 3, 3)
    """

    def __init__(self, inputs: int) -> None:
        self.branch1x1 = BasicConv2d(inputs, 320, **POINT)
        self.branch3x3_1 = BasicConv2d(inputs, 384, **POINT)
        self.branch3x3_2a = BasicConv2d(384, 384, **ROW)
        self.branch3x3_2b = BasicConv2d(384, 384, **COLUMN)
        self.branch3x3dbl_1 = BasicConv2d(inputs, 448, **POINT)
        self.branch3x3dbl_2 = BasicConv2d(448, 384, **SQUARE)
        self.branch3x3dbl_3a = BasicConv2d(384, 384, **ROW)
        self.branch3x3dbl_3b = BasicConv2d(384, 384, **COLUMN)
        self.branch_pool = BasicConv2d(inputs, 192, **POINT)

    def execute(self, x: Var) -> Var:
        """All branches, side by side."""
        three = self.branch3x3_1(x)
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        split = [self.branch3x3_2a(three), self.branch3x3_2b(three)]
        split += [self.branch3x3dbl_3a(twice), self.branch3x3dbl_3b(twice)]
        return concat([self.branch1x1(x), *split, self.branch_pool(mean(x))], 1)


class InceptionAux(nn.Module):
    """A small classifier for the middle: (n, inputs, 17, 17) -> (n, num_classes).

    Example:
        >>> InceptionAux(6, 10)(jt.ones(2, 6, 17, 17)).shape
        (2, 10)
    """

    def __init__(self, inputs: int, num_classes: int) -> None:
        self.conv0 = BasicConv2d(inputs, 128, **POINT)
        self.conv1 = BasicConv2d(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)

    def execute(self, x: Var) -> Var:
        """Scores, from 5 x 5 places."""
        x = self.conv1(self.conv0(nn.avg_pool2d(x, 5, stride=3)))  # (n, 768, 1, 1)
        scores: Var = self.fc(nn.adaptive_avg_pool2d(x, 1).flatten(1))
        return scores


class InceptionOutputs(NamedTuple):
    """Scores while training: of the network, and of the small classifier.

    Example:
        >>> InceptionOutputs._fields
        ('logits', 'aux_logits')
    """

    logits: Var
    aux_logits: Var | None


class Inception3(nn.Module):
    """Eleven modules: (n, 3, h, w), h and w at least 75 -> (n, num_classes); while training an `InceptionOutputs`.

    Args:
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        aux_logits: whether there is a small classifier in the middle.
        transform_input: take images that are normalized as for other networks, and scale them as torchvision's
            published weights want them.
        dropout: how likely a feature is forgotten in front of the linear layer, while training.

    Source: Szegedy et al. 2016 (arXiv:1512.00567).

    Example:
        >>> sum(p.size for p in Inception3(aux_logits=False).parameters())
        23834568
    """

    def __init__(
        self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False, dropout: float = 0.5
    ) -> None:
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = BasicConv2d(3, 32, **HALF)
        self.Conv2d_2a_3x3 = BasicConv2d(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = BasicConv2d(32, 64, **SQUARE)
        self.Conv2d_3b_1x1 = BasicConv2d(64, 80, **POINT)
        self.Conv2d_4a_3x3 = BasicConv2d(80, 192, kernel_size=3)
        self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = InceptionA(192, 32), InceptionA(256, 64), InceptionA(288, 64)
        self.Mixed_6a = InceptionB(288)
        self.Mixed_6b, self.Mixed_6c = InceptionC(768, 128), InceptionC(768, 160)
        self.Mixed_6d, self.Mixed_6e = InceptionC(768, 160), InceptionC(768, 192)
        self.AuxLogits = InceptionAux(768, num_classes) if aux_logits and num_classes else None
        self.Mixed_7a = InceptionD(768)
        self.Mixed_7b, self.Mixed_7c = InceptionE(1280), InceptionE(2048)
        self.dropout = nn.Dropout(dropout)
        self.fc = head(2048, num_classes)
        for layer in own(self).modules():
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                init.trunc_normal_(layer.weight, std=0.1, a=-2.0, b=2.0)
        if self.AuxLogits is not None:
            init.trunc_normal_(self.AuxLogits.conv1.conv.weight, std=0.01, a=-2.0, b=2.0)
            init.trunc_normal_(self.AuxLogits.fc.weight, std=0.001, a=-2.0, b=2.0)

    def execute(self, x: Var) -> Any:
        """Scores of images."""
        x = rescaled(x) if self.transform_input else x
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))  # (n, 64, 147, 147)
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(nn.max_pool2d(x, 3, stride=2)))  # (n, 192, 71, 71)
        x = nn.max_pool2d(x, 3, stride=2)  # (n, 192, 35, 35)
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))  # (n, 288, 35, 35)
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))  # (n, 768, 17, 17)
        middle = x
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))  # (n, 2048, 8, 8)
        scores = self.fc(self.dropout(nn.adaptive_avg_pool2d(x, 1)).flatten(1))  # (n, num_classes)
        if not self.is_train:
            return scores
        return InceptionOutputs(scores, None if self.AuxLogits is None else self.AuxLogits(middle))


inception_v3 = variant("inception_v3", Inception3, "Inception v3", 27_161_264)
