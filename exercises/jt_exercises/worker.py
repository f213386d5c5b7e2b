"""Worker: the side on which a learner's objects are. It calls them, and says what came of it.

    {"call": 0, "arguments": (x, 3)}                       -->  {"value": ...}
    {"call": 0, "arguments": (x,), "through": "a.b:f"}     -->  f(object 0, x), for what is not a plain call
                                                           -->  {"raised": ("IndexError", "...", 4, "return x[9]")}
    an argument that is a function of the other side       -->  {"back": 2, "arguments": (...)}
                                                           <--  {"value": ...}, or {"refused": ("ValueError", "...")}

Nothing here judges: whatever this side claims, the other one compares with what it knows.
"""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Callable
from typing import Any

from jt_exercises.wire import WireError, named, pack, unpack

LETTERS = 40  # letters of a name
Exchange = Callable[[bytes], bytes]


class Worker:
    """Objects by number, and how they are called."""

    def __init__(self, objects: list[Any], exchange: Exchange) -> None:
        self.kept, self.exchange = list(objects), exchange

    def keep(self, value: Any) -> tuple[int, str]:
        """A number for an object that stays here, and what it is called."""
        self.kept.append(value)
        return len(self.kept) - 1, name_of(value)

    def find(self, told: Any) -> Any:
        """What a number of the other side means: an object of ours, or a function of theirs."""
        side, number = told
        return self.kept[number] if side == "ours" else lambda *arguments: self._back(number, arguments)

    def _back(self, number: int, arguments: tuple[Any, ...]) -> Any:
        answer = self.exchange(pack({"back": number, "arguments": arguments}, self.keep))
        match unpack(answer, self.find, trusted=True):
            case {"refused": (kind, words)}:
                raise getattr(builtins, kind, RuntimeError)(words)
            case {"value": value}:
                return value

    def answer(self, message: bytes) -> bytes:
        """Do what a message asks for."""
        try:
            job = unpack(message, self.find, trusted=True)
            function = self.kept[job["call"]]
            if job.get("through"):
                value = named(job["through"])(function, *job["arguments"])
            else:
                value = function(*job["arguments"])
            return pack({"value": value}, self.keep)
        except WireError as error:
            return pack({"raised": ("WireError", str(error), 0, "")}, self.keep)
        except BaseException as error:  # noqa: BLE001 - whatever a learner's function raises, SystemExit too
            return pack({"raised": raised(error)}, self.keep)


def itself(value: Any) -> Any:
    """What was handed in."""
    return value


def raised(error: BaseException) -> tuple[str, str, int, str]:
    """Its kind and message, and the learner's line: the innermost one that belongs to a cell or a file of theirs."""
    kind = "NotImplementedError" if isinstance(error, NotImplementedError) else type(error).__name__
    frames, trace = [], error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in {"jt_exercises", "jt_edu", "numpy"}:
            frames.append((trace.tb_lineno, trace.tb_frame.f_code.co_filename))
        trace = trace.tb_next
    line, file = frames[-1] if frames else (0, "")
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 - an error of a learner's own class
        words = ""
    return kind, words, line, linecache.getline(file, line).strip() if line else ""


def name_of(value: Any) -> str:
    """What an object is called, in a few letters."""
    name = getattr(value, "__name__", None)
    return (name if isinstance(name, str) else type(value).__name__)[:LETTERS]
