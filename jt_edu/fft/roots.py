r"""Roots of unity: w = exp(-2 pi i / n), and its powers, to the last digit.

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
    rest = np.where(octant % 2, n - rest, rest)
    cosine, sine = (np.where(rest == n, 0.5**0.5, f(rest * (np.pi / 4) / n)) for f in (np.cos, np.sin))
    crossed = np.isin(octant, (1, 2, 5, 6))
    cosine, sine = np.where(crossed, sine, cosine), np.where(crossed, cosine, sine)
    found = np.empty(octant.shape, np.complex128)
    found.real = np.where(np.isin(octant, (2, 3, 4, 5)), -cosine, cosine) + 0.0  # nor is a zero negative
    found.imag = np.where(octant < 4, -sine, sine) + 0.0
    return found


def floats(z: Numbers) -> Numbers:
    """Complex numbers as real parts and imaginary parts by turns."""
    return np.ascontiguousarray(z).view(np.float64).ravel()
