"""Roots: where does each wave point?  w = exp(-2 pi i / n), and its powers, to the last digit.

                 pi/2
              2  |  1
           3  \  |  /  0         the circle in eight parts: of a sine and a cosine, only those of the first part are
         ------- + -------       computed; the others are the same numbers, exchanged and with other signs
           4  /  |  \  7
              5  |  6
"""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]


def roots(n: int, powers: Any) -> Numbers:
    """exp(-2 pi i k / n) for each k of an array of whole numbers, as complex128.

    Example:
        >>> roots(8, [0, 2, 4]).tolist()
        [(1+0j), -1j, (-1+0j)]
    """
    octant, rest = np.divmod(8 * (np.asarray(powers, np.int64) % n), n)
    angle = np.where(octant % 2, n - rest, rest) * (np.pi / 4 / n)
    cosine, sine = np.cos(angle), np.sin(angle)
    crossed = np.isin(octant, (1, 2, 5, 6))
    cosine, sine = np.where(crossed, sine, cosine), np.where(crossed, cosine, sine)
    found = np.empty(angle.shape, np.complex128)
    found.real, found.imag = np.where(np.isin(octant, (2, 3, 4, 5)), -cosine, cosine), np.where(octant < 4, -sine, sine)
    return found


def floats(waves: Numbers) -> Numbers:
    """Complex numbers as real parts and imaginary parts by turns."""
    return np.ascontiguousarray(waves).view(np.float64).ravel()
