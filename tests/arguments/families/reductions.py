"""Reductions and scans: axes, kept axes, dtypes and corrections; statistics, and softmax with its relatives."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import BITS, CUBE, HOLES, INTS, X, Y, above, few, some
from tests.arguments.rows import Given, Row, as_numpy, as_torch

KEPT = {"dim": 1, "keepdim": Given(True, dim=0)}
SPREAD = {**KEPT, "unbiased": True, "correction": 2, "ddof": 2}


def _spread(f, x, twin=None) -> list[Row]:
    """var and std: `unbiased`, `correction` and `ddof` are three names of one thing."""
    twin = twin or getattr(np, f.__name__)

    def expected(x, unbiased=False, correction=None, **named):
        ddof = int(unbiased) if correction is None else correction
        return twin(x, **{"ddof": ddof, **named})

    return as_numpy(f, x, twin=expected, words={"correction": "correction"}, **SPREAD)


def _both(name):
    """(the spread, the mean), as var_mean and std_mean answer."""
    return lambda x, ddof, **named: (getattr(np, name)(x, ddof=ddof, **named), np.mean(x, **named))


def _along(f):
    """A function of one axis, for NumPy arrays."""
    return lambda x, axis: np.apply_along_axis(f, axis, x)


ROWS = [
    *(r for f in (jt.sum, jt.prod, jt.mean) for r in as_numpy(f, X, **KEPT, dtype="float32")),
    *(r for f in (jt.nansum, jt.nanprod, jt.nanmean) for r in as_numpy(f, HOLES, **KEPT, dtype="float32")),
    *(r for f in (jt.amax, jt.amin, jt.ptp, jt.argmax, jt.argmin) for r in as_numpy(f, X, **KEPT)),
    *(r for f in (jt.nanmax, jt.nanmin, jt.nanargmax, jt.nanargmin) for r in as_numpy(f, HOLES, **KEPT)),
    *(r for f in (jt.all, jt.any) for r in as_numpy(f, BITS, **KEPT)),
    *as_numpy(jt.max, X, twin=np.max, **KEPT),
    *as_numpy(jt.min, X, twin=np.min, **KEPT),
    *as_numpy(jt.count_nonzero, INTS, **KEPT),
    *(r for f in (jt.var, jt.std) for r in _spread(f, X)),
    *(r for f in (jt.nanvar, jt.nanstd) for r in _spread(f, HOLES)),
    *(r for f in (jt.var_mean, jt.std_mean) for r in _spread(f, X, _both(f.__name__[:3]))),
    *as_torch(jt.aminmax, X, dim=1, keepdim=Given(True, dim=1)),
    *as_torch(jt.logsumexp, X, using={"dim": (0, 1)}, keepdim=True),
    *as_torch(jt.logsumexp, X, dim=1),
    *as_torch(jt.norm, X, p=3, dim=1, keepdim=Given(True, dim=0)),
    *as_numpy(jt.norm, X, twin=np.linalg.norm, ord=1),
    *as_torch(jt.median, X, dim=1, keepdim=Given(True, dim=0)),
    *as_torch(jt.nanmedian, HOLES, dim=1, keepdim=Given(True, dim=0)),
    *as_torch(jt.mode, INTS, dim=0, keepdim=Given(True, dim=0)),
    *as_torch(jt.kthvalue, X, 2, dim=0, keepdim=Given(True, dim=0)),
    *as_numpy(jt.quantile, X, 0.3, **KEPT, interpolation="lower", method="higher", words={"interpolation": "method"}),
    *as_numpy(jt.nanquantile, HOLES, 0.3, **KEPT, interpolation="lower", method="higher",
              words={"interpolation": "method"}),
    *as_numpy(jt.percentile, X, 30, **KEPT, interpolation="lower", method="higher", words={"interpolation": "method"}),
    *as_numpy(jt.nanpercentile, HOLES, 30, **KEPT, interpolation="lower", method="higher",
              words={"interpolation": "method"}),
    *as_numpy(jt.average, X, **KEPT, weights=above(3, 4), returned=True),
    *as_numpy(jt.cov, X, y=Y, rowvar=False, bias=True, ddof=0, fweights=few(4) + 1, aweights=above(4), correction=2),
    *as_numpy(jt.corrcoef, X, y=Y, rowvar=False),
    # scans
    *as_numpy(jt.cumsum, X, dim=0, dtype=Given("float32", dim=0)),
    *as_numpy(jt.cumprod, X, dim=0, dtype=Given("float32", dim=0)),
    *as_numpy(jt.nancumsum, HOLES, dim=0, dtype=Given("float32", dim=0)),
    *as_numpy(jt.nancumprod, HOLES, dim=0, dtype=Given("float32", dim=0)),
    *as_torch(jt.cummax, X, dim=0),
    *as_torch(jt.cummin, X, dim=0),
    *as_torch(jt.logcumsumexp, X, dim=0),
    *as_numpy(jt.linear_recurrence, above(3, 3), above(3, 3, seed=1), dim=0,
              twin=lambda a, b, axis: np.stack([b[0], a[1] * b[0] + b[1], a[2] * (a[1] * b[0] + b[1]) + b[2]])),
    # neighbours
    *as_numpy(jt.diff, X, n=2, dim=0, prepend=Y, append=Y),
    *as_numpy(jt.ediff1d, X, to_end=some(2), to_begin=some(3)),
    *as_numpy(jt.gradient, CUBE, dim=1, edge_order=Given(2, dim=2)),
    *as_numpy(jt.trapezoid, X, x=np.cumsum(above(4)), dx=0.5, dim=0),
    *as_torch(jt.cumulative_trapezoid, X, x=np.cumsum(above(4)), dx=0.5, dim=0),
    *as_numpy(jt.cumulative_trapezoid, X, initial=0, twin=lambda y, initial: np.concatenate(
        [np.zeros((3, 1)), np.cumsum((y[:, 1:] + y[:, :-1]) / 2, axis=1)], axis=1)),
    # counts
    *as_numpy(jt.bincount, few(9), weights=some(9), minlength=7),
    *as_torch(jt.histc, X, bins=7, min=Given(-1, max=1), max=Given(1, min=-1)),
    *as_numpy(jt.histogram, X, bins=3, range=(-1, 2), weights=above(3, 4), density=True),
    # softmax and its relatives
    *as_torch(jt.softmax, X, dim=0, dtype=Given("float32", dim=0)),
    *as_torch(jt.log_softmax, X, dim=0, dtype=Given("float32", dim=0)),
    *as_torch(jt.softmin, X, dim=0, dtype=Given("float32", dim=0)),
    *as_torch(jt.nn.normalize, X, p=3.0, dim=0, eps=5.0),
    *as_torch(jt.nn.cosine_similarity, X, Y, dim=0, eps=5.0),
    *as_torch(jt.nn.pairwise_distance, X, Y, p=3.0, eps=0.5, keepdim=True),
    *as_torch(jt.cdist, X, Y, p=3.0),
]  # fmt: skip
