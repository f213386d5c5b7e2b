"""Causal: does nothing count, in a kernel of row blocks, that lies to the right of the diagonal?

    scores    j <= i ? score : -inf         Where j > i, this is -inf, whatever the score;
    weights   exp(scores - top) * ...       so this is 0,
    sums      over j, of weights            and this need not look there.

The loops are gone through as they stand, with j > i: what is -inf or 0 there is found out, all else is unknown, and
taken for finite. If no sum, no maximum and no product can tell, then a block whose last row is r needs the columns up
to r only, and half of all work is not done. A mask that is written in any other way is found as well, if it
is computed in these loops.

Numbers of the graph may be others the next time that a plan runs: those that matter are named, and asked again then.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.fusion.loop_fusion import Anchor, Kernel
from jt_edu.ir.expression import Term
from jt_edu.ir.meta_ops import REDUCERS, ReindexReduce
from jt_edu.ir.node import Node

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
KNOWN: dict[str, Callable[..., Any]] = COMPARE | {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "negative": operator.neg,
    "exp": lambda x: 0.0 if x == -math.inf else None, "logical_not": operator.not_,
    "logical_and": lambda x, y: x and y, "logical_or": lambda x, y: x or y, "isinf": math.isinf,
}  # fmt: skip


class Beyond:
    """What the values of a kernel are where the column is larger than the row; None of what is unknown there."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.row = kernel, kernel.outer[-1]
        self.values: dict[Node, Any] = {}  # of rows that are made on the way
        self.numbers: set[Node] = set()  # of the graph, on which an answer relies

    def is_nothing(self, taken: set[Node]) -> bool:
        """Whether no loop can tell what stands there, and all rows that are `taken` by products are 0."""
        wide = len(self.kernel.outer) + 1
        made = {a.node for a in self.kernel.anchors if len(a.node.shape) == wide and a.node.shape[-1] > 1}
        for stage in self.kernel.stages[1:-1]:
            for anchor in stage.anchors:
                if any(t.node in made and not self._is_here(t, anchor) for t in anchor.loads):
                    return False  # it looks at another column
                inner = [a for a in anchor.axes if a not in self.kernel.outer]
                value = self._value(anchor.term, anchor) if len(inner) == 1 and anchor.term else None
                if len(inner) > 1 or (anchor.reduces and not self._is_neutral(anchor, value)):
                    return False
                if inner and not anchor.reduces:
                    self.values[anchor.node] = value
        return all(self.values.get(node) == 0 for node in taken)

    def _is_neutral(self, anchor: Anchor, value: Any) -> bool:
        op = anchor.node.op
        assert isinstance(op, ReindexReduce), "only reductions reduce"
        return value is not None and value == float(REDUCERS[op.reducer].start(anchor.node.dtype))

    def _value(self, t: Term, anchor: Anchor) -> Any:
        before = self.numbers.copy()
        found = self._found(t, anchor)
        if found is None:
            self.numbers = before  # nothing relies on them
        return found

    def _found(self, t: Term, anchor: Anchor) -> Any:
        if t.kind == "number":
            return self._number(t)
        if t.kind == "load":
            return self.values.get(t.node) if self._is_here(t, anchor) else None
        if t.kind != "compute":
            return None
        name, parts = t.node.op.name, t.operands
        if name in COMPARE and (ends := self._distance(parts[0], parts[1], anchor)):
            answers = {COMPARE[name](end, 0) for end in ends}
            return answers.pop() if len(answers) == 1 else None
        if name == "select":
            chosen = self._value(parts[0], anchor)
            return None if chosen is None else self._value(parts[1 if chosen else 2], anchor)
        values = [self._value(part, anchor) for part in parts]
        if name == "multiply" and 0 in values:
            return 0.0
        if None in values:
            lowest = -math.inf in values[: {"add": 2, "subtract": 1}.get(name, 0)]
            return -math.inf if lowest else None
        return values[0] if name.startswith("cast_") else KNOWN[name](*values) if name in KNOWN else None

    def _is_here(self, t: Term, anchor: Anchor) -> bool:
        """Whether a load reads the column that is worked on."""
        last = t.where[-1] if t.where else None
        return last is not None and last.op == "counter" and anchor.axes[last.args[0]] not in self.kernel.outer

    def _number(self, t: Term) -> Any:
        self.numbers.add(t.node)
        return np.asarray(t.node.data).item()

    def _distance(self, a: Term, b: Term, anchor: Anchor) -> tuple[float, ...]:
        """The ends of what a - b may be; nothing if that is unknown, or may be 0 on the way from one to the other."""
        left, right = self._line(a, anchor), self._line(b, anchor)
        if left is None or right is None:
            return ()
        columns, rows, plus = (x - y for x, y in zip(left, right, strict=True))
        near = columns + plus
        return (near, columns * math.inf) if columns == -rows and abs(columns) == 1 and columns * near >= 0 else ()

    def _line(self, t: Term, anchor: Anchor) -> tuple[float, float, float] | None:
        """How often the column and the row are counted in a term, and what is added; None of any other term."""
        if t.kind == "number":
            return 0, 0, self._number(t)
        if t.kind == "counter" and t.guard is None and t.where[0].op == "counter":
            axis = anchor.axes[t.where[0].args[0]]
            return None if axis in self.kernel.outer[:-1] else (axis != self.row, axis == self.row, 0)
        if t.kind != "compute" or t.node.op.name not in ("add", "subtract"):
            return None
        a, b = (self._line(part, anchor) for part in t.operands)
        sign = 1 if t.node.op.name == "add" else -1
        return None if a is None or b is None else (a[0] + sign * b[0], a[1] + sign * b[1], a[2] + sign * b[2])
