"""Contraction: multiply two arrays whose axes have letters, and sum over the letters that the result does not have.

    contract("matmul", a, "ik", b, "kj", "ij")          out[i, j] = sum over k of a[i, k] * b[k, j]

Each letter has one of four roles; matrix products, tensordot, einsum and convolutions differ only in how many letters
play each of them.

    batch    in a, b and out        rows      in a and out
    summed   in a and b             columns   in b and out

It is a broadcast, a product and a sum, and ir/matmul_pattern.py finds the matrix product in them, if each array keeps
the letters of a role together. An array that does not is copied into such an order first (`LAID`): that costs n * k,
and what it makes possible is a product of n * k * m by BLAS. Where BLAS does not know the dtype, nothing is copied.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from jt_edu.base.dtypes import DType, contracted, float32, promote
from jt_edu.base.errors import ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.index_expr import as_index, counter
from jt_edu.ir.meta_ops import Elementwise, Reindex, ReindexReduce, reindex, reindex_reduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.reduce import reduced
from jt_edu.ops.transpose import permute_op
from jt_edu.ops.view import reshape_op, view
from jt_edu.variable.var import Var

Letters = tuple[Hashable, ...]
THIN = object()  # the letter of an axis of length 1: a matrix of one row is still a matrix

# the same numbers as an array in the order of its axes; so is the gradient, which BLAS multiplies as well
LAID: Elementwise = Elementwise("lay", "{0}", "same", (lambda out, dout, x: dout.apply(LAID),))


def contract(
    name: str, x: Var, left: Sequence[Hashable], y: Var, right: Sequence[Hashable], out: Letters,
    dtype: DType | None = None,
) -> Var:  # fmt: skip
    """out[...] = sum of x[left] * y[right] over all letters that `out` lacks; axes of length 1 fit any length.

    Args:
        name: of the sum, for pictures and messages.
        x, y: of any dtypes, which are promoted.
        left, right: a letter for each axis; within one array they differ.
        out: a letter for each axis of the result; each stands in `left` or in `right`.
        dtype: of the result; by default that of a sum of products (`contracted`), if anything is summed.
    """
    if dtype is None:
        met = promote(x.dtype, y.dtype)
        dtype = met if met.is_float or set(out).issuperset((*left, *right)) else contracted(met)
    if dtype.is_half:  # BLAS multiplies float32; rounded once, at the end
        return contract(name, x.cast(dtype).cast(float32), left, y.cast(dtype).cast(float32), right, out).cast(dtype)
    arrays, letters = [x.cast(dtype), y.cast(dtype)], (tuple(left), tuple(right))
    plan = _plan(name, arrays[0].shape, letters[0], arrays[1].shape, letters[1], out, _known_to_blas(dtype))
    if isinstance(plan, _Alone):
        rest = tuple(c for k, c in enumerate(letters[plan.side]) if k not in plan.axes)
        sides = [(a, c) for a, c in zip(arrays, letters, strict=True)]
        sides[plan.side] = (reduced(arrays[plan.side], name, "add", plan.axes, False), rest)
        return contract(name, *sides[0], *sides[1], out, dtype)
    wide = []
    for array, copied, op in zip(arrays, plan.copies, plan.wide, strict=True):
        seen = array if copied is None else view(array, copied).apply(LAID)
        wide.append(Node(op, (seen.node,), op.shape, dtype))
    node = Node(f.MULTIPLY, tuple(wide), wide[0].shape, dtype)
    if plan.total is not None:
        node = Node(plan.total, (node,), plan.total.shape, dtype)
    result = Var._of(node) if plan.thin is None else view(Var._of(node), plan.thin)
    return result if plan.turned is None else view(result.apply(LAID), plan.turned)


def _known_to_blas(dtype: object) -> bool:
    return dtype in ("float32", "float64", "complex64", "complex128")


@dataclass(frozen=True)
class _Alone:
    """Axes of one array that neither the other nor the result has: they are summed before."""

    side: int
    axes: tuple[int, ...]


@dataclass(frozen=True)
class _Plan:
    """The operators of a contraction, in the order in which they are built."""

    copies: tuple[Reindex | None, Reindex | None]
    wide: tuple[Reindex, Reindex]
    total: ReindexReduce | None
    turned: Reindex | None
    thin: Reindex | None


@dataclass(frozen=True)
class _Roles:
    """Who plays which role, in an order for each."""

    batch: Letters
    rows: Letters
    summed: Letters
    columns: Letters

    def suits(self, letters: Letters, outer: Letters, inner: Letters, lengths: dict[Hashable, int]) -> bool:
        """Whether an array keeps its roles together: batch, and then the other two either way round."""
        found, ways = _long(letters, lengths), (self.batch + outer + inner, self.batch + inner + outer)
        return any(found == _long(way, lengths) for way in ways)


def _long(letters: Letters, lengths: dict[Hashable, int]) -> Letters:
    """Without axes of length 1, whose place does not matter."""
    return tuple(c for c in letters if lengths[c] != 1)


@lru_cache(maxsize=1 << 12)
def _plan(name: str, a: Shape, left: Letters, b: Shape, right: Letters, out: Letters, blas: bool) -> _Plan | _Alone:
    lengths = _lengths(name, (left, a), (right, b))
    in_a = tuple(c for c, n in zip(left, a, strict=True) if n == lengths[c])
    in_b = tuple(c for c, n in zip(right, b, strict=True) if n == lengths[c])
    for side, (letters, mine, other) in enumerate(((left, in_a, in_b), (right, in_b, in_a))):
        alone = tuple(k for k, c in enumerate(letters) if c in mine and c not in other and c not in out)
        if alone:
            return _Alone(side, alone)
    if not any(c in in_b and c not in out for c in in_a):
        wide = _wide(a, left, out, lengths), _wide(b, right, out, lengths)
        return _Plan((None, None), wide, None, None, None)
    matrix = any((c in in_a) != (c in in_b) for c in out)
    orders = _orders(in_a, in_b, out)
    if not (matrix and blas):
        return _as_loops(name, (a, left, in_a), (b, right, in_b), out, lengths, next(orders))
    roles = min(orders, key=lambda r: _copied(r, in_a, in_b, out, lengths))
    return _as_product(name, (a, left, in_a), (b, right, in_b), out, lengths, roles)


def _lengths(name: str, *sides: tuple[Letters, Shape]) -> dict[Hashable, int]:
    lengths: dict[Hashable, int] = {}
    for letters, shape in sides:
        for c, n in zip(letters, shape, strict=True):
            if lengths.setdefault(c, n) == 1:
                lengths[c] = n
            if n not in (1, lengths[c]):
                raise ShapeError(
                    f"{name} needs axes with the same letter to have the same length",
                    f"{lengths[c]} and {n} for {c!r}",
                )  # fmt: skip
    return lengths


def _orders(in_a: Letters, in_b: Letters, out: Letters) -> Iterator[_Roles]:
    """The orders worth looking at: each role as the arrays have it."""
    batch = [tuple(c for c in one if c in in_a and c in in_b and c in out) for one in (in_a, in_b, out)]
    rows = [tuple(c for c in one if c in in_a and c not in in_b) for one in (in_a, out)]
    columns = [tuple(c for c in one if c in in_b and c not in in_a) for one in (in_b, out)]
    summed = [tuple(c for c in one if c in in_a and c in in_b and c not in out) for one in (in_a, in_b)]
    for b, r, s, c in product(*(dict.fromkeys(role) for role in (batch, rows, summed, columns))):
        yield _Roles(b, r, s, c)


def _copied(r: _Roles, in_a: Letters, in_b: Letters, out: Letters, lengths: dict[Hashable, int]) -> int:
    """How many elements must be copied, so that every array keeps its roles together."""
    count = 0
    for letters, outer, inner in ((in_a, r.rows, r.summed), (in_b, r.columns, r.summed), (out, r.rows, r.columns)):
        if not r.suits(letters, outer, inner, lengths):
            count += math.prod(lengths[c] for c in letters)
    return count


Side = tuple[Shape, Letters, Letters]  # shape, letters, and those of them that are not broadcast


def _as_loops(name: str, left: Side, right: Side, out: Letters, lengths: dict[Hashable, int], r: _Roles) -> _Plan:
    """Loops over batch, rows, summed, columns; nothing is copied."""
    order = r.batch + r.rows + r.summed + r.columns
    wide = _wide(*left[:2], order, lengths), _wide(*right[:2], order, lengths)
    return _Plan((None, None), wide, _sum(name, order, out, lengths), None, None)


def _as_product(name: str, left: Side, right: Side, out: Letters, lengths: dict[Hashable, int], r: _Roles) -> _Plan:
    """The same loops, over arrays that keep their roles together."""
    sizes, thin = {**lengths, THIN: 1}, () if r.rows and r.columns else (THIN,)
    order = r.batch + (r.rows or thin) + r.summed + (r.columns or thin)
    copies, wide = [], []
    for (shape, letters, mine), outer in ((left, r.rows), (right, r.columns)):
        axes = _gathered(letters, mine, r.batch + outer + r.summed)
        if r.suits(mine, outer, r.summed, lengths):
            axes = tuple(range(len(letters)))
        copies.append(None if axes == tuple(range(len(letters))) else permute_op(shape, axes))
        wide.append(_wide(tuple(shape[k] for k in axes), tuple(letters[k] for k in axes), order, sizes))
    natural = out if r.suits(out, r.rows, r.columns, lengths) else r.batch + r.rows + r.columns
    shape = tuple(lengths[c] for c in natural)
    turned = None if natural == out else permute_op(shape, tuple(natural.index(c) for c in out))
    flat = reshape_op((*shape, 1), shape) if thin else None
    return _Plan((copies[0], copies[1]), (wide[0], wide[1]), _sum(name, order, natural + thin, sizes), turned, flat)


def _gathered(letters: Letters, mine: Letters, target: Letters) -> tuple[int, ...]:
    """The axes in the order of `target`; those that are broadcast come last."""
    place = {c: k for k, c in enumerate(target) if c in mine}
    return tuple(sorted(range(len(letters)), key=lambda k: place.get(letters[k], len(target))))


def _wide(shape: Shape, letters: Letters, loops: Letters, lengths: dict[Hashable, int]) -> Reindex:
    """An array read in all loops: its axes of length 1 fit any length."""
    where = tuple(
        counter(loops.index(c)) if n == lengths[c] and c in loops else as_index(0)
        for c, n in zip(letters, shape, strict=True)
    )
    return reindex("broadcast", shape, tuple(lengths[c] for c in loops), where)


def _sum(name: str, loops: Letters, out: Letters, lengths: dict[Hashable, int]) -> ReindexReduce:
    sizes = tuple(lengths[c] for c in loops)
    return reindex_reduce(
        name, "add", sizes, tuple(lengths[c] for c in out), tuple(counter(loops.index(c)) for c in out)
    )
