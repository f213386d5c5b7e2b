"""layers: of what are the networks of the zoo made, besides those of `jt.nn`? This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.nn.initializers import trunc_normal_
from jt_edu.zoo.layers.drop import *
from jt_edu.zoo.layers.gates import *
from jt_edu.zoo.layers.norm_act import *
from jt_edu.zoo.layers.pool import *
from jt_edu.zoo.layers.tokens import *

__all__ = ["trunc_normal_", *names_of("jt_edu.zoo.layers", "drop gates norm_act pool tokens")]
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.zoo.layers", __all__)
