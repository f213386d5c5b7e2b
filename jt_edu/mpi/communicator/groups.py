"""Groups: communicators for some of the ranks, made from one for all of them.

Split     the ranks that say the same color, in the order of their keys
Dup       the same ranks; their messages meet nobody else's
Create    the ranks of a Group, which is made by choosing: comm.Get_group().Incl([2, 0])

Also: `Split_type`, the ranks on one machine, and `Create_group`, for which only the ranks of the group are needed.
"""

from __future__ import annotations

import platform
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.base import constants
from jt_edu.mpi.base.constants import COMM_NULL, COMM_TYPE_SHARED, GROUP_NULL, UNDEFINED
from jt_edu.mpi.base.deadlock_hints import ranks_named
from jt_edu.mpi.base.errors import MismatchError
from jt_edu.mpi.communicator.messages import check_tag
from jt_edu.mpi.communicator.persistent import Persistent
from jt_edu.mpi.communicator.point_to_point import Plane
from jt_edu.ops.arguments import whole


class Groups(Persistent):
    """A communicator that can make others."""

    @cached_property
    def _made(self) -> Counter[tuple[tuple[int, ...], int]]:
        """How many groups of those ranks `Create_group` made, under that tag."""
        return Counter()

    def Dup(self) -> Self:
        """The same group, whose messages do not meet those of this communicator."""
        return self._group(*self._meet("Dup", None, finish=lambda _: (self.members, (self.plane, "dup", self._met))))

    Clone = Dup

    def Split(self, color: int = 0, key: int = 0) -> Self:
        """The group of all ranks that call with the same color, ordered by key and then by rank.

        A rank whose color is UNDEFINED is in none, and gets COMM_NULL, which is false.
        """
        for name, value in (("color", color), ("key", key)):
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or (name == "color" and value < 0 and value != UNDEFINED):
                raise ArgumentError(f"Split takes a whole number as {name}, from 0 for a color", repr(value))
        return self._split("Split", int(color), int(key))

    def Split_type(self, split_type: int = COMM_TYPE_SHARED, key: int = 0, info: Any = None) -> Self:
        """The group of all ranks on the same machine, ordered by key and then by rank; UNDEFINED as for `Split`."""
        if split_type not in (COMM_TYPE_SHARED, UNDEFINED):
            raise ArgumentError("Split_type goes by machines", repr(split_type), "MPI.COMM_TYPE_SHARED")
        where = UNDEFINED if split_type == UNDEFINED else platform.node()
        return self._split("Split_type", where, whole("Split_type", "key", key))

    def _split(self, name: str, color: int | str, key: int) -> Self:
        everyone = self._meet(name, (color, key), finish=list)
        mine = sorted((k, rank) for rank, (c, k) in enumerate(everyone) if c == color)
        if color == UNDEFINED:
            nobody: Self = COMM_NULL
            return nobody
        return self._group(tuple(self.members[rank] for _, rank in mine), (self.plane, "split", self._met, color))

    def Get_group(self) -> Group:
        """The ranks of this communicator, to choose from."""
        return Group(self.members, self.task.rank)

    @property
    def group(self) -> Group:
        """The same."""
        return self.Get_group()

    def Compare(self, comm: Groups) -> int:
        """IDENT: the same one; CONGRUENT: the same ranks in the same order; SIMILAR: in another order; or UNEQUAL."""
        return constants.IDENT if comm is self else max(constants.CONGRUENT, self.group.Compare(comm.group))

    def Create_group(self, group: Group, tag: int = 0) -> Self:
        """A communicator for a group, called only by the ranks that are in it.

        Raises:
            ArgumentError: it is no group, or one with ranks that are not here, or without the one that calls.
        """
        here = isinstance(group, Group) and set(group.members) <= set(self.members)
        if not here or self.task.rank not in group.members:
            asked = "Create_group takes a group of ranks of its communicator, with the one that calls"
            raise ArgumentError(asked, repr(group), "Create, which all ranks call")
        check_tag(tag, "Create_group")
        self._made[group.members, tag] += 1
        with self._called("Create_group", f"Create_group({group}, tag={tag})", tag=tag):
            return self._group(group.members, (self.plane, "group", group.members, tag, self._made[group.members, tag]))

    def Create(self, group: Group) -> Self:
        """A communicator for a group; all ranks of this one call it, and those outside the group get COMM_NULL.

        Ranks may call it with different groups, so that several communicators are made at once: each rank with the
        group that it is in.

        Raises:
            ArgumentError: it is no group, or one with ranks that are not here.
            MismatchError: a rank is in the groups of two ranks, and these are not the same.
        """
        if not isinstance(group, Group) or not set(group.members) <= set(self.members):
            raise ArgumentError("Create takes a group of ranks of its communicator", repr(group), "comm.Get_group()")
        everyone: list[tuple[int, ...]] = self._meet("Create", group.members, finish=list)
        _check_disjoint(dict(zip(self.members, everyone, strict=True)))
        if group.rank == UNDEFINED:
            nobody: Self = COMM_NULL
            return nobody
        return self._group(group.members, (self.plane, "create", self._met, group.members))

    def Is_inter(self) -> bool:
        """Whether it has two sides; none has, here."""
        return False

    def Is_intra(self) -> bool:
        """Whether it has one side only."""
        return True

    def Get_name(self) -> str:
        """What messages call this communicator."""
        return self.name

    def Set_name(self, name: str) -> None:
        """Say what messages call this communicator."""
        self.name = str(name)

    def Free(self) -> None:
        """This communicator is not used any more, and equals COMM_NULL; who uses it all the same is told."""
        self.freed, self.freed_to = True, COMM_NULL

    def __bool__(self) -> bool:
        return not self.freed

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank {self.rank} of {self.size})"

    @abstractmethod
    def Abort(self, errorcode: int = 0) -> None:
        """End all ranks, at once."""

    @abstractmethod
    def _group(self, members: tuple[int, ...], plane: Plane) -> Self:
        """The communicator of those ranks of the world, which all of them make together."""


def _check_disjoint(groups: dict[int, tuple[int, ...]]) -> None:
    """Refuse groups of which a rank is in two; the ranks of a group have all said that group, in that order."""
    for rank, members in groups.items():
        for member in members:
            if groups.get(member) != members:
                said = "\n  ".join(f"rank {r} calls it with {Group(groups[r], r)}" for r in sorted((rank, member)))
                raise MismatchError(
                    "Create is called by all ranks of a group with that group", f"different ones:\n  {said}",
                    "the same group, in the same order, on each of its ranks; Split, if each rank knows only its color",
                )  # fmt: skip


class Group:
    """Some ranks, in an order: from which communicators are made.

    Args:
        members: their numbers in the world.
        me: that of the rank that asks.

    Example:
        >>> group = Group((0, 1, 2, 3), 1)
        >>> group.Incl([3, 1]).Get_rank(), group.Excl([1]).Get_rank() == UNDEFINED
        (1, True)
    """

    def __init__(self, members: tuple[int, ...], me: int) -> None:
        self.members, self._me, self.freed_to = members, me, None

    def __bool__(self) -> bool:
        return self.freed_to is None

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Group) and bool(self) is bool(other) and (not self or self.members == other.members)
        return same or NotImplemented

    __hash__ = None  # type: ignore[assignment] # as mpi4py has it: what it equals changes

    @property
    def size(self) -> int:
        """How many ranks it has."""
        return len(self.members)

    @property
    def rank(self) -> int:
        """Which of them this rank is; UNDEFINED if none."""
        return self.members.index(self._me) if self._me in self.members else UNDEFINED

    def Get_size(self) -> int:
        """How many ranks it has."""
        return self.size

    def Get_rank(self) -> int:
        """Which of them this rank is; UNDEFINED if none."""
        return self.rank

    def Incl(self, ranks: Sequence[int]) -> Group:
        """Those ranks of this group, in that order."""
        return self._of(self._checked(ranks))

    def Excl(self, ranks: Sequence[int]) -> Group:
        """All but those."""
        out = self._checked(ranks)
        return self._of(m for m in self.members if m not in out)

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """The ranks of some ranges (first, last, step), the last ones with them."""
        return self.Incl(_ranges(ranks))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> Group:
        """All but those."""
        return self.Excl(_ranges(ranks))

    def Union(self, other: Group) -> Group:
        """The ranks of this group, then those that only the other has."""
        return self._of((*self.members, *(m for m in other.members if m not in self.members)))

    def Intersection(self, other: Group) -> Group:
        """The ranks that both have, in the order of this one."""
        return self._of(m for m in self.members if m in other.members)

    Intersect = Intersection

    def Difference(self, other: Group) -> Group:
        """The ranks that the other has not."""
        return self._of(m for m in self.members if m not in other.members)

    def Translate_ranks(self, ranks: Sequence[int] | None, other: Group) -> list[int]:
        """What the other group calls some ranks of this one; UNDEFINED where it has not got them."""
        chosen = self.members if ranks is None else self._checked(ranks)
        return [other.members.index(m) if m in other.members else UNDEFINED for m in chosen]

    def Compare(self, group: Group) -> int:
        """IDENT: the same ranks in the same order; SIMILAR: in another order; or UNEQUAL."""
        if self.members == group.members:
            return constants.IDENT
        return constants.SIMILAR if set(self.members) == set(group.members) else constants.UNEQUAL

    def Free(self) -> None:
        """It is not used any more, and equals GROUP_NULL."""
        self.freed_to = GROUP_NULL

    def _of(self, members: Iterable[int]) -> Group:
        return Group(tuple(members), self._me)

    def _checked(self, ranks: Sequence[int]) -> list[int]:
        for rank in ranks:
            if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 0 <= rank < self.size:
                raise ArgumentError(f"a group of {self.size} has ranks from 0 to {self.size - 1}", repr(rank))
        if len(set(ranks)) < len(ranks):
            raise ArgumentError("each rank is in a group once", repr(list(ranks)))
        return [self.members[rank] for rank in ranks]

    def __repr__(self) -> str:
        return f"Group of {ranks_named(self.members)}" if self.members else "Group of nobody"


def _ranges(ranks: Sequence[tuple[int, int, int]]) -> list[int]:
    """All numbers of some ranges (first, last, step)."""
    try:
        return [r for first, last, step in ranks for r in range(first, last + (1 if step > 0 else -1), step)]
    except (TypeError, ValueError):
        raise ArgumentError("a range of ranks is (first, last, step), the step not 0", repr(ranks)) from None


Communicator = Groups  # what every kind of communicator is: messages, collectives, and groups that it makes
