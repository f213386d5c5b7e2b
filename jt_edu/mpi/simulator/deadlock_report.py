"""Deadlock report: why do the ranks not go on? A deadlock as sentences, and a disagreement as a table.

rank 0 waits in ssend(dest=1, tag=0)
    at lesson.py:3: comm.ssend(x, dest=1)
rank 1 waits in ssend(dest=0, tag=0)
    at lesson.py:7: comm.ssend(y, dest=0)
a circle: 0 -> 1 -> 0

A receive that goes without may have a reason that can be seen: its message came under another tag, went through another
communicator, was lost, or was taken by a receive from any rank. `clues` looks for it; `advice` says what to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import RankError
from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG
from jt_edu.mpi.base.deadlock_hints import (
    ELSEWHERE,
    LOST,
    MOST,
    OTHER_TAG,
    SEND,
    TAKEN,
    Clue,
    Wait,
    advice,
    circle_in,
    ranks_named,
)
from jt_edu.mpi.base.errors import DeadlockError, LookedInVainError, LostRankError
from jt_edu.mpi.simulator.task import LOOKS

if TYPE_CHECKING:
    from jt_edu.mpi.communicator.collective_args import Ask
    from jt_edu.mpi.simulator.task import Task
    from jt_edu.mpi.simulator.world import Letter, Receive, World


def waits(waiting: list[Task], looks: Task | None = None) -> list[Wait]:
    """Who waits for whom, and where: one entry for each task that waits; `looks` is one that looks again and again."""
    pending = [(t, next((r for r in t.awaits.values() if not r.done), None)) for t in waiting]
    return [_wait_of(t, r, t is looks) for t, r in pending if r is not None]


def _wait_of(task: Task, request: Any, looks: bool) -> Wait:
    group = request.comm.name
    outer = next(iter(request.comm.world.open_calls.get(task, ())), None)
    said = request.words + (f" in the {group}" if group != "world" else "")
    if outer is not None and outer.name != "wait" and outer.words != request.words:
        said += f", a part of {outer.words}"
    r = request
    return Wait(task.rank, said, r.line, tuple(r.peers), r.kind, r.tag, r.at_once, looks)


def explained(waiting: list[Task], world: World, looks: Task | None = None) -> dict[Task, BaseException]:
    """The error of each rank that waits, when nobody can run any more: the same words for all.

    `looks` is one that does not wait, but looks for something again and again.
    """
    entries = waits(waiting, looks)
    ended = {rank: _last_call(world, rank) for rank in range(world.size) if not world.ended.get(rank)}
    told = list(clues(waiting, world))
    lost = {rank: how for rank, how in world.ended.items() if how}
    error = standstill(entries, lost, ended, told)
    return {t: type(error)(error.asked, error.found, error.attempt) for t in waiting}


def standstill(
    entries: Sequence[Wait], lost: Mapping[int, str], ended: Mapping[int, str], clues: Sequence[Clue] = ()
) -> RankError:
    """The error that tells why nobody goes on.

    Args:
        entries: of each rank that waits, as from `waits`.
        lost: how ranks ended that did not end well.
        ended: the last call of each other rank, as ", after barrier() at line 3".
        clues: what may be the reason.
    """
    here = {e.rank for e in entries}
    gone = sorted({p for e in entries for p in e.peers} - here)
    circle = circle_in({e.rank: e.peers for e in entries})
    rows = [
        *_rows(entries),
        *(f"rank {rank} {how}" for rank, how in sorted(lost.items())),
        *_short([f"rank {p} has ended{ended.get(p, '')}" for p in gone if p not in lost], "ranks that have ended"),
        *(clue.words for clue in clues),
        *([f"a circle: {' -> '.join(map(str, circle))}"] if circle else []),
    ]
    kind, asked, found = _what(entries, lost)
    return kind(asked, f"{found}:\n  " + "\n  ".join(rows), advice(entries, lost, circle, clues))


def _what(entries: Sequence[Wait], lost: Mapping[int, str]) -> tuple[type[RankError], str, str]:
    """What has happened, as an error: (its class, what it is called, what was found)."""
    if lost:
        is_gone, it = ("is gone", "it") if len(lost) == 1 else ("are gone", "them")
        what = f"{ranks_named(sorted(lost))} {is_gone}, and others wait for {it}"
        return LostRankError, what, "these, which cannot go on"
    if any(e.looks for e in entries):  # its loop may end by itself, so this is no deadlock without doubt
        asked = "who looks again and again finds something at some time"
        return LookedInVainError, asked, f"{LOOKS:,} looks in vain, one after the other, while nothing else happened"
    return DeadlockError, "deadlock: every rank waits for another", "none that can go on"


def _rows(entries: Sequence[Wait]) -> list[str]:
    """One row for all ranks that wait in the same call at the same line."""
    together: dict[tuple[str, str, bool, bool], list[int]] = {}
    for e in entries:
        together.setdefault((e.words, e.line, e.looks, e.at_once), []).append(e.rank)
    rows = []
    for (said, line, looks, at_once), ranks in together.items():
        one = len(ranks) == 1
        does = "looks again and again for" if looks else f"wait{'s' * one} {'for' if at_once else 'in'}"
        rows.append(f"{ranks_named(ranks)} {does} {said}" + (f"\n    at {line}" if line else ""))
    return _short(rows, "ranks that wait")


def _short(rows: list[str], what: str) -> list[str]:
    return rows if len(rows) <= MOST else [*rows[:MOST], f"and {len(rows) - MOST} more {what}"]


def _last_call(world: World, rank: int) -> str:
    mine = world.last_calls.get(rank)
    return f", after {mine.words} at {mine.line}" if mine else ", without a call"


# what may be the reason


def clues(waiting: list[Task], world: World) -> Iterator[Clue]:
    """Sentences about messages that the ranks which wait might have expected."""
    lost = [m for m in world.record.messages if m.lost]
    for message in lost[:MOST]:
        yield Clue(f"the message of {_sent_by(world, message.call, message.source)} was lost on its way", LOST)
    asked = {id(r.request): (plane, rank, r) for (plane, rank), box in world.boxes.items() for r in box.all_receives}
    for task in waiting:
        for request in task.awaits.values():
            if not request.done and id(request) in asked:
                yield from _about(world, *asked[id(request)])
    if world.synchronous and any(r.kind == SEND and not r.at_once for t in waiting for r in t.awaits.values()):
        yield Clue("each send waits until it is received, since synchronous=True")


def _about(world: World, plane: Any, rank: int, receive: Receive) -> Iterator[Clue]:
    """Why one receive may go without."""
    for (other, to), box in world.boxes.items():
        for letter in box.letters if to == rank else ():
            if receive.source in (ANY_SOURCE, letter.source):
                through = "" if plane == other else ", through another communicator"
                told = f"rank {rank} has got another message, of {_sent(letter)}{through}"
                yield Clue(told, ELSEWHERE if through else OTHER_TAG)
                return
    for message in world.record.messages:
        if message.taker < 0 or message.dest != rank:
            continue
        taker = world.record.calls[message.taker]
        by_source = message.source == receive.source and taker.peer == ANY_SOURCE
        by_tag = message.tag == receive.tag and receive.source in (ANY_SOURCE, message.source) and taker.tag == ANY_TAG
        if by_source or by_tag:
            told = f"{taker.words} at {taker.line} took the message"
            yield Clue(f"{told} of {_sent_by(world, message.call, message.source)}", TAKEN)
            return


def _sent(letter: Letter) -> str:
    return f"rank {letter.source}, {letter.call.words} at {letter.call.line}"


def _sent_by(world: World, number: int, rank: int) -> str:
    call = world.record.calls[number]
    return f"rank {rank}, {call.words} at {call.line}"


def unfinished(world: World) -> list[str]:
    """Sentences about what was begun and never ended, when all ranks have: messages that nobody took, and requests."""
    letters = [m for box in world.boxes.values() for m in box.letters if m.call.parent < 0]
    told = [f"nobody received the message of {_sent(letter)}" for letter in letters]
    begun = [(task.rank, request) for task in world.baton.tasks for request in task.begun.values()]
    told += [f"rank {rank} did not wait for its {r.words} at {r.line}" for rank, r in begun]
    return _short(told, "of that kind")


# ranks that differ


def disagreement(asks: Mapping[int, Ask], sequence: int) -> tuple[str, str, str]:
    """(what was asked, what was found, what to try) for ranks that call one collective differently."""
    together: dict[tuple[str, str], list[int]] = {}
    for rank, ask in sorted(asks.items()):
        together.setdefault((str(ask), ask.line), []).append(rank)
    rows = [
        f"{ranks_named(ranks)} call{'s' * (len(ranks) == 1)} {said}" + (f"\n    at {line}" if line else "")
        for (said, line), ranks in together.items()
    ]
    names = {ask.name for ask in asks.values()}
    if len(names) > 1:
        what, attempt = "different ones", _same_names(names)
    else:
        kinds = [dict(ask.agree) for ask in asks.values()]
        odd = " and ".join(k for k in kinds[0] if any(other.get(k) != kinds[0][k] for other in kinds)) or "argument"
        what, attempt = f"another {odd}", f"the same {odd} on every rank"
    asked = f"all ranks of a group meet in their collective number {sequence + 1}"
    return asked, f"{what}:\n  " + "\n  ".join(_short(rows, "calls")), attempt


def _same_names(names: set[str]) -> str:
    plain = {name.lower() for name in names}
    if len(plain) == 1:
        return "the same on every rank: small letters are for objects, a capital for buffers"
    if len({name.removeprefix("i") for name in plain}) == 1:
        return "the same on every rank: one that waits does not meet one that comes back at once"
    return "the same calls in the same order on every rank; look for a branch that only some ranks take"
