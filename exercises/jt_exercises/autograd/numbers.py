"""Numbers: values that know where they came from, and expressions of them whose slopes can be measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

STEP = 1e-5  # of a central difference; a value that is multiplied a thousand times bends within a larger one


class Number:
    """A value, what it was made from, and the local slope with respect to each of these."""

    def __init__(self, value: float, came_from: Sequence[tuple[Number, float]] = ()) -> None:
        self.value, self.came_from, self.grad = value, tuple(came_from), 0.0

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: Number) -> Number:
        return Number(self.value * other.value, ((self, other.value), (other, self.value)))


def made_before(y: Number) -> list[Number]:
    """`y` and every number it was made from, each after those it came from."""
    order, seen, waiting = list[Number](), set[int](), [(y, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting += [(node, True), *((before, False) for before, _ in node.came_from)]
    return order


class Expression(NamedTuple):
    """A function of numbers or floats, where it is asked about, and what a known mistake finds there."""

    text: str
    function: Callable[..., Any]
    at: tuple[float, ...]
    mistakes: dict[tuple[float, ...], str]


def _steps(x: Any, one: Any, small: Any) -> Any:
    first = x
    for _ in range(1000):
        x = x * one + first * small
    return x


LEFT = "does the walk begin at the end of `order`, and visit every number?"
EXPRESSIONS = {
    "a product": Expression(
        "y = a * b", lambda a, b: a * b, (3.0, -2.0),
        {(3.0, -2.0): "the slope with respect to `a` is `b`; `local` stands beside the number it belongs to",
         (1.0, 1.0): "how steep is the product? Each share is multiplied by its `local`"},
    ),
    "paths that join": Expression(
        "b = a * one, y = b + b", lambda a, one: _twice(a * one), (5.0, 1.0),
        {(1.0, 5.0): "two paths lead to `b`, and their gradients add; yours keeps one of them",
         (3.0, 15.0): "`b` hands its gradient on before it is complete"},
    ),
    "several of each": Expression(
        "c = a * b, y = c * c + a * c + c", lambda a, b: (c := a * b) * c + a * c + c, (3.0, -2.0), {},
    ),
    "a thousand steps": Expression(
        "first = x, then x = x * one + first * small, a thousand times", _steps, (1.0, 1.001, 0.001), {},
    ),
}  # fmt: skip


def _twice(b: Any) -> Any:
    return b + b


def gradients(backward: Callable[..., Any], name: str) -> list[float]:
    """What a learner's walk leaves in the inputs of an expression."""
    inputs = [Number(value) for value in EXPRESSIONS[name].at]
    y = EXPRESSIONS[name].function(*inputs)
    backward(y, made_before(y))
    return [float(x.grad) for x in inputs]


def slopes(name: str) -> list[float]:
    """What the gradients are, measured: a central difference for each input."""
    _, function, at, _ = EXPRESSIONS[name]
    return [slope(function, at, k) for k in range(len(at))]


def slope(function: Callable[..., Any], at: Sequence[Any], k: int = 0) -> Any:
    """How much a function grows with its input `k`, at a place: a central difference."""
    above, below = ((*at[:k], at[k] + step, *at[k + 1 :]) for step in (STEP, -STEP))
    return (function(*above) - function(*below)) / (2 * STEP)
