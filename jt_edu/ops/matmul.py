"""Products of matrices. No gradient rule, and no loop of our own: each is a contraction.

    matmul, mm, mv, bmm                         stacks of matrices, and the same with fixed ranks
    addmm, addmv, addr, addbmm, baddbmm         a product that is added to something
    multi_dot, chain_matmul, matrix_power       products of many matrices

What BLAS knows, BLAS multiplies. Whole numbers stay whole, and are added up in a dtype that has room for the sum
(`contracted`); products of many matrices are in 64 bits, however many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import contracted, promote
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import broadcast_shape
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import factor, whole
from jt_edu.ops.contraction import contract
from jt_edu.ops.create import eye
from jt_edu.ops.products import outer
from jt_edu.ops.view import apart, listed
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "matmul", "matrix_power", "mm",
           "multi_dot", "mv"]  # fmt: skip


@method
@castable
@template
def matmul(x: Any, y: Any) -> Var:
    """Matrix product: out[..., i, j] = sum over k of x[..., i, k] * y[..., k, j]; NumPy's rules for stacks and vectors.

    Raises:
        ShapeError: the last axis of x and the last but one of y differ.

    Example:
        >>> matmul(array([[1.0, 2.0]]), array([[3.0], [4.0]])).numpy()
        array([[11.]], dtype=float32)
    """
    if _is_other(x):
        return x.__matmul__(y)  # type: ignore[no-any-return]
    if _is_other(y):
        return y.__rmatmul__(x)  # type: ignore[no-any-return]
    a, b = as_var(x), as_var(y)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError("matmul needs vectors or matrices", f"shapes {a.shape} and {b.shape}", "x * y")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(
            "matmul sums over the last axis of x and the last but one of y, which must be equal",
            f"shapes {a.shape} and {b.shape}: {a.shape[-1]} and {b.shape[-2 if b.ndim > 1 else 0]}",
            _to_fit(a.shape, b.shape),
        )  # fmt: skip
    broadcast_shape("matmul", a.shape[:-2], b.shape[:-2])
    left, right, out = _letters(a.ndim, b.ndim)
    return contract("matmul", a, left, b, right, out)


@lru_cache(maxsize=64)
def _to_fit(x: Shape, y: Shape) -> str:
    """What makes matrices fit whose inner lengths differ."""
    if len(y) > 1 and x[-1] == y[-1]:
        return "x @ y.transpose(-1, -2)"
    if len(x) > 1 and x[-2] == y[-2 if len(y) > 1 else 0]:
        return "x.transpose(-1, -2) @ y"
    return f"a y whose {'last axis but one' if len(y) > 1 else 'axis'} has length {x[-1]}"


def _letters(a: int, b: int) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Letters of two stacks: the batch is numbered from its end, so that it is aligned there."""
    left = (*range(2 - a, 0), "i", "k") if a > 1 else ("k",)
    right = (*range(2 - b, 0), "k", "j") if b > 1 else ("k",)
    batch = range(min(2 - a, 2 - b, 0), 0)
    return left, right, (*batch, *("i" if a > 1 else ""), *("j" if b > 1 else ""))


def _is_other(x: Any) -> bool:
    """Whether x has products of its own, and says so with NumPy's word: a sparse tensor."""
    return not isinstance(x, Var) and getattr(x, "__array_ufunc__", 0) is None


method(matmul, "__matmul__")
method(lambda x, y: matmul(y, x), "__rmatmul__")
method(lambda x, y: x.become(matmul(x, y)), "__imatmul__")


@method
@castable
def mm(x: Any, y: Any) -> Var:
    """The product of exactly two matrices, (i, k) and (k, j).

    Example:
        >>> mm(ones((2, 3)), ones((3, 4))).shape
        (2, 4)
    """
    return matmul(*_ranks("mm", "two matrices", (x, 2), (y, 2)))


def _ranks(name: str, sentence: str, *operands: tuple[Any, int]) -> list[Var]:
    """Vars of fixed ranks, for those who want an error instead of a broadcast."""
    found = [value if _is_other(value) else as_var(value) for value, _ in operands]
    if any(v.ndim != rank for v, (_, rank) in zip(found, operands, strict=True)):
        raise ShapeError(f"{name} takes {sentence}", f"shapes {' and '.join(str(v.shape) for v in found)}", "jt.matmul")
    return found


@method
@castable
def mv(x: Any, y: Any) -> Var:
    """A matrix (i, k) times a vector (k,).

    Example:
        >>> mv(array([[1, 2], [3, 4]]), array([1, 1])).numpy()
        array([3, 7])
    """
    return matmul(*_ranks("mv", "a matrix and a vector", (x, 2), (y, 1)))


@method
@castable
@template
def bmm(x: Any, y: Any) -> Var:
    """Matrix products of two stacks of equal length: (b, i, k) and (b, k, j) give (b, i, j).

    Example:
        >>> bmm(ones((2, 1, 3)), ones((2, 3, 1))).shape
        (2, 1, 1)
    """
    a, b = _ranks("bmm", "two stacks of matrices", (x, 3), (y, 3))
    if a.shape[0] != b.shape[0]:
        raise ShapeError("bmm takes two stacks of matrices of equal length", f"shapes {a.shape} and {b.shape}")
    return matmul(a, b)


@method
@castable
def addmm(start: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Var:
    """beta * start + alpha * (x @ y), for matrices.

    Example:
        >>> addmm(ones(2), ones((2, 3)), ones((3, 2)), alpha=2).numpy()
        array([[7., 7.],
               [7., 7.]], dtype=float32)
    """
    return _added("addmm", start, mm(x, y), beta, alpha)


def _added(name: str, start: Any, product: Var, beta: Any, alpha: Any) -> Var:
    """beta * start + alpha * product; with beta 0 what is in `start`, even nan, does not count."""
    base = as_var(start)
    if broadcast_shape(name, base.shape, product.shape) != product.shape:
        raise ShapeError(f"{name} adds to a product of shape {product.shape}", f"shape {base.shape}")
    alpha, beta = factor(name, "alpha", alpha), factor(name, "beta", beta)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled + base.where_not(True, 0)
    return scaled + (base if beta == 1 else base.cast(promote(base.dtype, product.dtype)) * beta)


@method
@castable
def addmv(start: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Var:
    """beta * start + alpha * (x @ y), for a matrix x and a vector y.

    Example:
        >>> addmv(ones(2), ones((2, 3)), ones(3), beta=10).numpy()
        array([13., 13.], dtype=float32)
    """
    return _added("addmv", start, mv(x, y), beta, alpha)


@method
@castable
def addr(start: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Var:
    """beta * start + alpha * outer(x, y), for vectors.

    Example:
        >>> addr(zeros((1, 2)), array([2.0]), array([3.0, 4.0])).numpy()
        array([[6., 8.]], dtype=float32)
    """
    a, b = _ranks("addr", "two vectors", (x, 1), (y, 1))
    dtype = contracted(promote(a.dtype, b.dtype))
    return _added("addr", start, outer(a.cast(dtype), b), beta, alpha)


@method
@castable
def baddbmm(start: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Var:
    """beta * start + alpha * (x @ y), for stacks of matrices.

    Example:
        >>> baddbmm(zeros((2, 1, 1)), ones((2, 1, 3)), ones((2, 3, 1))).shape
        (2, 1, 1)
    """
    return _added("baddbmm", start, bmm(x, y), beta, alpha)


@method
@castable
def addbmm(start: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Var:
    """beta * start + alpha * (the sum of all products x[b] @ y[b]), for stacks of matrices.

    Example:
        >>> addbmm(zeros((1, 1)), ones((2, 1, 3)), ones((2, 3, 1))).item()
        6.0
    """
    a, b = _ranks("addbmm", "two stacks of matrices", (x, 3), (y, 3))
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise ShapeError("addbmm multiplies (b, i, k) and (b, k, j)", f"shapes {a.shape} and {b.shape}")
    return _added("addbmm", start, contract("addbmm", a, "bik", b, "bkj", ("i", "j")), beta, alpha)


def multi_dot(matrices: Sequence[Any]) -> Var:
    """The product of a chain of matrices, multiplied in the order that costs the fewest multiplications.

        (10, 100) @ (100, 5) @ (5, 50):  left to right 7,500 multiplications, right to left 75,000

    The first may be a row and the last a column, both given as vectors.

    Example:
        >>> multi_dot([ones((2, 3)), ones((3, 4)), ones(4)]).numpy()
        array([12., 12.], dtype=float32)

    Source: Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter on dynamic programming.
    """
    parts = [_long(p) for p in listed("multi_dot", matrices)]
    ends = (0, len(parts) - 1)
    if any(p.ndim != 2 and not (p.ndim == 1 and k in ends) for k, p in enumerate(parts)):
        raise ShapeError(
            "multi_dot takes matrices; the first and the last may be vectors", f"{[p.shape for p in parts]}"
        )
    if len(parts) == 1:
        return apart(parts[0], parts[0])
    lengths = [parts[0].shape[0] if parts[0].ndim == 2 else 1, *(p.shape[0] for p in parts[1:])]
    lengths.append(parts[-1].shape[1] if parts[-1].ndim == 2 else 1)
    return _chain(parts, _splits(lengths), 0, len(parts) - 1)


def chain_matmul(*matrices: Any) -> Var:
    """The same as `multi_dot`, for matrices given one by one.

    Example:
        >>> chain_matmul(ones((2, 3)), ones((3, 4)), ones((4, 1))).shape
        (2, 1)
    """
    parts = listed("chain_matmul", matrices)
    return multi_dot(_ranks("chain_matmul", "matrices", *((p, 2) for p in parts)))


def _long(x: Var) -> Var:
    """Whole numbers in 64 bits, which is what products of products are added up in."""
    return x.cast(contracted(contracted(x.dtype)))


def _splits(lengths: list[int]) -> dict[tuple[int, int], int]:
    """For the chain from i to j, behind which matrix to split it; matrix i is lengths[i] by lengths[i + 1]."""
    count = len(lengths) - 1
    cost = {(i, i): 0 for i in range(count)}
    best = {}
    for i, j in ((i, i + span) for span in range(1, count) for i in range(count - span)):
        costs = {k: cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1] for k in range(i, j)}
        best[i, j] = min(costs, key=lambda k: costs[k])
        cost[i, j] = costs[best[i, j]]
    return best


def _chain(parts: list[Var], best: dict[tuple[int, int], int], i: int, j: int) -> Var:
    if i == j:
        return parts[i]
    return matmul(_chain(parts, best, i, best[i, j]), _chain(parts, best, best[i, j] + 1, j))


@method
def matrix_power(x: Any, n: Any) -> Var:
    """x @ x @ ... @ x, n times, by repeated squaring; the power 0 is the identity. Stacks of matrices are raised each.

    Raises:
        ArgumentError: n is negative: the inverse of a matrix is a solution of equations, not a product.

    Example:
        >>> matrix_power(array([[1, 1], [1, 0]]), 10).numpy()
        array([[89, 55],
               [55, 34]])
    """
    base = _long(as_var(x))
    if base.ndim < 2 or base.shape[-1] != base.shape[-2]:
        raise ShapeError("matrix_power takes square matrices", f"shape {base.shape}")
    times = whole("matrix_power", "n", n)
    if times < 0:
        asked = "matrix_power multiplies, and a negative power needs an inverse"
        raise ArgumentError(asked, f"power {times}", "jt.linalg.matrix_power")
    if times == 0:
        return eye(base.shape[-1], dtype=base.dtype).stretched(base.shape)
    while times % 2 == 0:
        base, times = matmul(base, base), times // 2
    result = base
    while times := times // 2:
        base = matmul(base, base)
        result = matmul(result, base) if times % 2 else result
    return apart(x, result)
