"""init: how parameters start. This file is a door: names only.

Names that end in an underscore fill a Var that is there; the others make one of a shape, or say how wide to draw.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.nn.initializers import *
from jt_edu.nn.jittor_init import *
from jt_edu.nn.structured_init import *

__all__ = [*names_of("jt_edu.nn", "initializers jittor_init structured_init")]
__all__.sort()

if not TYPE_CHECKING:
    __path__: list[str] = []  # so that `from ... import` of a name that is not here is told of (base/module_aliases.py)
    __getattr__, __dir__ = door("jt.nn.init", __all__)
