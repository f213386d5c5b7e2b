"""Costs: how many trips to memory does a kernel make, beside those that it needs?

Lanes of a warp that stand at the same place of the text go to memory together. In global memory a trip, or
*transaction*, brings a *sector* of 32 bytes, so lanes that read neighbors share trips: 32 floats are 4 sectors. The
field calls such access *coalesced*. Shared memory has 32 *banks* of words of 4 bytes: word w is in bank w % 32. Lanes
that want different words of one bank get them one after the other, a *bank conflict*. A float64 is two words, so 32 of
them take two trips.

Source: NVIDIA, "CUDA C++ Best Practices Guide", sections on coalesced access to global memory and on memory banks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jt_edu.cuda.history import Access
    from jt_edu.cuda.memory import Memory
    from jt_edu.cuda.translator import Place

SECTOR, WORD, BANKS = 32, 4, 32  # bytes, bytes, how many
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
    """Accesses to global and shared memory, in the order in which they were made; of a large launch the first ones."""

    touched: list[Access] = field(default_factory=list)

    def trips(self) -> Iterator[Trip]:
        """What lanes of a warp touch together: the first time that each is at a place, the second time, and so on."""
        turns: dict[Any, int] = {}
        together: dict[Any, list[tuple[int, int]]] = {}
        memories = {id(memory): memory for *_, memory, _, _ in self.touched}
        for thread, place, _, _, _, memory, address, how in self.touched:
            at = place, how, id(memory)
            turn = turns[thread, at] = turns.get((thread, at), 0) + 1
            together.setdefault((thread.warp, at, turn, thread.block.number), []).append((thread.laneid, address))
        for (warp, (place, how, identity), _, block), touched in together.items():
            memory = memories[identity]
            lanes, addresses = zip(*touched, strict=True)
            trips, least = _shared(addresses, memory) if memory.space == "shared" else _global(addresses, memory)
            yield Trip(memory.space, memory.name, place, how, block, warp.number, lanes, addresses, trips, least)


def _shared(addresses: tuple[int, ...], memory: Memory) -> tuple[int, int]:
    """How many words the busiest bank has to give; lanes that want the same word get it together."""
    size = memory.values.itemsize
    words = {word for a in addresses for word in range(a * size // WORD, -(-(a + 1) * size // WORD))}
    banks: dict[int, int] = {}
    for word in words:
        banks[word % BANKS] = banks.get(word % BANKS, 0) + 1
    return max(banks.values()), -(-len(words) // BANKS)


def _global(addresses: tuple[int, ...], memory: Memory) -> tuple[int, int]:
    """Sectors that are touched, and how many would hold as many numbers."""
    size = memory.values.itemsize
    sectors = {a * size // SECTOR for a in addresses}
    return len(sectors), -(-len(set(addresses)) * size // SECTOR)
