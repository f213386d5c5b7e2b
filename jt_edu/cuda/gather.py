"""Gather: what is scattered, asked the other way round.

    out[i * 2 + k] += x[i, k]           each number of x is added somewhere: threads meet, and have to take turns
    out[o] = sum over k of x[i, k]      where i = (o - k) / 2, if that is a whole number, and inside x

Each index of a scatter that is a line of counters is solved for the longest of them; over the others a thread sums. So
the gradient of a convolution by its image is a convolution again, whose products are tiles; that of a slice reads where
it is inside. The order of each sum is the same every time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import reduce

from jt_edu.codegen.emit_python import Text
from jt_edu.codegen.lowering import counters_under
from jt_edu.fusion.loop_fusion import Anchor, Kernel, Stage
from jt_edu.ir.conv_pattern import Line, as_line
from jt_edu.ir.expression import Expression
from jt_edu.ir.index_expr import Index, as_index, binary, both, counter, counters, size
from jt_edu.ir.meta_ops import Reindex, ReindexReduce, guards_of, reindex_reduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import MULTIPLY

Twins = dict[Node, Node]  # nodes that are asked the other way round -> those of the graph


def gathered(kernel: Kernel, stored: set[Node]) -> tuple[Kernel, Twins] | None:
    """A kernel that reads what another one scatters, with nodes of its own; None, if it does not scatter by lines."""
    (anchor, *others), op = kernel.anchors, kernel.anchors[0].node.op
    if others or anchor.kept is not None or not isinstance(op, ReindexReduce) or len(anchor.node.inputs) > 1:
        return None
    lines = [line for line in map(as_line, op.where) if line is not None]
    often = Counter(k for counts, _ in lines for k, times in counts.items() if times)
    if len(lines) < len(op.where) or max(often.values(), default=0) > 1:
        return None
    if op.reducer != "add" or op.valid is not None or 0 in (*op.shape, *anchor.loops):
        return None
    asked = Question(anchor.node, lines, stored)
    found, loops, total = Kernel("loops"), asked.loops, asked.total
    where = counters(len(loops))
    if isinstance(total.op, ReindexReduce):
        made = Anchor(total, Expression(stored).value(total.inputs[0], where), loops, total.op.kept)
    else:
        made = Anchor(total, Expression(stored).computed(total, where, loops), loops, tuple(range(len(loops))))
    made.axes = found.new_loops(loops)
    found.outer = made.axes[: len(op.shape)] if made.reduces else ()
    found.stages.append(Stage(made.axes, [made]))
    return found, asked.twins


def in_the_graph(text: Text, twins: Twins) -> Text:
    """The same text, whose arguments and lines are those of nodes of the graph."""
    arguments = tuple(a if a.node is None else replace(a, node=twins.get(a.node, a.node)) for a in text.arguments)
    return Text(text.source, arguments, tuple((line, twins.get(node, node)) for line, node in text.lines))


class Question:
    """Where in the source of a scatter is what goes to one place of the output? `total` is the answer, as a node.

    Args:
        node: the scatter. Of the loops here, the first are the axes of its output.
        lines: for each axis of the output, how often each counter of the source counts, and what is added.
        stored: nodes that are arrays.
    """

    def __init__(self, node: Node, lines: list[Line], stored: set[Node]) -> None:
        self.node, self.source, self.stored = node, node.inputs[0], stored
        self.twins: Twins = {}
        extents, axes = self.source.shape, len(node.shape)
        found = {max(counts, key=lambda k: extents[k]): axis for axis, (counts, _) in enumerate(lines) if counts}
        others = [k for k in range(len(extents)) if k not in found]
        self.loops: Shape = (*node.shape, *(extents[k] for k in others))
        self.place = {k: counter(axes + number) for number, k in enumerate(others)}
        self.tests: dict[int, Index] = {}  # what has to hold for a counter, beside that it is inside; -1: for none
        for axis, line in enumerate(lines):
            if axis in found.values():
                self._solve(line, max(line[0], key=lambda k: extents[k]), axis)
            elif node.shape[axis] > 1:
                self.tests[-1] = both(self.tests.get(-1, as_index(1)), binary("==", counter(axis), size(line[1])))
        self.total = self._total()

    def _solve(self, line: Line, k: int, axis: int) -> None:
        """Find the counter k, so that the line comes to the place along an axis."""
        counts, plus = line
        rest = [self.place[j] * size(n) if n != 1 else self.place[j] for j, n in counts.items() if j != k]
        here = reduce(lambda a, b: a - b, rest, counter(axis) - (size(plus) if plus else 0))
        times = counts[k]
        if times < 0:
            here, times = 0 - here, -times
        if times > 1:
            self.tests[k] = binary("==", here % size(times), 0)
            here = here // size(times)
        self.place[k] = here

    def _total(self) -> Node:
        """The output, summed over the other loops. Of a product each factor is read by itself: so tiles are found."""
        source, shape = self.source, self.node.shape
        product = source.op is MULTIPLY and source.data is None and source not in self.stored
        parts = list(source.inputs) if product else [source]
        doubts = {*self.tests} | {axis for axis, *_ in self._guards(source)}
        mine = [doubts & self._needed(part) for part in parts]
        mine[0] |= doubts.difference(*mine)  # what no factor depends on
        read = tuple(self._read(part, about) for part, about in zip(parts, mine, strict=True))
        whole = self._twin(Node(MULTIPLY, read, self.loops, source.dtype), source) if product else read[0]
        if len(self.loops) == len(shape):
            return self._twin(whole, self.node)
        op = reindex_reduce("gathered", "add", self.loops, shape, counters(len(shape)))
        return self._twin(Node(op, (whole,), shape, self.node.dtype), self.node)

    def _needed(self, part: Node) -> set[int]:
        """The counters of the source that a part of it depends on."""
        if part.data is not None or part in self.stored:
            return {k for k, n in enumerate(part.shape) if n > 1}
        return counters_under(Expression(self.stored).value(part, counters(len(part.shape))))

    def _guards(self, part: Node) -> tuple[tuple[int, bool, bool], ...]:
        return guards_of([self.place[k] for k in range(len(part.shape))], part.shape, self.loops)

    def _read(self, part: Node, about: set[int]) -> Node:
        """A part of the source at the place that is asked for; 0, where some of its counters say that there is none."""
        tests = [test for k, test in self.tests.items() if k in about]
        guards = tuple(guard for guard in self._guards(part) if guard[0] in about)
        where = tuple(self.place[k] for k in range(len(part.shape)))
        fill = 0 if tests or guards else None
        op = Reindex("gathered", self.loops, where, fill, reduce(both, tests) if tests else None, guards)
        return self._twin(Node(op, (part,), self.loops, part.dtype), part)

    def _twin(self, made: Node, node: Node) -> Node:
        self.twins[made] = node
        return made
