"""Torch keywords: the words of PyTorch and of the array API standard for a Var that is made.

    zeros(3, device="cpu")           where everything is, unless a backend brings a device (runtime/devices.py)
    zeros(3, requires_grad=False)    the Var, and then `.requires_grad = False`
    zeros(3, dtype=None)             zeros(3), in the dtype that it has without being told
    zeros(shape=(2, 3))              zeros(2, 3), as zeros(size=(2, 3)); arguments of others have two names as well

`makes` gives these words to a function, so that no function has to know them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from jt_edu import backends
from jt_edu.base.context import current
from jt_edu.base.dtypes import ALIASES, DTYPES, as_dtype
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import lies_as_kernels_read, shared_source, short
from jt_edu.runtime.devices import CPU, CUDA, chosen, device_named, device_of, is_there, put
from jt_edu.runtime.execute import run

Function = TypeVar("Function", bound=Callable[..., Any])
Made = TypeVar("Made")
NAMES = {"size": "shape", "value": "fill_value", "end": "stop", "steps": "num"}  # another name -> ours
ROWS = {"N": "n", "M": "m", "n_rows": "n", "n_cols": "m"}  # the same, of matrices
DEVICES = ("cpu", "cuda", "gpu", "mps", "xpu")  # words that name one, anywhere


def makes(function: Function) -> Function:
    """Let a function that makes a Var take the words of others. The signature shows what `shown` makes of its own.

    Example:
        >>> zeros(size=(2,), device="cpu", requires_grad=False).requires_grad
        False
        >>> linspace(0, 1, num=2, dtype=None).dtype
        jt.float32
    """
    own = inspect.signature(function).parameters
    spreads = next((p.name for p in own.values() if p.kind is p.VAR_POSITIONAL), "")  # zeros(*shape)
    meant = {word: name for word, name in {**NAMES, **ROWS}.items() if name in own and word not in own and not spreads}
    by_place = [] if spreads else [*own]
    at = by_place.index("dtype") if "dtype" in by_place else len(own)

    @wraps(function)
    def made(*args: Any, **named: Any) -> Any:
        if len(args) > at and args[at] is None:
            args = (*args[:at], own["dtype"].default, *args[at + 1 :])
        if not named:
            return function(*args)
        device, wish = named.pop("device", None), named.pop("requires_grad", None)
        if "dtype" in named and named["dtype"] is None:
            del named["dtype"]
        for word in ("size", "shape"):
            if spreads and not args and word in named:
                args = (named.pop(word),)
        for word in meant.keys() & named:
            name = meant[word]
            if name in named or name in by_place[: len(args)]:
                raise ArgumentError(f"{function.__name__} takes {name} once", f"{word}={short(named[word])} as well")
            named[name] = named.pop(word)
        var = function(*args, **named)
        mine = wish is None or all(var is not given for given in (*args, *named.values()))
        return as_asked(function.__name__, var if mine else var.clone(), device, wish)

    words = {word: name for word, name in meant.items() if word in NAMES}
    return shown(made, function, words, first="shape" if spreads else "", also=("device",))


def shown(
    call: Callable[..., Any], function: Function, words: dict[str, str], first: str = "", also: Sequence[str] = ()
) -> Function:
    """`call`, which wraps a function, and whose signature shows that its arguments have other names as well.

    Args:
        call: what is called.
        function: what it wraps.
        words: another name -> the name in the signature of the function.
        first: what `*lengths` may be written as: a tuple under this name, or one by one.
        also: arguments that the wrapper takes away.

    Example:
        >>> inspect.signature(shown(lambda *args, **named: 0, lambda x, dim=None: x, {"axis": "dim"}))
        <Signature (x, dim=None, *, axis=None)>
    """
    own = inspect.signature(function)
    kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    rest = [p for p in own.parameters.values() if p.kind is p.VAR_KEYWORD]
    for at, p in enumerate(kept):
        if p.kind is p.VAR_POSITIONAL and first:
            one = p.replace(name=first, kind=p.POSITIONAL_OR_KEYWORD, default=None)
            kept[at : at + 1] = one, p.replace(name="lengths" if p.name == first else p.name)
            break
    said = {p.name for p in kept}
    more = [_named_too(own.parameters[name], word) for word, name in words.items() if word not in said]
    more += [inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=None) for word in also if word not in said]
    call.__signature__ = own.replace(parameters=[*kept, *more, *rest])  # type: ignore[attr-defined]
    call.other_words = {**words, **dict.fromkeys((first, *also), "")}  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def _named_too(parameter: inspect.Parameter, word: str) -> inspect.Parameter:
    """An argument under another name; one that is needed may be left out under it."""
    spare = None if parameter.default is parameter.empty else parameter.default
    return parameter.replace(name=word, kind=parameter.KEYWORD_ONLY, default=spare)


def spread(*words: str) -> Callable[[Function], Function]:
    """Let what a function takes one by one, or in a tuple, be given by name as well: by any of these words.

    Example:
        >>> @spread("shape", "size")
        ... def volume(x, *lengths):
        ...     return lengths
        >>> volume(0, shape=(2, 3)), volume(0, size=2), volume(0, 4)
        ((2, 3), (2,), (4,))
    """

    def named(function: Function) -> Function:
        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if not named:
                return function(*args)
            found = [word for word in words if word in named]
            if found and (len(args) > 1 or len(found) > 1):
                said = ", ".join(f"{word}={short(named[word])}" for word in found)
                raise ArgumentError(f"{function.__name__} takes {words[0]} once", f"{short(args[1:])} and {said}")
            if found:
                value = named.pop(found[0])
                args = (*args, *value) if isinstance(value, (tuple, list)) else (*args, value)
            return function(*args, **named)

        spreads = next(p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_POSITIONAL)
        return shown(call, function, dict.fromkeys(words[:2], spreads), first=words[0])

    return named


def as_asked(function: str, var: Made, device: Any, requires_grad: bool | None) -> Made:
    """A new Var, which takes part in gradients if that was asked for, or not.

    Example:
        >>> as_asked("zeros", zeros(2), "cpu", False).requires_grad
        False
    """
    name = place(function, device)
    if name != CPU:  # a leaf there
        run((var.node,), f"{function}(device={name!r})")  # type: ignore[attr-defined]  # a Var, which stands upstairs
        var.node = put(var.node.data, name, var.node)  # type: ignore[attr-defined]
    if requires_grad is not None:
        var.requires_grad = requires_grad  # type: ignore[attr-defined]
    return var


def beside(like: Any, var: Made) -> Made:
    """A new Var on the device of one that it is like. Where all is computed on one, and in a captured step, it is.

    Example:
        >>> beside(ones(2), zeros(2)).device
        'cpu'
    """
    name = device_of(like.node)
    if name == CPU or current().capture is not None or chosen(current()) is not None:
        return var
    return as_asked("like", var, name, None)


def as_it_is(data: Any, dtype: Any, copy: bool | None) -> Any:
    """The Var itself, or a leaf that shares the memory of an array; None: a copy is wanted, or has to be made.

    Example:
        >>> x = ones(2)
        >>> as_it_is(x, None, False) is x, as_it_is([1.0], None, None)
        (True, None)
    """
    if copy is not None and not isinstance(copy, (bool, np.bool_)):
        raise ArgumentError("array takes copy as True, False or None", f"copy={short(copy)}")
    if copy:
        return None
    like = hasattr(data, "_node") or (isinstance(data, np.ndarray) and lies_as_kernels_read(data))
    if like and (dtype is None or as_dtype(dtype) is as_dtype(data.dtype)):
        return data if hasattr(data, "_node") else shared_source(data)
    if copy is not None:
        asked = "copy=False shares a Var of the dtype, or a NumPy array that lies as kernels read it"
        raise ArgumentError(asked, short(data), "copy=None, which copies what cannot be shared")
    return None


def place(function: str, device: Any, way: str = "'cpu'") -> str:
    """The name of a device that there is: "cpu", if none is named, or that of a backend with arrays of its own.

    `way` is what to try where there is none.

    Example:
        >>> place("zeros", None), place("zeros", "cpu:0")
        ('cpu', 'cpu')
    """
    name, colon, number = (CPU if device is None else str(device)).partition(":")
    if not is_there(name):
        found = f"device={short(device)}"
        if name == CUDA:
            found += ", and no GPU"
        elif name in backends.names():
            device_named(name)  # or the reason why it cannot be loaded
            way = f"jt.flags.backend = {name!r}, which computes in main memory"
        raise ArgumentError(f"{function} takes a device that is there", found, way)
    if colon and not re.fullmatch("[0-9]{1,4}", number):
        raise ArgumentError("a device is a name, or a name and a number", short(device), f"'{name}:0'")
    if number and name != CPU:
        getattr(device_named(name), "check_number", str)(number)
    return name


def is_device(word: Any) -> bool:
    """Whether a word is the name of a device, and not that of a dtype.

    Example:
        >>> is_device("cpu"), is_device("float32"), is_device("cuda:0")
        (True, False, True)
    """
    name = word.partition(":")[0] if isinstance(word, str) else ""
    return name in DEVICES or (bool(name) and name not in DTYPES and name not in ALIASES and name in backends.names())
