"""Scans, differences and areas beside NumPy's and PyTorch's."""

import numpy as np
import scipy.integrate

import jt_edu as jt
from tests.parity.families.reductions import quiet
from tests.parity.inputs import BOOL, EVERY, FLOATS, INTS, NUMBERS, REALS
from tests.parity.table import FLOATING, NO_COMPLEX, REAL_FLOATS, Row

LINES = (((5,),), ((1,),), ((0,),), ((3, 4),), ((2, 0, 3),), ((1, 2, 1, 2, 3),))
AXES = ((", last axis", -1), (", first axis", 0))


def along(name, ours, numpy, torch, dtypes, domain="any", loose=4.0, orders=2, shapes=LINES):
    """A row for the last axis and one for the first."""
    return tuple(
        Row(
            f"{name}{how}",
            lambda x, axis=axis: ours(x, axis),
            numpy and quiet(lambda x, axis=axis: numpy(x, axis)),
            torch and (lambda t, x, axis=axis: torch(t, x, axis)),
            shapes, dtypes, domain, loose, orders,
        )
        for how, axis in AXES
    )  # fmt: skip


def _np(function, **options):
    return lambda x, axis: function(x, axis=axis, **options)


def _torch(name, part=None):
    def twin(t, x, axis):
        found = getattr(t, name)(x, axis)
        return found if part is None else found[part]

    return twin


def _recurrence(a, b):
    s = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b))
    state = np.zeros(s.shape[:-1], s.dtype)
    for i in range(s.shape[-1]):
        state = a[..., i] * state + b[..., i]
        s[..., i] = state
    return s


def _torch_recurrence(t, a, b):
    state, states = t.zeros(a.shape[:-1], dtype=a.dtype), []
    for i in range(a.shape[-1]):
        state = a[..., i] * state + b[..., i]
        states.append(state)
    return t.stack(states, -1)


SCANS = (
    *along("cumsum", jt.cumsum, _np(np.cumsum), _torch("cumsum"), EVERY),
    *along("cumsum of odd numbers", jt.cumsum, _np(np.cumsum), None, FLOATING, "odd", orders=0),
    *along("cumsum as float64", lambda x, k: jt.cumsum(x, k, "float64"), _np(np.cumsum, dtype=np.float64), None, REALS,
           orders=0),
    *along("cumsum as int8", lambda x, k: jt.cumsum(x, k, "int8"), _np(np.cumsum, dtype=np.int8), None, BOOL, "few",
           orders=0),
    *along("cumprod", jt.cumprod, _np(np.cumprod), _torch("cumprod"), EVERY, "unit"),
    *along("cumprod with zeros", jt.cumprod, _np(np.cumprod), _torch("cumprod"), EVERY, "few"),
    *along("cumprod as float64", lambda x, k: jt.cumprod(x, k, "float64"), _np(np.cumprod, dtype=np.float64), None,
           REALS, "unit", orders=0),
    *along("nancumsum", jt.nancumsum, _np(np.nancumsum), None, REALS, orders=0),
    *along("nancumsum of odd numbers", jt.nancumsum, _np(np.nancumsum), None, FLOATS, "odd", orders=0),
    *along("nancumsum as float64", lambda x, k: jt.nancumsum(x, k, "float64"), _np(np.nancumsum, dtype=np.float64),
           None, FLOATS, "odd", orders=0),
    *along("nancumprod", jt.nancumprod, _np(np.nancumprod), None, REALS, "unit", orders=0),
    *along("nancumprod of odd numbers", jt.nancumprod, _np(np.nancumprod), None, FLOATS, "odd", orders=0),
    *along("nancumprod as float64", lambda x, k: jt.nancumprod(x, k, "float64"), _np(np.nancumprod, dtype=np.float64),
           None, FLOATS, "odd", orders=0),
    *along("logcumsumexp", jt.logcumsumexp, _np(np.logaddexp.accumulate), _torch("logcumsumexp"), FLOATS),
    *along("logcumsumexp of halves", jt.logcumsumexp, _np(np.logaddexp.accumulate), None, ("float16",), orders=0),
    *along("logcumsumexp of odd numbers", jt.logcumsumexp, _np(np.logaddexp.accumulate), None, FLOATS, "odd", orders=0),
    *along("cummax", lambda x, k: jt.cummax(x, k)[0], _np(np.maximum.accumulate), _torch("cummax", 0), NO_COMPLEX),
    *along("cummin", lambda x, k: jt.cummin(x, k)[0], _np(np.minimum.accumulate), _torch("cummin", 0), NO_COMPLEX),
    *along("cummax of odd numbers", lambda x, k: jt.cummax(x, k)[0], _np(np.maximum.accumulate), None, REAL_FLOATS,
           "odd", orders=0),
    *along("cummin of odd numbers", lambda x, k: jt.cummin(x, k)[0], _np(np.minimum.accumulate), None, REAL_FLOATS,
           "odd", orders=0),
    *along("positions of cummax", lambda x, k: jt.cummax(x, k)[1], None, _torch("cummax", 1), (*INTS, "uint8"), "few",
           orders=0),
    *along("positions of cummin", lambda x, k: jt.cummin(x, k)[1], None, _torch("cummin", 1), (*INTS, "uint8"), "few",
           orders=0),
    *along("positions of cummax of odd numbers", lambda x, k: jt.cummax(x, k)[1], None, _torch("cummax", 1), FLOATS,
           "odd", orders=0),
    *along("positions of cummin of odd numbers", lambda x, k: jt.cummin(x, k)[1], None, _torch("cummin", 1), FLOATS,
           "odd", orders=0),
    Row("linear_recurrence", jt.linear_recurrence, _recurrence, _torch_recurrence,
        (((4,), (4,)), ((2, 3), (2, 3)), ((2, 1, 3), (2, 1, 3))), FLOATING, "unit", 4.0),
    Row("linear_recurrence along the first axis", lambda a, b: jt.linear_recurrence(a, b, 0),
        lambda a, b: _recurrence(a.T, b.T).T, None, (((4,), (4,)), ((2, 3), (2, 3))), FLOATS, "unit", 4.0, 0),
    Row("cumsum of one row, no axis named", jt.cumsum, np.cumsum, None, (((5,),), ((0,),)), NUMBERS, loose=4, orders=0),
)  # fmt: skip

PAIRS = (((5,),), ((2,),), ((3, 4),), ((1, 2, 1, 2, 3),))


def _torch_diff(**options):
    return lambda t, x, axis: t.diff(x, dim=axis, **options)


DIFFERENCES = (
    *along("diff", lambda x, k: jt.diff(x, dim=k), _np(np.diff), _torch_diff(), EVERY, loose=1),
    *along("diff, twice", lambda x, k: jt.diff(x, 2, k), _np(np.diff, n=2), _torch_diff(n=2), NUMBERS, "few"),
    *along("diff, no times", lambda x, k: jt.diff(x, 0, k), _np(np.diff, n=0), _torch_diff(n=0), EVERY, loose=1),
    *along("diff, more times than there are", lambda x, k: jt.diff(x, 7, k), _np(np.diff, n=7), None, REALS, "few",
           orders=0),
    *along("diff with a number before", lambda x, k: jt.diff(x, 1, k, prepend=0),
           lambda x, k: np.diff(x, axis=k, prepend=x.dtype.type(0)), None, FLOATING, orders=0, shapes=LINES[:4]),
    *along("diff with itself before and behind", lambda x, k: jt.diff(x, 1, k, x, x),
           lambda x, k: np.diff(x, axis=k, prepend=x, append=x),
           lambda t, x, k: t.diff(x, dim=k, prepend=x, append=x), NUMBERS, loose=1),
    Row("ediff1d", jt.ediff1d, np.ediff1d, None, LINES, NUMBERS, orders=0),
    Row("ediff1d with ends", lambda x, y: jt.ediff1d(x, y, to_begin=y), lambda x, y: np.ediff1d(x, y, y), None,
        (((5,), (2,)), ((2, 3), (1,)), ((1,), (2, 2))), NUMBERS, orders=0),
    *along("gradient", lambda x, k: jt.gradient(x, axis=k), _np(np.gradient),
           lambda t, x, k: t.gradient(x, dim=k)[0], FLOATING, shapes=(((3, 4),), ((5,),), ((3, 2, 3),)),
           loose=8),
    *along("gradient of second order at the ends", lambda x, k: jt.gradient(x, 0.5, axis=k, edge_order=2),
           lambda x, k: np.gradient(x, 0.5, axis=k, edge_order=2),
           lambda t, x, k: t.gradient(x, spacing=0.5, dim=k, edge_order=2)[0], FLOATS,
           shapes=(((5,),), ((3, 4),), ((3, 2, 3),)), loose=8),
    Row("gradient of two axes, the first", lambda x: jt.gradient(x)[0], lambda x: np.gradient(x)[0], None,
        (((3, 4),), ((2, 2, 3),)), FLOATS, orders=0, loose=8),
    Row("gradient of two axes, the second", lambda x: jt.gradient(x, 2.0, 0.5, axis=(0, 1))[1],
        lambda x: np.gradient(x, 2.0, 0.5, axis=(0, 1))[1], None, (((3, 4),), ((2, 2, 3),)), FLOATS, orders=0, loose=8),
    Row("gradient at uneven points", lambda x: jt.gradient(x, np.array([0.0, 1.0, 3.0, 4.5]), axis=-1),
        lambda x: np.gradient(x, [0.0, 1.0, 3.0, 4.5], axis=-1),
        lambda t, x: t.gradient(x, spacing=(t.tensor([0.0, 1.0, 3.0, 4.5], dtype=x.dtype),), dim=-1)[0],
        (((4,),), ((3, 4),)), FLOATS, loose=8, layouts=False),
    Row("gradient at uneven points, second order",
        lambda x: jt.gradient(x, np.array([0.0, 1.0, 3.0, 4.5]), axis=-1, edge_order=2),
        lambda x: np.gradient(x, [0.0, 1.0, 3.0, 4.5], axis=-1, edge_order=2), None, (((4,),), ((3, 4),)), FLOATS,
        loose=8, orders=0, layouts=False),
)  # fmt: skip


def _areas(name, numpy, torch, ours):
    """Unit steps, steps of the same length, points of their own for each row, and points that all rows share."""
    return (
        *along(name, lambda x, k: ours(x, dim=k), _np(numpy), lambda t, x, k: torch(t)(x, dim=k), REAL_FLOATS,
               shapes=PAIRS),
        *along(f"{name} with dx", lambda x, k: ours(x, dx=0.5, dim=k), _np(numpy, dx=0.5),
               lambda t, x, k: torch(t)(x, dx=0.5, dim=k), FLOATS, shapes=PAIRS),
        Row(f"{name} at points", ours, numpy, lambda t, y, x: torch(t)(y, x),
            (((4,), (4,)), ((2, 3), (2, 3)), ((1, 2, 4), (1, 2, 4))), FLOATS, loose=4),
        Row(f"{name} at shared points", ours, numpy, lambda t, y, x: torch(t)(y, x), (((2, 3), (3,)), ((4, 2), (2,))),
            FLOATS, loose=4, layouts=False),
        Row(f"{name} of whole numbers", ours, numpy, None, (((4,),), ((2, 3),)), ("int32", "int64", "uint8"), orders=0),
    )  # fmt: skip


AREAS = (
    *_areas("trapezoid", np.trapezoid, lambda t: t.trapezoid, jt.trapezoid),
    Row("trapz", jt.trapz, np.trapezoid, lambda t, x: t.trapz(x), (((4,),), ((2, 3),)), FLOATS, loose=4),
    *_areas("cumulative_trapezoid", scipy.integrate.cumulative_trapezoid, lambda t: t.cumulative_trapezoid,
            jt.cumulative_trapezoid),
    *along("cumulative_trapezoid from 0", lambda x, k: jt.cumulative_trapezoid(x, dim=k, initial=0),
           lambda x, k: scipy.integrate.cumulative_trapezoid(x, axis=k, initial=0), None, FLOATS, orders=0,
           shapes=PAIRS),
)  # fmt: skip

ROWS = (*SCANS, *DIFFERENCES, *AREAS)
