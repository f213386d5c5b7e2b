"""Theme: which colours, lines and letters does a picture have, in light and in dark?

Two colours come from the page, its ink and its paper; the others are mixed into them, so that they suit any theme. Each
is written twice: plain, for readers of SVG that cannot mix, and mixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

INK, PAPER = ("#1d2026", "#e9eaec"), ("#ffffff", "#15171b")  # light and dark, where the page has none of its own
COLOURS = {
    "source": "#009e73", "input": "#009e73", "elementwise": "#56b4e9", "reindex": "#e6c700",
    "reindex_reduce": "#e69f00",
    "constant": "#8a8f98", "index": "#8a8f98", "code": "#cc79a7", "hostcall": "#d55e00",
    "kernel": "#0072b2", "module": "#0072b2", "line": "#0072b2", "repeat": "#0072b2", "part": "#0072b2",
    "output": "#0072b2", "alone": "#8a8f98",
}  # fmt: skip
DTYPES = {"float16": "#d55e00", "bfloat16": "#cc79a7", "float64": "#0072b2"}  # what stands out beside float32
SANS = '"Helvetica Neue","Segoe UI",Roboto,Arial,"Liberation Sans",system-ui,sans-serif'
MONO = 'ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace'


def rules(identity: str, kinds: Iterable[str]) -> Iterator[str]:
    """The style sheet. Every rule begins with the id of its picture, since a page may hold several."""
    yield page_rules(f"#{identity}") + f"#{identity}{{font:13px {SANS}}}"
    found = dict(_lines())
    found.update(_words())
    for kind in sorted(set(kinds) & set(COLOURS)):
        colour = COLOURS[kind]
        found[f".{kind} .b"] = f"stroke-width:1.3;{mix('fill', colour, 20, 'paper')}{mix('stroke', colour, 78, 'ink')}"
        found[f".{kind} .c"] = mix("fill", colour, 45, "ink")
    for dtype in sorted(set(kinds) & set(DTYPES)):
        found[f".{dtype}"] = "font-weight:600;" + mix("fill", DTYPES[dtype], 62, "ink")
    for selector, rule in found.items():
        yield ",".join(f"#{identity} {part}" for part in selector.split(",")) + f"{{{rule}}}"


def page_rules(selector: str) -> str:
    """Ink and paper of a picture, in light and in dark."""
    return f"{selector}{{{_page(0)}}}@media(prefers-color-scheme:dark){{{selector}{{{_page(1)}}}}}"


def _page(dark: int) -> str:
    """The theme of Jupyter where there is one; it sets both variables together, in light and in dark."""
    return f"--ink:var(--jp-ui-font-color0,{INK[dark]});--paper:var(--jp-layout-color0,{PAPER[dark]})"


def _lines() -> Iterator[tuple[str, str]]:
    yield ".paper", mix("fill", "ink", 0, "paper")
    yield ".frame", mix("fill", "ink", 4, "paper") + mix("stroke", "ink", 20, "paper")
    yield ".thin,.thick,.stalk", f"fill:none;stroke-width:1.3;stroke-linecap:round;{mix('stroke', 'ink', 50, 'paper')}"
    yield ".thick", f"stroke-width:2.6;{mix('stroke', 'ink', 58, 'paper')}"
    yield "marker .thin", f"stroke:none;{mix('fill', 'ink', 50, 'paper')}"
    yield "marker .thick", f"stroke:none;{mix('fill', 'ink', 58, 'paper')}"
    yield ".wide", "fill:none;stroke:transparent;stroke-width:12"  # easier to point at
    yield ".portal", f"fill:none;stroke-dasharray:1.5 3;stroke-linecap:round;{mix('stroke', 'ink', 60, 'paper')}"
    yield ".gradient>.b", "stroke-dasharray:5 3"
    yield ".plain>.b", f"fill:none;stroke-width:1.3;{mix('stroke', 'ink', 60, 'paper')}"
    yield "g:hover>.b,g:hover>.thin", "stroke-width:2.2"
    yield "g:hover>.thick", "stroke-width:3.8"


def _words() -> Iterator[tuple[str, str]]:
    yield "text", f"stroke:none;{mix('fill', 'ink', 100, 'paper')}"
    yield ".v", "font-weight:600"
    yield ".c", "font-size:11px;font-weight:500;letter-spacing:.07em"
    yield ".m,.i", f"font:11px {MONO};{mix('fill', 'ink', 74, 'paper')}"
    yield ".f", f"font:11.5px {MONO};{mix('fill', 'ink', 80, 'paper')}"
    yield ".h", f"font:12px {MONO}"
    yield ".note", f"font-size:11.5px;{mix('fill', 'ink', 74, 'paper')}"


def mix(what: str, colour: str, percent: int, other: str) -> str:
    """`percent` of one colour in another, where "ink" and "paper" stand for what the page uses."""
    plain = {"ink": INK[0], "paper": PAPER[0]}
    pairs = zip(_parts(plain.get(colour, colour)), _parts(plain.get(other, other)), strict=True)
    mixed = "".join(f"{round((a * percent + b * (100 - percent)) / 100):02x}" for a, b in pairs)
    first, second = (f"var(--{c})" if c in plain else c for c in (colour, other))
    return f"{what}:#{mixed};{what}:color-mix(in srgb,{first} {percent}%,{second});"


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
