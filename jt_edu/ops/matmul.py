"""Matrix products: broadcast, multiply, sum. No gradient rule, and no loop of our own: relay.py sees what they are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jt_edu import functions as f
from jt_edu.build import broadcast_shape
from jt_edu.dtypes import promote
from jt_edu.errors import ShapeError
from jt_edu.graph import Node, Shape
from jt_edu.index import as_index, counter
from jt_edu.meta import Reindex, ReindexReduce, reindex, reindex_reduce
from jt_edu.ops.reduce import reduced
from jt_edu.var import Var, as_var, method


@lru_cache(maxsize=1 << 12)
def _ops(left: Shape, right: Shape) -> tuple[Reindex, Reindex, ReindexReduce]:
    """Loops (batch..., i, k, j): left is read at (batch, i, k), right at (batch, k, j), and k is summed."""
    batch = broadcast_shape("matmul", left[:-2], right[:-2])
    n = len(batch)
    loops = (*batch, left[-2], left[-1], right[-1])
    i, k, j = counter(n), counter(n + 1), counter(n + 2)

    def stacked(shape: Shape) -> tuple[Any, ...]:
        shift = n - (len(shape) - 2)
        return tuple(counter(a + shift) if shape[a] == batch[a + shift] else as_index(0) for a in range(len(shape) - 2))

    a = reindex("broadcast", left, loops, (*stacked(left), i, k))
    b = reindex("broadcast", right, loops, (*stacked(right), k, j))
    out = reindex_reduce("matmul", "add", loops, (*batch, left[-2], right[-1]), (*(counter(c) for c in range(n)), i, j))
    return a, b, out


@method
def matmul(x: Any, y: Any) -> Var:
    """Matrix product: out[..., i, j] = sum over k of x[..., i, k] * y[..., k, j]; NumPy's rules for stacks and vectors.

    Raises:
        ShapeError: the last axis of x and the last but one of y differ.

    Example:
        >>> matmul(array([[1.0, 2.0]]), array([[3.0], [4.0]])).numpy()
        array([[11.]], dtype=float32)
    """
    left, right = as_var(x), as_var(y)
    if left.ndim == 0 or right.ndim == 0:
        raise ShapeError("matmul needs vectors or matrices", f"shapes {left.shape} and {right.shape}", "x * y")
    row, column = left.ndim == 1, right.ndim == 1
    a = left.reshape(1, -1) if row else left
    b = right.reshape(-1, 1) if column else right
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            "matmul sums over the last axis of x and the last but one of y, which must be equal",
            f"shapes {left.shape} and {right.shape}: {a.shape[-1]} and {b.shape[-2]}", "transpose one of them",
        )  # fmt: skip
    dtype = promote(a.dtype, b.dtype)
    if row and column:
        return reduced(left.cast(dtype) * right.cast(dtype), "matmul", "add", None, False)
    at_a, at_b, total = _ops(a.shape, b.shape)
    wide_a = Node(at_a, (a.cast(dtype).node,), at_a.shape, dtype)
    wide_b = Node(at_b, (b.cast(dtype).node,), at_b.shape, dtype)
    product = Node(f.MULTIPLY, (wide_a, wide_b), at_a.shape, dtype)
    out = Var._of(Node(total, (product,), total.shape, dtype))
    return out.reshape(*out.shape[:-2], out.shape[-1]) if row else out.reshape(out.shape[:-1]) if column else out


method(matmul, "dot")
method(matmul, "__matmul__")
method(lambda x, y: matmul(y, x), "__rmatmul__")


def bmm(x: Any, y: Any) -> Var:
    """Matrix products of two stacks of equal length: (b, i, k) and (b, k, j) give (b, i, j).

    Example:
        >>> bmm(ones((2, 1, 3)), ones((2, 3, 1))).shape
        (2, 1, 1)
    """
    a, b = as_var(x), as_var(y)
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0]:
        raise ShapeError("bmm takes two stacks of matrices of equal length", f"shapes {a.shape} and {b.shape}")
    return matmul(a, b)


def outer(x: Any, y: Any) -> Var:
    """Every product of an element of x and one of y.

    Example:
        >>> outer(array([1, 2]), array([3, 4])).numpy()
        array([[3, 4],
               [6, 8]])
    """
    a, b = as_var(x), as_var(y)
    return a.reshape(-1, 1) * b.reshape(1, -1)
