"""Scoped: a `with` statement that is a decorator, too, also of functions that stop in the middle and go on later.

    def f        runs inside, from its first line to its last
    generator    each of its steps runs inside; between two of them, whoever asked for it is outside
    async def    the same: while it waits, others run, and they are outside

Python's own decorator of a `with` statement is left when a generator or a coroutine is made, before its first line.

A scope that cannot be left and entered again, since it begins something of its own (a trace, a rank, a row of random
numbers), is `unbroken`: it is no decorator of a function that stops.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import _GeneratorContextManager
from functools import wraps
from types import coroutine
from typing import Any, ParamSpec, TypeVar, cast

from jt_edu.base.errors import ArgumentError

Given = ParamSpec("Given")
Value = TypeVar("Value")
STOPS: dict[str, Callable[[Any], bool]] = {
    "a class": inspect.isclass,
    "a generator": inspect.isgeneratorfunction,
    "a coroutine": inspect.iscoroutinefunction,
    "an async generator": inspect.isasyncgenfunction,
}


class Scope(_GeneratorContextManager[Any]):
    """What a function that `scoped` decorates returns: `with scope:` or `@scope`."""

    asked = "a decorator goes around functions, generators and coroutines"
    goes_around: tuple[str, ...] = ("a generator", "a coroutine")

    def __call__(self, function: Any) -> Any:
        """The function, always run inside such a scope."""
        kind = next((kind for kind, is_one in STOPS.items() if is_one(function)), None)
        if kind is None:
            return super().__call__(function)
        if kind not in self.goes_around:
            found, way = f"{function.__qualname__}, {kind}", "the with statement inside, around what needs it"
            raise ArgumentError(self.asked, found, way)
        if kind == "a coroutine":

            async def waits(*args: Any, **named: Any) -> Any:
                return await _stepped(function(*args, **named), self._recreate_cm)

            return wraps(function)(waits)

        def gives(*args: Any, **named: Any) -> Any:
            return (yield from _stepped(function(*args, **named), self._recreate_cm))

        return wraps(function)(gives)


class Unbroken(Scope):
    """What a function that `unbroken` decorates returns."""

    asked = "what begins afresh each time goes around functions that do not stop in the middle"
    goes_around = ()


def scoped(make: Callable[Given, Iterator[Value]]) -> Callable[Given, _GeneratorContextManager[Value]]:
    """As `contextlib.contextmanager`; what it returns is a decorator of generators and coroutines as well.

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
    return _begins(Scope, make)


def unbroken(make: Callable[Given, Iterator[Value]]) -> Callable[Given, _GeneratorContextManager[Value]]:
    """As `contextlib.contextmanager`; what it returns refuses to be a decorator of generators and coroutines.

    Example:
        >>> @jt.fork_rng()
        ... def draws():
        ...     yield jt.rand(1)
        Traceback (most recent call last):
        ArgumentError: what begins afresh each time goes around functions that do not stop in the middle; ...
    """
    return _begins(Unbroken, make)


def _begins(
    kind: type[Scope], make: Callable[Given, Iterator[Value]]
) -> Callable[Given, _GeneratorContextManager[Value]]:
    def begin(*args: Given.args, **named: Given.kwargs) -> _GeneratorContextManager[Value]:
        return kind(cast("Any", make), args, named)

    return wraps(make)(begin)


@coroutine
def _stepped(steps: Any, scope: Callable[[], Any]) -> Generator[Any, Any, Any]:
    """A generator, or a coroutine, each of whose steps runs inside a scope of its own."""
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
