"""Guesses: a dict with a value for each expression, where a learner has put one in place of each None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jt_exercises.verdict import NotDoneError, RefusedError, short


def compare(answer: Any, right: Mapping[str, Any], asked: str, why: Callable[[str, Any], str]) -> str:
    """Refuse guesses that are not right: all of them are named, and `why` explains the first one."""
    if answer is None:
        raise NotDoneError
    if not isinstance(answer, Mapping):
        raise RefusedError(f"the answer is a dict, with a value for each expression, not {short(answer)}")
    mine = {text: g.strip().upper() if isinstance(g := answer.get(text), str) else g for text in right}
    if missing := [text for text, guess in mine.items() if guess is None]:
        raise NotDoneError("" if len(missing) == len(right) else f"`{missing[0]}` still has None")
    for text, guess in mine.items():
        if not isinstance(guess, (str, bool)) or guess not in right.values():
            raise RefusedError(f"`{text}`: {asked} is asked for, not {short(answer.get(text))}")
    wrong = [text for text in right if mine[text] != right[text]]
    if wrong:
        so_far = f"{len(right) - len(wrong)} of {len(right)} are right, and not " + ", ".join(f"`{t}`" for t in wrong)
        raise RefusedError(f"{so_far}. {why(wrong[0], mine[wrong[0]])}")
    return f"all {len(right)} of them"
