"""autograd: what PyTorch has under this name. This file is a door: names only; the engine is `variable/autograd.py`."""

from typing import TYPE_CHECKING

from jt_edu.base.context import enable_grad, no_grad
from jt_edu.base.did_you_mean import door
from jt_edu.ops.gradient import Function, grad
from jt_edu.variable.var import Var as Variable

__all__ = ["Function", "Variable", "enable_grad", "grad", "no_grad"]

if not TYPE_CHECKING:
    __path__: list[str] = []  # modules of PyTorch's are imported from here (base/module_aliases.py)
    _above = {"functional": "jt_edu.func.functional"}
    __getattr__, __dir__ = door("jt.autograd", __all__, {"jt": ["grad", "vjp"]}, _above)
