"""Structured init: weights that start as something in particular, where plain random numbers would not do.

eye_, dirac_    let the input through         orthogonal_    keeps lengths         sparse_    mostly zeros
"""

from __future__ import annotations

import math

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.scalar_ops import LOGICAL_AND
from jt_edu.nn.initializers import check_real, give
from jt_edu.ops.arguments import number
from jt_edu.ops.create import index
from jt_edu.ops.custom_kernel import kernel
from jt_edu.variable.random import random
from jt_edu.variable.var import Var

__all__ = ["dirac_", "eye_", "orthogonal_", "sparse_"]
ORTHONORMAL = kernel(
    "orthonormal",
    """
    def kernel(lo, hi, x, out):
        for i in range(x.shape[0]):
            for c in range(x.shape[1]):
                out[i, c] = x[i, c]
            for _ in range(2):
                for j in range(i):
                    overlap = 0.0
                    for c in range(x.shape[1]):
                        overlap += out[i, c] * out[j, c]
                    for c in range(x.shape[1]):
                        out[i, c] -= overlap * out[j, c]
            square = 0.0
            for c in range(x.shape[1]):
                square += out[i, c] * out[i, c]
            for c in range(x.shape[1]):
                out[i, c] /= math.sqrt(square)
    """,
)


def eye_(var: Var) -> Var:
    """1 on the diagonal of a matrix, 0 elsewhere.

    Example:
        >>> eye_(jt.ones(2, 3)).numpy()
        array([[1., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    if not isinstance(var, Var) or var.ndim != 2:
        raise ShapeError("eye_ fills a matrix", f"shape {getattr(var, 'shape', var)}")
    return give(var, lambda: (index(var.shape, 0) == index(var.shape, 1)).cast(var.dtype))


def dirac_(var: Var, groups: int = 1) -> Var:
    """Weights of a convolution that passes as many channels through unchanged as it can.

    Args:
        var: (out, in, ...) with one to three axes of taps.
        groups: out is split into so many groups, each of which sees the first channels of its own.

    Example:
        >>> dirac_(jt.ones(2, 2, 3)).numpy()[1]
        array([[0., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    if not isinstance(var, Var) or var.ndim not in (3, 4, 5):
        raise ShapeError("dirac_ fills (out, in, taps...) of 3 to 5 axes", f"shape {getattr(var, 'shape', var)}")
    if not isinstance(groups, int) or groups < 1 or var.shape[0] % groups:
        raise ArgumentError("groups must divide the output channels", f"groups {groups} for {var.shape[0]}")
    shape, each = var.shape, var.shape[0] // groups

    def draw() -> Var:
        here = index(shape, 0) % each == index(shape, 1)
        for axis in range(2, len(shape)):
            here = here.apply(LOGICAL_AND, index(shape, axis) == shape[axis] // 2)
        return here.cast(var.dtype)

    return give(var, draw)


def orthogonal_(var: Var, gain: float = 1.0) -> Var:
    """A random matrix whose rows (or columns, if there are fewer) stand at right angles and have length `gain`.

    Normal numbers are made orthogonal row by row, by the method of Gram and Schmidt; each row goes through it twice,
    which is enough for all digits.

    Args:
        var: (rows, ...); all axes but the first are taken as one.
        gain: a factor.

    Source: Saxe, McClelland and Ganguli 2013 (arXiv:1312.6120).

    Example:
        >>> w = orthogonal_(jt.zeros(2, 3))
        >>> bool(np.allclose(w.numpy() @ w.numpy().T, np.eye(2), atol=1e-6))
        True
    """
    if not isinstance(var, Var) or var.ndim < 2 or 0 in var.shape:
        raise ShapeError("orthogonal_ fills a matrix (rows, ...)", f"shape {getattr(var, 'shape', var)}")
    factor, dtype = number("orthogonal_", "gain", gain), check_real(var)
    rows, columns = var.shape[0], math.prod(var.shape[1:])
    few, many = sorted((rows, columns))

    def draw() -> Var:
        drawn = random((few, many), dtype, "normal")
        straight = ORTHONORMAL(drawn, shape=drawn.shape, dtype=drawn.dtype)
        return ((straight if rows <= columns else straight.transpose(0, 1)) * factor).reshape(var.shape)

    return give(var, draw)


def sparse_(var: Var, sparsity: float, std: float = 0.01) -> Var:
    """Normal numbers, of which the share `sparsity` of each column is 0.

    Args:
        var: (rows, columns).
        sparsity: from 0 to 1; rounded up to a whole number of zeros.
        std: of the numbers that are not 0.

    Source: Martens 2010, "Deep learning via Hessian-free optimization".

    Example:
        >>> (sparse_(jt.zeros(4, 3), 0.5).numpy() == 0).sum(0)
        array([2, 2, 2])
    """
    if not isinstance(var, Var) or var.ndim != 2:
        raise ShapeError("sparse_ fills a matrix", f"shape {getattr(var, 'shape', var)}")
    share, spread, dtype = number("sparse_", "sparsity", sparsity, 0, 1), number("sparse_", "std", std), check_real(var)
    zeros = math.ceil(share * var.shape[0])

    def draw() -> Var:
        lots = random(var.shape, "float64").detach().sync()  # the rows with the smallest lots become 0
        place = (lots.unsqueeze(0) < lots.unsqueeze(1)).sum(1)
        return (random(var.shape, dtype, "normal") * spread).where_not(place < zeros, 0)

    return give(var, draw)
