"""func: functions made of functions: gradients, Jacobians, batches, networks. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.func.functional_call import functional_call, stack_module_state
from jt_edu.func.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from jt_edu.func.vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "stack_module_state", "vjp", "vmap"]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.func", __all__)
