"""Arithmetic: what leaves 0 where nothing is stored.

    x * 2, x / 2, -x             entry by entry, also where several share a position
    x.sin(), x ** 2, abs(x)      functions of the sum at a position, so coalesced first: KEEP_ZERO lists them
    x + y, x - y                 both lists of entries, one behind the other; with a dense y, a dense Var
    x * y                        where both have an entry; with a dense y, its element at each entry
    x.sum(dim)                   the same entries, at positions without that axis
    softmax, log_softmax         along an axis, of what is stored; what is not stored counts as -inf

Sums do not coalesce: entries at the same position stay apart until somebody calls `coalesce()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from jt_edu.base.dtypes import promote
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.ir.index_expr import Index, load
from jt_edu.ops.arguments import axes_of, axis_of, number, same_words
from jt_edu.ops.concat import concat
from jt_edu.ops.elementwise import exp, log
from jt_edu.ops.index import index_select
from jt_edu.ops.nonzero import positions
from jt_edu.ops.reduce import sum as total
from jt_edu.ops.searchsorted import searchsorted
from jt_edu.sparse.layouts import coalesce, numbered, put_together, to_dense, to_sparse_csr
from jt_edu.sparse.sparse_var import SparseVar, attach, is_sparse
from jt_edu.variable.var import Var, as_var

LINEAR = "__neg__ neg negative conj detach clone float double float32 float64 complex64 complex128 deg2rad rad2deg"
KEEP_ZERO = (
    "__abs__ abs arcsin arcsinh arctan arctanh asin asinh atan atanh ceil erf erfinv expm1 floor frac log1p nan_to_num "
    "relu relu6 round sgn sign sin sinh sqrt square tan tanh trunc leaky_relu silu gelu "
    "cast astype to half bool int long int8 int16 int32 int64 uint8"
)


def _of_entries(name: str, linear: bool) -> None:
    """Let sparse tensors have a method of Vars."""

    def method(x: SparseVar, *args: Any, **named: Any) -> SparseVar:
        own = x if linear else coalesce(x)
        return own.with_entries(getattr(own.entries, name)(*args, **named))

    method.__doc__ = f"{name} of each entry, as of a Var."
    attach(method, name)


for _names in (LINEAR, KEEP_ZERO):
    for _name in _names.split():
        _of_entries(_name, _names is LINEAR)


def _power(x: SparseVar, exponent: Any) -> SparseVar:
    once, power = coalesce(x), number("x ** k", "k", exponent, 0, above=True)
    return once.with_entries(once.entries**power)


def _times(x: SparseVar, y: Any) -> SparseVar:
    """x * y: for a sparse y where both have an entry, for a dense one its element at each entry of x."""
    if isinstance(y, SparseVar):
        return _meeting(x, y)
    other = x.entries.beside(y)
    return x.with_entries(x.entries * (_at_entries(x, other) if other.ndim else other))


def _over(x: SparseVar, y: Any) -> SparseVar:
    if isinstance(y, SparseVar) or x.entries.beside(y).ndim:
        raise ArgumentError("a sparse tensor is divided by a number: 0 / 0 is not 0", short(y), "x * (1 / y)")
    return x.with_entries(x.entries / y)


def _under(x: SparseVar, y: Any) -> NoReturn:
    raise DtypeError(
        "what is divided by a sparse tensor is nearly everywhere divided by 0",
        f"{short(y)} / one in {x.layout}",
        "y / x.to_dense()",
    )


def _at_entries(x: SparseVar, dense: Var) -> Var:
    """(nnz, ...), the elements of a dense Var, stretched to the shape of x, where x has entries."""
    if broadcast_shape("x * y", x.shape, dense.shape) != x.shape:
        raise ShapeError("a sparse x is multiplied with what fits into its shape", f"{x.shape} and {dense.shape}")

    def where(e: Index, *j: Index) -> list[Index | int]:
        place = [*(load(k, [e]) for k in range(x.sparse_dim())), *j][x.ndim - dense.ndim :]
        return [0 if n == 1 else p for p, n in zip(place, dense.shape, strict=True)]

    return dense.reindex(x.entries.shape, where, extras=x.where)


def _meeting(x: SparseVar, y: SparseVar) -> SparseVar:
    """Entry times entry, where both have one: found at once, by a search for each entry of x among those of y."""
    _check_alike("*", x, y)
    a, b = coalesce(x), coalesce(y)
    mine, theirs = numbered(a), numbered(b)
    place = searchsorted(theirs, mine).clamp(0, max(b.nnz - 1, 0))
    found = positions(index_select(theirs, 0, place) == mine) if b.nnz else positions(mine != mine)  # noqa: PLR0124
    entries = index_select(a.entries, 0, found) * index_select(b.entries, 0, index_select(place, 0, found))
    product = SparseVar(tuple(index_select(w, 0, found) for w in a.where), entries, x.shape, coalesced=True)
    return product if x.crow is None else to_sparse_csr(product)


def _check_alike(sign: str, x: SparseVar, y: SparseVar) -> None:
    if (x.shape, x.sparse_dim()) != (y.shape, y.sparse_dim()):
        found = f"{x.shape} with {x.sparse_dim()} sparse axes and {y.shape} with {y.sparse_dim()}"
        raise ShapeError(f"x {sign} y takes sparse tensors of the same shape", found)


def _plus(x: SparseVar, y: Any) -> Any:
    """x + y: sparse for a sparse y, dense for a dense one."""
    if not isinstance(y, SparseVar):
        other = as_var(y)
        if other.shape != x.shape:
            found = f"{other.shape} for {x.shape}"
            raise ShapeError("a sparse x is added to what has its shape", found, "x.to_dense() + y")
        return other + to_dense(x)
    _check_alike("+", x, y)
    where = tuple(concat([a, b]) for a, b in zip(x.where, y.where, strict=True))
    both = SparseVar(where, concat([x.entries, y.entries]), x.shape)
    return both if x.crow is None else to_sparse_csr(both)


def _cast_beside(x: Any, y: Any) -> Any:
    """x in the dtype in which it meets y: -x of a whole number without a sign would wrap before."""
    a, b = (v.entries if isinstance(v, SparseVar) else as_var(v) for v in (x, y))
    cast = a.cast(promote(a.dtype, b.dtype))
    return x.with_entries(cast) if isinstance(x, SparseVar) else cast


OPERATORS: dict[str, Callable[[SparseVar, Any], Any]] = {
    "__mul__": _times, "__rmul__": _times, "__truediv__": _over, "__rtruediv__": _under, "__pow__": _power,
    "__add__": _plus, "__radd__": _plus,
    "__sub__": lambda x, y: _plus(x, -_cast_beside(y, x)), "__rsub__": lambda x, y: _plus(_cast_beside(x, y).neg(), y),
    "multiply": _times, "mul": _times, "add": _plus, "div": _over, "pow": _power,
}  # fmt: skip
for _name, _function in OPERATORS.items():
    attach(_function, _name)


@attach
@same_words
def sum(x: SparseVar, dim: Any = None) -> Any:
    """The sum along axes: a Var where no sparse axis is left, else a sparse tensor, which is not coalesced.

    Example:
        >>> x = jt.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], [7.0, 5.0, 6.0])
        >>> x.sum().item(), x.sum(1).to_dense().tolist()
        (18.0, [7.0, 11.0])
    """
    gone, d = axes_of("sum", dim, is_sparse("sum", x).ndim), x.sparse_dim()
    dense = tuple(k - d + 1 for k in gone if k >= d)
    kept = [k for k in range(d) if k not in gone]
    entries = total(x.entries, dense) if dense else x.entries
    if not kept:
        return total(entries, 0)
    shape = tuple(n for k, n in enumerate(x.shape) if k not in gone)
    return SparseVar(tuple(x.where[k] for k in kept), entries, shape, x.coalesced and len(kept) == d)


@attach
@same_words
def softmax(x: SparseVar, dim: Any) -> SparseVar:
    """exp(x) / sum(exp(x)) along a sparse axis, of what is stored.

    Example:
        >>> jt.sparse.softmax(jt.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0]), 1).values().tolist()
        [0.5, 0.5]
    """
    once, shifted, all_ = _exponents("softmax", x, dim)
    return once.with_entries(exp(shifted) / all_)


@attach
@same_words
def log_softmax(x: SparseVar, dim: Any) -> SparseVar:
    """log(softmax(x)) along a sparse axis, of what is stored.

    Example:
        >>> jt.sparse.log_softmax(jt.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0]), 1).values().numpy().round(3)
        array([-0.693, -0.693], dtype=float32)
    """
    once, shifted, all_ = _exponents("log_softmax", x, dim)
    return once.with_entries(shifted - log(all_))


def _exponents(name: str, x: SparseVar, dim: Any) -> tuple[SparseVar, Var, Var]:
    """x coalesced; its entries, less the largest of their row; and for each the sum of the exponentials in its row."""
    axis, once = axis_of(name, dim, is_sparse(name, x).ndim), coalesce(x)
    if axis >= x.sparse_dim():
        raise ArgumentError(f"{name} goes along a sparse axis", f"axis {dim} of {x.sparse_dim()} sparse ones")
    entries = once.entries
    rows = tuple(w for k, w in enumerate(once.where) if k != axis)
    lengths = tuple(n for k, n in enumerate(x.shape[: x.sparse_dim()]) if k != axis)
    row = SparseVar(rows, entries, (*lengths, *entries.shape[1:]))
    shifted = entries - _at_entries(row, put_together(rows, entries.detach(), lengths, "maximum"))
    return once, shifted, _at_entries(row, put_together(rows, exp(shifted), lengths))
