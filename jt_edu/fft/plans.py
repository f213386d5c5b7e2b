"""Plans: in which steps is a transform of n numbers done?

    n = 8 * 8 * 4 * 4      factors up to 13: stages, each of which does one factor for all numbers
    n = 32 * 32            a long one: columns, then twiddles, then rows; columns and rows in stages
    n = 1009               a large prime factor: a convolution with a chirp (Bluestein), which is three transforms of a
                           length that has small factors only

A plan depends on nothing but lengths, is made once, and tells what it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.fft.roots import Numbers, roots
from jt_edu.ops.arguments import whole

ODD = (13, 11, 7, 5, 3)  # with 2, 4 and 8, what kernels know; see backends/convolve/complex_lanes.py
SHORT, LONG = 256, 2048  # a row below fits into the nearest cache, 16 of them up to here into the next one
Edge = tuple[int, int, complex]


@dataclass(frozen=True)
class Plan:
    """How a transform of n numbers is done.

    Attributes:
        n: how many numbers.
        columns: the radices of the stages of the columns, if the numbers are seen as a matrix.
        rows: those of its rows; of all numbers, if there are no columns.
        padded: the plan of the transforms that a convolution is made of, if it is one.

    Example:
        >>> plan(1000)
        1000 = 25 x 40: columns in stages of 5, 5; twiddles; rows in stages of 8, 5
        >>> plan(1009)
        1009: a convolution with a chirp, by 2048 = 32 x 64: columns in stages of 8, 4; twiddles; rows in stages of 8, 8
    """

    n: int
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    padded: Plan | None

    def __repr__(self) -> str:
        if self.padded is not None:
            return f"{self.n}: a convolution with a chirp, by {self.padded}"
        columns, rows = (", ".join(map(str, radices)) for radices in (self.columns, self.rows))
        if self.columns:
            shape = f"{math.prod(self.columns)} x {math.prod(self.rows)}"
            return f"{self.n} = {shape}: columns in stages of {columns}; twiddles; rows in stages of {rows}"
        return f"{self.n}: stages of {rows}" if rows else f"{self.n}: nothing to do"

    @property
    def products(self) -> int:
        """How many products of complex numbers the textbook counts: r for each number, in a stage of radix r.

        Example:
            >>> plan(8).products, plan(8, radices=(2, 2, 2)).products
            (64, 48)
        """
        if self.padded is not None:
            return 2 * self.padded.products + self.padded.n + 2 * self.n
        return self.n * (sum(self.columns) + sum(self.rows) + bool(self.columns))

    def butterflies(self) -> list[list[Edge]]:
        """For each stage, which numbers go where: (i, j, w) says that number j afterwards has w * (number i before).

        A stage of radix r has groups of r numbers in which each goes to each; r = 2 gives the wings of butterflies. The
        last stage leaves the waves in order.

        Raises:
            ArgumentError: the plan is a convolution.

        Example:
            >>> first, *others = plan(4, radices=(2, 2)).butterflies()
            >>> [(i, j, complex(w.real, w.imag)) for i, j, w in first if i == 3]
            [(3, 2, (1+0j)), (3, 3, 1j)]
        """
        if self.padded is not None:
            raise ArgumentError("a convolution has no butterflies", f"{self.n}", "plan(n).padded.butterflies()")
        stages, s, m = [], 1, self.n
        for r in (*self.columns, *self.rows):
            m //= r
            weights = _weights(r, m)
            stages.append(
                [
                    (q + s * (p + m * k), q + s * (r * p + j), complex(weights[j, k, p]))
                    for p in range(m) for q in range(s) for k in range(r) for j in range(r)
                ]
            )  # fmt: skip
            s *= r
        return stages

    def apply(self, x: Numbers) -> Numbers:
        """The transform of n numbers in NumPy, stage by stage: what the kernel does in registers, in five lines.

        Example:
            >>> plan(4).apply(np.array([1, 0, 0, 0])).real
            array([1., 1., 1., 1.])
        """
        s, m = 1, self.n
        for r in (*self.columns, *self.rows):
            m //= r
            x = np.einsum("jkp,kpq->pjq", _weights(r, m), np.reshape(x, (r, m, s)))
            s *= r
        return np.reshape(x, self.n) * (1 + 0j)


def _weights(r: int, m: int) -> Numbers:
    """w[j, k, p]: what number k of a group gives to number j of it, with the twiddle that follows."""
    j, k, p = np.ogrid[:r, :r, :m]
    return roots(r, j * k) * roots(r * m, j * p)


def plan(n: Any, batch: Any = 1, radices: tuple[int, ...] | None = None) -> Plan:
    """The steps in which a transform of n numbers is done, in words when it is printed.

    Args:
        n: how many numbers.
        batch: how many transforms at once; where there are 16 and more, a row is split later.
        radices: the factors of n for stages of your own, such as (2, 2, 2); they are for looking at.

    Raises:
        ArgumentError: n is no whole number from 1 on, or not the product of the radices.

    Example:
        >>> plan(12), plan(1024, batch=16)
        (12: stages of 4, 3, 1024: stages of 8, 8, 4, 4)
    """
    n, batch = whole("plan", "n", n, 1), whole("plan", "batch", batch, 1)
    if radices is None:
        return steps(n, n > (LONG if batch >= 16 else SHORT))
    if math.prod(radices) != n or any(not isinstance(r, int) or r < 1 for r in radices):
        raise ArgumentError(f"the product of the radices is n, {n}", f"radices={radices}", str(_radices(n) or (n,)))
    return Plan(n, (), tuple(radices), None)


@lru_cache(maxsize=1 << 10)
def steps(n: int, split: bool) -> Plan:
    """The plan of n numbers, as a matrix if they are to be split; of a prime, its convolution.

    Example:
        >>> steps(36, split=True)
        36 = 6 x 6: columns in stages of 2, 3; twiddles; rows in stages of 2, 3
    """
    radices = _radices(n)
    if radices is None:
        padded = 2 * n + -2 * n % 16  # at least 2 n - 1
        while _radices(padded) is None:
            padded += 16
        return Plan(n, (), (), steps(padded, padded > SHORT))
    high = next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0) if split else 1
    return Plan(n, _radices(high) or (), _radices(n // high) or (), None)


def _radices(n: int) -> tuple[int, ...] | None:
    """Factors that kernels know, eights before fours; None if there are others."""
    found, twos = [], (n & -n).bit_length() - 1
    n >>= twos
    while twos:
        found.append(1 << (2 if twos in (2, 4) else min(3, twos)))
        twos -= found[-1].bit_length() - 1
    for r in ODD[::-1]:
        while n % r == 0:
            found, n = [*found, r], n // r
    return tuple(found) if n == 1 else None
