"""zoo: networks by name, as in timm. This file is a door: names only.

    jt.zoo.list_models("*resne*t*")                                 which are there
    net = jt.zoo.create_model("resnet34", num_classes=10)           one of them
    jt.zoo.model_card("resnet34")                                   what it is, at a glance
    net.reset_classifier(5)                                         with another last layer
    net = jt.zoo.create_model("resnet34", features_only=True)       its maps, for a detector

Every network has `forward_features(x)`, maps or tokens, and `forward_head(x, pre_logits=False)`, what is made of them;
`num_features` and `head_hidden_size`, how many features these have; `feature_info`, where maps are worth taking;
`get_classifier()` and `reset_classifier(num_classes, global_pool=None)`; and `pretrained_cfg`, how images are prepared.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.zoo import (
    backbones,
    convnext,
    data,
    efficientnet,
    layers,
    mlp_mixer,
    regnet,
    swin_transformer,
    vision_transformer,
)
from jt_edu.zoo.card import *
from jt_edu.zoo.factory import *
from jt_edu.zoo.features import *
from jt_edu.zoo.registry import *

__all__ = [
    "backbones", "convnext", "data", "efficientnet", "layers", "mlp_mixer", "regnet", "swin_transformer",
    "vision_transformer",
    *names_of("jt_edu.zoo", "card factory features registry"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.zoo", __all__)
