"""Model checker: a receive from any rank may take one of several messages. Which ends can the program come to?

    def program(comm):
        if comm.rank == 0:
            return [comm.recv(source=ANY_SOURCE) for _ in range(2)]
        comm.send(comm.rank, dest=0)

    explore(3)(program)         2 ways through, 2 different ends
                                  1 way:  rank 0 [1, 2], ...
                                  1 way:  rank 0 [2, 1], ...

A receive or a probe from any rank, and a wait for any of several requests, is left open until no rank can run: then all
messages are there that it could get. One of them is chosen, and in another run another one, until every choice has been
made. Except for these, the order of turns does not matter to a program, so no end is overlooked. Only `iprobe` and
`test`, which look at a moment, are run in one order.

After Vo, Aananthakrishnan, Gopalakrishnan et al. 2010, "A scalable and distributed dynamic formal verifier for MPI
programs", and Vakkalanka et al. 2008, "Dynamic verification of MPI programs with reductions", whose order this is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jt_edu.base.plural import plural
from jt_edu.mpi.base.constants import ANY_SOURCE
from jt_edu.mpi.simulator.task import Task
from jt_edu.mpi.simulator.threads import Program, run_ranks
from jt_edu.mpi.simulator.world import Box, Letter, Receive, World
from jt_edu.mpi.trace.records import Record
from jt_edu.ops.arguments import whole


@dataclass
class Outcome:
    """One end that the program can come to.

    Attributes:
        results: by rank.
        error: what it failed with, if it did.
        ways: how many ways lead there.
        choices: the first of them, as sentences.
        record: of that way.
    """

    results: list[Any]
    error: BaseException | None
    choices: list[str]
    record: Record
    ways: int = 1

    def __str__(self) -> str:
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return ", ".join(f"rank {rank} {result!r}" for rank, result in enumerate(self.results))


@dataclass
class Exploration:
    """All ends of a program: `outcomes`, the most frequent first; `complete` if every way was gone."""

    outcomes: list[Outcome] = field(default_factory=list)
    ways: int = 0
    complete: bool = True

    @property
    def failures(self) -> list[Outcome]:
        """The ends that are errors."""
        return [o for o in self.outcomes if o.error is not None]

    def __repr__(self) -> str:
        many = "" if self.complete else ", and more ways that were not gone"
        rows = [f"{plural(self.ways, 'way')} through, {plural(len(self.outcomes), 'different end')}{many}"]
        for o in self.outcomes:
            rows += [f"  {plural(o.ways, 'way')}: {o}", *(f"      {choice}" for choice in o.choices)]
        return "\n".join(rows)


def explore(size: int, limit: int = 1000, **options: Any) -> Callable[[Program], Exploration]:
    """Run a program once for every choice that its receives from any rank have.

    Args:
        size: how many ranks.
        limit: the most ways to go.
        options: as for `simulate`.

    Raises:
        ArgumentError: the limit is no number from 1.

    Example:
        >>> def program(comm):
        ...     if comm.rank == 0:
        ...         return [comm.recv() for _ in range(2)]
        ...     comm.send(comm.rank, dest=0)
        >>> [outcome.results[0] for outcome in explore(3)(program).outcomes]
        [[1, 2], [2, 1]]
    """
    whole("explore", "limit", limit, 1)

    def run(program: Program) -> Exploration:
        told, ends, path = Exploration(), dict[str, Outcome](), list[int]()
        while True:
            guide = Guide(path)
            ran = run_ranks(size, program, choice=guide, **options)
            told.ways += 1
            outcome = Outcome(ran.results, ran.error, guide.said, ran.record)
            known = ends.setdefault(str(outcome), outcome)
            known.ways += known is not outcome
            next_path = guide.next_path()
            if next_path is None or told.ways == limit:
                told.complete = next_path is None
                told.outcomes = sorted(ends.values(), key=lambda o: -o.ways)
                return told
            path = next_path

    return run


class Guide:
    """Goes one way: takes the choices of `path`, and the first of all that come after."""

    def __init__(self, path: list[int]) -> None:
        self._path = path
        self._taken: list[tuple[int, int]] = []  # (which, of how many)
        self.said: list[str] = []

    def next_path(self) -> list[int] | None:
        """The way after this one, in the order of a depth-first search; None if this was the last."""
        taken = list(self._taken)
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        return [*(which for which, _ in taken[:-1]), taken[-1][0] + 1] if taken else None

    def __call__(self, world: World, waiting: list[Task]) -> bool:
        """Nobody can run: choose for one open receive, probe or wait; returns whether there was one with a choice."""
        for (plane, rank), box in sorted(world.boxes.items(), key=lambda item: item[0][1]):
            for receive in box.all_receives:
                letters = _candidates(box, receive)
                if receive.source == ANY_SOURCE and letters:
                    self._give(world, rank, box, receive, letters)
                    world.tidy(plane, rank)
                    return True
        for task in waiting:
            happened = [r for r in task.awaits.values() if r.done] if task.choosy else []
            if happened:
                which = self._choose(len(happened))
                task.chosen = happened[which]
                self._say(f"rank {task.rank} goes on with {task.chosen.words}", len(happened))
                task.baton.wake(task)
                return True
        return False

    def _give(self, world: World, rank: int, box: Box, receive: Receive, letters: list[Letter]) -> None:
        letter = letters[self._choose(len(letters))]
        self._say(
            f"rank {rank}, {receive.request.words} at {receive.request.line}: from rank {letter.source}", len(letters)
        )
        if receive in box.watchers:
            receive.request.value = letter
            receive.request.complete(letter.arrival)
            return
        box.receives.remove(receive)
        box.letters.remove(letter)
        world.join(letter, receive)
        _give_what_is_sure(world, box)

    def _choose(self, count: int) -> int:
        which = self._path[len(self._taken)] if len(self._taken) < len(self._path) else 0
        self._taken.append((which, count))
        return which

    def _say(self, text: str, count: int) -> None:
        if count > 1:
            self.said.append(text)


def _candidates(box: Box, receive: Receive) -> list[Letter]:
    """The letters that a receive may get: of each sender, the first that fits."""
    found: dict[int, Letter] = {}
    for letter in box.letters:
        if receive.takes(letter):
            found.setdefault(letter.source, letter)
    return list(found.values())


def _give_what_is_sure(world: World, box: Box) -> None:
    """Receives that had to wait for a choice before them, and have none themselves."""
    for receive in list(box.receives):
        if receive.source == ANY_SOURCE:
            return
        letters = _candidates(box, receive)
        if letters:
            box.receives.remove(receive)
            box.letters.remove(letters[0])
            world.join(letters[0], receive)
