"""Occupancy: how many warps of a kernel are on a multiprocessor at once, and what keeps more of them away?

While some warps wait for memory, others compute: so a multiprocessor holds several blocks, as many as have room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.cuda.compiler import Compiled, check_capability
from jt_edu.cuda.device import FIRST, get_device_capability, is_available

WARP, MOST_THREADS, REGISTERS = 32, 1024, 255  # threads of a warp; at most: threads of a block, registers of a thread
PARTS, PART = 4, 16384  # of a multiprocessor, each with warps of its own, and registers of each for them
OF_SHARED = "bytes of shared memory"
UNIT = 256  # registers are given to a warp in such pieces


class Room(NamedTuple):
    """What a multiprocessor holds: blocks, warps, bytes of shared memory; given in units, and kept for the system."""

    blocks: int
    warps: int
    shared: int
    unit: int = 128
    kept: int = 1024


ROOMS = {
    (7, 5): Room(16, 32, 64 << 10, unit=256, kept=0), (8, 0): Room(32, 64, 164 << 10), (8, 6): Room(16, 48, 100 << 10),
    (8, 9): Room(24, 48, 100 << 10), (9, 0): Room(32, 64, 228 << 10), (10, 0): Room(32, 64, 228 << 10),
    (12, 0): Room(24, 48, 100 << 10),
}  # fmt: skip


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps that are on a multiprocessor at once, of `most` warps, and what there is no more of."""

    blocks: int
    warps: int
    most: int
    limits: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<{self.warps} of {self.most} warps, limited by {' and '.join(self.limits)}>"


def occupancy(kernel: Compiled | int, threads: int, shared: int = 0, cc: tuple[int, int] | None = None) -> Occupancy:
    """How many warps of a kernel are on a multiprocessor at once.

        w = ceil(threads / 32)
        blocks = min(most blocks, most warps // w,
                     4 * (16384 // (256 * ceil(registers / 8))) // w,
                     bytes of shared memory // (unit * ceil((bytes of a block + kept) / unit)))
        warps = w * blocks

    Args:
        kernel: what `cuda.compile` made; or how many registers a thread has.
        threads: of a block, 1 to 1024.
        shared: bytes of shared memory that a launch asks for, beside those that a compiled kernel says itself.
        cc: the compute capability: that of a compiled kernel; else of the GPU that is there, or (7, 5).

    Returns:
        `blocks`, `warps`, `most` and `limits`: each of "warps", "blocks", "registers" and "shared memory" that leaves
        no room for another block.

    Raises:
        ArgumentError: numbers that no GPU has, or another capability than a kernel was compiled for.

    Example:
        >>> jt.cuda.occupancy(40, 256, cc=(9, 0))
        <48 of 64 warps, limited by registers>
        >>> jt.cuda.occupancy(32, 64, shared=16384, cc=(8, 0)).limits
        ('shared memory',)

    Source: NVIDIA, "CUDA Programming Guide", appendix "Compute Capabilities", and cuda_occupancy.h of its toolkit.
    """
    registers, own = (kernel.report.registers, kernel.report.shared) if isinstance(kernel, Compiled) else (kernel, 0)
    room = _room(kernel, cc)
    registers, shared = whole("registers of a thread", registers, 1, REGISTERS), whole(OF_SHARED, shared, 0)
    warps = _up(whole("threads of a block", threads, 1, MOST_THREADS), WARP)
    limits = {"warps": room.warps // warps, "blocks": room.blocks}
    limits["registers"] = PARTS * (PART // (UNIT * _up(registers * WARP, UNIT))) // warps
    if own + shared:
        limits["shared memory"] = room.shared // (room.unit * _up(own + shared + room.kept, room.unit))
    blocks = min(limits.values())
    return Occupancy(blocks, blocks * warps, room.warps, tuple(name for name, n in limits.items() if n == blocks))


def _room(kernel: Compiled | int, cc: tuple[int, int] | None) -> Room:
    check_capability(cc)
    made_for = kernel.cc if isinstance(kernel, Compiled) else None
    if made_for and cc not in (None, made_for):
        raise ArgumentError(f"{kernel!r} has its own capability", f"cc={cc}", f"cuda.compile(..., cc={cc})")
    chosen = cc or made_for or (get_device_capability() if is_available() else FIRST)
    if chosen not in [*ROOMS]:
        raise ArgumentError("a compute capability whose multiprocessors are known", repr(chosen), f"one of {[*ROOMS]}")
    return ROOMS[chosen]


def whole(what: str, number: Any, least: int, most: int | None = None) -> int:
    """A number as Python counts, since NumPy's small ones overflow; ArgumentError if it is none, or out of limits."""
    is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not is_whole or number < least or (most is not None and number > most):
        limits = f"from {least}" + (f" to {most}" if most is not None else "")
        raise ArgumentError(f"{what} are a whole number {limits}", f"{number!r:.40}")
    return int(number)


def _up(count: int, size: int) -> int:
    """How many pieces of a size hold so many."""
    return -(-count // size)
