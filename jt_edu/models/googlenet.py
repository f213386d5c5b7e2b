"""GoogLeNet: which size of window does a layer need? All of them.

    Inception    x --+-- 1 x 1 ------------------+--> side by side
                     +-- 1 x 1, few -- 3 x 3 ----+
                     +-- 1 x 1, few -- 5 x 5 ----+     (3 x 3 in torchvision's weights, and so here)
                     +-- 3 x 3 max pool -- 1 x 1 +

Windows of several sizes look at the same image. A 1 x 1 convolution in front of the large ones makes few maps, so that
nine modules, 22 layers, have a twelfth of AlexNet's parameters. While training, two small classifiers in the middle
have losses of their own: without batch norm, as in the paper, gradients would hardly have reached the first layers.

Source: Szegedy et al. 2015, "Going deeper with convolutions" (arXiv:1409.4842), table 1; batch norm as in torchvision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.weights import head, variant
from jt_edu.nn import init
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var

EPS = 0.001  # of batch norm; 1e-5 elsewhere
OURS, THEIRS = ((0.485, 0.229), (0.456, 0.224), (0.406, 0.225)), (0.5, 0.5)  # mean and deviation of channels


class BasicConv2d(nn.Module):
    """Convolution, batch norm and ReLU; `settings` are those of the convolution.

    Example:
        >>> BasicConv2d(3, 4, kernel_size=3, padding=1)(jt.ones(1, 3, 5, 5)).shape
        (1, 4, 5, 5)
    """

    def __init__(self, inputs: int, outputs: int, **settings: Any) -> None:
        self.conv = nn.Conv2d(inputs, outputs, bias=False, **settings)
        self.bn = nn.BatchNorm2d(outputs, eps=EPS)

    def execute(self, x: Var) -> Var:
        """A few maps of windows."""
        return nn.relu(self.bn(self.conv(x)))


class Inception(nn.Module):
    """Windows of several sizes: (n, inputs, h, w) -> (n, sum of the maps, h, w).

    Args:
        inputs: maps that come in.
        one: maps of the 1 x 1.
        before3, three: of the 3 x 3, in front of it and behind.
        before5, five: of the larger window.
        pool: behind the max pool.

    Example:
        >>> Inception(6, 1, 2, 3, 2, 4, 5)(jt.ones(1, 6, 5, 5)).shape
        (1, 13, 5, 5)
    """

    def __init__(self, inputs: int, one: int, before3: int, three: int, before5: int, five: int, pool: int) -> None:
        self.branch1 = BasicConv2d(inputs, one, kernel_size=1)
        self.branch2 = nn.Sequential(
            BasicConv2d(inputs, before3, kernel_size=1), BasicConv2d(before3, three, kernel_size=3, padding=1)
        )
        self.branch3 = nn.Sequential(
            BasicConv2d(inputs, before5, kernel_size=1), BasicConv2d(before5, five, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=True), BasicConv2d(inputs, pool, kernel_size=1)
        )

    def execute(self, x: Var) -> Var:
        """All branches, side by side."""
        return concat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A small classifier for the middle: (n, inputs, h, w) -> (n, num_classes).

    Example:
        >>> InceptionAux(6, 10)(jt.ones(1, 6, 14, 14)).shape
        (1, 10)
    """

    def __init__(self, inputs: int, num_classes: int, dropout: float = 0.7) -> None:
        self.conv = BasicConv2d(inputs, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(dropout)

    def execute(self, x: Var) -> Var:
        """Scores, from 4 x 4 places."""
        x = self.conv(nn.adaptive_avg_pool2d(x, 4)).flatten(1)  # (n, 2048)
        scores: Var = self.fc2(self.dropout(nn.relu(self.fc1(x))))
        return scores


class GoogLeNetOutputs(NamedTuple):
    """Scores while training: of the network, and of the small classifiers, the later one first.

    Example:
        >>> GoogLeNet(num_classes=10)(jt.ones(1, 3, 64, 64))._fields
        ('logits', 'aux_logits2', 'aux_logits1')
    """

    logits: Var
    aux_logits2: Var | None
    aux_logits1: Var | None


class GoogLeNet(nn.Module):
    """Nine Inception modules: (n, 3, h, w) -> (n, num_classes); while training a `GoogLeNetOutputs`.

    Args:
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        aux_logits: whether there are small classifiers in the middle.
        transform_input: take images that are normalized as for other networks, and scale them as torchvision's
            published weights want them.
        dropout: how likely a feature is forgotten in front of the linear layer, while training.
        dropout_aux: the same in the small classifiers.

    Source: Szegedy et al. 2015 (arXiv:1409.4842).

    Example:
        >>> net = GoogLeNet(num_classes=10, aux_logits=False)
        >>> net(jt.ones(1, 3, 64, 64))[0].shape
        (1, 10)
    """

    def __init__(
        self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False, dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:  # fmt: skip
        self.transform_input = transform_input
        self.conv1 = BasicConv2d(3, 64, kernel_size=7, stride=2, padding=3)
        self.conv2 = BasicConv2d(64, 64, kernel_size=1)
        self.conv3 = BasicConv2d(64, 192, kernel_size=3, padding=1)
        # maps of: x, 1 x 1, 3 x 3 (before, after), 5 x 5 (before, after), behind the pool
        self.inception3a = Inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = Inception(256, 128, 128, 192, 32, 96, 64)
        self.inception4a = Inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = Inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = Inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = Inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = Inception(528, 256, 160, 320, 32, 128, 128)
        self.inception5a = Inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = Inception(832, 384, 192, 384, 48, 128, 128)
        self.aux1 = InceptionAux(512, num_classes, dropout_aux) if aux_logits and num_classes else None
        self.aux2 = InceptionAux(528, num_classes, dropout_aux) if aux_logits and num_classes else None
        self.dropout = nn.Dropout(dropout)
        self.fc = head(1024, num_classes)
        for layer in own(self).modules():
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                init.trunc_normal_(layer.weight, std=0.01, a=-2.0, b=2.0)

    def execute(self, x: Var) -> Any:
        """Scores of images."""
        x = rescaled(x) if self.transform_input else x
        x = half(self.conv1(x))  # (n, 64, 56, 56)
        x = half(self.conv3(self.conv2(x)))  # (n, 192, 28, 28)
        x = half(self.inception3b(self.inception3a(x)))  # (n, 480, 14, 14)
        early = self.inception4a(x)  # (n, 512, 14, 14)
        late = self.inception4d(self.inception4c(self.inception4b(early)))  # (n, 528, 14, 14)
        x = half(self.inception4e(late), 2)  # (n, 832, 7, 7)
        x = self.inception5b(self.inception5a(x))  # (n, 1024, 7, 7)
        scores = self.fc(self.dropout(nn.adaptive_avg_pool2d(x, 1).flatten(1)))  # (n, num_classes)
        if not self.is_train:
            return scores
        if self.aux1 is None or self.aux2 is None:
            return GoogLeNetOutputs(scores, None, None)
        return GoogLeNetOutputs(scores, self.aux2(late), self.aux1(early))


def half(x: Var, window: int = 3) -> Var:
    """Half as large, rounded up: (n, c, h, w) -> (n, c, h / 2, w / 2)."""
    y: Var = nn.max_pool2d(x, window, stride=2, ceil_mode=True)
    return y


def rescaled(x: Var) -> Var:
    """Images normalized by the channels' own means and deviations, as if by 0.5 and 0.5: (n, 3, h, w)."""
    mean, deviation = THEIRS
    parts = [x[:, k : k + 1] * (d / deviation) + (m - mean) / deviation for k, (m, d) in enumerate(OURS)]
    return concat(parts, 1)


googlenet = variant("googlenet", GoogLeNet, "GoogLeNet", 13_004_888)
