"""07.6: two problems that a broken key takes for one, and a key that holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from itertools import product
from typing import Any

from jt_exercises.convolution.probes import keys, sizes
from jt_exercises.convolution.problems import Problem, fastest, key, seconds, suits
from jt_exercises.exercise import exercise
from jt_exercises.process import Handle
from jt_exercises.verdict import NotDoneError, RefusedError, ask, part, short

CLEAR = 1.3  # times as slow: a choice that is not to be explained by noise
MOST = 1 << 16  # of a size
SIZES = (1, 2, 4, 12, 21)  # of which several have the same sum, the same product, or the same digits in a row


@exercise(
    "07.6",
    "the broken key",
    points=2,
    hints=(
        "Compare `key(Problem())` with the record.",
        "Which algorithm needs what is missing to be 1?",
    ),
    why="A table that answers for another problem is wrong only later, and tests of one problem at a time pass.",
)
def broken_key(first: Any, second: Any, repaired: Callable[..., Any]) -> str:
    """Two problems that the broken key takes for one, though no algorithm is good for both; and a key that holds."""
    words = ""
    with part("the pair"):
        words = _fooled(_problem(first, "first"), _problem(second, "second"))
    with part("the key"):
        _holds(repaired)
    return words


def _problem(answer: Any, name: str) -> Problem:
    if answer is None:
        raise NotDoneError(f"`{name}` is still None")
    found = ask(answer, name=name, through=sizes) if isinstance(answer, Handle) else ()
    if not found:
        raise RefusedError(f"`{name}` is a Problem, such as Problem(images=2), not {short(answer)}")
    if not all(type(v) is int and 1 <= v <= MOST for v in found[:-1]) or type(found[-1]) is not str:
        raise RefusedError(f"`{name}`: the sizes of a problem are whole numbers from 1 on, and its dtype is a text")
    return Problem(*found)


def _fooled(first: Problem, second: Problem) -> str:
    """How a tuner with the broken key goes wrong."""
    if key(first) != key(second):
        raise RefusedError(f"the broken key tells them apart: {key(first)} and {key(second)}")
    if first == second:
        raise RefusedError("these are the same problem")
    for asked, then in ((first, second), (second, first)):
        chosen = fastest(asked)
        if not suits(chosen, then):
            return f"after {asked} the tuner answers {chosen}, which cannot compute {then}"
        if seconds(chosen, then) > CLEAR * seconds(fastest(then), then):
            return f"after {asked} the tuner answers {chosen}, which is slow for {then}"
    raise RefusedError(f"the key takes them for one, but {fastest(first)} is good for both: nobody would notice")


def _holds(repaired: Any) -> None:
    """One key for each of many problems, and the same one when it is asked for again."""
    if repaired is None:
        raise NotDoneError("`repaired` is still None")
    many: list[tuple[Any, ...]] = list(product(*[SIZES] * 5, ("float32", "float64")))
    asked, known = [Problem(*told) for told in many], dict[Any, Problem]()
    mine, again = (ask(repaired, asked, case="a problem", name="repaired", through=keys) for _ in range(2))
    for p, found, then in zip(asked, mine, again, strict=True):
        if found is None:
            raise NotDoneError("`repaired` returns None: is a `return` missing?")
        if isinstance(found, Handle):
            raise RefusedError(f"asked twice for {p}, `repaired` returns two objects: make the key of its sizes")
        try:
            hash(found)
        except TypeError as no:
            raise RefusedError(f"a dict takes no key such as {short(found)}: {no}; a tuple will do") from no
        if found != then:
            raise RefusedError(f"asked twice for {p}, `repaired` says {short(found)} and {short(then)}")
        if (other := known.setdefault(found, p)) != p:
            apart = [f.name for f in fields(Problem) if getattr(p, f.name) != getattr(other, f.name)]
            if len(apart) == 1:
                raise RefusedError(f"`repaired` does not tell problems apart by their {apart[0]}")
            raise RefusedError(f"`repaired` gives {short(found)} to both {other} and {p}")
