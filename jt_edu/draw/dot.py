"""DOT: how does Graphviz read the same graph?

All of it, each kernel a cluster. Needs the Python package `graphviz`, and runs no program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import BackendError
from jt_edu.draw.layout import ranks
from jt_edu.draw.text_metrics import clean, cut, shape_text
from jt_edu.draw.visible_graph import REACH

if TYPE_CHECKING:
    import graphviz

SHAPES = {
    "source": "box style=rounded", "elementwise": "box", "reindex": "parallelogram", "reindex_reduce": "invtrapezium",
    "constant": "octagon", "index": "hexagon", "code": "note", "hostcall": "component",
}  # fmt: skip


def dot_source(document: Mapping[str, Any]) -> graphviz.Source:
    """The graph as an object of the package `graphviz`."""
    try:
        import graphviz  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise BackendError(
            "dot() hands the graph to the package graphviz", f"{missing}", "pip install graphviz"
        ) from None
    return graphviz.Source(dot_text(document))


def dot_text(document: Mapping[str, Any]) -> str:
    """The graph in the language DOT. Long edges do not pull: with them, `dot` takes minutes for a training graph."""
    return "\n".join(["digraph jt_edu {", *(f"  {row}" for row in _rows(document)), "}"]) + "\n"


def _rows(document: Mapping[str, Any]) -> Iterator[str]:
    nodes, outputs = {node["id"]: node for node in document.get("nodes", ())}, set(document.get("outputs", ()))
    yield 'node [fontname="Helvetica" fontsize=11 height=0.3]; edge [arrowsize=0.6]'
    members: dict[object, list[str]] = {kernel["id"]: [] for kernel in document.get("kernels", ())}
    for node in nodes.values():
        members.setdefault(node.get("kernel"), []).append(_node(node, output=node["id"] in outputs))
    names = {kernel["id"]: kernel.get("name", "") for kernel in document.get("kernels", ())}
    for kernel, rows in members.items():
        if kernel is None:
            yield from rows
            continue
        yield f"subgraph {_quoted(f'cluster_{clean(kernel)}')} {{"
        yield f"  label={_quoted(clean(f'kernel {kernel}: {names.get(kernel, str())}'))}; color=gray; style=rounded"
        yield from (f"  {row}" for row in rows)
        yield "}"
    pairs = [(i, node["id"]) for node in nodes.values() for i in node.get("inputs", ()) if i in nodes]
    rank = ranks(list(nodes), pairs)
    for a, b in pairs:
        pull = "" if 0 < rank[b] - rank[a] <= REACH else " [constraint=false style=dashed]"
        yield f"{_quoted(clean(a))} -> {_quoted(clean(b))}{pull}"


def _node(node: Mapping[str, Any], *, output: bool) -> str:
    name, op = clean(node.get("name", "")), clean(node.get("label") or node["op"])
    title = name if name and node.get("kind") == "source" else f"{name} = {op}" if name else op
    words = _quoted(f"{cut(title, 40)}\n{shape_text(node)}")
    borders = (2 if node.get("stored") else 1) + output
    shape, tip = SHAPES.get(node.get("kind", ""), "box"), _quoted(clean(node.get("where", "")) or op)
    return f"{_quoted(clean(node['id']))} [label={words} shape={shape} peripheries={borders} tooltip={tip}]"


def _quoted(text: object) -> str:
    r"""In DOT a string ends at a quotation mark, and \N, \G and the like mean something else."""
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
