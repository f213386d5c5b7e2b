"""Comm hooks: what may happen to a bucket of gradients on its way, for `register_comm_hook(state, hook)`.

    allreduce_hook          what happens without a hook, written as one
    fp16_compress_hook      half the bytes: float16 on the way
    bf16_compress_hook      half the bytes: bfloat16, which has the range of float32 and 8 bits of it
    powerSGD_hook           power_sgd.py: two slim matrices instead of a large one

A hook is called with a state and a bucket, and returns a future of the numbers that become the gradients. Numbers are
divided before they are added up: the sum of 1,000 halves would leave their range, the mean does not.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import DType, bfloat16, float16
from jt_edu.distributed.buckets import GradBucket
from jt_edu.distributed.collectives import all_reduce
from jt_edu.distributed.groups import own_group
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.distributed.work import Future
from jt_edu.variable.var import Var


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The mean over all ranks: what happens without a hook.

    Args:
        process_group: whose ranks; None: all. It is the `state` of `register_comm_hook`.
        bucket: gradients of this rank.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     net = jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))
        ...     net.register_comm_hook(None, jt.distributed.allreduce_hook)
        ...     net(jt.array([[1.0 + comm.rank]])).sum().backward()
        ...     return net.module.weight.grad.item()
        >>> jt.simulate(2)(program)
        [1.5, 1.5]
    """
    return mean_of(bucket.buffer(), process_group)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The mean over all ranks, as float16 on the way: half the bytes of float32, and 11 bits of each number.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     net = jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))
        ...     net.register_comm_hook(None, jt.distributed.fp16_compress_hook)
        ...     net(jt.array([[1.0 + 1e-4]])).sum().backward()
        ...     return net.module.weight.grad.item()
        >>> jt.simulate(2)(program)
        [1.0, 1.0]
    """
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The mean over all ranks, as bfloat16 on the way: half the bytes, the range of float32, and 8 bits of each number.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     net = jt.distributed.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))
        ...     net.register_comm_hook(None, jt.distributed.bf16_compress_hook)
        ...     net(jt.array([[1.001e20]])).sum().backward()
        ...     return net.module.weight.grad.item()
        >>> jt.simulate(2)(program)[0] == float(jt.array(1.001e20).bfloat16().item())
        True
    """
    return _compressed(bfloat16, process_group, bucket)


def _compressed(dtype: DType, process_group: Any, bucket: GradBucket) -> Future:
    whole = bucket.buffer()
    return mean_of(whole.cast(dtype), process_group).then(lambda f: f.value().cast(whole.dtype))


def mean_of(value: Var, process_group: Any) -> Future:
    """A future of the mean of a Var over all ranks.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     return mean_of(jt.array([float(comm.rank)]), None).wait().item()
        >>> jt.simulate(2)(program)
        [0.5, 0.5]
    """
    return total_of(value / members_of(process_group).size(), process_group)


def total_of(value: Var, process_group: Any) -> Future:
    """A future of the sum of a Var over all ranks.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     return total_of(jt.array([float(comm.rank)]), None).wait().item()
        >>> jt.simulate(2)(program)
        [1.0, 1.0]
    """
    work = all_reduce(value, group=members_of(process_group), async_op=True)
    assert work is not None, "what is async and asked for by a member is a work"
    return work.get_future().then(lambda f: f.value()[0])


def members_of(process_group: Any) -> ProcessGroup:
    """The group that a hook uses; all ranks, if it is None."""
    return own_group(process_group, "a communication hook")
