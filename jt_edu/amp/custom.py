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

from jt_edu.base.context import current
from jt_edu.base.dtypes import as_dtype
from jt_edu.base.errors import GradientError
from jt_edu.variable.autocast import Region, cast_floats, inside
from jt_edu.variable.torch_keywords import on_cpu

__all__ = ["custom_bwd", "custom_fwd"]


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str = "cpu", cast_inputs: Any = None
) -> Callable[..., Any]:
    """Decorate `execute` of a Function: what holds inside it, if it is called in a region.

    Args:
        fwd: `execute`.
        device_type: "cpu".
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
    on_cpu("custom_fwd", device_type)
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    wanted = None if cast_inputs is None else as_dtype(cast_inputs)

    @wraps(fwd)
    def execute(self: Any, *args: Any, **named: Any) -> Any:
        region = current().threads.now.autocast
        if wanted is None or region is None:
            self.region = region and Region(region.dtype, region.lists, keeps=False)
            return fwd(self, *args, **named)
        self.region = None
        with inside(None):
            return fwd(self, *cast_floats(args, wanted, doubles=False), **cast_floats(named, wanted, doubles=False))

    return execute


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cpu") -> Callable[..., Any]:
    """Decorate `grad` of a Function, so that it computes in the region that its `execute` was in.

    Without it a gradient computes in the dtypes that it is given: there are no regions in gradients.

    Args:
        bwd: `grad`.
        device_type: "cpu".

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
    on_cpu("custom_bwd", device_type)
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def grad(self: Any, *douts: Any) -> Any:
        if "region" not in vars(self):
            found = f"{type(self).__name__}.execute without it"
            raise GradientError("custom_bwd goes with custom_fwd", found, "@jt.amp.custom_fwd above execute")
        with inside(self.region):
            return bwd(self, *douts)

    return grad
