"""Jittor names: what Jittor's users look for, made of what is here under other names.

    jt.sync_all()                     jt.sync of all that is alive
    with jt.profile_scope() as rep:   jt.trace(), as Jittor's table

`jt` and Vars look here for a name that they lack. Nothing here computes anything of its own.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from jt_edu.base.dtypes import as_dtype
from jt_edu.base.errors import ArgumentError, UnknownNameError
from jt_edu.ir.node import Node
from jt_edu.lens.jittor_reports import log_capture_scope, profile_scope
from jt_edu.nn.module import Module, peeked
from jt_edu.ops.arguments import yes_or_no
from jt_edu.runtime.devices import CUDA, is_there
from jt_edu.variable.var import Var

__all__ = [
    "LOG", "NanoString", "NanoVector", "clean", "debug_msg", "display_memory_info", "dump_all_graphs", "fetch",
    "fetch_sync", "has_cuda", "liveness_info", "load_pth", "log_capture_scope", "make_module", "number_of_hold_vars",
    "number_of_lived_ops", "number_of_lived_vars", "peek", "profile_scope", "save_pth", "start_grad", "sync_all",
    "uncertain_shape",
]  # fmt: skip

jt: Any = sys.modules["jt_edu"]  # the door, which looks here, and so is there
NanoVector: Any = tuple  # shapes are tuples here
NanoString: Any = as_dtype
_log = logging.getLogger("jt_edu")  # by default Python shows warnings and errors
_terminal = logging.StreamHandler()
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


def show_log(level: int) -> None:
    """What `jt.flags.log_v` does: from 1 on all that is logged is seen, below only what Python shows by default.

    Example:
        >>> with jt.flag_scope(log_v=1):
        ...     logging.getLogger("jt_edu").isEnabledFor(logging.DEBUG)
        True
    """
    if level < 1:
        _log.removeHandler(_terminal)
        _log.setLevel(logging.NOTSET)
    else:
        _log.addHandler(_terminal)
        _log.setLevel(logging.DEBUG)


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


# ------------------------------------------------------------------------------------------------------------- modules


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
