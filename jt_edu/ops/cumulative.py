"""Scans: each number of the answer depends on all before it.

    cumsum, cumprod, cummax, cummin, logcumsumexp, nancumsum, nancumprod, linear_recurrence

The gradient of a sum is a running sum from the end, that of a maximum goes to the number that was largest. Products and
logcumsumexp have theirs from the linear recurrence

    s[i] = a[i] * s[i - 1] + b[i]

run backwards; it is its own gradient, so that derivatives of any order exist. It divides by nothing: the gradient of a
product is right where there are zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jt_edu.base.dtypes import as_dtype, float_of, int64, promote, sum_of
from jt_edu.base.errors import ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import Rule
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import same_words
from jt_edu.ops.custom_kernel import Rows, kernel
from jt_edu.ops.dtype_rules import as_floats, check_order
from jt_edu.ops.nanreduce import without_nan
from jt_edu.ops.pad import pad
from jt_edu.ops.row_view import as_rows, from_rows, one_axis, picked, ranked
from jt_edu.ops.transpose import flip
from jt_edu.ops.var_function import var_function
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "linear_recurrence", "logcumsumexp", "nancumprod", "nancumsum"]

# what numbers of a kind are added up in: 64 bits
WIDE = {"b": "np.int64", "i": "np.int64", "u": "np.uint64", "f": "np.float64", "c": "np.complex128"}
LINEAR = """
    def kernel(lo, hi, a, b, out):
        for row in range(lo, hi):
            s = {wide}(0)
            for i in range(a.shape[1]):
                s = a[row, i] * s + b[row, i]
                out[row, i] = s
"""
RUNNING = """
    def kernel(lo, hi, x, out):
        n = x.shape[1]
        for row in range(lo, hi - 3, 4):  # a total waits for the one before it, but not for those of other rows
            a = b = c = d = {wide}({start})
            for i in range(n):
                a, b, c, d = a {sign} x[row, i], b {sign} x[row + 1, i], c {sign} x[row + 2, i], d {sign} x[row + 3, i]
                out[row, i], out[row + 1, i], out[row + 2, i], out[row + 3, i] = a, b, c, d
        for row in range(hi - (hi - lo) % 4, hi):
            total = {wide}({start})
            for i in range(n):
                total {sign}= x[row, i]
                out[row, i] = total
"""
LOGCUMSUMEXP = kernel(
    "logcumsumexp",
    """
    def kernel(lo, hi, x, out):
        for row in range(lo, hi):
            top, total = -np.inf, 0.0  # the sum so far is total * exp(top)
            for i in range(x.shape[1]):
                if x[row, i] > top:
                    total = total * math.exp(top - x[row, i]) + 1.0
                    top = x[row, i] * 1.0
                elif x[row, i] == top:
                    total += 1.0
                else:
                    total += math.exp(x[row, i] - top)
                out[row, i] = top + math.log(total)
    """,
    (lambda out, dout, x: _shrunk(x, out) * _backwards(_shrunk(before(out, 0), out), dout),),
    weight=20,
    kind=Rows,
    threads=gpu_rows.scan(
        (("np.float64", "np.float64(-np.inf)"), ("np.float64", "np.float64(0)")),  # a sum is s1 * exp(s0)
        "np.float64(x[row, i]), np.float64(1)",
        """
            if s0 > p0:
                return s0, p1 * math.exp(p0 - s0) + s1
            if s0 == p0:
                return s0, p1 + s1
            return p0, p1 + s1 * math.exp(s0 - p0)
        """,
        "out[row, i] = s0 + math.log(s1)",
    ),
)
BEST = """
    def kernel(lo, hi, x, out):
        for row in range(lo, hi):
            best = 0
            for i in range(x.shape[1]):
                here = x[row, i]
                if here != here or (x[row, best] == x[row, best] and here {} x[row, best]):
                    best = i
                out[row, i] = best
    """
FURTHER = "return (s0, s1) if s0 != s0 or (p0 == p0 and s0 {} p0) else (p0, p1)"


def _best_kernel(name: str, at: str) -> Callable[..., Var]:
    """Positions of the best so far; on a GPU a thread knows a number and where it is."""
    states = ("x.dtype", "x[row, 0]"), ("np.int64", "np.int64(0)")
    threads = gpu_rows.scan(states, "x[row, i], np.int64(i)", FURTHER.format(at), "out[row, i] = s1")
    return kernel(name, BEST.format(at), kind=Rows, threads=threads)


LARGEST, SMALLEST = _best_kernel("cummax", ">="), _best_kernel("cummin", "<=")


@cache
def _linear(kind: str) -> Callable[..., Var]:
    """The recurrence of numbers of a kind."""
    rules = (
        lambda out, dout, a, b: _backwards(a, dout) * before(out, 0).conj(),
        lambda out, dout, a, b: _backwards(a, dout),
    )
    wide = WIDE[kind]
    join, first = "return p0 * s0, s0 * p1 + s1", f"{wide}(a[row, i]), {wide}(b[row, i])"
    states = (wide, f"{wide}(1)"), (wide, f"{wide}(0)")
    threads = gpu_rows.scan(states, first, join, "out[row, i] = s1", "a, b")
    return kernel("linear_recurrence", LINEAR.format(wide=wide), rules, kind=Rows, threads=threads)


@cache
def _cumsum(kind: str) -> Callable[..., Var]:
    """The running sum of numbers of a kind."""
    rule = (lambda out, dout, x: flip(_over_rows(_cumsum, flip(dout, -1)), -1),)
    return _running("cumsum", kind, 0, "+", rule)


@cache
def _cumprod(kind: str) -> Callable[..., Var]:
    """The running product of numbers of a kind."""
    rule = (lambda out, dout, x: _backwards(x, dout) * before(out, 1).conj(),)
    return _running("cumprod", kind, 1, "*", rule)


def _running(name: str, kind: str, start: int, sign: str, rule: tuple[Rule, ...]) -> Callable[..., Var]:
    wide = WIDE[kind]
    states = ((wide, f"{wide}({start})"),)
    threads = gpu_rows.scan(states, f"{wide}(x[row, i])", f"return p0 {sign} s0", "out[row, i] = s0")
    return kernel(name, RUNNING.format(wide=wide, start=start, sign=sign), rule, kind=Rows, threads=threads)


def _over_rows(scan: Callable[[str], Callable[..., Var]], x: Var) -> Var:
    return scan(x.dtype.kind)(x, shape=x.shape, dtype=x.dtype, span=len(x))


def _recurrence(a: Var, b: Var) -> Var:
    return _linear(a.dtype.kind)(a, b, shape=a.shape, dtype=a.dtype, span=len(a))


def before(x: Var, first: float) -> Var:
    """Each number's neighbour before it along the last axis; `first` before the first."""
    return pad(x, (1, -1), value=first)


def _backwards(a: Var, d: Var) -> Var:
    """s[i] = d[i] + conj(a[i + 1]) * s[i + 1]: what a change of the i-th state means for all later ones."""
    after = flip(pad(a, (-1, 1)), -1).conj()
    return flip(_recurrence(after, flip(d, -1)), -1)


def _shrunk(x: Var, out: Var) -> Var:
    """exp(x - out), at most 1; 1 where both are equal, so that inf - inf does not arise."""
    return (x - out).where_not(x == out, 0).apply(f.EXP)


@var_function(castable, template)
def cumsum(x: Any, dim: Any = None, dtype: Any = None) -> Var:
    """Running sum along an axis: out[i] = x[0] + ... + x[i], accumulated in 64 bits.

    Args:
        dim: the axis; it may be left out where there is but one.
        dtype: of the result; by default that of x, and 64 bits for whole numbers and bools, as in NumPy.

    Example:
        >>> cumsum(array([1, 2, 3])).numpy()
        array([1, 3, 6])
    """
    return _accumulated("cumsum", _cumsum, as_var(x), dim, dtype)


@var_function(castable, template)
def cumprod(x: Any, dim: Any = None, dtype: Any = None) -> Var:
    """Running product along an axis: out[i] = x[0] * ... * x[i]; the arguments are those of `cumsum`.

    Example:
        >>> cumprod(array([1, 2, 3])).numpy()
        array([1, 2, 6])
    """
    return _accumulated("cumprod", _cumprod, as_var(x), dim, dtype)


def _accumulated(name: str, scan: Callable[[str], Callable[..., Var]], x: Var, dim: Any, dtype: Any) -> Var:
    axis = one_axis(name, dim, x.ndim)
    v = x.cast(sum_of(x.dtype) if dtype is None else as_dtype(dtype))
    return from_rows(_over_rows(scan, as_rows(v, (axis,))), v.shape, axis)


@var_function(template)
def nancumsum(x: Any, dim: Any = None, dtype: Any = None) -> Var:
    """Running sum in which nan counts as 0.

    Example:
        >>> nancumsum(array([1.0, np.nan, 3.0])).numpy()
        array([1., 1., 4.], dtype=float32)
    """
    return _accumulated("nancumsum", _cumsum, without_nan(as_var(x), 0), dim, dtype)


@var_function(template)
def nancumprod(x: Any, dim: Any = None, dtype: Any = None) -> Var:
    """Running product in which nan counts as 1.

    Example:
        >>> nancumprod(array([2.0, np.nan, 3.0])).numpy()
        array([2., 2., 6.], dtype=float32)
    """
    return _accumulated("nancumprod", _cumprod, without_nan(as_var(x), 1), dim, dtype)


@var_function(template)
def logcumsumexp(x: Any, dim: Any = None) -> Var:
    """log(exp(x[0]) + ... + exp(x[i])) along an axis, without overflow.

    Example:
        >>> logcumsumexp(array([1000.0, 0.0])).numpy()
        array([1000., 1000.], dtype=float32)
    """
    v = as_var(x)
    check_order("logcumsumexp", v)
    at = one_axis("logcumsumexp", dim, v.ndim)
    rows = as_rows(v.cast(float_of(v.dtype)), (at,))
    return from_rows(LOGCUMSUMEXP(rows, shape=rows.shape, dtype=rows.dtype, span=len(rows)), v.shape, at)


@var_function(ranked, template)
def cummax(x: Any, dim: Any = None) -> tuple[Var, Var]:
    """(values, positions) of the largest number so far along an axis, the last of equal ones; from a nan on, nan.

    Example:
        >>> [v.tolist() for v in cummax(array([1, 3, 2, 3]))]
        [[1, 3, 3, 3], [0, 1, 1, 3]]
    """
    return _best("cummax", LARGEST, as_var(x), dim)


@var_function(ranked, template)
def cummin(x: Any, dim: Any = None) -> tuple[Var, Var]:
    """(values, positions) of the smallest number so far along an axis, the last of equal ones; from a nan on, nan.

    Example:
        >>> [v.tolist() for v in cummin(array([2, 3, 1, 2]))]
        [[2, 2, 1, 1], [0, 0, 2, 2]]
    """
    return _best("cummin", SMALLEST, as_var(x), dim)


def _best(name: str, scan: Callable[..., Var], x: Var, dim: Any) -> tuple[Var, Var]:
    check_order(name, x)
    axis = one_axis(name, dim, x.ndim)
    rows = as_rows(x, (axis,))
    where = best_so_far(scan, rows)
    return from_rows(picked(rows, where), x.shape, axis), from_rows(where, x.shape, axis)


def best_so_far(scan: Callable[..., Var], rows: Var) -> Var:
    """Position of the best number of a row so far: `scan` is LARGEST or SMALLEST."""
    return scan(rows, shape=rows.shape, dtype=int64, span=len(rows))


@template
@same_words
def linear_recurrence(a: Any, b: Any, dim: int = -1) -> Var:
    """s[i] = a[i] * s[i - 1] + b[i] along an axis, with s = 0 before the first.

    A running mean (a = 0.9, b = 0.1 x), a filter, a discounted return (backwards), a state space model.

    Raises:
        ShapeError: a and b have different shapes.

    Example:
        >>> linear_recurrence(array([0.5, 0.5, 0.5]), array([1.0, 1.0, 1.0])).numpy()
        array([1.  , 1.5 , 1.75], dtype=float32)
    """
    u, v = as_floats(as_var(a)), as_floats(as_var(b))
    if u.shape != v.shape:
        raise ShapeError(
            "linear_recurrence takes a and b of the same shape", f"{u.shape} and {v.shape}", "a.broadcast_to"
        )
    axis = one_axis("linear_recurrence", dim, u.ndim)
    dtype = promote(u.dtype, v.dtype)
    rows = _recurrence(as_rows(u.cast(dtype), (axis,)), as_rows(v.cast(dtype), (axis,)))
    return from_rows(rows, u.shape, axis)
