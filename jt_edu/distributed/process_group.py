"""ProcessGroup: ranks that work together, as every function of this package asks for them.

                     ProcessGroup                 names, options, defaults; nothing travels
            ┌──────────────┼─────────────────┐
       ArrayGroup     your own kind       ...
       ├── CommGroup      over a communicator of jt_edu.mpi: simulated ranks, a real MPI, one rank alone
       └── SocketGroup    over sockets between processes

Tensors are Vars (or NumPy arrays that can be written). Collectives write their results into the tensors they are given,
and answer a `Work`. The lists are PyTorch's: one entry for each device of this rank, and so here always one long.
Ranks are those inside the group.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.distributed.options import (
    DEFAULT_TIMEOUT,
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    as_timeout,
)
from jt_edu.distributed.unimplemented import left_out
from jt_edu.distributed.work import Work

Tensors = Sequence[Any]


class ProcessGroup:
    """Ranks that work together. Your own kind defines the collectives that it can do; the others say that they lack.

    Args:
        rank: mine in the group.
        size: how many ranks there are.

    Raises:
        ArgumentError: there is no such rank.

    Example:
        >>> class Alone(ProcessGroup):
        ...     def allreduce(self, tensors, opts=None):
        ...         return jt.distributed.Finished(tensors)
        >>> Alone(0, 1).allreduce([jt.ones(2)]).wait()
        True
    """

    def __init__(self, rank: int, size: int) -> None:
        whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (rank, size))
        if not whole or not 0 <= rank < size:
            raise ArgumentError("a group has ranks from 0 to its size - 1", f"rank {rank!r} of {size!r}")
        self._rank, self._size = rank, size
        self.ranks: tuple[int, ...] = tuple(range(size))  # of the members, in the whole world
        self.timeout: timedelta = DEFAULT_TIMEOUT
        self.group_name = ""

    def rank(self) -> int:
        """My number in the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks the group has."""
        return self._size

    def name(self) -> str:
        """The backend: "threads", "mpi", "tcp", "gloo", "solo", or that of your own kind."""
        return type(self).__name__

    def set_timeout(self, timeout: Any) -> None:
        """How long a collective may take that is told nothing else."""
        self.timeout = as_timeout(timeout, "set_timeout")

    def now(self) -> float:
        """Seconds, on the clock by which the group's timeouts count."""
        return time.monotonic()

    # collectives

    def broadcast(self, tensors: Tensors, opts: BroadcastOptions | None = None) -> Work:
        """The numbers of rank `opts.rootRank` into every rank's tensor."""
        raise self._lacks("broadcast")

    def allreduce(self, tensors: Tensors, opts: AllreduceOptions | None = None) -> Work:
        """All ranks' tensors, put together, into every rank's tensor."""
        raise self._lacks("allreduce")

    def allreduce_coalesced(self, tensors: Tensors, opts: AllreduceCoalescedOptions | None = None) -> Work:
        """`allreduce` of several tensors in one message."""
        raise self._lacks("allreduce_coalesced")

    def reduce(self, tensors: Tensors, opts: ReduceOptions | None = None) -> Work:
        """All ranks' tensors, put together, into the tensor of rank `opts.rootRank`; the others keep theirs."""
        raise self._lacks("reduce")

    def allgather(
        self, output_tensors: Sequence[Tensors], input_tensors: Tensors, opts: AllgatherOptions | None = None
    ) -> Work:
        """Rank k's tensor into output_tensors[0][k], on every rank."""
        raise self._lacks("allgather")

    def allgather_coalesced(
        self, output_lists: Sequence[Tensors], input_list: Tensors, opts: AllgatherOptions | None = None
    ) -> Work:
        """`allgather` of several tensors in one message: number i of rank k into output_lists[k][i]."""
        raise self._lacks("allgather_coalesced")

    def gather(
        self, output_tensors: Sequence[Tensors], input_tensors: Tensors, opts: GatherOptions | None = None
    ) -> Work:
        """Rank k's tensor into output_tensors[0][k] of rank `opts.rootRank`; [] stands there on the others."""
        raise self._lacks("gather")

    def scatter(
        self, output_tensors: Tensors, input_tensors: Sequence[Tensors], opts: ScatterOptions | None = None
    ) -> Work:
        """input_tensors[0][k] of rank `opts.rootRank` into rank k's tensor; [] stands there on the others."""
        raise self._lacks("scatter")

    def reduce_scatter(
        self, output_tensors: Tensors, input_tensors: Sequence[Tensors], opts: ReduceScatterOptions | None = None
    ) -> Work:
        """All ranks' input_tensors[0][k], put together, into rank k's tensor."""
        raise self._lacks("reduce_scatter")

    def alltoall(self, output_tensors: Tensors, input_tensors: Tensors, opts: AllToAllOptions | None = None) -> Work:
        """My input_tensors[k] into rank k's output_tensors[me]."""
        raise self._lacks("alltoall")

    def alltoall_base(
        self, output: Any, input: Any, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int],
        opts: AllToAllOptions | None = None,
    ) -> Work:  # fmt: skip
        """`alltoall` of the rows of one tensor; [] as sizes cuts into equal parts."""
        raise self._lacks("alltoall_base")

    def allgather_base(self, output: Any, input: Any, opts: AllgatherOptions | None = None) -> Work:
        """`allgather` into the rows of one tensor, rank after rank."""
        raise self._lacks("allgather_base")

    def reduce_scatter_base(self, output: Any, input: Any, opts: ReduceScatterOptions | None = None) -> Work:
        """`reduce_scatter` of the rows of one tensor."""
        raise self._lacks("reduce_scatter_base")

    def barrier(self, opts: BarrierOptions | None = None) -> Work:
        """No rank continues before all have arrived."""
        raise self._lacks("barrier")

    # one to one

    def send(self, tensors: Tensors, dst: int, tag: int = 0) -> Work:
        """My tensor to rank `dst`."""
        raise self._lacks("send")

    def recv(self, tensors: Tensors, src: int, tag: int = 0) -> Work:
        """The tensor that comes from rank `src` into mine."""
        raise self._lacks("recv")

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Work:
        """The tensor that comes next into mine; `result()` is the rank that sent it."""
        raise self._lacks("recv_anysource")

    # the group itself

    def shutdown(self) -> None:
        """The group is not used any more."""

    def _lacks(self, what: str) -> RankError:
        return left_out(self, what, "a process group")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank {self._rank} of {self._size})"
