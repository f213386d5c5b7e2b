"""Emit epilogue: what happens to the sums of a convolution as they are written?

The kernel of a convolution is a file that is read as it stands. Where it has written the final sums of one channel of
one image, while they are still in the cache, it calls `finish`. This file writes that function for the elementwise work
that was joined to the convolution (bias, batch norm, activation, residual), and puts it into the kernel's text:

    def finish(n, o, begin, end, out, out0, a0, a1):
        x0 = a0[o]
        for q in range(begin, end):
            out0[n, o, at(q)] = maximum(out0[n, o, at(q)] + x0, float32(0))

The work is done in place: the array of the sums never exists. All places of an image count as one axis.

Sums over all images, such as those of a batch norm that trains, begin there too. `finish` is called several times for a
channel of an image, by whichever thread is there, so each call leaves a subtotal in a place of its own:

        call = n * k0 + (n * k1 + begin) // k2 - n * k1 // k2       at most k0 calls for an image of k1 places;
        s0 = float64(0)                                             they begin k2 places apart, at least
        for q in range(begin, end):
            s0 = s0 + float64(out0[n, o, at(q)])
        acc0[o, at(call)] = s0

Afterwards `kernels/subtotals.py` adds them up, in the same order on any number of threads.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from jt_edu.base.dtypes import float64
from jt_edu.codegen.emit_python import Argument, Parameter, Printer
from jt_edu.codegen.loop_ir import Block, Loop, Nest, Value, accesses, collapse
from jt_edu.codegen.lowering import Builder
from jt_edu.fusion.loop_fusion import Kernel, Stage
from jt_edu.ir.conv_pattern import Convolution, Sizes
from jt_edu.ir.index_expr import Index, counter
from jt_edu.ir.node import Node

DEFAULT = '''@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
'''
BOUNDS = re.compile(r"\b(lo|hi)\b")
IMPORT = "from jt_edu.backends.mathlib import "


@dataclass(frozen=True)
class Tail:
    """The function `finish`: its lines and the names it imports, what it is passed, and which line computes what."""

    imports: tuple[str, ...]
    rows: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    arguments: tuple[Argument, ...]
    lines: tuple[tuple[int, Node], ...]  # counted from the first row, which is 1


def tail_of(kernel: Kernel, stored: set[Node], apart: int) -> Tail:
    """The tail of a convolution that something was joined to; its calls for an image begin `apart` places apart."""
    sums, *joined = kernel.anchors
    assert isinstance(sums.contraction, Convolution), "fusion/loop_fusion.py says so"
    written = kernel.written
    n, o, *places = joined[-1].axes
    loops = Kernel("loops", (n, o), [_one_channel(stage) for stage in kernel.stages[1:]], kernel.extents)
    nest = collapse(Builder(loops, stored | {a.node for a in joined}).build(), alone=(n, o))
    nest.top = loop_opened(loop_opened(nest.top, n), o)
    printer = _TailPrinter(nest, sums.contraction.sizes, apart)
    printer.axes |= {n: "n", o: "o", places[0]: "q"}
    goal = next((a for a in accesses(nest.top) if a.node is written and a.role == "out"), None)
    for access in accesses(nest.top):
        if access.node in (sums.node, written):  # the sums stand where the outcome will
            access.role, access.node = "out", written
            if goal and printer.places > 1:  # one view for both: of two that may overlap, LLVM writes no vectors
                access.where, access.shape = goal.where, goal.shape
        elif access.role == "out":
            access.role, access.dtype, access.where = "scratch", float64, (counter(o), printer.call(access.node))
            access.shape = (kernel.extents[o], kernel.extents[n] * printer.calls)
    return _printed(printer)


def _one_channel(stage: Stage) -> Stage:
    """The stage, with its sums over one channel of one image at a time."""
    return Stage(stage.loops, [replace(a, kept=(0, 1)) if a.reduces else a for a in stage.anchors])


class _TailPrinter(Printer):
    """Prints what stands inside `finish`."""

    def __init__(self, nest: Nest, sizes: Sizes, apart: int) -> None:
        super().__init__(nest)
        self.places, self.apart = math.prod(sizes.places), apart
        self.calls = 1 if apart == self.places else (self.places - 1) // apart + 2  # for an image, at most

    def call(self, node: Node) -> Index:
        """The number of this call; it is computed for the first one who asks."""
        if not self.rows:
            lengths = {"calls": self.calls, "places": self.places, "apart": self.apart}
            k0, k1, k2 = (
                self._parameter(word, "k", "int64", Argument("length", length=length))
                for word, length in lengths.items()
            )
            self._write(1, f"call = n * {k0} + (n * {k1} + begin) // {k2} - n * {k1} // {k2}", node)
        value = Value("counter", node, 0)
        self.names[value] = "call"
        return Index("value", value)


def loop_opened(block: Block, axis: int) -> Block:
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
    rows = BOUNDS.sub(lambda found: "begin" if found[0] == "lo" else "end", body).split("\n")[1:]
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
    before = f"{head}from jt_edu.backends.convolve.epilogue_hook import call_tail\n{first}{rest}"
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
    top.append(f"from jt_edu.backends.convolve.epilogue_hook import {', '.join(sorted(names))}")
    body = "\n".join(tail.rows[2:]).rstrip()
    return "\n".join([*top, "", "", "def kernel(out, table, n, o, begin, end):", *rows, body, ""])
