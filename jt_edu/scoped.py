"""Scoped: a `with` statement that is a decorator, too, also of functions that stop in the middle and go on later.

    def f        runs inside, from its first line to its last
    generator    each of its steps runs inside; between two of them, whoever asked for it is outside
    async def    the same: while it waits, others run, and they are outside

Python's own decorator of a `with` statement is left when a generator or a coroutine is made, before its first line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import _GeneratorContextManager
from functools import wraps
from types import coroutine
from typing import Any, ParamSpec, TypeVar, cast

from jt_edu.errors import ArgumentError

Given = ParamSpec("Given")
Value = TypeVar("Value")


class Scope(_GeneratorContextManager[Any]):
    """What a function that `scoped` decorates answers: `with scope:` or `@scope`."""

    def __call__(self, function: Any) -> Any:
        """The function, always run inside of such a scope."""
        if inspect.isasyncgenfunction(function):
            name, asked = function.__qualname__, "a decorator goes around functions, generators and coroutines"
            raise ArgumentError(asked, f"{name}, an async generator", "the with statement inside, around what needs it")
        if inspect.iscoroutinefunction(function):

            async def waits(*args: Any, **named: Any) -> Any:
                return await _stepped(function(*args, **named), self._again)

            return wraps(function)(waits)
        if inspect.isgeneratorfunction(function):

            def gives(*args: Any, **named: Any) -> Any:
                return (yield from _stepped(function(*args, **named), self._again))

            return wraps(function)(gives)
        return super().__call__(function)

    def _again(self) -> Scope:
        """A new scope of the same kind: each one is entered once."""
        return type(self)(self.func, self.args, self.kwds)


def scoped(make: Callable[Given, Iterator[Value]]) -> Callable[Given, _GeneratorContextManager[Value]]:
    """As `contextlib.contextmanager`; what it answers is a decorator of generators and coroutines as well.

    Example:
        >>> @scoped
        ... def told(word):
        ...     print("in", word)
        ...     yield
        ...     print("out")
        >>> @told("a")
        ... def two():
        ...     yield 1
        >>> steps = two()
        >>> print(next(steps))
        in a
        out
        1
    """

    def begin(*args: Given.args, **named: Given.kwargs) -> _GeneratorContextManager[Value]:
        return Scope(cast("Any", make), args, named)

    return wraps(make)(begin)


@coroutine
def _stepped(steps: Any, scope: Callable[[], Scope]) -> Generator[Any, Any, Any]:
    """A generator, or a coroutine, each of whose steps runs inside of a scope of its own."""
    go_on, value = steps.send, None
    while True:
        with scope():
            try:
                wish = go_on(value)
            except StopIteration as end:
                return end.value
        try:
            value = yield wish
            go_on = steps.send
        except GeneratorExit:
            with scope():
                steps.close()
            raise
        except BaseException as error:  # noqa: BLE001 - it is the generator's to handle
            go_on, value = steps.throw, error
