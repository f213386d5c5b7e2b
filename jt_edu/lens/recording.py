"""Recording: everything that a page about some Vars shows, as one document and one block of numbers.

    recording(loss, dw).page     {"format": "jt_edu.page", "version": 1, "graph": ..., "kernels": [...], "values": ...}
    recording(loss, dw).blocks   the cells of all thumbnails, as float32

The graph is run twice under a trace, and its arrays are thrown away: once as it would run, for what each kernel costs
and what memory holds; once with every value stored, for what the values are. The Vars stay as lazy as they were; only
parameters that were not drawn yet are drawn now. The numbers on the page are those of the two traces and of the plan.

A recording keeps the graph, so that it can be recorded again after the Vars were computed and forgot their history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.base.context import current, trace
from jt_edu.base.errors import JtError
from jt_edu.base.trace import Trace, Value
from jt_edu.draw import Picture
from jt_edu.introspect.explain import Explanation, in_words, pending_copies
from jt_edu.introspect.graph_document import document_of
from jt_edu.ir.meta_ops import CONSTANT
from jt_edu.ir.node import Node, age
from jt_edu.lens.document_schema import Page, empty, kernel_row, shortened
from jt_edu.lens.fusion_passes import passes
from jt_edu.lens.isolated_run import check_size, check_vars, initialize_parameters, overheard_by_nobody, to_compile
from jt_edu.lens.kernel_timer import about_times, warm
from jt_edu.lens.thumbnails import thumbnails
from jt_edu.runtime.array_summary import value_of
from jt_edu.runtime.devices import bring
from jt_edu.runtime.execute import free, plan_for, run_plan, run_step
from jt_edu.runtime.plan import Plan, read_slot
from jt_edu.runtime.trace_events import SEEN, SEEN_BYTES, seen_by_traces, tell_values, worth_seeing
from jt_edu.variable.caller_frame import names_of_caller, nodes_of
from jt_edu.variable.var import Var

HEAVY = 2_000_000_000  # operations; a graph that does more runs only when it is asked to
NEW = 30  # kernels to compile, some tenths of a second each; the same
MANY = 5_000  # nodes; of larger graphs no values are recorded
ROUNDED = ("float32", "float16", "bfloat16", "complex64")


@dataclass
class Recording:
    """What a page shows. `page` is plain data, `blocks` the cells of its thumbnails, `trace` what ran."""

    page: Page
    blocks: bytes = b""
    trace: Trace = field(default_factory=Trace)
    values: Trace = field(default_factory=Trace)
    wanted: tuple[Node, ...] = field(default=(), repr=False)  # copies, which stay pending
    names: Mapping[int, str] = field(default_factory=dict, repr=False)  # what the learner calls the nodes
    ran: bool = False

    @cached_property
    def picture(self) -> Picture:
        """The graph as a picture."""
        return Picture(self.page["graph"])

    @property
    def text(self) -> str:
        """The graph as a table."""
        return self.picture.text

    def with_page(self, **more: Any) -> Recording:
        """The same with further keys on the page."""
        return replace(self, page={**self.page, **more})

    def again(self, run: bool | None = None) -> Recording:
        """The same graph, recorded once more, whatever became of the Vars meanwhile; None: run if it ran before."""
        return record(self.wanted, self.names, self.ran if run is None else run)


def recording(*wanted: Var, run: bool | None = None) -> Recording:
    """Record what these Vars are made of, which kernels compute them, what that costs, and what every value is.

    Args:
        wanted: one or more Vars of any shape.
        run: whether to run them, under a trace; the arrays are thrown away. None: if they do less than 2 billion
            operations, and at most 30 kernels have to be compiled. Without it times, memory and values are missing.

    Example:
        >>> a = jt.array([1.0, 2.0])
        >>> page = jt.recording((a * 3).sum()).page
        >>> page["summary"], len(page["kernels"]), len(page["values"])
        ('A graph of 4 nodes in 1 kernel: a goes in, sum () float32 comes out.', 1, 3)
    """
    check_vars("jt.recording", wanted)
    nodes, names = nodes_of("jt.recording", wanted), names_of_caller()
    check_size(nodes)
    initialize_parameters(nodes)
    return record(nodes, names, run)


def record(nodes: Sequence[Node], names: Mapping[int, str], run: bool | None) -> Recording:
    """`recording` of nodes whose names are known."""
    e = Explanation(nodes, dict(names))
    graph = document_of(e)
    for row in graph["nodes"]:
        row["name"] = shortened(row["name"])
    refused = _refused(e, run)
    notes = [refused] if refused else []
    with overheard_by_nobody():
        ran, seen, times = (Trace(), Trace(), 0) if refused else _run(e, notes)
    values, blocks, said = thumbnails(seen.values)
    runs = [*ran.kernels, *[None] * (len(e.kernels) - len(ran.kernels))]
    page = empty(Picture(graph).summary, notes) | {
        "about": [words for words in (about_times(times), _about_values(e, seen), said) if words],
        "graph": graph,
        "kernels": [kernel_row(k, *pair, times) for k, pair in enumerate(zip(e.kernels, runs, strict=True))],
        "passes": passes(graph),
        "values": values,
        "memory": [asdict(move) for move in ran.memory],
        "peak": ran.peak,
        "predicted_peak": e.predicted_peak,
    }
    copies = {n.id: n for n in pending_copies(e.order)}
    return Recording(page, blocks, ran, seen, tuple(copies[n.id] for n in nodes), names, not refused)


def _refused(e: Explanation, run: bool | None) -> str:
    """Why the graph is not run, in a sentence; nothing if it is."""
    unknown = "times and values are not known, and bytes are those of the plan"
    if run is not None:
        return "" if run else f"Nothing ran: {unknown}."
    if e.flops > HEAVY:
        return f"Nothing ran, since it does {in_words(e.flops, 'operations')}: {unknown}. With run=True it runs."
    new = to_compile([e.plan, *([] if len(e.order) > MANY else [_plan_of_values(e)[0]])])
    if new > NEW:
        return f"Nothing ran, since {new} kernels would have to be compiled: {unknown}. With run=True it runs."
    return ""


def _run(e: Explanation, notes: list[str]) -> tuple[Trace, Trace, int]:
    """The trace of a run as it is, that of one that stores every value, and of how many runs the times are."""
    context = current()
    ran, seen, times = Trace(), Trace(), 0
    try:
        with trace() as ran:
            run_plan(e.plan, e.order, context)
        ran.kernels, times = warm(e.plan, e.order, ran.kernels)
        if len(e.order) > MANY:
            notes.append(f"The graph has {len(e.order):,} nodes: above {MANY:,} no values are recorded.")
            return ran, seen, times
        plan, watched = _plan_of_values(e)
        if any(step.written is not None for step in (*e.plan.steps, *plan.steps)):
            return ran, _values_of_edited(e, notes), times
        with trace(values=True) as seen:
            tell_values(e.order, plan, run_plan(plan, e.order, context), watched, [seen])
        notes += _missing(e, seen)
    except JtError as error:
        notes.append(f"It does not run: {error}")
    return ran, seen, times


def _values_of_edited(e: Explanation, notes: list[str]) -> Trace:
    """What the kernels of the graph itself read and store, as it runs with edits: other kernels would be unedited."""
    backend, seen = e.plan.device or backends.get(current().flags.backend), Trace(wants_values=True)
    arrays: list[Any] = [n.data for n in e.order] if e.plan.device is None else bring(e.plan.device, e.order)
    leaves = [slot for slot, n in enumerate(e.order) if n.data is not None and n.op is not CONSTANT]
    told = [_seen(e, slot, arrays) for slot in leaves]
    for step in e.plan.steps:
        run_step(step, e.plan, arrays, backend, e.order)
        told += [_seen(e, slot, arrays) for slot in step.outputs]
        free(step, arrays)
    known = {value.node for value in told}
    seen.values += [*told, *(_seen(e, s, arrays) for s in e.plan.keep if e.order[s].id not in known)]
    notes.append("A kernel was edited: values are those that its graph stores as it runs now; others are not shown.")
    return seen


def _seen(e: Explanation, slot: int, arrays: list[Any]) -> Value:
    node = e.order[slot]
    return value_of(node.id, np.asarray(read_slot(e.plan, arrays, slot)), str(node.dtype))


def _plan_of_values(e: Explanation) -> tuple[Plan, set[Node]]:
    """The plan that stores every value, and the nodes that are stored only to be looked at."""
    with trace(values=True):
        watched = seen_by_traces(e.order, current())
    wanted = [n for n in e.order if n.id in e.wanted and n.data is None]
    return plan_for(e.order, [*wanted, *sorted(watched, key=age)], current()), watched


def _missing(e: Explanation, seen: Trace) -> list[str]:
    """Which values are not shown, and why; nothing if all are."""
    told = {value.node for value in seen.values}
    missing = sum(n.id not in told for n in worth_seeing(e.order))
    are = "1 value is" if missing == 1 else f"{missing:,} values are"
    why = f"above {SEEN:,} elements, or more than {in_words(SEEN_BYTES, 'B')} with the others"
    return [f"{are} not shown: {why}."] if missing else []


def _about_values(e: Explanation, seen: Trace) -> str:
    """How the values were computed, where that is not how the graph computes them."""
    if not any(value.dtype in ROUNDED for value in seen.values) or {k.key for k in seen.kernels} <= _keys(e):
        return ""
    return "Values are those of a run that stores each of them: the last digits of float32 and smaller may differ."


def _keys(e: Explanation) -> set[str]:
    return {kernel.key for kernel in e.kernels}
