"""Monitored barrier: a barrier that tells who is missing.

rank 0      "I am here"    ---->  everyone
others      "I am here"    ---->  rank 0, which counts them until the time is up
rank 0      who is missing ---->  everyone: nobody, and they go on; or an error that names them

Who is missing is told too, and so finds it out if it comes after all. Seconds are those of the group's own clock.
"""

from __future__ import annotations

import contextlib
from typing import Any

from jt_edu.base.errors import RankError
from jt_edu.distributed.groups import of_members
from jt_edu.distributed.options import as_timeout
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.mpi.base.constants import TAG_LIMIT
from jt_edu.mpi.base.errors import RankTimeoutError
from jt_edu.ops.create import zeros
from jt_edu.variable.var import array

TAG = TAG_LIMIT  # the last one that there is
LONGER = 20.0  # seconds that the others wait longer than rank 0, which is there, so that it can tell them
SOON = 0.001  # seconds for one more rank when the time is up: it may have come while another was waited for


@of_members
def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Nobody leaves before all have come; if some do not, the error names them.

    Args:
        group: whose ranks; all by default.
        timeout: how long to wait, a timedelta or seconds; that of the group by default.
        wait_all_ranks: name all that are missing, not only the first one.

    Raises:
        RankTimeoutError: ranks did not come in time; the message names them.

    Example:
        >>> jt.simulate(3)(lambda: (jt.distributed.init_process_group(), jt.distributed.monitored_barrier())[1])
        [None, None, None]
    """
    patience = (group.timeout if timeout is None else as_timeout(timeout, "monitored_barrier")).total_seconds()
    missing = _count(group, patience, wait_all_ranks) if group.rank() == 0 else _report(group, patience)
    if missing:
        ranks = ", ".join(str(group.ranks[r]) for r in missing)
        asked = f"monitored_barrier: all {group.size()} ranks come within {patience:g} s"
        raise RankTimeoutError(asked, f"no rank {ranks}", "see what they wait for, or a longer timeout")


def _count(members: ProcessGroup, patience: float, wait_all_ranks: bool) -> list[int]:
    """Rank 0: who is missing, which everyone is told."""
    deadline, missing = members.now() + patience, list[int]()
    others = range(1, members.size())
    calls = {rank: members.recv([zeros(1)], rank, TAG) for rank in others}
    _tell_all(members, zeros(1))
    for rank, call in calls.items():
        if missing and not wait_all_ranks:
            break
        try:
            call.wait(max(deadline - members.now(), SOON))
        except RankError:
            missing.append(rank)
    _tell_all(members, array([1.0 if rank in missing else 0.0 for rank in range(members.size())]))
    return missing


def _tell_all(members: ProcessGroup, told: Any) -> None:
    for rank in range(1, members.size()):
        with contextlib.suppress(RankError):  # it is gone, or takes nothing: the count names it
            members.send([told], rank, TAG)


def _report(members: ProcessGroup, patience: float) -> list[int]:
    """The others: tell rank 0, and be told who is missing."""
    told = zeros(members.size())
    try:
        members.send([zeros(1)], 0, TAG)
        members.recv([zeros(1)], 0, TAG).wait(patience)
        members.recv([told], 0, TAG).wait(patience + LONGER)
    except RankError:
        return [0]
    return [rank for rank, absent in enumerate(told.tolist()) if absent]
