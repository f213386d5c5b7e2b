"""Columns: what several ranks told in one cell, side by side.

rank 0      | rank 1      | rank 2          a column for each rank; long ones scroll
printed     | printed     | printed
value       | error       | stopped
------------------------------------
why all of them ended, who waits for whom; what works here and may not elsewhere
"""

from __future__ import annotations

import base64
from html import escape
from typing import Any

from jt_edu.mpi.notebook.cell import CellRun, Told, ranks_named
from jt_widgets.waiting import HUES, who_waits

INK, SOFT, RULE = "var(--jp-ui-font-color1, inherit)", "var(--jp-ui-font-color2, #666)", "var(--jp-border-color2, #ccc)"
MONO = "margin:0;padding:2px 0;white-space:pre-wrap;word-break:normal;background:none;color:inherit"
CELL = (
    f"vertical-align:top;text-align:left;padding:4px 10px 6px;min-width:13em;border-right:1px solid {RULE};color:{INK}"
)
PAGE = "max-height:24em;overflow:auto"
WARM = "border-left:3px solid #e69f00;padding:2px 10px;margin:6px 0"
BAD = "border-left:3px solid #d55e00;padding:2px 10px;margin:6px 0"
APART = 8  # ranks that each have a column, whatever they say; of more than that, those that say the same share one


class Columns:
    """What came of a cell, as a notebook shows it; as text it is what `CellRun` is."""

    def __init__(self, run: CellRun) -> None:
        self.run = run

    def _repr_html_(self) -> str:
        heads, bodies = zip(*_columns(self.run.ranks), strict=True)
        table = (
            f'<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:0"><thead><tr>{"".join(heads)}'
            f'</tr></thead><tbody><tr style="background:none">{"".join(bodies)}</tr></tbody></table></div>'
        )
        notes = "".join(
            f'<div style="{WARM}"><pre style="{MONO}">{escape(note)}</pre></div>' for note in self.run.notes
        )
        return table + _failure(self.run) + notes

    def __repr__(self) -> str:
        return repr(self.run)


def widgets_of(run: CellRun) -> list[tuple[int, Any]]:
    """(rank, what it showed) of all that lives only outside a table: widgets."""
    return [(told.rank, bundle) for told in run.ranks for bundle in _bundles(told) if _is_widget(bundle)]


def _columns(ranks: list[Told]) -> list[tuple[str, str]]:
    """(head, body) of each column."""
    groups: dict[Any, tuple[list[int], str]] = {}
    for told in ranks:
        body = _body(told)
        groups.setdefault(body if len(ranks) > APART else told.rank, ([], body))[0].append(told.rank)
    return [
        (
            f'<th style="{CELL};border-top:3px solid {HUES[numbers[0] % len(HUES)]}">{ranks_named(numbers)}</th>',
            f'<td style="{CELL}"><div style="{PAGE}">{body}</div></td>',
        )
        for numbers, body in groups.values()
    ]


def _body(told: Told) -> str:
    parts = [_shown(piece) if stream == "shown" else _text(piece, stream) for stream, piece in told.page.pieces]
    if told.shown is not None:
        parts.append(_shown(told.shown))
    if told.trouble:
        parts.append(f'<div style="{BAD if told.failed else WARM}">{_text(told.trouble)}</div>')
    return "".join(parts)


def _text(text: str, stream: str = "stdout") -> str:
    colour = f";color:{SOFT};font-style:italic" if stream == "stderr" else ""
    return f'<pre style="{MONO}{colour}">{escape(text)}</pre>'


def _shown(bundle: dict[str, Any]) -> str:
    """One thing that a rank showed, in the richest of its forms that a table can hold."""
    if _is_widget(bundle):
        return _text("(below)")
    for kind in ("image/svg+xml", "image/png", "image/jpeg"):
        if kind in bundle:
            data = bundle[kind]
            code = base64.b64encode(data.encode()).decode() if kind == "image/svg+xml" else data
            return f'<img style="max-width:100%;background:#fff" src="data:{kind};base64,{code}">'
    return str(bundle["text/html"]) if "text/html" in bundle else _text(str(bundle.get("text/plain", "")))


def _bundles(told: Told) -> list[dict[str, Any]]:
    shown = [piece for stream, piece in told.page.pieces if stream == "shown"]
    return shown if told.shown is None else [*shown, told.shown]


def _is_widget(bundle: dict[str, Any]) -> bool:
    return "application/vnd.jupyter.widget-view+json" in bundle


def _failure(run: CellRun) -> str:
    """Why the ranks ended: the words, and a picture of who waits for whom, if they do."""
    if run.failure is None:
        return ""
    waits = {w["rank"]: w["peers"] for w in run.record.waits} if run.record is not None else {}
    picture = who_waits(waits) if 0 < len(waits) <= APART else ""
    return f'<div style="{BAD};display:flex;gap:24px;overflow-x:auto">{_text(run.explanation)}{picture}</div>'
