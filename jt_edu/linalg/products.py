"""Products and parts of matrices, under the names of `torch.linalg` and the array API standard.

Most are operators that are there already; here they take the last two axes for matrices, and powers may be negative.
"""

from __future__ import annotations

from typing import Any

from jt_edu.linalg.solve import inv
from jt_edu.ops import diagonal as _diagonal
from jt_edu.ops import matmul as _matmul
from jt_edu.ops.arguments import same_words, whole
from jt_edu.ops.create import index
from jt_edu.variable.var import Var, as_var

__all__ = ["diagonal", "matrix_power", "trace", "vander"]


@same_words
def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Var:
    """The diagonals of a batch of matrices.

    Args:
        A: (..., m, n).
        offset: so many places to the right of the main one.
        dim1: the axis of rows.
        dim2: the axis of columns.

    Example:
        >>> diagonal(ones((5, 2, 3))).shape
        (5, 2)
    """
    return _diagonal.diagonal(A, offset, dim1, dim2)


def trace(A: Any, *, offset: int = 0, dtype: Any = None) -> Var:
    """The sum of the diagonal, of each matrix of a batch.

    Args:
        A: (..., m, n).
        offset: so many places to the right of the main one.
        dtype: in which it is added up; by default that of A.

    Example:
        >>> trace(ones((5, 2, 2))).shape
        (5,)
    """
    v = as_var(A)
    return _diagonal.trace(v if dtype is None else v.cast(dtype), offset, -2, -1)


def matrix_power(A: Any, n: int) -> Var:
    """A A ... A, n times, by repeated squaring; of a negative n the inverse is raised, and 0 gives the identity.

    Args:
        A: (..., m, m).
        n: a whole number.

    Raises:
        LinAlgError: n is negative, and one of the matrices has no inverse.

    Example:
        >>> matrix_power(array([[2.0, 0.0], [0.0, 4.0]]), -2).tolist()
        [[0.25, 0.0], [0.0, 0.0625]]
    """
    times = whole("matrix_power", "n", n)
    return _matmul.matrix_power(inv(A) if times < 0 else A, abs(times))


def vander(x: Any, N: int | None = None) -> Var:
    """Powers of each number: 1, x, x**2, ..., x**(N-1), along a new last axis. `jt.vander` begins with the largest.

    Args:
        x: (..., n), or a number.
        N: how many powers; by default n.

    Example:
        >>> vander(array([2, 3]), 3).tolist()
        [[1, 2, 4], [1, 3, 9]]
    """
    v = as_var(x)
    v = v if v.ndim else v.reshape(1)
    columns = v.shape[-1] if N is None else whole("vander", "N", N, 0)
    return v[..., None] ** index((*v.shape, columns), v.ndim).cast(v.dtype)
