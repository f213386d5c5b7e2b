"""Matmul step: how does a product of matrices become a step of a plan?

Product  ->  thin: the file of a kernel of ours          any other: np.dot, which is BLAS, one line for each

Products and loops that run a block of rows at a time are one step as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from jt_edu.backends.matmul import PARTS, text_of
from jt_edu.codegen.emit_python import Argument, Parameter, Source, Text
from jt_edu.codegen.emit_row_blocks import row_block_text
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.fusion.row_blocks import KIND
from jt_edu.ir.matmul_pattern import Operand, Product, way_of
from jt_edu.ir.node import Node, Shape

Operands = dict[tuple[Node, Shape], tuple[Parameter, Argument]]


@dataclass(frozen=True)
class Multiplied:
    """The text of a product, how many units of work threads share, and who multiplies, and why."""

    text: Text
    span: int
    flops: int
    nodes: list[Node]
    way: tuple[str, str]
    plain: tuple[Source, int] | None = None  # of a kernel of ours: the text with np.dot, and its span
    work: float = 0.0  # of the loops between products


def multiplied(kernel: Kernel, stored: set[Node]) -> Multiplied:
    """What a plan needs to know of the products in a kernel."""
    if kernel.kind == KIND:
        made = row_block_text(kernel, stored)
        nodes = list(dict.fromkeys(n for _, n in made.text.lines if n.data is None))
        return Multiplied(made.text, made.span, made.flops, nodes, ("BLAS", made.why), work=made.work)
    products = [a.contraction for a in kernel.anchors if isinstance(a.contraction, Product)]
    flops, nodes, first = sum(p.flops for p in products), [p.node for p in products], products[0]
    text, way = _by_blas(products), way_of(first)
    span = first.rows if _by_rows(products) else first.batch
    if way[0] not in PARTS:
        return Multiplied(text, span, flops, nodes, way)
    plain = text.source, span
    kernel_text = text_of(way[0])
    line = next(k for k, row in enumerate(kernel_text.split("\n"), 1) if row.startswith("def kernel("))
    text = Text(Source(kernel_text, text.source.parameters, apart=True), text.arguments, ((line, first.node),))
    shared = first.rows if way[0] in ("outer", "near") else first.columns
    return Multiplied(text, -(-shared // PARTS[way[0]]), flops, nodes, way, plain)


def _by_blas(products: list[Product]) -> Text:
    """Matrix products in BLAS, one line each."""
    operands: Operands = {}
    rows, lines = [], []
    part = "[lo:hi]" if _by_rows(products) else ""  # of the rows, so that threads can share them
    for p in products:
        batched = p.left.batched
        left = (p.batch, p.summed, p.rows) if p.left.transposed else (p.batch, p.rows, p.summed)
        right = (p.batch, p.columns, p.summed) if p.right.transposed else (p.batch, p.summed, p.columns)
        a, b = _operand(operands, p.left, left, "in"), _operand(operands, p.right, right, "in")
        out = _operand(operands, Operand(p.node, False, batched), (p.batch, p.rows, p.columns), "out")
        if batched:
            rows.append("    for i0 in range(lo, hi):")
        rows.append("    " * (2 if batched else 1) + f"np.dot({a}{part}, {b}, {out}{part})")
        lines.append((len(rows) + 4, p.node))
    listed = sorted(operands.values(), key=lambda entry: (entry[0].name.startswith("out"), entry[0].name))
    names = ", ".join(["lo", "hi", *(p.name for p, _ in listed)])
    text = "\n".join(["import numpy as np", "", "", f"def kernel({names}):", *rows, ""])
    return Text(Source(text, tuple(p for p, _ in listed)), tuple(a for _, a in listed), tuple(lines))


def _operand(operands: Operands, o: Operand, shape: Shape, role: str) -> str:
    """How a line names an array; the same array under the same shape is one parameter."""
    full = shape if o.batched else shape[1:]
    key = (o.node, full)
    if key not in operands:
        count = sum(p.name.startswith("out") for p, _ in operands.values())
        name = f"out{count}" if role == "out" else f"a{len(operands) - count}"
        operands[key] = (Parameter(name, o.node.dtype.kernel, len(full)), Argument(role, o.node, 0, full))
    return operands[key][0].name + ("[i0]" if o.batched else "") + (".T" if o.transposed else "")


def _by_rows(products: list[Product]) -> bool:
    """Whether a kernel is one product whose rows lie behind each other in memory."""
    return len(products) == 1 and not products[0].left.batched and not products[0].left.transposed
