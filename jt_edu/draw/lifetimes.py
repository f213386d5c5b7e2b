"""The picture of lifetimes: a rectangle for each array, bytes over kernels, and the same as a table.

Who keeps an array alive is said by its outline, and repeated by its colour: the legend shows both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jt_edu.draw.svg import escape
from jt_edu.draw.svg_page import FONT, sheet, words
from jt_edu.draw.text_metrics import columns, cut, size_text, tuple_text, width
from jt_edu.draw.theme import mix

WIDE, HIGH, LEFT, BELOW, MARGIN = 640.0, 240.0, 62.0, 62.0, 16.0  # pixels: the plot, and around it
KEEPERS = {  # who keeps an array alive: in words, colour, outline
    "wanted": ("you asked for it", "#0072b2", "stroke-width:2.6"),
    "held": ("a Var of yours holds it", "#009e73", "stroke-width:1.2"),
    "stays": ("held when its run ends", "#009e73", "stroke-width:1.6;stroke-dasharray:12 2"),
    "saved": ("saved for backward", "#cc79a7", "stroke-width:1.6;stroke-dasharray:5 3"),
    "read": ("read by a later kernel", "#56b4e9", "stroke-width:1.6;stroke-dasharray:2 2"),
    "unread": ("read by nobody", "#8a8f98", "stroke-width:1.6;stroke-dasharray:1 5"),
}
MOST = 400  # rectangles

Row = Mapping[str, Any]


def lifetimes_text(found: Row, nodes: Mapping[int, Row], kernels: Sequence[Row]) -> str:
    """One line for each array."""
    rows = [("array", "shape", "bytes", "made by", "until", "kept alive by")]
    for one in found["arrays"]:
        node = nodes.get(one["node"], {})
        until = "the end" if one["stays"] else f"kernel {one['to']}"
        shape = tuple_text(node.get("shape", ())) if node.get("dtype", "?") else ""
        made = f"kernel {one['from']} {kernels[one['from']]['name']}"
        keepers = "; ".join(keeper["text"] for keeper in one["keepers"])
        rows.append((called(node, one["node"]), shape, f"{one['bytes']:,}", cut(made, 40), until, keepers))
    return columns(rows)


def called(node: Row, identity: int) -> str:
    """#7 h, or #7 matmul."""
    return f"#{identity} {node.get('name') or node.get('op', '')}".rstrip()


def lifetimes_svg(found: Row, nodes: Mapping[int, Row], summary: str) -> str:
    """The rectangles, the bytes that are alive, and the peak."""
    kernels, top = max(1, len(found["alive"])), max(1, found["height"], found["peak"])
    step, unit = WIDE / kernels, HIGH / top
    arrays = sorted(found["arrays"], key=lambda a: -a["bytes"])[:MOST]
    boxes = [_array(one, nodes, step, unit) for one in arrays]
    peak_x = LEFT + (found["peak_kernel"] + 0.5) * step
    mark = f'<path class="peak" d="M{peak_x:.1f} {MARGIN:.1f}V{MARGIN + HIGH:.1f}"/>'
    wide, high = LEFT + WIDE + MARGIN, MARGIN + HIGH + BELOW
    below = MARGIN + HIGH + 15
    peak = f"peak {size_text(found['peak'])} in kernel {found['peak_kernel']}"
    scales = [
        words(LEFT - 6, MARGIN + HIGH, "0", "end"),
        words(LEFT - 6, MARGIN + 10, size_text(top), "end"),
        words(LEFT, below, "kernel 0"),
        words(LEFT + WIDE, below, f"kernel {kernels - 1}", "end"),
        words(min(max(peak_x, LEFT + 160), LEFT + WIDE - 160), below, peak, "middle"),
    ]
    return sheet("jt-lifetimes", (wide, high), summary, _rules(), [*boxes, mark, *scales, _legend(arrays)])


def _array(one: Row, nodes: Mapping[int, Row], step: float, unit: float) -> str:
    x, y = LEFT + one["from"] * step, MARGIN + HIGH - (one["offset"] + one["bytes"]) * unit
    wide, high = (one["to"] - one["from"] + 1) * step, one["bytes"] * unit
    name = called(nodes.get(one["node"], {}), one["node"])
    fits = high >= 15 and width(name, FONT) + 8 <= wide
    label = words(x + 5, y + min(high / 2 + 4, 15), name) if fits else ""
    tip = f"{name}: {size_text(one['bytes'])}; {'; '.join(k['text'] for k in one['keepers'])}"
    return (
        f'<g class="{one["why"]}"><title>{escape(tip)}</title>'
        f'<rect x="{x:.1f}" y="{y:.2f}" width="{wide:.1f}" height="{high:.2f}"/>{label}</g>'
    )


def _legend(arrays: Sequence[Row]) -> str:
    there = {one["why"] for one in arrays}
    parts, x, y = [], LEFT, MARGIN + HIGH + 26
    for why, (meaning, _, _) in KEEPERS.items():
        if why in there:
            if x + 29 + width(meaning, FONT) > LEFT + WIDE:
                x, y = LEFT, y + 18
            parts.append(f'<g class="{why}"><rect x="{x:.1f}" y="{y:.1f}" width="24" height="12"/></g>')
            parts.append(words(x + 29, y + 10, meaning))
            x += 42 + width(meaning, FONT)
    return "".join(parts)


def _rules() -> list[tuple[str, str]]:
    rules = [(" .peak", f"fill:none;stroke-width:1.5;stroke-dasharray:2 3;{mix('stroke', 'ink', 90, 'paper')}")]
    for why, (_, colour, line) in KEEPERS.items():
        rules.append((f" .{why} rect", mix("fill", colour, 26, "paper") + mix("stroke", colour, 75, "ink") + line))
    return rules
