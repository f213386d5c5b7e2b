"""Create: Vars from numbers, from nothing, and from loop counters.

`zeros`, `arange`, `eye` and their like take no memory until they are stored: they are numbers and counters of the
graph, and fuse into whatever reads them.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from jt_edu.build import check_shape, filled, shared_source
from jt_edu.dtypes import PYTHON, as_dtype, float32, float64, int64
from jt_edu.errors import ArgumentError
from jt_edu.execute import run
from jt_edu.functions import COPY
from jt_edu.graph import Node
from jt_edu.meta import COUNTERS
from jt_edu.ops.view import varargs
from jt_edu.settings import current
from jt_edu.var import Var, as_var, method


def array(data: Any, dtype: Any = None) -> Var:
    """A Var with a copy of `data`. Python floats become float32, ints int64; NumPy arrays keep their dtype.

    Example:
        >>> array([1.5, 2.5])
        jt.Var([1.5, 2.5], dtype=float32)
    """
    return Var(data.numpy() if isinstance(data, Var) else data, dtype)


def array64(data: Any, dtype: Any = None) -> Var:
    """A Var that keeps 64 bits: floats in lists become float64.

    Example:
        >>> array64([0.5]).dtype
        jt.float64
    """
    return Var(np.asarray(data), dtype)


def from_numpy(data: np.ndarray[Any, Any]) -> Var:
    """A Var that shares the memory of a NumPy array: kernels that run later read what was written to it by then.

    A graph that has not run yet therefore sees the new numbers; `jt.array` takes a copy instead.

    Example:
        >>> a = np.zeros(2); v = from_numpy(a); a += 1; v.numpy()
        array([1., 1.])
    """
    node = shared_source(data)
    return Var._of(node)


def full(shape: Any, value: Any, dtype: Any = None) -> Var:
    """`value` everywhere.

    Example:
        >>> full((2,), 7).numpy()
        array([7, 7])
    """
    if isinstance(value, Var):
        return (value if dtype is None else value.cast(dtype)).broadcast_to(check_shape(shape))
    kind = as_dtype(PYTHON.get(type(value), type(value)) if dtype is None else dtype)
    var = Var._of(filled(check_shape(shape), value, kind))
    return leaf(var)


def leaf(var: Var) -> Var:
    """Let gradients be taken with respect to a Var that was made from nothing, if it is of floats."""
    var.node.tracked, var.node.owner = var.dtype.is_float and not current().no_grad, weakref.ref(var)
    return var


def zeros(*shape: Any, dtype: Any = float32) -> Var:
    """0 everywhere.

    Example:
        >>> zeros(2, 3).shape, zeros((2,), dtype="int64").numpy()
        ((2, 3), array([0, 0]))
    """
    return full(_shape_first(shape), 0, _dtype_last(shape, dtype))


def ones(*shape: Any, dtype: Any = float32) -> Var:
    """1 everywhere.

    Example:
        >>> ones(2).numpy()
        array([1., 1.], dtype=float32)
    """
    return full(_shape_first(shape), 1, _dtype_last(shape, dtype))


def _shape_first(arguments: tuple[Any, ...]) -> Any:
    """Jittor writes zeros((2, 3), "int32"); PyTorch writes zeros(2, 3)."""
    if len(arguments) == 2 and isinstance(arguments[0], (tuple, list)):
        return arguments[0]
    return varargs(arguments)


def _dtype_last(arguments: tuple[Any, ...], dtype: Any) -> Any:
    return arguments[1] if len(arguments) == 2 and isinstance(arguments[0], (tuple, list)) else dtype


def empty(*shape: Any, dtype: Any = float32) -> Var:
    """Room for numbers; it holds zeros, so that nothing depends on what was in memory before.

    Example:
        >>> empty(2, 2).shape
        (2, 2)
    """
    return zeros(*shape, dtype=dtype)


def zeros_like(x: Any, dtype: Any = None) -> Var:
    """0 in the shape of x.

    Example:
        >>> zeros_like(ones(2)).numpy()
        array([0., 0.], dtype=float32)
    """
    v = as_var(x)
    return full(v.shape, 0, v.dtype if dtype is None else dtype)


def ones_like(x: Any, dtype: Any = None) -> Var:
    """1 in the shape of x.

    Example:
        >>> ones_like(zeros(2)).numpy()
        array([1., 1.], dtype=float32)
    """
    v = as_var(x)
    return full(v.shape, 1, v.dtype if dtype is None else dtype)


def full_like(x: Any, value: Any, dtype: Any = None) -> Var:
    """`value` in the shape and dtype of x.

    Example:
        >>> full_like(zeros(2), 3).numpy()
        array([3., 3.], dtype=float32)
    """
    v = as_var(x)
    return full(v.shape, value, v.dtype if dtype is None else dtype)


def index(shape: Any, dim: int, dtype: Any = int64) -> Var:
    """The loop counter of axis `dim`: out[i0, i1, ...] = i_dim.

    Example:
        >>> index((2, 3), 1).numpy()
        array([[0, 1, 2],
               [0, 1, 2]])
    """
    wanted = check_shape(shape)
    if not 0 <= dim < len(wanted):
        raise ArgumentError(f"index counts along one of {len(wanted)} axes", f"dim {dim}", "jt.index((2, 3), 0)")
    return Var._of(Node(COUNTERS[dim], (), wanted, int64)).cast(dtype)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> Var:
    """start, start + step, ... up to but not including `end`.

    Example:
        >>> arange(2, 8, 3).numpy()
        array([2, 5])
    """
    if end is None:
        start, end = 0, start
    if step == 0:
        raise ArgumentError("arange needs a step that leads from start to end", f"arange({start}, {end}, {step})")
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    wanted = as_dtype((int64 if whole else float32) if dtype is None else dtype)
    count = max(math.ceil((end - start) / step), 0)
    position = index((count,), 0)
    if whole:
        return (position * int(step) + int(start)).cast(wanted)
    return leaf((position.cast(float64) * float(step) + float(start)).cast(wanted).detach())


def linspace(start: float, end: float, steps: int, dtype: Any = float32) -> Var:
    """`steps` numbers at equal distances, from `start` to `end` inclusive.

    Example:
        >>> linspace(0, 1, 3).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    if steps < 0:
        raise ArgumentError("linspace takes a number of steps", repr(steps), "100")
    width = (end - start) / (steps - 1) if steps > 1 else 0.0
    position = index((steps,), 0).cast(float64)
    last = position == steps - 1
    values = (position * float(width) + float(start)).where_not(last, float(end) if steps > 1 else float(start))
    return leaf(values.cast(dtype).detach())


def eye(n: int, m: int | None = None, dtype: Any = float32) -> Var:
    """1 on the diagonal, 0 elsewhere.

    Example:
        >>> eye(2).numpy()
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    shape = check_shape((n, n if m is None else m))
    return leaf((index(shape, 0) == index(shape, 1)).cast(dtype))


@method
def copy(x: Var) -> Var:
    """The same numbers in memory of their own.

    Example:
        >>> ones(2).copy().numpy()
        array([1., 1.], dtype=float32)
    """
    return x.apply(COPY)


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
    run([v.node for v in vars])
