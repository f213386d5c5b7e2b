"""Groups: working with some of the ranks, and with all.

world       rank     0   1   2   3
new_group([0, 2])    0       1             ranks inside the group count from 0
who is no member gets NON_GROUP_MEMBER, with which every function does nothing
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar

from jt_edu.base.errors import ArgumentError, BackendError, JtError, RankError
from jt_edu.distributed.init_process_group import (
    SOCKETS,
    Backend,
    Joined,
    as_group,
    is_initialized,
    joined_ranks,
    own_backend,
)
from jt_edu.distributed.mpi_group import CommGroup
from jt_edu.distributed.options import as_timeout
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.distributed.store import PrefixStore
from jt_edu.distributed.tcp_group import SocketGroup
from jt_edu.ops.arguments import must_fit

Call = TypeVar("Call", bound=Callable[..., Any])

__all__ = ["GroupMember", "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank",
           "get_world_size", "group", "new_group", "new_subgroups"]  # fmt: skip


class NonMember:
    """What stands for a group that this rank is no member of: functions do nothing there."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 - as in PyTorch
        """The group of all ranks; None before this rank has joined them."""
        return joined_ranks().default if is_initialized() else None


class group(metaclass=_World):  # noqa: N801 - as in PyTorch
    """`group.WORLD`: the group of all ranks; None before this rank has joined them.

    Example:
        >>> jt.distributed.group.WORLD is None
        True
    """


class GroupMember(group):
    """`GroupMember.WORLD`, and `NON_GROUP_MEMBER`, which stands for a group that this rank does not belong to.

    Example:
        >>> jt.distributed.GroupMember.NON_GROUP_MEMBER
        GroupMember.NON_GROUP_MEMBER
    """

    NON_GROUP_MEMBER = NonMember()


def new_group(ranks: Sequence[int] | None = None, timeout: Any = None, backend: Any = None) -> Any:
    """A group of some ranks. All ranks call it, in the same order; a rank that is not a member gets NON_GROUP_MEMBER.

    Args:
        ranks: of the members, in the whole world; all by default. In the group they count from 0, in ascending order.
        timeout: how long its collectives may take; as long as those of the whole world by default.
        backend: that of the world by default, or one of your own.

    Raises:
        ArgumentError: a rank that is not there, or twice.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.new_group([0]).size()
        1
        >>> jt.distributed.destroy_process_group()
    """
    joined = joined_ranks()
    world = joined.default
    members = sorted(range(world.size()) if ranks is None else ranks)
    whole = all(isinstance(r, int) and not isinstance(r, bool) and 0 <= r < world.size() for r in members)
    if not members or not whole or len(set(members)) < len(members):
        raise ArgumentError(f"a group has ranks from 0 to {world.size() - 1}, each once", f"{ranks!r}")
    patience = world.timeout if timeout is None else as_timeout(timeout, "new_group")
    number = next(joined.numbers)
    made = _made(joined, joined.backend if backend is None else Backend(backend), members, patience, number)
    if made is None:
        return GroupMember.NON_GROUP_MEMBER
    made.ranks, made.timeout, made.group_name = tuple(members), patience, f"group {number}"
    joined.groups.append(made)
    return made


def new_subgroups(group_size: int, timeout: Any = None, backend: Any = None) -> tuple[Any, list[Any]]:
    """Groups of equal size that share out all ranks; returns the one of this rank, and all of them.

        8 ranks, group_size=4        ranks 0 1 2 3  and  4 5 6 7

    Args:
        group_size: divides the number of ranks. (In PyTorch it is that of the devices of a machine by default.)
        timeout, backend: see `new_group`.

    Raises:
        ArgumentError: the ranks cannot be shared out so.

    Example:
        >>> def program(comm):
        ...     jt.distributed.init_process_group()
        ...     mine, groups = jt.distributed.new_subgroups(2)
        ...     return mine.ranks, len(groups)
        >>> jt.simulate(4)(program)[2]
        ((2, 3), 2)
    """
    size = joined_ranks().default.size()
    if isinstance(group_size, bool) or not isinstance(group_size, int) or group_size < 1 or size % group_size:
        raise ArgumentError(f"new_subgroups shares out {size} ranks equally", f"group_size={group_size!r}")
    made = [new_group(range(k, k + group_size), timeout, backend) for k in range(0, size, group_size)]
    return next(one for one in made if not isinstance(one, NonMember)), made


def _made(joined: Joined, backend: Backend, members: list[int], timeout: timedelta, number: int) -> ProcessGroup | None:
    world = joined.default
    mine = world.rank() in members
    own = own_backend(backend)
    if own is not None:
        if joined.store is None:
            asked = f"backend {backend!r} meets in a store"
            raise ArgumentError(
                asked, f"a world of {joined.backend!r}, which has none", "init_process_group(store=...)"
            )
        part = PrefixStore(f"group {number}", joined.store)
        return own(part, members.index(world.rank()), len(members), timeout) if mine else None
    if backend != joined.backend and not {backend, joined.backend} <= SOCKETS:
        raise BackendError(f"groups of this world speak through {joined.backend!r}", repr(str(backend)))
    if isinstance(world, CommGroup):
        return world.split(members)
    if isinstance(world, SocketGroup) and joined.mesh is not None:
        world.agree("new_group", ranks=members).wait()
        return SocketGroup(joined.mesh, members, 2 * number, backend) if mine else None
    raise BackendError(f"{world!r} makes no groups", f"new_group({members})", "a backend that was registered")


def chosen_group(group: Any) -> ProcessGroup | None:
    """The group that a function is to use: all ranks by default; None where this rank is no member.

    Example:
        >>> chosen_group(jt.distributed.GroupMember.NON_GROUP_MEMBER) is None
        True
    """
    if isinstance(group, NonMember):
        return None
    found: ProcessGroup = joined_ranks().default if group is None else as_group(group)
    return found


def of_members(call: Call) -> Call:
    """Let a function take any group: None is that of all ranks, and on a rank that is no member nothing is done.

    Example:
        >>> @of_members
        ... def everybody(group=None):
        ...     return group.ranks
        >>> jt.distributed.init_process_group("solo")
        >>> everybody(), everybody(jt.distributed.GroupMember.NON_GROUP_MEMBER)
        ((0,), None)
        >>> jt.distributed.destroy_process_group()
    """
    signature = inspect.signature(call)
    place = list(signature.parameters).index("group")

    @wraps(call)
    def called(*args: Any, **named: Any) -> Any:
        by_place = len(args) > place
        try:
            members = chosen_group(args[place] if by_place else named.get("group"))
        except JtError:
            must_fit(call.__name__, signature, *args, **named)  # which is to be said first
            raise
        if members is None:
            must_fit(call.__name__, signature, *args, **named)
            return None
        if by_place:
            args = (*args[:place], members, *args[place + 1 :])
        else:
            named["group"] = members
        return call(*args, **named)

    return called  # type: ignore[return-value]


def own_group(group: Any, asked: str) -> ProcessGroup:
    """The group that is to be used by one of its members.

    Raises:
        RankError: this rank is none of them, and `asked` works on members only.
    """
    found = chosen_group(group)
    if found is None:
        raise RankError(f"{asked} works on the members of its group", "a rank that is none of them")
    return found


def get_rank(group: Any = None) -> int:
    """The number of this rank in a group, from 0; -1 if it is not a member.

    Example:
        >>> jt.distributed.get_rank(jt.distributed.GroupMember.NON_GROUP_MEMBER)
        -1
    """
    found = chosen_group(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many ranks a group has; -1 if the calling rank is not a member.

    Example:
        >>> jt.distributed.get_world_size(jt.distributed.GroupMember.NON_GROUP_MEMBER)
        -1
    """
    found = chosen_group(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """The backend of a group.

    Raises:
        ArgumentError: this rank is no member.

    Example:
        >>> jt.simulate(2)(lambda: (jt.distributed.init_process_group(), jt.distributed.get_backend())[1])
        ['threads', 'threads']
    """
    found = chosen_group(group)
    if found is None:
        raise ArgumentError("get_backend asks for a group of this rank", repr(group))
    return found.name()


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of a rank of the world.

    Raises:
        ArgumentError: it is no member.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.get_group_rank(jt.distributed.group.WORLD, 0)
        0
        >>> jt.distributed.destroy_process_group()
    """
    members = as_group(group).ranks
    if global_rank not in members:
        raise ArgumentError(f"a member of the group is one of the ranks {list(members)}", repr(global_rank))
    return int(members.index(global_rank))


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the world of a rank of a group.

    Raises:
        ArgumentError: there is no such rank.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.get_global_rank(jt.distributed.group.WORLD, 0)
        0
        >>> jt.distributed.destroy_process_group()
    """
    members = as_group(group).ranks
    if isinstance(group_rank, bool) or not isinstance(group_rank, int) or not 0 <= group_rank < len(members):
        raise ArgumentError(f"the group has ranks 0 to {len(members) - 1}", repr(group_rank))
    return int(members[group_rank])


def get_process_group_ranks(group: Any) -> list[int]:
    """The members of a group, as ranks of the world.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.get_process_group_ranks(jt.distributed.group.WORLD)
        [0]
        >>> jt.distributed.destroy_process_group()
    """
    return list(as_group(group).ranks)
