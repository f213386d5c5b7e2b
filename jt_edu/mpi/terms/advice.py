"""Advice: what should be changed in a program whose ranks wait for each other? The first of these that fits.

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
from typing import Any

MOST = 12  # rows, or ranks, that a sentence tells
SENDS = ("send", "ssend", "isend", "issend")
RECEIVES = ("recv", "irecv", "probe", "mprobe", "iprobe", "improbe")


def advice(entries: list[dict[str, Any]], lost: Mapping[int, str], circle: list[int], clues: Sequence[str]) -> str:
    """What to try, in a few words; see above."""
    if lost:
        return f"see why rank {min(lost)} is gone; the others can give up with wait(timeout=seconds)"
    for sign, cure in CURES:
        if any(sign in clue for clue in clues):
            return cure
    kinds = {e["rank"]: kind_of(e["words"]) for e in entries}
    names = {e["rank"]: e["words"].split("(")[0] for e in entries}
    if circle:
        return _out_of(circle[:-1], kinds, names)
    return _without(entries, kinds, names)


CURES = (
    ("was lost on its way", "send it again, and give up the wait for it with wait(timeout=seconds)"),
    ("took the message", "receive from one source there, or give the messages different tags"),
    ("through another communicator", "send and receive through the same communicator"),
    ("has got another message", "the same tag where it is sent and where it is received"),
)


def _out_of(circle: list[int], kinds: Mapping[int, str], names: Mapping[int, str]) -> str:
    """How ranks come out of a circle."""
    met = {kinds.get(rank, "collective") for rank in circle}
    if len(circle) == 1:
        return "begin to send to oneself with isend, then receive"
    if met == {"send"}:
        half = "one of the two receive first" if len(circle) == 2 else "every other rank receive first"
        return f"sendrecv, which does both at once; or let {half}"
    if met == {"receive"}:
        return f"let one of the {_number(len(circle))} send before it receives; or sendrecv, which does both at once"
    if met == {"send", "receive"}:
        return "let the ranks of the circle send and receive in an order in which each send meets its receive"
    meeting = next(rank for rank in circle if kinds.get(rank, "collective") == "collective")
    other = next((rank for rank in circle if kinds.get(rank) in ("send", "receive")), None)
    if other is None:
        return "call the collectives of several groups in the same order on every rank"
    does = "send what rank {} waits for" if kinds[other] == "receive" else "receive what rank {} sends"
    return f"let rank {meeting} {does.format(other)} before it calls {names[meeting]}"


def _without(entries: list[dict[str, Any]], kinds: Mapping[int, str], names: Mapping[int, str]) -> str:
    """What to do when somebody is waited for who has ended."""
    here = {e["rank"] for e in entries}
    for e in entries:
        gone = [p for p in e["peers"] if p not in here]
        if not gone:
            continue
        me, other, kind = e["rank"], gone[0], kinds[e["rank"]]
        if kind == "collective":
            return f"let every rank of the group call {names[me]}, {ranks_named(gone)} too"
        if kind == "send":
            return f"a receive on rank {other} for it, or one send less on rank {me}"
        return f"one send more on rank {other}, or one receive less on rank {me}"
    return ""


def kind_of(words: str) -> str:
    """Whether a call is a "send", a "receive" or a "collective", from how it is named.

    Example:
        >>> kind_of("Irecv(source=1, tag=0)"), kind_of("barrier()")
        ('receive', 'collective')
    """
    name = words.split("(", maxsplit=1)[0].lower()
    return "send" if name in SENDS else "receive" if name in RECEIVES else "collective"


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
