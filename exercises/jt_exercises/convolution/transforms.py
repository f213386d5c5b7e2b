"""Transforms: how does Winograd's convolution turn numbers, so that fewer products are left?

    y = A.T @ ((G @ g) * (B.T @ d))        m outputs from m + 2 inputs d and 3 taps g, by m + 2 products

A convolution is a product of polynomials. It can be had by evaluating both at some points, multiplying there, and
finding the polynomial through the products. `transform(m)` makes the three matrices from the points 0, 1, -1, 2, -2,
1/2, -1/2, ... and infinity. The more points, the larger their powers, and the more digits are lost.

Source: Winograd 1980, "Arithmetic complexity of computations"; Lavin and Gray 2016 (arXiv:1509.09308).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

POINTS = [Fraction(p) for p in ("0", "1", "-1", "2", "-2", "1/2", "-1/2")]
TAPS = 3


@dataclass(frozen=True)
class Transform:
    """The three matrices of F(m, 3), in float64; `outputs` is m."""

    outputs: int
    AT: np.ndarray  # (m, m + 2)
    G: np.ndarray  # (m + 2, 3)
    BT: np.ndarray  # (m + 2, m + 2)


def transform(outputs: int) -> Transform:
    """The transform F(outputs, 3), for 2, 4 or 6 outputs at once.

    Example:
        >>> t = transform(2)
        >>> d, g = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.0, -1.0])
        >>> t.AT @ ((t.G @ g) * (t.BT @ d))
        array([-2., -2.])
    """
    points = POINTS[: outputs + TAPS - 2]
    size = len(points) + 1
    rows = [_powers(p, outputs) for p in points]
    taps = [[v / _others(points, k) for v in _powers(p, TAPS)] for k, p in enumerate(points)]
    inputs = [_polynomial([p for q, p in enumerate(points) if q != k], size) for k in range(len(points))]
    last = [Fraction(int(k == outputs - 1)) for k in range(outputs)]
    AT = np.array([*rows, last], dtype=float).T
    G = np.array([*taps, [Fraction(int(k == TAPS - 1)) for k in range(TAPS)]], dtype=float)
    BT = np.array([*inputs, _polynomial(points, size)], dtype=float)
    return Transform(outputs, AT, G, BT)


def _powers(point: Fraction, count: int) -> list[Fraction]:
    return [point**k for k in range(count)]


def _others(points: list[Fraction], k: int) -> Fraction:
    """The product of the distances to all other points."""
    found = Fraction(1)
    for q, p in enumerate(points):
        found *= points[k] - p if q != k else 1
    return found


def _polynomial(roots: list[Fraction], size: int) -> list[Fraction]:
    """Coefficients of the polynomial with these roots, the constant first, as a row of `size` numbers."""
    found = [Fraction(1)]
    for root in roots:
        shifted, scaled = [Fraction(0), *found], [*(root * v for v in found), Fraction(0)]
        found = [a - b for a, b in zip(shifted, scaled, strict=True)]
    return found + [Fraction(0)] * (size - len(found))
