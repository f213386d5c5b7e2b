"""Folded HTML: how does a notebook show words and source that are too long for it?

    page(lines(summary), fold("kernel 0", lines(reasons)), fold("kernel 1", lines(others)))

Each part is a line that opens what stands behind it. Words are wrapped and indented further than the word in front of
them; source is coloured, and scrolls sideways. Nothing here knows what the words are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from textwrap import dedent

from jt_edu.draw.theme import mix, page_rules
from jt_edu.introspect.syntax import classes

HANGING = re.compile(r"( *)((?:\S+  +)?)")  # the word in front of a row, such as `  reads   `
NUMBERED = re.compile(r" *\d+ \| ?| {4}")  # before a line of source
COLOURS = {"k": "#0072b2", "s": "#009e73", "m": "#d55e00", "d": "#cc79a7", "fused": "#009e73", "cut": "#d55e00"}
FONT = "font:var(--jp-code-font-size,13px)/1.35 var(--jp-code-font-family,monospace)"
STYLE = "".join(
    [
        page_rules(".jt-fold"),
        f".jt-fold{{{FONT}}}.jt-fold div>div{{white-space:pre-wrap;overflow-wrap:anywhere}}",
        ".jt-fold pre{margin:.5em 0;padding:0;overflow-x:auto;white-space:pre;font:inherit;background:none}",
        ".jt-fold details{margin:.3em 0}.jt-fold details>:not(summary){margin-left:2ch}",
        ".jt-fold summary{cursor:pointer;white-space:pre-wrap;overflow-wrap:anywhere}",
        f".jt-fold :is(small,i){{font:inherit;{mix('color', 'ink', 70, 'paper')}}}",
        *(f".jt-fold .{name}{{{mix('color', colour, 70, 'ink')}}}" for name, colour in COLOURS.items()),
    ]
)


def page(*parts: str) -> str:
    """Parts, one below the other, in the colours of the page around them.

    Example:
        >>> page(lines("two words")).endswith("<div><div>two words</div></div></div>")
        True
    """
    return f'<div class="jt-fold"><style>{STYLE}</style>{"".join(parts)}</div>'


def fold(title: str, more: str, *inside: str, shown: bool = False) -> str:
    """A line, `title` and `more`, that opens what is `inside`.

    Example:
        >>> fold("kernel 0", "4 B", "<p>why</p>")
        '<details><summary><b>kernel 0</b>  <small>4 B</small></summary><p>why</p></details>'
    """
    head = f"<b>{escape(title, quote=False)}</b>  <small>{escape(more, quote=False)}</small>"
    return f"<details{' open' * shown}><summary>{head}</summary>{''.join(inside)}</details>"


def lines(text: str) -> str:
    """Sentences: one that is too long goes on in a line below, indented further than its word in front.

    Example:
        >>> lines("  cut     #3")
        '<div><div style="padding-left:10ch;text-indent:-10ch">  <i class="cut">cut     </i>#3</div></div>'
    """
    return f"<div>{''.join(map(_line, text.split(chr(10))))}</div>"


def _line(row: str) -> str:
    found = HANGING.match(row)
    assert found is not None, "every row begins with nothing at least"
    space, word = found.groups()
    deep = len(space) + (len(word) or 2 * bool(space))
    style = f' style="padding-left:{deep}ch;text-indent:-{deep}ch"' * (deep > 0)
    front = f'<i class="{escape(word.strip())}">{escape(word, quote=False)}</i>' if word else ""
    return f"<div{style}>{space}{front}{escape(row[found.end() :], quote=False) or '&nbsp;' * (not word)}</div>"


def source(text: str) -> str:
    """Source that is numbered or indented, in the colours of an editor; what stands at the margin is left plain.

    Example:
        >>> source("    3 | return x")
        '<pre>    3 | <span class="k">return</span> x</pre>'
    """
    parts: list[str] = []
    for is_code, found in groupby(text.split("\n"), lambda row: NUMBERED.match(row) is not None):
        rows = list(found)
        parts += _coloured(rows) if is_code else [f"<small>{escape(row, quote=False)}</small>" for row in rows]
    joined = "\n".join(parts)
    return f"<pre>{joined}</pre>"


def _coloured(rows: list[str]) -> Iterator[str]:
    """Rows of one piece of source, with what an editor colours in it."""
    bare = dedent("\n".join(NUMBERED.sub("", row, count=1) for row in rows))
    inside: dict[int, list[tuple[int, int, str]]] = {}
    for number, begin, end, kind in classes(bare):
        inside.setdefault(number, []).append((begin, end, kind))
    for number, (row, line) in enumerate(zip(rows, bare.split("\n"), strict=True), start=1):
        parts, done = [escape(row[: len(row) - len(line)], quote=False)], 0
        for begin, end, kind in inside.get(number, []):
            word = escape(line[begin:end], quote=False)
            tag = f'<span class="{kind}">{word}</span>' if kind in COLOURS else f"<i>{word}</i>" * (kind == "c") or word
            parts += [escape(line[done:begin], quote=False), tag]
            done = end
        yield "".join([*parts, escape(line[done:], quote=False)])
