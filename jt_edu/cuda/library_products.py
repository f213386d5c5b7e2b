"""Library products: which products and convolutions can a library of NVIDIA's compute?

Those of two arrays as they lie in memory; of a product one of the two axes has its numbers side by side. What becomes
of each sum is a kernel of its own then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from jt_edu.codegen.loop_ir import Access, Nest, Store, Value, accesses
from jt_edu.cuda import cudnn
from jt_edu.cuda.contraction import Contraction
from jt_edu.ir.conv_pattern import Sizes, convolution, narrow, strides_of
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ir.node import Node

KINDS = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")


@dataclass(frozen=True)
class Call:
    """A call of a library; see `cublas.gemm` and `cudnn.convolve`."""

    name: str  # of the way in which it computes; the library's own is the first word
    words: str  # the call, with {} for each of three arrays, and of
    sizes: tuple[tuple[int, ...], ...]  # how many iterations these loops have together
    arrays: tuple[Access, Access, Access]  # two that are read, and the sums
    rest: list[Value | Store]  # what becomes of each sum
    short: str = ""  # where sums are written as bits of halves: what makes them numbers

    @property
    def library(self) -> str:
        """Whose it is."""
        return self.name.split()[0]


def gemm_of(c: Contraction, nest: Nest) -> Iterator[Call]:
    """A contraction as a product for the library; nothing if it is none."""
    sums = _stored_sum(c)
    sides = [_side(c, nest, value, axes) for value, axes in c.sides]
    if sums is None or None in sides or len(c.summed) != 1:
        return
    out, ((left, left_turned), (right, right_turned)) = sums.access, sides  # type: ignore[misc]
    order, kind = _order(out), str(left.node.dtype)
    rows, columns = c.rows, c.columns
    if order == (*c.batch, *columns, *rows):
        left, left_turned, right, right_turned, rows, columns = right, right_turned, left, left_turned, columns, rows
    stored = "float32" if left.node.dtype.is_half else kind
    if order != (*c.batch, *rows, *columns) or kind not in KINDS or str(out.node.dtype) != stored:
        return
    if right.node.dtype != left.node.dtype or max(math.prod(a.shape[-2:]) for a in (left, right, out)) >= cudnn.LARGEST:
        return
    turned = "nt"[left_turned] + "tn"[right_turned]
    words = f'gemm("{kind}", {", ".join(["{}"] * 7)}, "{turned}")'
    rest = [item for item in c.tail() if item is not sums and getattr(item, "kind", "") != "final"]
    yield Call("cuBLAS", words, (c.batch, rows, columns, c.summed), (left, right, out), rest)


def convolutions_of(c: Contraction, nest: Nest, node: Node) -> Iterator[Call]:
    """The one sum of a nest as a convolution for the library, in each way that it has; nothing if it is none.

    Args:
        c: the sum.
        nest: its loops.
        node: what it is in the graph.
    """
    found = sizes_of(node)
    if found is None:
        return
    short = {"float16": "half_to_float", "bfloat16": "bfloat_to_float"}.get(found[0].dtype, "")
    sums = _of_each_sum(c) if short else _stored_sum(c)
    if sums is None or (not short and sums.access.node is not c.update.node):
        return
    reads = {access.node: access for access in accesses(nest.top) if access.role == "in"}
    sides = [_whole(side, reads) for side in found[1]]
    if None in sides:
        return
    left, right = (side for side in sides if side is not None)
    rest = [item for item in c.tail() if getattr(item, "kind", "") != "final" and (short or item is not sums)]
    for way in cudnn.ways(found[0]):
        numbers = ", ".join(f"{name}={value}" for name, value in way._asdict().items())
        words = f"convolve({{}}, {{}}, {{}}, {found[0]}, {numbers})"
        yield Call(way.name(found[0].dtype), words, (), (left, right, sums.access), rest, short)


def sizes_of(node: Node) -> tuple[Sizes, tuple[Node, Node]] | None:
    """A node as a convolution: its sizes, with the dtype in which its arrays lie in memory, and both of those."""
    found = convolution(node)
    if found is None:
        return None
    first, second = map(narrow, found.sides)
    if first.dtype != second.dtype:
        return None
    return replace(found.sizes, dtype=str(first.dtype)), (first, second)


def _whole(side: Node, reads: Mapping[Node, Access]) -> Access | None:
    """The array that a side of a convolution is, as it lies in memory, if a kernel reads it; None if it is a part."""
    root, lies = strides_of(side, reads)
    whole = root is side or (lies is not None and lies.plain and math.prod(lies.shape) == math.prod(root.shape))
    return reads.get(root) if whole else None


def _stored_sum(c: Contraction) -> Store | None:
    """Where each sum is stored as it is."""
    stores = [item for item in c.tail() if isinstance(item, Store)]
    return next((s for s in stores if s.value.kind == "final" and s.value.register is c.update), None)


def _of_each_sum(c: Contraction) -> Store | None:
    """Where each sum is stored, or a number that is made of it, element by element."""
    sums, stores = c.update.node, [item for item in c.tail() if isinstance(item, Store)]

    def alike(node: Node) -> bool:
        return node is sums or (isinstance(node.op, Elementwise) and sums in node.inputs and node.shape == sums.shape)

    return next((s for s in stores if alike(s.access.node)), None)


def _side(c: Contraction, nest: Nest, value: Value, axes: tuple[int, ...]) -> tuple[Access, bool] | None:
    """Where a factor is read, and whether its own axis comes last; None if it is not an array as it lies in memory."""
    widened = value.kind == "compute" and len(value.operands) == 1 and value.operands[0].node.dtype.is_half
    load = value.operands[0] if widened and value.node.op.name == "cast_float32" else value
    access, count = load.access, len(c.batch)
    if load.kind != "load" or load.guard is not None or access is None or access.role != "in" or len(axes) != 1:
        return None
    if any(access.shape[k] != nest.extents[axis] for k, axis in enumerate(c.batch) if k):
        return None  # matrices are not all as far apart
    order = _order(access)
    turned = order == (*c.batch, *c.summed, *axes)
    return (access, turned) if turned or (order == (*c.batch, *axes, *c.summed) and len(order) == count + 2) else None


def _order(access: Access) -> tuple[int, ...]:
    """The loops along the axes of an array; -1, where it is more than that."""
    return tuple(w.args[0] if w.op == "counter" else -1 for w in access.where)
