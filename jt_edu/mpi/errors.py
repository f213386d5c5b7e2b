"""Errors of ranks, each naming who did what.

    RankError
    ├── DeadlockError      every rank waits for another
    ├── MismatchError      ranks that meet in one collective call it differently
    ├── TruncationError    a message longer than the room that was made for it
    ├── RankTimeoutError   (TimeoutError)  somebody did not come in time
    └── LostRankError      a rank ended, or was dropped, while others counted on it

`RankStopped` is no error of the learner: it ends a rank whose world has failed, and so it is not caught by `except
Exception`.
"""

from __future__ import annotations

from jt_edu.errors import RankError


class DeadlockError(RankError):
    """Every rank waits for another, so that nothing will ever happen again."""


class MismatchError(RankError):
    """Ranks meet in one collective, and call it differently."""


class TruncationError(RankError):
    """A message is longer than the room that was made for it."""


class RankTimeoutError(RankError, TimeoutError):
    """Somebody did not come in time."""


class LostRankError(RankError):
    """A rank ended, or was dropped, while others counted on it."""


class RankStopped(BaseException):
    """This rank ends because its world has: another rank failed, or the cell was interrupted."""


class RankStruck(RankStopped, SystemExit):
    """The same, raised from outside in the middle of what the rank did; a thread that it ends says nothing of it."""
