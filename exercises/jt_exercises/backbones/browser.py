"""Browser: what does each channel of a network make of a photograph?

    browse({"china": {"photo": pixels, "conv1": maps, ...}, "flower": ...})

    [china] flower
    photo [conv1] layer1 ...      which layer
    . . . . . . . .               its channels: the one that is chosen stands there large

A page of radio buttons and style rules, without a script: a choice is made with the mouse, or with Tab and the arrows.
The numbers of each map are spread over the same colours, dark for its smallest and yellow for its largest.
"""

from __future__ import annotations

import base64
import itertools
import struct
import zlib
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from jt_edu.draw.html_picture import Picture
from jt_edu.draw.theme import SANS, mix, page_rules

CHANNELS, SHADES = 24, 32  # shown of each layer; of the scale: more would make the page much larger
DARK, MIDDLE, BRIGHT = (0, 34, 78), (124, 123, 120), (254, 232, 56)  # a scale that colour-blind people can read
NUMBERS = itertools.count()  # of pages: the buttons of each form groups of their own
RULES = (
    ("", f"font:13px {SANS};max-width:690px;padding:12px;border-radius:12px;box-sizing:border-box"),
    ("", mix("color", "ink", 100, "paper") + mix("background", "ink", 4, "paper")),
    (" fieldset", "border:0;margin:0;padding:0;min-width:0"),
    (" input", "position:absolute;opacity:0;width:1px;height:1px"),
    (" .tab>span", "display:inline-block;padding:3px 10px;border-radius:6px;cursor:pointer"),
    (" .tab>input:checked+span", "color:#fff;background:#0072b2"),
    (" .tab>input:focus-visible+span", "outline:2px solid #d55e00"),
    (" .panel", "display:none;position:relative;margin-top:8px;min-height:270px"),
    (" .maps", "display:grid;grid-template-columns:repeat(4,48px);gap:6px;padding:24px 0 0 min(400px,62%)"),
    (" .map", "display:block;height:36px;cursor:pointer"),
    (" img", "display:block;width:100%;height:100%;object-fit:fill;image-rendering:pixelated;border-radius:3px"),
    (" .map:has(:checked)", "outline:2px solid #d55e00;outline-offset:1px;border-radius:3px"),
    (" .map>:checked~img", "position:absolute;left:0;top:0;width:min(384px,58%);height:auto;aspect-ratio:4/3"),
    (" .map>b", "display:none"),
    (" .map>:checked~b", "display:block;position:absolute;left:min(400px,62%);top:0;font-weight:400"),
    (" .map:only-child:has(:checked)", "outline:0"),  # of a photograph there is one
    (" p", "margin:24px 0 0"),
)


def browse(pictures: Mapping[str, Mapping[str, Any]], channels: int = CHANNELS) -> Picture:
    """A page to look at feature maps: for each picture the layers in order, each (c, h, w), or (h, w, 3) of bytes.

    Args:
        pictures: {picture: {layer: numbers}}; every picture has the same layers.
        channels: how many of each layer are shown, from the first on.

    Example:
        >>> browse({"grey": {"photo": np.zeros((6, 8, 3), np.uint8), "conv1": np.eye(2)[:, None] * np.ones((1, 4, 1))}})
        layer   height x width   channels   zeros
        photo            6 x 8          3    100%
        conv1            4 x 2          2     50%
    """
    name = f"jt-browse-{next(NUMBERS)}"
    first = next(iter(pictures.values()))
    rules = [*RULES]
    for row, column in itertools.product(range(len(pictures)), range(len(first))):
        chosen = f":has(.p{row}>:checked):has(.l{column}>:checked)"
        rules.append((f"{chosen} .p{row}l{column}", "display:block"))
    style = page_rules(f".{name}") + "".join(f".{name}{part}{{{rule}}}" for part, rule in rules)
    panels = [
        f'<fieldset class="panel p{row}l{column}" aria-label="{escape(layer)} of {escape(picture)}">'
        f'<div class="maps">{_maps(np.asarray(numbers), f"{name}-{row}-{column}", channels)}</div></fieldset>'
        for row, (picture, layers) in enumerate(pictures.items())
        for column, (layer, numbers) in enumerate(layers.items())
    ]
    tabs = _tabs(name + "-p", "p", "picture", pictures) + _tabs(name + "-l", "l", "layer", first)
    html = (
        f'<div class="{name}"><style>{style}</style>{tabs}{"".join(panels)}<p>Choose a picture, a layer, a channel.</p>'
    )
    return Picture(html + "</div>", _table(first))


def _tabs(group: str, letter: str, what: str, names: Mapping[str, Any]) -> str:
    buttons = (
        f'<label class="tab {letter}{k}"><input type="radio" name="{group}"{" checked" * (not k)}>'
        f"<span>{escape(text)}</span></label>"
        for k, text in enumerate(names)
    )
    return f'<fieldset aria-label="{what}">{"".join(buttons)}</fieldset>'


def _maps(numbers: np.ndarray[Any, Any], group: str, channels: int) -> str:
    photo = numbers.dtype == np.uint8
    shown = [numbers] if photo else list(numbers[:channels])
    h, w = shown[0].shape[:2]
    called = [f"{h} x {w} pixels" if photo else f"channel {k}, {h} x {w} numbers" for k in range(len(shown))]
    return "".join(
        f'<label class="map"><input type="radio" name="{group}" aria-label="{words}"{" checked" * (not k)}>'
        f'<img alt="" src="data:image/png;base64,{_png(one)}"><b>{words}</b></label>'
        for k, (one, words) in enumerate(zip(shown, called, strict=True))
    )


def _png(numbers: np.ndarray[Any, Any]) -> str:
    """A picture of (h, w) numbers in the colours of our scale, or of (h, w, 3) bytes, as a notebook can hold it."""
    colours = numbers.ndim == 3
    h, w = numbers.shape[:2]
    if not colours:
        low, high = float(numbers.min()), float(numbers.max())
        numbers = ((numbers - low) / max(high - low, 1e-12) * (SHADES - 1)).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(numbers))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2 if colours else 3, 0, 0, 0))]
    if not colours:
        scale = np.array([DARK, MIDDLE, BRIGHT], float)
        at = [np.interp(np.arange(SHADES), (0, SHADES / 2, SHADES - 1), part) for part in scale.T]
        chunks.append((b"PLTE", np.stack(at, 1).astype(np.uint8).tobytes()))
    chunks += [(b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def _table(layers: Mapping[str, Any]) -> str:
    rows = [f"{'layer':<7} {'height x width':<16} channels   zeros"]
    for layer, numbers in layers.items():
        a = np.asarray(numbers)
        h, w, c = a.shape if a.dtype == np.uint8 else (*a.shape[1:], a.shape[0])
        rows.append(f"{layer:<7} {f'{h} x {w}':>14} {c:>10} {(a == 0).mean():>7.0%}")
    return "\n".join(rows)
