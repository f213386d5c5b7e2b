"""Making: PyTorch's words for a Var that is made.

    zeros(3, device="cpu")           where everything is; there is no other place
    zeros(3, requires_grad=False)    the Var, and then `.requires_grad = False`
    zeros(size=(2, 3))               zeros(2, 3); `shape` and `value` of others have two names as well

`makes` gives these words to a function, so that no function has to know them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from jt_edu.build import short
from jt_edu.errors import ArgumentError

Function = TypeVar("Function", bound=Callable[..., Any])
Made = TypeVar("Made")
NAMES = {"size": "shape", "fill_value": "value"}  # PyTorch's -> ours
DEVICES = ("cpu", "cuda", "gpu", "mps", "xpu")  # words that name one, anywhere


def makes(function: Function) -> Function:
    """Let a function that makes a Var take the words of PyTorch. The signature shows its own.

    Example:
        >>> zeros(size=(2,), device="cpu", requires_grad=False).requires_grad
        False
    """
    own = inspect.signature(function).parameters
    spreads = any(p.kind is p.VAR_POSITIONAL for p in own.values())  # zeros(*shape)
    meant = {word: name for word, name in NAMES.items() if name in own and word not in own and not spreads}

    @wraps(function)
    def made(*args: Any, **named: Any) -> Any:
        if not named:
            return function(*args)
        device, wish = named.pop("device", None), named.pop("requires_grad", None)
        if spreads and not args and "size" in named:
            args = (named.pop("size"),)
        for word in meant.keys() & named:
            if meant[word] not in named:
                named[meant[word]] = named.pop(word)
        var = function(*args, **named)
        own = wish is None or all(var is not given for given in (*args, *named.values()))
        return as_asked(function.__name__, var if own else var.clone(), device, wish)

    return made  # type: ignore[return-value]


def as_asked(function: str, var: Made, device: Any, requires_grad: bool | None) -> Made:
    """A new Var, which takes part in gradients if that was asked for, or not.

    Example:
        >>> as_asked("zeros", zeros(2), "cpu", False).requires_grad
        False
    """
    on_cpu(function, device)
    if requires_grad is not None:
        var.requires_grad = requires_grad  # type: ignore[attr-defined]  # a Var, which stands upstairs
    return var


def on_cpu(function: str, device: Any) -> None:
    """Everything lies in main memory: the device "cpu", or none named.

    Example:
        >>> on_cpu("Linear", "cpu")
    """
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise ArgumentError(f"{function} works in main memory", f"device={short(device)}", "device='cpu'")
