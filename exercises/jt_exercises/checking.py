"""Check: a learner's answer is judged at once, in the notebook.

check("01.3", backward)      a card: right or not, the first case that failed, and the next hint
solved("01.3")               whether it was right when it was last tried here, for cells that use the answer
hint("01.3")                 opens one more hint
solution("01.3")             one way to do it, after two tries that failed
board()                      what is solved, and what comes next
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from jt_edu.base.plural import plural
from jt_edu.draw.html_picture import Picture
from jt_exercises.card import MARK, Card, as_html
from jt_exercises.exercise import ROOMS, Exercise, find, of_room
from jt_exercises.progress import FILE, Progress, Tried
from jt_exercises.progress_board import Board
from jt_exercises.showing import in_notebook, show
from jt_exercises.verdict import Verdict

heard: list[Verdict] = []  # what was said in this process
_opened: dict[str, int] = {}  # hints, where nothing is kept
TRIES = 2  # that fail, before a solution is shown


def check(number: str, *answers: Any, here: bool | None = None) -> None:
    """Judge the answers to an exercise, and show what was found.

    Args:
        number: of the exercise, such as "01.3".
        answers: whatever the exercise asks for: functions, numbers, arrays. They are called in a copy of this process,
            which has so many seconds and so much memory, and may crash.
        here: call them in this process, for a debugger; there is no limit then.

    Raises:
        ValueError: there is no such exercise.
    """
    wanted = find(number)
    found = wanted.verdict(*answers) if here is None else wanted.verdict(*answers, here=here)
    heard.append(found)
    tried = _progress().note(number, found) if in_notebook() else Tried(failed=int(found.passed is False))
    show(Card(found, tuple(_beside(wanted, found, tried))))


def _beside(wanted: Exercise, found: Verdict, tried: Tried) -> list[tuple[str, str]]:
    """What is said beside a verdict: why it matters, or the next hint."""
    if found.passed:
        took = f"{found.seconds:.1f} s" if found.seconds >= 1 else f"{found.seconds * 1e3:.0f} ms"
        cost = f"{plural(found.calls, 'call')} of your answer took {took}" if found.calls else ""
        return [(word, text) for word, text in (("cost", cost), ("why", wanted.why)) if text]
    shown = min(max(tried.failed, tried.opened), len(wanted.hints))
    hint = [(f"hint {shown} of {len(wanted.hints)}", wanted.hints[shown - 1])] if shown else []
    call = ("solution", "shows one way to do it") if tried.failed >= TRIES else ("hint", "opens one more hint")
    return [*hint, ("more", f'`{call[0]}("{wanted.number}")` {call[1]}')] if found.passed is False else hint


def solved(*numbers: str) -> bool:
    """Whether these exercises were right when they were last tried in this process; else it says which are missing.

    Example:
        >>> solved("01.3")
        ○ this cell uses 01.3: solve it, or run its cell again
        False
    """
    last = {verdict.name.partition(" ")[0]: verdict.passed for verdict in heard}
    if missing := [number for number in numbers if not last.get(number)]:
        text = f"{MARK[None]} this cell uses {' and '.join(missing)}: solve it, or run its cell again"
        show(Picture(as_html(text), text))
    return not missing


def hint(number: str) -> None:
    """Open one more hint of an exercise."""
    wanted, progress = find(number), _progress()
    tried = progress.read().get(number, Tried()) if in_notebook() else Tried(opened=_opened.get(number, 0))
    opened = _opened[number] = min(max(tried.opened, tried.failed) + 1, len(wanted.hints))
    if in_notebook():
        progress.write(number, replace(tried, opened=opened))
    lines = [f"hint {k} of {len(wanted.hints)}: {text}" for k, text in enumerate(wanted.hints[:opened], 1)]
    text = "\n".join(lines) or f"{wanted.name} has no hints"
    show(Picture(as_html(text), text))


def solution(number: str) -> None:
    """Show one way to solve an exercise, after two tries that failed, or when it is solved.

    Raises:
        ValueError: there is no such exercise.
    """
    wanted, tried = find(number), _progress().read().get(number, Tried())
    last = [v.passed for v in heard if v.name == wanted.name]
    if not tried.solved and True not in last and max(tried.failed, last.count(False)) < TRIES:
        return show(Picture(*2 * (f"A solution opens after {TRIES} tries. hint({number!r}) opens a hint.",)))
    try:
        from jt_exercises.author.masters import Master  # noqa: PLC0415 - a learner's package may have none

        text = Master(number, wanted.folder).solved.rpartition("# %%\n")[2]
    except (ImportError, OSError):
        text = "The solutions are not installed here. The course's own repository has them."
    return show(Picture(f"<pre>{escape(text)}</pre>", text))


def board() -> Board:
    """What is solved, notebook by notebook, and what comes next."""
    return Board([e for notebook in ROOMS for e in of_room(notebook)], _progress().read())


def _progress() -> Progress:
    return Progress(Path.cwd() / FILE)
