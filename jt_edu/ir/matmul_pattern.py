"""Matmul pattern: is this reduction a matrix product?

A sum of products whose index maps only pick loop counters is a *contraction*. Each counter then is one of four things,
read off the maps and never off an operator's name:

    counter in    A  B  out
    batch         x  x   x
    row           x      x
    column           x   x
    summed        x  x

With rows, columns and something summed it is a matrix product. Products of matrices written as broadcast, multiply, sum
are therefore found too, and so are both gradients. BLAS does them faster than our own loops, except for those that are
thin, or have a side that stays in the cache: there kernels of our own are faster. `way_of` says which, and why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jt_edu.ir.index_expr import Index, as_index
from jt_edu.ir.meta_ops import CONSTANT, Op, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import MULTIPLY

BLAS = ("float32", "float64", "complex64", "complex128")
FEW = 32  # rows, or numbers to sum over, up to which a product is thin; measured
NEAR = 1 << 17  # numbers of an answer, or of a side, that stay in the cache while the rest passes by
SMALL = 1 << 20  # multiplications up to which BLAS is as fast: it then copies nothing
MANY = 512  # rows from which on a small matrix is turned for one product
TURNED = 1 << 18  # numbers of a matrix up to which it is turned in the time of a few products of few rows
VECTOR = 16  # columns: kernels made of vectors want whole ones
ONCE = "each number of the large side is read once, where it lies; BLAS would copy it first"
WRITTEN = "each number is written once; BLAS would write zeros first, and then add to them"
OFTEN = "BLAS copies both sides into an order that suits it, which pays where each number is used often"
ADDED = "the answer stays in the cache while products are added to it; BLAS would copy both sides first"
STAYS = "one side stays in the cache while the rows of the other pass by; BLAS would copy both first"
QUICK = "BLAS multiplies small matrices where they lie"


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
    def sides(self) -> tuple[Node, Node]:
        """The arrays that are multiplied."""
        return self.left.node, self.right.node

    @property
    def flops(self) -> int:
        """Additions and multiplications."""
        return 2 * self.batch * self.rows * self.columns * self.summed


def way_of(p: Product) -> tuple[str, str]:
    """Who multiplies, and why: "dots", "rows", "outer", "near" (kernels of ours), or "BLAS"."""
    real, turned = p.node.dtype in ("float32", "float64"), (p.left.transposed, p.right.transposed)
    work = p.flops // 2
    few, summed = p.rows <= FEW and work > SMALL * (1 if p.rows > 1 else 4), p.summed <= FEW and work > SMALL
    sizes = f"{p.rows} row{'s' * (p.rows > 1)}, {p.columns} column{'s' * (p.columns > 1)}, sums of {p.summed}: "
    if real and not p.left.batched and p.left.node is not p.right.node:
        if few and turned == (False, True):
            return "dots", sizes + ONCE
        if p.columns >= VECTOR and turned == (False, False):
            if few and p.rows > 1:
                return "rows", sizes + ONCE
            if p.rows > FEW and work > SMALL and p.summed * p.columns <= NEAR:
                return "near", sizes + STAYS
        if p.columns >= VECTOR and turned == (True, False):
            if summed:
                return "outer", sizes + WRITTEN
            if work > SMALL and p.rows * p.columns <= NEAR:
                return "outer", sizes + ADDED
    return "BLAS", sizes + (OFTEN if work > SMALL else QUICK)


@dataclass(frozen=True, eq=False)
class Turned(Reindex):
    """The transpose of a matrix, which may be worth storing; see `matrix_product`."""

    often: bool = True  # many products read it


Axes = list[int]


def matrix_product(node: Node, total: Op | None = None) -> Product | None:
    """The matrix product that `node` is, or that its `total` would be; or None.

    Few rows, and very many, meet a small matrix faster if its rows are what is summed over: then a `Turned` one takes
    the place of the matrix behind it.
    """
    op, source = (node.op, node.inputs[0]) if total is None else (total, node)
    if not isinstance(op, ReindexReduce) or op.reducer != "add" or node.dtype not in BLAS or op.kept is None:
        return None
    if source.op is not MULTIPLY or source.data is not None or source.dtype != node.dtype:
        return None
    if min(source.shape, default=0) == 0:
        return None
    out = [k for k in op.kept if source.shape[k] > 1]
    thin = any(source.shape[k] == 1 for k in op.kept)
    left, right = (_readings(i, source.shape) for i in source.inputs)
    found = (_sorted_out(node, source.shape, a, b, out, thin) for a in left for b in right)
    products = (product for product in found if product is not None)
    first = next(products, None)
    if first is None or not first.right.transposed:
        return first
    return next((p for p in products if not p.right.transposed and _worth_turning(p)), first)


def _worth_turning(p: Product) -> bool:
    """Whether turning the right side takes little of the time that is saved: by many such products, or a large one."""
    op, size = p.right.node.op, p.columns * p.summed
    if not isinstance(op, Turned):
        return False
    return (op.often and size <= TURNED) if p.rows <= FEW else (size <= NEAR and p.rows >= MANY)


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


def _readings(node: Node, loops: Shape) -> list[tuple[Node, Axes]]:
    """The arrays that an input may be read from, and the loop counter of each of their (longer than 1) axes.

    The first is the array behind all views that only pick counters: nothing is copied. Then the views themselves, the
    innermost first: BLAS wants the axes of a role together, and a view, once stored, may have them so.
    """
    where: tuple[Index, ...] = tuple(Index("counter", k) for k in range(len(loops)))
    found: list[tuple[Node, Axes]] = []
    while node.op is not CONSTANT:
        axes = _axes(node, where, loops)
        window = node.data is None and isinstance(node.op, Reindex) and math.prod(node.shape) == math.prod(loops)
        if axes is not None and not window:
            found.insert(0, (node, axes))
        op = node.op
        if node.data is not None or not isinstance(op, Reindex) or not op.picks or op.guards or op.valid is not None:
            return found
        where, node = tuple(w.at(where) for w in op.where), node.inputs[0]
    return found


def _axes(node: Node, where: tuple[Index, ...], loops: Shape) -> Axes | None:
    """The counter of each axis; None where an axis is not one counter, or two are the same."""
    axes: Axes = []
    for index, length in zip(where, node.shape, strict=True):
        if index.op == "counter":
            if length != loops[index.args[0]]:
                return None
            axes += [index.args[0]] if length > 1 else []
        elif index != as_index(0) or length != 1:
            return None
    return axes if len(set(axes)) == len(axes) else None
