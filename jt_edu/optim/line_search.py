"""Line search: how far to go along a direction, so that the loss falls enough and the slope has become flat enough.

    f(t) <= f(0) + 0.0001 * t * slope(0)      it falls enough
    |slope(t)| <= 0.9 * |slope(0)|            it is flat enough; together they are the strong Wolfe conditions

First the step grows until such a t must lie behind it; then that interval is made smaller from both sides. A cubic
curve through two points and their slopes says where to look next.

Source: Nocedal and Wright 2006, "Numerical Optimization", algorithms 3.5 and 3.6; the safeguards are those of minFunc
(Schmidt 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from jt_edu.variable.var import Var

FALL, FLAT = 1e-4, 0.9


@dataclass(frozen=True)
class Point:
    """What was seen at distance t: the loss, its gradient, and how steep the loss is along the direction."""

    t: float
    f: float
    g: Var
    slope: float


Look = Callable[[float], Point]


def strong_wolfe(look: Look, start: Point, t: float, width: float, least: float, most: int = 25) -> tuple[Point, int]:
    """A point that meets both conditions, or the best one if that takes too long.

    Args:
        look: computes the point at a distance.
        start: the point at distance 0, where the slope is negative.
        t: the first distance to try.
        width: the largest number of the direction.
        least: intervals shorter than this, times `width`, are not divided any more.
        most: how often it looks again after the first time.

    Returns:
        The point, and how often `look` was called.

    Example:
        >>> def look(t): return Point(t, (t - 3) ** 2, None, 2 * (t - 3))
        >>> point, looks = strong_wolfe(look, look(0.0), 0.01, 1.0, 1e-9)
        >>> point.t, looks
        (1.0, 3)
    """
    ends, tries = _bracket(look, start, t, most)
    if len(ends) == 1:
        return ends[0], tries + 1
    point, again = _zoom(look, start, ends, width, least, most - tries)
    return point, tries + again + 1


def _bracket(look: Look, start: Point, t: float, most: int) -> tuple[list[Point], int]:
    """Go on until a good point is found, or two points with one between them."""
    before, here = start, look(t)
    for tries in range(most):
        if _too_high(here, start) or (tries > 1 and here.f >= before.f):
            return [before, here], tries
        if _flat(here, start):
            return [here], tries
        if here.slope >= 0:
            return [before, here], tries
        t = lowest_of_cubic(before, here, here.t + 0.01 * (here.t - before.t), here.t * 10)
        before, here = here, look(t)
    return [start, here], most


def _zoom(look: Look, start: Point, ends: list[Point], width: float, least: float, most: int) -> tuple[Point, int]:
    """Make the interval between two points smaller until a good one is found."""
    low, high = sorted(ends, key=lambda point: point.f)
    crept, tries = False, 0
    while tries < most and abs(high.t - low.t) * width >= least:
        t, crept = _inside(low, high, crept)
        here, tries = look(t), tries + 1
        if _too_high(here, start) or here.f >= low.f:
            low, high = (here, low) if here.f < low.f else (low, here)
            continue
        if _flat(here, start):
            return here, tries
        low, high = here, low if here.slope * (high.t - low.t) >= 0 else high
    return low, tries


def _inside(low: Point, high: Point, crept: bool) -> tuple[float, bool]:
    """Where to look in an interval; twice in a row close to its end is creeping, and refused."""
    left, right = min(low.t, high.t), max(low.t, high.t)
    t, margin = lowest_of_cubic(low, high, left, right), 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if crept or t >= right or t <= left:
        return (right - margin if right - t < t - left else left + margin), False
    return t, True


def _too_high(here: Point, start: Point) -> bool:
    return not here.f <= start.f + FALL * here.t * start.slope  # nan is too high


def _flat(here: Point, start: Point) -> bool:
    return abs(here.slope) <= -FLAT * start.slope


def lowest_of_cubic(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic curve through two points with their slopes is lowest, from low to high; or the middle.

    Example:
        >>> a, b = Point(0.0, 4.0, None, -4.0), Point(3.0, 1.0, None, 2.0)
        >>> lowest_of_cubic(a, b, 0.0, 3.0)
        2.0
    """
    left, right = (a, b) if a.t <= b.t else (b, a)
    bend = left.slope + right.slope - 3 * (left.f - right.f) / (left.t - right.t)
    square = bend * bend - left.slope * right.slope
    root = math.sqrt(square) if square >= 0 else math.nan
    curved = right.slope - left.slope + 2 * root
    if not abs(curved) > 0:  # it falls straight, or bends away
        return (low + high) / 2
    t = right.t - (right.t - left.t) * ((right.slope + root - bend) / curved)
    return min(max(t, low), high)
