"""Costs: how many trips to memory does a kernel make, beside those that it needs?

Lanes of a warp that stand at the same place of the text go to memory together. In global memory a trip brings a
*sector* of 32 bytes, so lanes that read neighbours share trips: 32 floats are 4 sectors. Shared memory has 32 *banks*,
one word each: word w is in bank w % 32. Lanes that want different words of one bank get them one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jt_edu.cuda.memory import Memory
    from jt_edu.cuda.thread import Thread
    from jt_edu.cuda.translator import Place

SECTOR, WORD, BANKS = 32, 4, 32  # bytes, bytes, words
MOST = 200_000  # accesses that are looked at: a large launch repeats itself


@dataclass(frozen=True)
class Trip:
    """What lanes of one warp touched together: `trips` to memory, of which `least` were needed."""

    space: str
    name: str
    place: Place
    how: str
    block: int
    warp: int
    lanes: tuple[int, ...]
    addresses: tuple[int, ...]
    trips: int
    least: int


@dataclass
class Costs:
    """Who touched which address at which place of the text, put together by warps."""

    together: dict[Any, list[tuple[int, int]]] = field(default_factory=dict)
    turns: dict[Any, int] = field(default_factory=dict)  # how often a thread was at a place
    memories: dict[int, Any] = field(default_factory=dict)  # by their identity
    count: int = 0

    def note(self, thread: Thread, place: Place, memory: Memory, address: int, how: str) -> None:
        """Write down that a thread touches an address."""
        if memory.space == "local" or self.count >= MOST:
            return
        self.count += 1
        at = place, how
        turn = self.turns[thread, at] = self.turns.get((thread, at), 0) + 1
        key = thread.block.number, thread.warp.number, at, turn
        self.together.setdefault((key, id(memory)), []).append((thread.laneid, address))
        self.memories[id(memory)] = memory

    def trips(self) -> Iterator[Trip]:
        """All of them, in the order in which they were made."""
        for ((block, warp, (place, how), _), identity), touched in self.together.items():
            memory = self.memories[identity]
            lanes, addresses = zip(*touched, strict=True)
            trips, least = _shared(addresses, memory) if memory.space == "shared" else _global(addresses, memory)
            yield Trip(memory.space, memory.name, place, how, block, warp, lanes, addresses, trips, least)


def _shared(addresses: tuple[int, ...], memory: Memory) -> tuple[int, int]:
    """Words of the bank that is asked for most; lanes that want the same word get it together."""
    size = memory.values.itemsize
    words = {a * size // WORD for a in addresses}
    banks: dict[int, int] = {}
    for word in words:
        banks[word % BANKS] = banks.get(word % BANKS, 0) + 1
    return max(banks.values()), -(-len(words) // BANKS)


def _global(addresses: tuple[int, ...], memory: Memory) -> tuple[int, int]:
    """Sectors that are touched, and how many would hold as many numbers."""
    size = memory.values.itemsize
    sectors = {a * size // SECTOR for a in addresses}
    return len(sectors), -(-len(set(addresses)) * size // SECTOR)
