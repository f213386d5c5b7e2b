"""Options: what a collective is told besides its tensors, one record for each kind.

    group.allreduce([x], AllreduceOptions(reduceOp=ReduceOp.MAX, timeout=timedelta(seconds=5)))

Names and defaults are PyTorch's. A timeout of -1 ms, the default, means: that of the group.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.mpi.base import constants

__all__ = ["AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "BarrierOptions",
           "BroadcastOptions", "GatherOptions", "ReduceOp", "ReduceOptions", "ReduceScatterOptions",
           "ScatterOptions"]  # fmt: skip
UNSET = timedelta(milliseconds=-1)
DEFAULT_TIMEOUT = timedelta(minutes=30)


class ReduceOp(enum.Enum):
    """How the contributions of ranks are combined; AVG is SUM, divided by the number of ranks.

    Example:
        >>> ReduceOp.SUM, ReduceOp.AVG.native
        (ReduceOp.SUM, SUM)
    """

    SUM = "SUM"
    AVG = "AVG"
    PRODUCT = "PROD"
    MIN = "MIN"
    MAX = "MAX"
    BAND = "BAND"
    BOR = "BOR"
    BXOR = "BXOR"

    @property
    def native(self) -> constants.Op:
        """The reduction that a communicator knows."""
        return constants.OPS["SUM" if self is ReduceOp.AVG else self.value]

    def check(self, dtype: Any) -> None:
        """Refuse numbers on which the reduction has no meaning.

        Raises:
            DtypeError: bits of a float, the larger of two complex numbers, the average of whole numbers.
        """
        self.native.check(dtype)
        if self is ReduceOp.AVG and dtype.kind not in "fc":
            raise DtypeError("AVG divides, so it takes floats", f"dtype {dtype}", "ReduceOp.SUM, or x.float()")

    def __repr__(self) -> str:
        return f"ReduceOp.{self.name}"


def as_reduce_op(op: Any, call: str) -> ReduceOp:
    """The reduction that was meant.

    Raises:
        ArgumentError: there is no such reduction.

    Example:
        >>> as_reduce_op(ReduceOp.MAX, "all_reduce")
        ReduceOp.MAX
    """
    if isinstance(op, ReduceOp):
        return op
    if isinstance(op, str) and op.upper() in ReduceOp.__members__:
        return ReduceOp[op.upper()]
    raise ArgumentError(f"{call} reduces with one of ReduceOp.{', '.join(ReduceOp.__members__)}", repr(op))


def as_timeout(given: Any, call: str) -> timedelta:
    """A time as a timedelta; a number counts seconds.

    Raises:
        ArgumentError: it is no time, or not above 0 (UNSET, -1 ms, excepted).

    Example:
        >>> as_timeout(2.5, "wait")
        datetime.timedelta(seconds=2, microseconds=500000)
    """
    if isinstance(given, (int, float)) and not isinstance(given, bool) and 0 < given < 1e9:
        given = timedelta(seconds=given)
    if not isinstance(given, timedelta) or (given <= timedelta(0) and given != UNSET):
        raise ArgumentError(f"{call} takes a timeout above 0, a timedelta or seconds", repr(given))
    return given


@dataclass
class Options:
    """What every collective is told: how long it may take."""

    timeout: timedelta = field(default=UNSET, kw_only=True)

    def __post_init__(self) -> None:
        self.timeout = as_timeout(self.timeout, type(self).__name__)


@dataclass
class Reducing(Options):
    """Of what puts contributions together: how."""

    reduceOp: ReduceOp = ReduceOp.SUM

    def __post_init__(self) -> None:
        super().__post_init__()
        self.reduceOp = as_reduce_op(self.reduceOp, type(self).__name__)


@dataclass
class Rooted(Options):
    """Of what has a rank that gives, or gets, all: which."""

    rootRank: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in vars(self).items():
            if name.startswith("root") and (not isinstance(value, int) or value < 0):
                raise ArgumentError(f"{name} of {type(self).__name__} is a number from 0", repr(value))


@dataclass
class BroadcastOptions(Rooted):
    """Of `broadcast`: the rank that has the numbers, and which of its tensors.

    Example:
        >>> BroadcastOptions().rootRank, BroadcastOptions().rootTensor
        (0, 0)
    """

    rootTensor: int = 0


@dataclass
class AllreduceOptions(Reducing):
    """Of `allreduce`.

    Example:
        >>> AllreduceOptions().reduceOp
        ReduceOp.SUM
    """


@dataclass
class AllreduceCoalescedOptions(AllreduceOptions):
    """Of `allreduce_coalesced`.

    Example:
        >>> AllreduceCoalescedOptions(reduceOp=ReduceOp.MAX).reduceOp
        ReduceOp.MAX
    """


@dataclass
class ReduceOptions(Rooted, Reducing):
    """Of `reduce`: the reduction, and the rank that gets the result.

    Example:
        >>> ReduceOptions(rootRank=1).rootRank
        1
    """

    rootTensor: int = 0


@dataclass
class AllgatherOptions(Options):
    """Of `allgather`.

    Example:
        >>> AllgatherOptions(timeout=3).timeout
        datetime.timedelta(seconds=3)
    """


@dataclass
class GatherOptions(Rooted):
    """Of `gather`: the rank that gets all.

    Example:
        >>> GatherOptions().rootRank
        0
    """


@dataclass
class ScatterOptions(Rooted):
    """Of `scatter`: the rank that has all.

    Example:
        >>> ScatterOptions(rootRank=2).rootRank
        2
    """


@dataclass
class ReduceScatterOptions(Reducing):
    """Of `reduce_scatter`.

    Example:
        >>> ReduceScatterOptions().reduceOp
        ReduceOp.SUM
    """


@dataclass
class AllToAllOptions(Options):
    """Of `alltoall`.

    Example:
        >>> AllToAllOptions().timeout
        datetime.timedelta(days=-1, seconds=86399, microseconds=999000)
    """


@dataclass
class BarrierOptions(Options):
    """Of `barrier`.

    Example:
        >>> BarrierOptions(timeout=1.5).timeout.total_seconds()
        1.5
    """
