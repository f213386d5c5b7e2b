"""Batched graph: the graph of one example, with one more axis in front, is the graph of a batch.

    one example                              a batch of B of them
    x (3,)                                   x (B, 3)
    reindex  out[i, j] = x[j]        (4, 3)  out[b, i, j] = x[b, j]        (B, 4, 3)
    multiply out[i, j] = ... * w[i, j]       out[b, i, j] = ... * w[i, j]                 w is the same for all
    sum      out[i] += ...              (4,) out[b, i] += ...              (B, 4)

The function is run once, on an example that has a shape and no numbers (EXAMPLE). Then each node that was made from
it gets a twin, its node for the whole batch. There is a rule for each of the three meta-operators, and so there is one
for whatever is made of them: all counters move on by one, and what is the same for all examples is read without the new
counter. Two more rules: a kernel by hand that works row by row gets B times as many rows, and any other one is run B
times.

Nothing here knows what the function was. A gradient or another vmap inside it is a part of the graph like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.dtypes import int64, uint64
from jt_edu.base.errors import ArgumentError
from jt_edu.func.batched_convolution import batched_convolution
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import broadcast, cast, constant, elementwise, filled, flat_view
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.index_expr import Index, binary, counter, load
from jt_edu.ir.matmul_pattern import matrix_product
from jt_edu.ir.meta_ops import CONSTANT, COUNTERS, Code, Elementwise, HostCall, Op, Reindex, ReindexReduce, Slabs
from jt_edu.ir.node import Node, age, behind, callers_line, describe_line, made
from jt_edu.ops.concat import stack
from jt_edu.ops.custom_kernel import Rows, RowsByTables
from jt_edu.variable.autograd import LEAF, Tape
from jt_edu.variable.var import Var

Maybe = Node | None
FAR = 1 << 63  # random numbers are counted up to here: beyond it are keys for the examples of a batch


def _no_numbers() -> Any:
    raise ArgumentError(
        "vmap runs a function once, on an example that has a shape but no numbers",
        "numpy(), item(), a condition, x[mask] or the like; or a Var that was kept from inside it",
        "jt.where(condition, a, b) in place of a condition; to return what is wanted outside",
    ).at(describe_line(callers_line()))  # fmt: skip


EXAMPLE = HostCall("example", _no_numbers, (), "nobody")


def example(shape: tuple[int, ...], like: Node) -> Var:
    """What stands for one example, with the dtype of a batch, and in gradients where that is."""
    node = Node(EXAMPLE, (), shape, like.dtype)
    node.tracked = like.tracked
    return Var._of(node)


class Batch:
    """Twins of nodes that were made from examples.

    Args:
        size: how many examples.
        twins: each example that a function was run on, and the batch that it stands for.
        randomness: "error", "different" or "same": what random numbers the examples get.
        first: the number of the first example, where a batch is a part of a larger one.
    """

    def __init__(self, size: int, twins: dict[Node, Node], randomness: str, first: int = 0) -> None:
        self.size, self.twins, self.randomness, self.first = size, twins, randomness, first
        self.begin = min(n.id for n in twins)  # what is older was not made from them

    def of(self, wanted: Sequence[Node]) -> list[Maybe]:
        """The twin of each node; None where it is the same for all examples."""
        tapes: dict[Tape, list[Node]] = {}
        for node in self._newer(wanted):
            drawn = node.op is f.BITS and node.inputs[0].op is CONSTANT
            inputs = self._drawn(node) if drawn else [self.twins.get(i) for i in node.inputs]
            if any(inputs) or any(i in self.twins for i in behind(node)):  # a gradient may go to what is not read
                self.twins[node] = twin = self._twin(node, inputs)
                twin.tracked, twin.name = node.tracked, node.name
                if node.tape is LEAF:
                    twin.tape = LEAF
                elif node.tape is not None:
                    tapes.setdefault(node.tape, []).append(node)
        for tape, outputs in tapes.items():
            self._let_ask(tape, outputs)
        return [self.twins.get(n) for n in wanted]

    def _newer(self, wanted: Sequence[Node]) -> list[Node]:
        """All nodes behind these that may have been made from an example, inputs first, and that have no twin yet."""
        seen: set[Node] = set()
        waiting = list(wanted)
        while waiting:
            node = waiting.pop()
            if node.id >= self.begin and node not in seen and node not in self.twins:
                seen.add(node)
                waiting += {*node.inputs, *behind(node)}
        return sorted(seen, key=age)

    def _twin(self, node: Node, inputs: list[Maybe]) -> Node:
        op, given = node.op, node.inputs
        match op:
            case Elementwise():
                every = [t or (i if i.op is CONSTANT else self.whole(i)) for i, t in zip(given, inputs, strict=True)]
                return self._like(node, op, every)
            case Reindex():
                of = tuple(k for k, t in enumerate(inputs[1:]) if t)
                every = [t or i for i, t in zip(given, inputs, strict=True)]
                return self._like(node, _read(op, self.size, inputs[0] is not None, of), every)
            case ReindexReduce():
                found = convolution(node) if matrix_product(node) is None else None
                if found is not None:
                    return batched_convolution(found, self)
                of = tuple(k for k, t in enumerate(inputs[1:]) if t)
                every = [self.whole(given[0]), *(t or i for i, t in zip(given[1:], inputs[1:], strict=True))]
                return self._like(node, _added(op, self.size, of), every)
            case RowsByTables() if not any(inputs[1:]):
                return self._of_rows(node, op, given[1:])
            case Rows() | Slabs() if all(i.shape[:1] == node.shape[:1] for i in given):
                return self._of_rows(node, op)
        if isinstance(op, HostCall) and op.by != "NumPy":
            asked = f"vmap cannot ask {op.by} for each example"
            raise ArgumentError(asked, op.name, "messages outside of the function").at(node.line)
        return self._one_by_one(node, inputs)

    def whole(self, node: Node) -> Node:
        """The twin of a node, or the node itself for each example."""
        return self.twins.get(node) or broadcast(node, (self.size, *node.shape))

    def _like(self, node: Node, op: Op, inputs: Sequence[Node]) -> Node:
        """A node with the line, the module and the dtype of another one."""
        shape, here = (self.size, *node.shape), (node.where, node.scope, node.twin)
        return made(current(), here, op, tuple(inputs), shape, node.dtype, None, node.tracked)

    def _of_rows(self, node: Node, op: Code, tables: tuple[Node, ...] = ()) -> Node:
        """Rows of all examples behind each other: (B, rows, n) as (B * rows, n); tables are the same for all."""
        rows = node.inputs[: len(node.inputs) - len(tables)]
        inputs = (*(_as(self.whole(i), (self.size * i.shape[0], *i.shape[1:])) for i in rows), *tables)
        shape = (self.size * node.shape[0], *node.shape[1:])
        return _as(Node(_more(op, self.size), inputs, shape, node.dtype), (self.size, *node.shape))

    def _one_by_one(self, node: Node, inputs: list[Maybe]) -> Node:
        """The operator for each example, and the answers as one; right for whatever it does."""
        if self.size == 0:
            return filled((0, *node.shape), 0, node.dtype)
        given = [Var._of(t or i) for i, t in zip(node.inputs, inputs, strict=True)]
        parts = []
        for b in range(self.size):
            mine = [v[b] if t else v for v, t in zip(given, inputs, strict=True)]
            parts.append(Var._of(Node(node.op, tuple(v.node for v in mine), node.shape, node.dtype)))
        return stack(parts, 0).node

    def _drawn(self, node: Node) -> list[Maybe]:
        """Random bits for each example, by a key of its own. The keys are random bits too, counted from FAR on."""
        if self.randomness == "error":
            raise ArgumentError(
                "vmap asks whether random numbers are alike for all examples", f"random numbers at {node.line}",
                "randomness='different' or 'same'",
            )  # fmt: skip
        if self.randomness == "same":
            return []
        key, (_, start) = node.inputs[0], node.inputs[1].inputs
        example = cast(Node(COUNTERS[0], (), (self.size,), int64), uint64)
        beyond = constant(FAR + self.first, uint64)
        number = elementwise(f.ADD, [elementwise(f.ADD, [example, beyond], uint64), start], uint64)
        keys = elementwise(f.BITS, [key, number], uint64)
        spread = flat_view("reshape", keys.shape, (self.size, 1))
        column = Node(spread, (keys,), (self.size, 1), uint64)
        return [broadcast(column, (self.size, *node.shape)), None]

    def _let_ask(self, tape: Tape, outputs: list[Node]) -> None:
        """The gradient of a Function's twins is the batch of its own `grad`."""
        own, first = [output() for output in tape.outputs], min(map(age, outputs))
        known = {n: t for n, t in self.twins.items() if n.id < first}  # no circle: later ones hold the tape
        places, how = [own.index(n) for n in outputs], (self.randomness, self.first)
        size = self.size

        def backward(*douts: Var | None) -> list[Var | None]:
            ones = [None if d is None else example(d.shape[1:], d.node) for d in douts]
            given = dict(zip(places, ones, strict=True))
            zeros = [None if k in tape.stopped else Var._of(zero()) for k, zero in enumerate(tape.zeros)]
            found = tape.backward(*(given.get(k, zero) for k, zero in enumerate(zeros)))
            more = {one.node: d.node for one, d in zip(ones, douts, strict=True) if one is not None and d is not None}
            inside = Batch(size, {**known, **more}, *how)
            inside.of([g.node for g in found if g is not None])
            return [
                None if g is None else _for_source(Var._of(inside.whole(g.node)), i in known)
                for g, i in zip(found, tape.sources, strict=True)
            ]

        twins = [self.twins[n] for n in outputs]
        mine = Tape(backward, [self.twins.get(i, i) for i in tape.sources], twins)
        for twin in twins:
            twin.tape = mine


def _for_source(gradient: Var, batched: bool) -> Var:
    """The gradients of all examples add up for what they share."""
    return gradient if batched else gradient.sum(0)


def _as(node: Node, shape: tuple[int, ...]) -> Node:
    return Node(flat_view("reshape", node.shape, shape), (node,), shape, node.dtype)


@lru_cache(maxsize=1 << 12)
def _more(op: Code, times: int) -> Code:
    return replace(op, span=op.span * times)


@lru_cache(maxsize=1 << 14)
def _read(op: Reindex, size: int, lead: bool, of: tuple[int, ...]) -> Reindex:
    """A Reindex for each example: x has the new axis if `lead`, and so have the index arrays with the numbers `of`."""
    where = tuple(_moved(w, of) for w in op.where)
    return replace(
        op, shape=(size, *op.shape), where=(counter(0), *where) if lead else where, flat=op.flat and lead,
        valid=None if op.valid is None else _moved(op.valid, of),
        guards=tuple((axis + lead, below, above) for axis, below, above in op.guards),
    )  # fmt: skip


@lru_cache(maxsize=1 << 14)
def _added(op: ReindexReduce, size: int, of: tuple[int, ...]) -> ReindexReduce:
    """A ReindexReduce for each example."""
    return replace(
        op, shape=(size, *op.shape), where=(counter(0), *(_moved(w, of) for w in op.where)),
        valid=None if op.valid is None else _moved(op.valid, of),
        guards=tuple((axis + 1, below, above) for axis, below, above in op.guards),
    )  # fmt: skip


def _moved(index: Index, of: tuple[int, ...]) -> Index:
    """An index whose counters have all moved on by one; index arrays of a batch are read at the new counter first."""
    if index.op in ("int", "size"):
        return index
    if index.op == "counter":
        return counter(index.args[0] + 1)
    if index.op == "load":
        k, places = index.args
        return load(k, [*([counter(0)] if k in of else []), *(_moved(p, of) for p in places)])
    return binary(index.op, *(_moved(part, of) for part in index.args))
