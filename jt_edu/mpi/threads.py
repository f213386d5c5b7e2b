"""Threads: four ranks in one notebook.

    def program(comm):                       runs once for each rank, in a thread and a context of its own
        return comm.allreduce(comm.rank)

    simulate(4)(program)                     [6, 6, 6, 6], and what they said to each other is in `.record`

A simulation is deterministic, and it cannot hang: a deadlock is found at once and explained, an exception on one rank
ends the others, an interrupt ends all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.errors import ArgumentError, RankError
from jt_edu.mpi.collective import Collectives
from jt_edu.mpi.faults import Faults
from jt_edu.mpi.names import UNDEFINED
from jt_edu.mpi.network import Clock, Network
from jt_edu.mpi.records import Record
from jt_edu.mpi.world import World
from jt_edu.settings import rank_context

MOST_RANKS = 4096


class ThreadComm(Collectives):
    """A simulated rank's communicator: everything of comm.py and collective.py, and the making of groups."""

    def Dup(self) -> ThreadComm:
        """The same group, whose messages do not meet those of this communicator."""
        return self._group(*self._meet("Dup", None, finish=lambda _: (self.members, (self.plane, "dup", self._met))))

    def Split(self, color: int = 0, key: int = 0) -> ThreadComm | None:
        """The group of all ranks that call with the same color, ordered by key and then by rank.

        A rank whose color is UNDEFINED is in none, and gets None.
        """
        for name, value in (("color", color), ("key", key)):
            if not isinstance(value, int) or (name == "color" and value < 0 and value != UNDEFINED):
                raise ArgumentError(f"Split takes a whole number as {name}, from 0 for a color", repr(value))
        everyone = self._meet("Split", (color, key), finish=list)
        mine = sorted((k, rank) for rank, (c, k) in enumerate(everyone) if c == color)
        if color == UNDEFINED:
            return None
        return self._group(tuple(self.members[rank] for _, rank in mine), (self.plane, "split", self._met, color))

    def _group(self, members: tuple[int, ...], plane: Any) -> ThreadComm:
        return ThreadComm(self.world, self.task, members, plane, f"group of {len(members)}")

    def Free(self) -> None:
        """This communicator is not used any more; who uses it all the same is told."""
        self.freed = True

    def Abort(self, errorcode: int = 0) -> None:
        """End all ranks."""
        raise RankError(f"rank {self.rank} called Abort", f"error code {errorcode}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank {self.rank} of {self.size})"


class SoloComm(ThreadComm):
    """The communicator of a program that runs alone: rank 0 of 1, in the thread that asks."""

    def __init__(self, network: Network | None = None) -> None:
        world = World(1, network=network)
        task = world.baton.adopt(0, "rank 0", Clock(world.network))
        super().__init__(world, task, (0,), "world", "world")


class Simulation:
    """What came of a simulation: `results` by rank, the `record`, and the error that ended it, if one did."""

    def __init__(self, world: World) -> None:
        self.world, self.results = world, [None] * world.size
        self.error: BaseException | None = None
        self.failed_rank: int | None = None

    @property
    def record(self) -> Record:
        """What the ranks said to each other."""
        return self.world.record


Program = Callable[[ThreadComm], Any]


def run_ranks(
    size: int, program: Program, *, policy: str | Sequence[int] = "round_robin", seed: int = 0,
    network: Network | None = None, faults: Faults | None = None, synchronous: bool = False,
    contexts: Sequence[Any] = (),
) -> Simulation:  # fmt: skip
    """Run a program on simulated ranks, and wait for all of them; an error is in the answer, not raised.

    Args:
        size: how many ranks.
        program: a function of the communicator of a rank.
        policy, seed, network, faults, synchronous: see `World`.
        contexts: one context of settings for each rank, to go on with; fresh ones by default.
    """
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_RANKS:
        raise ArgumentError(f"there are 1 to {MOST_RANKS} ranks", repr(size), "simulate(4)")
    world = World(size, policy, seed, network, faults, synchronous)
    told = Simulation(world)
    members = tuple(range(size))

    def body(rank: int) -> Callable[[], None]:
        def run() -> None:
            with rank_context(contexts[rank] if contexts else None) as context:
                comm = ThreadComm(world, world.baton.tasks[rank], members, "world", "world")
                context.rank_state["communicator"] = comm
                told.results[rank] = program(comm)
                world.ended.setdefault(rank, "")

        return run

    before = threading.stack_size(1 << 20 if size > 64 else 0)
    try:
        for rank in range(size):
            world.baton.add(rank, f"rank {rank}", Clock(world.network), body(rank))
    finally:
        threading.stack_size(before)
    _wait(world)
    world.record.schedule = world.baton.schedule
    if world.baton.failure is not None:
        task, told.error = world.baton.failure
        told.failed_rank = None if task is None else task.rank
        world.record.failure = f"{type(told.error).__name__}: {told.error}"
    return told


def _wait(world: World) -> None:
    """Until all ranks have ended; an interrupt ends them."""
    world.baton.start()
    try:
        while not world.baton.finished.wait(0.1):
            pass
    except BaseException as error:
        left = world.baton.stop(error)
        if left:
            names = ", ".join(t.name for t in left)
            raise RankError("an interrupt ends all ranks", f"{names} in code that cannot be interrupted") from error
        raise


def simulate(size: int, **options: Any) -> Callable[[Callable[..., Any]], list[Any]]:
    """Run a function on simulated ranks, in threads of this process; answers what it returns on each.

    Args:
        size: how many ranks.
        options: policy="round_robin", "random" or "clock"; seed; network=Network(...); faults=Faults(...);
            synchronous=True makes every send wait for its receive.

    Raises:
        RankError: a rank failed; the error of the first that did is its cause, and says which rank it was.

    Example:
        >>> simulate(3)(lambda comm: comm.allreduce(comm.rank + 1))
        [6, 6, 6]
    """

    def run(program: Callable[..., Any]) -> list[Any]:
        told = run_ranks(size, program, **options)
        if told.error is not None:
            raise_failure(told)
        return told.results

    return run


def raise_failure(told: Simulation) -> None:
    """Raise the error that ended a simulation: errors of the ranks' world as they are, others with their rank."""
    error = told.error
    assert error is not None, "only a simulation that failed has a failure"
    if isinstance(error, RankError) or told.failed_rank is None:
        raise error
    found = f"{type(error).__name__}: {error}"
    raise RankError(f"every rank comes to its end, and rank {told.failed_rank} did not", found) from error
