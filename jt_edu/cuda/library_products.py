"""Library products: which products can a library of NVIDIA's compute?

Those of two arrays as they lie in memory, one of their two axes with the numbers side by side; what becomes of each sum
is a kernel of its own then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jt_edu.codegen.loop_ir import Access, Nest, Store, Value
from jt_edu.cuda.contraction import Contraction

LARGEST = 2**31  # of sizes, which are whole numbers of 32 bits there
KINDS = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")


@dataclass
class Gemm:
    """A product as the library wants it; see `cublas.gemm`."""

    kind: str
    left: Access
    right: Access
    out: Access
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    turned: str
    rest: list[Value | Store]  # what becomes of each sum


def gemm_of(c: Contraction, nest: Nest) -> Gemm | None:
    """A contraction as a product for the library; None if it is none."""
    tail = c.tail()
    sums = [s for s in tail if isinstance(s, Store) and s.value.kind == "final" and s.value.register is c.update]
    sides = [_side(c, nest, value, axes) for value, axes in c.sides]
    if not sums or None in sides or len(c.summed) != 1:
        return None
    out, ((left, left_turned), (right, right_turned)) = sums[0].access, sides  # type: ignore[misc]
    order, kind = _order(out), str(left.node.dtype)
    rows, columns = c.rows, c.columns
    if order == (*c.batch, *columns, *rows):
        left, left_turned, right, right_turned, rows, columns = right, right_turned, left, left_turned, columns, rows
    stored = "float32" if left.node.dtype.is_half else kind
    if order != (*c.batch, *rows, *columns) or kind not in KINDS or str(out.node.dtype) != stored:
        return None
    if right.node.dtype != left.node.dtype or max(math.prod(a.shape[-2:]) for a in (left, right, out)) >= LARGEST:
        return None
    turned = "nt"[left_turned] + "tn"[right_turned]
    rest = [item for item in tail if item is not sums[0] and getattr(item, "kind", "") != "final"]
    return Gemm(kind, left, right, out, rows, columns, turned, rest)


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
