"""Custom: in which dtype does a Function with a gradient of its own compute, inside a region of autocast?

class Exp(jt.Function):
    @custom_fwd(cast_inputs="float32")
    def execute(self, x): ...            given float32, and nothing inside is cast
    @custom_bwd
    def grad(self, dout): ...            in the region that `execute` was in
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.dtypes import DType, as_dtype
from jt_edu.base.errors import GradientError
from jt_edu.ops.device import device as named
from jt_edu.variable.autocast import Region, inside, may_be_cast
from jt_edu.variable.pytree import is_structure, parts_of, rebuilt
from jt_edu.variable.var import Var, as_var

__all__ = ["custom_bwd", "custom_fwd"]


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str | None = None, cast_inputs: Any = None
) -> Callable[..., Any]:
    """Decorate `execute` of a Function: what holds inside it, if it is called in a region.

    Args:
        fwd: `execute`.
        device_type: the device of the region; without it, any.
        cast_inputs: the dtype that its Vars of float32 or halves become; nothing inside it is cast then. None: it is
            in the region, as any other function. Outside of a region nothing happens either way.

    Example:
        >>> class Root(jt.Function):
        ...     @jt.amp.custom_fwd(cast_inputs="float32")
        ...     def execute(self, x):
        ...         return jt.sqrt(x)
        >>> with jt.amp.autocast(), jt.no_grad():
        ...     x = jt.ones(1, 1) @ jt.ones(1, 1)
        ...     x.dtype, Root.apply(x).dtype
        (jt.bfloat16, jt.float32)
    """
    device = None if device_type is None else named(device_type).type
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    wanted = None if cast_inputs is None else as_dtype(cast_inputs)

    @wraps(fwd)
    def execute(self: Any, *args: Any, **named: Any) -> Any:
        region = current().threads.now.autocast
        if region and device:
            region = region.on(device)
        if wanted is None or region is None:
            self.region = region and Region(region.dtype, region.lists, None, False, region.device, region.others)
            return fwd(self, *args, **named)
        self.region = None
        with inside(None):
            return fwd(self, *cast_floats(args, wanted, doubles=False), **cast_floats(named, wanted, doubles=False))

    return execute


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str | None = None) -> Callable[..., Any]:
    """Decorate `grad` of a Function, so that it computes in the region that its `execute` was in.

    Without it a gradient computes in the dtypes that it is given: there are no regions in gradients.

    Args:
        bwd: `grad`.
        device_type: the device of the region; without it, any.

    Raises:
        GradientError: `execute` has no `custom_fwd`, which would have noted the region down.

    Example:
        >>> class Product(jt.Function):
        ...     @jt.amp.custom_fwd
        ...     def execute(self, x):
        ...         self.x = x
        ...         return x @ x
        ...     @jt.amp.custom_bwd
        ...     def grad(self, dout):
        ...         return dout @ self.x.T + self.x.T @ dout
        >>> w = jt.ones(2, 2)
        >>> with jt.amp.autocast():
        ...     y = Product.apply(w)
        >>> y.dtype, jt.grad(y.sum(), w).dtype
        (jt.bfloat16, jt.float32)
    """
    device = None if device_type is None else named(device_type).type
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def grad(self: Any, *douts: Any) -> Any:
        if "region" not in vars(self):
            found = f"{type(self).__name__}.execute without it"
            raise GradientError("custom_bwd goes with custom_fwd", found, "@jt.amp.custom_fwd above execute")
        with inside(self.region if self.region and self.region.on(device or self.region.device) else None):
            return bwd(self, *douts)

    return grad


def cast_floats(value: Any, to: DType, doubles: bool = True) -> Any:
    """The same structure with its real floats in another dtype, those of float64 only if `doubles` are to be cast too.

    Example:
        >>> cast_floats([jt.array(1.5), {"n": jt.array(2)}], jt.float16)
        [jt.Var(1.5, dtype=float16), {'n': jt.Var(2, dtype=int64)}]
        >>> cast_floats(jt.ones(1, dtype="float64"), jt.float16, doubles=False).dtype
        jt.float64
    """
    if isinstance(value, (Var, np.ndarray)):
        var = as_var(value)
        return var.cast(to) if var.dtype.kind == "f" and (doubles or may_be_cast(var)) else value
    if not is_structure(value):
        return value
    return rebuilt(value, [cast_floats(part, to, doubles) for part in parts_of(value)])
