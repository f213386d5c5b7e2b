"""Histograms: how many numbers fall into each bin.

    bincount        one bin for each whole number           histc       bins of one width, as in PyTorch
    histogram       bins of one width or custom bins, with weights and densities, as in NumPy

Counting is a sum into the cell that a number points to: one ReindexReduce.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import float64, int64, promote
from jt_edu.base.errors import ArgumentError, DtypeError, RangeError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.index_expr import load
from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import arange
from jt_edu.ops.diff_trapz import diff
from jt_edu.ops.dtype_rules import as_floats, check_order
from jt_edu.ops.reduce import all, max, min, sum
from jt_edu.ops.searchsorted import searchsorted
from jt_edu.variable.var import Var, as_var, method


@method
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Var:
    """How often each whole number is there: out[k] is the count of k in x, or the sum of its weights.

    The length of the answer is the largest number and one more, so x is computed at once.

    Args:
        weights: of the shape of x; whole ones give float64, as in NumPy.
        minlength: at least so many numbers.

    Raises:
        RangeError: a number is negative.

    Example:
        >>> bincount(array([0, 2, 2])).numpy()
        array([1, 0, 2])
    """
    v, least = as_var(x), whole("bincount", "minlength", minlength, 0)
    if v.ndim != 1 or v.dtype.kind not in "iu":
        raise DtypeError(
            "bincount takes a row of whole numbers", f"{v.dtype} of shape {v.shape}", "x.int64().flatten()"
        )
    low, high = (int(m.item()) for m in (min(v), max(v))) if v.size else (0, -1)
    if low < 0:
        raise RangeError("bincount counts numbers from 0", f"{low}")
    w = v.ones_like().cast(int64) if weights is None else as_floats(as_var(weights))
    if w.shape != v.shape:
        raise ShapeError("bincount takes a weight for each number", f"{w.shape} for {v.shape}")
    return counted(v, high + 1 if high >= least else least, w)


def counted(cells: Var, length: int, weights: Var | None = None) -> Var:
    """(length,), how often each number from 0 stands among `cells` (n,), or the sum of its weights (n,).

    Example:
        >>> counted(array([0, 2, 2]), 3).numpy()
        array([1, 0, 2])
    """
    each = cells.ones_like() if weights is None else weights
    return each.reindex_reduce("add", (length,), lambda i: (load(0, [i]),), extras=[cells])


@method
def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Var:
    """Counts in `bins` equal bins from min to max, in the dtype of x; what lies outside is not counted.

    Where min and max are equal, the smallest and the largest number take their place, as in PyTorch.

    Example:
        >>> histc(array([1.0, 2.0, 1.0]), bins=4, min=0, max=3).numpy()
        array([0., 2., 1., 0.], dtype=float32)
    """
    v = as_var(x)
    low, high = number("histc", "min", min), number("histc", "max", max)
    found = histogram(v, bins, None if low == high else (low, high))[0]
    return found.cast(v.dtype)


def histogram(
    x: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False  # noqa: A002 - NumPy's word
) -> tuple[Var, Var]:  # fmt: skip
    """(counts, edges of the bins), as NumPy's: bin k holds edges[k] <= x < edges[k + 1], the last one its end as well.

    Args:
        bins: how many equal ones, or their edges.
        range: (from, to) of equal bins; by default from the smallest to the largest number. Outside is not counted.
        weights: of the shape of x; sums of them instead of counts.
        density: divide, so that the area is 1.

    Example:
        >>> [v.tolist() for v in histogram(array([1.0, 2.0, 1.0]), bins=[0, 1, 2, 3])]
        [[0, 2, 1], [0, 1, 2, 3]]
    """
    v = as_var(x).reshape(-1)
    check_order("histogram", v)
    edges = _edges(v, bins, range)
    n = len(edges) - 1
    w = v.ones_like().cast(int64) if weights is None else as_var(weights).reshape(-1)
    if w.shape != v.shape:
        raise ShapeError("histogram takes a weight for each number", f"{as_var(weights).shape} for {as_var(x).shape}")
    at_end = (v == edges[-1:]).cast(int64)  # the last bin holds its end as well
    place = searchsorted(edges, v, right=True) - at_end  # bin k is at k + 1, what lies outside at 0 or n + 1
    counts = counted(place.where_not(v != v, 0), n + 2, w)[1:-1]  # noqa: PLR0124 - nan
    if yes_or_no("histogram", "density", density):
        counts = counts / diff(edges).cast(float64) / sum(counts)
    return counts, edges


def _edges(x: Var, bins: Any, limits: Any) -> Var:
    if not isinstance(bins, (int, float, str)) and as_var(bins).ndim:
        edges = as_var(bins)
        if edges.ndim != 1 or len(edges) < 2 or not bool(all(edges[1:] >= edges[:-1]).item()):
            raise ArgumentError("bins need two or more edges, in rising order", f"{edges.tolist()}")
        return edges
    n = whole("histogram", "bins", bins, 1, 1 << 60)
    low, high = _limits(x, limits)
    dtype = promote(as_floats(x).dtype, low.dtype)
    wide = (low == high).cast(float64) * 0.5
    low, high = low.cast(float64) - wide, high.cast(float64) + wide
    inner = arange(n).cast(float64) * ((high - low) / n) + low
    return concat([inner, high.reshape(1)]).cast(dtype)


def _limits(x: Var, limits: Any) -> tuple[Var, Var]:
    dtype = as_floats(x).dtype
    if limits is None and x.size:
        return min(x).detach().cast(dtype), max(x).detach().cast(dtype)
    limits = (0.0, 1.0) if limits is None else limits
    try:
        low, high = (float(e) for e in limits)
    except (TypeError, ValueError):
        raise ArgumentError("a range is two numbers", short(limits), "(0, 1)") from None
    if not low <= high or high - low == float("inf"):
        raise ArgumentError("a range goes from a smaller number to a larger one", f"({low}, {high})", "(0, 1)")
    return Var(low, dtype), Var(high, dtype)
