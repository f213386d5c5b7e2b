r"""SVG: how is a scene written down, with no script, no font file and no network?

Outlines tell the kinds of nodes apart, colours only repeat it (Okabe-Ito, mixed into the page):

    (source)   [elementwise]   /reindex/   \reduce/   <index>   [|host call|]   a second outline: stored in memory

A dtype is colored where it is a half or float64, so that a cast can be found at a glance.
In Jupyter the page's own variables decide on light and dark, anywhere else the reader's system does. All words of a
graph are a stranger's, so every one passes `escape`. The same document always gives the same bytes.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from jt_edu.draw import scene as place
from jt_edu.draw.layout import Point
from jt_edu.draw.node_boxes import Card, Chip
from jt_edu.draw.scene import CARD, CHIP, CHIP_APART, FRAME, STALK, Frame, Placed, Scene, kind, title
from jt_edu.draw.text_metrics import clean, cut, width
from jt_edu.draw.theme import DTYPES, rules

MARGIN = 20.0


def draw(scene: Scene, identity: str, summary: str, notes: Sequence[str]) -> str:
    """The whole picture. `identity` keeps its rules and ids apart from those of other pictures on the page."""
    legend, across, down = _legend(scene, notes)
    wide, high = round(max(scene.width, across) + 2 * MARGIN), round(scene.height + down + 2 * MARGIN)
    shift = MARGIN + max(0.0, (across - scene.width) / 2)
    kinds = {p.card.kind for p in scene.cards} | _chip_kinds(scene) | _precisions(scene)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{identity}" width="{wide}" height="{high}"',
        f'viewBox="0 0 {wide} {high}" style="max-width:none" role="img" aria-labelledby="{identity}-t {identity}-d">',
        f'<title id="{identity}-t">{escape(summary)}</title>',
        f'<desc id="{identity}-d">{escape(" ".join([_said(scene), *notes]))}</desc>',
        f"<style>{''.join(rules(identity, kinds))}</style>",
        f"<defs>{_head(identity, 'thin', 7)}{_head(identity, 'thick', 9)}</defs>",
        f'<rect class="paper" width="{wide}" height="{high}" rx="12"/>',
        f'<g transform="translate({_n(shift)} {_n(MARGIN)})">',
        *(_frame(frame) for frame in scene.frames),
        *(_line(identity, how, points, line.tip) for how, line, points in scene.lines),
        *(_label(x, y, words) for x, y, words in scene.labels),
        *(_card(placed, identity) for placed in scene.cards),
        "</g>",
        f'<g transform="translate({_n(MARGIN)} {_n(MARGIN + scene.height)})">{legend}</g>',
        "</svg>",
    ])  # fmt: skip


def escape(words: object) -> str:
    """Words as XML text: a stranger's name can end no tag, and holds no character that XML forbids."""
    return html.escape(clean(words), quote=False)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _said(scene: Scene) -> str:
    """The picture in words, for who cannot see it."""
    if not scene.cards:
        return "Nothing to draw."
    first = "; ".join(f"{p.card.id} {p.card.label} {p.card.facts}".strip() for p in scene.cards[:40])
    return f"From top to bottom: {first}{'; and more' if len(scene.cards) > 40 else ''}."


def _chip_kinds(scene: Scene) -> set[str]:
    return {chip.kind for p in scene.cards for chip in (*p.card.left, *p.card.right)}


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
    pad = place.PAD.get(card.kind, 15.0)
    (bold, rest), facts = title(card), f"f {_precision(card.facts)}".rstrip()
    classes = f"{card.kind} gradient" if card.gradient else card.kind
    parts = [
        f'<g class="{classes}" id="{identity}-n{_word(card.id)}"><title>{escape(card.tip)}</title>',
        _outline(card.kind, x, y, w, CARD),
        f'<g class="inner">{_outline(card.kind, x + 3, y + 3, w - 6, CARD - 6)}</g>' if _is_stored(card) else "",
        f'<text x="{_n(x + pad)}" y="{_n(y + 20)}"><tspan class="v">{escape(bold)}</tspan> {escape(rest)}</text>',
        f'<text class="c" x="{_n(x + w - pad)}" y="{_n(y + 20)}" text-anchor="end">{escape(kind(card).upper())}</text>',
        f'<text class="{facts}" x="{_n(x + pad)}" y="{_n(y + 36)}">{escape(cut(card.facts, 40))}</text>',
        f'<text class="i" x="{_n(x + w - pad)}" y="{_n(y + 36)}" text-anchor="end">{escape(card.number)}</text>',
        "</g>",
        *_chips(card.left, x, y, -1),
        *_chips(card.right, x + w, y, 1),
    ]
    return "".join(parts)


def _label(x: float, y: float, words: str) -> str:
    return f'<text class="{f"m {_precision(words)}".rstrip()}" x="{_n(x)}" y="{_n(y)}">{escape(words)}</text>'


def _is_stored(card: Card) -> bool:
    """A source is in memory anyway."""
    return card.stored and card.kind != "source"


def _precision(words: str) -> str:
    """The dtype that words are colored for; none for what is usual."""
    return next((dtype for dtype in DTYPES if dtype in words.split()), "")


def _precisions(scene: Scene) -> set[str]:
    said = [*(p.card.facts for p in scene.cards), *(words for _, _, words in scene.labels)]
    return set(map(_precision, said)) - {""}


def _word(identity: object) -> str:
    """An id as XML accepts it."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in clean(identity))


def _chips(chips: Sequence[Chip], x: float, y: float, side: int) -> Iterator[str]:
    """A stack of chips beside a card whose edge is at `x`, each on a stalk; `side` is -1 for left, 1 for right."""
    top = y + CARD / 2 - (len(chips) * (CHIP + CHIP_APART) - CHIP_APART) / 2
    for k, chip in enumerate(chips):
        w, cy = place.chip_width(chip), top + k * (CHIP + CHIP_APART) + CHIP / 2
        near = x + side * STALK
        at = min(max(cy, y + 10), y + CARD - 10)
        left = near if side > 0 else near - w
        style, words = ("c", chip.text.upper()) if chip.kind in place.CAPITALS else ("m", chip.text)
        text = (
            f'<text class="{style}" x="{_n(left + w / 2)}" y="{_n(cy + 4)}" text-anchor="middle">{escape(words)}</text>'
        )
        stalk = f'<path class="stalk" d="M{_n(x - side * 4)} {_n(at)}L{_n(near)} {_n(cy)}"/>'
        pill = _rect(left, cy - CHIP / 2, w, CHIP, CHIP / 2)
        yield f'<g class="{chip.kind}"><title>{escape(chip.tip)}</title>{stalk}{pill}{text}</g>'


def _outline(shape: str, x: float, y: float, w: float, h: float) -> str:
    slant = 12.0 * h / CARD
    match shape:
        case "source" | "elementwise":
            return _rect(x, y, w, h, h / 2 if shape == "source" else 9.0)
        case "line":
            top = f'<path class="b" d="M{_n(x)} {_n(y + 4)}h{_n(w)}"/>'
            return _rect(x, y, w, h, 3.0) + top
        case "kernel" | "module" | "repeat" | "part" | "input":
            radius = h / 2 - 2 if shape == "input" else 9.0
            return _rect(x + 4, y + 4, w - 4, h - 4, radius) + _rect(x, y, w - 4, h - 4, radius)
        case "hostcall":
            bars = f'<path class="b" d="M{_n(x + 8)} {_n(y)}v{_n(h)}M{_n(x + w - 8)} {_n(y)}v{_n(h)}"/>'
            return _rect(x, y, w, h, 4.0) + bars
        case "reindex":
            return _polygon([(x + slant, y), (x + w, y), (x + w - slant, y + h), (x, y + h)])
        case "reindex_reduce":
            return _polygon([(x, y), (x + w, y), (x + w - slant, y + h), (x + slant, y + h)])
        case "code":
            return _polygon([(x, y), (x + w - slant, y), (x + w, y + slant), (x + w, y + h), (x, y + h)])
    upper = [(x, y + h / 2), (x + slant, y), (x + w - slant, y)]
    return _polygon([*upper, (x + w, y + h / 2), (x + w - slant, y + h), (x + slant, y + h)])


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
        text = f'<text class="note" x="{34 if swatch else 0}" y="14">{escape(words)}</text>'
        parts.append(f'<g transform="translate({_n(x)} {_n(y)})">{swatch}{text}</g>')
        across, x = max(across, x + wide), x + wide + 22
    return "".join(parts), across, y + 18 if entries else 0.0


def _entries(scene: Scene) -> Iterator[tuple[str, str]]:
    cards, styles = [p.card for p in scene.cards], {how.split()[0] for how, _, _ in scene.lines}
    if any(map(_is_stored, cards)):
        yield f'<g class="plain">{_rect(2, 2, 24, 16, 5)}{_rect(5, 5, 18, 10, 3)}</g>', "stored in memory"
    if any(card.gradient for card in cards):
        yield f'<g class="gradient plain">{_rect(2, 2, 24, 16, 5)}</g>', "part of the gradient"
    if "thin" in styles and "thick" in styles:
        yield '<path class="thin" d="M1 10h26"/>', "fused: no array in between"
        yield '<path class="thick" d="M2 10h24"/>', "an array in memory"
    for dtype in sorted(_precisions(scene)):
        yield f'<text class="{dtype}" x="2" y="14">abc</text>', f"numbers of {dtype}"
    if "portal" in _chip_kinds(scene):
        yield f'<g class="portal">{_rect(2, 2, 24, 16, 8)}</g>', "continues at the node with this number"
