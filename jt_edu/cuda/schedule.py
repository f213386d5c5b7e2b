"""Schedule: which threads of a GPU do which iterations of a nest of loops?

    each      a thread for each element          for i: for j: out[i, j] = ...           all loops that nothing is
                                                                                         summed over
    rows      a block for each row               for i: for j: s = s + a[i, j]           its threads share the inner
                                                 for j: out[i, j] = a[i, j] / s          loops, then put their sums
                                                                                         together
    parts     as many blocks as there is room    for i: s = s + a[i]                     each sums a part, a last block
                                                                                         the parts
    tiles     a block for each tile              for i: for j: for k: s += x[i, k] * y[k, j]
    scatter   a thread for each element          for i: out[where[i]] += a[i]            changes at one place take
                                                                                         turns: atomics
    once      one thread                         whatever is left

A nest becomes one launch, or several where one has to end before the next one begins. Nothing here knows how Python is
written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jt_edu.codegen.loop_ir import Block, Item, Loop, Nest, Store, Update, Value, accesses, everything
from jt_edu.cuda.contraction import Contraction, contraction
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.ir.index_expr import Index, counter
from jt_edu.ir.meta_ops import REDUCERS
from jt_edu.ir.node import Node

SHARED = 32  # iterations of an inner loop, from which on a block of threads shares it
MANY = 4096  # elements, from which on a thread for each keeps a GPU busy
JOINED = [REDUCERS[name] for name in ("add", "multiply", "maximum", "minimum")]  # partial results can be put together
LANES = "fiu"  # kinds of dtypes that lanes can hand to each other


@dataclass
class Launch:
    """Items of a nest, and who does them.

    Args:
        kind: see above.
        block: what happens.
        axes: the loops that threads (rows: blocks) have one iteration of each.
        shared: those that the threads of a block share.
        product: of "tiles".
    """

    kind: str
    block: Block
    axes: tuple[int, ...] = ()
    shared: set[int] = field(default_factory=set)
    product: Contraction | None = None


def rows_first(kernel: Kernel) -> Kernel:
    """Of a kernel that sums into arrays, because a CPU walks along memory: into registers, an outer loop for each sum.

    A thread has a column, and neighbors have neighboring ones: so memory is walked along as well.
    """
    sums = [a for a in kernel.anchors if a.reduces]
    if kernel.kind != "loops" or kernel.outer or not sums or any(a.kept is None for a in kernel.anchors):
        return kernel
    kept = [tuple(a.axes[k] for k in a.kept or ()) for a in kernel.anchors if a.reduces]
    if any({*k} != {*kept[0]} for k in kept) or not all({*kept[0]} <= {*s.loops} for s in kernel.stages):
        return kernel
    kernel.outer = kept[0]
    for stage in kernel.stages:
        stage.loops = kernel.outer + tuple(a for a in stage.loops if a not in kernel.outer)
    return kernel


def launches(nest: Nest) -> list[Launch]:
    """One after the other, what a GPU is given to do."""
    common = set.intersection(*nest.kept) if nest.kept else set()
    axes, body = _chain(nest.top, common)
    product = contraction(nest, axes, body)
    if product is not None:
        return [Launch("tiles", nest.top, axes, product=product)]
    inner = _shared_by_threads(body, axes, nest)
    if nest.span is None and any(isinstance(i, Update) and i.access.role != "register" for i in everything(nest.top)):
        return _scattered(nest) or [Launch("rows", nest.top, (), inner) if inner else Launch("once", nest.top)]
    if inner and (axes or nest.span is None):
        return [Launch("rows", nest.top, axes, inner)]
    if axes and nest.span in axes:
        return [Launch("each", nest.top, axes)]
    if nest.span is not None:
        return [Launch("each", nest.top, (nest.span,))]
    return [Launch("once", nest.top)]


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


def _shared_by_threads(row: Block, axes: Sequence[int], nest: Nest) -> set[int]:
    """For each inner loop of a row the axis that threads may share; empty, if they had better not, or must not."""
    loops = [i for i in row.items if isinstance(i, Loop)]
    if not loops or (axes and max(_length(loop, nest) for loop in loops) < SHARED):
        return set()
    chosen = [_axis(loop, row, nest) for loop in loops]
    if any(axis is None for axis in chosen):
        return set()
    found = {axis for axis in chosen if axis is not None}
    along = axes and _steps(row, axes[-1]) and not any(_steps(row, axis) for axis in found)
    wide = math.prod(nest.extents[a] for a in axes) >= MANY
    return set() if along and wide else found


def _length(loop: Loop, nest: Nest) -> int:
    """Iterations of a loop and of those inside it."""
    inner = [_length(i, nest) for i in loop.body.items if isinstance(i, Loop)]
    return nest.extents[loop.axis] * max([1, *inner])


def _steps(block: Block, axis: int) -> bool:
    """Whether some array is read along an axis, from number to number."""
    cells = [a for a in accesses(block) if a.role == "in" and a.where]
    return any(a.where[-1] == counter(axis) for a in cells)


def _axis(loop: Loop, row: Block, nest: Nest) -> int | None:
    """The loop itself or the longest of those inside, if its iterations may be done at the same time."""
    chain, _ = _chain(Block([loop]), None)
    able = [axis for axis in chain if _is_shareable(loop, axis, row)]
    return max(able, key=lambda axis: (min(nest.extents[axis], 256), chain.index(axis)), default=None)


def _is_shareable(loop: Loop, axis: int, row: Block) -> bool:
    """Whether iterations write different cells, or sum in registers that belong to the row."""
    mine = {i.access for i in row.items if isinstance(i, Store) and i.access.role == "register"}
    inside = next(found for found in (loop, *_loops(loop.body)) if found.axis == axis).body
    own = {i.access for i in everything(inside) if isinstance(i, Store) and i.access.role == "register"}
    for item in everything(Block([loop])):
        if isinstance(item, Update) and item.access.role == "register":
            joined = item.access in mine and item.reducer in JOINED and item.dtype.kind in LANES
            if not joined and item.access not in own:
                return False
        elif isinstance(item, (Update, Store)) and item.access.role != "register":
            if counter(axis) not in item.access.where:
                return False
        elif isinstance(item, Store) and item.access not in own:
            return False
    return True


def _loops(block: Block) -> Iterator[Loop]:
    return (i for i in everything(block) if isinstance(i, Loop))


def _scattered(nest: Nest) -> list[Launch]:
    """A launch for each outermost loop, if each of them may be done in any order; changes at one place are atomic."""
    before = [i for i in nest.top.items if isinstance(i, Value)]
    found = []
    for item in nest.top.items:
        if isinstance(item, (Store, Update)):
            return []
        if isinstance(item, Loop):
            axes, body = _chain(Block([item]), None)
            while axes and not _in_any_order(item, axes):
                axes = axes[:-1]
            if not axes:
                return []
            found.append(Launch("scatter", Block([*before, item]), axes))
    return found


def _in_any_order(loop: Loop, axes: Sequence[int]) -> bool:
    inside = Block([loop])
    own = {i.access for i in everything(inside) if isinstance(i, Store) and i.access.role == "register"}
    for item in everything(inside):
        if isinstance(item, Store) and item.access.role != "register":
            if any(counter(axis) not in item.access.where for axis in axes):
                return False
        elif isinstance(item, Update) and item.access.role == "register":
            if item.access not in own:
                return False
        elif (
            isinstance(item, Update) and not is_atomic(item) and any(counter(a) not in item.access.where for a in axes)
        ):
            return False
    return True


def is_atomic(update: Update) -> bool:
    """Whether a GPU can do it at one place for many threads."""
    return update.reducer is JOINED[0] and update.dtype.kind in "fiu" and update.dtype.size >= 4


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
