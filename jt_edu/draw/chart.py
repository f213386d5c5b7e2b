"""Chart: how do numbers become places on a plot?

    x = axis("log", intensities, "flop/byte")    a round range that holds all values
    ticks(x, 6), scale(x, 40, 600)               round values in it, and where they stand
    Chart(x, y, lines, dots, notes)              one plot, as data; plot.py draws it

widgets/frontend/src/chart.js chooses the same ranges, ticks and places; widgets/frontend/golden/charts holds both to
that. A number that is not finite, or not above 0 on a log axis, has no place: a line has a gap there. Nothing here
knows what is plotted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

LETTER = 6.6  # pixels, of 11 px text

Point = tuple[float, float | None]
Area = tuple[float, float, float, float]


def figure(value: float | str | None) -> str:
    """A number in four significant digits: 0.1235, 12,350, 1.5e-7; "nan" and "inf" may come as text.

    Example:
        >>> figure(1234.5678), figure(0.000123456), figure(1.5e-7), figure(None)
        ('1,235', '0.0001235', '1.5e-7', '–')
    """
    if value is None:
        return "–"
    value = float(value)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 15:
        text = f"{float(f'{value:.4g}'):,.{max(0, 3 - size)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    digits, _, exponent = f"{value:.3e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"


def letters(value: float) -> str:
    """A large number with a letter for thousands.

    Example:
        >>> letters(2.5e10), letters(0.25), letters(999_900)
        ('25 G', '0.25', '1 M')
    """
    size = min(4, max(0, math.floor(math.log10(abs(value) * 1.0005 or 1) / 3)))
    return figure(float(f"{value / 1000**size:.3g}")) + ("", " k", " M", " G", " T")[size]


@dataclass(frozen=True)
class Axis:
    """From which value to which; `kind` is "linear" or "log", and `words` says how a tick reads."""

    kind: str
    start: float
    end: float
    title: str = ""
    words: Callable[[float], str] = figure


@dataclass(frozen=True)
class Line:
    """Points that are joined. Styles: "s0" to "s5", "roof", "faint" and "event"."""

    points: Sequence[Point]
    style: str = "s0"
    name: str = ""  # in the legend


@dataclass(frozen=True)
class Dot:
    """A mark at a place, with words beside it if there is room. Shapes: circle, square, diamond, triangle, cross."""

    x: float
    y: float
    size: float = 4.0
    style: str = "s0"
    shape: str = "circle"
    words: str = ""
    tip: str = ""


@dataclass(frozen=True)
class Note:
    """Words at a place of the plot."""

    x: float
    y: float
    words: str
    anchor: str = "start"
    rise: float = 6.0  # pixels above the place
    right: float = 0.0  # pixels to its right
    along: tuple[float, float] | None = None  # another place: the words stand above the line to it


@dataclass(frozen=True)
class Chart:
    """One plot. `marks` are entries of its legend for dots: (shape, style, words); lines have their names there."""

    x: Axis
    y: Axis
    lines: Sequence[Line] = ()
    dots: Sequence[Dot] = ()
    notes: Sequence[Note] = ()
    height: int = 260
    marks: Sequence[tuple[str, str, str]] = ()


def axis(
    kind: str, values: Iterable[float | None], title: str = "", words: Callable[[float], str] | None = None
) -> Axis:
    """An axis whose range is round and holds all values.

    Example:
        >>> a = axis("linear", [0.3, 9.1, None])
        >>> a.start, a.end, ticks(a, 5)
        (0, 10, [0, 2, 4, 6, 8, 10])
    """
    found = [v for v in values if v is not None and math.isfinite(v) and (kind == "linear" or v > 0)]
    low, high = (min(found), max(found)) if found else (1.0, 1.0)
    start, end = _decades(low, high) if kind == "log" else _rounded(low, high)
    return Axis(kind, start, end, title, words or figure)


def ticks(along: Axis, most: int) -> list[float]:
    """Round values inside the range of an axis, about as many as asked for."""
    if along.kind == "log":
        return _log_ticks(along.start, along.end, most)
    return _multiples(along.start, along.end, _round_step(along.start, along.end, most))


def scale(along: Axis, low: float, high: float) -> Callable[[float], float]:
    """Where values stand when `start` stands at `low` and `end` at `high`; nan for what has no place."""

    def spot(value: float) -> float:
        return math.log10(value) if value > 0 else math.nan

    place = spot if along.kind == "log" else float
    first, last = place(along.start), place(along.end)
    return lambda value: low + (place(value) - first) / (last - first) * (high - low)


# ranges and ticks


def _decades(low: float, high: float) -> tuple[float, float]:
    """The next of 1, 2 and 5 times a power of ten below and above, at least a factor of 10 apart."""
    start = max(v for k in (-1, 0) for v in _digits(math.floor(math.log10(low)) + k) if v <= low * (1 + 1e-9))
    least = max(high, start * 10)
    return start, min(v for k in (0, 1) for v in _digits(math.floor(math.log10(least)) + k) if v >= least * (1 - 1e-9))


def _digits(exponent: int) -> list[float]:
    return [_times(digit, (1, exponent)) for digit in (1, 2, 5)]


def _rounded(low: float, high: float) -> tuple[float, float]:
    if low == high:
        return low - (abs(low) / 2 or 1), high + (abs(high) / 2 or 1)
    step = _round_step(low, high, 5)
    size = _times(1, step)
    return _times(math.floor(low / size + 1e-9), step), _times(math.ceil(high / size - 1e-9), step)


def _round_step(low: float, high: float, most: int) -> tuple[int, int]:
    """The smallest step of 1, 2 or 5 times a power of ten that makes at most so many parts: digit and exponent."""
    least = (high - low) / max(1, most)
    exponent = math.floor(math.log10(least) + 1e-9)
    digit = next((d for d in (1, 2, 5) if d * _power(exponent) >= least * (1 - 1e-9)), None)
    return (1, exponent + 1) if digit is None else (digit, exponent)


def _multiples(low: float, high: float, step: tuple[int, int]) -> list[float]:
    size = _times(1, step)
    first, last = math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9)
    return [_times(k, step) for k in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first) / max(1, most)))
    parts = 3 if high <= low * 120 and most >= 3 * (last - first) else 1
    values = [v for k in range(first - 1, last + 1) if (k - first) % every == 0 for v in _digits(k)[:parts]]
    return [v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]


def _times(number: int, step: tuple[int, int]) -> float:
    """A whole number times a step, without the small error of a product of fractions."""
    digit, exponent = step
    product = number * digit / _power(-exponent) if exponent < 0 else number * digit * _power(exponent)
    return int(product) if product == int(product) else product


def _power(exponent: int) -> float:
    return float(f"1e{exponent}")


# words beside marks


def captions(
    marks: Sequence[tuple[float, float, float, str]], box: Area, others: Iterable[Area] = ()
) -> list[tuple[float, float, str] | None]:
    """Where the words of marks (x, y, size, words) stand, on a side where they cover nothing; None where none is free.

    Areas are left, top, right, bottom: `box` is where words may stand, `others` are taken. The first chooses first.
    """
    taken = [*others, *((x - r, y - r, x + r, y + r) for x, y, r, _ in marks)]
    found: list[tuple[float, float, str] | None] = []
    for x, y, r, words in marks:
        places = [words_area(place, words) for place in _sides(x, y, r)]
        free = (k for k, area in enumerate(places) if _inside(area, box) and not any(_over(area, t) for t in taken))
        chosen = next(free, None)
        found.append(None if chosen is None else _sides(x, y, r)[chosen])
        taken += [] if chosen is None else [places[chosen]]
    return found


def _sides(x: float, y: float, r: float) -> list[tuple[float, float, str]]:
    beside = [(x + r + 4, y + 4, "start"), (x - r - 4, y + 4, "end")]
    return [*beside, (x, y - r - 5, "middle"), (x, y + r + 13, "middle")]


def words_area(place: tuple[float, float, str], words: str) -> Area:
    """Which area words take that stand at a place."""
    x, y, anchor = place
    wide = len(words) * LETTER
    left = x - wide * {"start": 0.0, "end": 1.0, "middle": 0.5}[anchor]
    return left, y - 10, left + wide, y + 3


def _inside(area: tuple[float, ...], box: tuple[float, ...]) -> bool:
    return area[0] >= box[0] and area[1] >= box[1] and area[2] <= box[2] and area[3] <= box[3]


def _over(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
