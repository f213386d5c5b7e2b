"""Objects: collectives for anything that can be pickled.

    1  sizes     each rank tells how many bytes its object has
    2  bytes     all as long as the longest one, padded

An object arrives as a copy, also on the rank that sent it. Unpickling runs what the sender put there: these functions
are for ranks of one's own program, as everything in this package is.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed.collectives import all_gather, broadcast, gather, scatter
from jt_edu.distributed.groups import get_group_rank, of_members
from jt_edu.distributed.point_to_point import recv, send
from jt_edu.ops.create import zeros
from jt_edu.variable.var import Var, array

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
           "send_object_list"]  # fmt: skip


@of_members
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """A copy of rank k's `obj` into `object_list[k]`, on every rank.

    Raises:
        ArgumentError: the list is of another length, or an object cannot be pickled.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     found = [None, None]
        ...     jt.distributed.all_gather_object(found, {"rank": comm.rank})
        ...     return found
        >>> jt.simulate(2)(program)[0]
        [{'rank': 0}, {'rank': 1}]
    """
    _check_list(object_list, group.size(), "all_gather_object")
    mine, sizes = _padded_to_all(obj, group)
    rooms = [mine.zeros_like() for _ in sizes]
    all_gather(rooms, mine, group)
    object_list[:] = map(_opened, rooms, sizes)


@of_members
def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: Any = None) -> None:
    """A copy of rank k's `obj` into `object_gather_list[k]` of rank `dst`; the others give no list.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     found = [None, None] if comm.rank == 0 else None
        ...     jt.distributed.gather_object("abc"[: comm.rank + 1], found)
        ...     return found
        >>> jt.simulate(2)(program)
        [['a', 'ab'], None]
    """
    here = group.rank() == get_group_rank(group, dst)
    if here:
        _check_list(object_gather_list, group.size(), "gather_object")
    mine, sizes = _padded_to_all(obj, group)
    rooms = [mine.zeros_like() for _ in sizes] if here else None
    gather(mine, rooms, dst, group)
    if rooms is not None and object_gather_list is not None:
        object_gather_list[:] = map(_opened, rooms, sizes)


@of_members
def broadcast_object_list(object_list: list[Any], src: int = 0, group: Any = None) -> None:
    """Copies of the objects that rank `src` has in the list, into every rank's list.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     told = ["learning rate", 0.1] if comm.rank == 0 else [None, None]
        ...     jt.distributed.broadcast_object_list(told)
        ...     return told
        >>> jt.simulate(2)(program)[1]
        ['learning rate', 0.1]
    """
    _check_list(object_list, None, "broadcast_object_list")
    here = group.rank() == get_group_rank(group, src)
    packed = [_packed(obj) for obj in object_list] if here else []
    sizes = array(np.array([len(p) for p in packed], np.int64)) if here else zeros(len(object_list), dtype="int64")
    broadcast(sizes, src, group)
    ends = np.cumsum(sizes.numpy())
    total = int(ends[-1]) if len(ends) else 0
    whole = array(np.frombuffer(b"".join(packed), np.uint8)) if here else zeros(total, dtype="uint8")
    broadcast(whole, src, group)
    object_list[:] = _unpacked(whole, ends)


def send_object_list(object_list: list[Any], dst: int, group: Any = None) -> None:
    """Send copies of the objects in a list to rank `dst`, which has a list of the same length for them.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     told = ["learning rate", 0.1] if comm.rank == 0 else [None, None]
        ...     if comm.rank == 0:
        ...         jt.distributed.send_object_list(told, dst=1)
        ...     else:
        ...         jt.distributed.recv_object_list(told, src=0)
        ...     return told
        >>> jt.simulate(2)(program)[1]
        ['learning rate', 0.1]
    """
    _check_list(object_list, None, "send_object_list")
    packed = [_packed(obj) for obj in object_list]
    send(array(np.array([len(p) for p in packed], np.int64)), dst, group)
    send(array(np.frombuffer(b"".join(packed), np.uint8)), dst, group)


def recv_object_list(object_list: list[Any], src: int | None = None, group: Any = None) -> int:
    """Fill a list with the objects that rank `src` (or any rank) sends; returns which, or -1 if not a member.

    Example:
        >>> jt.distributed.recv_object_list([None], group=jt.distributed.GroupMember.NON_GROUP_MEMBER)
        -1
    """
    _check_list(object_list, None, "recv_object_list")
    sizes = zeros(len(object_list), dtype="int64")
    sender = recv(sizes, src, group)
    if sender >= 0:
        ends = np.cumsum(sizes.numpy())
        whole = zeros(int(sizes.numpy().sum()), dtype="uint8")
        recv(whole, sender, group)
        object_list[:] = _unpacked(whole, ends)
    return sender


@of_members
def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: Sequence[Any] | None, src: int = 0,
    group: Any = None,
) -> None:  # fmt: skip
    """A copy of `scatter_object_input_list[k]` of rank `src` into the first place of rank k's output list.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     mine = [None]
        ...     jt.distributed.scatter_object_list(mine, ["zero", "one"] if comm.rank == 0 else None)
        ...     return mine
        >>> jt.simulate(2)(program)
        [['zero'], ['one']]
    """
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        asked = "scatter_object_list fills the first place of a list"
        raise ArgumentError(asked, repr(scatter_object_output_list), "[None]")
    here = group.rank() == get_group_rank(group, src)
    packed = []
    if here:
        _check_list(scatter_object_input_list, group.size(), "scatter_object_list")
        packed = [_packed(obj) for obj in scatter_object_input_list or []]
    longest = array(np.array([max((len(p) for p in packed), default=0)], np.int64))
    broadcast(longest, src, group)
    size, room = zeros(1, dtype="int64"), zeros(int(longest.item()), dtype="uint8")
    scatter(size, [_count(p) for p in packed] if here else None, src, group)
    scatter(room, [_padded(p, int(longest.item())) for p in packed] if here else None, src, group)
    scatter_object_output_list[0] = _opened(room, size.item())


def _check_list(given: Any, size: int | None, call: str) -> None:
    if not isinstance(given, list) or (size is not None and len(given) != size):
        found = f"{len(given)} of them" if isinstance(given, list) else repr(given)
        raise ArgumentError(f"{call} takes a list" + (f" with a place for each of {size} ranks" if size else ""), found)


def _packed(obj: Any) -> bytes:
    try:
        return pickle.dumps(obj, protocol=5)
    except Exception as error:  # noqa: BLE001 - objects may raise what they like
        raise ArgumentError("objects that travel can be pickled", f"{type(obj).__name__}: {error}") from None


def _unpacked(whole: Var, ends: Any) -> list[Any]:
    """The objects whose bytes lie one behind the other."""
    pieces = np.split(whole.numpy(), ends[:-1]) if len(ends) else []
    return [pickle.loads(piece.tobytes()) for piece in pieces]  # noqa: S301 - our own ranks


def _padded_to_all(obj: Any, group: Any) -> tuple[Var, list[int]]:
    """My object's bytes, as long as those of the longest, and how many are each rank's own."""
    mine = _packed(obj)
    sizes = [zeros(1, dtype="int64") for _ in range(group.size())]
    all_gather(sizes, _count(mine), group)
    found = [size.item() for size in sizes]
    return _padded(mine, max(found)), found


def _count(packed: bytes) -> Var:
    return array(np.array([len(packed)], np.int64))


def _padded(packed: bytes, size: int) -> Var:
    return array(np.frombuffer(packed.ljust(size, b"\0"), np.uint8))


def _opened(room: Var, size: int) -> Any:
    return pickle.loads(room.numpy()[:size].tobytes())  # noqa: S301 - our own ranks
