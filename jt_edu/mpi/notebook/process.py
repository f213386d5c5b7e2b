"""Process: what there is once in a process, and every rank of a real MPI has for itself.

    sys.stdout, sys.stderr     what a rank prints goes to its own page
    random, numpy.random       each rank draws from a generator of its own
    __main__                   each rank finds its own names, so that its classes can be pickled
    input()                    an error that says so: there is one keyboard
    open(path, "w")            a second rank that writes the same file is told about

Simulated ranks share a process. While a cell runs on them, these doors ask which rank runs right now (its context
knows); for a thread that is no rank they do what they always did. Afterwards everything is as it was before.
`jt.simulate` opens the second one only: `own_generators`.
"""

from __future__ import annotations

import builtins
import io
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.errors import RankError

MOST_TEXT = 1_000_000  # letters of one rank in one cell
GENERATORS = ((random, random.Random, "python_random"), (np.random, np.random.RandomState, "numpy_random"))
PLAIN = {"seed": "seed", "ranf": "random_sample", "sample": "random_sample"}  # functions of numpy.random -> methods


@dataclass
class Page:
    """What one rank wrote: pieces of text, each with the name of its stream, and whatever else was shown."""

    rank: int
    pieces: list[tuple[str, Any]] = field(default_factory=list)
    letters: int = 0
    imports: bool = False  # a module, right now

    def write(self, stream: str, text: str) -> None:
        """Add a text; a rank that writes without end is cut off."""
        room = max(0, MOST_TEXT - self.letters)
        self.letters += len(text)
        if len(text) > room:
            text = text[:room] + "\n… and more, which is not kept\n" * (room > 0)
        if self.pieces and self.pieces[-1][0] == stream:
            text = self.pieces.pop()[1] + text
        if text:
            self.pieces.append((stream, text))

    def show(self, thing: Any) -> None:
        """Add something that is no text: what a notebook can show."""
        self.pieces.append(("shown", thing))

    @property
    def text(self) -> str:
        """All that was printed."""
        return "".join(piece for stream, piece in self.pieces if stream != "shown")


def page() -> Page | None:
    """The page of the rank that runs right now; None outside ranks."""
    return current().rank_state.get("page")


class Stream:
    """sys.stdout or sys.stderr, for the time in which a cell runs on ranks."""

    def __init__(self, name: str, real: Any) -> None:
        self._name, self._real = name, real

    def write(self, text: str) -> int:
        """To the page of the rank that runs, or to where it always went."""
        mine = page()
        if mine is None:
            return int(self._real.write(text) or len(text))
        mine.write(self._name, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Nothing waits here."""
        if page() is None:
            self._real.flush()

    def isatty(self) -> bool:
        """A page is no terminal."""
        return bool(page() is None and self._real.isatty())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Files:
    """Who writes which file."""

    def __init__(self) -> None:
        self.writers: dict[str, int] = {}
        self.clashes: dict[str, tuple[int, int]] = {}  # path -> the first two ranks that wrote it

    def opened(self, path: Any, mode: Any) -> None:
        """A file is opened; by a rank, perhaps, and to be written."""
        mine = page()
        if mine is None or not isinstance(mode, str) or not set(mode) & set("wax+") or isinstance(path, int):
            return
        where = os.path.realpath(os.fsdecode(path))
        first = self.writers.setdefault(where, mine.rank)
        if first != mine.rank:
            self.clashes.setdefault(where, (first, mine.rank))


class Main(ModuleType):
    """`__main__`, as each rank sees it."""

    def __init__(self, real: ModuleType) -> None:
        super().__init__("__main__")
        object.__setattr__(self, "_real", real)

    def __getattribute__(self, name: str) -> Any:
        space = current().rank_state.get("namespace")
        if space is None:
            return getattr(object.__getattribute__(self, "_real"), name)
        if name == "__dict__":
            return space
        if name in space:
            return space[name]
        raise AttributeError(f"module '__main__' has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        space = current().rank_state.get("namespace")
        if space is None:
            setattr(object.__getattribute__(self, "_real"), name, value)
        else:
            space[name] = value


@contextmanager
def divided(importing: Callable[[int], AbstractContextManager[None]]) -> Iterator[Files]:
    """Give each rank its own of what a process has once, for the time inside.

    `importing(rank)` is entered where a rank imports a module that the process does not have yet.
    """
    files = Files()
    with ExitStack() as undo:
        for name in ("stdout", "stderr"):
            undo.enter_context(_replaced(sys, name, Stream(name, getattr(sys, name))))
        undo.enter_context(_replaced(builtins, "input", partial(_input, builtins.input)))
        undo.enter_context(_replaced(builtins, "__import__", partial(_import, builtins.__import__, importing)))
        for place in (builtins, io):
            undo.enter_context(_replaced(place, "open", partial(_open, files, place.open)))
        undo.enter_context(own_generators())
        main = sys.modules["__main__"]
        sys.modules["__main__"] = Main(main)
        undo.callback(_put_back_main, main)
        yield files


_users = [0]  # of the replaced functions of random and numpy.random: whoever is last puts them back
_undo = ExitStack()
_lock = threading.Lock()


@contextmanager
def own_generators() -> Iterator[None]:
    """Inside, `random` and `numpy.random` are each simulated rank's own; unseeded, as in a new process."""
    with _lock:
        _users[0] += 1
        for place, make, kept in GENERATORS if _users[0] == 1 else ():
            for name in _drawing(place):
                _undo.enter_context(_replaced(place, name, partial(_draw, name, getattr(place, name), make, kept)))
    try:
        yield
    finally:
        with _lock:
            _users[0] -= 1
            if not _users[0]:
                _undo.close()


@contextmanager
def _replaced(place: Any, name: str, other: Any) -> Iterator[None]:
    """Another thing under a name; put back unless somebody else has put a third there meanwhile."""
    before = getattr(place, name)
    setattr(place, name, other)
    try:
        yield
    finally:
        if getattr(place, name) is other:
            setattr(place, name, before)


def _put_back_main(main: ModuleType) -> None:
    sys.modules["__main__"] = main


def _input(real: Callable[..., str], prompt: object = "", /) -> str:
    mine = page()
    if mine is None:
        return real(prompt)
    raise RankError(
        "ranks have no keyboard: under mpirun all but one would wait for it forever", f"input() on rank {mine.rank}",
        "ask in a cell of the notebook: ranks see its names",
    )  # fmt: skip


def _import(
    real: Callable[..., Any],
    importing: Callable[[int], AbstractContextManager[None]],
    name: str,
    *rest: Any,
    **named: Any,
) -> Any:
    mine = page()
    if mine is None or mine.imports or name in sys.modules:
        return real(name, *rest, **named)
    mine.imports = True
    try:
        with importing(mine.rank):
            return real(name, *rest, **named)
    finally:
        mine.imports = False


def _open(files: Files, real: Callable[..., Any], file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
    files.opened(file, mode)
    return real(file, mode, *rest, **named)


def _drawing(place: Any) -> list[str]:
    """The functions of a module that draw from its one hidden generator, or seed it: they are methods of it."""
    owner = place.uniform.__self__
    names = [name for name in dir(place) if not name.startswith("_")]
    return [n for n in names if getattr(getattr(place, n), "__self__", None) is owner or n in PLAIN]


def _draw(name: str, real: Callable[..., Any], make: Callable[..., Any], kept: str, *args: Any, **named: Any) -> Any:
    """Draw from the generator of this rank; it is made, unseeded as in a new process, when it is first used."""
    state = current().rank_state
    if "page" not in state and "draws" not in state:
        return real(*args, **named)
    if kept not in state:
        state[kept] = make()
    drawer = state[kept]
    return getattr(drawer, name if hasattr(drawer, name) else PLAIN[name])(*args, **named)
