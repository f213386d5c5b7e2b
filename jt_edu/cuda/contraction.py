"""Contraction: is a nest a product of matrices, however it is written?

    out[i, j] = sum over k of  x(i, k) * y(j, k)

    rows        what only x knows         images and places of a convolution
    columns     what only y knows         its output channels
    batch       what both know            its groups
    summed      what is summed over       its input channels, and places of the kernel

x and y may be anything that is read or computed: a view, an image with a border, bits of halves made to floats. Then a
block of threads computes a tile of the output: it reads a tile of x and one of y into shared memory, once for all
threads, and each number there is used as often as a tile is long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from jt_edu.codegen.loop_ir import Block, Loop, Nest, Store, Update, Value, everything
from jt_edu.ir.index_expr import Index, counter, counters_of, parts_of
from jt_edu.ir.meta_ops import REDUCERS
from jt_edu.ir.scalar_ops import MULTIPLY

WORTH = 4096  # products of two numbers, from which on a tile pays
SIDE = 16  # threads along each side of a block
FULL = 64  # blocks, from which on larger tiles leave no part of a GPU idle
PLACES = 264  # for blocks of a large GPU: below FULL, several share a sum until there are as many
LEAST = 256  # numbers of a sum, for which a block of its own pays
PADDED = 1.5  # times as many numbers as there are, which large tiles may have


class Tile(NamedTuple):
    """What a block computes at a time: numbers of each thread, below each other and side by side; how deep it reads."""

    down: int
    across: int
    deep: int = 16
    parts: int = 1  # of the sum, each of which a block of its own does


TILES = (Tile(8, 8), Tile(8, 4), Tile(4, 8), Tile(4, 4), Tile(1, 1))


def tiles_in_registers(bytes_each: int) -> list[Tile]:
    """The tiles whose numbers fit into the registers of a thread, the largest first."""
    tiles = [tile for tile in TILES if bytes_each <= 4 or tile.down * tile.across <= 16]
    return [tile._replace(deep=8) if tile.down > 1 and bytes_each > 8 else tile for tile in tiles]


def tile_of(rows: int, columns: int, batch: int, long: int, bytes_each: int) -> Tile:
    """The largest tile that a product of so long sums is large enough for, and whose numbers fit into registers."""

    def fits(tile: Tile) -> bool:
        high, wide = rows / (SIDE * tile.down), columns / (SIDE * tile.across)
        full = math.ceil(high) * math.ceil(wide) <= PADDED * high * wide
        small, blocks = tile.down * tile.across <= 16, int(high) * int(wide) * batch * tile.parts
        return min(high, wide) >= 1 and (small or (blocks >= FULL and full))

    tiles = [shared_by(tile, rows, columns, batch, long) for tile in tiles_in_registers(bytes_each)]
    return next((tile for tile in tiles if fits(tile)), tiles[-1])


def shared_by(tile: Tile, rows: int, columns: int, batch: int, long: int) -> Tile:
    """A tile whose sums several blocks share, if without that a large GPU had few blocks."""
    blocks = max(1, -(-rows // (SIDE * tile.down)) * -(-columns // (SIDE * tile.across)) * batch)
    return tile._replace(parts=max(1, min(PLACES // blocks, long // LEAST)) if blocks < FULL else 1)


@dataclass
class Contraction:
    """A nest as a product: which loops are what, and where its parts stand."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    batch: tuple[int, ...]
    summed: tuple[int, ...]
    update: Update
    left: Value
    right: Value
    items: list[Value | Store]  # all that are computed, and stores of what becomes of each sum, in their order
    tile: Tile = TILES[-1]
    ones: frozenset[int] = frozenset()  # loops of one iteration, which are none of these
    rows_last: bool = False  # whether elements that lie side by side are of different rows
    asked: int = 0  # matrices along each side that a warp computes on tensor cores, if somebody has measured that

    @property
    def dtype(self) -> str:
        """Of the sums: that of the output, since a tile adds up few numbers at a time."""
        return self.update.node.dtype.compute

    @property
    def sides(self) -> tuple[tuple[Value, tuple[int, ...]], ...]:
        """The two factors, each with its own loops."""
        return (self.left, self.rows), (self.right, self.columns)

    def needed(self, wanted: list[Value]) -> list[Value | Store]:
        """The values that some values are computed from, with themselves, in order."""
        found, waiting = set[int](), [*wanted]
        while waiting:
            value = waiting.pop()
            if id(value) not in found:
                found.add(id(value))
                waiting += parts(value)
        return [item for item in self.items if id(item) in found]

    def tail(self) -> list[Value | Store]:
        """What becomes of each sum, in order: what is stored may be read again."""
        stores = [item for item in self.items if isinstance(item, Store)]
        needed = {*map(id, self.needed([store.value for store in stores])), *map(id, stores)}
        return [item for item in self.items if id(item) in needed]


def parts(value: Value) -> Iterator[Value]:
    """The values that one is computed from."""
    yield from value.operands
    if value.guard is not None:
        yield value.guard
    for part in parts_of(*_places(value)):
        if part.op == "value":
            yield part.args[0]


def lies_along(value: Value, axis: int) -> bool:
    """Whether what is read lies side by side along an axis."""
    found = [v.access for v in (value, *value.operands) if v.access is not None]
    lasts = [[w for w, length in zip(a.where, a.shape, strict=True) if length != 1][-1:] for a in found]
    return [counter(axis)] in lasts


def _places(value: Value) -> list[Index]:
    return [*(value.access.where if value.access is not None else ()), *([] if value.index is None else [value.index])]


def sum_of_products(nest: Nest, axes: tuple[int, ...], body: Block) -> Contraction | None:
    """The one sum of a nest with `axes` as outer loops around `body`, all of which are rows; None if it has another."""
    updates = [i for i in everything(body) if isinstance(i, Update)]
    summed = _chain_of_sums(body)
    if len(updates) != 1 or not summed or math.prod(nest.extents[a] for a in (*axes, *summed)) < WORTH:
        return None
    (update,) = updates
    op, factors = update.value.node.op, update.value.operands
    plain = update.access.role == "register" and update.guard is None and update.reducer is REDUCERS["add"]
    if (
        update.dtype.kind not in "fc"
        or not plain
        or update.value.kind != "compute"
        or op is not MULTIPLY
        or len(factors) != 2
    ):
        return None
    items = list(everything(nest.top))
    kept = [i for i in items if isinstance(i, Value) or (isinstance(i, Store) and i.access.role != "register")]
    if any(i.kind in ("row", "sum") if isinstance(i, Value) else i.access.role != "out" for i in kept):
        return None
    return Contraction(axes, (), (), summed, update, factors[0], factors[1], kept)


def contraction(nest: Nest, axes: tuple[int, ...], body: Block) -> Contraction | None:
    """What a nest is as a product, whose `axes` are outer loops around `body`; None if it is none, or a small one."""
    c = sum_of_products(nest, axes, body)
    if c is None:
        return None
    left, right = _counters(c.left), _counters(c.right)
    rows, columns = left - right, right - left
    if (left & right & {*c.summed}) != {*c.summed} or not ({*axes} & rows and {*axes} & columns):
        return None
    down, across, batch = (tuple(a for a in axes if a in group) for group in (rows, columns, {*axes} - rows - columns))
    down, across, batch, summed = groups = [_longer(group, nest) for group in (down, across, batch, c.summed)]
    ones = frozenset({*axes, *c.summed}.difference(*groups))
    high, wide, times, long = (math.prod(nest.extents[a] for a in group) for group in groups)
    tile = tile_of(high, wide, times, long, np.dtype(c.dtype).itemsize)
    last = [a for a in axes if a not in ones][-1] in down
    return replace(c, rows=down, columns=across, batch=batch, summed=summed, tile=tile, ones=ones, rows_last=last)


def _longer(axes: tuple[int, ...], nest: Nest) -> tuple[int, ...]:
    """Those of the loops that have more than one iteration, or else the first one."""
    return tuple(a for a in axes if nest.extents[a] != 1) or axes[:1]


def _chain_of_sums(body: Block) -> tuple[int, ...]:
    """The loops of the one sum of a body; empty if it has others or none, or stores what it adds up."""
    found: list[int] = []
    block = body
    while loops := [i for i in block.items if isinstance(i, Loop)]:
        if len(loops) > 1 or (found and any(isinstance(i, (Store, Update)) for i in block.items)):
            return ()
        found.append(loops[0].axis)
        block = loops[0].body
    return () if any(isinstance(i, Store) for i in block.items) else tuple(found)


def _counters(value: Value) -> set[int]:
    """The loops that a value depends on."""
    return counters_of(*_places(value)).union(*(_counters(part) for part in parts(value)))
