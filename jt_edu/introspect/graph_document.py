"""Graph document: a graph as plain data, which a picture, a widget or another program can read.

    document(a, b)     {"format": "jt_edu.graph", "version": 1, "nodes": [...], "kernels": [...], "edges": [...], ...}
    graph(a, b)        its picture
    y.graph()          the same for one Var

The graph begins at arrays that exist already, and ends at what was asked for; in between stands what would run, in the
kernels in which it would run. A Var that was computed already is shown as it would be computed again, as far back as
its history goes. A node that several kernels compute stands in the first of them. Nodes that `jt.grad` built are marked
as gradients, and bear the line whose gradient they are. Nodes that only make an input, such as random numbers, name the
last of them as "input", and say what they make as "made". Nothing runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.draw import Picture
from jt_edu.introspect.explain import Explanation, homes, is_view
from jt_edu.introspect.graph_inputs import made_of, makers, named
from jt_edu.ir.meta_ops import CONSTANT, ReindexReduce
from jt_edu.ir.node import Node
from jt_edu.variable.caller_frame import names_of_caller, nodes_of
from jt_edu.variable.var import Var, method

FORMAT, VERSION = "jt_edu.graph", 1
NUMBER = "a number is no array: it is handed over when the kernel is called"


@method
def graph(*wanted: Var) -> Picture:
    """The graph of one or several Vars as a picture; a notebook shows it, `print` shows it as a table. Nothing runs.

    Args:
        wanted: one or more Vars of any shape; several share one picture.

    Returns:
        A `Picture`: `.svg`, `.text`, `.dot()`, `.save("graph.svg")`.

    Example:
        >>> a, b = jt.array([1.0, 2.0]), jt.array([3.0, 4.0])
        >>> print((a * b).sum().graph().summary)
        A graph of 4 nodes in 1 kernel: a and b go in, sum () float32 comes out.
    """
    return Picture(document_of(Explanation(nodes_of("jt.graph", wanted), names_of_caller())))


def document(*wanted: Var) -> dict[str, Any]:
    """The graph of these Vars as plain dicts, lists, numbers and texts, ready for JSON.

    Example:
        >>> d = jt.document(jt.array([1.0, 2.0]) * 3)
        >>> [(node["op"], node["kernel"]) for node in d["nodes"]], len(d["edges"])
        ([('array', None), ('number', None), ('multiply', 0)], 2)
    """
    return document_of(Explanation(nodes_of("jt.document", wanted), names_of_caller()))


def document_of(e: Explanation) -> dict[str, Any]:
    """The document of what was explained."""
    home = homes(e)
    stored = {s for step in e.plan.steps for s in step.outputs}
    names = named(e.order, e.names)
    rows = []
    for slot, node in enumerate(e.order):
        rows.append(_row(node, names) | {"kernel": home.get(slot), "stored": slot in stored})
    _tell_inputs(e, rows, names)
    usual = ("", "BLAS")  # of products, not worth a word
    kernels = [
        {"id": k, "name": kernel.name + f" by {kernel.algorithm}" * (kernel.algorithm not in usual), "nodes": []}
        for k, kernel in enumerate(e.kernels)
    ]
    for row in rows:
        if row["kernel"] is not None:
            kernels[row["kernel"]]["nodes"].append(row["id"])
    return {
        "format": FORMAT,
        "version": VERSION,
        "nodes": rows,
        "kernels": kernels,
        "edges": _edges(e),
        "outputs": list(e.wanted),
    }


def _row(node: Node, names: dict[int, str]) -> dict[str, Any]:
    """What is known of a node, apart from its kernel."""
    pending = node.data is None
    return {
        "id": node.id,
        "op": node.op.name,
        "kind": node.op.kind if pending else "constant" if node.op is CONSTANT else "source",
        "shape": list(node.shape),
        "dtype": str(node.dtype),
        "inputs": [i.id for i in node.inputs] if pending else [],
        "name": node.name or names.get(node.id, ""),
        "where": node.line,
        "held": node.holders > 0,
        "value": _value(node),
        "label": "" if pending else "number" if node.op is CONSTANT else "array",
        "gradient": node.gradient and pending,
        "view": is_view(node),
        "reducer": node.op.reducer if pending and isinstance(node.op, ReindexReduce) else "",
        "module": node.scope.path if node.scope is not None and pending else "",
        "modules": list(node.scope.classes) if node.scope is not None and pending else [],
        "twin": node.twin if pending else None,
        "input": None,
        "made": "",
    }


def _tell_inputs(e: Explanation, rows: list[dict[str, Any]], names: dict[int, str]) -> None:
    """Write into the rows which of them only make an input, and which; it has the name that any of them has."""
    last = makers(e.order, e.wanted, names)
    parts: dict[int, list[int]] = {}
    for slot, node in enumerate(e.order):
        if node.id in last:
            parts.setdefault(last[node.id], []).append(slot)
    for end, slots in parts.items():
        made = made_of([e.order[slot] for slot in slots])
        for slot in slots:
            rows[slot] |= {"input": end, "made": made}
        rows[slots[-1]]["name"] = next((rows[k]["name"] for k in reversed(slots) if rows[k]["name"]), "")


def _value(node: Node) -> str:
    """The number, where there is just one."""
    if node.data is None or np.size(node.data) != 1 or node.dtype == "bfloat16":
        return ""
    number = np.asarray(node.data).reshape(()).item()
    return f"{number:.4g}" if node.dtype.kind in "fc" else str(number)


def _edges(e: Explanation) -> list[dict[str, Any]]:
    """The decisions, and the edges that leave no choice: arrays that exist, and numbers."""
    edges = [
        {"source": d.source, "target": d.target, "fused": d.fused, "rule": d.rule, "reason": d.reason}
        for d in e.decisions
    ]
    decided = {(d.source, d.target) for d in e.decisions}
    for node in e.order:
        for i in dict.fromkeys(node.inputs if node.data is None else ()):
            if (i.id, node.id) in decided:
                continue
            number = i.op is CONSTANT
            rule, reason = ("number", NUMBER) if number else ("array", "an array already in memory")
            edges.append({"source": i.id, "target": node.id, "fused": number, "rule": rule, "reason": reason})
    return edges
