"""Point to point: tensors from one rank to one other.

    rank 0  send(x, dst=1)                    rank 1  recv(x, src=0)          x gets the numbers
            isend(x, dst=1) -> Work                   irecv(x, src=0) -> Work

A message waits for the receive that asks for its tag: messages of one tag keep their order, others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed.groups import chosen_group, get_global_rank, get_group_rank
from jt_edu.distributed.work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def send(tensor: Any, dst: int, group: Any = None, tag: int = 0) -> None:
    """Send a tensor to rank `dst` of the world; returns when it is on its way.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.array([7.0 * comm.rank])
        ...     if comm.rank == 1:
        ...         jt.distributed.send(x, dst=0)
        ...     else:
        ...         jt.distributed.recv(x, src=1)
        ...     return x.item()
        >>> jt.simulate(2)(program)
        [7.0, 7.0]
    """
    work = isend(tensor, dst, group, tag)
    if work is not None:
        work.wait()


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0) -> int:
    """Receive a tensor of the same shape and dtype from rank `src`, or from any rank; returns the rank that sent it.

    A rank that is no member receives nothing, and gets -1.

    Raises:
        ShapeError, DtypeError: what came is of another shape or dtype.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x = jt.zeros(1)
        ...     return jt.distributed.send(x, 0, tag=5) if comm.rank else jt.distributed.recv(x, tag=5)
        >>> jt.simulate(2)(program)
        [1, None]
    """
    members = chosen_group(group)
    if members is None:
        return -1
    work = irecv(tensor, src, group, tag)
    assert work is not None, "a member receives"
    work.wait()
    return src if src is not None else get_global_rank(members, work.result())


def isend(tensor: Any, dst: int, group: Any = None, tag: int = 0) -> Work | None:
    """Begin to send a tensor; None on a rank that is not a member.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x, came = jt.array([float(comm.rank)]), jt.zeros(1)
        ...     works = [jt.distributed.isend(x, 1 - comm.rank), jt.distributed.irecv(came, 1 - comm.rank)]
        ...     return [work.wait() for work in works], came.item()
        >>> jt.simulate(2)(program)
        [([True, True], 1.0), ([True, True], 0.0)]
    """
    members = chosen_group(group)
    return None if members is None else members.send([tensor], get_group_rank(members, dst), tag)


def irecv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0) -> Work | None:
    """Begin to receive a tensor, which has its numbers when the work is over; None on a rank that is not a member.

    Example:
        >>> jt.distributed.irecv(jt.zeros(1), 0, group=jt.distributed.GroupMember.NON_GROUP_MEMBER)
    """
    members = chosen_group(group)
    if members is None:
        return None
    if src is None:
        return members.recv_anysource([tensor], tag)
    return members.recv([tensor], get_group_rank(members, src), tag)


class P2POp:
    """One message of a batch.

    Args:
        op: `isend` or `irecv`.
        tensor, peer, group, tag: what they take.

    Raises:
        ArgumentError: `op` is something else.

    Example:
        >>> P2POp(jt.distributed.isend, jt.zeros(2), 1)
        P2POp(isend, peer=1, tag=0)
    """

    def __init__(self, op: Callable[..., Any], tensor: Any, peer: int, group: Any = None, tag: int = 0) -> None:
        if op not in (isend, irecv):
            raise ArgumentError("a P2POp begins with isend or irecv", repr(op))
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages, in any order; returns a work for each.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     x, came, size = jt.array([float(comm.rank)]), jt.zeros(1), comm.size
        ...     right, left = (comm.rank + 1) % size, (comm.rank - 1) % size
        ...     ring = [P2POp(isend, x, right), P2POp(irecv, came, left)]
        ...     for work in jt.distributed.batch_isend_irecv(ring):
        ...         work.wait()
        ...     return came.item()
        >>> jt.simulate(3)(program)
        [2.0, 0.0, 1.0]
    """
    if not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ArgumentError("a batch is a list of P2POp", repr(p2p_op_list), "[P2POp(isend, x, 1)]")
    works = [one.op(one.tensor, one.peer, one.group, one.tag) for one in p2p_op_list]
    return [work for work in works if work is not None]
