"""init: how parameters start. This file is a door: names only.

Names that end in an underscore fill a Var that is there; the others make one of a shape, or say how wide to draw.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.nn.initializers import (
    calculate_gain,
    constant_,
    fans,
    gauss_,
    kaiming_normal_,
    kaiming_uniform_,
    normal_,
    one_,
    ones_,
    trunc_normal_,
    uniform_,
    xavier_gauss_,
    xavier_normal_,
    xavier_uniform_,
    zero_,
    zeros_,
)
from jt_edu.nn.jittor_init import (
    constant,
    eye,
    gauss,
    invariant_uniform,
    kaiming_normal,
    kaiming_uniform,
    one,
    relu_invariant_gauss,
    uniform,
    xavier_gauss,
    xavier_uniform,
    zero,
)
from jt_edu.nn.structured_init import dirac_, eye_, orthogonal_, sparse_

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac_",
    "eye",
    "eye_",
    "fans",
    "gauss",
    "gauss_",
    "invariant_uniform",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal_",
    "one",
    "one_",
    "ones_",
    "orthogonal_",
    "relu_invariant_gauss",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_gauss",
    "xavier_gauss_",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zero",
    "zero_",
    "zeros_",
]

if not TYPE_CHECKING:
    __path__: list[str] = []  # so that `from ... import` of a name that is not here is told of (base/module_aliases.py)
    __getattr__, __dir__ = door("jt.nn.init", __all__)
