"""Card: what a learner sees after a try: coloured in a notebook, plain text elsewhere.

not right      01.3 backward, in order: paths that join: b = a * one, y = b +
    b at a = 5, one = 1: `b` hands its gradient on before it is complete
parts right: 1 of 4
yours:     [ 3. 15.]
should be: [ 2. 10.]
hint 1 of 3: Walk through the list from its end. When a number's turn comes, ...
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from jt_exercises.verdict import Verdict

COLOURS = {True: "#1a7f37", False: "#b35900", None: "#6e7781"}
SAID = {True: "right", False: "not right", None: "your turn"}
MARK = {True: "✓", False: "✗", None: "○"}
SIDE = 8  # rows and columns of an array that are shown


@dataclass(frozen=True)
class Card:
    """A verdict, and what is said beside it: lines of (word, text)."""

    verdict: Verdict
    beside: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        v = self.verdict
        rows = [repr(v)] + ([f"parts right: {v.right} of {v.of}"] if v.of > 1 else [])
        if v.expected is not None:
            rows += [f"yours:     {_short(v.got)}", f"should be: {_short(v.expected)}"]
        return "\n".join([*rows, *(f"{word}: {text}" for word, text in self.beside)])

    def _repr_html_(self) -> str:
        v, colour = self.verdict, COLOURS[self.verdict.passed]
        head = f"<b><span style='color:{colour}'>{MARK[v.passed]}</span> {SAID[v.passed]}</b> · {escape(v.name)}"
        parts = f" · parts right: {v.right} of {v.of}" if v.of > 1 else ""
        body = f"<div>{as_html(v.words)}</div>" if v.words else ""
        if v.expected is not None:
            body += (
                "<div style='display:flex;gap:2em;flex-wrap:wrap;margin:.5em 0'>"
                f"<div>yours{_array(v.got, v.expected)}</div><div>should be{_array(v.expected, v.got)}</div></div>"
            )
        body += "".join(f"<div><b>{escape(word)}</b>: {as_html(text)}</div>" for word, text in self.beside)
        return (
            f"<div role='status' style='border-left:4px solid {colour};padding:.4em .8em;margin:.3em 0;"
            f"max-width:50em;line-height:1.5'><div>{head}{parts}</div>{body}</div>"
        )


def as_html(words: str) -> str:
    """Escaped; what stands between backticks is code, and lines stay lines, as far in as they are."""
    parts = escape(words).split("`")
    told = "".join(f"<code>{part}</code>" if k % 2 and k < len(parts) - 1 else part for k, part in enumerate(parts))
    return f"<span style='white-space:pre-wrap'>{told}</span>"


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=6, threshold=60, edgeitems=3).replace("\n", " ")


def _array(value: Any, other: Any) -> str:
    """A table of numbers; those that differ from the other's are marked."""
    found, beside = np.asarray(value), np.asarray(other)
    if found.ndim > 2 or found.size == 0:
        return f"<pre>{escape(_short(value))}</pre>"
    rows = np.atleast_2d(found)
    same = np.ones(rows.shape, bool)
    if found.shape == beside.shape and found.dtype.kind in "biuf" and beside.dtype.kind in "biuf":
        same = np.atleast_2d(np.isclose(found, beside, 1e-4, 1e-6, equal_nan=True))
    cells = [
        "".join(_cell(v, is_same) for v, is_same in zip(row[:SIDE], marks, strict=False))
        + "<td>…</td>" * (len(row) > SIDE)
        for row, marks in zip(rows[:SIDE], same, strict=False)
    ]
    more = "<tr><td>…</td></tr>" * (len(rows) > SIDE)
    return f"<table style='margin:0'>{''.join(f'<tr>{cell}</tr>' for cell in cells)}{more}</table>"


def _cell(value: Any, same: bool) -> str:
    style = "" if same else f";color:{COLOURS[False]};font-weight:bold"
    text = f"{value:.5g}" if isinstance(value, np.floating) else str(value)
    return f"<td style='text-align:right;font-family:monospace{style}'>{escape(text)}</td>"
