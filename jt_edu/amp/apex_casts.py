"""Apex casts: where do dtypes change around a model, and around a function of one's own?

O2, O3   model(x)      x becomes float16, what comes out float32; batch norm keeps its float32 numbers
O1       a function that `half_function` decorates, or that is registered, casts what it is given
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from jt_edu.amp.custom import cast_floats
from jt_edu.base.context import current
from jt_edu.base.dtypes import DType
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.base.own import own
from jt_edu.nn.batch_norm import BatchNorm
from jt_edu.nn.module import Module
from jt_edu.variable.autocast import inside

__all__ = ["disable_casts", "float_function", "half_function", "promote_function", "register_float_function",
           "register_half_function", "register_promote_function"]  # fmt: skip

# models


def check_float32(model: Module) -> None:
    """A model is given as it is; what casts it is the level.

    Raises:
        DtypeError: some of it is cast already.
    """
    for name, p in own(model).named_parameters():
        if p.dtype.is_half:
            raise DtypeError("amp.initialize takes models in float32", f"{name} of dtype {p.dtype}",
                             "no half() before it")  # fmt: skip


def cast_model(model: Module, dtype: DType | None, outputs: DType | None, keep_batchnorm: bool | None) -> None:
    """Cast parameters, float buffers and what the model is given to one dtype, and what it returns to another.

    Parameters are cast in place; those of batch norm only if they are not to be kept.
    """
    mine = own(model)
    if dtype is not None:
        norms = [own(m) for m in mine.modules() if keep_batchnorm and isinstance(m, BatchNorm)]
        kept = [(v, v.node) for m in norms for v in (*m.parameters(), *m.buffers())]
        mine.cast(dtype)
        for v, node in kept:
            v.node = node
        mine.register_forward_pre_hook(
            lambda _, args, named: (cast_floats(args, dtype), cast_floats(named, dtype)), with_kwargs=True
        )
    if outputs is not None:
        mine.register_forward_hook(lambda _, args, out: cast_floats(out, outputs))


# functions


def half_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: where operators cast, the function is given the lower dtype.

    Example:
        >>> twice = half_function(lambda x: x * 2)
        >>> with jt.amp.autocast(dtype="float16"):
        ...     twice(jt.ones(1)).dtype
        jt.float16
    """
    return _casting(function, "lower")


def float_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: where operators cast, the function is given float32.

    Example:
        >>> twice = float_function(lambda x: x * 2)
        >>> with jt.amp.autocast():
        ...     twice(jt.ones(1).half()).dtype
        jt.float32
    """
    return _casting(function, "float32")


def promote_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: where operators cast, the function is given the widest dtype among its arguments.

    Example:
        >>> first = promote_function(lambda x, y: x)
        >>> with jt.amp.autocast():
        ...     first(jt.ones(1).half(), jt.ones(1)).dtype
        jt.float32
    """
    return _casting(function, "widest")


def _casting(function: Callable[..., Any], rule: str) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        region = current().threads.now.autocast
        if region is not None:
            args, named = region.by_rule(function.__name__, rule, args, named)
        return function(*args, **named)

    return call


def register_half_function(module: Any, name: str) -> None:
    """Let a function of a module, or a method of a class, be one that `half_function` decorates.

    Args:
        module: where it stands.
        name: its name there.

    Raises:
        ArgumentError: there is none.

    Example:
        >>> class Tools:
        ...     def twice(x): return x * 2
        >>> register_half_function(Tools, "twice")
        >>> with jt.amp.autocast(dtype="float16"):
        ...     Tools.twice(jt.ones(1)).dtype
        jt.float16
    """
    _register(module, name, half_function)


def register_float_function(module: Any, name: str) -> None:
    """The same for `float_function`.

    Args:
        module: where it stands.
        name: its name there.

    Example:
        >>> class Tools:
        ...     def twice(x): return x * 2
        >>> register_float_function(Tools, "twice")
        >>> with jt.amp.autocast():
        ...     Tools.twice(jt.ones(1).half()).dtype
        jt.float32
    """
    _register(module, name, float_function)


def register_promote_function(module: Any, name: str) -> None:
    """The same for `promote_function`.

    Args:
        module: where it stands.
        name: its name there.

    Example:
        >>> class Tools:
        ...     def first(x, y): return x
        >>> register_promote_function(Tools, "first")
        >>> with jt.amp.autocast():
        ...     Tools.first(jt.ones(1).half(), jt.ones(1)).dtype
        jt.float32
    """
    _register(module, name, promote_function)


def _register(module: Any, name: str, decorator: Callable[..., Any]) -> None:
    if not callable(getattr(module, name, None)):
        raise ArgumentError("a function is registered by its name", f"no function {name!r} in {module!r}", "dir(...)")
    setattr(module, name, decorator(getattr(module, name)))


def disable_casts() -> AbstractContextManager[None]:
    """Inside, operators cast nothing.

    Example:
        >>> with jt.amp.autocast(), disable_casts():
        ...     jt.amp.is_autocast_enabled()
        False
    """
    return inside(None)
