"""Plan: everything that can be decided about a graph before its arrays are there.

    nodes (inputs first)  ->  Plan: a list of Steps, which speak of nodes by their position ("slot") only

A plan belongs to the *structure* of a graph, so the second time that the same lines are run nothing is fused, written
or compiled again: the executor looks the plan up, binds the new arrays to the slots, and runs the steps. A plan also
knows which buffer is free after which step, and from that the peak of memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from jt_edu.backends import Backend, Program
from jt_edu.base.trace import Decision
from jt_edu.codegen.emit_python import Argument, Parameter, Printer, Source, Text
from jt_edu.codegen.loop_ir import Nest, choose_span, collapse, cut
from jt_edu.codegen.lowering import Builder
from jt_edu.codegen.prefetch import FEW, reach
from jt_edu.fusion.fuse import Fused, Fuser
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.ir.conv_pattern import ALGORITHMS, Names
from jt_edu.ir.index_check import Limits, limits
from jt_edu.ir.meta_ops import CONSTANT, Code, HostCall, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape
from jt_edu.runtime.conv_step import Own, compile_around, compile_convolution, convolution_text
from jt_edu.runtime.matmul_step import multiplied

Codegen = tuple[Names, Callable[[Kernel, Fused], tuple[Nest, Text]] | None]
ON_CPU: dict[bool, Codegen] = {True: (ALGORITHMS, None), False: (ALGORITHMS[:2], None)}  # with convolutions, without
FLOPS_AT_ONCE = 16  # of BLAS, for each weighted operation of a loop
ROW = 1 << 14  # cells of a scratch row that is worked on at once


class Bind(NamedTuple):
    """Argument `position` is the array in `slot`, seen under `shape` (None: its own)."""

    position: int
    slot: int
    shape: Shape | None
    halves: bool  # stored as float16, read as its bits


@dataclass(frozen=True)
class Check:
    """The numbers in `slot` must lie within the limits."""

    slot: int
    limits: Limits
    node: int  # slot of the operator that relies on it


@dataclass
class Step:
    """One kernel, or one call of NumPy, with the slots it reads and writes."""

    kind: str  # "loops", "product", "row blocks", "convolution", "code", "host"
    name: str
    source: Source
    lines: tuple[tuple[int, int], ...]  # (line, slot)
    arguments: list[Any]  # lengths and numbers that never change; None where something is bound
    binds: tuple[Bind, ...]
    numbers: tuple[tuple[int, int], ...]  # (position, slot of a number)
    scratch: tuple[tuple[int, Shape, str, int], ...]  # (position, shape, dtype, slot of the sum)
    outputs: tuple[int, ...]
    inputs: tuple[int, ...]
    slots: tuple[int, ...]  # all nodes computed here
    span: int
    blocks: bool  # scratch is one row: work on a part of it at a time
    work: float
    bytes: int
    flops: int
    checks: tuple[Check, ...] = ()
    frees: tuple[int, ...] = ()  # slots whose array nobody reads afterwards
    drops: tuple[int, ...] = ()  # slots that are views of those
    program: Program | None = None
    own: Own | None = None  # of a convolution
    prepare: Program | None = None  # that runs before a convolution
    gather: Program | None = None  # that runs after it, for each sum that its tail has begun
    way: tuple[str, str] = ("", "")  # of a product: who multiplies, and why
    plain: tuple[Source, int] | None = None  # of a product by a kernel of ours: the same by np.dot, and its span
    written: tuple[Source, tuple[tuple[int, int], ...]] | None = None  # source and lines, where a learner's text runs

    @property
    def key(self) -> str:
        """Names the source that was generated, in traces and on pages."""
        return (self.written[0] if self.written else self.source).key[:10]


class Page(Protocol):
    """All steps of a plan as one function of the array in each slot and the nodes, whose lines errors name."""

    run: Callable[[list[Any], Sequence[Node]], None]


@dataclass
class Plan:
    """Steps, the slots that are views of others, and the slots to keep."""

    steps: list[Step]
    aliases: dict[int, int]  # slot -> slot with the same memory
    keep: tuple[int, ...]
    peak: int  # bytes that the run holds at most
    tracked: bool  # something in it takes part in gradients
    fused: bool  # fusion was on
    algorithms: Names = ALGORITHMS  # that were on
    shapes: dict[int, Shape] = field(default_factory=dict)
    dtypes: dict[int, Any] = field(default_factory=dict)
    hosts: dict[int, HostCall] = field(default_factory=dict)
    decisions: tuple[Decision, ...] | None = None  # ids are slots; None until `trace_events.py` is asked
    compiled: bool = False
    backend: Backend | None = None  # that compiled it
    device: Any = None  # the backend whose own arrays it works on (devices.py); None: NumPy's
    used: int = 0  # grows with time; the plan of the smallest number is forgotten first
    runs: int = 0  # with nobody watching
    page: Page | None = None  # all its steps, written down (plan_source.py)


living: WeakValueDictionary[int, Plan] = WeakValueDictionary()  # every plan that somebody may still run
shown: Callable[[list[Step]], Iterable[Step]] = iter  # over those that are compiled: lens/compile_progress.py
edits: dict[str, Callable[[Plan, Step], None]] = {}  # key of a source -> puts a learner's text in its place


def make_plan(order: Sequence[Node], wanted: set[Node], enabled: bool, codegen: Codegen = ON_CPU[True]) -> Plan:
    """The plan for the nodes `order` (inputs first; leaves have data already), storing `wanted`.

    `enabled`: values share kernels. `codegen`: which algorithms there are besides loops, and who writes those.
    """
    slot = {node: k for k, node in enumerate(order)}
    pending = [n for n in order if n.data is None]
    fused = Fuser(pending, wanted, enabled, codegen[0]).run()
    aliases = {slot[n]: slot[root] for n, root in fused.aliases.items()}
    steps = [_step(kernel, fused, slot, codegen) for kernel in fused.kernels]
    if fused.lookups:
        _add_checks(steps, fused, slot)
    keep = tuple(slot[n] for n in order if n in wanted)
    peak = _free_early(steps, aliases, keep, order)
    shapes, dtypes = {k: n.shape for n, k in slot.items()}, {k: n.dtype.storage for n, k in slot.items()}
    hosts = {slot[n]: n.op for n in pending if isinstance(n.op, HostCall)}
    tracked = any(n.tracked for n in order)
    plan = living[id(steps)] = Plan(steps, aliases, keep, peak, tracked, enabled, codegen[0], shapes, dtypes, hosts)
    for step in steps:
        if step.source.key in edits:
            edits[step.source.key](plan, step)
    return plan


def _step(kernel: Kernel, fused: Fused, slot: dict[Node, int], codegen: Codegen) -> Step:
    if kernel.kind == "host":
        return _host_step(kernel.anchors[0].node, slot)
    if kernel.kind == "code":
        (node,) = (a.node for a in kernel.anchors)
        assert isinstance(node.op, Code), "fuse says so"
        cost = (node.op.span, math.prod(node.shape) * float(node.op.weight), False, 0)
        text = _code_text(node, node.op.threads if codegen[1] and node.op.threads else node.op.text)
        return _kernel_step(kernel, text, [node], slot, cost, node.op.name)
    if kernel.kind == "convolution":
        return _convolution_step(kernel, fused, slot)
    if kernel.kind in ("product", "row blocks"):
        return _product_step(kernel, fused, slot)
    if codegen[1] is None:
        nest = cut(choose_span(collapse(Builder(kernel, fused.stored).build())))
        text = Printer(reach(nest) if fused.lookups or nest.work >= FEW else nest).print()
    else:
        nest, text = codegen[1](kernel, fused)
    span = 1 if nest.span is None else nest.extents[nest.span]
    blocks = any("acc" in p.name for p in text.source.parameters) and " - lo)]" in text.source.text
    loaded = {a.node for a in text.arguments if a.kind == "in"} - {a.node for a in text.arguments if a.kind == "out"}
    nodes = sorted({n for _, n in text.lines if n.data is None and n not in loaded}, key=slot.__getitem__)
    counted = [n.inputs[0] if isinstance(n.op, ReindexReduce) else n for n in nodes if n.inputs and n.op.kind != "code"]
    flops = sum(math.prod(n.shape) for n in counted)
    return _kernel_step(kernel, text, nodes, slot, (span, nest.work, blocks, flops), _name(nodes))


def _kernel_step(
    kernel: Kernel, text: Text, nodes: list[Node], slot: dict[Node, int], cost: tuple[int, float, bool, int], name: str
) -> Step:
    span, work, blocks, flops = cost
    arguments: list[Any] = [a.length if a.kind == "length" else None for a in text.arguments]
    binds, numbers, scratch, outputs = [], [], [], []
    for position, a in enumerate(text.arguments):
        if a.kind == "number" and a.node is not None:
            numbers.append((position, slot[a.node]))
        elif a.kind in ("in", "out") and a.node is not None:
            shape = None if a.shape == a.node.shape else a.shape
            binds.append(Bind(position, slot[a.node], shape, a.node.dtype == "float16"))
            outputs += [slot[a.node]] if a.kind == "out" else []
        elif a.kind == "scratch" and a.node is not None:
            scratch.append((position, a.shape, a.dtype, slot[a.node]))
    arrays = {a.node for a in text.arguments if a.kind in ("in", "out") and a.node is not None}
    parts = [(a.node, p) for a in kernel.anchors if a.term is None for p, *_ in a.beside]  # of arrays written by parts
    moved = [*(arrays - {whole for whole, _ in parts}), *(part for _, part in parts)]
    size = sum(math.prod(n.shape) * n.dtype.size for n in moved)
    outs = tuple(dict.fromkeys(outputs))
    inputs = tuple(sorted({slot[n] for n in arrays} - set(outs)))
    return Step(
        kernel.kind, name, text.source, tuple((line, slot[n]) for line, n in text.lines), arguments, tuple(binds),
        tuple(numbers), tuple(scratch), outs, inputs, tuple(slot[n] for n in nodes), span, blocks, work, size, flops,
    )  # fmt: skip


def _product_step(kernel: Kernel, fused: Fused, slot: dict[Node, int]) -> Step:
    """BLAS, or a kernel of ours where that is faster; with loops between products, if those share a kernel."""
    made = multiplied(kernel, fused.stored)
    cost = (made.span, made.flops / FLOPS_AT_ONCE + made.work, False, made.flops)
    step = _kernel_step(kernel, made.text, made.nodes, slot, cost, _name(made.nodes))
    step.way, step.plain = made.way, made.plain
    return step


def _convolution_step(kernel: Kernel, fused: Fused, slot: dict[Node, int]) -> Step:
    """The algorithm that was chosen, with whatever was joined to it as its tail."""
    text, own = convolution_text(kernel, fused.stored)
    nodes = sorted({n for _, n in text.lines if n in slot and n.data is None}, key=slot.__getitem__)
    flops, span = own.sizes.flops, own.algorithm.span(own.sizes)
    step = _kernel_step(kernel, text, nodes, slot, (span, flops / FLOPS_AT_ONCE, False, flops), _name(nodes))
    step.own, step.bytes = own, step.bytes + own.moved
    step.outputs += tuple(slot for *_, slot in step.scratch)  # the sums that are gathered
    return step


def _code_text(node: Node, text: str) -> Text:
    """A kernel written by hand: each input as it is, and the output."""
    parameters, arguments = [], []
    for name, n in (*((f"in{k}", i) for k, i in enumerate(node.inputs)), ("out", node)):
        parameters.append(Parameter(name, n.dtype.kernel, len(n.shape)))
        arguments.append(Argument(name.rstrip("0123456789"), n, 0, n.shape))
    line = next((k for k, row in enumerate(text.split("\n"), 1) if row.startswith("def kernel(")), 1)
    return Text(Source(text, tuple(parameters), apart=True), tuple(arguments), ((line, node),))


def _host_step(node: Node, slot: dict[Node, int]) -> Step:
    assert isinstance(node.op, HostCall), "only host calls run on the host"
    size = sum(math.prod(n.shape) * n.dtype.size for n in (node, *node.inputs))
    source = Source(f"# {node.op.name} is done by {node.op.by} on whole arrays\n", ())
    inputs = tuple(slot[i] for i in node.inputs)
    return Step(
        "host", node.op.name, source, (), [], (), (), (), (slot[node],), inputs, (slot[node],), 1, False, 0, size, 0
    )


def _name(nodes: list[Node]) -> str:
    """A short name such as `mul_add_sum`."""
    words = list(dict.fromkeys(n.op.name for n in nodes if n.op is not CONSTANT and not isinstance(n.op, Reindex)))
    return "_".join(words[:3] + ([f"and_{len(words) - 3}_more"] if len(words) > 3 else [])) or nodes[0].op.name


def _add_checks(steps: list[Step], fused: Fused, slot: dict[Node, int]) -> None:
    """Have every step check what it relies on; what was checked once is not checked again."""
    seen: set[tuple[int, Limits]] = set()
    for kernel, step in zip(fused.kernels, steps, strict=True):
        fresh = {(c.slot, c.limits): c for c in _checks(kernel, slot, fused.stored)}
        step.checks = tuple(c for key, c in fresh.items() if key not in seen)
        seen |= set(fresh)


def _checks(kernel: Kernel, slot: dict[Node, int], stored: set[Node]) -> list[Check]:
    """Which index arrays are looked into, and how long the axis is that they point into."""
    found: dict[Check, None] = {}
    for anchor in kernel.anchors:
        waiting, seen = [anchor.node], set()
        while waiting:
            n = waiting.pop()
            if n in seen or n not in slot or n.data is not None or (n in stored and n is not anchor.node):
                continue
            seen.add(n)
            for k, wanted in limits(n):
                found[Check(slot[n.inputs[k]], wanted, slot[n])] = None
            if n is anchor.node or not isinstance(n.op, ReindexReduce):
                waiting.extend(n.inputs)
    return list(found)


def _free_early(steps: list[Step], aliases: dict[int, int], keep: tuple[int, ...], order: Sequence[Node]) -> int:
    """Note after which step each temporary is free, and add up what is alive: the peak in bytes."""
    kept = {aliases.get(k, k) for k in keep}
    last, made = dict[int, int](), set[int]()
    for number, step in enumerate(steps):
        again = made.intersection(step.outputs)  # what several steps write is made by the first
        step.outputs, step.inputs = tuple(s for s in step.outputs if s not in again), (*step.inputs, *sorted(again))
        made.update(step.outputs)
        for slot in (*step.inputs, *step.outputs, *(c.slot for c in step.checks)):
            last[aliases.get(slot, slot)] = number
    size = [math.prod(n.shape) * n.dtype.size for n in order]
    alive = peak = 0
    for number, step in enumerate(steps):
        alive += sum(size[s] for s in step.outputs)
        peak = max(peak, alive)
        step.frees = tuple(s for s, at in last.items() if at == number and s in made and s not in kept)
        step.drops = tuple(a for a, root in aliases.items() if root in step.frees)
        alive -= sum(size[s] for s in step.frees)
    return peak


def compile_plan(plan: Plan, backend: Backend) -> dict[int, Program]:
    """Programs for all steps that have none yet; the answer tells which were new: step number -> program."""
    fresh, plan.backend = {}, backend
    for number, step in enumerate(shown(plan.steps) if len(plan.steps) > 1 else plan.steps):
        source = None if step.program is None and step.kind != "host" else step.source
        while source is not step.source:  # once, and again if it was edited meanwhile
            source = step.source
            own = None if step.written else step.own
            fresh[number] = step.program = compile_convolution(own, source, backend) if own else backend.compile(source)
            if step.own is not None:
                step.prepare, step.gather = compile_around(step.own, backend)
    plan.compiled = True
    return fresh


def read_slot(plan: Plan, arrays: list[Any], slot: int) -> Any:
    """The array of a slot; a reshape is the same memory under its own shape."""
    array = arrays[slot]
    if array is None and slot in plan.aliases:
        array = arrays[slot] = arrays[plan.aliases[slot]].reshape(plan.shapes[slot])
    return array
