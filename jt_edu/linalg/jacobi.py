"""Jacobi's method in pictures: which rotations make a symmetric matrix diagonal, one number after the other?

    [a . b]                         [c . -s]
    [. . .]  ->  R^T A R,   R =     [. 1  .]      the angle is the one that makes b zero
    [b . d]                         [s .  c]

It is NumPy for small matrices, to look at each step; `eigh` has another way, which asks for less work.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.errors import LinAlgError, ShapeError

__all__ = ["jacobi_rotations"]
MOST = 16  # rows that can be looked at


class JacobiStep(NamedTuple):
    """A rotation of the axes p and q by an angle in radians, and the matrix after it."""

    p: int
    q: int
    angle: float
    matrix: np.ndarray[Any, Any]


def jacobi_rotations(A: Any) -> list[JacobiStep]:
    """The rotations of Jacobi's cyclic method, until nothing is left beside the diagonal.

        R^T A R with R[p, p] = R[q, q] = cos(angle), R[q, p] = sin(angle) = -R[p, q], so that its number (p, q) is 0

    Args:
        A: (n, n), symmetric, with n at most 16.

    Returns:
        The steps (p, q, angle, matrix after it). The diagonal of the last matrix has the eigenvalues, in no order.

    Raises:
        ShapeError: no square matrix, or one too large to look at.
        LinAlgError: a matrix that is not symmetric, not real, or not finite.

    Example:
        >>> (step,) = jacobi_rotations([[2.0, 1.0], [1.0, 2.0]])
        >>> step.p, step.q, round(math.degrees(step.angle)), step.matrix.round(3).tolist()
        (0, 1, 45, [[3.0, 0.0], [0.0, 1.0]])

    Source: Jacobi 1846; Golub and Van Loan, "Matrix Computations", 4th edition, 8.5.
    """
    a, steps, before = _symmetric(A), list[JacobiStep](), -1
    small = len(a) * np.finfo(np.float64).eps * np.abs(a).max(initial=0.0)
    while len(steps) > before:  # a round through all pairs that turns something
        before = len(steps)
        for p in range(len(a)):
            for q in range(p + 1, len(a)):
                if abs(a[p, q]) > small:
                    angle = math.atan2(2 * a[p, q], a[p, p] - a[q, q]) / 2
                    angle -= math.copysign(math.pi / 2, angle) * (abs(angle) > math.pi / 4)  # the smaller turn
                    a = _turned(a, p, q, angle)
                    steps.append(JacobiStep(p, q, angle, a))
    return steps


def _symmetric(A: Any) -> np.ndarray[Any, Any]:
    if np.iscomplexobj(given := np.asarray(A)):
        raise LinAlgError("jacobi_rotations takes real numbers", f"dtype {given.dtype}", "jt.linalg.eigh")
    a = np.array(given, np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or len(a) > MOST:
        raise ShapeError(f"jacobi_rotations takes a square matrix of at most {MOST} rows", f"shape {a.shape}")
    if not np.isfinite(a).all() or not np.allclose(a, a.T, atol=1e-8 * np.abs(a).max(initial=0)):
        raise LinAlgError("jacobi_rotations takes a symmetric matrix of finite numbers", "another one", "(A + A.T) / 2")
    return (a + a.T) / 2


def _turned(a: np.ndarray[Any, Any], p: int, q: int, angle: float) -> np.ndarray[Any, Any]:
    r = np.eye(len(a))
    r[p, p] = r[q, q] = math.cos(angle)
    r[q, p] = math.sin(angle)
    r[p, q] = -r[q, p]
    a = r.T @ a @ r
    a[p, q] = a[q, p] = 0
    return a
