"""Relay: is this reduction a matrix product?

A sum of products whose index maps only pick loop counters is a *contraction*. Each counter then is one of four things,
read off the maps and never off an operator's name:

    counter in    A  B  out
    batch         x  x   x
    row           x      x
    column           x   x
    summed        x  x

With rows, columns and something summed it is a matrix product, and BLAS does it faster than any loop of ours. Products
of matrices written as broadcast, multiply, sum are therefore found too, and so are both gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jt_edu.functions import MULTIPLY
from jt_edu.graph import Node, Shape
from jt_edu.index import Index, as_index
from jt_edu.meta import CONSTANT, Reindex, ReindexReduce

BLAS = ("float32", "float64", "complex64", "complex128")


@dataclass(frozen=True)
class Operand:
    """An array as a stack of matrices: (batch, rows, columns), stored transposed or not."""

    node: Node
    transposed: bool
    batched: bool


@dataclass(frozen=True)
class Product:
    """out[b] = left[b] @ right[b], with the sizes of all four roles."""

    node: Node
    left: Operand
    right: Operand
    batch: int
    rows: int
    columns: int
    summed: int

    @property
    def flops(self) -> int:
        """Additions and multiplications."""
        return 2 * self.batch * self.rows * self.columns * self.summed


Axes = list[int]


def matrix_product(node: Node) -> Product | None:
    """The matrix product that `node` is, or None."""
    op, source = node.op, node.inputs[0]
    if not isinstance(op, ReindexReduce) or op.reducer != "add" or node.dtype not in BLAS or op.kept is None:
        return None
    if source.op is not MULTIPLY or source.data is not None or source.dtype != node.dtype:
        return None
    sides = [_plain_axes(i, source.shape) for i in source.inputs]
    if sides[0] is None or sides[1] is None or min(source.shape, default=0) == 0:
        return None
    (a, in_a), (b, in_b) = sides[0], sides[1]
    out = [k for k in op.kept if source.shape[k] > 1]
    thin = any(source.shape[k] == 1 for k in op.kept)
    return _sorted_out(node, source.shape, (a, in_a), (b, in_b), out, thin)


def _sorted_out(
    node: Node, loops: Shape, left: tuple[Node, Axes], right: tuple[Node, Axes], out: Axes, thin: bool
) -> Product | None:
    """The roles of the counters, if each array keeps the counters of one role together and in order.

    A `thin` product has an axis of length 1: a matrix of one row or column is still a matrix.
    """
    (a, in_a), (b, in_b) = left, right
    batch = [k for k in out if k in in_a and k in in_b]
    rows = [k for k in out if k in in_a and k not in in_b]
    columns = [k for k in out if k in in_b and k not in in_a]
    summed = [k for k in in_a if k in in_b and k not in out]
    everything = {k for k, length in enumerate(loops) if length > 1}
    enough = (rows or columns) if thin else (rows and columns)
    if not (enough and summed) or {*batch, *rows, *columns, *summed} != everything:
        return None
    if out != batch + rows + columns:
        turned = out == batch + columns + rows
        return _sorted_out(node, loops, right, left, out, thin) if turned else None
    sides = []
    for array, axes, outer, inner in ((a, in_a, rows, summed), (b, in_b, summed, columns)):
        if axes not in (batch + outer + inner, batch + inner + outer):
            return None
        sides.append(Operand(array, axes == batch + inner + outer and axes != batch + outer + inner, bool(batch)))
    sizes = [math.prod(loops[k] for k in role) for role in (batch, rows, columns, summed)]
    return Product(node, sides[0], sides[1], *sizes)


def _plain_axes(node: Node, loops: Shape) -> tuple[Node, Axes] | None:
    """The array behind views that only pick counters, and the loop counter of each of its (longer than 1) axes."""
    where: tuple[Index, ...] = tuple(Index("counter", k) for k in range(len(loops)))
    while node.data is None and isinstance(node.op, Reindex) and node.op.picks and not node.op.guards:
        if node.op.valid is not None:
            return None
        where, node = tuple(w.at(where) for w in node.op.where), node.inputs[0]
    if node.op is CONSTANT:
        return None
    axes = []
    for index, length in zip(where, node.shape, strict=True):
        if index.op == "counter":
            if length != loops[index.args[0]]:
                return None
            axes += [index.args[0]] if length > 1 else []
        elif index != as_index(0) or length != 1:
            return None
    window = node.data is None and isinstance(node.op, Reindex) and math.prod(node.shape) == math.prod(loops)
    return (node, axes) if len(set(axes)) == len(axes) and not window else None
