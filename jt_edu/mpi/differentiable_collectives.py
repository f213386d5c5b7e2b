"""Differentiable collectives: what ranks say to each other, as nodes of the graph, with gradients.

    y = x.mpi_all_reduce("add")      y is the sum of all x                 dx = the sum of all dy
    y = x.mpi_broadcast(root)        y is root's x, everywhere             dx = the sum of all dy on root, 0 elsewhere
    y = x.mpi_reduce("add", root)    the sum on root, 0 elsewhere          dx = root's dy, everywhere
    mpi_all_gather(x)                all x as rows, everywhere             dx = the sum of all dy, my row of it
    mpi_reduce_scatter(x)            row `rank` of the sum of all x        dx = all dy as rows
    mpi_all_to_all(x)                row k is what rank k had for me       dx = the same, of dy
    mpi_gather, mpi_scatter          rows to root, rows from root          each is the other's gradient
    mpi_send_recv(x, dest, source)   what comes from source                dx = the same, the other way round

Each gradient is the adjoint of its operator, <A x, y> = <x, A' y> summed over ranks. A lazy graph may be run late, in
parts, or on one rank because of a print. So messages keep the order in which the program writes them: each is joined to
the one before by an edge, and any run of a rank first runs all messages that are due. A print can delay a message, but
never move it behind another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.dtypes import DType, float32
from jt_edu.base.errors import ArgumentError, DtypeError, RankError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.meta_ops import HostCall, Rule
from jt_edu.ir.node import Node, Shape, describe_line, made, origin
from jt_edu.mpi.base.constants import SUM
from jt_edu.mpi.communicator.groups import Communicator
from jt_edu.ops.concat import concat
from jt_edu.ops.custom_kernel import as_array
from jt_edu.runtime.devices import CPU, device_of
from jt_edu.variable.var import Var, as_var, method

__all__ = ["communicator", "mpi_all_gather", "mpi_all_reduce", "mpi_all_to_all", "mpi_broadcast", "mpi_gather",
           "mpi_reduce", "mpi_reduce_scatter", "mpi_scatter", "mpi_send_recv"]  # fmt: skip
Run = Callable[..., Any]  # (communicator, *arrays) -> array


def communicator() -> Communicator:
    """The communicator of this rank: all ranks of its world.

    Raises:
        RankError: this program runs alone.

    Example:
        >>> jt.simulate(2)(lambda: communicator().allgather(jt.rank))
        [[0, 1], [0, 1]]
    """
    comm: Communicator | None = current().rank_state.get("communicator")
    if comm is None:
        raise RankError(
            "a program can communicate when there are other ranks", "one that runs alone",
            "jt.simulate(4)(program), %%ranks 4, or mpirun -np 4",
        )  # fmt: skip
    return comm


def message(name: str, inputs: Sequence[Var], shape: Shape, dtype: DType, run: Run, key: Any, rule: Rule | None) -> Var:
    """A node that speaks to the other ranks when it is run: in the order in which such nodes are made.

    `key` tells what `run` and `rule` mean: two nodes with one name, key, dtype and line share their operator, so that
    the plan of a training step is found again. One without a rule shares with none that has one.
    """
    context = current()
    nodes = [as_array(x).node for x in inputs]
    tracked = rule is not None and not context.no_grad and any(n.tracked for n in nodes)
    where, device = origin(context), device_of(nodes[0])
    operators: dict[Any, HostCall] = context.rank_state.setdefault("messages", {})
    place = (name, key, dtype, rule is None, where[0], device)
    if place not in operators:
        spoken = _Spoken(run, len(nodes), where[0], device)
        operators[place] = HostCall(name, spoken, (_first(rule),) if rule else (), "the other ranks")
    last = [n for n in context.due[-1:] if n.data is None]
    node = made(context, where, operators[place], (*nodes, *last), shape, dtype, None, tracked)
    context.due.append(node)
    return Var._of(node)


def inputs_of(node: Node) -> Sequence[Node]:
    """What a node is made of: of a message, not the message before it, which is an input for the sake of order."""
    spoken = getattr(node.op, "run", None)
    return node.inputs[: spoken.inputs] if isinstance(spoken, _Spoken) else node.inputs


class _Spoken:
    """What a node does when it is run: speak, as if the learner's line did. Numbers of a device are copied before and
    afterwards, which is told behind the line.
    """

    def __init__(self, run: Run, inputs: int, where: Any, device: str) -> None:
        self.run, self.inputs, self.line = run, inputs, describe_line(where)
        if device != CPU:
            self.line += f", {device} -> main memory -> ranks -> main memory -> {device}"

    def __call__(self, *arrays: Any) -> Any:
        comm = communicator()
        comm.said_at = self.line
        try:
            return self.run(comm, *(np.ascontiguousarray(a) for a in arrays[: self.inputs]))
        finally:
            comm.said_at = ""


def _first(rule: Rule) -> Rule:
    """A gradient rule that does not look at the message before, which is an input for the sake of order."""
    return lambda out, dout, x, *before: rule(out, dout, x)


# the three of Jittor


def _checked(name: str, x: Any, op: str = "add", **ranks: int) -> tuple[Var, bool]:
    """The Var, and whether the mean is wanted; `ranks` are the arguments that name a rank."""
    v = as_var(x)
    if op not in ("add", "sum", "mean"):
        raise ArgumentError(f"{name} takes op='add', 'sum' or 'mean'", short(op))
    size = communicator().size
    for argument, k in ranks.items():
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k < size:
            raise ArgumentError(f"{name} takes a rank from 0 to {size - 1} as {argument}", short(k), f"{argument}=0")
    return v, op == "mean"


def _wide(v: Var) -> Var:
    """Halves are added up as float32: no MPI adds them, and 2048 + 1 is 2048 among them."""
    return v.cast(float32) if v.dtype.is_half else v


def _narrow(total: Var, v: Var, average: bool) -> Var:
    """The sum of all v in the dtype of v, or their mean: divided while it is wide; that of integers is no integer."""
    if not average:
        return total.cast(v.dtype)
    mean: Var = total / communicator().size
    return mean.cast(v.dtype) if v.dtype.is_float else mean


@method
def mpi_all_reduce(x: Any, op: str = "add") -> Var:
    """The sum (or mean) of x over all ranks, on every rank: x of the same shape and dtype everywhere.

    Args:
        x: any shape.
        op: "add" or "sum"; "mean" divides by the number of ranks.

    Raises:
        RankError: there are no other ranks. ArgumentError: another op. MismatchError, when it runs: another shape,
        dtype or call on another rank.

    Example:
        >>> jt.simulate(3)(lambda: jt.array([1.0]).mpi_all_reduce().tolist())
        [[3.0], [3.0], [3.0]]
    """
    v, average = _checked("mpi_all_reduce", x, op)
    return _narrow(_sums([v])[0], v, average)


def added(values: Sequence[Var]) -> list[Var]:
    """The sums of several Vars over all ranks, in one message: arrays travel one behind the other.

    Example:
        >>> jt.simulate(2)(lambda: [v.item() for v in added([jt.array(1.0), jt.array(2.0)])])
        [[2.0, 4.0], [2.0, 4.0]]
    """
    return [total.cast(v.dtype) for total, v in zip(_sums(values), values, strict=True)]


def _sums(values: Sequence[Var]) -> list[Var]:
    """What `added` returns, while it is wide."""
    wide = [_wide(v) for v in values]
    dtype = wide[0].dtype
    if any(v.dtype is not dtype for v in wide):
        raise DtypeError("one message has one dtype", ", ".join(str(v.dtype) for v in wide))
    if len(wide) > 1 and any(v.requires_grad for v in wide) and not current().no_grad:
        wide = [concat([v.reshape(-1) for v in wide])]  # one input, so that there is one message for its gradient
    shapes = tuple(v.shape for v in wide)
    rule = (lambda out, dout, x: added([dout])[0].reshape(x.shape)) if dtype.is_float and len(wide) == 1 else None
    total = sum(v.size for v in values)
    flat = message("mpi_all_reduce", wide, (total,), dtype, _all_reduce, (shapes, dtype), rule)
    starts = [0, *accumulate(v.size for v in values)]
    if len(values) == 1 and flat.shape == values[0].shape:  # as it was said
        return [flat]
    return [flat[a:b].reshape(v.shape) for a, b, v in zip(starts, starts[1:], values, strict=False)]


def _all_reduce(comm: Communicator, *arrays: Any) -> Any:
    mine = np.concatenate([a.reshape(-1) for a in arrays]) if len(arrays) > 1 else arrays[0].reshape(-1)
    out = np.empty_like(mine)
    comm.Allreduce(mine, out, SUM)
    return out


@method
def mpi_reduce(x: Any, op: str = "add", root: int = 0) -> Var:
    """The sum (or mean) of x over all ranks, on `root`; zeros elsewhere.

    Example:
        >>> jt.simulate(2)(lambda: jt.array([2.0]).mpi_reduce(root=1).tolist())
        [[0.0], [4.0]]
    """
    v, average = _checked("mpi_reduce", x, op, root=root)
    wide = _wide(v)
    rule = (lambda out, dout, x: mpi_broadcast(dout, root)) if wide.dtype.is_float else None
    total = message("mpi_reduce", [wide], v.shape, wide.dtype, partial(_reduce, root=root), root, rule)
    return _narrow(total, v, average)


def _reduce(comm: Communicator, mine: Any, root: int) -> Any:
    out = np.zeros_like(mine)
    comm.Reduce(mine, out if comm.rank == root else None, SUM, root)
    return out


@method
def mpi_broadcast(x: Any, root: int = 0) -> Var:
    """The x of `root`, on every rank; x has the same shape and dtype everywhere.

    Example:
        >>> jt.simulate(2)(lambda: jt.array([float(jt.rank)]).mpi_broadcast(1).tolist())
        [[1.0], [1.0]]
    """
    v, _ = _checked("mpi_broadcast", x, root=root)
    rule = (lambda out, dout, x: mpi_reduce(dout, "add", root)) if v.dtype.is_float else None
    return message("mpi_broadcast", [v], v.shape, v.dtype, partial(_broadcast, root=root), root, rule)


def _broadcast(comm: Communicator, mine: Any, root: int) -> Any:
    out = mine.copy()
    comm.Bcast(out, root)
    return out


# rows from everyone, rows to everyone


@method
def mpi_all_gather(x: Any) -> Var:
    """The x of all ranks as rows, on every rank: shape s -> (ranks, *s).

    Example:
        >>> jt.simulate(2)(lambda: mpi_all_gather(jt.array(float(jt.rank))).tolist())
        [[0.0, 1.0], [0.0, 1.0]]
    """
    v = as_var(x)
    shape = (communicator().size, *v.shape)
    rule = (lambda out, dout, x: mpi_reduce_scatter(dout)) if v.dtype.is_float else None
    return message("mpi_all_gather", [v], shape, v.dtype, _all_gather, v.shape, rule)


def _all_gather(comm: Communicator, mine: Any) -> Any:
    out = np.empty((comm.size, *mine.shape), mine.dtype)
    comm.Allgather(mine, out)
    return out


@method
def mpi_reduce_scatter(x: Any) -> Var:
    """Row `rank` of the sum of x over all ranks: (ranks, *s) -> s.

    Example:
        >>> jt.simulate(2)(lambda: mpi_reduce_scatter(jt.array([1.0, 2.0])).item())
        [2.0, 4.0]
    """
    v = _rows("mpi_reduce_scatter", as_var(x))
    wide = _wide(v)
    rule = (lambda out, dout, x: mpi_all_gather(dout)) if v.dtype.is_float else None
    row = message("mpi_reduce_scatter", [wide], v.shape[1:], wide.dtype, _reduce_scatter, v.shape, rule)
    return row.cast(v.dtype)


def _reduce_scatter(comm: Communicator, mine: Any) -> Any:
    out = np.empty(mine.shape[1:], mine.dtype)
    comm.Reduce_scatter_block(mine, out, SUM)
    return out


@method
def mpi_all_to_all(x: Any) -> Var:
    """Row k goes to rank k, and what rank k had for this one becomes row k: (ranks, *s) -> (ranks, *s).

    Example:
        >>> jt.simulate(2)(lambda: mpi_all_to_all(jt.array([1.0, 2.0]) + 10.0 * jt.rank).tolist())
        [[1.0, 11.0], [2.0, 12.0]]
    """
    v = _rows("mpi_all_to_all", as_var(x))
    rule = (lambda out, dout, x: mpi_all_to_all(dout)) if v.dtype.is_float else None
    return message("mpi_all_to_all", [v], v.shape, v.dtype, _all_to_all, v.shape, rule)


def _all_to_all(comm: Communicator, mine: Any) -> Any:
    out = np.empty_like(mine)
    comm.Alltoall(mine, out)
    return out


@method
def mpi_gather(x: Any, root: int = 0) -> Var:
    """The x of all ranks as rows, on `root`; zeros elsewhere: shape s -> (ranks, *s).

    Example:
        >>> jt.simulate(2)(lambda: mpi_gather(jt.array(float(jt.rank + 1))).tolist())
        [[1.0, 2.0], [0.0, 0.0]]
    """
    v, _ = _checked("mpi_gather", x, root=root)
    shape = (communicator().size, *v.shape)
    rule = (lambda out, dout, x: mpi_scatter(dout, root)) if v.dtype.is_float else None
    return message("mpi_gather", [v], shape, v.dtype, partial(_gather, root=root), (root, v.shape), rule)


def _gather(comm: Communicator, mine: Any, root: int) -> Any:
    out = np.zeros((comm.size, *mine.shape), mine.dtype)
    comm.Gather(mine, out if comm.rank == root else None, root)
    return out


@method
def mpi_scatter(x: Any, root: int = 0) -> Var:
    """Row `rank` of root's x: (ranks, *s) -> s. The x of the other ranks only gives the shape.

    Example:
        >>> jt.simulate(2)(lambda: mpi_scatter(jt.array([5.0, 6.0]) * (1 - jt.rank)).item())
        [5.0, 6.0]
    """
    v = _rows("mpi_scatter", _checked("mpi_scatter", x, root=root)[0])
    rule = (lambda out, dout, x: mpi_gather(dout, root)) if v.dtype.is_float else None
    return message("mpi_scatter", [v], v.shape[1:], v.dtype, partial(_scatter, root=root), (root, v.shape), rule)


def _scatter(comm: Communicator, mine: Any, root: int) -> Any:
    out = np.empty(mine.shape[1:], mine.dtype)
    comm.Scatter(mine if comm.rank == root else None, out, root)
    return out


@method
def mpi_send_recv(x: Any, dest: int, source: int) -> Var:
    """Send x to `dest`, and return what comes from `source`, which has the same shape and dtype.

    Example:
        >>> def shift():
        ...     return mpi_send_recv(jt.array(float(jt.rank)), (jt.rank + 1) % 3, (jt.rank - 1) % 3).item()
        >>> jt.simulate(3)(shift)
        [2.0, 0.0, 1.0]
    """
    v, _ = _checked("mpi_send_recv", x, dest=dest, source=source)
    rule = (lambda out, dout, x: mpi_send_recv(dout, source, dest)) if v.dtype.is_float else None
    return message("mpi_send_recv", [v], v.shape, v.dtype, partial(_send_recv, dest=dest, source=source),
                   (dest, source), rule)  # fmt: skip


def _send_recv(comm: Communicator, mine: Any, dest: int, source: int) -> Any:
    out = np.empty_like(mine)
    comm.Sendrecv(mine, dest, 0, out, source, 0)
    return out


def _rows(name: str, v: Var) -> Var:
    size = communicator().size
    if not v.ndim or v.shape[0] != size:
        raise ShapeError(f"{name} takes a row for each of {size} ranks", f"shape {v.shape}", f"a first axis of {size}")
    return v
