"""Work: what is a node of the graph, as a call of one kernel?

    add(x, y)                           Elementwise: the name, and its inputs
    sum, max, min, prod                 a reduction along axes
    take, put                           any other Reindex and ReindexReduce: positions are computed on the CPU
    matmul                              a product of matrices, with all that it is made of

Nothing here knows devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jt_edu.ir.index_expr import OPERATORS, Index
from jt_edu.ir.matmul_pattern import Product, matrix_product
from jt_edu.ir.meta_ops import CONSTANT, REDUCERS, Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import MULTIPLY

REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}


class Work(NamedTuple):
    """One node as a call: kernel(out, *inputs), where arrays are seen under other shapes than their own or None."""

    name: str
    inputs: tuple[Node, ...]
    settings: Callable[..., dict[str, Any]] | None = None  # from the index arrays: what else the kernel is told
    shapes: tuple[Shape | None, ...] = ()
    out: Shape | None = None
    arrays: tuple[Node, ...] = ()  # of indices


def work_of(node: Node) -> Work | None:
    """What a node is as a call; None for a reshape of an array, which is the same memory."""
    op, inputs = node.op, node.inputs
    if isinstance(op, Elementwise):
        return Work("cast" if op.name.startswith("cast_") else op.name, inputs)
    if isinstance(op, Reindex):
        if op.flat and not op.within and inputs[0].op is not CONSTANT:
            return None
        told = partial(_taken, op, inputs[0].shape, node.shape)
        return Work("take", inputs[:1], told, arrays=inputs[1:])
    if isinstance(op, ReindexReduce):
        product = matrix_product(node) if inputs[0].op is MULTIPLY and inputs[0].data is None else None
        if product is not None:
            return _product(product)
        kept, shape = op.kept, inputs[0].shape
        if kept is not None and list(kept) == sorted(kept) and op.reducer in REDUCTIONS:
            gone = tuple(k for k in range(len(shape)) if k not in kept)
            return Work(REDUCTIONS[op.reducer], inputs[:1], lambda: {"axes": gone}, out=tuple(shape[k] for k in kept))
        told = partial(_put, op, shape, node.shape, REDUCERS[op.reducer].start(node.dtype))
        return Work("put", inputs[:1], told, arrays=inputs[1:])
    return Work(op.name, inputs)


def _product(p: Product) -> Work:
    def shape(rows: int, columns: int, turned: bool) -> Shape:
        matrix = (columns, rows) if turned else (rows, columns)
        return (p.batch, *matrix) if p.left.batched else matrix

    turned = {"left": p.left.transposed, "right": p.right.transposed}
    sides = shape(p.rows, p.summed, p.left.transposed), shape(p.summed, p.columns, p.right.transposed)
    return Work("matmul", p.sides, lambda: turned, sides, shape(p.rows, p.columns, turned=False))


def _taken(op: Reindex, source: Shape, shape: Shape, *arrays: Any) -> dict[str, Any]:
    """Where each element of a view is read, and what stands where that is outside."""
    return {"positions": _positions(op, source, shape, arrays), "fill": _number(op.fill)}


def _number(fill: float | str | None) -> complex:
    if isinstance(fill, str):  # "nan", or "complex_of(1.0, 2.0)"
        parts = [float(part) for part in fill.removeprefix("complex_of(").rstrip(")").split(",")]
        return parts[0] if len(parts) == 1 else complex(*parts)
    return 0 if fill is None else fill


def _put(op: ReindexReduce, source: Shape, shape: Shape, start: Any, *arrays: Any) -> dict[str, Any]:
    """Where each element goes, how they are put together, and what stands where none goes."""
    return {"positions": _positions(op, shape, source, arrays), "reducer": op.reducer, "start": start}


def _positions(op: Reindex | ReindexReduce, target: Shape, loops: Shape, arrays: Sequence[Any]) -> Any:
    """Row-major positions in an array of shape `target`, one for each turn of the loops; -1 outside."""
    grid = np.indices(loops, sparse=True)
    position, inside = np.zeros(loops, np.int64), np.ones(loops, bool)
    if op.valid is not None:
        inside &= np.asarray(_value(op.valid, grid, arrays) != 0)
    for where, length in zip(op.where, target, strict=True):
        at = np.asarray(_value(where, grid, arrays))
        at = np.where(at < 0, at + length, at) if where.op == "load" else at  # as in Python
        inside &= (at >= 0) & (at < length)
        position = position * length + at
    return np.where(inside, position, -1)


def _value(index: Index, grid: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """An index expression at all turns of the loops."""
    if index.op == "counter":
        return grid[index.args[0]]
    if index.op in ("int", "size"):
        return index.args[0]
    if index.op == "load":
        return arrays[index.args[0]][tuple(_value(w, grid, arrays) for w in index.args[1])]
    return OPERATORS[index.op](*(_value(part, grid, arrays) for part in index.args))


def counted(axis: int, shape: Shape) -> Any:
    """The loop counter of an axis."""
    return np.broadcast_to(np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))]), shape)
