"""Sorting, quantiles, searching, sets and histograms beside NumPy's and PyTorch's."""

import numpy as np

import jt_edu as jt
from tests.parity.families.reductions import quiet
from tests.parity.families.scans import along
from tests.parity.inputs import BOOL, FLOATS, INTS, REALS, WHOLE
from tests.parity.table import NO_COMPLEX, REAL_FLOATS, Row

LINES = (((5,),), ((1,),), ((0,),), ((40,),), ((3, 4),), ((2, 0, 3),), ((1, 2, 1, 2, 3),))
FULL = (((5,),), ((1,),), ((6,),), ((3, 4),), ((1, 2, 1, 2, 3),))


def _np(function, **options):
    return lambda x, axis: function(x, axis=axis, **options)


def _falling(x, axis):
    """Positions of the largest first; equal ones keep their order."""
    turned = np.flip(x, axis)
    return x.shape[axis] - 1 - np.flip(np.argsort(turned, axis, kind="stable"), axis)


def _best(x, k, axis, largest=True):
    order = _falling(x, axis) if largest else np.argsort(x, axis, kind="stable")
    return np.take_along_axis(x, np.take(order, np.arange(k), axis), axis)


SORTS = (
    *along("sort", lambda x, k: jt.sort(x, k)[0], _np(np.sort), lambda t, x, k: t.sort(x, k)[0], NO_COMPLEX, loose=1,
           shapes=LINES),
    *along("sort of odd numbers", lambda x, k: jt.sort(x, k)[0], _np(np.sort), None, REAL_FLOATS, "odd", 1, 0, LINES),
    *along("sort, the largest first", lambda x, k: jt.sort(x, k, descending=True)[0],
           lambda x, k: np.flip(np.sort(x, k), k), lambda t, x, k: t.sort(x, k, True)[0], NO_COMPLEX, loose=1,
           shapes=LINES),
    *along("sort of odd numbers, the largest first", lambda x, k: jt.sort(x, k, True)[0], None,
           lambda t, x, k: t.sort(x, k, True)[0], FLOATS, "odd", 1, 0, LINES),
    *along("positions of sort", lambda x, k: jt.sort(x, k)[1], _np(np.argsort, kind="stable"), None, NO_COMPLEX, "few",
           1, 0, LINES),
    *along("argsort", jt.argsort, _np(np.argsort, kind="stable"), None, NO_COMPLEX, "few", 1, 0, LINES),
    *along("argsort of odd numbers", jt.argsort, _np(np.argsort, kind="stable"), None, REAL_FLOATS, "odd", 1, 0, LINES),
    *along("argsort, the largest first", lambda x, k: jt.argsort(x, k, descending=True, stable=True), _falling,
           lambda t, x, k: t.argsort(x, dim=k, descending=True, stable=True), NO_COMPLEX, "few", 1, 0, LINES),
    *along("argsort of odd numbers, the largest first", lambda x, k: jt.argsort(x, k, True), None,
           lambda t, x, k: t.argsort(x, dim=k, descending=True, stable=True), FLOATS, "odd", 1, 0, LINES),
    Row("sort, no axis named", lambda x: jt.sort(x)[0], np.sort, None, LINES, REALS, orders=0),
    Row("argsort, no axis named", jt.argsort, lambda x: np.argsort(x, kind="stable"), None, LINES, REALS, "few",
        orders=0),
    Row("msort", jt.msort, lambda x: np.sort(x, 0), lambda t, x: t.msort(x), LINES, REALS),
)  # fmt: skip

FIRST = (
    *along("topk", lambda x, k: jt.topk(x, 2, k)[0], lambda x, k: _best(x, 2, k), lambda t, x, k: t.topk(x, 2, k)[0],
           REALS, loose=1, shapes=(((5,),), ((3, 4),), ((2, 1, 3, 2),))),
    *along("topk of odd numbers", lambda x, k: jt.topk(x, 3, k)[0], None, lambda t, x, k: t.topk(x, 3, k)[0], FLOATS,
           "odd", 1, 0, (((5,),), ((3, 4),))),
    *along("topk, the smallest", lambda x, k: jt.topk(x, 2, k, largest=False)[0], lambda x, k: _best(x, 2, k, False),
           lambda t, x, k: t.topk(x, 2, k, False)[0], REALS, loose=1, shapes=(((5,),), ((3, 4),), ((2, 1, 3, 2),))),
    *along("positions of topk", lambda x, k: jt.topk(x, 2, k)[1], None, lambda t, x, k: t.topk(x, 2, k)[1], FLOATS,
           "any", 1, 0, (((5,),), ((3, 4),))),
    *along("topk in order of place", lambda x, k: jt.topk(x, 3, k, sorted=False)[1],
           lambda x, k: np.sort(np.take(_falling(x, k), np.arange(3), k), k), None, FLOATS, "any", 1, 0,
           (((5,),), ((3, 4),))),
    Row("topk of all", lambda x: jt.topk(x, 5)[0], None, lambda t, x: t.topk(x, 5)[0], (((5,),), ((3, 5),)), FLOATS,
        layouts=False),
    Row("topk of none", lambda x: jt.topk(x, 0)[0], None, lambda t, x: t.topk(x, 0)[0], (((5,),), ((3, 4),)), FLOATS,
        orders=0),
    *along("kthvalue", lambda x, k: jt.kthvalue(x, 2, k)[0], lambda x, k: np.take(np.sort(x, k), 1, k),
           lambda t, x, k: t.kthvalue(x, 2, k)[0], REALS, loose=1, shapes=(((5,),), ((3, 4),), ((2, 1, 3, 2),))),
    *along("kthvalue kept", lambda x, k: jt.kthvalue(x, 1, k, keepdim=True)[0], None,
           lambda t, x, k: t.kthvalue(x, 1, k, keepdim=True)[0], FLOATS, loose=1, shapes=FULL),
    *along("position of kthvalue", lambda x, k: jt.kthvalue(x, 2, k)[1], None,
           lambda t, x, k: t.kthvalue(x, 2, k)[1], FLOATS, "any", 1, 0, (((5,),), ((3, 4),))),
)  # fmt: skip

MEDIANS = (
    Row("median", jt.median, lambda x: np.quantile(x, 0.5, method="lower").astype(x.dtype), lambda t, x: t.median(x),
        (((),), *FULL), REALS),
    Row("median of odd numbers", jt.median, None, lambda t, x: t.median(x), FULL, FLOATS, "odd", orders=0),
    *along("median", lambda x, k: jt.median(x, k)[0], None, lambda t, x, k: t.median(x, k)[0], (*INTS, *FLOATS),
           shapes=FULL),
    *along("median of odd numbers", lambda x, k: jt.median(x, k)[0], None, lambda t, x, k: t.median(x, k)[0], FLOATS,
           "odd", 1, 0, FULL),
    *along("position of median", lambda x, k: jt.median(x, k)[1], None, lambda t, x, k: t.median(x, k)[1], FLOATS,
           "any", 1, 0, FULL),
    *along("median kept", lambda x, k: jt.median(x, k, True)[0], None, lambda t, x, k: t.median(x, k, True)[0], FLOATS,
           shapes=FULL),
    Row("nanmedian", jt.nanmedian, None, lambda t, x: t.nanmedian(x), (((),), *FULL), (*INTS, *FLOATS)),
    Row("nanmedian of odd numbers", jt.nanmedian, None, lambda t, x: t.nanmedian(x), FULL, FLOATS, "odd", orders=0),
    *along("nanmedian of odd numbers", lambda x, k: jt.nanmedian(x, k)[0], None,
           lambda t, x, k: t.nanmedian(x, k)[0], FLOATS, "odd", 1, 0, FULL),
    *along("mode", lambda x, k: jt.mode(x, k)[0], None, lambda t, x, k: t.mode(x, k)[0], (*INTS, *FLOATS), "few", 1, 0,
           FULL),
    *along("mode kept", lambda x, k: jt.mode(x, k, True)[0], None, lambda t, x, k: t.mode(x, k, True)[0], FLOATS,
           shapes=FULL),
    *along("position of mode", lambda x, k: jt.mode(x, k)[1], None, lambda t, x, k: t.mode(x, k)[1], INTS, "few", 1, 0,
           FULL),
)  # fmt: skip

TORCHS = ("linear", "lower", "higher", "midpoint", "nearest")
NUMPYS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
          "weibull", "median_unbiased", "normal_unbiased")  # fmt: skip
SHARES = [0.0, 0.1, 0.25, 0.5, 1.0]


def _quantile(t, x, name="quantile", **options):
    return getattr(t, name)(x, t.tensor(SHARES, dtype=x.dtype), **options)


def _in_own_dtype(function):
    """NumPy answers in float64 where the shares are an array."""
    return quiet(lambda x: np.asarray(function(x)).astype(x.dtype if x.dtype.kind == "f" else np.float64))


QUANTILES = (
    *(
        Row(f"quantile, {way}", lambda x, way=way: jt.quantile(x, SHARES, interpolation=way),
            _in_own_dtype(lambda x, way=way: np.quantile(x.astype(np.float64), SHARES, method=way)),
            (lambda t, x, way=way: _quantile(t, x, interpolation=way)) if way in TORCHS else None,
            (((),), *FULL), (*INTS, *FLOATS), loose=4, orders=2 if way in TORCHS else 0)
        for way in (*TORCHS, *NUMPYS)
    ),
    *(
        Row(f"nanquantile of odd numbers, {way}", lambda x, way=way: jt.nanquantile(x, SHARES, 0, method=way),
            _in_own_dtype(lambda x, way=way: np.nanquantile(x.astype(np.float64), SHARES, axis=0, method=way)),
            None, FULL[2:4], FLOATS, "odd", 4, 0)
        for way in ("lower", "higher", "inverted_cdf", "nearest")
    ),
    *along("quantile", lambda x, k: jt.quantile(x, 0.3, k), _np(np.quantile, q=0.3),
           lambda t, x, k: t.quantile(x, 0.3, k), FLOATS, shapes=FULL),
    *along("quantile kept", lambda x, k: jt.quantile(x, SHARES, k, True), None,
           lambda t, x, k: _quantile(t, x, dim=k, keepdim=True), FLOATS, shapes=FULL),
    *along("nanquantile", lambda x, k: jt.nanquantile(x, 0.3, k), _np(np.nanquantile, q=0.3),
           lambda t, x, k: t.nanquantile(x, 0.3, k), FLOATS, shapes=FULL),
    Row("quantile of two axes", lambda x: jt.quantile(x, [[0.5], [0.9]], (0, -1)),
        _in_own_dtype(lambda x: np.quantile(x, [[0.5], [0.9]], axis=(0, -1))), None,
        (((3, 4),), ((2, 3, 2),)), REAL_FLOATS, loose=4, orders=0),
    Row("percentile", lambda x: jt.percentile(x, [5, 50, 100]), _in_own_dtype(lambda x: np.percentile(x, [5, 50, 100])),
        None, FULL, (*INTS, *FLOATS), loose=4, orders=0),
    Row("percentile by weibull", lambda x: jt.percentile(x, 35, -1, method="weibull"),
        _in_own_dtype(lambda x: np.percentile(x, 35, -1, method="weibull")), None, FULL, FLOATS, loose=4, orders=0),
    Row("nanpercentile", lambda x: jt.nanpercentile(x, [5, 50, 100], 0, keepdims=True),
        _in_own_dtype(lambda x: np.nanpercentile(x, [5, 50, 100], 0, keepdims=True)), None, FULL, FLOATS, loose=4,
        orders=0),
    Row("nanpercentile of odd numbers, lower", lambda x: jt.nanpercentile(x, 40, interpolation="lower"),
        _in_own_dtype(lambda x: np.nanpercentile(x, 40, method="lower")), None, FULL, FLOATS, "odd", 4, 0),
)  # fmt: skip

PLACES = (((5,), (3,)), ((5,), ()), ((0,), (3,)), ((1,), (2, 3)), ((40,), (2, 1, 3)))
SEARCHES = (
    *(
        Row(f"searchsorted of {domain}, {side}", lambda x, v, side=side: jt.searchsorted(jt.sort(x)[0], v, side=side),
            lambda x, v, side=side: np.asarray(np.searchsorted(np.sort(x), v, side=side)), None, PLACES, dtypes, domain,
            orders=0)
        for side in ("left", "right") for domain, dtypes in (("few", NO_COMPLEX), ("odd", REAL_FLOATS))
    ),
    Row("searchsorted, right, int32", lambda x, v: jt.searchsorted(jt.sort(x)[0], v, right=True, out_int32=True), None,
        lambda t, x, v: t.searchsorted(t.sort(x)[0], v, right=True, out_int32=True), PLACES[:1], (*INTS, *FLOATS),
        "few", orders=0),
    Row("searchsorted in rows", lambda x, v: jt.searchsorted(jt.sort(x)[0], v), None,
        lambda t, x, v: t.searchsorted(t.sort(x)[0], v), (((2, 5), (2, 3)), ((2, 1, 4), (2, 1, 1)), ((2, 3), (2, 0))),
        (*INTS, *FLOATS), "few", orders=0),
    Row("searchsorted with a sorter", lambda x, v: jt.searchsorted(x, v, sorter=jt.argsort(x)),
        lambda x, v: np.asarray(np.searchsorted(x, v, sorter=np.argsort(x, kind="stable"))), None, PLACES[:2], REALS,
        "any", orders=0),
    Row("bucketize", lambda v, x: jt.bucketize(v, jt.sort(x)[0]), None,
        lambda t, v, x: t.bucketize(v, t.sort(x)[0]), (((3,), (5,)), ((2, 3), (4,))), (*INTS, *FLOATS), "few",
        orders=0),
    Row("bucketize, right, int32", lambda v, x: jt.bucketize(v, jt.sort(x)[0], True, True), None,
        lambda t, v, x: t.bucketize(v, t.sort(x)[0], right=True, out_int32=True), (((3,), (5,)), ((2, 3), (4,))),
        (*INTS, *FLOATS), "few", orders=0),
    *(
        Row(f"digitize{', right' * right}{', falling' * down}",
            lambda v, x, right=right, down=down: jt.digitize(v, jt.sort(x, descending=down)[0], right),
            lambda v, x, right=right, down=down: np.digitize(v, np.sort(x)[:: -1 if down else 1], right), None,
            (((3,), (5,)), ((2, 3), (4,))), (*INTS, *FLOATS), "few", orders=0)
        for right in (False, True) for down in (False, True)
    ),
    Row("isin", jt.isin, np.isin, None, (((5,), (3,)), ((2, 3), (2, 2)), ((), (4,)), ((3,), (0,)), ((0,), (2,))),
        NO_COMPLEX, "any", orders=0),
    Row("not isin", lambda x, y: jt.isin(x, y, invert=True), lambda x, y: np.isin(x, y, invert=True), None,
        (((5,), (3,)), ((2, 3), (2, 2)), ((3,), (0,))), (*BOOL, *WHOLE, *FLOATS), "few", orders=0),
    Row("isin of odd numbers", jt.isin, np.isin, None, (((5,), (9,)), ((2, 3), (2, 2))), REAL_FLOATS, "odd", orders=0),
    Row("isin of what is unique", lambda x, y: jt.isin(x, y, assume_unique=True), np.isin, None, (((5,), (3,)),),
        FLOATS, orders=0),
)  # fmt: skip


def _part(name, k, **options):
    return (
        lambda x: getattr(jt, name)(x, **options)[k],
        quiet(lambda x: getattr(np, name)(x, **options)[k]),
    )


MANY = (((5,),), ((1,),), ((0,),), ((3, 4),), ((1, 2, 1, 2, 3),))
TABLE = (((5,),), ((6, 2),), ((4, 1, 2),), ((3, 0),))
SETS = (
    Row("unique", jt.unique, np.unique, None, MANY, NO_COMPLEX, "few", orders=0),
    Row("unique of odd numbers", jt.unique, np.unique, None, MANY[:2], FLOATS, "odd", orders=0),
    Row("unique, every nan", lambda x: jt.unique(x, equal_nan=False), lambda x: np.unique(x, equal_nan=False), None,
        (((13,),), ((4, 5),)), FLOATS, "odd", orders=0),
    Row("index of unique", *_part("unique", 1, return_index=True), None, MANY, (*BOOL, *REALS), "few", orders=0),
    Row("inverse of unique", *_part("unique", 1, return_inverse=True), None, MANY, (*BOOL, *REALS), "few", orders=0),
    Row("counts of unique", *_part("unique", 1, return_counts=True), None, MANY, (*BOOL, *REALS), "few", orders=0),
    Row("unique rows", lambda x: jt.unique(x, dim=0), lambda x: np.unique(x, axis=0), None, TABLE[:3], WHOLE, "few",
        orders=0),
    Row("unique columns", lambda x: jt.unique(x, axis=-1), lambda x: np.unique(x, axis=-1), None, TABLE[:3], INTS,
        "few", orders=0),
    Row("counts of unique rows", *_part("unique", 1, return_counts=True, axis=0), None, TABLE[:3], INTS, "few",
        orders=0),
    Row("inverse of unique rows", *_part("unique", 1, return_inverse=True, axis=0), None, TABLE[:3], INTS, "few",
        orders=0),
    Row("unique_consecutive", jt.unique_consecutive, None, lambda t, x: t.unique_consecutive(x), MANY,
        (*INTS, *FLOATS), "few", orders=0),
    Row("inverse of unique_consecutive", lambda x: jt.unique_consecutive(x, True)[1], None,
        lambda t, x: t.unique_consecutive(x, return_inverse=True)[1], MANY, INTS, "few", orders=0),
    Row("counts of unique_consecutive", lambda x: jt.unique_consecutive(x, return_counts=True)[1], None,
        lambda t, x: t.unique_consecutive(x, return_counts=True)[1], MANY, INTS, "few", orders=0),
    Row("unique_consecutive rows", lambda x: jt.unique_consecutive(x, dim=0), None,
        lambda t, x: t.unique_consecutive(x, dim=0), TABLE[:3], INTS, "few", orders=0),
    *(
        Row(name, getattr(jt, name), getattr(np, name), None,
            (((5,), (3,)), ((2, 3), (2, 2)), ((3,), (0,)), ((0,), (2,))), (*WHOLE, *FLOATS), domain, orders=0)
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d") for domain in ("few", "any")
    ),
)  # fmt: skip


def _part_of(k, **options):
    return (
        lambda x: jt.histogram(x, **options)[k],
        lambda x: np.asarray(np.histogram(x, **options)[k]),
    )


EDGES = np.array([-2.0, -0.5, 0.0, 1.0, 4.0])
HISTOGRAMS = (
    Row("bincount", lambda x: jt.bincount(x), np.bincount, lambda t, x: t.bincount(x), (((5,),), ((0,),), ((40,),)),
        (*INTS, "uint8"), "small", orders=0),
    Row("bincount, so many", lambda x: jt.bincount(x, minlength=6), lambda x: np.bincount(x, minlength=6), None,
        (((5,),), ((0,),)), (*INTS, "uint8"), "small", orders=0),
    Row("weighted bincount", lambda w: jt.bincount([0, 2, 2, 1], w), lambda w: np.bincount([0, 2, 2, 1], w),
        lambda t, w: t.zeros(3, dtype=w.dtype).index_add(0, t.tensor([0, 2, 2, 1]), w), (((4,),),),
        ("int64", "float64"), layouts=False),
    Row("weighted bincount of float32", lambda w: jt.bincount([0, 2, 2, 1], w), None,
        lambda t, w: t.bincount(t.tensor([0, 2, 2, 1]), w), (((4,),),), ("float32",), orders=0, layouts=False),
    Row("histc", lambda x: jt.histc(x, 5, -3, 4), None, lambda t, x: t.histc(x, 5, -3, 4), FULL, FLOATS, orders=0),
    Row("histc of its own range", lambda x: jt.histc(x, 4), None, lambda t, x: t.histc(x, 4), FULL, FLOATS, orders=0),
    Row("histogram", *_part_of(0), None, (*FULL, ((0,),)), (*INTS, *FLOATS), orders=0),
    Row("edges of histogram", *_part_of(1, bins=4), None, (*FULL, ((0,),)), (*INTS, *FLOATS), orders=0),
    Row("histogram in a range", *_part_of(0, bins=3, range=(-1.5, 2.0)), None, FULL, (*INTS, *FLOATS), orders=0),
    Row("edges in a range", *_part_of(1, bins=3, range=(-1.5, 2.0)), None, FULL, FLOATS, orders=0),
    Row("histogram with edges", *_part_of(0, bins=EDGES), None, (*FULL, ((0,),)), (*INTS, *FLOATS), orders=0),
    Row("histogram with edges of odd numbers", *_part_of(0, bins=EDGES), None, FULL, FLOATS, "odd", orders=0),
    Row("density", *_part_of(0, bins=EDGES, density=True), None, FULL[2:], ("float64",), "unit", orders=0),
    Row("weighted histogram", lambda x, w: jt.histogram(x, 4, weights=w)[0],
        lambda x, w: np.histogram(x, 4, weights=w)[0], None, (((5,), (5,)), ((3, 4), (3, 4))), FLOATS, orders=0,
        loose=4),
)  # fmt: skip

ROWS = (*SORTS, *FIRST, *MEDIANS, *QUANTILES, *SEARCHES, *SETS, *HISTOGRAMS)
