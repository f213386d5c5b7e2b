"""Roll call: who has come to a collective of a real MPI, which names nobody that is missing?

rank 0      waits; after a moment "I am at number 5"  ---->  everyone
rank 1      is not there, and says nothing
rank 2      waits; after a moment "I am at number 5"  ---->  everyone
            the time is up: who has said nothing is named, and rank 2 does not blame rank 0, which waits like itself

A collective that goes well is over before the moment is: then nothing is sent. Notes travel beside the messages of the
program, on MPI's own communicator `side` under the tag that is free there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

TAG = 0  # see jt_edu/mpi/mpi4py_backend/object_message.py
MOMENT = 0.1  # seconds of waiting before a rank says where it is
NAP = 2e-5  # seconds between two looks
ROOTED = ("bcast", "scatter", "reduce", "gather")  # some ranks are through with these before others have come


class Roll:
    """What the ranks of one group have said about where they wait.

    Args:
        side: a communicator of mpi4py for the ranks of the group.
    """

    def __init__(self, side: Any) -> None:
        self._side = side
        self._at = [0] * side.size  # the last collective that each rank said it waits in
        self._under_way: list[Any] = []  # notes: (MPI's request, the number that it sends)

    def wait(self, happened: Callable[[], bool], number: int, seconds: float) -> list[int]:
        """Come back when it has happened, with []; or when the time is up, with the ranks that gave no word.

        Args:
            happened: asked again and again.
            number: of the collective, which is the same on all ranks.
            seconds: how long.
        """
        moment = min(MOMENT, seconds / 4)
        if _until(happened, moment):
            return []
        self._tell(number)
        if _until(happened, seconds - moment):
            return []
        missing: list[int] = []

        def all_said() -> bool:
            missing[:] = self._silent(number)
            return not missing or happened()

        _until(all_said, 2 * moment)  # who came just before the end has not told yet
        return [] if happened() else missing or [r for r in range(self._side.size) if r != self._side.rank]

    def _tell(self, number: int) -> None:
        """Say to everyone where this rank is; nobody has to listen."""
        self._under_way = [(request, note) for request, note in self._under_way if not request.Test()]
        for rank in range(self._side.size):
            if rank != self._side.rank:
                note = np.array([number])
                self._under_way.append((self._side.Isend(note, rank, TAG), note))

    def _silent(self, number: int) -> list[int]:
        """The ranks that have not said that they came as far."""
        note = np.zeros(1, np.int64)
        for rank in range(self._side.size):
            while self._side.Iprobe(rank, TAG):
                self._side.Recv(note, rank, TAG)
                self._at[rank] = int(note[0])
        return [r for r in range(self._side.size) if r != self._side.rank and self._at[r] < number]


def absence(kind: str, silent: list[int], seconds: float, told_to: bool) -> str:
    """What is known when the time is up, in words.

    Args:
        kind: of the collective.
        silent: ranks of the world that gave no word.
        seconds: how long they were waited for.
        told_to: whether the time was that of this wait, and not of the group.

    Example:
        >>> absence("allreduce", [1], 5.0, False)
        'no word from rank 1 within 5 s'
        >>> absence("bcast", [0, 1], 5.0, False)
        'no word from ranks 0, 1 within 5 s (who is through with a bcast gives none)'
    """
    through = [f"who is through with a {kind} gives none"] * (kind in ROOTED)
    patient = ["who waits without a timeout gives none"] * told_to
    rest = " and ".join([*through, *patient])
    who = f"rank{'s' * (len(silent) > 1)} {', '.join(map(str, silent))}"
    return f"no word from {who} within {seconds:g} s" + (f" ({rest})" if rest else "")


def _until(happened: Callable[[], bool], seconds: float) -> bool:
    """Whether it happens within some seconds."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(NAP)
    return True
