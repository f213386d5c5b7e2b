"""Words: why do the ranks not go on? A deadlock as sentences, and a disagreement as a table.

rank 0 waits in recv(source=1, tag=0)       at lesson.py:3: comm.recv(source=1)
rank 1 waits in recv(source=0, tag=0)       at lesson.py:7: comm.recv(source=0)
rank 0 waits for rank 1, and rank 1 for rank 0: a circle
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jt_edu.mpi.errors import DeadlockError, LostRankError

if TYPE_CHECKING:
    from jt_edu.mpi.baton import Task
    from jt_edu.mpi.world import Ask, World


def waits(waiting: list[Task]) -> list[dict[str, Any]]:
    """Who waits for whom, and where: one entry for each rank that waits."""
    return [
        {"rank": t.rank, "words": r.words, "line": r.line, "peers": list(r.peers)}
        for t in waiting
        for r in [next(r for r in t.awaits if not r.done)]
    ]


def explained(waiting: list[Task], world: World) -> dict[Task, BaseException]:
    """The error of each rank that waits, when nobody can run any more: the same words for all."""
    entries = waits(waiting)
    rows = [f"rank {e['rank']} waits in {e['words']}" + (f"\n    at {e['line']}" if e["line"] else "") for e in entries]
    lost = [f"rank {rank} {how}" for rank, how in sorted(world.ended.items()) if how]
    here = {e["rank"] for e in entries}
    gone = sorted({p for e in entries for p in e["peers"]} - here)
    rows += lost
    rows += [f"rank {p} has ended{_last_call(world, p)}" for p in gone if not world.ended.get(p)]
    circle = circle_in({e["rank"]: e["peers"] for e in entries})
    if circle:
        rows.append(", ".join(f"rank {a} waits for rank {b}" for a, b in itertools.pairwise(circle)))
    kind, asked = (LostRankError, "every rank is still there") if lost else (DeadlockError, "some rank can go on")
    found = (
        ("ranks that wait for a rank that is gone" if lost else "that all of them wait") + "\n  " + "\n  ".join(rows)
    )
    attempt = "let one of them send before it receives" if circle and len(circle) == 3 else ""
    return {t: kind(asked, found, attempt) for t in waiting}


def _last_call(world: World, rank: int) -> str:
    mine = [c for c in world.record.calls if c.rank == rank and c.parent < 0]
    return f", after {mine[-1].words} at {mine[-1].line}" if mine else ", without a call"


def circle_in(peers: Mapping[int, list[int]]) -> list[int]:
    """Ranks of which each waits for the next, and the last for the first, [0, 1, 0]; [] if there is no such circle."""
    for start in peers:
        path = [start]
        while True:
            following = [p for p in peers.get(path[-1], ()) if p in peers]
            if not following:
                break
            step = next((p for p in following if p not in path), following[0])
            if step in path:
                return [*path[path.index(step) :], step]
            path.append(step)
    return []


def disagreement(asks: Mapping[int, Ask], sequence: int) -> tuple[str, str, str]:
    """(what was asked, what was found, what to try) for ranks that call one collective differently."""
    rows = [
        f"rank {rank} calls {ask}" + (f"\n    at {ask.line}" if ask.line else "") for rank, ask in sorted(asks.items())
    ]
    names = {ask.name for ask in asks.values()}
    if len(names) > 1:
        what, attempt = "a different one", "the same calls in the same order on every rank"
    else:
        kinds = [dict(ask.agree) for ask in asks.values()]
        odd = [k for k in kinds[0] if any(other.get(k) != kinds[0][k] for other in kinds)]
        what, attempt = f"another {' and '.join(odd) or 'argument'}", f"the same {' and '.join(odd)} on every rank"
    asked = f"all ranks of a group meet in their collective number {sequence + 1}"
    return asked, f"{what}:\n  " + "\n  ".join(rows), attempt
