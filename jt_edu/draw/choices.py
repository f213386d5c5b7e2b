"""Choices: a picture with buttons, each of which shows another part of it.

    name = fresh("jtknn")                          two pictures on one page are picked apart
    choices(name, (560, 332), still, [Choice((20, 40), "point 0", svg), ...], style)

A button is picked with a click, or with Tab and the arrow keys. It is HTML with an SVG in it, and no script, so that it
also works on a page. `still` is what is always seen.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jt_edu.draw.theme import page_rules

_numbers = itertools.count(secrets.randbelow(10**9))  # a page may have pictures of several processes
KEYS = 'data-lm-suppress-shortcuts="true"'  # keeps arrow keys from JupyterLab, which would go on to another cell
PAPER, INK, SOFT = "var(--paper)", "var(--ink)", "#8a8f98"


@dataclass(frozen=True)
class Choice:
    """A button, where it is in the picture, its words, and the SVG that it shows."""

    at: tuple[float, float]
    words: str
    svg: str


def fresh(kind: str) -> str:
    """A name that no other picture of the page has."""
    return f"{kind}{next(_numbers)}"


def text_at(x: float, y: float, words: object, kind: str = "") -> str:
    """Words at a place of the SVG, which is written as XML; `kind` are classes.

    Example:
        >>> text_at(1, 2, "a &lt; b", "m")
        '<text class="m" x="1.0" y="2.0">a &lt; b</text>'
    """
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{words}</text>'


def box_at(x: float, y: float, wide: float, high: float, color: str, more: str = "") -> str:
    """A rectangle of one color; `more` are further attributes.

    Example:
        >>> box_at(0, 0, 3, 4, "red")
        '<rect x="0.0" y="0.0" width="3.0" height="4.0" fill="red"/>'
    """
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{color}"{more}/>'


def choices(name: str, size: tuple[float, float], still: str, buttons: Sequence[Choice], style: str) -> str:
    """The HTML of a picture of this size, in pixels; the first button is picked at first.

    Example:
        >>> html = choices(fresh("jt"), (10, 10), "", [Choice((2, 2), "left", "<g/>"), Choice((8, 2), "right", "")], "")
        >>> html.count("<input"), html.count(" checked>")
        (2, 1)
    """
    (wide, high), kind = size, name.rstrip("0123456789")
    rules = page_rules(f".{kind}") + (
        f".{kind}{{position:relative;max-width:{wide}px;background:{PAPER}}} .{kind} .g{{display:none}}"
        f".{kind} svg{{display:block;width:100%;height:auto}} .{kind} text{{font:13px sans-serif;fill:{INK}}}"
        f".{kind} input{{position:absolute;margin:-8px 0 0 -8px;width:16px;height:16px;cursor:pointer}}"
    )
    made, shown = "", ""
    for k, one in enumerate(buttons):
        rules += f'.{name} input[value="{k}"]:checked~svg .g{k}{{display:inline}}'
        place = f"left:{100 * one.at[0] / wide:.2f}%;top:{100 * one.at[1] / high:.2f}%"
        words = f'aria-label="{escape(one.words)}" title="{escape(one.words)}"'
        on = " checked" * (k == 0)
        made += f'<input type="radio" name="{name}" value="{k}" {words} {KEYS} style="{place}"{on}>'
        shown += f'<g class="g g{k}">{one.svg}</g>'
    svg = f'<svg viewBox="0 0 {wide} {high}" aria-hidden="true">{still}{shown}</svg>'
    return f'<style>{rules}{style}</style><div class="{kind} {name}">{made}{svg}</div>'
