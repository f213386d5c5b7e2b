"""Prefetch: what is read early, and what is written past the caches?

The loops of a nest say what is computed. When memory is asked for it is another question, and this file answers it:

look up      what an index array says is read before the loops in which it stays the same
look ahead   where several loops go over a row, memory is asked for the next row behind the first of them
stream       large arrays are sent to memory in whole lines, without passing through the caches
squares      what is written along its rows and read along its columns is gone through in squares of 8 x 8

    for i0 in range(lo, hi):                        for i0 in range(lo, hi):
        for i1 in range(n0):                            j0 = wrap(a1[at(i0)], k0)
            out0[at(i0), i1] = a0[            ->        for i1 in range(n0):
                at(wrap(a1[at(i0)], k0)), i1]               out0[at(i0), i1] = a0[at(j0), i1]

Answers stay what they are, to the last bit.
"""

from __future__ import annotations

import math

from jt_edu.codegen.loop_ir import (
    BLOCK,
    EXPENSIVE,
    Access,
    Ahead,
    Block,
    Loop,
    Nest,
    Store,
    Update,
    Value,
    accesses,
    everything,
)  # fmt: skip
from jt_edu.ir.index_expr import Index, counter, counters_of

LINE = 64  # bytes that memory hands out at once
LARGE = 12 << 20  # bytes: the begin of such an array has left most caches before its end is written
SETS, WAYS = 64, 8  # of the first cache: a line belongs to one of the sets, which has room for as many lines
SIDE = 8  # of a square: its rows are as many registers, and the compiler turns them there
FEW, MANY = 1 << 10, 1 << 14  # bytes of a row that is asked for early: fewer gain nothing, more are gone when needed


def reach(nest: Nest) -> Nest:
    """Look up, look ahead, and choose what is gone through in squares."""
    _look_up(nest.top)
    _look_ahead(nest)
    _square(nest)
    return nest


def _look_up(block: Block, outside: frozenset[int] = frozenset()) -> None:
    """Read index arrays before the loops in which they stay the same: no compiler does, beside a store."""
    for loop in [i for i in block.items if isinstance(i, Loop)]:
        found: dict[Index, Value] = {}
        for item in everything(loop.body):
            if isinstance(item, (Value, Update, Store)) and item.access and not getattr(item, "guard", None):
                for w in item.access.where:
                    if w.op in ("load", "wrapped") and counters_of(w) <= outside:
                        found.setdefault(w, Value("counter", item.node, 0, index=w))
                item.access.where = tuple([Index("value", found[w]) if w in found else w for w in item.access.where])
        at = block.items.index(loop)
        block.items[at:at] = found.values()
        _look_up(loop.body, outside | {loop.axis})


def _look_ahead(nest: Nest) -> None:
    """Several loops over a row leave memory idle from the second on: time for the row of the next iteration."""
    for outer in [i for i in everything(nest.top) if isinstance(i, Loop) and i.axis == nest.span]:
        loops = [i for i in outer.body.items if isinstance(i, Loop)]
        for access in accesses(loops[0].body) if len(loops) > 1 else []:
            row = math.prod(access.shape[1:]) * access.node.dtype.size
            if access.role == "in" and access.where[:1] == (counter(outer.axis),) and FEW <= row <= MANY:
                outer.body.items.insert(outer.body.items.index(loops[0]) + 1, Ahead(access.node, access))


def _square(nest: Nest) -> None:
    """A column that is read crosses a line for each number, so the numbers beside it are used at once as well.

    Where both sides are of a length that never changes, the compiler loads the rows of a square, turns it in registers,
    and stores its columns. What the outer loop does for itself is done once for each square, so it must be cheap.
    """
    for outer in [i for i in everything(nest.top) if isinstance(i, Loop) and not i.head]:
        *before, inner = outer.body.items
        if not isinstance(inner, Loop) or inner.head or min(nest.extents[i.axis] for i in (outer, inner)) < 2 * SIDE:
            continue
        cheap = all(isinstance(i, Value) and i.kind in ("load", "counter", "number") for i in before)
        items = [i for i in inner.body.items if isinstance(i, (Value, Store))]
        reads = [i.access for i in items if isinstance(i, Value) and i.access is not None]
        if cheap and len(items) == len(inner.body.items) and any(_leaves(nest, a, outer, inner) for a in reads):
            outer.across = inner


def _leaves(nest: Nest, access: Access, outer: Loop, inner: Loop) -> bool:
    """Whether a column that is read has left the cache before the one beside it is wanted."""
    places = [k for k, where in enumerate(access.where) if inner.axis in counters_of(where)]
    if not places or counters_of(access.where[-1]) != {outer.axis}:
        return False
    step = math.prod(access.shape[places[0] + 1 :]) * access.node.dtype.size  # bytes between two numbers of a column
    sets = SETS if step % LINE else SETS // math.gcd(step // LINE, SETS)
    return nest.extents[inner.axis] > sets * WAYS


def streamed(nest: Nest, loop: Loop) -> list[Store]:
    """Which stores in a loop had better bypass the caches: into arrays too large for them, in order.

    Where something expensive is computed memory has time enough, and to collect whole lines is work of its own. What is
    only moved is copied as fast as it is. Short rows that end amid a line would send both its halves apart.
    """
    here, cells = counter(loop.axis), accesses(nest.top)
    stores = [i for i in loop.body.items if isinstance(i, Store) and i.access.role == "out"]
    large = [i for i in stores if math.prod(i.access.shape) * i.node.dtype.size >= LARGE and i.node.dtype.size >= 4]
    values = [i for i in everything(nest.top) if isinstance(i, Value) and i.kind == "compute"] if large else []
    moves = not any(v in loop.body.items and v.node.op.name != "select" for v in values)
    length = nest.extents[loop.axis]
    large = large if length >= 8 * BLOCK else [i for i in large if length * i.node.dtype.size % LINE == 0]
    if length < BLOCK or moves or any(getattr(v.node.op, "weight", 0) >= EXPENSIVE for v in values):
        return []
    alone = [i for i in large if sum(c.node is i.access.node for c in cells) == 1]  # nobody reads it again
    return [i for i in alone if i.access.where[-1] == here and i.access.where.count(here) == 1]
