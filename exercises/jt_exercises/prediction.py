"""Prediction: guess first, then run, then compare. A guess is locked once it is made.

    predict("00.2", ..., lambda: kernels(y))      your turn: put your guess in place of the dots; nothing is run yet
    predict("00.2", 3, lambda: kernels(y))        you guessed 3: it is 1
    predict("00.2", 1, lambda: kernels(y))        you guessed 3, and that is kept: it is 1

Guesses are kept in progress.json, beside what was solved. A wrong one costs nothing: it is what one learns from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.draw.html_picture import Picture
from jt_exercises.card import COLOURS, MARK, as_html
from jt_exercises.progress import FILE, Progress, Tried
from jt_exercises.showing import in_notebook, show


def predict(number: str, guess: Any, run: Callable[[], Any], factor: float = 1.0) -> None:
    """Lock a guess, run what it is about, and show both.

    Args:
        number: of the prediction: of the notebook, and of the section in which it stands.
        guess: a number, a text, or a list of these; `...` as long as there is none.
        run: what is run, and returns what came of it.
        factor: how far off a number may be: with 2, half of it and twice as much are right, too.

    Raises:
        ValueError: a guess is none of these.

    Example:
        >>> predict("00.0", 2, lambda: 1 + 1)
        ✓ 00.0: you guessed 2, and it is 2
    """
    if guess is ...:
        return _show(number, None, "your turn: put your guess in place of the dots, and run this cell again")
    progress = Progress(Path.cwd() / FILE)
    before = progress.read().get(number, Tried()) if in_notebook() else Tried()
    kept = json.loads(before.guess) if before.guess else _plain(guess)
    found = _plain(run())
    right = _same(kept, found, factor)
    if in_notebook() and not before.guess:
        progress.write(number, replace(before, tries=1, right=int(right), guess=json.dumps(kept)))
    stays = f", and that is kept (now you say {_words(guess)})" if kept != _plain(guess) else ""
    return _show(number, right, f"you guessed {_words(kept)}{stays}{', and' if right else ':'} it is {_words(found)}")


def _plain(value: Any) -> Any:
    """A number, a text or a list of these; ValueError for what cannot be kept."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"a guess is a number, a text, or a list of these, not {value!r}")


def _same(guess: Any, found: Any, factor: float) -> bool:
    if isinstance(guess, list) or isinstance(found, list):
        pairs = isinstance(guess, list) and isinstance(found, list) and len(guess) == len(found)
        return pairs and all(_same(g, f, factor) for g, f in zip(guess, found, strict=True))
    if isinstance(guess, str) or isinstance(found, str):
        return str(guess).strip().lower() == str(found).strip().lower()
    if guess <= 0 or found <= 0:
        return math.isclose(guess, found, rel_tol=1e-6)
    return max(guess / found, found / guess) <= factor * (1 + 1e-6)


def _words(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_words, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _show(number: str, right: bool | None, words: str) -> None:
    text = f"{MARK[right]} {number}: {words}"
    mark = f"<b style='color:{COLOURS[right]}'>{MARK[right]}</b>"
    show(Picture(f"<div role='status'>{mark} {as_html(text.removeprefix(MARK[right]))}</div>", text))
