"""Pseudo-inverse: the matrix that undoes A where that can be done, and gives 0 where A gives nothing.

    A = U diag(S) V^H    ->    A+ = V diag(1 / S) U^H, where S is above a tolerance, else 0

Its gradient asks for products only, so it is finite where singular values are equal.

Source: Golub and Pereyra 1973, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.dtypes import real_of
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.linalg.eigh import eigh, skew
from jt_edu.linalg.matrices import matrices
from jt_edu.linalg.svd import svd
from jt_edu.ops.arguments import one_of, yes_or_no
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.elementwise import maximum
from jt_edu.ops.matmul import matmul
from jt_edu.variable.var import Var, as_var

__all__ = ["pinv"]


def _of_pinv(out: Var, dout: Var, adjoint: Var, found: Var) -> Var:  # noqa: ARG001
    """The gradient of A^H, which has the shape of A+."""
    a, d = adjoint.mH, dout.mH
    k = matmul(d, out)
    outer = matmul(k, out.mH)
    inside = matmul(matmul(out.mH, out), d - matmul(k, a))
    return (outer - matmul(out, k).mH - matmul(a, matmul(out, outer)) + inside).mH


PINV = Elementwise("pinv", "{1}", gradients=(_of_pinv, None))
