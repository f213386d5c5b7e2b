"""Winograd transforms: how does a patch become sums that are multiplied, in one direction?

Sliding three taps g over an image d is a product of two polynomials, seen from the other end. To find a product of
polynomials it is enough to know its values at some points, and those are products of the factors' values there. m sums
need m + 2 points: small numbers, and infinity, which stands for the leading coefficient.

    m = 2     0, 1, -1, infinity               2 sums of 3 products:  4 multiplications, not 6
    m = 4     0, p, -p, q, -q, infinity        4 sums of 3 products:  6 multiplications, not 12;  p = 2/3, q = 3/2

    sums = A^T [(G g) * (B^T d)]        in one direction
    sums = A^T [(G g G^T) * (B^T d B)] A      in two: every column first, then every row

For m = 4, with s = p^2 + q^2, d = q^2 - p^2, and p q = 1:

          1  0   -s  0  1  0          1       0       0
          0 -q -q^2  p  1  0         -u    -p u  -p^2 u   u = 1 / (2 p^2 d)        1    1    1    1    1  0
    B^T = 0  q -q^2 -p  1  0     G = -u     p u  -p^2 u                     A^T =  0    p   -p    q   -q  0
          0 -p -p^2  q  1  0          v     q v   q^2 v   v = 1 / (2 q^2 d)        0  p^2  p^2  q^2  q^2  0
          0  p -p^2 -q  1  0          v    -q v   q^2 v                            0  p^3 -p^3  q^3 -q^3  1
          0  1    0 -s  0  1          0       0       1

Points p and -p differ in the sign of the odd coefficients, so both come from one even and one odd part. Points 1 and 2
would have rounder numbers, and five times the largest error: how much is lost depends on how far the numbers of the
three matrices are from 1, and these are nearer (winograd.py has the errors).

Each function reads vectors of `space` from `start` on, `step` apart, and writes vectors from `goal` on, `goal_step`
apart: each lane of a vector is a line of its own.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks", section 4 (arXiv:1509.09308); why
points matter: Barabasz, Anderson, Soodhalter and Gregg 2018 (arXiv:1803.10986).
"""

from __future__ import annotations

from jt_edu.backends.convolve.llvm import Array, inlined
from jt_edu.backends.convolve.simd import load, store

P, Q = 2 / 3, 3 / 2  # the points, besides 0 and infinity
P2, Q2 = P * P, Q * Q
U, V = 1 / (2 * P2 * (Q2 - P2)), 1 / (2 * Q2 * (Q2 - P2))


@inlined
def image_at_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """B^T d for m = 4."""
    x0, x1, x2 = load(space, start), load(space, start + step), load(space, start + 2 * step)
    x3, x4, x5 = load(space, start + 3 * step), load(space, start + 4 * step), load(space, start + 5 * step)
    even, odd = x4 - Q2 * x2, P * x3 - Q * x1  # at p and -p
    even2, odd2 = x4 - P2 * x2, Q * x3 - P * x1  # at q and -q
    store(space, goal, x0 - (P2 + Q2) * x2 + x4)
    store(space, goal + goal_step, even + odd)
    store(space, goal + 2 * goal_step, even - odd)
    store(space, goal + 3 * goal_step, even2 + odd2)
    store(space, goal + 4 * goal_step, even2 - odd2)
    store(space, goal + 5 * goal_step, x1 - (P2 + Q2) * x3 + x5)


@inlined
def taps_at_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """G g for m = 4."""
    x0, x1, x2 = load(space, start), load(space, start + step), load(space, start + 2 * step)
    even, odd = x0 * -U - x2 * (P2 * U), x1 * (P * U)
    even2, odd2 = x0 * V + x2 * (Q2 * V), x1 * (Q * V)
    store(space, goal, x0)
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
    store(space, goal + goal_step, P * odd + Q * odd2)
    store(space, goal + 2 * goal_step, P2 * even + Q2 * even2)
    store(space, goal + 3 * goal_step, (P2 * P) * odd + (Q2 * Q) * odd2 + x5)


@inlined
def places_at_six(space: Array, start: int, step: int, goal: int, goal_step: int) -> None:
    """G g for four taps and three sums: by the weights, four places slide over the image, and the taps are the sums."""
    x0, x1 = load(space, start), load(space, start + step)
    x2, x3 = load(space, start + 2 * step), load(space, start + 3 * step)
    even, odd = x0 * -U - x2 * (P2 * U), x1 * (P * U) + x3 * (P2 * P * U)
    even2, odd2 = x0 * V + x2 * (Q2 * V), x1 * (Q * V) + x3 * (Q2 * Q * V)
    store(space, goal, x0)
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
    store(space, goal + goal_step, P * odd + Q * odd2)
    store(space, goal + 2 * goal_step, P2 * even + Q2 * even2 + x5)


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
