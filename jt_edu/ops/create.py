"""Create: Vars from numbers, from nothing, and from loop counters.

`zeros`, `arange`, `eye` and their like take no memory until they are stored: they are numbers and counters of the
graph, and fuse into whatever reads them.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, overload

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.dtypes import PYTHON, as_dtype, complex64, float32, float64, int64, plain, uint64
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import check_shape, filled, shared_source, short, source
from jt_edu.ir.meta_ops import COUNTERS
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import COMPLEX, COPY
from jt_edu.ops.arguments import number, one_of, same_words, whole, yes_or_no
from jt_edu.ops.view import varargs
from jt_edu.runtime.execute import run
from jt_edu.variable.torch_keywords import beside, makes
from jt_edu.variable.var import Var, array, as_var, method

__all__ = ["arange", "array64", "clone", "copy", "e", "empty", "empty_like", "eye", "from_numpy", "full", "full_like",
           "geomspace", "identity", "index", "inf", "linspace", "logspace", "nan", "newaxis", "ones", "ones_like", "pi",
           "sync", "zeros", "zeros_like"]  # fmt: skip
pi, e, inf, nan = math.pi, math.e, math.inf, math.nan  # numbers that NumPy and PyTorch have names for
newaxis = None  # x[:, newaxis]
FAR = 2**62  # no axis is as long


@makes
def array64(data: Any, dtype: Any = None) -> Var:
    """A Var that keeps 64 bits: floats in lists become float64.

    Example:
        >>> array64([0.5]).dtype
        jt.float64
    """
    if isinstance(data, Var):
        return array(data, dtype)
    wide = Var(data, dtype)  # refuses what is no box of numbers
    return wide if dtype is not None or isinstance(data, np.ndarray) else Var(np.asarray(data))


def from_numpy(data: np.ndarray[Any, Any]) -> Var:
    """A Var that shares the memory of a NumPy array: kernels that run later see what was written to it in the meantime.

    A graph that has not run yet therefore sees the new numbers, and what has run stays what it is. `a += 1` writes to
    the array; `a = a + 1` makes another one, which the Var does not know. Nothing is ever written to the array by us.

    Args:
        data: a NumPy array in row-major order without gaps; it may be read-only.

    Raises:
        ArgumentError: it is transposed, reversed or has gaps; `jt.array`, which copies, takes all of these.
        DtypeError: it is no array, or of a dtype that Vars do not have.

    Example:
        >>> a = np.zeros(2); v = from_numpy(a); a += 1; v.numpy()
        array([1., 1.])
    """
    node = shared_source(data)
    return Var._of(node)


@makes
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Var:
    """`fill_value` everywhere.

    Example:
        >>> full((2,), 7).numpy()
        array([7, 7])
    """
    if isinstance(fill_value, Var):
        return (fill_value if dtype is None else fill_value.cast(dtype)).stretched(check_shape(shape))
    if not isinstance(fill_value, (bool, int, float, complex, np.generic)):
        raise ArgumentError("full takes a number or a Var", short(fill_value), "0.5")
    kind = as_dtype(PYTHON.get(type(fill_value), type(fill_value)) if dtype is None else dtype)
    node = filled(check_shape(shape), plain(fill_value), kind)
    if not node.shape:  # numbers of the graph meet arrays without being broadcast: a gradient would have their shape
        node = source(node.data, kind)
    return leaf(Var._of(node))


def leaf(var: Var) -> Var:
    """Let gradients be taken with respect to a Var that was made from nothing, if it is of floats."""
    var.node.tracked, var.node.owner = var.dtype.is_float and not current().no_grad, weakref.ref(var)
    return var


@makes
def zeros(*lengths: Any, dtype: Any = float32) -> Var:
    """0 everywhere.

    Example:
        >>> zeros(2, 3).shape, zeros((2,), dtype="int64").numpy()
        ((2, 3), array([0, 0]))
    """
    return full(_shape_first(lengths), 0, _dtype_last(lengths, dtype))


@makes
def ones(*lengths: Any, dtype: Any = float32) -> Var:
    """1 everywhere.

    Example:
        >>> ones(2).numpy()
        array([1., 1.], dtype=float32)
    """
    return full(_shape_first(lengths), 1, _dtype_last(lengths, dtype))


def _shape_first(arguments: tuple[Any, ...]) -> Any:
    """Jittor writes zeros((2, 3), "int32") and zeros(2, "int32"); PyTorch writes zeros(2, 3)."""
    return varargs(arguments[:1] if _ends_in_a_dtype(arguments) else arguments)


def _dtype_last(arguments: tuple[Any, ...], dtype: Any) -> Any:
    last = arguments[1] if _ends_in_a_dtype(arguments) else None
    return dtype if last is None else last


def _ends_in_a_dtype(arguments: tuple[Any, ...]) -> bool:
    return len(arguments) == 2 and (isinstance(arguments[0], (tuple, list)) or isinstance(arguments[1], (str, type)))


@makes
def empty(*lengths: Any, dtype: Any = float32) -> Var:
    """An array to fill in; it holds zeros, so that nothing depends on what was in memory before.

    Example:
        >>> empty(2, 2).shape
        (2, 2)
    """
    return zeros(*lengths, dtype=dtype)


@makes
def empty_like(x: Any, dtype: Any = None) -> Var:
    """An array of the shape of x to fill in; it holds zeros.

    Example:
        >>> empty_like(ones(2)).shape
        (2,)
    """
    return zeros_like(x, dtype)


@makes
def zeros_like(x: Any, dtype: Any = None) -> Var:
    """0 in the shape of x.

    Example:
        >>> zeros_like(ones(2)).numpy()
        array([0., 0.], dtype=float32)
    """
    v = as_var(x)
    return beside(v, full(v.shape, 0, v.dtype if dtype is None else dtype))


@makes
def ones_like(x: Any, dtype: Any = None) -> Var:
    """1 in the shape of x.

    Example:
        >>> ones_like(zeros(2)).numpy()
        array([1., 1.], dtype=float32)
    """
    v = as_var(x)
    return beside(v, full(v.shape, 1, v.dtype if dtype is None else dtype))


@makes
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Var:
    """`fill_value` in the shape and dtype of x.

    Example:
        >>> full_like(zeros(2), 3).numpy()
        array([3., 3.], dtype=float32)
    """
    v = as_var(x)
    return beside(v, full(v.shape, fill_value, v.dtype if dtype is None else dtype))


@overload
def index(shape: Any, dim: int, dtype: Any = ...) -> Var: ...
@overload
def index(shape: Any, dim: None = ..., dtype: Any = ...) -> tuple[Var, ...]: ...
@makes
@same_words
def index(shape: Any, dim: int | None = None, dtype: Any = int64) -> Any:
    """The loop counter of axis `dim`: out[i0, i1, ...] = i_dim. Without `dim`: those of all axes, as a tuple.

    Example:
        >>> index((2, 3), 1).numpy()
        array([[0, 1, 2],
               [0, 1, 2]])
    """
    wanted = check_shape(shape)
    if dim is None:
        return tuple(index(wanted, axis, dtype) for axis in range(len(wanted)))
    axis = whole("index", "dim", dim, 0, len(wanted) - 1)
    return Var._of(Node(COUNTERS[axis], (), wanted, int64)).cast(dtype)


@makes
def arange(start: Any = None, stop: Any = None, step: Any = 1, dtype: Any = None) -> Var:
    """start, start + step, ... up to but not including `stop`; a single argument is the end, and the start is 0.

    Example:
        >>> arange(2, 8, 3).numpy()
        array([2, 5])
    """
    if start is None or stop is None:
        start, stop = 0, one_of("arange", start=start, stop=stop)
    start, stop, step = (number("arange", n, _plain(v)) for n, v in (("start", start), ("stop", stop), ("step", step)))
    if step == 0 or math.inf in (abs(start), abs(stop)):
        raise ArgumentError("arange needs a step that leads from start to stop", f"arange({start}, {stop}, {step})")
    counted = all(isinstance(v, int) for v in (start, stop, step))
    wanted = as_dtype((int64 if counted else float32) if dtype is None else dtype)
    count = -((start - stop) // step) if counted else math.ceil((stop - start) / step)
    position = index((max(count, 0),), 0)
    if counted and wanted is uint64 and start in uint64.whole:  # counted as numbers of int64 with the same bits
        start, step = ((n + 2**63) % 2**64 - 2**63 for n in (start, step))
    if counted:
        return leaf((position * int(step) + int(start)).cast(wanted).detach())
    return leaf((position.cast(float64) * float(step) + float(start)).cast(wanted).detach())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Var) else value


@makes
def linspace(start: Any, stop: Any, num: int = 50, dtype: Any = None, *, endpoint: bool = True) -> Var:
    """`num` numbers at equal distances, from `start` to `stop`, which is included unless `endpoint=False`.

        out[k] = start + k * (stop - start) / (num - 1)

    Args:
        start: the first number, which may be complex.
        stop: the last one.
        num: how many there are.
        dtype: float32 by default, and complex64 between complex numbers.
        endpoint: whether `stop` is the last of them; otherwise it would be the next one.

    Example:
        >>> linspace(0, 1, 3).tolist(), linspace(0, 1, 4, endpoint=False).tolist()
        ([0.0, 0.5, 1.0], [0.0, 0.25, 0.5, 0.75])
    """
    values = _evenly("linspace", start, stop, num, endpoint)
    return leaf(values.cast(_like(values) if dtype is None else dtype).detach())


def _like(values: Var) -> Any:
    """The dtype of numbers that were made in double precision, where none is asked for."""
    return complex64 if values.dtype.kind == "c" else float32


def _evenly(name: str, start: Any, stop: Any, num: Any, endpoint: bool) -> Var:
    """Numbers at equal distances in float64; the last is `stop` to the bit."""
    start, stop = _plain(start), _plain(stop)
    if isinstance(start, complex) or isinstance(stop, complex):
        re, im = (_evenly(name, *ends, num, endpoint) for ends in ((start.real, stop.real), (start.imag, stop.imag)))
        return re.apply(COMPLEX, im)
    first, last = (float(number(name, n, v)) for n, v in (("start", start), ("stop", stop)))
    count = whole(name, "num", num, 0)
    gaps = count - 1 if yes_or_no(name, "endpoint", endpoint) else count
    position = index((count,), 0)
    values = position.cast(float64) * ((last - first) / gaps if gaps > 0 else 0.0) + first
    return values.where_not(position == gaps, last) if gaps > 0 else values


@makes
def logspace(
    start: Any, stop: Any, num: int = 50, base: float = 10.0, dtype: Any = None, *, endpoint: bool = True
) -> Var:
    """Powers whose exponents have equal distances: base**start to base**stop; complex ones lie on a spiral.

    Example:
        >>> logspace(0, 2, 3).tolist()
        [1.0, 10.0, 100.0]
    """
    exponents = _evenly("logspace", start, stop, num, endpoint)
    powers = full((), float(number("logspace", "base", base)), float64) ** exponents
    return leaf(powers.cast(_like(powers) if dtype is None else dtype).detach())


@makes
def geomspace(start: float, stop: float, num: int = 50, dtype: Any = float32, *, endpoint: bool = True) -> Var:
    """Numbers whose neighbours have equal ratios, from `start` to `stop`, which have the same sign.

    Example:
        >>> geomspace(1, 8, 4).tolist()
        [1.0, 2.0, 4.0, 8.0]
    """
    first, last = (float(number("geomspace", n, _plain(v))) for n, v in (("start", start), ("stop", stop)))
    if not first * last > 0:
        raise ArgumentError(
            "geomspace needs two numbers of the same sign, neither of them 0", f"{start} to {stop}", "linspace"
        )
    share = _evenly("geomspace", 0.0, 1.0, num, endpoint)
    values = full((), last / first, float64) ** share * first
    return leaf(values.where_not(share == 1.0, last).cast(dtype).detach())


@makes
def eye(n: int, m: int | None = None, dtype: Any = float32, *, k: int = 0) -> Var:
    """1 on a diagonal, 0 elsewhere; the diagonal is k places to the right of the main one.

    Example:
        >>> eye(2).tolist(), eye(2, 3, "int64", k=1).tolist()
        ([[1.0, 0.0], [0.0, 1.0]], [[0, 1, 0], [0, 0, 1]])
    """
    shape = check_shape((n, n if m is None else m))
    return leaf((index(shape, 0) + which_diagonal("eye", "k", k) == index(shape, 1)).cast(dtype).detach())


def which_diagonal(name: str, word: str, k: Any) -> int:
    """A diagonal, k places to the right of the main one; one beyond all matrices is as good as any other such."""
    return max(-FAR, min(whole(name, word, k), FAR))


@makes
def identity(n: int, dtype: Any = float32) -> Var:
    """The identity matrix.

    Example:
        >>> identity(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype)


@method
def copy(x: Var) -> Var:
    """The same numbers in memory of their own.

    Example:
        >>> ones(2).copy().numpy()
        array([1., 1.], dtype=float32)
    """
    return as_var(x).apply(COPY)


@method
def clone(x: Var) -> Var:
    """The same as `copy`.

    Example:
        >>> ones(2).clone().shape
        (2,)
    """
    return copy(x)


def sync(vars: Any) -> None:
    """Compute several Vars in one go, so that they can share kernels.

    Example:
        >>> a = ones(3); b, c = a + 1, a * 2
        >>> sync([b, c])
    """
    asked: list[Any] = [vars] if isinstance(vars, Var) else list(vars) if isinstance(vars, (list, tuple)) else [None]
    if not all(isinstance(v, Var) for v in asked):
        raise ArgumentError("sync computes a Var, or a list of Vars", short(vars), "jt.sync([a, b])")
    run([v.node for v in asked])
