"""Explain: what would run, and why, without running it.

    jt.explain(y)            kernel by kernel: its loops, what it reads and stores, and for every edge of the graph
                             whether it was fused or cut, by which rule, and why
    jt.explain(y).kernels    their sources, with the operator and the learner's line behind each line

An explanation reads the very plan that a run would follow, so it says what the trace of that run will say. What is
computed already is explained as if it had to be computed again.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass

from jt_edu.base.context import current
from jt_edu.base.trace import Decision, Line, annotate
from jt_edu.introspect.folded_html import fold, lines, page
from jt_edu.introspect.kernel_notes import costs_of, loops_in_words, why_loops
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.meta_ops import CONSTANT, Reindex, ReindexReduce
from jt_edu.ir.node import Node, needed
from jt_edu.ir.scalar_ops import MULTIPLY
from jt_edu.runtime.determinism import threads_matter
from jt_edu.runtime.execute import plan_for
from jt_edu.runtime.plan import Plan, Step
from jt_edu.runtime.trace_events import algorithm_of, calls_of, decisions_of, launched
from jt_edu.variable.autocast import DECIDED
from jt_edu.variable.caller_frame import names_of_caller, nodes_of
from jt_edu.variable.memory_format import format_of
from jt_edu.variable.var import Var

MANY = 3  # arrays, too many to name in one line
SHORT = 160  # rows that `repr` shows
STORES = re.compile(r"^  stores  (.*?): ", re.MULTILINE)


@dataclass(frozen=True)
class KernelPlan:
    """A kernel that would run: as `trace.KernelRun`, without what only a run can tell."""

    name: str
    loops: str  # in words
    source: str
    lines: tuple[Line, ...]
    nodes: tuple[int, ...]
    stored: tuple[int, ...]
    reads: tuple[int, ...]
    bytes: int  # read and written, each array once
    flops: int
    calls: tuple[str, ...] = ()
    kind: str = "loops"  # "loops", "product", "convolution", "code" or "host"
    edited: bool = False  # the source is a learner's, instead of what was generated
    key: str = ""  # what an edit keeps: names the source that was generated
    algorithm: str = ""  # of a convolution, or a matrix product
    reason: str = ""  # why that one, and what the others cost
    costs: str = ""  # of a matrix product: what each way would take
    loops_because: str = ""  # why loops compute what an algorithm could

    @property
    def annotated(self) -> str:
        """The source with the op and the learner's line behind each line that computes something."""
        return annotate(self.source, self.lines)


class Explanation:
    """What would run for some Vars. Printing it, or ending a cell with it, shows `text`."""

    def __init__(self, wanted: Sequence[Node], names: dict[int, str]) -> None:
        self.again = any(n.data is not None and n.inputs for n in wanted)
        self.order, self.plan = planned(wanted)
        self.wanted = tuple(n.id for n in wanted)
        self.names = names
        self.formats = {n.id: format_of(n) for n in wanted if format_of(n).rank}
        self.kernels = tuple(self._kernel(step) for step in self.plan.steps)
        self.edges = decisions_of(self.plan, self.order)  # the decisions, with slots instead of ids
        self.decisions = tuple(
            Decision(self.order[d.source].id, self.order[d.target].id, d.fused, d.rule, d.reason) for d in self.edges
        )
        self.unfused = without_fusion(self.order)  # operators, and the bytes they would move, each in its own kernel
        self.text = "\n".join(_Writer(self).rows())  # now: it says how things stood when it was asked for

    def _kernel(self, step: Step) -> KernelPlan:
        def ids(slots: Sequence[int]) -> tuple[int, ...]:
            return tuple(self.order[s].id for s in slots)

        lines = tuple(Line(n, self.order[s].id, self.order[s].op.name, self.order[s].line) for n, s in step.lines)
        calls, (algorithm, reason) = calls_of(step, self.order[step.slots[0]]), algorithm_of(step)
        loops = f"{calls[0]}, on whole arrays" if step.kind == "host" else loops_in_words(step)
        return KernelPlan(
            step.name, loops, step.source.text, lines,
            nodes=ids(step.slots), stored=ids(step.outputs), reads=ids(step.inputs),
            bytes=step.bytes, flops=step.flops, calls=calls, kind=step.kind,
            edited=step.written is not None, key=step.key, algorithm=algorithm, reason=reason,
            costs=costs_of(step, self.order), loops_because=why_loops(step, self.order, self.plan),
        )  # fmt: skip

    @property
    def predicted_peak(self) -> int:
        """Bytes of new arrays that the run would hold at once."""
        return self.plan.peak

    @property
    def bytes(self) -> int:
        """Bytes that all kernels read and write."""
        return sum(k.bytes for k in self.kernels)

    @property
    def flops(self) -> int:
        """Operations on elements."""
        return sum(k.flops for k in self.kernels)

    def _repr_html_(self) -> str:
        words, *kernels = repr(self).split("\n\n")
        return page(lines(words), *(_folded(kernel, len(kernels) == 1) for kernel in kernels))

    def __repr__(self) -> str:
        rows = self.text.split("\n")
        rest = len(rows) - SHORT
        return "\n".join(
            rows if rest <= 0 else [*rows[:SHORT], f"... and {rest} more lines: print(jt.explain(...).text)"]
        )


def _folded(kernel: str, shown: bool) -> str:
    """A kernel as one line, its name and what it stores; a click opens the reasons."""
    title, _, reasons = kernel.partition("\n")
    stored = STORES.findall(reasons)
    what = ", ".join(stored) if len(stored) < MANY else f"{len(stored)} arrays"
    return fold(title, f"stores {what}" * bool(stored), lines(reasons), shown=shown)


def explain(*wanted: Var) -> Explanation:
    """What would run to compute these Vars, and why; nothing runs.

    Args:
        wanted: one or more Vars of any shape.

    Returns:
        An `Explanation`: its `text`, `kernels`, `decisions`, `bytes`, `flops`, `unfused` and `predicted_peak`.

    Example:
        >>> a, b, c = jt.array([1.0, 2.0]), jt.array([3.0, 4.0]), jt.array([5.0, 6.0])
        >>> e = jt.explain((a * b + c).sum())
        >>> [kernel.name for kernel in e.kernels], e.kernels[0].loops, e.predicted_peak
        (['multiply_add_sum'], 'each i0 of 2', 4)
    """
    return Explanation(nodes_of("jt.explain", wanted), names_of_caller())


def kernel_sources(*wanted: Var) -> list[str]:
    """The Python source of each kernel that these Vars need, with the operator and your line behind each line.

    Example:
        >>> (source,) = jt.kernel_sources(jt.array([1.0, 2.0]) * 3)
        >>> print("c0 * a0" in source or "a0[at(i0)] * c0" in source)
        True
    """
    return [k.annotated for k in Explanation(nodes_of("jt.kernel_sources", wanted), {}).kernels]


def planned(wanted: Sequence[Node]) -> tuple[list[Node], Plan]:
    """The nodes behind `wanted`, inputs first, and the plan that a run would follow."""
    order = needed(wanted)
    again = {n for n in wanted if n.data is not None and n.inputs}
    if again:
        order = pending_copies(order, again)
    ids = {n.id for n in wanted}
    return order, plan_for(order, [n for n in order if n.id in ids and n.data is None], current())


def pending_copies(order: list[Node], again: Collection[Node] = ()) -> list[Node]:
    """Copies of what is pending and of those in `again`: they have no data, and get none. Leaves stay themselves."""
    copies: dict[Node, Node] = {}
    for node in order:
        copies[node] = node
        if node in again or node.data is None:
            fresh = copies[node] = copy(node)
            fresh.behind, fresh.data = tuple(copies[i] for i in node.inputs), None
            if node in DECIDED:
                DECIDED[fresh] = DECIDED[node]
    return list(copies.values())


def homes(e: Explanation) -> dict[int, int]:
    """Slot -> number of the kernel that computes it; a view belongs to the kernel that reads through it."""
    home: dict[int, int] = {}
    for number, step in enumerate(e.plan.steps):
        for slot in set(step.slots) - set(step.inputs):
            home.setdefault(slot, number)
    views: dict[int, int] = {}
    for d in reversed(e.edges):  # readers come before what they read
        reader = home.get(d.target, views.get(d.target))
        if d.fused and d.rule != "alias" and d.source not in home and reader is not None:
            views[d.source] = min(reader, views.get(d.source, reader))
    return home | views


def without_fusion(order: Sequence[Node]) -> tuple[int, int]:
    """How many operators there are, and what they would read and write, each in a kernel of its own.

    Counted in favour of not fusing: a view costs nothing; a contraction (matrix product, convolution) is one operator.
    """
    pending = [n for n in order if n.data is None]
    readers = Counter(i for n in pending for i in set(n.inputs))
    inside = {i for n in pending for i in n.inputs[:1] if _is_contraction(n) and readers[i] == 1}
    seen = Counter(i for product in inside for i in set(product.inputs) if isinstance(i.op, Reindex))
    windows = {i for i, times in seen.items() if times == readers[i]}
    operators = [n for n in pending if n not in inside and n not in windows and not is_view(n)]
    total = 0
    for node in operators:
        inputs = node.inputs[0].inputs if node.inputs and node.inputs[0] in inside else node.inputs
        read = {i: _read(i.inputs[0] if i in windows else i) for i in inputs if i.op is not CONSTANT}
        total += size(node) + sum(read.values())
    return len(operators), total


def is_view(node: Node) -> bool:
    """Whether a pending node only says where to read: nothing is looked up, nothing filled in."""
    op = node.op
    return (
        node.data is None and isinstance(op, Reindex) and not op.guards and op.valid is None and len(node.inputs) == 1
    )


def _is_contraction(node: Node) -> bool:
    if not isinstance(node.op, ReindexReduce) or node.op.reducer != "add" or node.inputs[0].op is not MULTIPLY:
        return False
    product = node.inputs[0]
    views = product.data is None and all(is_view(i) and _read(i) < size(product) for i in product.inputs)
    return views or convolution(node) is not None


def _read(node: Node) -> int:
    """Bytes that are read where `node` is: of the array behind the views."""
    least = size(node)
    while is_view(node):
        node = node.inputs[0]
        least = min(least, size(node))
    return 0 if node.op is CONSTANT else least


def size(node: Node) -> int:
    """Bytes of the value as an array."""
    return math.prod(node.shape) * node.dtype.size


def in_words(number: float, unit: str) -> str:
    """12 B, 1.5 kB, 3.2 MB; 950 operations, 12 k operations."""
    if number < 999.5:
        return f"{number:,.0f} {unit}"
    for letter in ("k", "M", "G", "T"):
        number /= 1000
        if number < 999.5 or letter == "T":
            break
    return f"{number:.3g} {letter}{unit}" if unit == "B" else f"{number:.3g} {letter} {unit}"


class _Writer:
    """Writes an explanation down, row by row."""

    def __init__(self, e: Explanation) -> None:
        self.e, self.order, self.plan = e, e.order, e.plan
        self.home = homes(e)
        self.slot = {n.id: k for k, n in enumerate(e.order)}
        self.facts = {(d.source, d.target): d for d in e.edges}
        self.freed = {s: k for k, step in enumerate(e.plan.steps) for s in step.frees}
        self.told: set[int] = set()
        self.cuts: dict[int, Decision] = {}  # array -> why it is one
        for d in e.edges:
            if not d.fused:
                self.cuts.setdefault(e.plan.aliases.get(d.source, d.source), d)

    def rows(self) -> Iterator[str]:
        """The whole text."""
        yield from self._summary()
        for number, step in enumerate(self.plan.steps):
            yield ""
            yield from self._kernel(number, step, self.e.kernels[number])

    def _summary(self) -> Iterator[str]:
        e, what = self.e, self._wanted()
        if not e.kernels:
            yield f"Nothing would run: {what} is computed already, or a view of what is."
            return
        if e.again:
            yield "Computed already; this is how it would be computed again."
        operators, total = e.unfused
        kernels = f"{len(e.kernels)} kernels compute" if len(e.kernels) > 1 else "1 kernel computes"
        yield f"{kernels} {what}."
        moved, done, peak = in_words(e.bytes, "B"), in_words(e.flops, "operations"), in_words(e.predicted_peak, "B")
        yield f"{moved} are read and written, {done} are done, and new arrays take at most {peak} at once."
        if launched(self.plan):
            yield launched(self.plan)
        casts = dict.fromkeys(f"{cast.function} in {cast.to}" for cast in map(DECIDED.get, self.order) if cast)
        if casts:
            yield f"Regions of autocast have cast what these were given: {', '.join(casts)}."
        for i, wish in e.formats.items():
            slot = self.slot[i]
            yield f"{self._name(slot)} is {wish.name}: numpy() copies its {in_words(size(self.order[slot]), 'B')} so."
        saved = total - e.bytes
        if saved > 0:
            yield (
                f"With a kernel for each of the {operators} operators it would be {in_words(total, 'B')}: "
                f"fusion saves {in_words(saved, 'B')} ({saved / total:.0%})."
            )

    def _wanted(self) -> str:
        names = [self._name(self.slot[i]) for i in self.e.wanted]
        return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")

    def _kernel(self, number: int, step: Step, kernel: KernelPlan) -> Iterator[str]:
        yield f"kernel {number}  {kernel.name}"
        yield f"  loops   {kernel.loops}"
        if kernel.algorithm:
            yield f"  chosen  {kernel.algorithm}: {kernel.reason}"
        if kernel.costs:
            yield f"  costs   {kernel.costs}"
        if kernel.loops_because:
            yield f"  chosen  loops: {kernel.loops_because}"
        yield f"  moves   {in_words(kernel.bytes, 'B')}, {in_words(kernel.flops, 'operations')}"
        if threads_matter(step):
            yield f"  digits  the last ones depend on the number of threads: {threads_matter(step)}"
        for slot in step.inputs:
            yield f"  reads   {self._value(slot)}{self._made_by(slot)}"
        for slot in step.outputs:
            yield f"  stores  {self._value(slot)}: {self._why(slot)}"
        before = ""
        for slot in self._inside(number, step):
            node = self.order[slot]
            line = "gradient of " * node.gradient + node.line
            if line != before:
                yield f"  {line}"
            before = line
            yield from self._node(slot)

    def _inside(self, number: int, step: Step) -> list[int]:
        """The slots that a kernel computes, and the views it reads through."""
        views = [s for s, home in self.home.items() if home == number]
        return sorted({*step.slots, *views} - set(step.inputs))

    def _made_by(self, slot: int) -> str:
        made = self.home.get(self.plan.aliases.get(slot, slot))
        return "" if made is None or self.order[slot].data is not None else f", from kernel {made}"

    def _why(self, slot: int) -> str:
        node = self.order[slot]
        if node.id in self.e.wanted:
            return "you asked for it"
        if node.holders:
            return (
                f"you still hold it, as {self.e.names[node.id]}" if node.id in self.e.names else "a Var still holds it"
            )
        cut = self.cuts.get(slot)
        end = f" (freed after kernel {self.freed[slot]})" if slot in self.freed else ""
        return (f"{cut.rule}: {cut.reason}" if cut else "what reads it needs a whole array") + end

    def _node(self, slot: int) -> Iterator[str]:
        node = self.order[slot]
        if slot in self.told:
            yield f"    {self._kind(slot)}: here once more, which is cheaper than to store it"
            return
        cast = DECIDED.get(node)
        why = f", by autocast: {cast.function} is in the list {cast.rule!r}" if cast else ""
        yield f"    {self._kind(slot)}{why}"
        self.told.add(slot)
        for i in dict.fromkeys(node.inputs):
            source = self.slot[i.id]
            d = self.facts.get((source, slot))
            if d is not None:
                yield f"      {'fused' if d.fused else 'cut  '}  {self._name(source)}: {d.rule}; {d.reason}"
            elif i.op is CONSTANT:
                yield f"      number {i.data}: an argument of the kernel"
            else:
                yield f"      read   {self._name(source)}: an array in memory"

    def _name(self, slot: int) -> str:
        node = self.order[slot]
        name = node.name or self.e.names.get(node.id, "")
        return f"#{node.id} {name or node.op.name}"

    def _kind(self, slot: int) -> str:
        node = self.order[slot]
        name = node.name or self.e.names.get(node.id, "")
        words = f"#{node.id} {name} = {node.op.name}" if name and node.data is None else self._name(slot)
        return f"{words} {node.shape} {node.dtype}"

    def _value(self, slot: int) -> str:
        """As an array, which has a size in memory."""
        return f"{self._kind(slot)}, {in_words(size(self.order[slot]), 'B')}"
