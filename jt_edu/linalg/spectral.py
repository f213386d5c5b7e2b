"""Spectral: what functions of eigenvalues and singular values have in common: a tolerance, and parts of gradients.

    A = V diag(w) V^H        dA = V (diag(dw) + skew(V^H dV) / 2 (w_j - w_i)) V^H

How vectors turn into each other is divided by the distance of their values. Where nobody asked for vectors, dV is 0,
and so is that part, also between equal values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.linalg.matrices import adjoint_of
from jt_edu.ops.compare import maximum
from jt_edu.ops.create import eye
from jt_edu.variable.var import Var, as_var


def tolerance(A: Var, size: Var, atol: Any, rtol: Any) -> Var:
    """Up to where the singular values `size` of A count as 0, (..., 1): the larger of atol and rtol * (the largest).

    Where `atol` is not above 0, `rtol` is by default max(m, n) * eps, and 0 elsewhere.

    Example:
        >>> tolerance(ones((2, 2)), array([2.0, 0.0]), None, 0.25).tolist()
        [0.5]
    """
    least = as_var(0.0 if atol is None else atol)
    eps = max(*A.shape[-2:], 1) * float(np.finfo(size.dtype.storage).eps)
    part = as_var(rtol) if rtol is not None else as_var(eps).where_not(least > 0, 0)
    largest = size.max(-1) if size.shape[-1] else size.sum(-1)
    return maximum(least, part * largest)[..., None]


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
