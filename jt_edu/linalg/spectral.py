"""Spectral: what gradients of eigenvectors and of singular vectors have in common.

    A = V diag(w) V^H        dA = V (diag(dw) + skew(V^H dV) / 2 (w_j - w_i)) V^H

How vectors turn into each other is divided by the distance of their values. Where nobody asked for vectors, dV is 0,
and so is that part, also between equal values.
"""

from __future__ import annotations

from jt_edu.linalg.matrices import adjoint_of
from jt_edu.ops.create import eye
from jt_edu.variable.var import Var


def quotient(x: Var, y: Var) -> Var:
    """x / y, and 0 / 0 = 0: where nothing came in, nothing goes on.

    Example:
        >>> quotient(array([0.0, 0.0, 1.0]), array([0.0, 2.0, 2.0])).tolist()
        [0.0, 0.0, 0.5]
    """
    return x / y.where_not((x == 0) & (y == 0), 1)


def skew(x: Var) -> Var:
    """x - x^H without its diagonal, which would turn phases: what rotates vectors into each other.

    Example:
        >>> skew(array([[1.0, 2.0], [0.0, 1.0]])).tolist()
        [[0.0, 2.0], [-2.0, 0.0]]
    """
    return (x - adjoint_of(x)).where_not(eye(x.shape[-1], dtype="bool"), 0)
