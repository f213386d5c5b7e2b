"""Points: what are Winograd's transforms, in one direction?

Sliding three taps g over an image d is a product of two polynomials, seen from the other end. To find a product of
polynomials it is enough to know its values at some points, and those are products of the factors' values there. m sums
need m + 2 points: small numbers, and infinity, which stands for the leading coefficient.

    m = 2     0, 1, -1, infinity               2 sums of 3 products:  4 multiplications, not 6
    m = 4     0, 1, -1, 2, -2, infinity        4 sums of 3 products:  6 multiplications, not 12

    sums = A^T [(G g) * (B^T d)]        in one direction
    sums = A^T [(G g G^T) * (B^T d B)] A      in two: every column first, then every row

For m = 4:

          4  0 -5  0  1  0           1/4     0     0
          0 -4 -4  1  1  0          -1/6  -1/6  -1/6          1  1  1  1  1  0
    B^T = 0  4 -4 -1  1  0      G = -1/6   1/6  -1/6    A^T = 0  1 -1  2 -2  0
          0 -2 -1  2  1  0          1/24  1/12   1/6          0  1  1  4  4  0
          0  2 -1 -2  1  0          1/24 -1/12   1/6          0  1 -1  8 -8  1
          0  4  0 -5  0  1             0     0     1

Points p and -p differ in the sign of the odd coefficients, so both come from one even and one odd part.

Each function reads vectors of `space` from `start` on, `step` apart, and writes vectors from `goal` on, `goal_step`
apart: each lane of a vector is a line of its own.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks", section 4 (arXiv:1509.09308).
"""

from __future__ import annotations

from jt_edu.backends.convolve.llvm import Array, inlined
from jt_edu.backends.convolve.vector import load, store

__all__ = [
    "image_at_four", "image_at_six", "places_at_six", "sums_from_four", "sums_from_six", "taps_at_four", "taps_at_six",
    "taps_from_six",
]  # fmt: skip


@inlined
def image_at_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """B^T d for m = 4."""
    x0, x1, x2 = load(space, start), load(space, start + step), load(space, start + 2 * step)
    x3, x4, x5 = load(space, start + 3 * step), load(space, start + 4 * step), load(space, start + 5 * step)
    even, odd = x4 - 4 * x2, x3 - 4 * x1  # at 1 and -1
    even2, odd2 = x4 - x2, 2 * (x3 - x1)  # at 2 and -2
    store(space, goal, 4 * x0 - 5 * x2 + x4)
    store(space, goal + goal_step, even + odd)
    store(space, goal + 2 * goal_step, even - odd)
    store(space, goal + 3 * goal_step, even2 + odd2)
    store(space, goal + 4 * goal_step, even2 - odd2)
    store(space, goal + 5 * goal_step, 4 * x1 - 5 * x3 + x5)


@inlined
def taps_at_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """G g for m = 4."""
    x0, x1, x2 = load(space, start), load(space, start + step), load(space, start + 2 * step)
    even, odd = (x0 + x2) * (-1 / 6), x1 * (1 / 6)
    even2, odd2 = x0 * (1 / 24) + x2 * (1 / 6), x1 * (1 / 12)
    store(space, goal, x0 * (1 / 4))
    store(space, goal + goal_step, even - odd)
    store(space, goal + 2 * goal_step, even + odd)
    store(space, goal + 3 * goal_step, even2 + odd2)
    store(space, goal + 4 * goal_step, even2 - odd2)
    store(space, goal + 5 * goal_step, x2)


@inlined
def sums_from_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """A^T x for m = 4."""
    x0, x1, x2 = load(space, start), load(space, start + step), load(space, start + 2 * step)
    x3, x4, x5 = load(space, start + 3 * step), load(space, start + 4 * step), load(space, start + 5 * step)
    even, odd, even2, odd2 = x1 + x2, x1 - x2, x3 + x4, x3 - x4
    store(space, goal, x0 + even + even2)
    store(space, goal + goal_step, odd + 2 * odd2)
    store(space, goal + 2 * goal_step, even + 4 * even2)
    store(space, goal + 3 * goal_step, odd + 8 * odd2 + x5)


@inlined
def places_at_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """G g for four taps and three sums: by the weights, four places slide over the image, and the taps are the sums."""
    x0, x1 = load(space, start), load(space, start + step)
    x2, x3 = load(space, start + 2 * step), load(space, start + 3 * step)
    even, odd = (x0 + x2) * (-1 / 6), (x1 + x3) * (1 / 6)
    even2, odd2 = x0 * (1 / 24) + x2 * (1 / 6), x1 * (1 / 12) + x3 * (1 / 3)
    store(space, goal, x0 * (1 / 4))
    store(space, goal + goal_step, even - odd)
    store(space, goal + 2 * goal_step, even + odd)
    store(space, goal + 3 * goal_step, even2 + odd2)
    store(space, goal + 4 * goal_step, even2 - odd2)
    store(space, goal + 5 * goal_step, x3)


@inlined
def taps_from_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """A^T x for four taps and three sums."""
    x0, x1, x2 = load(space, start), load(space, start + step), load(space, start + 2 * step)
    x3, x4, x5 = load(space, start + 3 * step), load(space, start + 4 * step), load(space, start + 5 * step)
    even, odd, even2, odd2 = x1 + x2, x1 - x2, x3 + x4, x3 - x4
    store(space, goal, x0 + even + even2)
    store(space, goal + goal_step, odd + 2 * odd2)
    store(space, goal + 2 * goal_step, even + 4 * even2 + x5)


@inlined
def image_at_four(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """B^T d for m = 2."""
    x0, x1 = load(space, start), load(space, start + step)
    x2, x3 = load(space, start + 2 * step), load(space, start + 3 * step)
    store(space, goal, x0 - x2)
    store(space, goal + goal_step, x1 + x2)
    store(space, goal + 2 * goal_step, x2 - x1)
    store(space, goal + 3 * goal_step, x1 - x3)


@inlined
def taps_at_four(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """G g for m = 2."""
    x0, x1, x2 = load(space, start), load(space, start + step), load(space, start + 2 * step)
    even, odd = 0.5 * (x0 + x2), 0.5 * x1
    store(space, goal, x0)
    store(space, goal + goal_step, even + odd)
    store(space, goal + 2 * goal_step, even - odd)
    store(space, goal + 3 * goal_step, x2)


@inlined
def sums_from_four(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """A^T x for m = 2."""
    x0, x1 = load(space, start), load(space, start + step)
    x2, x3 = load(space, start + 2 * step), load(space, start + 3 * step)
    store(space, goal, x0 + x1 + x2)
    store(space, goal + goal_step, x1 - x2 - x3)
