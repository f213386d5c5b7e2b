r"""SVG: a scene as one picture that needs no script, no font file and no network.

Outlines tell the kinds of nodes apart, colours only repeat it (Okabe-Ito, mixed into the page):

    (source)   [elementwise]   /reindex/   \\reduce/   <index>   [|host call|]   a second outline: stored in memory

In Jupyter the page's own variables decide on light and dark, anywhere else the reader's system does. All words of a
graph are a stranger's, so every one passes `escape`. The same document always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from jt_edu.draw.layout import Point
from jt_edu.draw.scene import (
    CAPITALS,
    CARD,
    CHIP,
    CHIP_APART,
    FRAME,
    PAD,
    STALK,
    Frame,
    Placed,
    Scene,
    chip_width,
    kind,
    number,
    title,
)
from jt_edu.draw.text import clean, cut, width
from jt_edu.draw.view import Chip

MARGIN = 20.0
INK, PAPER = ("#1d2026", "#fff"), ("#e9eaec", "#15171b")  # (ink, paper): light, dark
COLOURS = {
    "source": "#009e73", "elementwise": "#56b4e9", "reindex": "#e6c700", "reindex_reduce": "#e69f00", "constant": "#8a8f98",
    "index": "#8a8f98", "code": "#cc79a7", "hostcall": "#d55e00", "kernel": "#0072b2", "output": "#0072b2", "alone": "#8a8f98",
}  # fmt: skip
SANS = '"Helvetica Neue","Segoe UI",Roboto,Arial,"Liberation Sans",system-ui,sans-serif'
MONO = 'ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace'


def draw(scene: Scene, identity: str, summary: str, notes: Sequence[str]) -> str:
    """The whole picture. `identity` keeps its rules and ids apart from those of other pictures on the page."""
    legend, across, down = _legend(scene, notes)
    wide, high = round(max(scene.width, across) + 2 * MARGIN), round(scene.height + down + 2 * MARGIN)
    shift = MARGIN + max(0.0, (across - scene.width) / 2) if scene.cards else MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{identity}" role="img" aria-labelledby="{identity}-t {identity}-d" '
        f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" style="max-width:none">',
        f'<title id="{identity}-t">{escape(summary)}</title>',
        f'<desc id="{identity}-d">{escape(" ".join([_said(scene), *notes]))}</desc>',
        f"<style>{''.join(_rules(identity, scene))}</style>",
        f"<defs>{_head(identity, 'thin', 7)}{_head(identity, 'thick', 9)}</defs>",
        f'<rect class="paper" width="{wide}" height="{high}" rx="12"/>',
        f'<g transform="translate({_n(shift)} {_n(MARGIN)})">',
        *(_frame(frame) for frame in scene.frames),
        *(_line(identity, how, points, line.tip) for how, line, points in scene.lines),
        *(f'<text class="m" x="{_n(x)}" y="{_n(y)}">{escape(words)}</text>' for x, y, words in scene.labels),
        *(_card(placed, identity) for placed in scene.cards),
        "</g>",
        f'<g transform="translate({_n(MARGIN)} {_n(MARGIN + scene.height)})">{legend}</g>',
        "</svg>",
    ])  # fmt: skip


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _said(scene: Scene) -> str:
    """The picture in words, for who cannot see it."""
    first = "; ".join(f"{p.card.id} {p.card.label} {p.card.facts}".strip() for p in scene.cards[:40])
    return (
        f"From top to bottom: {first}{'; and more' if len(scene.cards) > 40 else ''}." if first else "Nothing to draw."
    )


# rules


def _rules(identity: str, scene: Scene) -> Iterator[str]:
    """Each colour twice: plain for readers that know no mixing, then mixed from the page's own ink and paper."""
    ink, paper = "var(--jp-ui-font-color0,{})", "var(--jp-layout-color0,{})"
    yield f"#{identity}{{--ink:{ink.format(INK[0])};--paper:{paper.format(INK[1])};font:13px {SANS}}}"
    yield f"@media(prefers-color-scheme:dark){{#{identity}{{--ink:{ink.format(PAPER[0])};--paper:{paper.format(PAPER[1])}}}}}"
    rules = {
        ".paper": _mix("fill", "ink", 0, "paper"),
        "text": "stroke:none;" + _mix("fill", "ink", 100, "paper"),
        ".v": "font-weight:600",
        ".c": "font-size:11px;font-weight:500;letter-spacing:.07em",
        ".m,.i": f"font:11px {MONO};" + _mix("fill", "ink", 66, "paper"),
        ".f": f"font:11.5px {MONO};" + _mix("fill", "ink", 72, "paper"),
        ".h": f"font:12px {MONO}",
        ".note": "font-size:11.5px;" + _mix("fill", "ink", 66, "paper"),
        ".frame": _mix("fill", "ink", 4, "paper") + _mix("stroke", "ink", 20, "paper"),
        ".thin,.thick,.stalk": "fill:none;stroke-width:1.3;stroke-linecap:round;" + _mix("stroke", "ink", 50, "paper"),
        ".thick": "stroke-width:2.6;" + _mix("stroke", "ink", 58, "paper"),
        ".wide": "fill:none;stroke:transparent;stroke-width:12",
        "marker .thin": "stroke:none;" + _mix("fill", "ink", 50, "paper"),
        "marker .thick": "stroke:none;" + _mix("fill", "ink", 58, "paper"),
        ".portal": "fill:none;stroke-dasharray:1.5 3;stroke-linecap:round;" + _mix("stroke", "ink", 60, "paper"),
        ".gradient>.b": "stroke-dasharray:5 3",
        ".plain>.b": "fill:none;stroke-width:1.3;" + _mix("stroke", "ink", 60, "paper"),
        "g:hover>.b,g:hover>.thin": "stroke-width:2.2",
        "g:hover>.thick": "stroke-width:3.8",
    }
    for name in sorted(_kinds(scene)):
        rules[f".{name} .b"] = (
            "stroke-width:1.3;" + _mix("fill", COLOURS[name], 20, "paper") + _mix("stroke", COLOURS[name], 78, "ink")
        )
        rules[f".{name} .c"] = _mix("fill", COLOURS[name], 45, "ink")
    for selector, rule in rules.items():
        yield ",".join(f"#{identity} {part}" for part in selector.split(",")) + f"{{{rule}}}"


def _kinds(scene: Scene) -> set[str]:
    chips = {chip.kind for p in scene.cards for chip in (*p.card.left, *p.card.right)}
    return ({p.card.kind for p in scene.cards} | chips) & set(COLOURS)


def _mix(what: str, colour: str, percent: int, other: str) -> str:
    """`percent` of one colour in another, where "ink" and "paper" stand for what the page uses."""
    plain = {"ink": INK[0], "paper": "#ffffff"}
    pairs = zip(_parts(plain.get(colour, colour)), _parts(plain.get(other, other)), strict=True)
    mixed = "".join(f"{round((a * percent + b * (100 - percent)) / 100):02x}" for a, b in pairs)
    names = [f"var(--{c})" if c in plain else c for c in (colour, other)]
    return f"{what}:#{mixed};{what}:color-mix(in srgb,{names[0]} {percent}%,{names[1]});"


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


# pieces


def _head(identity: str, how: str, size: int) -> str:
    return (
        f'<marker id="{identity}-{how}" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="{size}" markerHeight="{size}" '
        f'markerUnits="userSpaceOnUse" orient="90"><path class="{how}" d="M0 .8 8 4 0 7.2 1.6 4z"/></marker>'
    )


def _frame(frame: Frame) -> str:
    box, (x, y) = frame.outside, frame.corner
    return (
        f"<g><title>{escape(frame.caption)}: {escape(frame.name)}</title>"
        f'<rect class="frame" x="{_n(x - FRAME)}" y="{_n(y - FRAME)}" width="{_n(box.left + box.right)}" '
        f'height="{_n(box.height)}" rx="14"/>'
        f'<text class="c note" x="{_n(x)}" y="{_n(y + 10)}">{escape(frame.caption.upper())}</text>'
        f'<text class="h" x="{_n(x)}" y="{_n(y + 27)}">{escape(frame.name)}</text></g>'
    )


def _line(identity: str, how: str, points: Sequence[Point], tip: str) -> str:
    style, _, head = how.partition(" ")
    (x, y), marker = points[-1], ""
    if head:
        points = [*points[:-2], (x, min(points[-2][1], y - 6)), (x, y - 6)]
        marker = f' marker-end="url(#{identity}-{style})"'
    d = _path(points)
    return f'<g><title>{escape(tip)}</title><path class="wide" d="{d}"/><path class="{style}" d="{d}"{marker}/></g>'


def _path(points: Sequence[Point]) -> str:
    (x, y), text = points[0], [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for px, py in points[1:]:
        if abs(px - x) < 0.5:
            text.append(f"V{_n(py)}")
        else:
            middle = _n((y + py) / 2)
            text.append(f"C{_n(x)} {middle} {_n(px)} {middle} {_n(px)} {_n(py)}")
            x = px
        y = py
    return "".join(text)


def _card(placed: Placed, identity: str) -> str:
    card, x, y, w = placed.card, placed.x, placed.y, placed.width
    pad = PAD.get(card.kind, 15.0)
    bold, rest = title(card)
    classes = f"{card.kind} gradient" if card.gradient else card.kind
    parts = [
        f'<g class="{classes}" id="{identity}-n{_word(card.id)}"><title>{escape(card.tip)}</title>',
        _outline(card.kind, x, y, w, CARD),
        f'<g class="inner">{_outline(card.kind, x + 3, y + 3, w - 6, CARD - 6)}</g>'
        if card.stored and card.kind != "source"
        else "",
        f'<text x="{_n(x + pad)}" y="{_n(y + 20)}"><tspan class="v">{escape(bold)}</tspan>{escape(rest)}</text>',
        f'<text class="c" x="{_n(x + w - pad)}" y="{_n(y + 20)}" text-anchor="end">{escape(kind(card).upper())}</text>',
        f'<text class="f" x="{_n(x + pad)}" y="{_n(y + 36)}">{escape(cut(card.facts, 40))}</text>',
        f'<text class="i" x="{_n(x + w - pad)}" y="{_n(y + 36)}" text-anchor="end">{escape(number(card))}</text></g>',
        *_chips(card.left, x, y, -1),
        *_chips(card.right, x + w, y, 1),
    ]
    return "".join(parts)


def _word(identity: object) -> str:
    """An id as XML accepts it."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in clean(identity))


def _chips(chips: Sequence[Chip], x: float, y: float, side: int) -> Iterator[str]:
    """A stack of chips beside a card whose edge is at `x`, each on a short stalk; `side` is -1 for left, 1 for right."""
    top = y + CARD / 2 - (len(chips) * (CHIP + CHIP_APART) - CHIP_APART) / 2
    for k, chip in enumerate(chips):
        w, cy = chip_width(chip), top + k * (CHIP + CHIP_APART) + CHIP / 2
        near = x + side * STALK
        at = min(max(cy, y + 10), y + CARD - 10)
        left = near if side > 0 else near - w
        words = chip.text.upper() if chip.kind in CAPITALS else chip.text
        style = "c" if chip.kind in CAPITALS else "m"
        yield (
            f'<g class="{chip.kind} chip"><title>{escape(chip.tip)}</title>'
            f'<path class="stalk" d="{_path([(x - side * 4, at), (near, at if abs(at - cy) < 3 else cy)])}"/>'
            f'<rect class="b" x="{_n(left)}" y="{_n(cy - CHIP / 2)}" width="{_n(w)}" height="{_n(CHIP)}" rx="{_n(CHIP / 2)}"/>'
            f'<text class="{style}" x="{_n(left + w / 2)}" y="{_n(cy + 4)}" text-anchor="middle">{escape(words)}</text></g>'
        )


def _outline(kind: str, x: float, y: float, w: float, h: float) -> str:
    slant = 12.0 * h / CARD
    match kind:
        case "source" | "elementwise":
            return _rect(x, y, w, h, h / 2 if kind == "source" else 9.0)
        case "kernel":
            return _rect(x + 4, y + 4, w - 4, h - 4, 9.0) + _rect(x, y, w - 4, h - 4, 9.0)
        case "hostcall":
            return (
                _rect(x, y, w, h, 4.0)
                + f'<path class="b" d="M{_n(x + 8)} {_n(y)}v{_n(h)}M{_n(x + w - 8)} {_n(y)}v{_n(h)}"/>'
            )
        case "reindex":
            return _polygon([(x + slant, y), (x + w, y), (x + w - slant, y + h), (x, y + h)])
        case "reindex_reduce":
            return _polygon([(x, y), (x + w, y), (x + w - slant, y + h), (x + slant, y + h)])
        case "code":
            return _polygon([(x, y), (x + w - slant, y), (x + w, y + slant), (x + w, y + h), (x, y + h)])
    middle = y + h / 2
    return _polygon(
        [(x + slant, y), (x + w - slant, y), (x + w, middle), (x + w - slant, y + h), (x + slant, y + h), (x, middle)]
    )


def _rect(x: float, y: float, w: float, h: float, radius: float) -> str:
    return f'<rect class="b" x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(radius)}"/>'


def _polygon(corners: Sequence[Point], radius: float = 5.0) -> str:
    """Straight sides, round corners."""
    text: list[str] = []
    for k, (x, y) in enumerate(corners):
        near = []
        for px, py in (corners[k - 1], corners[(k + 1) % len(corners)]):
            length = ((px - x) ** 2 + (py - y) ** 2) ** 0.5 or 1.0
            near.append(f"{_n(x + (px - x) * radius / length)} {_n(y + (py - y) * radius / length)}")
        text.append(f"{'L' if text else 'M'}{near[0]}Q{_n(x)} {_n(y)} {near[1]}")
    return f'<path class="b" d="{"".join(text)}Z"/>'


# legend


def _legend(scene: Scene, notes: Sequence[str]) -> tuple[str, float, float]:
    """Explains the marks that occur, then the notes; its width and height."""
    limit, x, y, across, parts = max(scene.width, 420.0), 0.0, 18.0, 0.0, []
    entries = [*_entries(scene), *(("", note) for note in notes)]
    for swatch, words in entries:
        wide = (34 if swatch else 0) + width(words, 11.5)
        if x and x + wide > limit:
            x, y = 0.0, y + 20
        parts.append(
            f'<g transform="translate({_n(x)} {_n(y)})">{swatch}<text class="note" x="{34 if swatch else 0}" y="14">{escape(words)}</text></g>'
        )
        across, x = max(across, x + wide), x + wide + 22
    return "".join(parts), across, y + 18 if entries else 0.0


def _entries(scene: Scene) -> Iterator[tuple[str, str]]:
    cards, styles = [p.card for p in scene.cards], {how.split()[0] for how, _, _ in scene.lines}
    chips = {chip.kind for card in cards for chip in (*card.left, *card.right)}
    if any(card.stored and card.kind != "source" for card in cards):
        yield f'<g class="plain">{_rect(2, 2, 24, 16, 5)}{_rect(5, 5, 18, 10, 3)}</g>', "stored in memory"
    if any(card.gradient for card in cards):
        yield f'<g class="gradient plain">{_rect(2, 2, 24, 16, 5)}</g>', "part of the gradient"
    if "thin" in styles and "thick" in styles:
        yield '<path class="thin" d="M1 10h26"/>', "fused: stays in a register"
        yield '<path class="thick" d="M2 10h24"/>', "an array in memory"
    if "portal" in chips:
        yield f'<g class="portal">{_rect(2, 2, 24, 16, 8)}</g>', "continues at the node with this number"
