"""Quantiles: the number below which a given share of the numbers lies.

    median, nanmedian           the lower of the middle two, as in PyTorch; quantile(x, 0.5) is their mean, as in NumPy
    quantile, nanquantile       share q from 0 to 1; percentile, nanpercentile: from 0 to 100
    mode                        the number that is there most often

All read sorted rows at positions that are computed, so gradients go to the numbers that were read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.base.dtypes import float64, int64
from jt_edu.base.errors import ArgumentError, RangeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ops.arguments import axes_of, choice, same_words, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.cumulative import LARGEST, before, best_so_far
from jt_edu.ops.dtype_rules import as_floats, check_order
from jt_edu.ops.elementwise import lerp
from jt_edu.ops.reduce import position, sum
from jt_edu.ops.row_view import Ranked, as_rows, one_axis, one_each, picked, ranked
from jt_edu.ops.sort import sorted_positions
from jt_edu.ops.var_function import var_function
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var, method

__all__ = ["median", "mode", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

# Where the quantile q of n numbers lies between them, counted from 0 (Hyndman and Fan 1996, "Sample quantiles in
# statistical packages", types 4 to 9 as n * q + a + q * (1 - a - b) - 1).
BETWEEN: dict[str, tuple[float, float]] = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
# The same, for those that return one of the numbers, or the middle of two.
AT: dict[str, Callable[[Var, Var], Var]] = {
    "lower": lambda n, q: ((n - 1) * q).apply(f.FLOOR),
    "higher": lambda n, q: ((n - 1) * q).apply(f.CEIL),
    "nearest": lambda n, q: ((n - 1) * q).apply(f.ROUND),
    "midpoint": lambda n, q: (((n - 1) * q).apply(f.FLOOR) + ((n - 1) * q).apply(f.CEIL)) / 2,
    "inverted_cdf": lambda n, q: (n * q).apply(f.CEIL) - 1,
    "averaged_inverted_cdf": lambda n, q: ((n * q).apply(f.CEIL) + (n * q).apply(f.FLOOR)) / 2 - 0.5,
    "closest_observation": lambda n, q: (n * q).apply(f.ROUND) - 1,
}


@var_function()
def median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle number; of an even count the lower of the middle two, as in PyTorch. nan if any number is nan.

    `quantile(x, 0.5)` is the mean of the middle two, which is NumPy's median.

    Returns:
        A Var of all numbers, or of those of several axes; with one axis (values, indices), as in PyTorch.

    Example:
        >>> median(array([4, 1, 3, 2])).item()
        2
        >>> [v.item() for v in median(array([4, 1, 3, 2]), dim=0)]
        [2, 3]
    """
    return _median("median", as_var(x), False, dim, yes_or_no("median", "keepdim", keepdim))


@var_function()
def nanmedian(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Median of the numbers that are not nan; nan if all are. Along several axes, or one, as `median`.

    Example:
        >>> nanmedian(array([4.0, math.nan, 3.0, 1.0])).item()
        3.0
    """
    return _median("nanmedian", as_var(x), True, dim, yes_or_no("nanmedian", "keepdim", keepdim))


def _median(name: str, x: Var, skip: bool, dim: Any, keep: bool) -> Any:
    check_order(name, x)
    several = dim is None or isinstance(dim, (tuple, list))
    gone = axes_of(name, dim, x.ndim) if several else (one_axis(name, dim, x.ndim),)
    rows = _rows(name, x, gone)
    count = _count(rows)
    n = rows.shape[1]
    middle = (count - 1) // 2 if skip else ((count - 1) // 2).where_not(count < n, count)  # the first nan, if any
    where = picked(sorted_positions(rows), middle.clamp(0, n - 1))
    found = one_each(picked(rows, where), x.shape, gone, keep)
    return found if several else Ranked(found, one_each(where, x.shape, gone, keep))


def _rows(name: str, x: Var, gone: tuple[int, ...]) -> Var:
    rows = as_rows(x, gone)
    if rows.shape[1] == 0:
        raise ShapeError(f"{name} of nothing is not a number", f"shape {x.shape}", "a Var with elements")
    return rows


def _count(rows: Var) -> Var:
    """How many numbers of each row are not nan: (rows, 1)."""
    return sum((rows == rows).cast(int64), 1, True)  # noqa: PLR0124


@var_function(castable)
def quantile(
    x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear", *, method: Any = None
) -> Var:
    """The number below which a fraction q of the numbers lies; nan if any number is nan.

    Args:
        q: a share from 0 to 1, or several; they become the first axes of the answer.
        interpolation, method: what to do between two numbers: "linear", "lower", "higher", "midpoint", "nearest", or
            another one of NumPy's: "hazen", "weibull", "median_unbiased", "normal_unbiased", "inverted_cdf",
            "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf".

    Raises:
        RangeError: q is not from 0 to 1. ArgumentError: no such interpolation.

    Example:
        >>> quantile(array([1.0, 2.0, 3.0, 4.0]), [0.5, 1.0]).numpy()
        array([2.5, 4. ], dtype=float32)

    Source: Hyndman and Fan 1996, "Sample quantiles in statistical packages".
    """
    return _quantile("quantile", x, q, dim, keepdim, _way(interpolation, method))


def _variant(name: str, what: str, example: str, answer: str, whole: int = 1, skip: bool = False) -> Callable[..., Var]:
    """A function with the arguments of `quantile`, under its own name: shares of `whole`, `skip` passes over nan."""

    def made(
        x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear", *, method: Any = None
    ) -> Var:
        return _quantile(name, x, q, dim, keepdim, _way(interpolation, method), whole, skip)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"""{what} The other arguments are those of `quantile`.

    Example:
        >>> {example}
        {answer}
    """
    return method(same_words(made))


nanquantile = castable(_variant(
    "nanquantile", "The quantile of what is not nan; nan if all is.",
    "nanquantile(array([1.0, math.nan, 3.0]), 0.5).item()", "2.0", skip=True,
))  # fmt: skip
percentile = _variant(
    "percentile", "The quantile of q percent.", "percentile(array([1.0, 2.0, 3.0]), 50).item()", "2.0", whole=100
)
nanpercentile = _variant(
    "nanpercentile", "The percentile of what is not nan; nan if all is.",
    "nanpercentile(array([1.0, math.nan, 3.0]), 100).item()", "3.0", whole=100, skip=True,
)  # fmt: skip


def _way(interpolation: str, method: Any) -> str:
    ways = (*BETWEEN, *AT)
    way = choice("a quantile", "interpolation", interpolation, ways)
    if method is not None and way != "linear":
        raise ArgumentError("interpolation and method are one argument", f"{interpolation!r} and {method!r}")
    return str(way if method is None else choice("a quantile", "method", method, ways))


def _share(q: Any, whole: int) -> Var:
    """Shares from 0 to 1 as float64; they are few, and looked at before they are used."""
    given = q.detach().cast(float64) if isinstance(q, Var) else Var(q, float64).detach()
    numbers = given.numpy()
    if isinstance(q, (bool, np.bool_)):
        raise ArgumentError("a quantile takes q as a number from 0 to 1", f"q={q}", "keepdim=True, by its name")
    if not ((numbers >= 0) & (numbers <= whole)).all():
        raise RangeError(f"quantiles lie from 0 to {whole}", f"q={numbers.tolist()}")
    return given / whole


def _quantile(
    name: str, x: Any, wanted: Any, axes: Any, keepdim: Any, way: str, whole: int = 1, skip: bool = False
) -> Var:
    """Below which number lies `wanted` / `whole` of the numbers; `skip`: of those that are not nan."""
    v, keep = as_floats(x), yes_or_no(name, "keepdim", keepdim)
    q = _share(wanted, whole)
    check_order(name, v)
    gone = axes_of(name, axes, v.ndim)
    rows = _rows(name, v, gone)
    count = _count(rows)  # rows, 1
    at = _virtual(way, count.cast(float64), q.reshape(1, -1))  # rows, quantiles
    last = (count - 1).cast(float64)
    at = at.where_not(at > last, last).where_not(at < 0, 0)
    below = at.apply(f.FLOOR)
    ordered = picked(rows, sorted_positions(rows))
    low, high = (picked(ordered, p.cast(int64).clamp(0, rows.shape[1] - 1)) for p in (below, at.apply(f.CEIL)))
    found = lerp(low, high, (at - below).cast(v.dtype)).where_not(low == high, low)  # between infinities lies nan
    found = found.where_not(count == 0 if skip else count < rows.shape[1], math.nan)
    parts = one_each(found.reindex((found.shape[1], found.shape[0]), lambda i, j: (j, i)).reshape(-1),
                     (found.shape[1], *v.shape), tuple(k + 1 for k in gone), keep)  # fmt: skip
    return parts.reshape(*q.shape, *parts.shape[1:])


def _virtual(way: str, n: Var, q: Var) -> Var:
    """Where quantile q of n sorted numbers lies, counted from 0."""
    if way in AT:
        return AT[way](n, q)
    a, b = BETWEEN[way]
    return n * q + (q * (1 - a - b) + (a - 1))


@var_function(ranked)
def mode(x: Any, dim: Any = None, keepdim: bool = False) -> tuple[Var, Var]:
    """(the most frequent number along an axis, its last position); the smallest of several. The last axis by default.

    Example:
        >>> [v.item() for v in mode(array([3, 1, 3, 2, 1]))]
        [1, 4]
    """
    v = as_var(x)
    check_order("mode", v)
    keep = yes_or_no("mode", "keepdim", keepdim)
    at = one_axis("mode", -1 if dim is None else dim, v.ndim)
    rows = _rows("mode", v, (at,))
    order = sorted_positions(rows)
    ordered = picked(rows, order)
    place = index(rows.shape, 1)
    begin = place.where_not(ordered == before(ordered, 0), 0)  # where a run of equal numbers begins; the first at 0
    run = place - picked(begin, best_so_far(LARGEST, begin))  # how many equal numbers stand before this one
    where = picked(order, position(run, "mode", "maximum", 1, True))
    found, last = (one_each(r, v.shape, (at,), keep) for r in (picked(rows, where), where))
    return found, last
