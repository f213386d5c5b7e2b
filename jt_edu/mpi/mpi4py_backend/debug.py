"""Debug: real ranks that say what is wrong, where MPI would hang without a word.

fingerprints    before each collective all ranks tell each other what they are about to call; if that differs, every one
                of them raises a MismatchError that names all calls
watch           a thread of each rank looks at the board: if nothing moves, and everyone waits for somebody who will not
                come, it says who waits for whom, as simulated ranks do, and ends the job

How long nothing has moved is counted in looks of every rank, and not in seconds: a rank that is behind because the
machine is busy has not looked either.

On in notebooks and under `python -m jt_edu.run`, where JT_EDU_MPI_DEBUG=0 switches it off; elsewhere JT_EDU_MPI_DEBUG=1
switches it on. It costs some microseconds for each call, and one small collective more for each collective.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.base.errors import JtError
from jt_edu.mpi.base.constants import ANY_TAG
from jt_edu.mpi.base.deadlock_hints import RECEIVE, SEND, Wait
from jt_edu.mpi.base.errors import DeadlockError, MismatchError
from jt_edu.mpi.communicator.collective_args import Ask, Visit, Way
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.mpi4py_backend.progress import Place
from jt_edu.mpi.mpi4py_backend.status_board import Board, State
from jt_edu.mpi.simulator import deadlock_report

if TYPE_CHECKING:
    from jt_edu.mpi.mpi4py_backend.communicator import MPIComm

LOOK = 0.1  # seconds between two looks
STILL = 10  # looks of every rank without a move before the watch looks closer
PATIENCE = 200  # and before it believes that a message which could be on its way is not
COURTESY = 10  # looks in which the other ranks may say what they know, before the job ends
LONGEST = 20.0  # seconds that this takes at most: a rank that computes without an end may never look
PRINT = 1024  # bytes of a fingerprint
STANDSTILL = DeadlockError.__name__  # how a rank ends that has found it out


def board_for(raw: Any) -> Board | None:
    """The board of a job, if somebody wants to read it: the notebook that started it, or debug mode."""
    debug = is_on()
    folder = os.environ.get("JT_EDU_MPI_FOLDER")
    if not debug and folder is None:
        return None
    if folder is None:
        folder = raw.bcast(tempfile.mkdtemp(prefix="jt_edu_ranks_") if raw.rank == 0 else None, 0)
    board = Board(Path(folder) / "board", raw.size, raw.rank, debug, passing="JT_EDU_MPI_FOLDER" not in os.environ)
    atexit.register(board.leave)
    raw.Barrier()  # every slot has been written
    return board


def is_on() -> bool:
    """Whether debug mode is: as JT_EDU_MPI_DEBUG says; else under the runner, where all ranks are on one machine."""
    said, told, here = os.environ.get("JT_EDU_MPI_DEBUG"), launch.told(), launch.neighbours()
    if said is not None:
        return said not in ("", "0")
    return "jt_edu.run" in sys.orig_argv and told is not None and here is not None and here[1] == told[1]


# fingerprints


def agreed(comm: MPIComm, visit: Visit, way: Way, place: Place) -> Comparison | None:
    """Compare what all ranks call; for a collective in the background, begin to.

    Raises:
        MismatchError: they call different things.
    """
    board = comm.journal.board
    if board is None or not board.debug:
        return None
    comparison = Comparison(comm, visit, way)
    if way.background:
        comparison.begin()
        return comparison
    with comm.task.blocked(visit.request, place):
        comparison.compare()
    return None


class Comparison:
    """The fingerprints of one collective, in the form of a request."""

    def __init__(self, comm: MPIComm, visit: Visit, way: Way) -> None:
        self.comm, self.visit, self.sequence = comm, visit, way.sequence
        ask = visit.ask
        line = ask.line
        while len(mine := pickle.dumps((ask.name, ask.agree, line, visit.call.enter))) > PRINT:
            line = line[: len(line) // 2]
        self.mine = np.frombuffer(mine.ljust(PRINT, b"\0"), np.uint8)
        self.all = np.empty((comm.size, PRINT), np.uint8)
        self.raw: Any = None

    def compare(self) -> None:
        """Wait for the others, and look."""
        self.comm.side.Allgather(self.mine, self.all)
        self._look()

    def begin(self) -> None:
        """Tell the others, and do not wait."""
        self.raw = self.comm.side.Iallgather(self.mine, self.all)

    def Wait(self, status: Any = None) -> None:
        """Wait for the others, and look."""
        self.raw.Wait()
        self._look()

    def Test(self, status: Any = None) -> bool:
        """Whether the others have told; then look."""
        if not self.raw.Test():
            return False
        self._look()
        return True

    def _look(self) -> None:
        told = [pickle.loads(row.tobytes()) for row in self.all]  # noqa: S301 - another rank of the same program
        self.visit.call.ready = max(enter for *_, enter in told)
        if any((name, agree) != told[0][:2] for name, agree, _, _ in told):
            asks = {self.comm.members[k]: Ask(name, agree, line) for k, (name, agree, line, _) in enumerate(told)}
            raise MismatchError(*deadlock_report.disagreement(asks, self.sequence))


class Checked:
    """A request of MPI that is looked at only when the fingerprints of all ranks agree."""

    def __init__(self, comparison: Comparison, raw: Any) -> None:
        self._comparison: Comparison | None = comparison
        self._raw = raw

    def Wait(self, status: Any = None) -> bool:
        """Wait for both."""
        if self._comparison is not None:
            self._comparison.Wait()
            self._comparison = None
        self._raw.Wait(status)
        return True

    def Test(self, status: Any = None) -> bool:
        """Whether both have happened."""
        if self._comparison is not None:
            if not self._comparison.Test():
                return False
            self._comparison = None
        return bool(self._raw.Test(status))


# watch


Tell = Callable[[JtError], None]


def watch(board: Board, tell: Tell, abort: Callable[[], None]) -> None:
    """Begin to look for standstill, in a thread of its own.

    Args:
        board: what the ranks do.
        tell: what this rank does with the explanation.
        abort: ends all ranks.
    """
    threading.Thread(target=_look_for_standstill, args=(board, tell, abort), name="jt_edu watch", daemon=True).start()


def _look_for_standstill(board: Board, tell: Tell, abort: Callable[[], None]) -> None:
    counts, since = board.counts(), board.looked()
    while not board.state.ended:
        time.sleep(LOOK)
        board.looks()
        now = board.counts()
        if now != counts and not any(s.ended == STANDSTILL for s in board.states()):  # who found it waits for us
            counts, since = now, board.looked()
        elif (still := looks_of_all(board, since)) > STILL and board.state.waits is not None:
            error = why_still(board.states(), still > PATIENCE)
            if error is not None:
                tell(error)
                board.ends(type(error).__name__)
                leave_together(board, COURTESY)
                board.discard()
                abort()


def looks_of_all(board: Board, since: Sequence[int]) -> int:
    """How often the others have looked since then that are still there: the one that did so least."""
    rows = zip(board.states(), since, board.looked(), strict=True)
    return min((now - then for state, then, now in rows if not state.ended and state.is_alive), default=PATIENCE)


def leave_together(board: Board, looks: int) -> None:
    """Wait until every rank has said how it ends, but not for long."""
    until, since = time.monotonic() + LONGEST, board.looked()
    while time.monotonic() < until and looks_of_all(board, since) < looks:
        time.sleep(LOOK / 10)


def why_still(states: list[State], long: bool = False) -> JtError | None:
    """Why nothing will move again; None if something might, and it has not been so for long."""
    waiting = {rank: s.waits for rank, s in enumerate(states) if s.waits is not None and s.ended in ("", STANDSTILL)}
    gone = {rank: s for rank, s in enumerate(states) if rank not in waiting and (s.ended or not s.is_alive)}
    if not waiting or len(waiting) + len(gone) < len(states):
        return None
    entries = [
        Wait(rank, **{name: fact for name, fact in w.items() if name != "place"} | {"peers": _peers(w, waiting)})
        for rank, w in waiting.items()
    ]
    gone_without_a_word = any(not s.ended for s in gone.values())  # the launcher ends all, and its job knows more
    if not long and (gone_without_a_word or any(not e.peers for e in entries) or _is_under_way(entries)):
        return None
    lost = {rank: f"is gone{s.last_call()}" for rank, s in gone.items() if s.ended != "well"}
    return deadlock_report.standstill(entries, lost, {rank: s.last_call() for rank, s in gone.items()})


def _is_under_way(waits: Sequence[Wait]) -> bool:
    """Whether one rank sends what another receives: a long message takes its time."""
    return any(
        out.rank in into.peers and into.rank in out.peers and into.tag in (out.tag, ANY_TAG)
        for out in waits if out.kind == SEND
        for into in waits if into.kind == RECEIVE
    )  # fmt: skip


def _peers(wait: dict[str, Any], waiting: dict[int, dict[str, Any]]) -> tuple[int, ...]:
    """For whom a rank waits: in a collective, for those that have not come to it."""
    place = wait["place"]
    return tuple(p for p in wait["peers"] if place is None or p not in waiting or waiting[p]["place"] != place)


def print_explanation(board: Board) -> Tell:
    """For a job without a notebook: the rank that finds it out first prints it for all."""

    def tell(error: JtError) -> None:
        if board.is_first():
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()

    return tell
