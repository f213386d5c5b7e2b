"""Document schema: what does a document that views show look like, whoever fills it in?

    {"format": "jt_edu.page", "version": 1, "summary": ..., "notes": [...], "graph": ..., "kernels": [...], ...}

Every page has all keys of `empty`; some views add one of their own, such as "tape". `notes` are what one has to know at
once, `about` how the figures were found. A kernel has the same `key` on every page: that of the source that was
generated for it, so that all views mean the same kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.dtypes import as_dtype
from jt_edu.base.trace import KernelRun
from jt_edu.introspect.explain import KernelPlan
from jt_edu.introspect.graph_document import FORMAT as GRAPH_FORMAT
from jt_edu.introspect.graph_document import VERSION as GRAPH_VERSION
from jt_edu.introspect.syntax import classes

FORMAT, VERSION = "jt_edu.page", 1
LONGEST_NAME = 40  # letters

Page = dict[str, Any]


def empty(summary: str = "", notes: Sequence[str] = ()) -> Page:
    """A page about nothing.

    Example:
        >>> empty("Nothing yet.")["summary"], empty()["graph"]["nodes"]
        ('Nothing yet.', [])
    """
    graph: Page = {"nodes": [], "kernels": [], "edges": [], "outputs": []}
    return {
        "format": FORMAT, "version": VERSION, "summary": summary, "notes": list(notes), "about": [],
        "graph": {"format": GRAPH_FORMAT, "version": GRAPH_VERSION, **graph},
        "kernels": [], "passes": [], "values": {}, "memory": [], "peak": 0, "predicted_peak": 0,
    }  # fmt: skip


def shortened(name: str) -> str:
    """A name of the learner's that fits into a sentence, on one line. Of a parameter's the end says most.

    Example:
        >>> shortened("weight"), shortened("N" * 100_000)
        ('weight', 'NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN…')
    """
    if len(name) <= LONGEST_NAME:
        return name
    return "…" + name[1 - LONGEST_NAME :] if "." in name else name[: LONGEST_NAME - 1] + "…"


def kernel_row(number: int, kernel: KernelPlan | KernelRun, run: KernelRun | None, runs: int = 1) -> Page:
    """One kernel of a page: what is planned, and what was measured if it ran, as the least of so many `runs`."""
    return {
        "id": number,
        "key": kernel.key,
        "name": kernel.name,
        "kind": kernel.kind,
        "loops": _loops(kernel),
        "source": kernel.source,
        "lines": [asdict(line) for line in kernel.lines],
        "classes": classes(kernel.source),
        "nodes": list(kernel.nodes),
        "stored": list(kernel.stored),
        "reads": list(kernel.reads),
        "bytes": kernel.bytes,
        "flops": kernel.flops,
        "calls": list(kernel.calls),
        "backend": run.backend if run else current().flags.backend,
        "ran": run is not None,
        "compiled": run.compiled if run else None,
        "compile_ms": run.compile_seconds * 1e3 if run else None,
        "ms": run.milliseconds if run else None,
        "runs": runs if run else 0,
        "edited": kernel.edited,
    }


def _loops(kernel: KernelPlan | KernelRun) -> str:
    """The loops of a kernel in words, and why a convolution or a matrix product is computed as it is."""
    kind = {"product": "a matrix product", "row blocks": "blocks of rows"}.get(kernel.kind, "a convolution")
    words = kernel.loops if isinstance(kernel, KernelPlan) else f"{kind} by {kernel.algorithm}" * bool(kernel.algorithm)
    return f"{words}; {kernel.reason}" if kernel.algorithm else words


def row_size(row: Mapping[str, Any]) -> int:
    """Bytes of the value of a node of a graph document, as an array.

    Example:
        >>> row_size({"shape": [2, 3], "dtype": "float32"})
        24
    """
    return int(math.prod(row["shape"]) * as_dtype(row["dtype"]).size)
