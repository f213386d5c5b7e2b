"""Recording: everything that a page about some Vars shows, as one document and one block of numbers.

    recording(loss, dw).page     {"format": "jt_edu.page", "version": 1, "graph": ..., "kernels": [...], "values": ...}
    recording(loss, dw).blocks   the cells of all thumbnails, as float32

The graph is run twice under a trace, and its arrays are thrown away: once as it would run, for what each kernel costs
and what memory holds; once with every value stored, for what the values are. The Vars stay as lazy as they were; only
parameters that were not drawn yet are drawn now. The numbers on the page are those of the two traces and of the plan.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jt_edu.caller import names_of_caller, nodes_of
from jt_edu.document import document_of
from jt_edu.draw import Picture
from jt_edu.errors import JtError
from jt_edu.execute import plan_for, read_slot, run, run_plan, seen_by_traces, tell_values
from jt_edu.explain import Explanation, KernelPlan
from jt_edu.graph import Node, age
from jt_edu.lens.passes import passes
from jt_edu.settings import current, trace
from jt_edu.trace import KernelRun, Trace, Value, plain
from jt_edu.var import Var

FORMAT, VERSION = "jt_edu.page", 1
HEAVY = 2_000_000_000  # operations; a graph that does more runs only when it is asked to
MANY = 1_000_000  # bytes of thumbnails on one page
SIZES = (32, 16, 8, 4, 2)  # rows and columns of a thumbnail: fewer where there are many
CLASSES = {tokenize.STRING: "s", tokenize.COMMENT: "c", tokenize.NUMBER: "m", tokenize.OP: "o"}


@dataclass
class Recording:
    """What a page shows. `page` is plain data, `blocks` the cells of its thumbnails, `trace` what ran."""

    page: dict[str, Any]
    blocks: bytes
    trace: Trace
    values: Trace
    wanted: tuple[Node, ...] = field(repr=False)

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
        return Recording({**self.page, **more}, self.blocks, self.trace, self.values, self.wanted)


def recording(*wanted: Var, run: bool | None = None) -> Recording:
    """Record what these Vars are made of, which kernels compute them, what that costs, and what every value is.

    Args:
        wanted: one or more Vars of any shape.
        run: whether to run them, under a trace; the arrays are thrown away. None: if they do less than 2 billion
            operations. Without it times, memory and values are missing.

    Example:
        >>> a = jt.array([1.0, 2.0])
        >>> page = jt.recording((a * 3).sum()).page
        >>> page["summary"], len(page["kernels"]), len(page["values"])
        ('A graph of 4 nodes in 1 kernel: a goes in, sum () float32 comes out.', 1, 3)
    """
    nodes, names = nodes_of("jt.recording", wanted), names_of_caller()
    draw_parameters(nodes)
    e = Explanation(nodes, names)
    graph = document_of(e)
    told = e.flops <= HEAVY if run is None else run
    notes: list[str] = [] if told else ["Nothing ran: times, memory and values are not known."]
    ran, seen = _run(e, notes) if told else (Trace(), Trace())
    values, blocks = _values(seen, notes)
    page = {
        "format": FORMAT,
        "version": VERSION,
        "summary": Picture(graph).summary,
        "notes": notes,
        "graph": graph,
        "kernels": [_kernel(k, kernel, ran.kernels) for k, kernel in enumerate(e.kernels)],
        "passes": passes(graph),
        "values": values,
        "memory": [asdict(move) for move in ran.memory],
        "peak": ran.peak,
        "predicted_peak": e.predicted_peak,
    }
    return Recording(page, blocks, ran, seen, tuple(nodes))


def computed(order: list[Node], wanted: Sequence[Node]) -> dict[Node, Any]:
    """The arrays of `wanted`, behind which stands `order`; all stay as lazy as they are."""
    context = current()
    plan = plan_for(order, wanted, context)
    arrays = run_plan(plan, order, context)
    return {node: read_slot(plan, arrays, slot) for slot, node in enumerate(order) if node in wanted}


def draw_parameters(nodes: Sequence[Node]) -> None:
    """Run the parameters behind `nodes` that are pending: how they were drawn is not part of their use."""
    modules = {n.scope.module() for n in _behind(nodes) if n.scope is not None}
    run([p.node for m in modules if m is not None for p in m.parameters()])


def _behind(nodes: Sequence[Node]) -> list[Node]:
    seen = set(nodes)
    waiting = list(nodes)
    while waiting:
        fresh = [i for i in waiting.pop().inputs if i not in seen]
        seen.update(fresh)
        waiting += fresh
    return list(seen)


def _run(e: Explanation, notes: list[str]) -> tuple[Trace, Trace]:
    """The trace of a run as it is, and of one that stores every value."""
    context = current()
    wanted = [n for n in e.order if n.id in e.wanted and n.data is None]
    ran, seen = Trace(), Trace()
    try:
        with trace() as ran:
            run_plan(e.plan, e.order, context)
        with trace(values=True) as seen:
            watched = seen_by_traces(e.order, context)
            plan = plan_for(e.order, [*wanted, *sorted(watched, key=age)], context)
            tell_values(e.order, plan, run_plan(plan, e.order, context), watched, [seen])
    except JtError as error:
        notes.append(f"It does not run: {error}")
    return ran, seen


def _values(seen: Trace, notes: list[str]) -> tuple[dict[str, Any], bytes]:
    """The value of each node by its id, and the cells; smaller thumbnails where there are many."""
    latest = {value.node: value for value in seen.values}
    sizes = (s for s in SIZES if sum(_cells(v, s) for v in latest.values()) * 4 <= MANY)
    size = next(sizes, SIZES[-1])
    found, parts, at = {}, [], 0
    for value in latest.values():
        small = shrunk(value, size)
        count = small.rows * small.columns
        found[str(value.node)] = {
            "shape": [small.rows, small.columns], "block": [at, count], "exact": small.exact, "dtype": value.dtype,
            **{name: plain(getattr(value, name)) for name in ("min", "mean", "max")},
            "nan": value.nan, "inf": value.inf, "zero": value.zero, "count": value.count,
        }  # fmt: skip
        parts.append(small.cells)
        at += count
    if any(not value["exact"] for value in found.values()):
        notes.append(f"Of large values {size} x {size} cells are shown, evenly spaced; the statistics are of all.")
    return found, b"".join(parts)


def _cells(value: Value, size: int) -> int:
    return min(value.rows, size) * min(value.columns, size)


def shrunk(value: Value, size: int) -> Value:
    """The same with at most `size` rows and columns, evenly spaced."""
    rows, columns = min(value.rows, size), min(value.columns, size)
    if (rows, columns) == (value.rows, value.columns):
        return value
    table = np.frombuffer(value.cells, "<f4").reshape(value.rows, value.columns)
    seen = table[np.arange(rows) * value.rows // rows][:, np.arange(columns) * value.columns // columns]
    return replace(value, rows=rows, columns=columns, exact=False, cells=seen.tobytes())


def _kernel(number: int, kernel: KernelPlan, ran: Sequence[KernelRun]) -> dict[str, Any]:
    """One kernel: what is planned, and what was measured if it ran."""
    run_of_it = ran[number] if number < len(ran) else None
    return {
        "id": number,
        "key": kernel.key,
        "name": kernel.name,
        "kind": kernel.kind,
        "loops": kernel.loops,
        "source": kernel.source,
        "lines": [asdict(line) for line in kernel.lines],
        "classes": classes(kernel.source),
        "nodes": list(kernel.nodes),
        "stored": list(kernel.stored),
        "reads": list(kernel.reads),
        "bytes": kernel.bytes,
        "flops": kernel.flops,
        "calls": list(kernel.calls),
        "backend": current().flags.backend,
        "ran": run_of_it is not None,
        "compiled": run_of_it.compiled if run_of_it else None,
        "compile_ms": run_of_it.compile_seconds * 1e3 if run_of_it else None,
        "ms": run_of_it.milliseconds if run_of_it else None,
        "edited": kernel.edited,
    }


def classes(source: str) -> list[tuple[int, int, int, str]]:
    """What an editor colours: (line, from, to, class).

    The classes are k for keywords, s strings, c comments, m numbers, d what is defined, and o operators.

    Example:
        >>> classes("def f(x):")[:2]
        [(1, 0, 3, 'k'), (1, 4, 5, 'd')]
    """
    found: list[tuple[int, int, int, str]] = []
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            kind = CLASSES.get(token.type, "")
            if token.type == tokenize.NAME:
                kind = "k" if keyword.iskeyword(token.string) else "d" if before == "def" else ""
            if kind and token.start[0] == token.end[0]:
                found.append((token.start[0], token.start[1], token.end[1], kind))
            before = token.string
    except (tokenize.TokenError, IndentationError):
        pass  # an unfinished edit has colours as far as it can be read
    return found
