"""Text metrics: how wide is a word, how does a shape read, and what does a graph look like without a picture?

Widths come from a small table instead of a font, because a picture is drawn where no font can be asked. The table takes
the wider of Liberation Sans (as wide as Arial) and nearly all of DejaVu Sans, so that a box fits its text either way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MONO, PLAIN = 605, 620  # widths in thousandths of the size of a letter: whole numbers, so that every machine sums alike
WIDTHS = {
    **dict.fromkeys("'ijlI.,:;|! ", 340),
    **dict.fromkeys("ftr-()[]/\\{}·", 420),
    **dict.fromkeys("mwMW@%", 990),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 750),
    **dict.fromkeys("#+<=>~^&↑↓→×", 840),
}
WIDE = re.compile(  # two cells of a terminal: the writing of China, Japan and Korea, and pictures
    r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\U0001f000-\U0003ffff]"
)
LARGEST = 10**30  # no axis is longer
KINDS = {
    "elementwise": "elementwise",
    "reindex": "reindex",
    "reindex_reduce": "reindex reduce",
    "source": "source",
    "input": "input",
    "constant": "constant",
    "index": "index",
    "code": "code",
    "hostcall": "host call",
    "kernel": "kernel",
    "module": "module",
    "line": "line",
    "repeat": "repeat",
    "part": "part",
}


def width(text: str, size: float, style: str = "plain") -> float:
    """How wide `text` is, in pixels. Styles: plain, bold, mono, caps (which is written in capitals, spaced)."""
    if style == "mono":
        total = sum(MONO * _cells(c) for c in text)
    elif style == "caps":
        total = sum(_plain(c) + 700 for c in text.upper())
    else:
        total = sum(map(_plain, text))
    return size * (1.06 if style == "bold" else 1.0) * total / 10_000


def _plain(character: str) -> int:
    return 10 * WIDTHS[character] if character in WIDTHS else PLAIN * _cells(character)


def _cells(character: str) -> int:
    """Tenths of a letter: 10, 0 for an accent that stands on one, 17 for what fills two cells of a terminal."""
    if character < "\u0300":
        return 10
    return 0 if unicodedata.category(character) in ("Mn", "Me") else 17 if WIDE.match(character) else 12


def clean(value: object) -> str:
    """Any value as one line that every reader of XML accepts, and that cannot turn the direction of writing."""
    text = " ".join(("" if value is None else str(value)).split())
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn") else c for c in text)


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def shape_text(node: Mapping[str, Any]) -> str:
    """What NumPy's users read: (2, 3) float32."""
    return f"{tuple_text(node.get('shape') or ())} {clean(node.get('dtype'))}".rstrip()


def tuple_text(shape: Iterable[object]) -> str:
    """A shape as Python writes it: (), (3,), (2, 3)."""
    sizes = [clean(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def bytes_text(node: Mapping[str, Any]) -> str:
    """Size in memory: 24 B, 1.5 kB, 3.2 MB; nothing where the dtype does not say how long a number is."""
    return size_text(bytes_of(node))


def bytes_of(node: Mapping[str, Any]) -> float:
    """How many bytes a value takes; 0 where that is not known."""
    dtype = clean(node.get("dtype"))
    bits = re.search(r"(\d{1,4})_?$", dtype)
    size = float(int(bits[1]) // 8) if bits else 1.0 if dtype.startswith("bool") else 0.0
    for length in node.get("shape") or ():
        size *= min(length, LARGEST) if isinstance(length, int) else 0
    return size if size < LARGEST**9 else 0.0


def size_text(size: float) -> str:
    """A number of bytes in words; nothing for none."""
    if not size:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5 or unit == "GB":
            break
        size /= 1000
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:,.0f} {unit}"


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
    used = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    last = len(rows[0]) - 1
    return columns([[row[k] if k == last else cut(row[k], 60) for k in used] for row in rows])


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)
