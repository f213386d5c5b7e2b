"""Jittor names: what Jittor's users look for, made of what is here under other names.

    jt.sync_all()                     jt.sync of all that is alive
    with jt.profile_scope() as rep:   jt.trace(), as Jittor's table
    jt.arg_reduce(x, "max", 1)        x.argmax(1), x.max(1)

`jt` and Vars look here for a name that they lack. Nothing here computes anything of its own.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from jt_edu.base.dtypes import DType, as_dtype
from jt_edu.base.errors import ArgumentError, ShapeError, UnknownNameError
from jt_edu.ir.node import Node
from jt_edu.lens.jittor_reports import log_capture_scope, profile_scope
from jt_edu.nn.module import Module, peeked
from jt_edu.ops.arguments import yes_or_no
from jt_edu.runtime.devices import CUDA, is_there
from jt_edu.variable.var import Var

__all__ = [
    "LOG", "NanoString", "NanoVector", "all_equal", "arg_reduce", "binary", "broadcast_var", "clean", "debug_msg",
    "display_memory_info", "dump_all_graphs", "fetch", "fetch_sync", "floor_int", "fuse_transpose", "has_cuda",
    "index_var", "liveness_info", "load_pth", "log_capture_scope", "make_module", "number_of_hold_vars",
    "number_of_lived_ops", "number_of_lived_vars", "peek", "profile_scope", "reduce", "reindex", "reindex_reduce",
    "reindex_var", "safe_clip", "save_pth", "start_grad", "sync_all", "unary", "uncertain_shape",
]  # fmt: skip

jt: Any = sys.modules["jt_edu"]  # the door, which looks here, and so is there
NanoVector: Any = tuple  # shapes are tuples here
NanoString: Any = as_dtype
_log = logging.getLogger("jt_edu")  # by default Python shows warnings and errors
LOG = SimpleNamespace(i=_log.info, v=_log.debug, vv=_log.debug, vvv=_log.debug, w=_log.warning, e=_log.error)
clean, load_pth, save_pth = jt.gc, jt.load, jt.save  # the suffix of a file says what it holds

# jt.compiler and jt.compile_extern are this module, too: which hardware and libraries there are.
has_cuda: int  # asked anew each time: a backend may bring a device "cuda"
has_rocm = has_acl = has_corex = is_debug = 0
cublas_ops = cudnn_ops = cub_ops = cutt_ops = cusparse_ops = mkl_ops = nccl_ops = None


def __getattr__(name: str) -> Any:
    if name == "has_cuda":
        return int(is_there(CUDA))
    if name in ("mpi", "has_mpi", "inside_mpi"):
        return jt.mpi if name == "mpi" else jt.in_mpi
    if name.startswith("__"):
        raise AttributeError(name)
    way = "jt.kernel_sources(y), which shows what numba compiles"
    raise UnknownNameError("jt.compiler has no C++ compiler, and so none of its names", name, way)


# ------------------------------------------------------------------------------------------------------- what is alive


def _alive(kind: type) -> list[Any]:
    gc.collect()
    return [thing for thing in gc.get_objects() if issubclass(type(thing), kind)]


def sync_all(device_sync: bool = False) -> None:
    """Compute every Var that is alive and pending.

    Args:
        device_sync: wait for a GPU, too, if there is one.

    Example:
        >>> y = jt.ones(2) * 3
        >>> sync_all()
        >>> y.node.pending
        False
    """
    jt.sync(_alive(Var))
    if yes_or_no("sync_all", "device_sync", device_sync) and is_there(CUDA):
        jt.cuda.synchronize()


def number_of_hold_vars() -> int:
    """How many Vars are alive.

    Example:
        >>> before = number_of_hold_vars()
        >>> x = jt.ones(2)
        >>> number_of_hold_vars() - before
        1
    """
    return len(_alive(Var))


def number_of_lived_vars() -> int:
    """How many values are in graphs that are alive.

    Example:
        >>> number_of_lived_vars() >= 0
        True
    """
    return len(_alive(Node))


def number_of_lived_ops() -> int:
    """How many operators are waiting.

    Example:
        >>> number_of_lived_ops() <= number_of_lived_vars()
        True
    """
    return sum(node.pending for node in _alive(Node))


def liveness_info() -> dict[str, int]:
    """How many Vars, values and waiting operators are alive.

    Example:
        >>> list(liveness_info())
        ['hold_vars', 'lived_vars', 'lived_ops']
    """
    return {
        "hold_vars": number_of_hold_vars(), "lived_vars": number_of_lived_vars(), "lived_ops": number_of_lived_ops(),
    }  # fmt: skip


def dump_all_graphs() -> SimpleNamespace:
    """All that is alive: `hold_vars`, and a line for each node in `nodes_info`.

    Example:
        >>> y = jt.ones(2) * 3
        >>> any("multiply" in line for line in dump_all_graphs().nodes_info)
        True
    """
    nodes = _alive(Node)
    lines = [f"{n.op.name}{n.shape} {n.dtype}{' pending' if n.pending else ''} {n.line}".rstrip() for n in nodes]
    return SimpleNamespace(hold_vars=_alive(Var), nodes_info=lines)


def display_memory_info() -> None:
    """Print what memory is used for: `jt.memory_stats()`.

    Example:
        >>> display_memory_info()
        weights ...
    """
    sys.stdout.write(f"{jt.memory_stats()}\n")


def fetch(*given: Any) -> None:
    """Hand the arrays of Vars to a function, which comes last.

    Example:
        >>> fetch(jt.ones(2), lambda a: print(a.sum()))
        2.0
    """
    *variables, function = given
    function(*(v.numpy() if isinstance(v, Var) else v for v in variables))


def fetch_sync(variables: Any) -> Any:
    """The arrays of some Vars, or of one.

    Example:
        >>> fetch_sync([jt.ones(2)])
        [array([1., 1.], dtype=float32)]
    """
    return variables.numpy() if isinstance(variables, Var) else [v.numpy() for v in variables]


def peek(value: Any) -> str:
    """A nest in which each Var is only its dtype and shape.

    Example:
        >>> peek([jt.ones(2), {"a": 1}])
        "[float32[2,], {'a': 1}]"
    """
    if isinstance(value, Var):
        return peeked(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {peek(v)}" for key, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(peek, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return repr(value)


def debug_msg(x: Any) -> str:
    """What a Var is: dtype, shape, the operator that computes it, and whether it is computed.

    Example:
        >>> debug_msg(jt.ones(2) * 3)
        'float32[2,] multiply pending'
    """
    return f"{peek(x)} {x.node.op.name}{' pending' if x.node.pending else ''}"


def uncertain_shape(x: Any) -> tuple[int, ...]:
    """The shape of a Var: no length is uncertain here.

    Example:
        >>> uncertain_shape(jt.ones(2))
        (2,)
    """
    shape: tuple[int, ...] = x.shape
    return shape


# ---------------------------------------------------------------------------------------------------------- operators


def _by_name(op: str, *given: Any) -> Any:
    function = getattr(jt, op) if op in jt.__all__ else None
    if isinstance(function, DType):
        return given[0].astype(function)
    if not callable(function) or isinstance(function, type):
        raise ArgumentError("an operator has the name of a function of jt", repr(op), '"add", "maximum", "exp"')
    return function(*given)


def unary(x: Any, op: str) -> Any:
    """A function of jt by its name; the name of a dtype casts.

    Example:
        >>> unary(jt.array([4.0]), "sqrt").tolist()
        [2.0]
    """
    return _by_name(op, x)


def binary(x: Any, y: Any, op: str) -> Any:
    """A function of two Vars by its name.

    Example:
        >>> binary(jt.array([4.0]), jt.array([3.0]), "maximum").tolist()
        [4.0]
    """
    return _by_name(op, x, y)


def floor_int(x: Any) -> Any:
    """x rounded down, as int32.

    Example:
        >>> floor_int(jt.array([1.5, -0.5])).tolist()
        [1, -1]
    """
    return jt.floor(x).int32()


def all_equal(x: Any, y: Any) -> bool:
    """Whether two arrays have equal elements, all of them.

    Example:
        >>> all_equal(jt.array([1, 2]), [1, 2])
        True
    """
    return bool(jt.equal(x, y).all().item())


def reduce(x: Any, op: str, dim: Any = None, keepdims: bool = False) -> Any:
    """Along axes, by "add" (or sum), "multiply" (prod), "maximum" (max), "minimum" (min) or "mean".

    Example:
        >>> reduce(jt.array([[1, 2], [3, 4]]), "add", 1).tolist()
        [3, 7]
    """
    names = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
    return getattr(jt, names.get(op, op))(x, dim, keepdims)


def arg_reduce(x: Any, op: str, dim: Any, keepdims: bool = False) -> tuple[Var, Var]:
    """Where the largest ("max") or the smallest ("min") is along an axis, and what it is.

    Example:
        >>> [v.tolist() for v in arg_reduce(jt.array([[1, 5], [4, 2]]), "max", 1)]
        [[1, 0], [5, 4]]
    """
    names = {
        "max": ("argmax", "max"),
        "maximum": ("argmax", "max"),
        "min": ("argmin", "min"),
        "minimum": ("argmin", "min"),
    }
    if op not in names:
        raise ArgumentError('arg_reduce takes "max" or "min"', repr(op))
    place, value = (getattr(jt, name)(x, dim, keepdims) for name in names[op])
    return place, value


def reindex(x: Any, *given: Any, **more: Any) -> Any:
    """x.reindex(...).

    Example:
        >>> reindex(jt.array([1, 2, 3]), [2], ["i0+1"]).tolist()
        [2, 3]
    """
    return x.reindex(*given, **more)


def reindex_reduce(x: Any, *given: Any, **more: Any) -> Any:
    """x.reindex_reduce(...).

    Example:
        >>> reindex_reduce(jt.array([1, 2, 3]), "add", [1], ["0"]).tolist()
        [6]
    """
    return x.reindex_reduce(*given, **more)


def reindex_var(x: Any, indexes: Any, overflow_value: float = 0) -> Any:
    """Read at the places that Vars hold, one for each axis of x, and `overflow_value` outside x.

        out[i, j, ...] = x[indexes[0][i, j, ...], indexes[1][i, j, ...], ...]

    Args:
        indexes: whole numbers, of one shape or of shapes that broadcast to one. Negative ones are outside x.
        overflow_value: what is read there.

    Raises:
        ShapeError: there are more or fewer of them than axes.
        DtypeError: they are no whole numbers.

    Example:
        >>> x = jt.array([[1, 2], [3, 4]])
        >>> reindex_var(x, [jt.array([0, 1, 2]), jt.array([1, 0, 0])], -1).tolist()
        [2, 3, -1]
    """
    if not isinstance(indexes, (list, tuple)) or not indexes or not all(isinstance(v, (Var, np.ndarray)) for v in indexes):
        raise ArgumentError("reindex takes a shape and what is read, or a list of Vars", repr(indexes), "x[1:]")
    places = jt.broadcast_tensors(*indexes)
    if len(places) != x.ndim:
        raise ShapeError("there is one index for each axis", f"{len(places)} for shape {x.shape}", "x[rows]")
    if 0 in x.shape:
        return jt.full(places[0].shape, overflow_value, x.dtype)
    inside = jt.ones(places[0].shape, bool)
    for k, n in zip(places, x.shape, strict=True):
        inside = inside & (k >= 0) & (k < n)
    read = x[tuple(k.clamp(0, n - 1) for k, n in zip(places, x.shape, strict=True))]
    return jt.where(inside, read, jt.array(overflow_value, x.dtype))


def fuse_transpose(x: Any, axes: Any = ()) -> Any:
    """x with its axes in another order: `x.transpose(axes)`, each of which is part of the kernel that reads it here.

    Example:
        >>> fuse_transpose(jt.ones(2, 3, 4), (1, 2, 0)).shape
        (3, 4, 2)
    """
    return x.permute(*axes)


class _SafeClip(jt.Function):  # type: ignore[misc]  # jt is looked up
    def __init__(self, left: float, right: float) -> None:
        self.left, self.right = left, right

    def execute(self, x: Var) -> Any:
        limits = jt.finfo(x.dtype)
        return x.clamp(max(self.left, limits.min), min(self.right, limits.max))

    def grad(self, dout: Var) -> Any:
        return dout


def safe_clip(x: Any, left: float = -1e300, right: float = 1e300) -> Any:
    """x limited to bounds, and to what its dtype can hold, so that it is finite. Its gradient is that of x everywhere.

    Args:
        x: floats of any shape.
        left: the lower bound.
        right: the upper bound.

    Raises:
        DtypeError: x holds no floats.

    Example:
        >>> x = jt.array([-jt.inf, 0.5, 2.0])
        >>> safe_clip(x, 0, 1).tolist(), jt.grad(safe_clip(x, 0, 1).sum(), x).tolist()
        ([0.0, 0.5, 1.0], [1.0, 1.0, 1.0])
    """
    return _SafeClip(left, right)(jt.as_tensor(x))


def index_var(x: Any, dim: int | None = None) -> Any:
    """The loop counter of axis `dim` of x, or those of all axes.

    Example:
        >>> index_var(jt.zeros(2, 2), 1).tolist()
        [[0, 1], [0, 1]]
    """
    return jt.index(x.shape, dim)


def broadcast_var(x: Any, y: Any, dims: Any = ()) -> Any:
    """x in the shape of y.

    Example:
        >>> broadcast_var(jt.array([1, 2]), jt.zeros(2, 2), [1]).tolist()
        [[1, 1], [2, 2]]
    """
    return x.broadcast(y, list(dims))


def start_grad(x: Any) -> Any:
    """x.start_grad().

    Example:
        >>> start_grad(jt.array([1.0]).stop_grad()).requires_grad
        True
    """
    return x.start_grad()


def make_module(function: Callable[..., Any], exec_n_args: int = 1) -> type[Module]:
    """A class of modules from a function: what follows its first `exec_n_args` arguments is given when one is made.

    Example:
        >>> Scale = make_module(lambda x, k: x * k)
        >>> Scale(3)(jt.ones(2)).tolist()
        [3.0, 3.0]
    """

    class MadeModule(Module):
        def __init__(self, *rest: Any, **named: Any) -> None:
            self.rest, self.named = rest, named

        def execute(self, *given: Any) -> Any:
            if len(given) != exec_n_args:
                raise ArgumentError(f"this module takes {exec_n_args} arguments", str(len(given)))
            return function(*given, *self.rest, **self.named)

    MadeModule.__name__ = getattr(function, "__name__", "made")
    return MadeModule
