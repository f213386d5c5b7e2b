"""Tail: what happens to the sums of a convolution as they are written?

The kernel of a convolution is a file that is read as it stands. Where it has written the final sums of one channel of
one image, while they are still in the cache, it calls `finish`. This file writes that function for the elementwise work
that was joined to the convolution (bias, batch norm, activation, residual), and puts it into the kernel's text:

    def finish(n, o, begin, end, out, out0, a0, a1):
        x0 = a0[o]
        for q in range(begin, end):
            out0[n, o, at(q)] = maximum(out0[n, o, at(q)] + x0, float32(0))

The work is done in place: the array of the sums never exists. All places of an image count as one axis.
"""

from __future__ import annotations

from dataclasses import dataclass

from jt_edu.codegen.loops import Block, Loop, Nest, accesses, collapse
from jt_edu.codegen.nest import Builder
from jt_edu.codegen.text import Argument, Parameter, Printer
from jt_edu.convolution import Convolution
from jt_edu.graph import Node
from jt_edu.join import Kernel

DEFAULT = '''@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
'''
IMPORT = "from jt_edu.backends.mathlib import "


@dataclass(frozen=True)
class Tail:
    """The function `finish`: its lines and the names it imports, what it is passed, and which line computes what."""

    imports: tuple[str, ...]
    rows: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    arguments: tuple[Argument, ...]
    lines: tuple[tuple[int, Node], ...]  # counted from the first row, which is 1


def tail_of(kernel: Kernel, stored: set[Node]) -> Tail:
    """The tail of a convolution that something was joined to."""
    sums, last = kernel.anchors
    assert isinstance(sums.contraction, Convolution), "join.py says so"
    loops = Kernel("loops", stages=kernel.stages[1:], extents=kernel.extents)
    n, o, *places = last.axes
    nest = collapse(Builder(loops, stored).build(), alone=(n, o))
    nest.top = _inside(_inside(nest.top, n), o)
    for access in accesses(nest.top):  # the sums stand where the outcome will
        if access.node is sums.node:
            access.role, access.node = "out", last.node
    printer = Printer(nest)
    printer.axes |= {n: "n", o: "o", places[0]: "q"}
    return _printed(printer)


def _inside(block: Block, axis: int) -> Block:
    """The block, with what is in the loop of `axis` in the place of that loop."""
    items = [i for item in block.items for i in (item.body.items if _is(item, axis) else [item])]  # type: ignore[union-attr]
    return Block(items)


def _is(item: object, axis: int) -> bool:
    return isinstance(item, Loop) and item.axis == axis


def _printed(printer: Printer) -> Tail:
    nest: Nest = printer.nest
    nest.span = next(i.axis for i in nest.top.items if isinstance(i, Loop))
    text = printer.print()
    head, _, body = text.source.text.partition("def kernel(")
    first = head.count("\n") + 1
    names = [p.name for p in text.source.parameters]
    rows = body.replace("range(lo, hi)", "range(begin, end)").split("\n")[1:]
    signature = ", ".join(["def finish(n", "o", "begin", "end", "out", *names]) + "):"
    imports = head.partition("import ")[2].strip().split(", ") if head.strip() else []
    lines = tuple((line - first + 2, node) for line, node in text.lines)
    return Tail(tuple(imports), ("@inlined", signature, *rows), text.source.parameters, text.arguments, lines)


def with_tail(kernel: str, tail: Tail | None) -> tuple[str, int]:
    """The text of a kernel with its tail in place, and the number of the line before `finish`."""
    if tail is None:
        return kernel.replace(", *rest", ""), 0
    before, found, after = kernel.partition(DEFAULT)
    assert found, "a kernel of a forward convolution has a place for its tail"
    if tail.imports:
        head, first, rest = before.partition("from jt_edu.")
        before = f"{head}{IMPORT}{', '.join(tail.imports)}\n{first}{rest}"
    text = before + "\n".join(tail.rows).rstrip() + "\n" + after
    return text.replace("*rest", ", ".join(p.name for p in tail.parameters)), before.count("\n")


HOOK = '''@inlined
def finish(n, o, begin, end, out, tail):
    """What the graph does to each sum as it is written: a function that was compiled apart."""
    call_tail(tail, n, o, begin, end, out)
'''


def hooked(kernel: str) -> str:
    """The text of a kernel that takes any tail as an argument, so that it is compiled once."""
    before, found, after = kernel.partition(DEFAULT)
    if not found:
        return kernel
    head, first, rest = before.partition("from jt_edu.")
    before = f"{head}from jt_edu.backends.convolve.hook import call_tail\n{first}{rest}"
    return (before + HOOK + after).replace("*rest", "tail")


def alone(tail: Tail) -> str:
    """The text of a tail that is compiled apart: its arrays and numbers are words of a table."""
    names, rows, word = set(), [], 0
    for p in tail.parameters:
        kind = f"number_{p.dtype}" if p.rank is None else f"{p.dtype}_{p.rank}"
        names.add(kind)
        rows.append(f"    {p.name} = {kind}({'' if p.rank is None else 'out, '}table, {word})")
        word += 1 if p.rank is None else 1 + p.rank
    top = [f"{IMPORT}{', '.join(tail.imports)}"] if tail.imports else []
    top.append(f"from jt_edu.backends.convolve.hook import {', '.join(sorted(names))}")
    body = "\n".join(tail.rows[2:]).rstrip()
    return "\n".join([*top, "", "", "def kernel(out, table, n, o, begin, end):", *rows, body, ""])
