"""Reductions and statistics beside NumPy's and PyTorch's: over all, over one axis, over several that are kept."""

import math
import warnings

import numpy as np

import jt_edu as jt
from tests.parity.inputs import BOOL, COMPLEX, EVERY, FLOATS, INTS, NUMBERS, REALS
from tests.parity.table import FLOATING, NO_COMPLEX, REAL_FLOATS, Row

FULL = (((),), ((1,),), ((3, 4),), ((1, 2, 1, 2, 3),))
LONG = (((5,),), ((1,),), ((3, 4),), ((1, 2, 1, 2, 3),))
WIDE = (((3, 4),), ((1, 1),), ((2, 1, 3, 1, 2),))
EMPTY = {None: (((0,),), ((2, 0, 3),)), -1: (((0,),), ((2, 0),), ((0, 3),)), (0, -1): (((0, 3),), ((2, 0, 3),))}
OVER = (("", None, False, FULL), (", last axis", -1, False, LONG), (", two axes kept", (0, -1), True, WIDE))


def quiet(function):
    """NumPy's twin, without its warnings about empty slices and nan."""

    def twin(*arrays):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arrays)

    return twin


def dims(x, axes):
    """Axes as PyTorch wants them, where it does not know None."""
    return tuple(range(x.ndim)) if axes is None else axes


def over(name, ours, numpy, torch, dtypes, domain="any", loose=4.0, orders=2, empty=True):
    """A row for each way of naming axes."""
    return tuple(
        Row(
            f"{name}{how}",
            lambda x, axes=axes, keep=keep: ours(x, axes, keep),
            numpy and quiet(lambda x, axes=axes, keep=keep: numpy(x, axes, keep)),
            torch and (lambda t, x, axes=axes, keep=keep: torch(t, x, axes, keep)),
            (*shapes, *(EMPTY[axes] if empty else ())), dtypes, domain, loose, orders,
        )
        for how, axes, keep, shapes in OVER
    )  # fmt: skip


def _np(name, **options):
    return lambda x, axes, keep: getattr(np, name)(x, axis=axes, keepdims=keep, **options)


def _jt(name, **options):
    return lambda x, axes, keep: getattr(jt, name)(x, axes, keep, **options)


def _torch(name, **options):
    return lambda t, x, axes, keep: getattr(t, name)(x, dim=dims(x, axes), keepdim=keep, **options)


def _torch_prod(t, x, axes, keep):
    for k in sorted((a % x.ndim for a in (axes if isinstance(axes, tuple) else (axes,))), reverse=True) if axes else ():
        x = t.prod(x, k, keepdim=keep)
    return t.prod(x) if axes is None else x


def _torch_norm(p):
    return lambda t, x, axes, keep: t.linalg.vector_norm(x, p, dims(x, axes), keep)


def _float(x):
    """Whole numbers as NumPy's linalg takes them."""
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _np_norm(p):
    def norm(x, axes, keep):
        size = np.abs(_float(x))
        if math.isinf(p):
            return (np.max if p > 0 else np.min)(size, axis=axes, keepdims=keep)
        total = np.sum((size != 0).astype(size.dtype) if p == 0 else size**p, axis=axes, keepdims=keep)
        return total if p == 0 else total ** (1 / p)

    return norm


def _np_logsumexp(x, axes, keep):
    x = _float(x)
    if x.dtype.kind == "c":  # of which NumPy's logaddexp knows nothing
        return np.log(np.exp(x).sum(axis=axes, keepdims=keep))
    return np.logaddexp.reduce(x, axis=axes, keepdims=keep)


def _torch_logsumexp(t, x, axes, keep):
    return t.logsumexp(x, dims(x, axes), keep)


def _torch_var(name, correction, part=None):
    def twin(t, x, axes, keep):
        found = getattr(t, name)(x, dims(x, axes), correction=correction, keepdim=keep)
        return found if part is None else found[part]

    return twin


SUMS = (
    *over("sum", _jt("sum"), _np("sum"), _torch("sum"), EVERY),
    *over("sum of odd numbers", _jt("sum"), _np("sum"), None, FLOATING, "odd", orders=0),
    *over("sum as float64", _jt("sum", dtype="float64"), _np("sum", dtype=np.float64), None, REALS, orders=0),
    *over("sum as int8", _jt("sum", dtype="int8"), _np("sum", dtype=np.int8), None, (*BOOL, *INTS), "few", orders=0),
    *over("prod", _jt("prod"), _np("prod"), _torch_prod, EVERY, "unit"),
    *over("prod with zeros", _jt("prod"), _np("prod"), _torch_prod, EVERY, "few"),
    *over("prod as float64", _jt("prod", dtype="float64"), _np("prod", dtype=np.float64), None, REALS, "unit",
          orders=0),
    *over("mean", _jt("mean"), _np("mean"), _torch("mean"), EVERY),
    *over("mean as float64", _jt("mean", dtype="float64"), _np("mean", dtype=np.float64), None, REALS, orders=0),
    *over("any", _jt("any"), _np("any"), None, EVERY, "few", orders=0),
    *over("all", _jt("all"), _np("all"), None, EVERY, "few", orders=0),
    *over("logsumexp", _jt("logsumexp"), _np_logsumexp, _torch_logsumexp, FLOATING, empty=False),
    *over("logsumexp of odd numbers", _jt("logsumexp"), _np_logsumexp, None, FLOATS, "odd", orders=0, empty=False),
)  # fmt: skip

EXTREMES = (
    *(
        row
        for name, plain in (("max", "max"), ("amax", "max"), ("min", "min"), ("amin", "min"))
        for row in over(name, _jt(name), _np(plain), _torch(f"a{plain}"), NO_COMPLEX, "any", 1, empty=False)
    ),
    *over("max of few", _jt("max"), _np("max"), None, NO_COMPLEX, "few", 1, 0, empty=False),
    *over("min of few", _jt("min"), _np("min"), None, NO_COMPLEX, "few", 1, 0, empty=False),
    *over("max of odd numbers", _jt("max"), _np("max"), None, REAL_FLOATS, "odd", 1, 0, empty=False),
    *over("min of odd numbers", _jt("min"), _np("min"), None, REAL_FLOATS, "odd", 1, 0, empty=False),
    *over("ptp", _jt("ptp"), _np("ptp"), lambda t, x, a, k: t.amax(x, dims(x, a), k) - t.amin(x, dims(x, a), k),
          REALS, "any", 1, empty=False),
    *over("the first of aminmax", lambda x, a, k: jt.aminmax(x, a, k)[0], _np("min"), None, NO_COMPLEX, "any", 1, 0,
          empty=False),
    *over("the second of aminmax", lambda x, a, k: jt.aminmax(x, a, k)[1], _np("max"), None, NO_COMPLEX, "any", 1, 0,
          empty=False),
)  # fmt: skip

SPREADS = (
    *over("var", _jt("var"), _np("var"), _torch_var("var", 0), NUMBERS),
    *over("std", _jt("std"), _np("std"), _torch_var("std", 0), NUMBERS),
    *over("unbiased var", _jt("var", unbiased=True), _np("var", ddof=1), None, NUMBERS, orders=0),
    *over("unbiased std", _jt("std", unbiased=True), _np("std", ddof=1), None, NUMBERS, orders=0),
    *over("var with a correction", _jt("var", correction=1.5), _np("var", ddof=1.5), None, FLOATS, orders=0),
    *over("var with ddof", _jt("var", ddof=1), _np("var", ddof=1), None, FLOATS, orders=0),
    *over("std with ddof", _jt("std", ddof=2), _np("std", ddof=2), None, FLOATS, orders=0),
    *over("std with a correction", _jt("std", correction=1), _np("std", ddof=1), None, FLOATS, orders=0),
    *over("the var of var_mean", lambda x, a, k: jt.var_mean(x, a, k, True)[0], _np("var", ddof=1), None, NUMBERS,
          orders=0),
    *over("the mean of var_mean", lambda x, a, k: jt.var_mean(x, a, k)[1], _np("mean"), None, NUMBERS, orders=0),
    *over("the std of std_mean", lambda x, a, k: jt.std_mean(x, a, k, ddof=1)[0], _np("std", ddof=1), None, NUMBERS,
          orders=0),
    *over("the mean of std_mean", lambda x, a, k: jt.std_mean(x, a, k)[1], _np("mean"), None, NUMBERS, orders=0),
)  # fmt: skip

NORMS = (
    *(
        row
        for p in (0, 1, 2, 3, 0.5, -1, -2)
        for row in over(
            f"norm of order {p}", lambda x, a, k, p=p: jt.norm(x, p, a, k), _np_norm(p), _torch_norm(p),
            FLOATING if p > 0 else (*FLOATS, *COMPLEX), "unit", 8, 0 if p == 0 else 2, empty=p > 0,
        )
    ),
    *(
        row
        for p in (math.inf, -math.inf)
        for row in over(
            f"norm of order {p}", lambda x, a, k, p=p: jt.norm(x, p, a, k), _np_norm(p), _torch_norm(p), FLOATING,
            "any", 1, empty=False,
        )
    ),
    *over("the fro norm", lambda x, a, k: jt.norm(x, "fro", a, k), _np_norm(2), None, NUMBERS, orders=0),
)  # fmt: skip

NAN = (
    *over("nansum", _jt("nansum"), _np("nansum"), _torch("nansum"), (*BOOL, *REALS), "any"),
    *over("nansum of odd numbers", _jt("nansum"), _np("nansum"), None, REAL_FLOATS, "odd", orders=0),
    *over("nansum as float64", _jt("nansum", dtype="float64"), _np("nansum", dtype=np.float64), None, FLOATS, "odd",
          orders=0),
    *over("nanprod", _jt("nanprod"), _np("nanprod"), _torch_prod, REALS, "unit"),
    *over("nanprod of odd numbers", _jt("nanprod"), _np("nanprod"), None, FLOATS, "odd", orders=0),
    *over("nanprod as float64", _jt("nanprod", dtype="float64"), _np("nanprod", dtype=np.float64), None, FLOATS, "odd",
          orders=0),
    *over("nanmean", _jt("nanmean"), _np("nanmean"), _torch("nanmean"), REALS, "any"),
    *over("nanmean of odd numbers", _jt("nanmean"), _np("nanmean"), None, REAL_FLOATS, "odd", orders=0),
    *over("nanmean as float64", _jt("nanmean", dtype="float64"), _np("nanmean", dtype=np.float64), None, FLOATS, "odd",
          orders=0),
    *over("nanvar", _jt("nanvar"), _np("nanvar"), _torch_var("var", 0), REALS, empty=False),
    *over("nanvar of odd numbers", _jt("nanvar"), _np("nanvar"), None, FLOATS, "odd", orders=0, empty=False),
    *over("nanvar with ddof", _jt("nanvar", ddof=1), _np("nanvar", ddof=1), None, FLOATS, "odd", orders=0, empty=False),
    *over("nanstd", _jt("nanstd"), _np("nanstd"), _torch_var("std", 0), REALS, empty=False),
    *over("nanstd of odd numbers", _jt("nanstd"), _np("nanstd"), None, FLOATS, "odd", orders=0, empty=False),
    *over("unbiased nanstd", _jt("nanstd", unbiased=True), _np("nanstd", ddof=1), None, FLOATS, "any", orders=0,
          empty=False),
    *over("nanmax", _jt("nanmax"), _np("nanmax"), _torch("amax"), REALS, "any", 1, empty=False),
    *over("nanmax of odd numbers", _jt("nanmax"), _np("nanmax"), None, REAL_FLOATS, "odd", 1, 0, empty=False),
    *over("nanmin", _jt("nanmin"), _np("nanmin"), _torch("amin"), REALS, "any", 1, empty=False),
    *over("nanmin of odd numbers", _jt("nanmin"), _np("nanmin"), None, REAL_FLOATS, "odd", 1, 0, empty=False),
)  # fmt: skip


def _at(name, how, axis, keep, shapes, domain, dtypes):
    """Positions along one axis, or in all."""
    return Row(
        f"{name} of {domain}{how}", lambda x: getattr(jt, name)(x, axis, keep),
        quiet(lambda x: getattr(np, name)(x, axis=axis, keepdims=keep)), None, shapes, dtypes, domain, 1, 0,
    )  # fmt: skip


WAYS = (
    ("", None, False, FULL),
    (", kept", None, True, FULL[1:]),
    (", first axis", 0, False, LONG),
    (", last axis kept", -1, True, LONG),
)
POSITIONS = tuple(
    _at(name, *way, domain, dtypes)
    for name in ("argmax", "argmin")
    for way in WAYS
    for domain, dtypes in (("few", NO_COMPLEX), ("odd", REAL_FLOATS))
) + tuple(
    _at(name, *way, domain, dtypes)
    for name in ("nanargmax", "nanargmin")
    for way in WAYS
    for domain, dtypes in (("few", REALS), ("any", FLOATS))
)


def _weighted(x, w):
    return jt.average(x, weights=w * w + 1)


def _np_weighted(x, w):
    return np.average(x, weights=w * w + 1)


STATISTICS = (
    *over("average", lambda x, a, k: jt.average(x, a, keepdims=k), _np("average"), _torch("mean"), REALS, empty=False),
    Row("weighted average", _weighted, _np_weighted,
        lambda t, x, w: (x * (w * w + 1)).sum() / (w * w + 1).sum(), (((3,), (3,)), ((2, 3), (2, 3))), FLOATS, loose=4),
    Row("weighted average of an axis", lambda x, w: jt.average(x, 1, w * w + 1, keepdims=True),
        lambda x, w: np.average(x, axis=1, weights=w * w + 1, keepdims=True),
        lambda t, x, w: (x @ (w * w + 1) / (w * w + 1).sum()).unsqueeze(1), (((2, 3), (3,)), ((4, 1), (1,))), FLOATS,
        loose=4, layouts=False),
    Row("the weights that an average returns", lambda x, w: jt.average(x, 0, w * w + 1, returned=True)[1],
        lambda x, w: np.average(x, axis=0, weights=w * w + 1, returned=True)[1], None, (((2, 3), (2, 3)),), FLOATS,
        orders=0, loose=4),
    Row("cov", jt.cov, lambda x: np.cov(x, dtype=x.dtype), lambda t, x: t.cov(x),
        (((5,),), ((3, 4),), ((1, 3),), ((2, 2),)), (*FLOATS, *COMPLEX), loose=8),
    Row("cov of whole numbers", jt.cov, np.cov, None, (((5,),), ((3, 4),)), INTS, loose=8, orders=0),
    Row("cov of columns", lambda x: jt.cov(x, rowvar=False), lambda x: np.cov(x, rowvar=False, dtype=x.dtype), None,
        (((3, 4),), ((4, 2),)), FLOATS, loose=8, orders=0),
    Row("biased cov", lambda x: jt.cov(x, bias=True), lambda x: np.cov(x, bias=True, dtype=x.dtype), None,
        (((3, 4),), ((4, 2),)), FLOATS, loose=8, orders=0),
    Row("cov with ddof", lambda x: jt.cov(x, ddof=0), lambda x: np.cov(x, ddof=0, dtype=x.dtype),
        lambda t, x: t.cov(x, correction=0), (((3, 4),), ((4, 2),)), FLOATS, loose=8),
    Row("cov with a correction", lambda x: jt.cov(x, correction=2), lambda x: np.cov(x, ddof=2, dtype=x.dtype),
        lambda t, x: t.cov(x, correction=2), (((3, 4),), ((4, 3),)), FLOATS, loose=8),
    Row("cov of two", jt.cov, lambda x, y: np.cov(x, y, dtype=x.dtype), None,
        (((5,), (5,)), ((2, 4), (3, 4)), ((2, 4), (4,))), FLOATS, loose=8, orders=0, layouts=False),
    Row("cov with weights", lambda x: jt.cov(x, fweights=[1, 3, 0, 2], aweights=[0.5, 1.0, 2.0, 0.25]),
        lambda x: np.cov(x, fweights=[1, 3, 0, 2], aweights=[0.5, 1.0, 2.0, 0.25]).astype(x.dtype),
        lambda t, x: t.cov(x, fweights=t.tensor([1, 3, 0, 2]), aweights=t.tensor([0.5, 1.0, 2.0, 0.25])),
        (((4,),), ((3, 4),)), FLOATS, loose=8, layouts=False),
    Row("corrcoef", jt.corrcoef, lambda x: np.corrcoef(x, dtype=x.dtype), lambda t, x: t.corrcoef(x),
        (((5,),), ((3, 4),), ((2, 5),)), FLOATS, loose=8, orders=1),
    Row("corrcoef of complex numbers", jt.corrcoef, lambda x: np.corrcoef(x, dtype=x.dtype), None,
        (((3, 4),), ((2, 5),)), COMPLEX, loose=8, orders=0),
    Row("corrcoef of columns", lambda x: jt.corrcoef(x, rowvar=False),
        lambda x: np.corrcoef(x, rowvar=False, dtype=x.dtype), None, (((5, 3),),), FLOATS, loose=8, orders=0),
)  # fmt: skip


def _np_softmax(x):
    e = np.exp(_float(x) - np.max(x, axis=-1, keepdims=True)) if x.shape[-1] else _float(x)
    return e / e.sum(-1, keepdims=True)


def _of_axis(name, axis):
    return lambda t, x: getattr(t.nn.functional, name)(x, axis)


SOFT = (((5,),), ((1,),), ((3, 4),), ((2, 1, 3),), ((1, 2, 1, 2, 3),), ((0, 3),))
SOFTMAX = (
    Row("softmax", jt.softmax, quiet(_np_softmax), _of_axis("softmax", -1), SOFT, NO_COMPLEX, loose=4),
    Row("softmax of the first axis", lambda x: jt.softmax(x, 0), None, _of_axis("softmax", 0), SOFT, FLOATS, loose=4),
    Row("softmax as float64", lambda x: jt.softmax(x, -1, "float64"), None,
        lambda t, x: t.nn.functional.softmax(x, -1, dtype=t.float64), SOFT, (*INTS, *FLOATS), loose=4, orders=0),
    Row("softmin", jt.softmin, None, _of_axis("softmin", -1), SOFT, FLOATS, loose=4),
    Row("softmin of the first axis", lambda x: jt.softmin(x, 0), None, _of_axis("softmin", 0), SOFT, FLOATS, loose=4),
    Row("log_softmax", jt.log_softmax, quiet(lambda x: np.log(_np_softmax(x))), _of_axis("log_softmax", -1), SOFT,
        REAL_FLOATS, "unit", loose=4),
    Row("log_softmax of the first axis", lambda x: jt.log_softmax(x, 0), None, _of_axis("log_softmax", 0), SOFT,
        FLOATS, loose=4),
    Row("log_softmax as float64", lambda x: jt.log_softmax(x, -1, "float64"), None,
        lambda t, x: t.nn.functional.log_softmax(x, -1, dtype=t.float64), SOFT, FLOATS, loose=4, orders=0),
    Row("softmax of odd numbers", jt.softmax, None, _of_axis("softmax", -1), SOFT, FLOATS, "odd", orders=0),
    Row("log_softmax of odd numbers", jt.log_softmax, None, _of_axis("log_softmax", -1), SOFT, FLOATS, "odd", orders=0),
)  # fmt: skip

ROWS = (*SUMS, *EXTREMES, *SPREADS, *NORMS, *NAN, *POSITIONS, *STATISTICS, *SOFTMAX)
