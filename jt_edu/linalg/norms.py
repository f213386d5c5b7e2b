"""Norms of matrices: how far a matrix stretches, and what follows from that.

norm            of vectors or of matrices, as the arguments say
vector_norm     (sum |x|**p)**(1/p), of all numbers or along axes
matrix_norm     of the last two axes: of all numbers ("fro"), of rows or columns (inf, 1), of singular values (2, "nuc")
cond            how much larger an error of B can be in the X of A X = B
matrix_rank     how many singular values are not 0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.base.dtypes import real_of
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.linalg.matrices import adjoint_of, matrices
from jt_edu.linalg.solve import inv_ex
from jt_edu.linalg.spectral import tolerance
from jt_edu.linalg.svd import svdvals
from jt_edu.ops import reduce
from jt_edu.ops.arguments import choice, listed_axes, same_words, yes_or_no
from jt_edu.ops.create import zeros
from jt_edu.ops.diagonal import tril
from jt_edu.ops.dtype_rules import as_floats
from jt_edu.ops.transpose import moveaxis
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]

ORDERS = ("fro", "nuc", math.inf, -math.inf, 1.0, -1.0, 2.0, -2.0)


def _floats(x: Any, dtype: Any) -> Var:
    return as_floats(x) if dtype is None else as_var(x).cast(dtype)


@same_words
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Var:  # noqa: A002
    """(sum |x|**ord)**(1/ord): the length of vectors, or of all numbers as one vector.

    Args:
        x: any shape.
        ord: any number; inf is the largest magnitude, -inf the smallest, 0 the count of those that are not 0.
        dim: an axis or several; without it all.
        keepdim: leaves these axes there, with length 1.
        dtype: in which it is computed; by default that of x.

    Example:
        >>> vector_norm(array([[3.0, 4.0], [0.0, -2.0]]), dim=1).tolist()
        [5.0, 2.0]
    """
    if isinstance(ord, str):
        raise ArgumentError("vector_norm takes ord as a number", f"ord={ord!r}", "jt.linalg.matrix_norm")
    return reduce.norm(_floats(x, dtype), ord, dim, keepdim)


@same_words
def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None  # noqa: A002
) -> Var:  # fmt: skip
    """How large a matrix is, for each matrix of a batch.

        "fro"      the root of the sum of squares         "nuc"      the sum of the singular values
        1, -1      the largest, smallest column sum       2, -2      the largest, smallest singular value
        inf, -inf  the largest, smallest row sum          (sums of magnitudes; the largest of none is 0)

    Args:
        A: (..., m, n).
        ord: one of these.
        dim: the two axes of the matrices.
        keepdim: leaves these axes there, with length 1.
        dtype: in which it is computed; by default that of A.

    Example:
        >>> a = array([[1.0, -2.0], [3.0, 4.0]])
        >>> [matrix_norm(a, ord).item() for ord in (1, np.inf)]
        [6.0, 7.0]
    """
    a, axes = _floats(A, dtype), listed_axes("matrix_norm", dim, as_var(A).ndim)
    keep = yes_or_no("matrix_norm", "keepdim", keepdim)
    if len(axes) != 2:
        raise ArgumentError("matrix_norm takes the two axes of matrices", f"dim={dim!r}", "jt.linalg.vector_norm")
    order: Any = float(ord) if isinstance(ord, (int, np.number)) else ord
    empty = any(a.shape[k] == 0 for k in axes) and order in (1, 2, math.inf)
    if choice("matrix_norm", "ord", order, ORDERS) not in ("nuc", 2, -2) or empty:
        return reduce.norm(a, ord="fro" if empty else order, dim=axes, keepdim=keep)
    s = svdvals(moveaxis(a, axes, (-2, -1)))
    found = reduce.sum(s, -1) if order == "nuc" else reduce.max(s, -1) if order == 2 else reduce.min(s, -1)
    shape = [1 if k in axes else n for k, n in enumerate(a.shape)]
    return found.reshape(shape) if keep else found


@same_words
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Var:  # noqa: A002
    """A vector norm or a matrix norm: of one axis a vector's, of two with an `ord` a matrix's, else of all numbers.

    Args:
        A: any shape; with an `ord` and no `dim` a vector or a matrix.
        ord: as in `vector_norm` or `matrix_norm`; without it the root of the sum of squares.
        dim: an axis of vectors, or two of matrices.
        keepdim: leaves these axes there, with length 1.
        dtype: in which it is computed; by default that of A.

    Example:
        >>> norm(array([[3.0, 4.0]])).item(), norm(array([[3.0, 4.0]]), 1).item()
        (5.0, 4.0)
    """
    v = as_var(A)
    axes = tuple(range(v.ndim)) if dim is None else listed_axes("norm", dim, v.ndim, lone=True)
    if ord is None:
        return vector_norm(v, 2, dim, keepdim, dtype=dtype)
    if len(axes) not in (1, 2):
        raise ShapeError("norm with an ord is of one axis or of two", f"shape {v.shape}, dim={dim!r}", "dim=(-2, -1)")
    of = vector_norm if len(axes) == 1 else matrix_norm
    return of(v, ord, axes, keepdim, dtype=dtype)


@castable
def cond(A: Any, p: Any = None) -> Var:
    """The condition number: how many times larger an error of B can be in the X of A X = B.

        cond(A) = |A| * |A^-1|, with the norm p

    It is inf where a matrix is singular; of zeros alone, with p None, 2 or -2, it is 0 / 0, so nan, as in PyTorch.

    Args:
        A: (..., n, n); with p None, 2 or -2 also (..., m, n).
        p: a norm of `matrix_norm`; without it 2, the largest singular value divided by the smallest.

    Example:
        >>> cond(array([[10.0, 0.0], [0.0, 0.1]]), 1).item()
        100.0
    """
    spread = p is None or (not isinstance(p, str) and abs(p) == 2)
    a = matrices("cond", A, square=not spread)
    if 0 in a.shape[-2:]:
        return zeros(a.shape[:-2], dtype=real_of(a.dtype))
    if spread:
        s = svdvals(a)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    inverse, info = inv_ex(a)
    return (matrix_norm(a, p) * matrix_norm(inverse, p)).where_not(info != 0, math.inf)


@castable
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Var:  # fmt: skip
    """How many rows of a matrix do not depend on each other: how many singular values are above a threshold.

        the larger one of atol and rtol * (the largest singular value)

    Args:
        A: (..., m, n).
        tol: another name of `atol`, as in NumPy.
        hermitian: each A is its own adjoint, and only its lower half is read.
        atol: by default 0; a number, or one for each matrix.
        rtol: by default max(m, n) * eps, and 0 where `atol` is above 0.

    Example:
        >>> matrix_rank(array([[1.0, 2.0], [2.0, 4.0]])).item()
        1
    """
    own = yes_or_no("matrix_rank", "hermitian", hermitian)
    a = matrices("matrix_rank", A, square=own)
    s = svdvals(tril(a) + adjoint_of(tril(a, -1)) if own else a).detach()
    if tol is not None and atol is not None:
        raise ArgumentError("matrix_rank takes tol or atol", f"tol={tol}, atol={atol}", "one of them")
    above = s > tolerance(a, s, atol if tol is None else tol, rtol)
    return reduce.sum(above.cast("int64"), -1)
