"""Nodes of a graph that speak through a process group when they run.

They are due: any run of this rank runs them too, each after the one before, so that all ranks speak in the same order
(see jt_edu/mpi/differentiable_collectives.py). What such a node calls may compute Vars of its own meanwhile, as a
communication hook does: that is a run inside a run, which has nothing to do with what is due outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from jt_edu.base.context import current, no_grad
from jt_edu.base.dtypes import DType
from jt_edu.distributed.buckets import cut
from jt_edu.distributed.options import AllreduceOptions, BroadcastOptions, ReduceOp
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.ir.meta_ops import SOURCE, HostCall
from jt_edu.ir.node import Node, Shape, made, origin
from jt_edu.runtime.execute import run
from jt_edu.variable.var import Var

OTHERS = "the other ranks"  # who computes such nodes


def due_node(op: HostCall, inputs: Sequence[Var], shape: Shape, dtype: DType) -> Var:
    """A node that is due, after all those that were due before; it takes no part in gradients."""
    context = current()
    where = origin(context)
    last = [n for n in context.due[-1:] if n.data is None]
    node = made(context, where, op, (*(v.node for v in inputs), *last), shape, dtype, None, False)
    context.due.append(node)
    return Var._of(node)


@contextmanager
def speaking(group: ProcessGroup, what: str) -> Iterator[None]:
    """Speak by hand inside a node that runs; the record of the ranks tells `what` this is."""
    context, comm = current(), getattr(group, "comm", None)
    held, context.due[:] = list(context.due), []
    said = getattr(comm, "said_at", "")
    try:
        with no_grad():
            if comm is not None:
                comm.said_at = what
            yield
            run(list(context.due))
    finally:
        context.due[:] = held
        if comm is not None:
            comm.said_at = said


def one_behind_the_other(arrays: Sequence[Any], dtype: DType) -> Any:
    """Arrays (or numbers) as a flat one of what `dtype` stores.

    Example:
        >>> one_behind_the_other([np.ones((2, 1)), 3], jt.float64)
        array([1., 1., 3.])
    """
    return np.concatenate([np.asarray(a, dtype.storage).reshape(-1) for a in arrays])


def holding(array: Any, dtype: DType) -> Var:
    """A Var in the memory of an array, which holds what `dtype` stores.

    Example:
        >>> holding(np.zeros(2, np.float32), jt.float32)
        jt.Var([0., 0.], dtype=float32)
    """
    node = Node(SOURCE, (), array.shape, dtype, array)
    node.tracked = False
    return Var._of(node)


def stored(value: Var, dtype: DType) -> Any:
    """What `dtype` stores of a Var.

    Example:
        >>> stored(jt.array([1.5]), jt.float16)
        array([1.5], dtype=float16)
    """
    return np.array(value.cast(dtype).sync().node.data)


def summed(group: ProcessGroup, mine: Any, dtype: DType) -> Any:
    """The sum over all ranks of what `dtype` stores, at once."""
    carrier = holding(mine, dtype)
    group.allreduce([carrier], AllreduceOptions(ReduceOp.SUM)).wait()
    return stored(carrier, dtype)


class Alike:
    """Gives Vars the values that they have on rank 0 of a group, in one message for each dtype; they are due.

    Args:
        group: whose ranks.
        what: as the record of the ranks calls it.
    """

    def __init__(self, group: ProcessGroup, what: str) -> None:
        self.group, self.what = group, what
        self._ops: dict[Any, HostCall] = {}  # an operator is made once, so that the plan of a step is found again

    def __call__(self, variables: Sequence[Var]) -> None:
        """From now on these Vars have the values of rank 0."""
        for dtype in dict.fromkeys(v.dtype for v in variables):
            several = [v for v in variables if v.dtype is dtype]
            run_it = partial(self._broadcast, len(several), dtype)
            op = self._ops.setdefault((dtype, len(several)), HostCall("ddp_alike", run_it, (), OTHERS))
            flat = due_node(op, several, (sum(v.size for v in several),), dtype)
            for v, new in zip(several, cut(flat, [v.shape for v in several]), strict=True):
                v.update(new)

    def _broadcast(self, count: int, dtype: DType, *arrays: Any) -> Any:
        carrier = holding(one_behind_the_other(arrays[:count], dtype), dtype)
        with speaking(self.group, self.what):
            self.group.broadcast([carrier], BroadcastOptions(0)).wait()
            return stored(carrier, dtype)
