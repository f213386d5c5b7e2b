"""Gpu block: where does each thread of a block stand, barrier by barrier, and who wrote what into shared memory?

    [ ] [ ] [ ] ...    threads, a row for each warp, in the color of the line at which they stand
    3  tile[t] = x[t]  the kernel; lines at which threads stand are marked, and so are those with a finding
    tile  1.0  4.0     shared memory, in the color of the thread that wrote a number; nothing where nobody did
    x, read  |||       trips to memory: those that are needed, and those that are made beside them

Buttons below pick a barrier. What it takes is plain data, and what it gives is HTML without a script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from jt_edu.base.plural import plural
from jt_edu.draw.choices import INK, SOFT, Choice, box_at, choices, fresh, text_at
from jt_edu.draw.theme import MONO

WIDE, ROW = 700, 17  # pixels: the picture, a line of text
CELLS = ((256, 15), (512, 10), (1024, 7))  # for so many threads, the size of one
LETTERS = 104  # of a line of words
CODE, NUMBER = 44, 34  # where the text of the kernel begins; the width of a number of shared memory
MOST_LINES, MOST_STOPS, MOST_NUMBERS, MOST_ROWS, MOST_THREADS = 40, 9, 16, 16, 1024
LINES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442")  # at which threads stand
BAD, ENDED = "#d55e00", "#8a8f98"
STYLE = (
    f".jtgpu .c{{font:12px {MONO};white-space:pre}} .jtgpu .n{{font:10px {MONO};text-anchor:middle}}"
    f".jtgpu .f{{fill:#b34700;fill:color-mix(in srgb,{BAD} 70%,{INK})}}"  # readable on light paper and on dark
)


@dataclass(frozen=True)
class Stop:
    """A block at a barrier: the line of each thread, 0 where it has ended; and shared arrays, with who wrote them."""

    name: str
    lines: Sequence[int]
    shared: Mapping[str, np.ndarray[Any, Any]]
    writers: Mapping[str, np.ndarray[Any, Any]]
    readers: Mapping[str, Mapping[int, Sequence[int]]]


@dataclass(frozen=True)
class Meter:
    """How many trips to memory a line makes for an array, and how many would do."""

    name: str
    trips: int
    least: int


def block_picture(
    text: Sequence[str], stops: Sequence[Stop], in_a_row: int, bad_threads: Sequence[int], bad_lines: Sequence[int],
    meters: Sequence[Meter], words: Sequence[str] = (),
) -> str:  # fmt: skip
    """The HTML of a block; `in_a_row` threads stand side by side. `words` are what was found, in lines."""
    cut = "; ".join(_cut(text, stops))
    said = [(line, "f") for line in words] + [(line, "") for line in wrap(f"no room for {cut}", LETTERS) if cut]
    text, stops = text[:MOST_LINES], stops[:MOST_STOPS]
    top = 24 + ROW * (len(text) + len(said)) + 14  # below the kernel
    threads = min(len(stops[0].lines), MOST_THREADS)
    cell = next((size for most, size in CELLS if threads <= most), CELLS[-1][1])
    memory = top + cell * -(-threads // in_a_row) + 22
    foot = memory + max(map(_height, stops))
    parts = ("".join(_stop(stop, in_a_row, (top, memory, cell), bad_threads)) for stop in stops)
    buttons = [
        Choice((CODE + 70 * k + 20, foot + 10), stop.name, svg)
        for k, (stop, svg) in enumerate(zip(stops, parts, strict=True))
    ]
    marks = "".join(_text(one.at[0], foot + 34, one.words, "m") for one in buttons)
    below = foot + 60
    found = [_text(CODE, 24 + ROW * k, *one) for k, one in enumerate(said, len(text))]
    still = "".join([*_code(text, bad_lines), *found, marks, *_meters(meters, below)])
    style = STYLE + ".jtgpu .m{text-anchor:middle}.jtgpu .e{text-anchor:end}"
    return choices(fresh("jtgpu"), (WIDE, below + ROW * (len(meters) + 1) + 8), still, buttons, style)


def _text(x: float, y: float, words: object, kind: str = "") -> str:
    return text_at(x, y, escape(str(words)), kind)


def _code(text: Sequence[str], bad: Sequence[int]) -> Iterator[str]:
    for number, line in enumerate(text, 1):
        y = 20 + ROW * (number - 1)
        if number in bad:
            yield box_at(CODE - 4, y - 13, WIDE - CODE, ROW, BAD, ' opacity="0.22"')
        yield _text(CODE - 10, y, number, "c e") + _text(CODE, y, line, "c")


def _colors(stop: Stop) -> dict[int, str]:
    """A color for each line at which threads stand."""
    lines = sorted(set(stop.lines) - {0})
    return {0: ENDED} | {line: LINES[k % len(LINES)] for k, line in enumerate(lines)}


def _stop(stop: Stop, in_a_row: int, places: tuple[float, float, int], bad: Sequence[int]) -> Iterator[str]:
    """What is shown of one barrier; `places`: where threads begin, where memory begins, how large a thread is."""
    colors, (top, memory, cell) = _colors(stop), places
    for line, color in colors.items():
        if line:
            count = sum(at == line for at in stop.lines)
            yield box_at(2, 10 + ROW * (line - 1), 5, ROW - 4, color)
            yield _text(WIDE - 6, 20 + ROW * (line - 1), f"{plural(count, 'thread')} here", "e")
    for thread, line in enumerate(stop.lines[:MOST_THREADS]):
        x, y = CODE + cell * (thread % in_a_row), top + cell * (thread // in_a_row)
        edge = f' stroke="{BAD}" stroke-width="2.5"' if thread in bad else ""
        where = f"in line {line}" if line else "has ended"
        square = box_at(x, y, 0.8 * cell, 0.8 * cell, colors[line], edge)
        yield f"<g><title>thread {thread}: {where}</title>{square}</g>"
    y = memory
    for name, values in stop.shared.items():
        yield _text(CODE - 6, y + 11, name[:5], "c e")
        yield from _numbers(name, values, stop.writers[name], stop.readers.get(name, {}), y)
        y += ROW * min(_rows(values)[0], MOST_ROWS) + 8


def _cut(text: Sequence[str], stops: Sequence[Stop]) -> Iterator[str]:
    """What the picture has no room for."""
    if len(text) > MOST_LINES:
        yield f"lines {MOST_LINES + 1} to {len(text)}"
    if len(stops) > MOST_STOPS:
        yield f"{plural(len(stops) - MOST_STOPS, 'barrier')} more"
    for name, (rows, columns) in {n: _rows(v) for stop in stops for n, v in stop.shared.items()}.items():
        if rows > MOST_ROWS or columns > MOST_NUMBERS:
            yield f"{name} beyond {min(rows, MOST_ROWS)} rows of {min(columns, MOST_NUMBERS)}"


def _rows(values: np.ndarray[Any, Any]) -> tuple[int, int]:
    """How many rows a table of these numbers has, and how many numbers a row."""
    columns = values.shape[-1] if values.ndim > 1 else MOST_NUMBERS
    return -(-values.size // max(1, columns)), columns


def _height(stop: Stop) -> float:
    return float(sum(ROW * min(_rows(values)[0], MOST_ROWS) + 8 for values in stop.shared.values()) + 8)


def _numbers(
    name: str,
    values: np.ndarray[Any, Any],
    writers: np.ndarray[Any, Any],
    readers: Mapping[int, Sequence[int]],
    top: float,
) -> Iterator[str]:
    """A table of numbers, each in the color of who wrote it."""
    columns = _rows(values)[1]
    for address, (value, writer) in enumerate(zip(values.reshape(-1), writers.reshape(-1), strict=True)):
        column, line = address % columns, address // columns
        if column >= MOST_NUMBERS or line >= MOST_ROWS:
            continue
        x, y = CODE + (NUMBER + 2) * column, top + ROW * line
        place = ", ".join(map(str, np.unravel_index(address, values.shape)))
        by = f"written by thread {writer}" if writer >= 0 else "nobody has written it"
        read = readers.get(address, ())
        by += f", read by thread{'s' * (len(read) > 1)} {', '.join(map(str, read))}" if read else ""
        fill = f"hsl({writer * 47 % 360} 65% 60%)" if writer >= 0 else "none"
        box = box_at(
            x,
            y,
            NUMBER,
            ROW - 3,
            fill,
            f' fill-opacity="0.45" stroke="{INK if read else SOFT}" stroke-width="{1 if read else 0.5}"',
        )
        shown = _text(x + NUMBER / 2, y + 10.5, _short(value), "n") if writer >= 0 else ""
        yield f"<g><title>{escape(name)}[{place}]: {by}</title>{box}{shown}</g>"


def _short(value: Any) -> str:
    text = f"{value:.3g}" if value.dtype.kind == "f" else str(value)
    return text if len(text) <= 6 else f"{float(value):.0e}"


def _meters(meters: Sequence[Meter], top: float) -> Iterator[str]:
    """For each line and array a bar: trips that are needed, and the others."""
    if meters:
        yield _text(CODE, top, "trips to memory: those that are needed, and those in vain (orange)")
    most = max((m.trips for m in meters), default=1)
    for k, m in enumerate(meters, 1):
        y, scale = top + ROW * k, 300 / most
        yield _text(CODE + 210, y, m.name, "c e") + box_at(CODE + 218, y - 10, m.least * scale, 11, "#0072b2")
        yield box_at(CODE + 218 + m.least * scale, y - 10, (m.trips - m.least) * scale, 11, BAD)
        yield _text(CODE + 226 + m.trips * scale, y, f"{m.trips}, needed: {m.least}" if m.trips > m.least else m.trips)
