"""Number line: which numbers does a dtype still hold, when all of them are multiplied by a scale?

    number_line({"layer 1": gradients, ...})      a button below for each scale, a power of two

Each row is a histogram of absolute values, by powers of two. Above them stand the ranges of three dtypes. A bar has the
color of what becomes of it in float16: too small, and 0; so small that digits are lost; a number; too large, and inf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jt_edu.draw.choices import SOFT, Choice, box_at, choices, fresh, text_at
from jt_edu.draw.html_picture import Picture

WIDE, LEFT, RIGHT, TOP, ROW = 680, 74, 666, 112, 34  # pixels: the picture, its line, its first row, a row
LOW, HIGH = -46, 24  # powers of two at both ends of the line
ZERO, NORMAL, MOST = -25, -14, 16  # of float16: below it is 0, below it digits are lost, from it on inf
SCALES = 0, 4, 8, 12, 16, 20, 24, 28  # powers of two
RANGES = {"float32": (-149, 128), "bfloat16": (-133, 128), "float16": (ZERO, MOST)}  # what is not 0, and not inf
FATES = {"become 0": "#d55e00", "lose digits": "#e69f00", "stay": "#0072b2", "become inf": "#cc79a7"}  # in float16
STYLE = f".jtline .m{{text-anchor:middle}} .jtline .e{{text-anchor:end}} .jtline path{{stroke:{SOFT};stroke-width:.6}}"


def number_line(rows: Mapping[str, Any]) -> Picture:
    """Show the absolute values of some arrays on the line of all numbers, times a scale that is picked.

    Args:
        rows: name -> array, of any shape; a row of the picture for each. Zeros and nan are left out.

    Example:
        >>> print(str(number_line({"a": [0.0, 1e-9, 1.0]})).splitlines()[0])
        times 2**0: 50% become 0, 0% lose digits, 50% stay, 0% become inf; 0: a 50%
    """
    powers = {name: _powers(values) for name, values in rows.items()}
    together = np.concatenate(list(powers.values()))
    foot, told, buttons = TOP + ROW * len(rows), [], []
    for k, scale in enumerate(SCALES):
        x = LEFT + 40 + (RIGHT - LEFT - 80) * k / (len(SCALES) - 1)
        shares = _shares(together + scale)
        lost = ", ".join(f"{name} {_shares(mine + scale)['become 0']:.0%}" for name, mine in powers.items())
        told.append(f"times 2**{scale}: {', '.join(f'{part:.0%} {fate}' for fate, part in shares.items())}; 0: {lost}")
        rows_of_bars = [_bars(mine + scale, TOP + ROW * (row + 1)) for row, mine in enumerate(powers.values())]
        buttons.append(Choice((x, foot + 42), told[-1], _legend(shares) + "".join(map("".join, rows_of_bars))))
    marks = [text_at(one.at[0], foot + 66, _power(scale), "m") for one, scale in zip(buttons, SCALES, strict=True)]
    still = "".join([*_ranges(), *_axis(rows, foot), *marks, text_at(LEFT - 8, foot + 47, "times", "e")])
    return Picture(choices(fresh("jtline"), (WIDE, foot + 74), still, buttons, STYLE), "\n".join(told))


def _powers(values: Any) -> np.ndarray[Any, Any]:
    """Of each number that is not 0 the power of two at or below it."""
    sizes = np.abs(np.asarray(values, np.float64)).ravel()
    sizes = sizes[sizes > 0]
    return np.where(np.isinf(sizes), 1024, np.frexp(sizes)[1] - 1)  # inf is above all powers of two


def _shares(powers: np.ndarray[Any, Any]) -> dict[str, float]:
    """Which part of the numbers has which fate in float16."""
    counts = np.histogram(powers, [-np.inf, ZERO, NORMAL, MOST, np.inf])[0] / max(len(powers), 1)
    return dict(zip(FATES, counts.tolist(), strict=True))


def _across(power: float) -> float:
    return LEFT + (RIGHT - LEFT) * (min(max(power, LOW), HIGH) - LOW) / (HIGH - LOW)


def _power(power: int) -> str:
    """A power of two, as one writes it."""
    return f'2<tspan dy="-5" font-size="10">{power}</tspan><tspan dy="5">&#8203;</tspan>' if power else "1"


def _ranges() -> Iterator[str]:
    """What each dtype holds; a bar that leaves the picture has an arrow."""
    for k, (name, (low, high)) in enumerate(RANGES.items()):
        y = 30 + 20 * k
        left, right = _across(low), _across(high)
        yield text_at(LEFT - 8, y + 11, name, "e") + box_at(left, y, right - left, 14, SOFT, ' opacity="0.35"')
        if low < LOW:
            yield text_at(LEFT + 4, y + 11, f"← from {_power(low)}") + text_at(
                RIGHT - 4, y + 11, f"to {_power(high)} →", "e"
            )
        else:
            yield text_at((left + right) / 2, y + 11, f"from {_power(low + 1)} to {_power(high)}", "m")


def _axis(rows: Mapping[str, Any], foot: int) -> Iterator[str]:
    """Names of the rows, powers of ten below them, and the two edges of float16."""
    for k, name in enumerate(rows):
        y = TOP + ROW * (k + 1)
        yield text_at(LEFT - 8, y - 8, name, "e") + f'<path d="M{LEFT},{y}H{RIGHT}"/>'
    for ten in range(-12, 7, 3):
        x = _across(ten * np.log2(10))
        yield f'<path d="M{x:.1f},{foot}v5"/>' + text_at(x, foot + 18, f"1e{ten}" if ten else 1, "m")
    for edge in (ZERO, MOST):
        yield f'<path style="stroke-width:1.5;stroke-dasharray:4 3" d="M{_across(edge):.1f},{TOP - 22}V{foot}"/>'


def _legend(shares: Mapping[str, float]) -> str:
    """What becomes of all numbers, in the colors of their bars."""
    squares = (
        box_at(LEFT + 130 * k, 6, 10, 10, FATES[fate]) + text_at(LEFT + 130 * k + 15, 16, words)
        for k, (fate, words) in enumerate((fate, f"{part:.0%} {fate}") for fate, part in shares.items())
    )
    return text_at(LEFT - 8, 16, "in float16", "e") + "".join(squares)


def _bars(powers: np.ndarray[Any, Any], foot: int) -> Iterator[str]:
    """The histogram of a row: one bar for each power of two."""
    inside = np.clip(powers, LOW, HIGH - 1)
    counts = np.bincount(inside - LOW, minlength=HIGH - LOW)
    for power, count in enumerate(counts.tolist(), LOW):
        if count:
            color = [*FATES.values()][np.searchsorted([ZERO, NORMAL, MOST], power, "right")]
            high = (ROW - 5) * count / counts.max()
            x = _across(power)
            yield box_at(x, foot - high, _across(power + 1) - 1 - x, high, color)
