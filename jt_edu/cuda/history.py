"""History: who touched a number, when, and is that ordered with what others do?

Each access is compared with the ones before it at the same address. Two accesses of different threads, one of which
writes, have to be ordered: in a block by `syncthreads`, or among lanes of a warp by a `syncwarp` in which both take
part (shuffles and votes order nothing); between blocks only by the end of the kernel. A fence, and an atomic
operation after it that the other one has seen, order what was before the fence. Atomics are no race among themselves.

Most numbers are touched by one thread, or by others after a barrier. So that is asked first, and in few steps: an
access is a plain tuple, and what is kept of a number is made when somebody touches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jt_edu.cuda.translator import Place

if TYPE_CHECKING:
    from jt_edu.cuda.memory import Memory
    from jt_edu.cuda.thread import Block, Thread

# Who did it, in which line, how far block and thread were then, a bit for each lane of the warp that did the same (the
# one that is named is the first of them); and what was done: in which memory, at which address, "read" and so on.
Access: TypeAlias = "tuple[Thread, Place, int, int, int, Memory, int, str]"
Kept = dict[Any, list[Any]]  # accesses of one kind as lists, by who did it when and where
# What is ordered before: of a thread until which time, of a block until which epoch. Shared, so never changed.
Clock: TypeAlias = "dict[Thread | Block, int]"
Unordered: TypeAlias = "tuple[str, Thread, Place]"  # "wrote" or "read" before, by whom, in which line


@dataclass(slots=True)
class Atomics:
    """What atomic operations did to one number, and what they tell."""

    kept: Kept = field(default_factory=dict)
    last: Thread | None = None  # unless a plain write came after it
    far: Clock = field(default_factory=dict)  # what fences had seen before an atomic here,
    near: dict[Block, Clock] = field(default_factory=dict)  # and those that count in one block only


class History:
    """What was done to each number of a row, as far as something may still be unordered with it."""

    __slots__ = ("atomics", "reads", "writes")

    def __init__(self) -> None:
        self.writes: dict[int, Access] = {}  # by address: the last one
        self.reads: dict[int, Access | Kept] = {}  # since then; of most numbers one
        self.atomics: dict[int, Atomics] = {}

    def read(self, address: int, now: Access) -> Unordered | None:
        """Write a read down; what it is not ordered with."""
        against, write = None, self.writes.get(address)
        if write is not None and write[0] is not now[0] and (write[2] == now[2] or write[0].block is not now[0].block):
            against = _first_unordered((write,), now[0], "wrote")
        if self.atomics and address in self.atomics:
            against = against or _first_unordered(self.atomics[address].kept.values(), now[0], "wrote")
        before = self.reads.get(address)
        if before is None:
            self.reads[address] = now
        else:
            if isinstance(before, tuple):
                before = self.reads[address] = {(before[0].warp, *before[1:4]): [*before]}
            _keep(before, now)
        return against

    def write(self, address: int, now: Access) -> Unordered | None:
        """Write a plain write down; what it is not ordered with."""
        against, write = None, self.writes.get(address)
        if write is not None and write[0] is not now[0] and (write[2] == now[2] or write[0].block is not now[0].block):
            against = _first_unordered((write,), now[0], "wrote")
        if self.atomics and address in self.atomics:
            atomics = self.atomics[address]
            against = against or _first_unordered(atomics.kept.values(), now[0], "wrote")
            atomics.kept.clear()
            atomics.last = None
        read = self.reads.pop(address, None)
        if read is not None:
            against = against or _first_unordered(_each(read), now[0], "read")
        self.writes[address] = now
        return against

    def change(self, address: int, now: Access) -> Unordered | None:
        """Write an atomic operation down; what it is not ordered with. What others have told here, it knows."""
        before = (self.writes[address],) if address in self.writes else ()
        against = _first_unordered(before, now[0], "wrote")
        against = against or _first_unordered(_each(self.reads.get(address, {})), now[0], "read")
        atomics = self.atomics.setdefault(address, Atomics())
        atomics.last = now[0]
        _keep(atomics.kept, now)
        now[0].passes_on(atomics)
        return against

    def writers(self, size: int) -> np.ndarray[Any, Any]:
        """Of each number of a row the thread that has changed it last, -1 for none."""
        found = np.full(size, -1)
        found[list(self.writes)] = [write[0].number for write in self.writes.values()]
        for address, atomics in self.atomics.items():
            if atomics.last is not None:
                found[address] = atomics.last.number
        return found

    def readers(self, epoch: int) -> list[tuple[int, int, int]]:
        """Who has read since a barrier: an address, the number of the first lane of a warp, and a bit for each lane."""
        return [
            (address, thread.number - thread.laneid, lanes)
            for address, before in self.reads.items()
            for thread, _, when, _, lanes, _, _, _ in _each(before)
            if when == epoch
        ]


def joined(one: Clock, other: Clock) -> Clock:
    """What is ordered before, by one or the other."""
    if len(one) < len(other):
        one, other = other, one
    if one is other or not other:
        return one
    return one | {who: until for who, until in other.items() if until > one.get(who, 0)}


def bits(lanes: int) -> Iterator[int]:
    """The lanes whose bits are set."""
    return (lane for lane in range(lanes.bit_length()) if lanes >> lane & 1)


def _each(before: Access | Kept) -> Iterable[Sequence[Any]]:
    return (before,) if isinstance(before, tuple) else before.values()


def _keep(kept: Kept, now: Access) -> None:
    """Add an access to its like. What is ordered before it may go: who is ordered after it is after those, too."""
    thread, place, epoch, time, lane, _, _, _ = now
    key = thread.warp, place, epoch, time
    if key in kept:
        kept[key][4] |= lane
        return
    if len(kept) > 2 and not len(kept) & (len(kept) - 1):  # at 4, 8, 16, ...: to look is work
        # Blocks come one after the other: what one has done and not told is never ordered, so one such is enough.
        lost = [k for k, (other, *_) in kept.items() if other.block is not thread.block and not other.block.told]
        for k in [*lost[1:], *(k for k, access in kept.items() if _unordered(access, thread) is None)]:
            kept.pop(k, None)
    kept[key] = [*now]


def _first_unordered(kept: Iterable[Sequence[Any]], now: Thread, way: str) -> Unordered | None:
    for access in kept:
        other = _unordered(access, now)
        if other is not None:
            return way, other, access[1]
    return None


def _unordered(before: Sequence[Any], now: Thread) -> Thread | None:
    """Who did it, where nothing says that it comes before what a thread does now."""
    first: Thread = before[0]
    epoch, time, lanes = before[2:5]
    if first.block is not now.block:
        if epoch < now.heard.get(first.block, 0):
            return None
    elif epoch != now.block.epoch or (first is now and lanes == now.bit):
        return None
    for lane in bits(lanes):
        other = first.warp.threads[lane]
        synced = other.warp is now.warp and now.known[lane] > time
        if other is not now and not synced and now.heard.get(other, 0) <= time:
            return other
    return None
