"""Memory timeline: the lifetimes of the arrays of some Vars, a recording, or a trace, as a page that a view shows.

    footprint(loss, dw)     what a run holds, as it ran; and what it would hold with a kernel for each operator
    footprint_of(trace)     what ran while a trace was open

What a run without fusion would hold is not tried out, since it may be far more: it is read from its plan, as the
predicted peak is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jt_edu.base.context import current, flag_scope
from jt_edu.base.trace import Line, Trace
from jt_edu.introspect.explain import Explanation, in_words, size
from jt_edu.ir.node import Node
from jt_edu.lens.document_schema import empty, kernel_row
from jt_edu.lens.liveness import lifetimes, lifetimes_of_page
from jt_edu.lens.recording import Recording, recording
from jt_edu.variable.caller_frame import names_of_caller
from jt_edu.variable.var import Var

Row = dict[str, Any]
UNFUSED = (
    "Without fusion every operator fills an array of its own, also the products inside a matrix product. "
    "A tape, step by step, reads through those: its figure is smaller."
)


def footprint(*wanted: Var, run: bool | None = None) -> Recording:
    """Record some Vars; the page of the answer has the key "lifetimes".

    Example:
        >>> page = footprint((jt.ones(10).sync() * 2).exp().sum()).page
        >>> page["summary"]
        'At most 4 B of new arrays are alive at once, in kernel 0, as predicted. Without fusion it would be 80 B.'
    """
    return footprint_of_recording(recording(*wanted, run=run))


def footprint_of_recording(found: Recording) -> Recording:
    """The same recording with the key "lifetimes" on its page."""
    told = lifetimes_of_page(found.page) if found.ran else _planned(found.wanted, current().flags.fuse)
    told["unfused"] = _planned(found.wanted, fuse=False)
    about = [*found.page["about"], UNFUSED]
    return found.with_page(lifetimes=told, summary=_sentence(told, found.ran), about=about)


def footprint_of(trace: Trace) -> Recording:
    """The same for everything that ran while a trace was open, one run after the other.

    Example:
        >>> with jt.trace() as t:
        ...     y = (jt.ones(10) * 2).sync()
        >>> footprint_of(t).page["lifetimes"]["peak"]
        40
    """
    names = names_of_caller()
    nodes = {row["id"]: row for row in _nodes(trace, names)}
    kernels = [kernel_row(number, run, run) for number, run in enumerate(trace.kernels)]
    memory = [asdict(move) for move in trace.memory]
    told = lifetimes(memory, kernels, nodes, set()) | {"predicted_peak": trace.predicted_peak}
    page = empty(_sentence(told))
    page["graph"]["nodes"] = list(nodes.values())
    page["graph"]["kernels"] = [{key: kernel[key] for key in ("id", "name", "nodes")} for kernel in kernels]
    page |= {"kernels": kernels, "memory": memory, "peak": trace.peak, "predicted_peak": trace.predicted_peak}
    return Recording(page | {"lifetimes": told}, trace=trace)


def _planned(wanted: Sequence[Node], fuse: bool) -> Row:
    """What a run would hold by its plan, fused or not."""
    with flag_scope(fuse=fuse):
        e = Explanation(wanted, {})
    kernels = [{"name": k.name, "nodes": k.nodes, "reads": k.reads, "stored": k.stored} for k in e.kernels]
    nodes = {node.id: _brief(node) for node in e.order}
    found = lifetimes(list(_moves(e)), kernels, nodes, set(e.wanted))
    return found | {"predicted_peak": e.predicted_peak, "kernels": [{"name": k["name"]} for k in kernels]}


def _brief(node: Node) -> Row:
    return {
        "id": node.id, "op": node.op.name, "kind": node.op.kind, "inputs": [i.id for i in node.inputs],
        "name": node.name, "held": node.holders > 0, "gradient": node.gradient, "twin": node.twin,
    }  # fmt: skip


def _moves(e: Explanation) -> Iterator[Row]:
    """The records that a run of a plan would leave."""
    alive = 0
    for number, step in enumerate(e.plan.steps):
        for sign, action, slots in ((1, "allocate", step.outputs), (-1, "free", step.frees)):
            for slot in slots:
                moved = size(e.order[slot])
                alive += sign * moved
                yield {"action": action, "node": e.order[slot].id, "bytes": moved, "alive": alive, "kernel": number}


def _nodes(trace: Trace, names: Mapping[int, str]) -> Iterator[Row]:
    """What a trace knows of its nodes; of those that were built before it was opened, what its kernels say."""
    known = {built.id: built for built in trace.built}
    made = {i: number for number, run in reversed(list(enumerate(trace.kernels))) for i in run.nodes}  # the first stays
    stored = {i for run in trace.kernels for i in run.stored}
    said = {line.node: line for run in trace.kernels for line in run.lines}
    others = {i for run in trace.kernels for i in (*run.nodes, *run.stored, *run.reads)}
    others |= {move.node for move in trace.memory}
    for i in sorted(known.keys() | others):
        row = asdict(known[i]) if i in known else _stranger(i, said.get(i))
        row["inputs"] = [j for j in row["inputs"] if j in known or j in others]
        yield row | {
            "name": names.get(i, ""), "held": i in names, "value": "", "label": "", "gradient": row["twin"] is not None,
            "kernel": made.get(i), "stored": i in stored, "modules": [],
        }  # fmt: skip


def _stranger(identity: int, line: Line | None) -> Row:
    op, where = (line.op, line.where) if line else ("array", "")
    return {
        "id": identity, "op": op, "inputs": [], "shape": [], "dtype": "", "where": where, "kind": "source",
        "module": "", "twin": None,
    }  # fmt: skip


def _sentence(told: Row, ran: bool = True) -> str:
    """The peak, what was predicted, and what fusion saves."""
    if not told["arrays"]:
        return "No array was made: what was asked for is there already, or nothing ran."
    peak, predicted = in_words(told["peak"], "B"), in_words(told["predicted_peak"], "B")
    right = (
        "by the plan; nothing ran"
        if not ran
        else "as predicted"
        if told["peak"] == told["predicted_peak"]
        else f"{predicted} were predicted"
    )
    words = f"At most {peak} of new arrays are alive at once, in kernel {told['peak_kernel']}, {right}."
    if "unfused" in told:
        words += f" Without fusion it would be {in_words(told['unfused']['peak'], 'B')}."
    return words
