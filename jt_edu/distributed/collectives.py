"""Collectives: what all ranks of a group do together, in PyTorch's names.

    broadcast         src's to all              all_reduce        all, put together, to all
    scatter           a part of src's to each   reduce            all, put together, to dst
    gather            one of each to dst        reduce_scatter    parts, put together, one to each
    all_gather        one of each to all        all_to_all        one of each to each

The tensors that are given get the results. A function returns None when it is over; with `async_op=True` at once, a
`Work` to wait for; None on a rank that is not a member. `src` and `dst` are ranks of the whole world.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed.groups import get_group_rank, of_members
from jt_edu.distributed.options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    as_reduce_op,
)
from jt_edu.distributed.work import Work

__all__ = ["all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_reduce", "all_reduce_coalesced",
           "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "reduce", "reduce_scatter",
           "reduce_scatter_tensor", "scatter"]  # fmt: skip


@of_members
def broadcast(tensor: Any, src: int, group: Any = None, async_op: bool = False) -> Work | None:
    """The numbers that rank `src` has in `tensor`, into every rank's `tensor`.

    Args:
        tensor: a Var, or a NumPy array that can be written; of the same shape and dtype on all ranks.
        src: a rank of the world.
        group: whose ranks take part; all by default.
        async_op: come back at once, with a `Work`.

    Raises:
        RankError: a rank failed, is gone, came too late, or called something else.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.array([float(comm.rank)])
        ...     jt.distributed.broadcast(x, src=1)
        ...     return x.item()
        >>> jt.simulate(2)(program)
        [1.0, 1.0]
    """
    opts = BroadcastOptions(get_group_rank(group, src))
    return _over(group.broadcast([tensor], opts), async_op)


@of_members
def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combine every rank's `tensor`, and put the result into every rank's `tensor`.

        tensor = op(tensor of rank 0, tensor of rank 1, ...)

    Args:
        tensor, group, async_op: see `broadcast`.
        op: one of ReduceOp.

    Raises:
        DtypeError: the reduction has no meaning for these numbers. RankError: see `broadcast`.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.array([1.0, comm.rank])
        ...     jt.distributed.all_reduce(x, ReduceOp.AVG)
        ...     return x.tolist()
        >>> jt.simulate(2)(program)
        [[1.0, 0.5], [1.0, 0.5]]
    """
    return _over(group.allreduce([tensor], AllreduceOptions(as_reduce_op(op, "all_reduce"))), async_op)


@of_members
def all_reduce_coalesced(
    tensors: Sequence[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors of one dtype, in one message.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.all_reduce_coalesced([jt.ones(2), jt.ones(3, 4)])
        >>> jt.distributed.destroy_process_group()
    """
    opts = AllreduceCoalescedOptions(as_reduce_op(op, "all_reduce_coalesced"))
    return _over(group.allreduce_coalesced(list(tensors), opts), async_op)


@of_members
def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combine every rank's `tensor`, and put the result into that of rank `dst`; the others keep theirs.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.array([1.0])
        ...     jt.distributed.reduce(x, dst=0)
        ...     return x.item()
        >>> jt.simulate(3)(program)
        [3.0, 1.0, 1.0]
    """
    opts = ReduceOptions(as_reduce_op(op, "reduce"), get_group_rank(group, dst))
    return _over(group.reduce([tensor], opts), async_op)


@of_members
def all_gather(tensor_list: Sequence[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Rank k's `tensor` into `tensor_list[k]`, on every rank.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     all_of_them = [jt.zeros(1) for _ in range(2)]
        ...     jt.distributed.all_gather(all_of_them, jt.array([float(comm.rank)]))
        ...     return [x.item() for x in all_of_them]
        >>> jt.simulate(2)(program)
        [[0.0, 1.0], [0.0, 1.0]]
    """
    return _over(group.allgather([list(tensor_list)], [tensor], AllgatherOptions()), async_op)


@of_members
def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Any]], input_tensor_list: Sequence[Any], group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """`all_gather` of several tensors of one dtype, in one message: number i of rank k into output_tensor_lists[k][i].

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     rooms = [[jt.zeros(1), jt.zeros(2)] for _ in range(2)]
        ...     jt.distributed.all_gather_coalesced(rooms, [jt.array([comm.rank + 1.0]), jt.ones(2) * comm.rank])
        ...     return [[x.tolist() for x in row] for row in rooms]
        >>> jt.simulate(2)(program)[0]
        [[[1.0], [0.0, 0.0]], [[2.0], [1.0, 1.0]]]
    """
    rows = [list(row) for row in output_tensor_lists]
    return _over(group.allgather_coalesced(rows, list(input_tensor_list), AllgatherOptions()), async_op)


@of_members
def gather(
    tensor: Any, gather_list: Sequence[Any] | None = None, dst: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """Rank k's `tensor` into `gather_list[k]` of rank `dst`; the others give no list.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     all_of_them = [jt.zeros(1) for _ in range(2)] if comm.rank == 0 else None
        ...     jt.distributed.gather(jt.array([float(comm.rank)]), all_of_them, dst=0)
        ...     return all_of_them and [x.item() for x in all_of_them]
        >>> jt.simulate(2)(program)
        [[0.0, 1.0], None]
    """
    root = get_group_rank(group, dst)
    return _over(group.gather(_list_on(root, group.rank(), gather_list), [tensor], GatherOptions(root)), async_op)


@of_members
def scatter(
    tensor: Any, scatter_list: Sequence[Any] | None = None, src: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """`scatter_list[k]` of rank `src` into rank k's `tensor`; the others give no list.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x, parts = jt.zeros(1), [jt.ones(1), jt.ones(1) * 2] if comm.rank == 0 else None
        ...     jt.distributed.scatter(x, parts, src=0)
        ...     return x.item()
        >>> jt.simulate(2)(program)
        [1.0, 2.0]
    """
    root = get_group_rank(group, src)
    parts = _list_on(root, group.rank(), scatter_list)
    return _over(group.scatter([tensor], parts, ScatterOptions(root)), async_op)


@of_members
def reduce_scatter(
    output: Any, input_list: Sequence[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine every rank's `input_list[k]`, and put the result into rank k's `output`.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.zeros(1)
        ...     jt.distributed.reduce_scatter(x, [jt.array([1.0]), jt.array([10.0])])
        ...     return x.item()
        >>> jt.simulate(2)(program)
        [2.0, 20.0]
    """
    opts = ReduceScatterOptions(as_reduce_op(op, "reduce_scatter"))
    return _over(group.reduce_scatter([output], [list(input_list)], opts), async_op)


@of_members
def all_to_all(
    output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None, async_op: bool = False
) -> Work | None:
    """My `input_tensor_list[k]` into rank k's `output_tensor_list[my rank]`. Lengths may differ, if both ends agree.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     came = [jt.zeros(1), jt.zeros(1)]
        ...     jt.distributed.all_to_all(came, [jt.array([comm.rank * 10.0 + k]) for k in range(2)])
        ...     return [x.item() for x in came]
        >>> jt.simulate(2)(program)
        [[0.0, 10.0], [1.0, 11.0]]
    """
    return _over(group.alltoall(list(output_tensor_list), list(input_tensor_list), AllToAllOptions()), async_op)


@of_members
def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """`all_to_all` of the rows of one tensor: `input_split_sizes[k]` of them go to rank k; equally many by default.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     came = jt.zeros(2)
        ...     jt.distributed.all_to_all_single(came, jt.arange(2.0) + 10 * comm.rank)
        ...     return came.tolist()
        >>> jt.simulate(2)(program)
        [[0.0, 10.0], [1.0, 11.0]]
    """
    sizes = list(output_split_sizes or []), list(input_split_sizes or [])
    return _over(group.alltoall_base(output, input, *sizes, AllToAllOptions()), async_op)


@of_members
def all_gather_into_tensor(output: Any, input: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """`all_gather` into the rows of one tensor, which has as many times the numbers as there are ranks.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.zeros(2, 1)
        ...     jt.distributed.all_gather_into_tensor(x, jt.array([float(comm.rank)]))
        ...     return x.tolist()
        >>> jt.simulate(2)(program)[0]
        [[0.0], [1.0]]
    """
    return _over(group.allgather_base(output, input, AllgatherOptions()), async_op)


@of_members
def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`reduce_scatter` of the rows of one tensor.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.zeros(1)
        ...     jt.distributed.reduce_scatter_tensor(x, jt.arange(2.0))
        ...     return x.item()
        >>> jt.simulate(2)(program)
        [0.0, 2.0]
    """
    opts = ReduceScatterOptions(as_reduce_op(op, "reduce_scatter_tensor"))
    return _over(group.reduce_scatter_base(output, input, opts), async_op)


@of_members
def barrier(group: Any = None, async_op: bool = False) -> Work | None:
    """No rank continues before all have arrived.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.barrier()
        >>> jt.distributed.destroy_process_group()
    """
    return _over(group.barrier(BarrierOptions()), async_op)


def _over(work: Work, async_op: bool) -> Work | None:
    """The work, or nothing when it is over."""
    if async_op:
        return work
    work.wait()
    return None


def _list_on(root: int, rank: int, given: Sequence[Any] | None) -> list[list[Any]]:
    """The list of tensors as a process group takes it: [] on all ranks but the root."""
    if rank == root and given is None:
        raise ArgumentError(f"rank {root} of the group gives a list with a tensor for each rank", "None")
    if rank != root and given:
        raise ArgumentError(f"only rank {root} of the group gives a list", f"{len(given)} tensors on rank {rank}")
    return [list(given or [])] if rank == root else []
