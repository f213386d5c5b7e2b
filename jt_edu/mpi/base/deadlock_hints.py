"""Deadlock hints: what should be changed in a program whose ranks wait for each other? The first of these that fits.

a rank was lost              see what ended it
a message was lost           send again, and give up waiting
taken by "any"               ask for one source there
another tag, another group   the same on both sides
a rank waits for itself      begin to send, then receive
a circle of sends            sendrecv, or let every other rank receive first
a circle of receives         one of them sends before it receives
a collective in the circle   the send before the collective
a collective, and an end     every rank calls it
a receive, and an end        one send more, or one receive less
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST = 12  # rows, or ranks, that a sentence tells
SEND, RECEIVE, COLLECTIVE = "send", "receive", "collective"  # the kinds of what a rank waits for
LOST, TAKEN, ELSEWHERE, OTHER_TAG = "lost", "taken", "elsewhere", "other tag"  # what became of a message
CURES = {  # the best one first
    LOST: "send it again, and give up the wait for it with wait(timeout=seconds)",
    TAKEN: "receive from one source there, or give the messages different tags",
    ELSEWHERE: "send and receive through the same communicator",
    OTHER_TAG: "the same tag where it is sent and where it is received",
}


@dataclass(frozen=True)
class Wait:
    """What one rank waits for.

    Args:
        rank: of the world.
        words, line: the call, as a sentence tells it, and the learner's line.
        peers: the ranks that could end it.
        kind: SEND, RECEIVE or COLLECTIVE.
        tag: of the message; -1 for any.
        at_once: whether the call came back before it had happened, so that the rank waits for it and not in it.
        looks: whether the rank does not wait, but looks again and again.
    """

    rank: int
    words: str
    line: str = ""
    peers: tuple[int, ...] = ()
    kind: str = COLLECTIVE
    tag: int = -1
    at_once: bool = False
    looks: bool = False

    @property
    def name(self) -> str:
        """The call alone: "recv"."""
        return self.words.partition("(")[0]


@dataclass(frozen=True)
class Clue:
    """A sentence about what may be the reason, and which of the CURES is against it, if one is."""

    words: str
    reason: str = ""


def advice(entries: Sequence[Wait], lost: Mapping[int, str], circle: list[int], clues: Sequence[Clue]) -> str:
    """What to try, in a few words; see above."""
    if lost:
        return f"see why rank {min(lost)} is gone; the others can give up with wait(timeout=seconds)"
    for reason, cure in CURES.items():
        if any(clue.reason == reason for clue in clues):
            return cure
    return _out_of(circle[:-1], {e.rank: e for e in entries}) if circle else _without(entries)


def _out_of(circle: list[int], waits: Mapping[int, Wait]) -> str:
    """How ranks come out of a circle."""
    kinds = {rank: waits[rank].kind for rank in circle}
    met = set(kinds.values())
    if len(circle) == 1:
        return "begin to send to oneself with isend, then receive"
    if met == {SEND}:
        half = "one of the two receive first" if len(circle) == 2 else "every other rank receive first"
        return f"sendrecv, which does both at once; or let {half}"
    if met == {RECEIVE}:
        return f"let one of the {_number(len(circle))} send before it receives; or sendrecv, which does both at once"
    if met == {SEND, RECEIVE}:
        return "let the ranks of the circle send and receive in an order in which each send meets its receive"
    meeting = next(rank for rank in circle if kinds[rank] == COLLECTIVE)
    other = next((rank for rank in circle if kinds[rank] != COLLECTIVE), None)
    if other is None:
        return "call the collectives of several groups in the same order on every rank"
    does = "send what rank {} waits for" if kinds[other] == RECEIVE else "receive what rank {} sends"
    return f"let rank {meeting} {does.format(other)} before it calls {waits[meeting].name}"


def _without(entries: Sequence[Wait]) -> str:
    """What to do when somebody is waited for who has ended."""
    here = {e.rank for e in entries}
    for e in entries:
        gone = [p for p in e.peers if p not in here]
        if not gone:
            continue
        if e.kind == COLLECTIVE:
            return f"let every rank of the group call {e.name}, {ranks_named(gone)} too"
        if e.kind == SEND:
            return f"a receive on rank {gone[0]} for it, or one send less on rank {e.rank}"
        return f"one send more on rank {gone[0]}, or one receive less on rank {e.rank}"
    return ""


def circle_in(peers: Mapping[int, Sequence[int]]) -> list[int]:
    """Ranks of which each waits for the next, and the last for the first; [] if there is no such circle.

    Example:
        >>> circle_in({0: [1], 1: [2], 2: [1]})
        [1, 2, 1]
    """
    seen: set[int] = set()  # from there no way leads into a circle
    for start in peers:
        path, ahead = [start], [iter(peers[start])]  # depth first: the path, and what is left to try from each of it
        while path and start not in seen:
            step = next((p for p in ahead[-1] if p in path or (p in peers and p not in seen)), None)
            if step is None:
                seen.add(path.pop())
                ahead.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            else:
                path.append(step)
                ahead.append(iter(peers[step]))
    return []


def _number(n: int) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(n, str(n))


def ranks_named(ranks: Sequence[int]) -> str:
    """How a sentence calls some ranks; of many, the first ones.

    Example:
        >>> ranks_named([0, 1, 4])
        'ranks 0, 1 and 4'
    """
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > MOST:
        return f"ranks {', '.join(map(str, ranks[:MOST]))} and {len(ranks) - MOST} more"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
