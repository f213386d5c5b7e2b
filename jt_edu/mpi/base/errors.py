"""Errors of ranks, each naming who did what.

    RankError
    ├── CallError          (ArgumentError)  a rank, a root or a tag that is not there
    ├── DeadlockError      every rank waits for another
    ├── MismatchError      ranks that meet in one collective call it differently
    ├── TruncationError    a message longer than the room that was made for it
    ├── RankTimeoutError   (TimeoutError)  somebody did not come in time
    ├── LookedInVainError  a loop that looks for something, or at the clock, and would not end
    └── LostRankError      a rank ended, or was dropped, while others counted on it

`RankStopped` is no error of the learner: it ends a rank whose world has failed, and so it is not caught by `except
Exception`.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.base.plural import singular

__all__ = ["DeadlockError", "LookedInVainError", "LostRankError", "MismatchError", "RankTimeoutError",
           "TruncationError"]  # fmt: skip
CLASSES = (  # what MPI calls errors; their numbers are their places
    "SUCCESS", "ERR_BUFFER", "ERR_COUNT", "ERR_TYPE", "ERR_TAG", "ERR_COMM", "ERR_RANK", "ERR_ROOT", "ERR_GROUP",
    "ERR_OP", "ERR_TOPOLOGY", "ERR_DIMS", "ERR_ARG", "ERR_UNKNOWN", "ERR_TRUNCATE", "ERR_OTHER", "ERR_INTERN",
    "ERR_IN_STATUS", "ERR_PENDING", "ERR_REQUEST",
)  # fmt: skip


def error_class(error: Any) -> int:
    """MPI's number for errors of this kind: ERR_OTHER for those that have no class of their own."""
    return CLASSES.index(getattr(error, "named", "ERR_OTHER"))


RankError.error_class = RankError.error_code = property(error_class)  # type: ignore[attr-defined]
RankError.Get_error_class = RankError.Get_error_code = error_class  # type: ignore[attr-defined]
RankError.Get_error_string = RankError.__str__  # type: ignore[attr-defined]


class _ToldError(RankError):
    """An error with a row for each rank: what to try stands in a row of its own."""

    def __init__(self, asked: str, found: str = "", attempt: str = "") -> None:
        super().__init__(asked, found, attempt)
        if "\n" in found:
            self.args = (singular(f"{asked}; found {found}" + (f"\n  try: {attempt}" if attempt else "")),)


class CallError(ArgumentError, RankError):
    """A call names a rank, a root or a tag that is not there, or attaches a second buffer.

    Example:
        >>> simulate(1)(lambda comm: comm.send(1, dest=3))
        Traceback (most recent call last):
        CallError: ...
    """

    def of(self, name: str) -> CallError:
        """The same error, which MPI counts to that class."""
        self.named = name
        return self


class DeadlockError(_ToldError):
    """Every rank waits for another, so no rank can ever continue.

    Example:
        >>> simulate(2)(lambda comm: comm.recv(source=1 - comm.rank))
        Traceback (most recent call last):
        DeadlockError: ...
    """


class MismatchError(_ToldError):
    """Ranks call one collective with different arguments.

    Example:
        >>> simulate(2)(lambda comm: comm.bcast(1, root=comm.rank))
        Traceback (most recent call last):
        MismatchError: ...
    """


class TruncationError(RankError):
    """A message is longer than the buffer that receives it.

    Example:
        >>> simulate(1)(lambda comm: comm.Sendrecv(np.ones(3), 0, 0, np.ones(2), 0, 0))
        Traceback (most recent call last):
        TruncationError: ...
    """

    named = "ERR_TRUNCATE"


class RankTimeoutError(RankError, TimeoutError):
    """A rank did not arrive in time.

    Example:
        >>> simulate(1)(lambda comm: comm.irecv(source=0).wait(timeout=1))
        Traceback (most recent call last):
        RankTimeoutError: ...
    """


class LookedInVainError(_ToldError):
    """A rank polls again and again, while nothing happens on any rank.

    Example:
        >>> def program(comm):
        ...     while not comm.iprobe():
        ...         pass
        >>> simulate(1)(program)
        Traceback (most recent call last):
        LookedInVainError: ...
    """


class LostRankError(_ToldError):
    """A rank ended, or was dropped, while others waited for it.

    Example:
        >>> from jt_edu.mpi import Faults
        >>> simulate(2, faults=Faults(drop={1: 1}))(lambda comm: comm.barrier())
        Traceback (most recent call last):
        LostRankError: ...
    """


class RankStopped(BaseException):
    """This rank ends because its world has: another rank failed, or the cell was interrupted."""


class RankStruck(RankStopped, SystemExit):
    """The same, raised from outside in the middle of what the rank did; a thread that it ends says nothing of it."""
