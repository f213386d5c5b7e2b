"""Products of vectors and of whole arrays: which axes are multiplied, and which of them are summed.

    dot, vdot, vecdot, inner      sums of products          tensordot    sums over any axes
    outer, kron, cross            products without a sum    trilinear    a sum weighted by a tensor

Each is a contraction, or a broadcast product; none needs a gradient rule.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import contracted, promote
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.index_expr import counter
from jt_edu.ir.meta_ops import Reindex, reindex
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import axis_of, same_words, whole
from jt_edu.ops.contraction import contract
from jt_edu.ops.einsum import einsum
from jt_edu.ops.reduce import reduced
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import view
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["cross", "dot", "inner", "kron", "outer", "tensordot", "trilinear", "vdot", "vecdot"]


@method
@castable
def dot(x: Any, y: Any) -> Var:
    """Sum over the last axis of x and the second-last axis of y (or its only one); a number multiplies everything.

    For vectors it is the scalar product, for matrices `matmul`; of larger arrays it pairs every row with every column.

    Example:
        >>> dot(array([1, 2]), array([3, 4])).item()
        11
    """
    a, b = as_var(x), as_var(y)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, ([-1], [-2 if b.ndim > 1 else -1]))


@method
def inner(x: Any, y: Any) -> Var:
    """Sum over the last axes of both; a number multiplies everything.

    Example:
        >>> inner(array([[1, 2], [3, 4]]), array([10, 1])).numpy()
        array([12, 34])
    """
    a, b = as_var(x), as_var(y)
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, ([-1], [-1]))


@method
def vdot(x: Any, y: Any) -> Var:
    """Scalar product of all elements: sum of conj(x) * y.

    Example:
        >>> vdot(array([1j, 2]), array([1j, 1])).item()
        (3+0j)
    """
    a, b = as_var(x), as_var(y)
    if a.size != b.size:
        raise ShapeError("vdot needs as many elements on both sides", f"shapes {a.shape} and {b.shape}")
    return contract("vdot", a.conj().reshape(-1), "i", b.reshape(-1), "i", ())


@var_function(castable(name="linalg_vecdot"))
def vecdot(x: Any, y: Any, dim: int = -1) -> Var:
    """Scalar products along one axis: sum of conj(x) * y, after broadcasting.

    Args:
        dim: the axis (the last), counted in both arrays from the end if it is negative (`axis` is the same).

    Example:
        >>> vecdot(array([[1, 2], [3, 4]]), array([1, 1])).numpy()
        array([3, 7])
    """
    a, b = as_var(x), as_var(y)
    k, m = axis_of("vecdot", dim, a.ndim), axis_of("vecdot", dim, b.ndim)
    if a.shape[k] != b.shape[m]:
        raise ShapeError(f"vecdot needs vectors of the same length along axis {dim}", f"shapes {a.shape} and {b.shape}")
    dtype = contracted(promote(a.dtype, b.dtype))
    product = a.cast(dtype).conj() * b.cast(dtype)
    return reduced(product, "vecdot", "add", axis_of("vecdot", dim, product.ndim), False)


@method
@template
def outer(x: Any, y: Any) -> Var:
    """Every product of an element of x and one of y.

    Example:
        >>> outer(array([1, 2]), array([3, 4])).numpy()
        array([[3, 4],
               [6, 8]])
    """
    a, b = as_var(x), as_var(y)
    return a.reshape(-1, 1) * b.reshape(1, -1)


@castable
@same_words
def tensordot(x: Any, y: Any, axes: Any = 2) -> Var:
    """Sum of products over pairs of axes; the axes that are left of x come first, then those of y.

    Args:
        axes: a number n (2) for the last n axes of x and the first n of y, or two lists of axes that belong together
            (`dims` is the same).

    Example:
        >>> tensordot(ones((2, 3, 4)), ones((4, 3, 5)), ([1, 2], [1, 0])).shape
        (2, 5)
    """
    a, b = as_var(x), as_var(y)
    left, right = _paired(a, b, axes)
    pairs = list(zip(left, right, strict=True))
    if any(a.shape[k] != b.shape[m] for k, m in pairs):
        raise ShapeError(
            "tensordot sums over axes of equal length", f"shapes {a.shape} and {b.shape}, axes {left} and {right}"
        )
    first = tuple(range(a.ndim))
    second = tuple(left[right.index(m)] if m in right else a.ndim + m for m in range(b.ndim))
    out = tuple(k for k in first if k not in left) + tuple(c for c in second if c >= a.ndim)
    return contract("tensordot", a, first, b, second, out)


def _paired(a: Var, b: Var, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of both that are summed, as numbers from 0."""
    if not isinstance(axes, (tuple, list)):
        n = whole("tensordot", "axes", axes)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ArgumentError(
                f"tensordot of shapes {a.shape} and {b.shape} sums over 0 or more of their axes", f"{n}"
            )
        return tuple(range(a.ndim - n, a.ndim)), tuple(range(n))
    if len(axes) != 2:
        raise ArgumentError("tensordot takes a number of axes, or two lists of them", short(axes), "([0], [1])")
    lists = [tuple(side) if isinstance(side, (tuple, list)) else (side,) for side in axes]
    left = tuple(axis_of("tensordot", k, a.ndim) for k in lists[0])
    right = tuple(axis_of("tensordot", k, b.ndim) for k in lists[1])
    if len(left) != len(right) or len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ArgumentError("tensordot pairs as many axes of x as of y, each once", short(axes))
    return left, right


@method
def kron(x: Any, y: Any) -> Var:
    """Kronecker product: every element of x times the whole of y.

        out[i * len(y) + k, ...] = x[i, ...] * y[k, ...]

    Example:
        >>> kron(array([1, 10]), array([1, 2])).numpy()
        array([ 1,  2, 10, 20])
    """
    a, b = as_var(x), as_var(y)
    rank = max(a.ndim, b.ndim)
    p, q = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    one = a.reshape(tuple(n for length in p for n in (length, 1)))
    other = b.reshape(tuple(n for length in q for n in (1, length)))
    return (one * other).reshape(tuple(n * m for n, m in zip(p, q, strict=True)))


@var_function()
def cross(x: Any, y: Any, dim: int = -1) -> Var:
    """Vector product of vectors of length 3: perpendicular to both, as long as the area between them.

        out[k] = x[k + 1] * y[k + 2] - x[k + 2] * y[k + 1],   counting k in a circle of three

    Args:
        dim: the axis of length 3 (the last; `axis` is the same).

    Example:
        >>> cross(array([1, 0, 0]), array([0, 1, 0])).numpy()
        array([0, 0, 1])
    """
    a, b = as_var(x), as_var(y)
    k, m = axis_of("cross", dim, a.ndim), axis_of("cross", dim, b.ndim)
    if a.shape[k] != 3 or b.shape[m] != 3:
        raise ShapeError(f"cross takes vectors of length 3 along axis {dim}", f"shapes {a.shape} and {b.shape}")
    one, two = (view(a, _turned(a.shape, k, by)) for by in (1, 2))
    return one * view(b, _turned(b.shape, m, 2)) - two * view(b, _turned(b.shape, m, 1))


@lru_cache(maxsize=1 << 10)
def _turned(shape: Shape, axis: int, by: int) -> Reindex:
    """Element k + by of a circle of three, instead of element k."""
    where = tuple((counter(k) + by) % 3 if k == axis else counter(k) for k in range(len(shape)))
    return reindex("turn", shape, shape, where)


def trilinear(x: Any, y: Any, z: Any, weight: Any, bias: Any = None) -> Var:
    """out[..., o] = sum over i, j, k of x[..., i] * y[..., j] * z[..., k] * weight[o, i, j, k] + bias[o].

    Example:
        >>> trilinear(ones((5, 2)), ones((5, 3)), ones((5, 1)), ones((4, 2, 3, 1))).numpy()[0]
        array([6., 6., 6., 6.], dtype=float32)
    """
    parts, w = [as_var(v) for v in (x, y, z)], as_var(weight)
    lengths = tuple(p.shape[-1] for p in parts if p.ndim)
    if w.ndim != 4 or w.shape[1:] != lengths:
        raise ShapeError(
            "trilinear needs one weight for each choice of an element of each input",
            f"inputs of shapes {', '.join(str(p.shape) for p in parts)}, weight of shape {w.shape}",
            f"weight of shape {('o', *lengths)}",
        )
    if bias is not None and as_var(bias).shape != w.shape[:1]:
        raise ShapeError(f"trilinear adds one number to each of {w.shape[0]} outputs", f"bias {as_var(bias).shape}")
    out = einsum("...i,...j,...k,oijk->...o", *parts, w)
    return out if bias is None else out + as_var(bias)
