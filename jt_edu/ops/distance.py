"""Distances of every row of one matrix from every row of another."""

from __future__ import annotations

from typing import Any

from jt_edu.dtypes import float64
from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ops.reduce import norm
from jt_edu.var import Var, as_var


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
            "cdist takes rows of one length, (..., n, k) and (..., m, k)", f"shapes {a.shape} and {b.shape}"
        )
    return norm(a.unsqueeze(-2) - b.unsqueeze(-3), _order("cdist", p), -1)


def _floats(name: str, value: Any) -> Var:
    x = as_var(value)
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} works on real numbers", f"dtype {x.dtype}", "x.real() and x.imag() as coordinates")
    return x if x.dtype.is_float else x.cast(float64)


def _order(name: str, p: Any) -> float:
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not p >= 0:
        raise ArgumentError(f"the order of {name} is a number from 0 to inf", repr(p), "2")
    return p
