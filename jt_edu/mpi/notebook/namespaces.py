"""Namespaces: one cell, run by several ranks, each with names of its own that stay.

    ranks = Namespaces(4)
    ranks.run("x = comm.allreduce(rank)")      what %%ranks 4 does
    ranks[2].x                                  6
    ranks["x"]                                  [6, 6, 6, 6]

A rank has its names, its settings and its random numbers, as a process of its own would have. From the notebook it
gets a copy of what its cells read; if the notebook gives such a name another thing later, ranks get a copy of that.
Only modules are shared, because Python has one of each: sharing_detector.py looks whether somebody changes something in
them.
"""

from __future__ import annotations

import builtins
import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

from jt_edu.base.context import Context, Flags, current
from jt_edu.base.errors import ArgumentError, RankError, UnknownNameError
from jt_edu.mpi.base.errors import RankStopped
from jt_edu.mpi.notebook.cell import GIVEN, Cell, CellRun, Told
from jt_edu.mpi.notebook.cell_pickle import Carrier, Parcel
from jt_edu.mpi.notebook.process import Files, Page, divided
from jt_edu.mpi.notebook.sharing_detector import Watch, strangers
from jt_edu.mpi.simulator.threads import MOST_RANKS, Simulation, ThreadComm, run_ranks
from jt_edu.mpi.trace.records import Record

Form = Callable[[Any], dict[str, Any] | None]  # a value -> what is shown of it, by kind; None: nothing


def _as_text(value: Any) -> dict[str, Any] | None:
    return None if value is None else {"text/plain": repr(value)}


class Names:
    """The names of one rank, as attributes."""

    def __init__(self, space: dict[str, Any]) -> None:
        self.__dict__ = space

    def __getattr__(self, name: str) -> Any:
        have = ", ".join(sorted(n for n in self.__dict__ if not n.startswith("_")))
        raise UnknownNameError(f"rank {self.__dict__.get('rank')} has no {name}", f"its names {have}")

    def __repr__(self) -> str:
        have = ", ".join(sorted(n for n in self.__dict__ if not n.startswith("_")))
        return f"rank {self.__dict__.get('rank')}: {have}"


class Namespaces:
    """Several ranks with names of their own, which live from cell to cell.

    Args:
        size: how many.

    Raises:
        ArgumentError: there cannot be so many.

    Example:
        >>> ranks = Namespaces(3)
        >>> run = ranks.run("x = comm.allgather(rank); x")
        >>> ranks[2].x, run.values[0]
        ([0, 1, 2], [0, 1, 2])
    """

    def __init__(self, size: int) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_RANKS:
            raise ArgumentError(f"there are 1 to {MOST_RANKS} ranks", repr(size), "%%ranks 4")
        self.size = size
        ids = current().ids  # of the notebook: a Var of a rank can be used there
        self.contexts = [Context(ids=ids) for _ in range(size)]
        self.spaces = [_empty(rank, size) for rank in range(size)]
        self.last: CellRun | None = None
        self.running: list[Told] = []  # what the ranks of this cell have told so far
        self._count = 0  # of cells
        self._flags = Flags()
        self._vars: list[dict[int, Any]] = [{} for _ in range(size)]
        self._carrier, self._seen = Carrier(), dict[str, Any]()
        self._seats: list[dict[str, Any]] = [{} for _ in range(size)]  # communicator and team, while cells end well

    @property
    def record(self) -> Record | None:
        """What the ranks said to each other in the last cell."""
        return self.last.record if self.last else None

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Names]:
        return (self[rank] for rank in range(self.size))

    def __getitem__(self, which: Any) -> Any:
        """The names of one rank, by its number; or what a name means on each rank, by the name."""
        if isinstance(which, str):
            return [getattr(names, which) for names in self]
        if isinstance(which, int) and not isinstance(which, bool) and 0 <= which < self.size:
            return Names(self.spaces[which])
        raise ArgumentError(f"ranks[...] takes a rank from 0 to {self.size - 1}, or a name", repr(which))

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def run(
        self, cell: Cell | str, home: dict[str, Any] | None = None, hidden: Mapping[str, Any] | None = None,
        form: Form = _as_text, **options: Any,
    ) -> CellRun:  # fmt: skip
        """Run a cell on all ranks. What fails is in the answer, not raised.

        Args:
            cell: its text, or what `Cell.parse` made of it.
            home: names of the notebook; ranks get copies of those that the cell reads.
            hidden: names in it that are not the learner's.
            form: what is shown of the value of the last expression; asked on its rank.
            options: policy, seed, network, faults, synchronous, while_waiting: see `run_ranks`.
        """
        self._count += 1
        cell = Cell.parse(cell, f"<cell {self._count}>") if isinstance(cell, str) else cell
        parcel, notes = self._parcel(cell, {} if home is None else home, hidden or {})
        self.running = told = [Told(Page(rank), running=True) for rank in range(self.size)]
        self._pass_flags()
        watch = Watch()
        with divided(watch.importing) as files:
            simulation, interrupt = self._simulate(self._program(cell, parcel, told, form, watch), options)
        for one in told:
            one.running = False
            if interrupt is not None:
                one.cause, one.error = "the cell was interrupted", one.error or (None if one.ended else RankStopped())
        run = CellRun(told, notes=[*notes, *watch.reports(cell, self.spaces[0]), *_clashes(files)])
        run.notes += strangers(cell, self.spaces[0])
        if simulation is not None:
            run.record, run.failure, run.failed_rank = simulation.record, simulation.error, simulation.failed_rank
            run.notes += _left_over(simulation.record)
        run.failure = interrupt or run.failure
        if run.failure is not None:
            self._seats = [{} for _ in range(self.size)]
        self.last = run
        return run

    def _simulate(
        self, program: Callable[[ThreadComm], Any], options: Mapping[str, Any]
    ) -> tuple[Simulation | None, BaseException | None]:
        """The simulation; None and why, if the learner stopped it."""
        try:
            return run_ranks(self.size, program, contexts=self.contexts, **options), None
        except (KeyboardInterrupt, RankError) as interrupt:  # the second says who would not stop
            return None, interrupt

    def _program(
        self, cell: Cell, parcel: Parcel, told: list[Told], form: Form, watch: Watch
    ) -> Callable[[ThreadComm], Any]:
        """What each rank does in its thread."""

        def program(comm: ThreadComm) -> Any:
            mine, space = told[comm.rank], self.spaces[comm.rank]
            state = current().rank_state
            state["page"], state["namespace"] = mine.page, space
            watch.hold(comm)
            try:
                self._sit_down(comm, state)
                mine.value = cell.run(state["communicator"], parcel, space, self._vars[comm.rank])
                mine.shown = form(mine.value)
                mine.ended = True
            except BaseException as error:
                mine.error = error
                raise
            finally:
                state.pop("page", None)
            return mine.value

        return program

    def _sit_down(self, comm: ThreadComm, state: dict[str, Any]) -> None:
        """Go on with the communicator of the last cell: what a rank has kept (groups, compiled steps) has it."""
        seat = self._seats[comm.rank]
        if seat:
            seat["communicator"].go_on(comm)
        else:
            current().due.clear()  # what a cell that failed had still to say
            seat |= {name: state[name] for name in ("communicator", "team")}
        state |= seat

    def _parcel(self, cell: Cell, home: dict[str, Any], hidden: Mapping[str, Any]) -> tuple[Parcel, list[str]]:
        """Copies of what the cell reads in the notebook and ranks do not have, and what there is to say about it."""
        asked = {n for n in cell.reads - {"ranks"} if n in home and hidden.get(n) is not home[n]}
        own = sorted(asked & set(GIVEN))
        parcel = self._carrier.pack(home, {n for n in asked - set(GIVEN) if self._is_new(n, home[n])})
        for name in {*parcel.names, *parcel.stuck, *(n for n in cell.sets if n in home)}:
            self._seen[name] = _remembered(home[name])
        for name in parcel.stuck:
            for space in self.spaces:
                space[name] = home[name]
        notes = [
            f"{n} is the notebook's own thing, for all ranks: it cannot be copied ({w})"
            for n, w in parcel.stuck.items()
        ]
        if own:
            notes.append(f"{' and '.join(own)}: here the ranks' own, and not what the notebook calls so")
        return parcel, notes

    def _is_new(self, name: str, thing: Any) -> bool:
        """Whether the notebook has given a name another thing since ranks got it."""
        seen = self._seen.get(name, self)
        return (seen() if isinstance(seen, weakref.ref) else seen) is not thing

    def _pass_flags(self) -> None:
        """Flags that the notebook has set since the last cell hold for ranks too."""
        flags = current().flags
        for name, value in vars(flags).items():
            if getattr(self._flags, name) != value:
                for context in self.contexts:
                    setattr(context.flags, name, value)
        self._flags = copy(flags)


def _empty(rank: int, size: int) -> dict[str, Any]:
    return {"__name__": "__main__", "__builtins__": builtins, "__doc__": None, "rank": rank, "size": size}


def _remembered(thing: Any) -> Any:
    """A thing, so that it can be told from another; what the notebook forgets should not live on here."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return thing


def _left_over(record: Record) -> list[str]:
    """What the next cell cannot take up."""
    told = record.warnings
    more = f", and {len(told) - 1} more like this" if len(told) > 1 else ""
    return [f"{told[0]}{more}: with its cell it is gone; receive and wait in the same cell"] if told else []


def _clashes(files: Files) -> list[str]:
    return [
        f"ranks {a} and {b} both write {path}: under mpirun they would do so at the same time"
        for path, (a, b) in itertools.islice(files.clashes.items(), 5)
    ]
