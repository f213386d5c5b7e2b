"""transform: images changed on their way from file to batch. This file is a door: names only.

What is an image? Two kinds, told apart by their dtype:

    pixels    NumPy uint8, (h, w) or (h, w, c) with c from 1 to 4: as files hold them, and Pillow's images
    planes    all else, Vars or NumPy arrays: (..., c, h, w)

`ToTensor` makes planes of pixels. A transform gives back what it was given: pixels, an array, a Var. Arrays are changed
by NumPy, which needs no compiler in a worker process; Vars by nodes of the graph. Numbers are drawn from NumPy's
generator, which `jt.set_global_seed` seeds, and which a loader seeds for each batch.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.data.transform.affine import RandomAffine, RandomRotation
from jt_edu.data.transform.auto_augment import *
from jt_edu.data.transform.base import Transform
from jt_edu.data.transform.blur import GaussianBlur
from jt_edu.data.transform.color import *
from jt_edu.data.transform.compose import *
from jt_edu.data.transform.geometry import *
from jt_edu.data.transform.normalize import *
from jt_edu.data.transform.operators import *

__all__ = [
    "GaussianBlur", "RandomAffine", "RandomRotation", "Transform",
    *names_of("jt_edu.data.transform", "auto_augment color compose geometry normalize operators"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.data.transform", __all__)
