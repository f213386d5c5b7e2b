"""Loop IR: the loops of one kernel, before they become text; and how a nest of loops becomes a better one.

    Block            a list of what happens, in order
      Loop           a counter, and the Block it repeats
      Value          a number in a register: a load, an operator, a finished sum
      Store          write a Value: into an array, or what an accumulator begins with
      Update         accumulate a Value: into a register or into an array

`Access` says which element of which array is meant. Three passes rewrite a nest:

collapse     two loops that walk through memory in order become one     for i: for j: a[i, j]  ->  for k: a[k]
choose_span  which loop may be split among threads
cut          a long innermost loop ends where one of its conditions changes, and goes on from there

    for i0 in range(n0):                                b0 = 0
        g0 = i0 < k0                                    while b0 < n0:
        t0 = a0[i0] if g0 else 0                            e0 = until(b0, k0, n0)
        out0[i0] = t0                                       g0 = b0 < k0
                                                            for i0 in range(b0, e0):
                                                                t0 = a0[at(i0)] if g0 else 0
                                                                out0[at(i0)] = t0
                                                            b0 = e0

Within a piece the condition stays what it is at its begin, so the compiler writes one loop for each answer, without a
branch and with packed instructions. A remainder is cut where it starts again: within a piece it is the counter, moved.
Sums are left alone, since cut in pieces they are added up in another order.

Nothing here knows how Python is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jt_edu.base.dtypes import DType
from jt_edu.ir.expression import Place
from jt_edu.ir.index_expr import Index, as_index, binary, counter, counters_of
from jt_edu.ir.meta_ops import Elementwise, Reducer
from jt_edu.ir.node import Node, Shape

LONG = 32  # iterations: shorter loops are over before a second one pays
BLOCK = 256  # numbers that are stored at once, and from which on a sum of float32 is cut, too
SUMMED = 1024  # float32 numbers that are summed as such: a lane of a register adds up 16 to 64 of them
EXPENSIVE = 8  # multiplications
ALL = -1  # in the place of an axis: all of the kernel, or a block that is more than one loop
CUTS = 16  # in one loop at most: the compiler may write a loop for each combination of answers
COMPARE = {"{0} < {1}": ("<", 0), "{0} <= {1}": ("<=", 0), "{0} > {1}": ("<", 1), "{0} >= {1}": ("<=", 1)}


@dataclass(eq=False)
class Access:
    """An element of an array: `role` is "in", "out", or "scratch" (a kernel's own sums and rows, of `dtype`).

    Or, as "register", an accumulator that is no array.
    """

    role: str
    node: Node
    where: Place = ()
    shape: Shape = ()
    dtype: DType | None = None  # of scratch; other arrays have that of their node

    def __post_init__(self) -> None:
        """Axes of length 1 are always at 0 and need no index."""
        kept = [k for k, n in enumerate(self.shape) if n != 1 or self.where[k] != as_index(0)]
        self.where, self.shape = tuple([self.where[k] for k in kept]), tuple([self.shape[k] for k in kept])


@dataclass(eq=False)
class Value:
    """A number in a register."""

    kind: str  # load, number, counter, compute, fill, guard, row, start, final, sum
    node: Node
    depth: int
    operands: tuple[Value, ...] = ()
    access: Access | None = None
    index: Index | None = None  # of a counter or a guard
    guard: Value | None = None
    register: Update | None = None  # whose accumulator this is the first or the final value of
    uses: int = 0
    deepest: int = 0  # of the blocks that use it

    def used_at(self, depth: int) -> None:
        """Note one more use."""
        self.uses += 1
        self.deepest = max(self.deepest, depth)


@dataclass(eq=False)
class Update:
    """accumulator = step(accumulator, value)."""

    node: Node
    reducer: Reducer
    dtype: DType  # of the accumulator
    value: Value
    access: Access
    guard: Value | None = None
    plain: float = math.inf  # in a longer loop, blocks are summed as what they are made of, then added up in `dtype`


@dataclass(eq=False)
class Store:
    """array[where] = value; or accumulator = value."""

    node: Node
    access: Access
    value: Value


@dataclass(eq=False)
class Ahead:
    """Ask memory for the row that the next iteration of the loop around it reads."""

    node: Node
    access: Access


@dataclass(eq=False)
class Loop:
    """Repeat `body` for each value of the counter `axis`; piece by piece, if `head` says where pieces end."""

    axis: int
    body: Block
    head: list[Value | Index] = field(default_factory=list)  # ends, and what is known at the begin of a piece
    across: Loop | None = None  # the loop inside, where both go from one square to the next


Item = Value | Update | Store | Ahead | Loop


@dataclass(eq=False)
class Block:
    """What happens, in order."""

    items: list[Item] = field(default_factory=list)


@dataclass(eq=False)
class Nest:
    """All loops of one kernel."""

    top: Block
    extents: dict[int, int]
    span: int | None  # the loop that may be split among threads
    kept: list[set[int]]  # for each anchor, the loops its output is indexed by
    work: float  # operations, weighted


def everything(block: Block) -> Iterator[Item]:
    """Every item below `block`, in order; what is inside a loop comes behind the loop."""
    for item in block.items:
        yield item
        if isinstance(item, Loop):
            yield from everything(item.body)


def accesses(block: Block) -> list[Access]:
    """Every element of an array that is read or written below `block`."""
    found = [item.access for item in everything(block) if not isinstance(item, Loop)]
    return [access for access in found if access is not None and access.role != "register"]


def collapse(nest: Nest, alone: Iterable[int] = ()) -> Nest:
    """Merge neighbouring loops as long as every array is walked through in order; those `alone` stay as they are.

    Nor are loops merged whose counter is a number that something is computed from.
    """
    cells = accesses(nest.top)
    numbers = [i.index for i in everything(nest.top) if isinstance(i, Value) and i.index is not None]
    fixed = {*alone} | counters_of(*numbers)
    while pairs := [
        pair
        for pair in _nested_pairs(nest.top)
        if fixed.isdisjoint(pair) and all(_in_order(a, *pair, nest.extents) for a in cells)
    ]:
        outer, inner = pairs[0]
        nest.extents[outer] *= nest.extents.pop(inner)
        for access in cells:
            if counter(inner) in access.where:
                p = access.where.index(counter(outer))
                access.where = access.where[: p + 1] + access.where[p + 2 :]
                access.shape = (*access.shape[:p], nest.extents[outer], *access.shape[p + 2 :])
        for item in everything(nest.top):
            if isinstance(item, Loop) and item.axis == outer and isinstance(item.body.items[0], Loop):
                item.body = item.body.items[0].body
        for kept in nest.kept:
            kept.discard(inner)
    return nest


def _nested_pairs(block: Block) -> list[tuple[int, int]]:
    """(outer, inner) wherever a loop contains nothing but another loop, and does so each time it occurs."""
    inside, around = dict[int, set[int]](), dict[int, set[int]]()
    for loop in [Loop(ALL, block), *(i for i in everything(block) if isinstance(i, Loop))]:
        inner = [i.axis for i in loop.body.items if isinstance(i, Loop)]
        inside.setdefault(loop.axis, set()).add(inner[0] if len(inner) == len(loop.body.items) == 1 else ALL)
        for axis in inner:
            around.setdefault(axis, set()).add(loop.axis)
    return [(p, q) for p, (q, *others) in inside.items() if p != ALL != q and not others and around[q] == {p}]


def _in_order(access: Access, outer: int, inner: int, extents: dict[int, int]) -> bool:
    """Whether the access reads [..., outer, inner, ...] over the whole of both axes, or neither of them."""
    if counters_of(*access.where).isdisjoint((outer, inner)):
        return True
    if counter(outer) not in access.where:
        return False
    p = access.where.index(counter(outer))
    pair, rest = access.where[p : p + 2], access.where[:p] + access.where[p + 2 :]
    whole = access.shape[p : p + 2] == (extents[outer], extents[inner])
    return whole and pair == (counter(outer), counter(inner)) and counters_of(*rest).isdisjoint((outer, inner))


def choose_span(nest: Nest) -> Nest:
    """The outermost loop that every output is indexed by: its iterations do not meet, so threads may share them.

    Where one loop runs over a kernel's own sums, all of these are indexed by it and by nothing else: then each thread
    can have a row of its own.
    """
    common = set.intersection(*nest.kept) if nest.kept else set()
    scratch = [a.where for a in accesses(nest.top) if a.role == "scratch"]
    rows = all(len(where) == 1 for where in scratch)
    for item in everything(nest.top):
        if isinstance(item, Loop) and item.axis in common:
            reached = [where for where in scratch if item.axis in counters_of(*where)]
            if not reached or (rows and len(reached) == len(scratch)):
                nest.span = item.axis
                break
    return nest


def cut(nest: Nest) -> Nest:
    """Cut the long innermost loops of a nest, if a few cuts free them of their conditions."""
    blocks = [nest.top]
    for block in blocks:
        for loop in [i for i in block.items if isinstance(i, Loop)]:
            blocks.append(loop.body)
            if nest.extents[loop.axis] >= LONG and not any(isinstance(i, (Loop, Update)) for i in loop.body.items):
                _Pieces(loop).cut()
    return nest


class _Pieces:
    """Where one loop is cut, and what is known at the begin of a piece. The counter stands for that begin there."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.here = loop, counter(loop.axis)
        self.head: list[Value | Index] = []
        self.known: dict[Index, Index] = {}

    def cut(self) -> None:
        """Find all cuts; unless they are too many, give the loop its head, and let the body use it."""
        items = self.loop.body.items
        cells = [(i.access, i.node) for i in items if isinstance(i, (Value, Store)) and i.access is not None]
        places = [tuple(self._known(w, node) for w in cell.where) for cell, node in cells]
        moved = [i for i in items if isinstance(i, Value) and self._is_cut(_condition(i))]
        if not 0 < sum(isinstance(h, Index) for h in self.head) <= CUTS:
            return
        for (cell, _), place in zip(cells, places, strict=True):
            cell.where = place
        self.loop.head = [*self.head, *moved]
        self.loop.body.items = [i for i in items if i not in moved]

    def _known(self, index: Index, node: Node) -> Index:
        """The same index, with what does not change within a piece taken from the head."""
        if index == self.here or not self._varies(index) or index.op in ("load", "wrapped"):
            return index
        if index not in self.known:
            self.known[index] = self._found(Index(index.op, *(self._known(a, node) for a in index.args)), node)
        return self.known[index]

    def _found(self, index: Index, node: Node) -> Index:
        a, b = index.args
        if index.op == "%" and b.op in ("int", "size") and b.args[0] >= LONG and (self._line(a) or [0])[0] == 1:
            self._cut_at(self.here + (b - index))
            return self.here + self._put(Value("counter", node, 0, index=index - self.here))
        return self._put(Value("guard", node, 0, index=index)) if self._is_cut(index) else index

    def _put(self, value: Value) -> Index:
        self.head.append(value)
        return Index("value", value)

    def _cut_at(self, end: Index) -> None:
        if end not in self.head:
            self.head.append(end)

    def _is_cut(self, condition: Index | None) -> bool:
        """Whether a condition stays the same between cuts; if so, they are made."""
        ends = None if condition is None else self._ends(condition)
        for end in ends or ():
            self._cut_at(end)
        return bool(ends)

    def _ends(self, condition: Index) -> list[Index] | None:
        """The iterations from which on a condition may have another answer; None if they cannot be told."""
        if not self._varies(condition):
            return []
        if condition.op in ("and", "or"):
            parts = [self._ends(part) for part in condition.args]
            return None if None in parts else [end for part in parts for end in part or ()]
        line = self._line(Index("-", *condition.args)) if condition.op in ("<", "<=") else None
        if line is None or abs(line[0]) != 1:
            return None
        slope, plus, minus = line
        end, minus = (sum(plus, as_index(0)), minus) if slope < 0 else (sum(minus, as_index(0)), plus)
        for part in minus:
            end = end - part
        return [end + int((condition.op == "<=") == (slope > 0))]

    def _line(self, index: Index) -> tuple[int, list[Index], list[Index]] | None:
        """(slope, what is added, what is taken away) of an index that moves with the counter; None of any other."""
        if index == self.here:
            return 1, [], []
        if not self._varies(index):
            return 0, [index] if index != as_index(0) else [], []
        a, b = (self._line(part) for part in index.args) if index.op in ("+", "-") else (None, None)
        if a is None or b is None:
            return None
        if index.op == "+":
            return a[0] + b[0], a[1] + b[1], a[2] + b[2]
        return a[0] - b[0], a[1] + b[2], a[2] + b[1]

    def _varies(self, index: Index) -> bool:
        return self.loop.axis in counters_of(index)


def _condition(value: Value) -> Index | None:
    """What a value asks of the counters, if that is all that it does."""
    if value.kind == "guard":
        return value.index
    op = value.node.op
    word = COMPARE.get(op.body) if value.kind == "compute" and isinstance(op, Elementwise) else None
    parts = [_number(o) for o in value.operands]
    if word is None or None in parts:
        return None
    a, b = (p for p in parts if p is not None)
    return binary(word[0], b, a) if word[1] else binary(word[0], a, b)


def _number(value: Value) -> Index | None:
    """A counter, or a whole number of the graph."""
    if value.kind == "counter" and value.guard is None:
        return value.index
    return Index("value", value) if value.kind == "number" and value.node.dtype.kind == "i" else None
