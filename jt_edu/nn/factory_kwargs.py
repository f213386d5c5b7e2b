"""Factory kwargs: the `device` and the `dtype` that PyTorch's layers are made with.

    Linear(3, 2, dtype="float64")      the layer, and then `.cast("float64")`
    Linear(3, 2, device="cpu")         where everything is, unless a backend brings a device
    Linear(3, 2, biass=True)           Linear takes no argument biass. Try: bias.
    Linear(3)                          Linear(in_features, out_features, bias=True): missing a required argument: ...

`takes_placement` gives both words to a layer's `__init__`, so that no layer has to know them, and says which word was
meant. `in_its_name` does less: of arguments that do not fit, Python would say `_MaxPool.__init__`, where that was
written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from jt_edu.base.context import enable_grad
from jt_edu.base.own import own
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import must_fit, word_meant
from jt_edu.runtime.devices import CPU
from jt_edu.variable.torch_keywords import place

Init = TypeVar("Init", bound=Callable[..., None])


def takes_placement(init: Init) -> Init:
    """Let a layer be made on a device and with parameters of a float dtype.

    Example:
        >>> from jt_edu.nn import Linear
        >>> Linear(3, 2, dtype="float64", device="cpu").weight.dtype
        jt.float64
    """
    takes, made_of = inspect.signature(init), in_its_name(init)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in takes.parameters.values())

    @wraps(init)
    def made(self: Module, *args: Any, device: Any = None, dtype: Any = None, **named: Any) -> None:
        where = place(type(self).__name__, device)
        for wrong in [word for word in named if word not in takes.parameters and not takes_any]:
            way = word_meant(wrong, [*takes.parameters][1:])
            raise TypeError(f"{_takes(self, init)} takes no argument {wrong}. Try: {way}.")
        with enable_grad():  # parameters take part, wherever a layer is made
            made_of(self, *args, **named)
        if dtype is not None:
            own(self).cast(dtype)
        if where != CPU:
            own(self).to(where)

    words = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in ("device", "dtype")]
    made.__signature__ = takes.replace(parameters=[*takes.parameters.values(), *words])  # type: ignore[attr-defined]
    return made  # type: ignore[return-value]


def in_its_name(init: Init) -> Init:
    """Let an error about arguments name the layer that is made.

    Example:
        >>> jt.nn.MaxPool2d()
        Traceback (most recent call last):
        TypeError: MaxPool2d(kernel_size, stride=None, ...): missing a required argument: 'kernel_size'
    """

    @wraps(init)
    def made(self: Module, *args: Any, **named: Any) -> None:
        try:
            init(self, *args, **named)
        except TypeError:
            must_fit(_takes(self, init), inspect.signature(init), self, *args, **named)
            raise

    return made  # type: ignore[return-value]


def _takes(layer: Module, init: Init) -> str:
    """The name of the class that takes these arguments: that of the layer, or one whose `__init__` it calls."""
    kinds = type(layer).__mro__
    own = (kind for kind in kinds if inspect.unwrap(kind.__init__) is init)  # type: ignore[misc]
    return next(own, kinds[0]).__name__
