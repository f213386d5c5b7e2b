"""Distances of every row of one matrix from every row of another."""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ops.arguments import number
from jt_edu.ops.dtype_rules import as_floats
from jt_edu.ops.reduce import norm, sum
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var


@castable
def cdist(x: Any, y: Any, p: float = 2.0) -> Var:
    """Distance of every row of x from every row of y.

        out[..., i, j] = (sum over k of |x[..., i, k] - y[..., j, k]|**p)**(1/p)

    Args:
        x, y: (..., n, k) and (..., m, k).
        p: the order of the distance, from 0 (how many coordinates differ) to inf (the largest difference).

    Example:
        >>> cdist(array([[0.0, 0.0]]), array([[3.0, 4.0], [0.0, 1.0]])).numpy()
        array([[5., 1.]], dtype=float32)
    """
    a, b = _floats("cdist", x), _floats("cdist", y)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            "cdist takes rows of the same length, (..., n, k) and (..., m, k)", f"shapes {a.shape} and {b.shape}"
        )
    order, apart = number("cdist", "p", p, 0), a.unsqueeze(-2) - b.unsqueeze(-3)
    return norm(apart, order, -1) if a.shape[-1] else sum(apart, -1)  # the same places have no largest difference


def _floats(name: str, value: Any) -> Var:
    x = as_var(value)
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} works on real numbers", f"dtype {x.dtype}", "x.real and x.imag as coordinates")
    return as_floats(x)
