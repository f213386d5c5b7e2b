"""Slider: what becomes of a curve, while its columns become more and more alike?

    slider(t, y, places, fits)     fits[degree] = cond(a), and for each way of solving a curve and its error

On the left are the points (t, y), and the curves of one degree over `places`. On the right are the errors of all
degrees, and below them a button for each: it picks a degree, with a click or with Tab and the arrow keys. It is HTML
with an SVG in it, and no script, so that it also works on a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jt_edu.draw.choices import INK, SOFT, Choice, choices, fresh, text_at
from jt_edu.draw.html_picture import Picture

Ways = Mapping[str, tuple[Any, float]]
Fits = Mapping[int, tuple[float, Ways]]
WIDE, HIGH, TOP, FOOT = 640, 312, 52, 248  # the picture; above and below both plots
LEFT, RIGHT = (28, 308), (372, 630)  # of the points, of the errors
LEAST, MOST = -8, 2  # powers of ten of an error
LINES = ("#0072b2", "#d55e00")  # of the ways of solving
STYLE = f"""
.jtcond text{{font-size:14px}} .jtcond .b{{font-weight:bold}} .jtcond .m{{text-anchor:middle}}
.jtcond path{{fill:none;stroke:{SOFT};stroke-width:.6}} .jtcond circle{{fill:{INK}}}
.jtcond .l0{{stroke:{LINES[0]};stroke-width:2}} .jtcond .l1{{stroke:{LINES[1]};stroke-width:2;stroke-dasharray:6 3}}
"""


def slider(t: Any, y: Any, places: Any, fits: Fits) -> Picture:
    """Show some curves through points, and how far off their coefficients are, degree by degree.

    Example:
        >>> slider([0, 1], [0, 1], [-1, 2], {1: (2.6, {"by QR": ([-1, 2], 1e-7)})})
        degree 1: cond(a) 2.6, cond(aᵀa) 6.8; error 1e-07 by QR
    """
    degrees, ways = list(fits), list(next(iter(fits.values()))[1])
    told = {d: [f"{error:.0e} {way}" for way, (_, error) in fits[d][1].items()] for d in degrees}
    text = "\n".join(f"degree {d}: {_conditions(fits[d])}; error {', '.join(told[d])}" for d in degrees)
    name = fresh("jtcond")
    edges = np.min(places), np.max(places), np.min(y) - np.ptp(y) / 3, np.max(y) + np.ptp(y) / 3
    clip = f'<clipPath id="{name}"><rect x="{LEFT[0]}" y="{TOP}" width="{LEFT[1] - LEFT[0]}" height="{FOOT - TOP}"/>'
    always = *_still(degrees, fits, ways), *_frame(edges), *_points(t, y, edges)
    still = f"<defs>{clip}</clipPath></defs>{''.join(always)}"
    buttons = []
    for d, row in zip(degrees, text.splitlines(), strict=True):
        x = _across(degrees, d)
        buttons.append(Choice((x, FOOT + 22), row, "".join(_group(d, x, fits[d], places, edges))))
    style = STYLE + f".{name} .c{{clip-path:url(#{name})}}"
    return Picture(choices(name, (WIDE, HIGH), still, buttons, style), text)


def _conditions(fit: tuple[float, Ways]) -> str:
    """The condition numbers of a, and of aᵀa: its square."""
    return f"cond(a) {fit[0]:.2g}, cond(aᵀa) {fit[0] ** 2:.2g}"


def _across(degrees: list[int], degree: int) -> float:
    return RIGHT[0] + 10 + (RIGHT[1] - RIGHT[0] - 20) * degrees.index(degree) / max(len(degrees) - 1, 1)


def _down(error: float) -> float:
    """Where an error is in the picture: one step for each power of ten."""
    power = math.log10(error) if 0 < error < math.inf else (MOST if error else LEAST)
    return FOOT - (FOOT - TOP) * (min(max(power, LEAST), MOST) - LEAST) / (MOST - LEAST)


def _line(x: Any, y: Any, kind: str = "") -> str:
    return f'<path class="{kind}" d="M{" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))}"/>'


def _still(degrees: list[int], fits: Fits, ways: list[str]) -> Iterator[str]:
    """What is the same for all degrees: the chart of errors, and what its lines mean."""
    for power in range(LEAST, MOST + 1, 2):
        y = _down(10.0**power)
        yield _line(RIGHT, [y, y]) + text_at(RIGHT[0] - 40, y + 4, f"1e{power}")
    x = [_across(degrees, d) for d in degrees]
    for k, way in enumerate(ways):
        yield _line(x, [_down(fits[d][1][way][1]) for d in degrees], f"l{k}")
        left = RIGHT[0] + 104 * k
        yield _line([left, left + 22], [TOP - 12] * 2, f"l{k}") + text_at(left + 26, TOP - 8, way)
    yield from (text_at(a, HIGH - 10, d, "m") for a, d in zip(x, degrees, strict=True))
    yield text_at(RIGHT[0] - 52, HIGH - 10, "degree") + text_at(RIGHT[0], 16, "error of the coefficients")


def _at(t: Any, y: Any, edges: tuple[Any, ...]) -> tuple[Any, Any]:
    t0, t1, y0, y1 = edges
    high = np.clip(np.nan_to_num(np.asarray(y, float), nan=2 * y1), 2 * y0 - y1, 2 * y1 - y0)
    across = LEFT[0] + (LEFT[1] - LEFT[0]) * (np.asarray(t) - t0) / (t1 - t0)
    return across, FOOT - (FOOT - TOP) * (high - y0) / (y1 - y0)


def _frame(edges: tuple[Any, ...]) -> Iterator[str]:
    """Lines at whole values of y, and marks at t = 0, 0.5 and 1."""
    for value in range(math.ceil(edges[2]), math.floor(edges[3]) + 1):
        _, (y,) = _at([0], [value], edges)
        yield _line(LEFT, [y, y]) + text_at(LEFT[0] - 20, y + 4, value)
    for t in (0, 0.5, 1):
        (x,), _ = _at([t], [0], edges)
        yield _line([x, x], [FOOT, FOOT + 5]) + text_at(x, FOOT + 20, f"t = {t}" if t == 0 else t, "m")
    yield _line(LEFT, [FOOT, FOOT])


def _points(t: Any, y: Any, edges: tuple[Any, ...]) -> Iterator[str]:
    yield from (f'<circle r="2.5" cx="{a:.1f}" cy="{b:.1f}"/>' for a, b in zip(*_at(t, y, edges), strict=True))


def _group(degree: int, x: float, fit: tuple[float, Ways], places: Any, edges: tuple[Any, ...]) -> Iterator[str]:
    """What is shown of one degree."""
    yield text_at(LEFT[0], 16, f"degree {degree}", "b")
    yield text_at(LEFT[0], 38, _conditions(fit))
    for k, (curve, _) in enumerate(fit[1].values()):
        yield _line(*_at(places, curve, edges), f"c l{k}")
    yield _line([x, x], [TOP, FOOT])
