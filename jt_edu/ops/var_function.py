"""Var function: what is a function of Vars, and a method of them as well?

    @var_function(template)
    def softmax(x, dim=-1): ...      jt.softmax(x, axis=1), and x.softmax(dim=1)

It understands the words of NumPy and PyTorch for its arguments. What else is done with it stands in the brackets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jt_edu.ops.arguments import same_words
from jt_edu.variable.var import method

Function = TypeVar("Function", bound=Callable[..., Any])


def var_function(*decorators: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Make a function a method too, which takes its arguments in the words of NumPy and PyTorch.

    Args:
        decorators: what stands between `method` and `same_words`, as from above to below.

    Example:
        >>> @var_function()
        ... def doubled_along(x, dim=0):
        ...     return x * 2, dim
        >>> array([1, 2]).doubled_along(axis=1)
        (jt.Var([2, 4], dtype=int64), 1)
    """

    def made(function: Function) -> Function:
        call = same_words(function)
        for decorate in reversed(decorators):
            call = decorate(call)
        return method(call)

    return made
