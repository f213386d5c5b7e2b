"""Text: how wide is a word, how does a shape read, and what does a graph look like without a picture?

Widths come from a small table instead of a font, because a picture is drawn where no font can be asked. The table takes
the wider of Liberation Sans (as wide as Arial) and nearly all of DejaVu Sans, so that a box fits its text either way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MONO = 0.605
WIDTHS = {
    **dict.fromkeys("'ijlI.,:;|! ", 0.34),
    **dict.fromkeys("ftr-()[]/\\{}·", 0.42),
    **dict.fromkeys("mwMW@%", 0.99),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 0.75),
    **dict.fromkeys("#+<=>~^&↑↓→×", 0.84),
}
KINDS = {
    "elementwise": "elementwise",
    "reindex": "reindex",
    "reindex_reduce": "reindex reduce",
    "source": "source",
    "constant": "constant",
    "index": "index",
    "code": "code",
    "hostcall": "host call",
    "kernel": "kernel",
}


def width(text: str, size: float, style: str = "plain") -> float:
    """How wide `text` is, in pixels. Styles: plain, bold, mono, caps (which is written in capitals, spaced)."""
    if style == "mono":
        return size * sum(MONO * _cells(c) for c in text)
    if style == "caps":
        return size * sum(WIDTHS.get(c, 0.62 * _cells(c)) + 0.07 for c in text.upper())
    return size * (1.06 if style == "bold" else 1.0) * sum(WIDTHS.get(c, 0.62 * _cells(c)) for c in text)


def _cells(character: str) -> float:
    """1 for a letter, 0 for an accent that stands on it, 2 for what fills two cells of a terminal."""
    if character < "\u0300":
        return 1.0
    return 0.0 if unicodedata.combining(character) else 1.7 if unicodedata.east_asian_width(character) in "WF" else 1.2


def clean(value: object) -> str:
    """Any value as one line that every reader of XML accepts, and that cannot turn the direction of writing."""
    text = " ".join(str(value).split())
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn") else c for c in text)


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def shape_text(node: Mapping[str, Any]) -> str:
    """What NumPy's users read: (2, 3) float32."""
    return f"{tuple_text(node.get('shape', ()))} {clean(node.get('dtype', ''))}".rstrip()


def tuple_text(shape: Iterable[object]) -> str:
    """A shape as Python writes it: (), (3,), (2, 3)."""
    sizes = [clean(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def bytes_text(node: Mapping[str, Any]) -> str:
    """Size in memory: 24 B, 1.5 kB, 3.2 MB; nothing where the dtype does not say how long a number is."""
    bits = re.search(r"(\d+)_?$", clean(node.get("dtype", "")))
    size = float(int(bits[1]) // 8) if bits else 1.0 if str(node.get("dtype", "")).startswith("bool") else 0.0
    for length in node.get("shape", ()):
        size *= length if isinstance(length, int) else 0
    if not size:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5 or unit == "GB":
            break
        size /= 1000
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:,.0f} {unit}"


def count(number: int, noun: str) -> str:
    """1 node, 5,000 nodes."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def table(document: Mapping[str, Any]) -> str:
    """One row for each node: number, name, operator, shape, dtype, kernel, inputs, and the learner's line."""
    outputs = set(document.get("outputs", ()))
    rows = [("id", "name", "op", "shape", "dtype", "kernel", "inputs", "", "line")]
    for node in document.get("nodes", ()):
        kernel = node.get("kernel")
        marks = ("stored", node.get("stored")), ("held", node.get("held")), ("gradient", node.get("gradient"))
        said = [word for word, true in marks if true] + ["output"] * (node["id"] in outputs)
        rows.append((
            clean(node["id"]), clean(node.get("name", "")), clean(node.get("label") or node["op"]),
            tuple_text(node.get("shape", ())), clean(node.get("dtype", "")), "" if kernel is None else clean(kernel),
            " ".join(map(clean, node.get("inputs", ()))), ", ".join(said), clean(node.get("where", "")),
        ))  # fmt: skip
    return _columns([tuple(cut(cell, 60) for cell in row[:-1]) + row[-1:] for row in rows])


def _columns(rows: Sequence[Sequence[str]]) -> str:
    used = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    widths = [max(len(row[k]) for row in rows) for k in used]
    return "\n".join("  ".join(row[k].ljust(w) for k, w in zip(used, widths, strict=True)).rstrip() for row in rows)
