"""Schedule: which threads of a GPU do which iterations of a nest of loops?

    each      a thread for each element         for i: for j: out[i, j] = ...           all loops that nothing is
                                                                              summed over
    turned    a block for each tile             for i: for j: out[i, j] = a[j, i]       which it reads as it lies there
    rows      a block for each row              for i: for j: s = s + a[i, j]        its threads share the inner loops,
                                                       out[i] = s                    and put their sums together
    columns   a block for 32 columns            for j: s = s + a[i, j]               and for a part of the rows
    ends      and a thread for each of them
    parts     a block for each part             for i: s = s + a[i]                  of one long sum
    whole     and one for the sums of those
    tiles     a block for each tile             for i: for j: for k: s = s + x[i, k] * y[k, j]        contraction.py
    ends      and a thread for each sum, if several blocks have done parts of it
    scatter   a thread for each element         for i: out[where[i]] += a[i]         changes at one place take turns
    winners   and before, who may write         for i: out[where[i]] = a[i]          the last one of a place
    once      one thread                        whatever is left

A nest becomes one launch, or several where one has to end before the next one begins. Nothing here knows how Python is
written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jt_edu.codegen.loop_ir import (
    Access,
    Block,
    Item,
    Loop,
    Nest,
    Store,
    Update,
    Value,
    accesses,
    choose_span,
    collapse,
    everything,
)  # fmt: skip
from jt_edu.codegen.lowering import Builder
from jt_edu.cuda.contraction import Contraction, contraction, sum_of_products
from jt_edu.cuda.library_products import Call
from jt_edu.fusion.loop_fusion import Anchor, Kernel, Stage
from jt_edu.ir.index_expr import Index, counter, counters_of
from jt_edu.ir.meta_ops import REDUCERS
from jt_edu.ir.node import Node

SHARES_FROM = 32  # iterations of an inner loop, from which on a block of threads shares it
MANY = 4096  # elements, from which on a thread for each keeps a GPU busy
LONG = 1 << 15  # numbers of one sum, from which on several blocks share it
TILES = 32  # bytes of an element of all tiles together, 33 by 32 of which a block has room for
JOINED = [REDUCERS[name] for name in ("add", "multiply", "maximum", "minimum")]  # in any order


@dataclass(eq=False)
class Launch:
    """Items of a nest, and who does them.

    Args:
        kind: see above.
        block: what happens.
        axes: the loops that threads (rows: blocks) have one iteration of each.
        shared: those that the threads of a block share.
        product: of "tiles".
        call: of a library that computes it instead.
        why: this is done, and nothing else, in words, where it was measured.
        turned: the axis along which all is written, and the one along which something is read.
    """

    kind: str
    block: Block
    axes: tuple[int, ...] = ()
    shared: set[int] = field(default_factory=set)
    product: Contraction | None = None
    call: Call | None = None
    why: str = ""
    turned: tuple[int, ...] = ()


def rows_first(kernel: Kernel) -> Kernel:
    """A kernel that sums into arrays, because a CPU walks along memory, sums into registers: outer loops for each sum.

    A thread has a column, and its neighbor the next one: so memory is walked along as well.
    """
    sums = [[a.axes[k] for k in a.kept] for a in kernel.anchors if a.reduces and a.kept is not None]
    if not sums or kernel.outer or any(a.kept is None for a in kernel.anchors):
        return kernel
    if any({*s} != {*sums[0]} for s in sums) or not all({*sums[0]} <= {*stage.loops} for stage in kernel.stages):
        return kernel
    kernel.outer = tuple(sums[0])
    for stage in kernel.stages:
        stage.loops = kernel.outer + tuple(a for a in stage.loops if a not in kernel.outer)
    return kernel


def apart(kernel: Kernel, stored: set[Node]) -> list[Kernel]:
    """A kernel, cut where a CPU adds into arrays row by row, since for threads those would be places to meet at.

    Products that become tiles are by themselves; sums over rows go with others of the same loops. What one of the
    kernels makes and a later one reads is `stored` from now on.
    """
    whole = rows_first(kernel)
    if len(kernel.anchors) < 2 or any(a.term is None for a in kernel.anchors):
        return [whole]
    kind = _kind(whole, stored)
    ways = {a: _way(a, kernel, stored) for a in kernel.anchors}
    better = {"tiles", "columns"} & {way[0] for way in ways.values()}
    if kind in ("tiles", "columns") or not (better or kind in ("scatter", "once")):
        return [whole]
    groups: list[tuple[Any, list[Stage]]] = []
    home: dict[Node, int] = {}
    for stage in kernel.stages:
        for anchor in stage.anchors:
            way, before = ways[anchor], [home[t.node] for t in anchor.loads if t.node in home]
            first = max([at + (groups[at][0] != way) for at in before], default=0)
            at = next((g for g in range(first, len(groups)) if groups[g][0] == way), len(groups))
            if at == len(groups):
                groups.append((way, []))
            home[anchor.node] = at
            stored |= {t.node for t in anchor.loads if home.get(t.node, at) != at}
            mine = groups[at][1]
            if not mine or mine[-1].loops != stage.loops:
                mine.append(Stage(stage.loops, []))
            mine[-1].anchors.append(anchor)
    outer = {"rows": kernel.outer}
    made = [Kernel("loops", outer.get(way[0], ()), stages, dict(kernel.extents)) for way, stages in groups]
    return [rows_first(each) for each in made]


def _way(anchor: Anchor, kernel: Kernel, stored: set[Node]) -> tuple[Any, ...]:
    """With which others an anchor may be in one kernel: those of the same way."""
    if not anchor.reduces or anchor.kept is None:
        return ("rows",)
    alone = rows_first(Kernel("loops", (), [Stage(anchor.axes, [anchor])], dict(kernel.extents)))
    kind = _kind(alone, stored)
    if kind == "tiles":
        return kind, anchor
    if anchor.by_rows >= 0:
        return ("rows",)
    return "columns" if kind == "columns" else "sums", anchor.axes, anchor.kept


def _kind(kernel: Kernel, stored: set[Node]) -> str:
    return launches(choose_span(collapse(Builder(kernel, stored).build())))[0].kind


def launches(nest: Nest) -> list[Launch]:
    """One after the other, what a GPU is given to do."""
    axes, row = _outer(nest)
    product = contraction(nest, axes, row)
    if product is not None:
        return in_tiles(nest, axes, product)
    alone = nest.span is None
    inner = _shared_by_threads(row, axes, nest)
    count = math.prod(nest.extents[a] for a in axes)
    along = bool(inner and axes and count) and _steps(row, axes[-1:], inner) and not _steps(row, inner, axes)
    end = _one_sum(row)
    if along and end and not _stores(Block(row.items[:end])):
        return [Launch("columns", _until(nest.top, row, end), axes, inner), Launch("ends", nest.top, axes, inner)]
    if along and count >= MANY:
        inner = set()
    scatters = any(isinstance(i, Update) and i.access.role != "register" for i in everything(nest.top))
    if alone and scatters and (found := _scattered(nest)):
        return found
    if inner and alone and end and max(nest.extents[a] for a in inner) >= LONG:
        return [Launch("parts", Block(row.items[:end]), shared=inner), Launch("whole", row, shared=inner)]
    if inner and (axes or alone):
        return [Launch("rows", nest.top, axes, inner)]
    if nest.span in axes and (sides := _turned(row, axes, nest)):
        return [Launch("turned", nest.top, axes, turned=sides)]
    if nest.span is not None:
        return [Launch("each", nest.top, axes if nest.span in axes else (nest.span,))]
    return [Launch("once", nest.top)]


def only_sum(nest: Nest) -> Contraction | None:
    """The one sum of a nest, if it is one of products."""
    return sum_of_products(nest, *_outer(nest))


def _outer(nest: Nest) -> tuple[tuple[int, ...], Block]:
    """The loops that nothing is summed over, and what is inside."""
    return _chain(nest.top, set.intersection(*nest.kept) if nest.kept else set())


def in_tiles(nest: Nest, axes: tuple[int, ...], c: Contraction) -> list[Launch]:
    """A product in tiles; and where several blocks share a sum, what adds their parts in order."""
    order = (*c.batch, *(c.columns + c.rows if c.rows_last else c.rows + c.columns))
    ones = tuple(a for a in axes if a in c.ones)
    ends = [Launch("ends", nest.top, order + ones, {*c.summed, *c.ones}.difference(axes))]
    return [Launch("tiles", nest.top, axes, product=c), *(ends if c.tile.parts > 1 else [])]


def _chain(block: Block, common: set[int] | None) -> tuple[tuple[int, ...], Block]:
    """Loops that contain nothing but the next one, and what is inside; only those in `common`, if that is given."""
    axes: list[int] = []
    while True:
        loops = [i for i in block.items if isinstance(i, Loop)]
        if len(loops) != 1 or any(isinstance(i, (Store, Update)) for i in block.items):
            break
        if common is not None and loops[0].axis not in common:
            break
        axes.append(loops[0].axis)
        block = loops[0].body
    return tuple(axes), block


# ------------------------------------------------------------------------------------------------------------- rows


def _shared_by_threads(row: Block, axes: Sequence[int], nest: Nest) -> set[int]:
    """For each inner loop of a row the axis that threads may share; empty, if they had better not, or must not."""
    loops = [i for i in row.items if isinstance(i, Loop)]
    if not loops or (axes and max(_length(loop, nest) for loop in loops) < SHARES_FROM):
        return set()
    mine = _starts(row.items)
    return next((way for way in _ways(loops, mine, nest) if all(_shares_one(loop, way) for loop in loops)), set())


def _ways(loops: Sequence[Loop], mine: set[Access], nest: Nest) -> Iterator[set[int]]:
    """Axes to share: of each loop the longest that may be shared, or else the outermost."""
    able = [[axis for axis in _chain(Block([loop]), None)[0] if _in_any_order(loop, (axis,), mine)] for loop in loops]
    if all(able):
        yield {max(chain, key=lambda axis: (min(nest.extents[axis], 256), chain.index(axis))) for chain in able}
        yield {chain[0] for chain in able}


def _shares_one(loop: Loop, shared: set[int]) -> bool:
    """Whether threads share one of the loops in a nest, not two: each would do a diagonal."""
    return sum(each.axis in shared for each in (loop, *_loops(loop.body))) == 1


def _length(loop: Loop, nest: Nest) -> int:
    """Iterations of a loop and of those inside it."""
    inner = [_length(i, nest) for i in loop.body.items if isinstance(i, Loop)]
    return nest.extents[loop.axis] * max([1, *inner])


def _steps(block: Block, axes: Iterable[int], others: Iterable[int]) -> bool:
    """Whether a matrix is read along one of the axes, from number to number; others of its axes are among `others`."""
    ends = {counter(axis) for axis in axes}
    reads = [a.where for a in accesses(block) if a.role == "in" and a.where]
    return any(where[-1] in ends and not counters_of(*where[:-1]).isdisjoint(others) for where in reads)


def _one_sum(row: Block) -> int:
    """How many items of a row there are up to its one loop, if something is summed there; else 0."""
    loops = [(k, i) for k, i in enumerate(row.items, 1) if isinstance(i, Loop)]
    if len(loops) != 1 or not any(isinstance(i, Update) for i in everything(loops[0][1].body)):
        return 0
    return loops[0][0]


def _stores(block: Block) -> bool:
    """Whether something is written to arrays there."""
    return any(isinstance(i, Store) and i.access.role != "register" for i in everything(block))


def _until(block: Block, row: Block, end: int) -> Block:
    """The same loops, in whose row only the first items are."""
    if block is row:
        return Block(row.items[:end])
    return Block([Loop(i.axis, _until(i.body, row, end)) if isinstance(i, Loop) else i for i in block.items])


# ------------------------------------------------------------------------------------------------------------ turned


def _turned(row: Block, axes: Sequence[int], nest: Nest) -> tuple[int, ...]:
    """The axis along which all is written, and another one, along which something is read; empty, if there is none."""
    along = {i.access.where[-1] if i.access.where else None for i in row.items if isinstance(i, Store)}
    wide = [axis for axis in axes if nest.extents[axis] >= SHARES_FROM]
    inner = next((axis for axis in wide if along == {counter(axis)}), None)
    if inner is None or any(isinstance(i, (Loop, Update)) for i in row.items):
        return ()
    for other in {*wide} - {inner}:
        sizes = [i.node.dtype.size for i in row.items if isinstance(i, Value) and turns(i, inner, other)]
        if 0 < sum(sizes) <= TILES:
            return inner, other
    return ()


def turns(value: Value, inner: int, other: int) -> bool:
    """Whether a value is read from a matrix along another axis, at a place that is known before all else."""
    access = value.access if value.kind == "load" and value.guard is None else None
    if access is None or not access.where or access.where[-1] != counter(other):
        return False
    return counter(inner) in access.where and all(w.op in ("counter", "int") for w in access.where)


# ---------------------------------------------------------------------------------------------------------- scatter


def _scattered(nest: Nest) -> list[Launch]:
    """A launch for each outermost loop, if each of them may be done in any order; empty, if one may not."""
    before = [i for i in nest.top.items if isinstance(i, Value)]
    found = []
    for item in nest.top.items:
        if isinstance(item, Loop):
            axes, _ = _chain(Block([item]), None)
            while axes and not _in_any_order(item, axes, atomic=True):
                axes = axes[:-1]
            lasts = any(isinstance(i, Update) and is_last(i) for i in everything(item.body))
            if lasts and {loop.axis for loop in (item, *_loops(item.body))} != {*axes}:
                return []  # whose number it is would not tell who is last
            found += [Launch(kind, Block([*before, item]), axes) for kind in ["winners"] * lasts + ["scatter"]]
    whole = all(isinstance(item, (Loop, Value)) for item in nest.top.items)
    return found if whole and all(launch.axes for launch in found) else []


def _in_any_order(loop: Loop, axes: Sequence[int], mine: set[Access] | None = None, atomic: bool = False) -> bool:
    """Whether iterations of `axes` may be done at the same time.

    They write cells of their own, or sum in registers: their own, or such of the row around them (`mine`) as are put
    together afterwards. `atomic`: what they add to arrays may meet.
    """
    inside = next(each for each in (loop, *_loops(loop.body)) if each.axis == axes[-1]).body
    own = _starts(everything(inside))
    for item in everything(Block([loop])):
        if isinstance(item, (Store, Update)) and item.access not in own:
            apart = item.access.role != "register" and all(counter(axis) in item.access.where for axis in axes)
            summed = isinstance(item, Update) and is_joined(item)
            met = atomic and isinstance(item, Update) and bool(is_atomic(item) or is_last(item))
            met = met and item.access.role != "register"
            if not (apart or met or (summed and item.access in (mine or ()))):
                return False
    return True


def _starts(items: Iterator[Item] | Sequence[Item]) -> set[Access]:
    """Registers in which sums begin there."""
    return {i.access for i in items if isinstance(i, Store) and i.access.role == "register"}


def _loops(block: Block) -> Iterator[Loop]:
    return (i for i in everything(block) if isinstance(i, Loop))


def is_joined(update: Update) -> bool:
    """Whether partial results can be put together."""
    return update.reducer in JOINED and (update.dtype.kind != "b" or "b" in update.reducer.bodies)


def is_atomic(update: Update) -> str:
    """The word for what a GPU can do at one place for many threads; empty, if it cannot."""
    if update.dtype.kind not in "fiu" or update.dtype.size < 4:
        return ""
    words = {id(JOINED[0]): "add"} | ({id(JOINED[2]): "max", id(JOINED[3]): "min"} if update.dtype.kind != "f" else {})
    return words.get(id(update.reducer), "")


def is_last(update: Update) -> bool:
    """Whether of all that go to one place the last one stays."""
    return update.reducer is REDUCERS["last"]


# --------------------------------------------------------------------------------------------------------- barriers


class Touch(NamedTuple):
    """An array that an item of a row reads or writes, and where: two with one `place` are the same thread's."""

    node: Node
    place: Any
    writes: bool

    def is_unordered(self, other: Touch) -> bool:
        """Whether another thread may have been there, and one of both writes."""
        return self.node is other.node and (self.writes or other.writes) and self.place != other.place


def touches(item: Item, shared: set[int], nest: Nest) -> list[Touch]:
    """What an item of a row does to arrays. An iteration of a shared loop is named by its number alone."""
    found = []
    for part in (item, *(everything(item.body) if isinstance(item, Loop) else ())):
        access = None if isinstance(part, Loop) else part.access
        if access is not None and access.role != "register":
            names = [_thread_of(w, shared, nest) for w in access.where]
            alone = not any(isinstance(name, tuple) for name in names)
            place = (access.shape, tuple(names)) if not alone else None if isinstance(part, Value) else "first thread"
            found.append(Touch(access.node, place, not isinstance(part, Value)))
    return found


def _thread_of(index: Index, shared: set[int], nest: Nest) -> Any:
    axis = next((a for a in shared if index == counter(a)), None)
    return index if axis is None else ("shared", nest.extents[axis])
