"""Picture: one graph document, as a picture, as text, and for Graphviz.

Picture(document)            a notebook shows it
print(Picture(document))     a table of all nodes
.save("graph.svg")           or .html: the picture and the table in one file
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.draw.dot import dot_source
from jt_edu.draw.html_picture import write_page
from jt_edu.draw.scene import Scene, compose
from jt_edu.draw.svg import draw
from jt_edu.draw.text_metrics import clean, cut, shape_text, table
from jt_edu.draw.visible_graph import View, view

if TYPE_CHECKING:
    import graphviz

FORMAT, VERSION = "jt_edu.graph", 1
SHORT = 200  # rows that `repr` shows
MOST = 6  # names in the summary
SEVERAL = ("random numbers", "constants")


class Picture:
    """A graph as a picture. `svg` is its picture, `text` its table; a notebook shows it by itself.

    Args:
        document: a graph as plain data.
        options: `group`, `opened`, `fold`, `shapes` and `most` of `visible_graph.view`: which boxes are drawn.

    Example:
        >>> nodes = [
        ...     {"id": 0, "op": "source", "kind": "source", "shape": [3], "dtype": "float32", "name": "x"},
        ...     {"id": 1, "op": "exp", "kind": "elementwise", "shape": [3], "dtype": "float32", "inputs": [0]},
        ... ]
        >>> Picture({"format": "jt_edu.graph", "version": 1, "nodes": nodes, "outputs": [1]})
        A graph of 2 nodes: x goes in, exp (3,) float32 comes out.
        id  name  op      shape  dtype    inputs
        0   x     source  (3,)   float32
        1         exp     (3,)   float32  0       output
    """

    def __init__(self, document: Mapping[str, Any], **options: Any) -> None:
        found = document.get("format"), document.get("version")
        if found != (FORMAT, VERSION):
            raise ArgumentError(
                f"Picture draws documents of the format {FORMAT!r}, version {VERSION}",
                f"{found[0]!r}, version {found[1]!r}",
            )
        self.document, self.options = document, options

    @property
    def summary(self) -> str:
        """The graph in one sentence."""
        nodes = {node["id"]: node for node in self.document.get("nodes", ())}
        kernels = len(self.document.get("kernels", ()))
        made = {i: node.get("input") for i, node in nodes.items()}
        sources = [n for i, n in nodes.items() if made[i] == i or (n.get("kind") == "source" and made[i] is None)]
        outputs = [nodes[i] for i in self.document.get("outputs", ()) if i in nodes]
        size = plural(len(nodes), "node") + (f" in {plural(kernels, 'kernel')}" if kernels else "")
        ways = [
            _list(_called(sources), "go", "in"),
            _list([f"{_name(o)} {shape_text(o)}" for o in outputs], "come", "out"),
        ]
        return f"A graph of {size}: {', '.join(filter(None, ways)) or 'no sources, no outputs'}."

    @cached_property
    def text(self) -> str:
        """The summary, and a table with a row for each node."""
        return f"{self.summary}\n{table(self.document)}"

    @cached_property
    def svg(self) -> str:
        """The picture. It follows the theme of the page that it is in; alone, that of the reader's system."""
        said = [json.dumps(part, sort_keys=True, default=_plain) for part in (self.document, self.options) if part]
        digest = hashlib.sha256("".join(said).encode()).hexdigest()
        return draw(self._scene, f"jt{digest[:10]}", self.summary, self._view.notes)

    @cached_property
    def _view(self) -> View:
        return view(self.document, **self.options)

    @cached_property
    def _scene(self) -> Scene:
        return compose(self._view)

    def dot(self) -> graphviz.Source:
        """The whole graph for the Python package graphviz. Runs no program."""
        return dot_source(self.document)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file: `.svg`, or `.html` with the table below it. Both need nothing else."""
        path = Path(path)
        match path.suffix.lower():
            case ".svg":
                path.write_text(self.svg, encoding="utf-8")
            case ".html":
                write_page(path, self._repr_html_(), self.summary, "The same as a table", self.text)
            case other:
                raise ArgumentError("Picture.save writes .svg and .html", repr(other), f"{path.stem}.svg")
        return path

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """In a page a wide picture scrolls sideways, since shrinking would make its words too small to read."""
        return f'<div style="overflow-x:auto">{self.svg}</div>'

    def __repr__(self) -> str:
        rows = self.text.split("\n")
        rest = len(rows) - SHORT - 2
        return (
            self.text if rest <= 0 else "\n".join([*rows[: SHORT + 2], f"… and {plural(rest, 'node')} more: see .text"])
        )


def _plain(value: object) -> object:
    """What JSON does not know: a set of keys, always in the same order."""
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)


def _called(sources: list[Mapping[str, Any]]) -> list[str]:
    """The names of what goes in: first what no model holds; of many arrays those of a model are only counted."""
    held = [_name(s) for s in sources if "." in clean(s.get("name"))]
    rest = [_name(s) for s in sources if "." not in clean(s.get("name"))]
    return rest + (held if len(sources) <= MOST else [f"{plural(len(held), 'array')} of the model"][: len(held)])


def _name(node: Mapping[str, Any]) -> str:
    return cut(clean(node.get("name") or node.get("made") or node.get("label") or node["op"]), 24)


def _list(words: list[str], verb: str, way: str) -> str:
    """a, b and c go in; nothing for no words, and only a number for many."""
    if not words:
        return ""
    if len(words) == 1:
        if words[0] in SEVERAL or words[0].endswith("s of the model"):
            return f"{words[0]} {verb} {way}"
        return f"{words[0]} {verb}es {way}" if verb == "go" else f"{words[0]} {verb}s {way}"
    if len(words) > MOST:
        return f"{len(words):,} arrays {verb} {way}"
    return f"{', '.join(words[:-1])} and {words[-1]} {verb} {way}"
