"""Graph data: an op graph as rows of plain values, so that a judge can rebuild it and fuse it itself.

    told(y)      on the learner's side    [("array", x), ("elementwise", "multiply", (0, 0)), ...], the last one is y
    meant(rows)  on the judge's           the same graph, of Vars of our own

So "it fuses into one kernel" is nothing that an answer could claim: what is counted is what our own fuser makes of the
rows, and numbers come from our own kernels. Sizes are looked at before anything is built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.ir import scalar_ops
from jt_edu.ir.index_expr import Index, as_index, binary, load
from jt_edu.ir.meta_ops import Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node

NODES, CELLS, DEEP = 1_000, 1 << 18, 50  # of a graph, of all its arrays together, of an index
ELEMENTWISE = {op.name: op for op in vars(scalar_ops).values() if isinstance(op, Elementwise)}
Row = tuple[Any, ...]


def told(y: jt.Var) -> list[Row]:
    """The rows of all that y is made of; ValueError where a part is no meta-operator."""
    rows, places, waiting = list[Row](), dict[Node, int](), [y.node]
    while waiting:
        node = waiting[-1]
        if behind := [i for i in node.inputs if i not in places]:
            waiting += behind
            continue
        waiting.pop()
        if node not in places:
            places[node] = len(rows)
            rows.append(_row(node, tuple(places[i] for i in node.inputs)))
    return rows


def _row(node: Node, inputs: tuple[int, ...]) -> Row:
    match node.op:
        case Elementwise() as op if op.name in ELEMENTWISE:
            return "elementwise", op.name, inputs
        case Reindex() as op if op.valid is None:
            return "reindex", op.name, inputs, op.shape, tuple(map(_told, op.where)), float(op.fill or 0)
        case ReindexReduce() as op if op.valid is None:
            return "reindex_reduce", op.name, inputs, op.shape, tuple(map(_told, op.where)), op.reducer
    if node.data is None:
        raise ValueError(f"{node.op.name} is none of the operators of this exercise")
    return "array", np.asarray(node.data)


def _told(index: Index) -> Row:
    return index.op, *(
        _told(a) if isinstance(a, Index) else tuple(map(_told, a)) if isinstance(a, tuple) else a for a in index.args
    )


def meant(rows: Sequence[Row]) -> jt.Var:
    """The Var that rows mean; ValueError where they are not what `told` says."""
    if not rows or len(rows) > NODES:
        raise ValueError(f"a graph of {len(rows)} values")
    built, cells = list[jt.Var](), 0
    for row in rows:
        match row:
            case ("array", np.ndarray() as data):
                built.append(jt.array(data))
            case ("elementwise", str(name), (int(first), *others)) if name in ELEMENTWISE:
                built.append(ELEMENTWISE[name](built[first], *(built[k] for k in others)))
            case ("reindex", str(_), (int(x), *extras), tuple(shape), tuple(where), float(fill)) if _fits(shape):
                x, arrays = built[x], [built[k] for k in extras]
                built.append(x.reindex(shape, lambda *here, w=where: _meant(w, here), fill, arrays))
            case ("reindex_reduce", str(_), (int(x), *extras), tuple(shape), tuple(where), str(how)) if _fits(shape):
                x, arrays = built[x], [built[k] for k in extras]
                built.append(x.reindex_reduce(how, shape, lambda *here, w=where: _meant(w, here), arrays))
            case _:
                raise ValueError("a row that means nothing")
        if (cells := cells + math.prod(built[-1].shape)) > CELLS:
            raise ValueError(f"a graph of more than {CELLS:,} numbers")
    return built[-1]


def _fits(shape: Sequence[int]) -> bool:
    return all(type(n) is int and n >= 0 for n in shape) and math.prod(shape) <= CELLS


def _meant(where: Sequence[Row], here: Sequence[Index], deep: int = 0) -> tuple[Index, ...]:
    """Index expressions at some counters."""

    def one(told: Row) -> Index:
        match told:
            case ("counter", int(k)):
                return here[k]
            case ("int" | "size", int(n)):
                return as_index(n)
            case ("load", int(k), tuple(inner)):
                return load(k, _meant(inner, here, deep + 1))
            case (str(op), tuple(a), tuple(b)) if deep < DEEP:
                return binary(op, *_meant((a, b), here, deep + 1))
        raise ValueError("an index that means nothing")

    return tuple(map(one, where))
