"""Sharing detector: does a cell work only because its ranks share a process?

    tally.py     seen = []                        one list, for all simulated ranks; one for each under mpirun

    rank 0       tally.seen.append(rank)          [0]
    rank 1       tally.seen.append(rank)          [0, 1], where it would be [1] on a rank of its own

Ranks have names of their own, but a module is there once. So the learner's own modules are watched: all that can be
reached from them (lists, dicts, arrays, attributes of classes and functions, default arguments, variables that a
function keeps), the environment and the working directory. Whenever the baton is about to leave a rank, what has
changed since was changed by that rank. Reading is no news, and what others wrote (NumPy, jt_edu) is not looked at.

It costs what it may: a part of a second in each cell, and so many things. What is over it is looked at less often.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from jt_edu.base.tracebacks import is_learners
from jt_edu.capture.guards import content
from jt_edu.mpi.notebook.cell import Cell, ranks_named
from jt_edu.variable.var import Var

MOST_THINGS = 5_000
MOST_ITEMS = 1_000  # of one list, at each end
MOST_BYTES = 1 << 20  # of one array, at each end
MOST_REPORTS = 5
SOMEBODY = -1  # a rank; it is not known which
SECONDS = 0.25  # for one cell, until only the ends of ranks are looked at
HEAD = """This works here, and would not under mpirun. Simulated ranks share what stands in modules;
there each rank has its own, and sees nothing of what another one changes:"""
TAIL = "Try: let ranks send it to each other, by comm.allgather or comm.bcast."
MPI4PY = "mpi4py knows processes, and these ranks are threads of one: here it says rank 0 of 1 on every rank."
DOOR = "Try: from jt_edu.mpi import MPI, which has its names, on these ranks and under mpirun."
MADE_BY_LIBRARIES = ("_", "cython")
MAIN = ("__main__", "__mp_main__")  # each rank has its own
PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(...))


@dataclass
class Thing:
    """Something that all ranks share: how one reaches it, and what it was when it was last looked at."""

    path: str
    thing: Any
    words: tuple[str, ...]  # by which a cell would mention it, the best one first
    mark: Any = None
    changes: dict[str, set[int]] = field(default_factory=dict)  # what of it was changed -> by which ranks


class Watch:
    """Looks after what the ranks of one cell share."""

    def __init__(self) -> None:
        self._things: dict[int, Thing] = {}
        self._spent = 0.0
        self._known = -1  # how many modules there were when we last looked for new ones
        self._look(None)

    def hold(self, comm: Any) -> None:
        """Be told whenever a turn of a rank is over."""
        comm.world.baton.turn_ends = self.turn_ended

    def turn_ended(self, task: Any) -> None:
        """A rank gives the baton away, or has come to its end."""
        if self._spent < SECONDS:
            begin = time.thread_time()
            self._look(task.rank)
            self._spent += time.thread_time() - begin
        elif task.state == "ended":
            self._look(SOMEBODY)

    @contextmanager
    def importing(self, rank: int) -> Iterator[None]:
        """A rank imports a module for the first time: what that does is no change, but there is more to watch."""
        self._look(rank)
        yield
        self._look(None)

    def reports(self, cell: Cell, space: Mapping[str, Any] | None = None) -> list[str]:
        """What to tell, if ranks changed something that they share.

        Args:
            cell: which they ran.
            space: the names of one of them: what it calls a module.
        """
        libraries = () if cell.lines_with("environ") else (os.environ,)  # which set variables for their own use
        things = [t for t in self._things.values() if not any(t.thing is one for one in libraries)]
        changed = [(t, path, ranks) for t in things for path, ranks in t.changes.items()]
        rows = [
            _told(path, sorted(ranks), (*thing.words, *_called(path, space or {})), cell)
            for thing, path, ranks in changed[:MOST_REPORTS]
        ]
        if len(changed) > MOST_REPORTS:
            rows.append(f"and {len(changed) - MOST_REPORTS} more")
        return ["\n".join([HEAD, *(f"  {row}" for row in rows), TAIL])] if rows else []

    def _look(self, rank: int | None) -> None:
        for thing in list(self._things.values()):
            mark = _mark(thing.thing)
            if mark != thing.mark:
                if rank is not None:
                    for path in _changed(thing, mark):
                        thing.changes.setdefault(path, set()).add(rank)
                thing.mark = mark
                self._find(thing)
        if len(sys.modules) != self._known:
            self._known = len(sys.modules)
            self._find_modules()

    def _find_modules(self) -> None:
        """The learner's own modules, and what belongs to the process."""
        self._add(Thing("os.environ", os.environ, ("environ", "putenv")))
        self._add(Thing("the working directory", os.getcwd, ("chdir",)))
        for name, module in list(sys.modules.items()):
            if name not in MAIN and isinstance(module, ModuleType) and _is_learners_module(name, module):
                self._add(Thing(name, module, (name.rpartition(".")[2],)))

    def _add(self, thing: Thing) -> None:
        """Watch a thing, and all that is inside it."""
        if id(thing.thing) not in self._things and len(self._things) < MOST_THINGS:
            thing.mark = _mark(thing.thing)
            self._things[id(thing.thing)] = thing
            self._find(thing)

    def _find(self, thing: Thing) -> None:
        """Watch what is inside a thing, if it is not watched yet."""
        for path, inner in _inside(thing):
            if not isinstance(inner, PLAIN) and id(inner) not in self._things and _is_watched(inner):
                self._add(Thing(path, inner, (path.rpartition(".")[2], *thing.words)))


def _file(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or "")


def _is_learners_module(name: str, module: ModuleType) -> bool:
    """Whether a module is the learner's own: from a file of theirs, or made by hand (libraries make some as well)."""
    if _file(module) or getattr(module, "__spec__", None) is not None:
        return is_learners(_file(module))
    package = sys.modules.get(name.partition(".")[0], module)
    return package is module and not name.startswith(MADE_BY_LIBRARIES)


def _called(path: str, space: Mapping[str, Any]) -> list[str]:
    """What a rank calls the module in which a path begins, and what it has from there."""
    root = next((m for k, m in list(sys.modules.items()) if path == k or path.startswith(f"{k}.")), None)
    if root is None:
        return []
    own = [n for n, v in list(space.items()) if v is root]
    return own + [n for n, v in list(space.items()) if getattr(v, "__module__", None) == root.__name__]


def strangers(cell: Cell, space: Mapping[str, Any]) -> list[str]:
    """What to tell of a cell that speaks through mpi4py itself: that sees one process, and so one rank."""
    words = cell.lines_with("mpi4py")
    held = {n for n in cell.reads | cell.sets if getattr(space.get(n), "__name__", "").startswith("mpi4py")}
    lines = words or [line for name in sorted(held) for line in cell.lines_with(name)[:1]]
    return [f"{MPI4PY}\n      line {lines[0]}\n{DOOR}"] if lines else []


def _is_watched(thing: Any) -> bool:
    """Whether a thing can change, and is the learner's: nobody looks into those of libraries."""
    if isinstance(thing, (list, dict, set, bytearray, np.ndarray, Var, itertools.count, tuple)):
        return True
    if isinstance(thing, ModuleType):
        return False  # modules are watched as such
    if isinstance(thing, FunctionType):
        return is_learners(thing.__code__.co_filename)
    kind = thing if isinstance(thing, type) else type(thing)
    return is_learners(_file(sys.modules.get(kind.__module__, sys))) and hasattr(thing, "__dict__")


def _mark(thing: Any) -> Any:
    """Something that differs when a thing has changed itself; what is inside it has marks of its own."""
    if thing is os.getcwd:
        return str(Path.cwd())
    if isinstance(thing, Var):
        return id(thing.node)
    if isinstance(thing, np.ndarray):
        return thing.shape, str(thing.dtype), _sum_of(thing)
    if isinstance(thing, bytearray):
        return len(thing), zlib.crc32(thing[:MOST_BYTES])
    if isinstance(thing, itertools.count):
        return repr(thing)
    if isinstance(thing, (list, tuple)):
        return len(thing), [_atom(item) for item in _ends(thing)]
    if isinstance(thing, (set, frozenset)):
        return len(thing), frozenset(_atom(item) for item in itertools.islice(thing, MOST_ITEMS))
    return _table_mark(_table(thing))


def _table_mark(table: Any) -> Any:
    return {_atom(k): _atom(v) for k, v in itertools.islice(list(table.items()), 2 * MOST_ITEMS)}


def _table(thing: Any) -> Any:
    """What a thing knows by name: items of a dict, attributes of everything else."""
    if isinstance(thing, dict):
        return thing
    if thing is os.environ:
        return dict(os.environ)
    if isinstance(thing, FunctionType):
        closure = dict(zip(thing.__code__.co_freevars, map(content, thing.__closure__ or ()), strict=True))
        return {**thing.__dict__, **closure}
    hidden = {"__builtins__", "__warningregistry__", "__annotations__", "__doc__", "__dict__", "__weakref__"}
    return {k: v for k, v in list(vars(thing).items()) if k not in hidden}


def _atom(item: Any) -> Any:
    """What tells one item from another: its value if that cannot change, or else which thing it is."""
    if isinstance(item, float) and math.isnan(item):
        return "nan"
    return (type(item), item) if isinstance(item, PLAIN) else id(item)


def _ends(items: Any) -> Any:
    return items if len(items) <= 2 * MOST_ITEMS else [*items[:MOST_ITEMS], *items[-MOST_ITEMS:]]


def _sum_of(array: np.ndarray[Any, Any]) -> Any:
    """A checksum of numbers; of a large array, of its beginning, its end, and some between."""
    if array.dtype.hasobject:
        return [_atom(item) for item in _ends(array.ravel().tolist())]
    flat = array.reshape(-1)
    most = MOST_BYTES // max(1, array.itemsize)
    if flat.size > 2 * most:
        flat = np.concatenate([flat[:most], flat[:: flat.size // most + 1], flat[-most:]])
    return zlib.crc32(np.ascontiguousarray(flat).tobytes())


def _inside(thing: Thing) -> Iterator[tuple[str, Any]]:
    """(path, thing) of what one reaches from a thing."""
    inner, path = thing.thing, thing.path
    if isinstance(inner, (Var, np.ndarray, bytearray, itertools.count)) or inner is os.getcwd or inner is os.environ:
        return
    if isinstance(inner, (list, tuple, set)):
        yield from ((f"{path}[{k}]", item) for k, item in enumerate(_ends(list(inner))))
        return
    if isinstance(inner, FunctionType):
        yield from _kept_by(inner, path)
    shown: Callable[[Any], str] = (lambda k: f"{path}[{k!r}]") if isinstance(inner, dict) else (lambda k: f"{path}.{k}")
    for name, item in list(_table(inner).items()):
        yield shown(name), item.__func__ if isinstance(item, (staticmethod, classmethod)) else item


def _kept_by(function: FunctionType, path: str) -> Iterator[tuple[str, Any]]:
    """Default arguments of a function."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    named = list(zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True))
    for name, value in [*named, *(function.__kwdefaults__ or {}).items()]:
        yield f"the default argument {name} of {path}", value


def _changed(thing: Thing, mark: Any) -> list[str]:
    """What of a thing has changed: the names in a module, a class, a function or an object; or all of it."""
    if isinstance(thing.thing, (dict, list, tuple, set, np.ndarray, Var)) or not isinstance(mark, dict):
        return [thing.path]
    names = [k for k in {**thing.mark, **mark} if thing.mark.get(k) != mark.get(k)]
    form = "{}[{!r}]" if thing.thing is os.environ else "{}.{}"
    return [form.format(thing.path, name[1]) for name in names]  # of (type, name)


def _told(path: str, ranks: list[int], words: tuple[str, ...], cell: Cell) -> str:
    found = (cell.lines_with(word) for word in (path.rpartition(".")[2], *words))
    where = "".join(f"\n      line {line}" for line in next(filter(None, found), [])[:3])
    sure = [rank for rank in ranks if rank != SOMEBODY]
    others = ["others perhaps (there is too much to look at it all the time)"] * (SOMEBODY in ranks)
    return f"{path}, changed by {' and '.join([*([ranks_named(sure)] if sure else []), *others])}{where}"
