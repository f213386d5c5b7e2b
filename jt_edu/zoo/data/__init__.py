"""zoo.data: photographs on their way into a network, as in timm. This file is a door: names only.

folder = jt.zoo.data.create_dataset("", "photos", split="train")
config = jt.zoo.data.resolve_data_config(model=net)
loader = jt.zoo.data.create_loader(folder, config["input_size"], 64, is_training=True, auto_augment="rand-m9")
mixup = jt.zoo.data.Mixup(mixup_alpha=0.2, num_classes=10)
for x, y in loader:
    x, y = mixup(x, y)
    loss = jt.nn.cross_entropy_loss(net(x), y)
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.zoo.data.auto_augment import *
from jt_edu.zoo.data.config import *
from jt_edu.zoo.data.dataset_factory import *
from jt_edu.zoo.data.loader import *
from jt_edu.zoo.data.mixup import *
from jt_edu.zoo.data.random_erasing import *
from jt_edu.zoo.data.sampler import *
from jt_edu.zoo.data.transforms_factory import *

__all__ = [
    *names_of(
        "jt_edu.zoo.data",
        "auto_augment config dataset_factory loader mixup random_erasing sampler transforms_factory",
    ),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.zoo.data", __all__)
