"""Expression: what has to be computed at one index, when the values in between are not stored?

`Expression(stored).value(node, where)` follows the graph backwards from a node at an index and returns a `Term`:
an operator on other terms, down to loads of arrays. A Reindex costs nothing here: it only changes the index at which
its input is asked for, and a reshape only changes the shape under which an array is seen.

    (a * b).transpose()[i, j]   ->   multiply(load a[j, i], load b[j, i])

What a padded Reindex must not read is kept in `guard`, a condition that travels down to the loads.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, field
from functools import cached_property

from jt_edu.ir.index_expr import Index, as_index, binary, both, load, looks_up, size
from jt_edu.ir.meta_ops import CONSTANT, Counter, Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape

Place = tuple[Index, ...]


@dataclass(frozen=True, eq=False)
class Term:
    """A value at an index. `kind`: load, number, counter, compute (an Elementwise), or fill (a guarded choice)."""

    kind: str
    node: Node
    where: Place = ()
    view: Shape = ()  # the shape under which `where` looks at the array
    guard: Index | None = None
    operands: tuple[Term, ...] = ()
    outer: Index | None = None  # of a fill: the guard under which it is asked for

    @cached_property
    def below(self) -> frozenset[Term]:
        """What it is made of, without itself: a term that kept itself would never be free, nor would its arrays."""
        found: set[Term] = set()
        waiting = [*self.operands]
        while waiting:
            term = waiting.pop()
            if term not in found:
                found.add(term)
                waiting.extend(term.operands)
        return frozenset(found)


@dataclass(frozen=True)
class Expression:
    """Terms for nodes, where those that are `stored` are arrays; equal questions get the same Term."""

    stored: Container[Node]
    memo: dict[tuple[Node, Place, Shape, Index | None], Term] = field(default_factory=dict)

    def value(self, node: Node, where: Place, view: Shape | None = None, guard: Index | None = None) -> Term:
        """The term for `node`, seen as an array of shape `view`, at `where`: a load, if it is stored."""
        if node.op is CONSTANT:
            return Term("number", node)
        key = (node, where, node.shape if view is None else view, guard)
        if key not in self.memo:
            array = node.data is not None or isinstance(node.op, ReindexReduce) or node in self.stored
            self.memo[key] = Term("load", *key) if array else self.computed(*key)
        return self.memo[key]

    def computed(self, node: Node, where: Place, view: Shape, guard: Index | None = None) -> Term:
        """The term for a node that is computed here, whether or not it is stored as well."""
        if isinstance(node.op, Elementwise):
            operands = tuple([self.value(i, where, view, guard) for i in node.inputs])
            return Term("compute", node, where, view, guard, operands)
        if isinstance(node.op, Reindex) and node.op.flat and not node.op.picks:
            return self.value(node.inputs[0], where, view, guard)
        here = where if view == node.shape else reshaped(where, view, node.shape)
        if isinstance(node.op, Counter):
            index = here[node.op.axis]  # an index array is looked into only where the guard lets it
            return Term("counter", node, (index,), guard=guard if looks_up(index) else None)
        if isinstance(node.op, Reindex):
            return self._moved(node, node.op, here, guard)
        return Term("load", node, where, view, guard)  # Code and HostCall

    def _moved(self, node: Node, op: Reindex, here: Place, guard: Index | None) -> Term:
        """The input of a Reindex at the index it points to, or the fill value where that is outside."""
        source = node.inputs[0]
        where = op.where
        if len(node.inputs) > 1:
            where = tuple(spell_loads(w, node, source.shape, axis) for axis, w in enumerate(where))
        there = tuple(w.at(here) for w in where)
        inside = None if op.fill is None else condition(op, here, there, source.shape)
        if inside is None:
            return self.value(source, there, None, guard)
        both_guards = inside if guard is None else both(guard, inside)
        return Term("fill", node, here, (), inside, (self.value(source, there, None, both_guards),), guard)


def condition(op: Reindex | ReindexReduce, here: Place, there: Place, shape: Shape) -> Index | None:
    """When `there` is inside an array of `shape`, as far as that is in doubt."""
    inside = None if op.valid is None else op.valid.at(here)
    for axis, below, above in op.guards:
        doubts = [as_index(0) <= there[axis]] if below else []
        doubts += [there[axis] < size(shape[axis])] if above else []
        for test in doubts:
            inside = test if inside is None else both(inside, test)
    return inside


def spell_loads(index: Index, node: Node, shape: Shape, axis: int) -> Index:
    """Name the index arrays by their nodes, and let negative entries count from the end, as NumPy does."""
    if index.op == "load":
        entry = load(index.args[0], [spell_loads(w, node, shape, axis) for w in index.args[1]])
        array = node.inputs[1 + index.args[0]]
        return Index("wrapped", Index("load", array, entry.args[1]), size(shape[axis]))
    if index.op in ("counter", "int", "size"):
        return index
    return binary(index.op, *(spell_loads(a, node, shape, axis) for a in index.args))


def reshaped(where: Place, view: Shape, shape: Shape) -> Place:
    """The place in an array of `shape` that a place of its reshape `view` is.

    Axes meet where as many elements lie behind them on both sides. Only between two such borders is anything multiplied
    or divided: channels that are shuffled leave rows and columns alone.

    Example:
        >>> from jt_edu.ir.index_expr import counters
        >>> reshaped(counters(3), (6, 4, 5), (2, 3, 4, 5))
        (i0 // 3, i0 % 3, i1, i2)
    """
    if 0 in shape:  # there is no place: an index that no loop reaches, or the load would be done before all loops
        return (where[view.index(0)],) * len(shape)
    if view[:1] == shape[:1] != ():
        return (where[0], *reshaped(where[1:], view[1:], shape[1:]))
    ours, theirs = pitches(view), pitches(shape)
    borders, place = {*ours} & {*theirs}, []
    for length, step in zip(shape, theirs, strict=True):
        low = max([b for b in borders if b <= step], default=1)
        high = min([b for b in borders if b > step], default=math.prod(shape))
        flat = as_index(0)
        for index, own, n in zip(where, ours, view, strict=True):
            if n != 1 and low <= own < high:
                flat = flat + (index if own == low else index * size(own // low))
        index = flat if step == low else flat // size(step // low)
        place.append(as_index(0) if length == 1 else index if step * length == high else index % size(length))
    return tuple(place)


def pitches(shape: Shape) -> tuple[int, ...]:
    """How far neighbours on each axis lie apart in row-major order."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
