"""Orders: the product of two matrices, three times the same loops. All add to `c`, which holds zeros at first.

    ijk    k is innermost: a goes along a row, b down a column, c stands still
    ikj    j is innermost: b and c go along a row, a stands still
    jki    i is innermost: a and c go down a column, b stands still

Plain Python, which numba compiles, and which notebook 06 runs on matrices that write down who reads what.
"""

from __future__ import annotations

from typing import Any


def ijk(a: Any, b: Any, c: Any) -> None:
    """One number of c after the other: a row of a times a column of b."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def ikj(a: Any, b: Any, c: Any) -> None:
    """Row by row: a number of a times a row of b, added to a row of c."""
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def jki(a: Any, b: Any, c: Any) -> None:
    """Column by column."""
    for j in range(c.shape[1]):
        for k in range(a.shape[1]):
            for i in range(c.shape[0]):
                c[i, j] += a[i, k] * b[k, j]


ORDERS = {"k": ijk, "j": ikj, "i": jki}  # by the innermost loop
