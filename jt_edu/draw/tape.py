"""The picture of a tape: forward down the left, backward up the right, as a table and as an SVG that stands still."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from jt_edu.draw.svg import escape
from jt_edu.draw.svg_page import sheet
from jt_edu.draw.text_metrics import columns, cut, tuple_text, width
from jt_edu.draw.theme import MONO, SANS, mix

MOST = 60  # rows of the picture; the table has all
LEFT, GAP, HIGH, MARGIN = 250.0, 36.0, 34.0, 20.0  # pixels: left column, between both, height of a row, around all

Row = Mapping[str, Any]


def tape_text(page: Row) -> str:
    """One line for each row: the forward step, and the gradient steps beside it, the last one first."""
    rows, nodes = [("step", "forward", "mean", "steps", "backward")], _nodes(page)
    leaves = _leaves(page)
    for k, (left, right) in enumerate(_sides(page), start=1):
        value = page["values"].get(str(left["node"]))
        numbers = [str(n) for n, _ in right]
        words = [_name(leaves, step) for _, step in right]
        rows.append((str(k), _label(nodes[left["node"]]), _mean(value), " ".join(numbers), ", ".join(words)))
    return columns(rows)


def tape_svg(page: Row, summary: str) -> str:
    """The U as a picture."""
    sides, nodes, leaves = _sides(page), _nodes(page), _leaves(page)
    shown = sides[:MOST]
    boxes, widest = [], 0.0
    for k, (left, right) in enumerate(shown):
        y, mean = MARGIN + 24 + k * HIGH, _mean(page["values"].get(str(left["node"])))
        boxes.append(_box(MARGIN, y, LEFT, _label(nodes[left["node"]]), mean, "forward"))
        x = MARGIN + LEFT + GAP
        for _, step in right:
            name = _name(leaves, step)
            wide = width(name, 12) + 22
            boxes.append(_box(x, y, wide, name, "", "backward"))
            x += wide + 6
        widest = max(widest, x)
    wide = max(widest + MARGIN, MARGIN + LEFT + GAP + 200)
    high = MARGIN * 2 + 24 + len(shown) * HIGH + (18 if len(sides) > MOST else 0)
    more = [] if len(sides) <= MOST else [_words(MARGIN, high - 14, f"and {len(sides) - MOST} more rows")]
    heads = [_words(MARGIN, MARGIN + 10, "Forward ↓"), _words(MARGIN + LEFT + GAP, MARGIN + 10, "Backward ↑")]
    return sheet("jt-tape-picture", (wide, high), summary, _rules(), [*heads, *boxes, *more])


def _sides(page: Row) -> list[tuple[Row, list[tuple[int, Row]]]]:
    """For each row: the forward step, and the gradient steps with their numbers."""
    steps, rows = page["tape"]["steps"], page["tape"]["rows"]
    back: dict[int, list[tuple[int, Row]]] = defaultdict(list)
    for number, step in enumerate(steps[rows:], start=rows + 1):
        back[step["row"]].append((number, step))
    return [(step, back[k]) for k, step in enumerate(steps[:rows])]


def _nodes(page: Row) -> dict[int, Row]:
    return {row["id"]: row for row in page["graph"]["nodes"]}


def _label(node: Row) -> str:
    name = f"{node['name']} = {node['op']}" if node["name"] else node["op"]
    return f"{cut(name, 22)} {tuple_text(node['shape'])}"


def _leaves(page: Row) -> dict[int, str]:
    """The gradients that were asked for, and what each is the gradient of."""
    return {leaf["gradient"]: leaf["name"] or f"#{leaf['node']}" for leaf in page["tape"]["leaves"]}


def _name(leaves: Mapping[int, str], step: Row) -> str:
    """A gradient by whose it is."""
    if step["node"] in leaves:
        return f"d{leaves[step['node']]}"
    return f"{step['op']} (+=)" if "adds" in step else str(step["op"])


def _mean(value: Row | None) -> str:
    if value is None:
        return ""
    return f"{value['mean']:.4g}" if isinstance(value["mean"], (int, float)) else str(value["mean"])


def _box(x: float, y: float, wide: float, words: str, note: str, kind: str) -> str:
    right = f'class="i" x="{x + wide - 9:.1f}" y="{y + 17:.1f}" text-anchor="end"'
    end = f"<text {right}>{escape(note)}</text>" if note else ""
    return (
        f'<g class="{kind}"><rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="26" rx="7"/>'
        f'<text x="{x + 10:.1f}" y="{y + 17:.1f}">{escape(words)}</text>{end}</g>'
    )


def _words(x: float, y: float, words: str) -> str:
    return f'<text class="n" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _rules() -> list[tuple[str, str]]:
    dashed = "stroke-dasharray:5 3"
    return [
        ("", f"font:12px {SANS}"),
        (" .i", f"font:11px {MONO}"),
        (" .n", mix("fill", "ink", 74, "paper")),
        (" .forward rect", mix("fill", "#56b4e9", 18, "paper") + mix("stroke", "#56b4e9", 70, "ink")),
        (" .backward rect", mix("fill", "#e69f00", 16, "paper") + mix("stroke", "#e69f00", 75, "ink") + dashed),
    ]
