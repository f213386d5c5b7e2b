"""13.1: each rank gets the word of the one to its left, whether or not a send keeps a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.base.plural import plural
from jt_exercises.exercise import exercise
from jt_exercises.ranks.judging import Run, runs
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, part, short

SIZES = (2, 3, 4, 5)
PLAIN = {"send", "ssend", "recv"}
LUCK = "where a send may keep its message it works: by luck. Where each send waits for its receiver, "


@exercise(
    "13.1",
    "pass a word on",
    points=2,
    hints=(
        "Where all ranks begin with the same, a send or a receive, all of them may wait. One has to begin otherwise.",
        "Let rank 0 do what the others do in the other order: `recv` from the left, then `send` to the right.",
    ),
    why="A program that hangs only when its messages are long enough is found late, and on a large machine.",
)
def pass_right(answer: Callable[..., Any]) -> str:
    """Compare the words, and who sent to whom; sends keep a copy, or wait for their receiver."""
    for size in SIZES:
        with part(f"{size} ranks"):
            words = [f"word {n}" for n in random(size).integers(1_000_000, size=size)]
            arguments = [(word,) for word in words]
            for run in runs(answer, arguments, name="pass_right"):
                _judge(run, words)
            for run in runs(answer, arguments, name="pass_right", at_end=LUCK, synchronous=True):
                _judge(run, words)
    return f"on {SIZES[0]} to {SIZES[-1]} ranks, in several orders, and where every send waits for its receiver"


def _judge(run: Run, words: list[str]) -> None:
    size = len(words)
    for rank, found in enumerate(run.results):
        right = words[rank - 1]
        if not (isinstance(found, str) and found == right):
            raise RefusedError(
                f"rank {rank} should have {right!r}, which rank {(rank - 1) % size} had: {_why(found, words, rank)}"
            )
    others = set(run.calls) - PLAIN
    if others:
        raise RefusedError(f"`send` and `recv` alone are asked for; yours calls {', '.join(sorted(others))}")
    if sorted((source, to) for source, to, _ in run.messages) != [(rank, (rank + 1) % size) for rank in range(size)]:
        raise RefusedError(
            f"one message from each rank, to its right, is enough: {size} in all. "
            f"Yours sends {plural(len(run.messages), 'message')}: "
            + ", ".join(f"{source} to {to}" for source, to, _ in run.messages)
        )


def _why(found: Any, words: list[str], rank: int) -> str:
    if not isinstance(found, str) or found not in words:
        return f"yours is {short(found)}"
    if found == words[rank]:
        return f"it returns {found!r}, its own word"
    if found == words[(rank + 1) % len(words)]:
        return f"it returns {found!r}, the word of its right neighbour"
    return f"it returns {found!r}, which rank {words.index(found)} had"
