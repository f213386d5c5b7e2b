"""Digits CNN: how small can a network be that reads handwritten digits?

    image (in_chans, 8, 8) -- 16 filters -- 32 filters -- pool by 2 -- 64 filters -- mean over all places -- linear

Each filter sees 3 x 3 places, and is followed by batch norm and ReLU: 24,058 parameters. It learns the digits of
scikit-learn in some seconds, and is what `python -m jt_edu.zoo.train` trains unless it is told otherwise.

Source: LeCun et al. 1998, "Gradient-based learning applied to document recognition", in today's layers.
"""

from __future__ import annotations

from typing import Any

from jt_edu import nn
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import check_rates
from jt_edu.zoo.layers.pool import ClassifierHead
from jt_edu.zoo.network import LayerNet
from jt_edu.zoo.registry import PretrainedCfg, register_model

__all__ = ["DigitsCNN", "digits_cnn"]

default_cfgs = {
    "digits_cnn": PretrainedCfg(
        input_size=(1, 8, 8), num_classes=10, mean=(0.3053,), std=(0.376,), crop_pct=1.0, first_conv="conv1",
        classifier="head.fc",
    )
}  # fmt: skip


class DigitsCNN(LayerNet):
    """Three layers of filters and a linear one: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        in_chans: channels of the images.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        width: filters of the first layer.
        global_pool, drop_rate: as in `ClassifierHead`.

    Example:
        >>> net = DigitsCNN()
        >>> net(jt.ones(2, 1, 8, 8)).shape, net.forward_features(jt.ones(2, 1, 8, 8)).shape
        ((2, 10), (2, 64, 4, 4))
    """

    rows = "conv1 bn1 act1 conv2 bn2 act2 pool conv3 bn3 act3"

    def __init__(
        self, in_chans: int = 1, num_classes: int = 10, width: int = 16, global_pool: str = "avg",
        drop_rate: float = 0.0,
    ) -> None:  # fmt: skip
        check_rates("DigitsCNN", drop_rate=drop_rate)
        self.in_chans, self.num_classes = in_chans, num_classes
        self.num_features = self.head_hidden_size = 4 * width
        self.conv1, self.bn1 = nn.Conv(in_chans, width, 3, padding=1, bias=False), nn.BatchNorm(width)
        self.act1 = nn.ReLU()
        self.conv2, self.bn2 = nn.Conv(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm(2 * width)
        self.act2, self.pool = nn.ReLU(), nn.Pool(2, 2)
        self.conv3, self.bn3 = nn.Conv(2 * width, 4 * width, 3, padding=1, bias=False), nn.BatchNorm(4 * width)
        self.act3 = nn.ReLU()
        self.head = ClassifierHead(4 * width, num_classes, global_pool, drop_rate)
        channels = zip(("act1", "act2", "act3"), (1, 2, 4), (1, 1, 2), strict=True)
        self.feature_info = [{"num_chs": n * width, "reduction": r, "module": name} for name, n, r in channels]


@register_model
def digits_cnn(pretrained: bool = False, **settings: Any) -> Any:
    """DigitsCNN: 24,058 parameters.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("digits_cnn").parameters())
        24058
    """
    return build_model_with_cfg(DigitsCNN, "digits_cnn", pretrained, **settings)
