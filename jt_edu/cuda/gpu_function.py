"""GPU function: what is known of a function under `cuda.jit`, before anybody runs it?

Its own names are few; the others it finds in its module, and in functions around it. Two functions with the same
bytecode and the same values behind those names are compiled to the same, and so share a file on the disk. Of what
jt_edu prints, the text and the line stand for the bytecode, which is another one in each version of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural

PRINTED = "jt_edu_k_"  # what the module of a text is called, before its key: backends.define
COOPERATION = "jt_edu.cuda.cooperation"  # whose functions a text names, and whose file names the folder: compiler.py


class GpuFunction:
    """A function that a GPU runs.

    Args:
        function: what one thread does.
        device: other kernels call it, and nobody launches it.
    """

    def __init__(self, function: Callable[..., Any], device: bool) -> None:
        self.function, self.device = function, device
        self.loaded: dict[Any, Any] = {}  # what launches have made of it, by GPU and kinds of arguments
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function

    def parameters(self, count: int) -> tuple[str, ...]:
        """The names of its arguments.

        Raises:
            ArgumentError: there are not so many.
        """
        code = self.function.__code__
        names = code.co_varnames[: code.co_argcount]
        if count != len(names):
            asked = ", ".join([f"{self.__name__} takes {plural(len(names), 'argument')}", *names])
            raise ArgumentError(asked, plural(count, "argument"), "one for each, also where the def has a default")
        return names


def outer_names(function: Any) -> dict[str, Any]:
    """The values of the names in a function that are not its own.

    Example:
        >>> from jt_edu.cuda.gpu_function import outer_names
        >>> by = 3
        >>> outer_names(lambda x: x * by)
        {'by': 3}
    """
    code = function.__code__
    found = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    return found | {name: cell.cell_contents for name, cell in cells}


def fingerprint(function: Any, seen: dict[int, int]) -> list[Any]:
    """All that decides what a function is compiled to.

    Args:
        function: under `cuda.jit`, or a plain one.
        seen: functions that are in it already, by identity: one may call itself.
    """
    plain = function.function if isinstance(function, GpuFunction) else function
    if id(plain) in seen:
        return ["again", seen[id(plain)]]
    seen[id(plain)] = len(seen)
    code, text, outer = plain.__code__, plain.__globals__.get("__name__", ""), sorted(outer_names(plain).items())
    if text.startswith(PRINTED) and "<" not in code.co_qualname:  # inside another function, a line may make several
        own = [text, code.co_qualname, code.co_firstlineno]
        outer = [(name, value) for name, value in outer if _home(value) != COOPERATION]
    else:
        own = [code.co_code, code.co_names, code.co_varnames, repr(code.co_consts)]
    return [*own, repr(plain.__defaults__), *((name, list(_value(value, seen))) for name, value in outer)]


def _home(value: Any) -> str:
    return str(getattr(getattr(value, "__wrapped__", value), "__module__", ""))


def _value(value: Any, seen: dict[int, int]) -> Iterator[Any]:
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', '')}"
    if isinstance(value, (GpuFunction, FunctionType)) and not name.startswith("jt_edu.backends.mathlib"):
        yield fingerprint(value, seen)
    elif isinstance(value, np.ndarray):
        yield value.dtype, value.shape, value.tobytes()
    else:
        yield name if isinstance(value, (FunctionType, ModuleType, type)) else repr(value)
