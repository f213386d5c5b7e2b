"""Group base: collectives on tensors, told in terms of arrays.

    tensor (Var)  --read-->  flat array  --_run: something travels-->  flat arrays  --write-->  tensor (Var)

This file checks what it is given, lines the numbers up one behind the other, and puts results where they belong. How
arrays travel is said by its kinds in one method, `_run`. What ranks have to agree on goes along with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, DtypeError, RankError, ShapeError
from jt_edu.distributed.options import (
    UNSET,
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    Options,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from jt_edu.distributed.process_group import ProcessGroup, Tensors
from jt_edu.distributed.work import Work
from jt_edu.mpi.base.constants import SUM, Op
from jt_edu.ops.create import from_numpy
from jt_edu.variable.var import Var

Array = np.ndarray[Any, Any]


@dataclass
class Task:
    """One collective of one rank: what it brings, and what becomes of what it gets.

    kind      bcast, allreduce, reduce, allgather, gather, scatter, reduce_scatter, alltoall, barrier
    part      a flat array, or one for each rank
    rooms     flat arrays like those that come, where their lengths cannot be told from `part`
    finish    puts what came (a flat array, or one for each rank) where it belongs; returns the tensors
    """

    kind: str
    part: Any = None
    rooms: list[Array] = field(default_factory=list)
    finish: Callable[[Any], Any] = lambda got: got
    root: int = 0
    op: Op = field(default_factory=lambda: SUM)
    agree: dict[str, Any] = field(default_factory=dict)  # what all ranks say alike
    timeout: timedelta = UNSET
    number: int = 0  # in its group, from 1
    label: str = ""  # "allreduce number 3 of group 1"

    @property
    def words(self) -> str:
        """As messages call it: "allreduce(op=SUM, shape=(3,), dtype=float32)"."""
        return f"{self.kind}({', '.join(f'{k}={v}' for k, v in self.agree.items())})"


class ArrayGroup(ProcessGroup):
    """A group that sends arrays. A kind of it defines `_run`, and what goes from one rank to one other.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> x = jt.ones(2)
        >>> work = jt.distributed.group.WORLD.allreduce([x], AllreduceOptions(ReduceOp.SUM))
        >>> work.wait(), x.tolist()
        (True, [1.0, 1.0])
        >>> jt.distributed.destroy_process_group()
    """

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self._number = 0  # collectives so far
        self._failed = ""

    def _run(self, task: Task) -> Work:
        """Let the arrays of a task travel; the work returns `task.finish(what came)`."""
        raise self._lacks("_run")

    def _start(self, task: Task, opts: Options | None, **agree: Any) -> Work:
        """Number a task, and let it run; a group that failed runs none."""
        self.check_whole(task.kind)
        self._number += 1
        where = f" of {self.group_name}" if self.group_name else ""
        task.number, task.agree = self._number, agree
        task.label = f"{task.kind} number {self._number}{where}"
        task.timeout = self.timeout if opts is None or opts.timeout == UNSET else opts.timeout
        return self._run(task)

    def check_whole(self, what: str) -> None:
        """Refuse to go on with ranks that are no longer together.

        Raises:
            RankError: a collective of this group failed.
        """
        if self._failed:
            attempt = "destroy_process_group() and init_process_group() on all ranks"
            raise RankError(f"{what} needs a group that is whole", self._failed, attempt)

    def fail(self, label: str, error: BaseException) -> None:
        """From now on this group is refused: its ranks do not know any more what the others did."""
        self._failed = self._failed or f"one that failed in {label}: {error}"

    # collectives: what each of them does is said in process_group.py

    def broadcast(self, tensors: Tensors, opts: BroadcastOptions | None = None) -> Work:
        opts = opts or BroadcastOptions()
        x, root = self._tensor(tensors, "broadcast", opts.rootTensor), self._root(opts.rootRank, "broadcast")
        task = Task("bcast", read(x), finish=lambda got: [write(x, got)], root=root)
        return self._start(task, opts, root=root, **looks(x))

    def allreduce(self, tensors: Tensors, opts: AllreduceOptions | None = None) -> Work:
        opts = opts or AllreduceOptions()
        x = self._tensor(tensors, "allreduce")
        task = self._reducing("allreduce", opts.reduceOp, read(x), lambda total: [give(x, total)])
        return self._start(task, opts, op=opts.reduceOp.name, **looks(x))

    def allreduce_coalesced(self, tensors: Tensors, opts: AllreduceCoalescedOptions | None = None) -> Work:
        """`allreduce` of several tensors of one dtype in one message."""
        opts = opts or AllreduceCoalescedOptions()
        several = list(tensors)
        if not several or len({str(x.dtype) for x in several}) != 1:
            raise DtypeError("allreduce_coalesced takes tensors of one dtype", f"{[str(x.dtype) for x in several]}")
        whole = np.concatenate([read(x) for x in several])
        ends = np.cumsum([size_of(x) for x in several])[:-1]

        def finish(total: Array) -> list[Any]:
            return [write(x, piece) for x, piece in zip(several, np.split(total, ends), strict=True)]

        task = self._reducing("allreduce", opts.reduceOp, whole, finish)
        shapes = [tuple(x.shape) for x in several]
        return self._start(task, opts, op=opts.reduceOp.name, shapes=shapes, dtype=str(several[0].dtype))

    def reduce(self, tensors: Tensors, opts: ReduceOptions | None = None) -> Work:
        opts = opts or ReduceOptions()
        x, root = self._tensor(tensors, "reduce", opts.rootTensor), self._root(opts.rootRank, "reduce")
        task = self._reducing("reduce", opts.reduceOp, read(x), lambda total: [write(x, total)])
        task.root = root
        return self._start(task, opts, op=opts.reduceOp.name, root=root, **looks(x))

    def allgather(
        self, output_tensors: Sequence[Tensors], input_tensors: Tensors, opts: AllgatherOptions | None = None
    ) -> Work:
        x = self._tensor(input_tensors, "allgather")
        rooms = self._one_each(self._tensor(output_tensors, "allgather"), "allgather", x)
        task = Task("allgather", read(x), finish=lambda got: [_write_all(rooms, got)])
        return self._start(task, opts, **looks(x))

    def allgather_coalesced(
        self, output_lists: Sequence[Tensors], input_list: Tensors, opts: AllgatherOptions | None = None
    ) -> Work:
        """`allgather` of several tensors of one dtype in one message."""
        several, rows = list(input_list), self._one_each(output_lists, "allgather_coalesced")
        if not several or len({str(x.dtype) for x in several}) != 1:
            raise DtypeError("allgather_coalesced takes tensors of one dtype", f"{[str(x.dtype) for x in several]}")
        for row in rows:
            if len(row) != len(several):
                raise ArgumentError(f"each list has rooms for {len(several)} tensors", f"{len(row)} of them")
            for room, x in zip(row, several, strict=True):
                _fits(room, x, "allgather_coalesced")
        ends = np.cumsum([size_of(x) for x in several])[:-1]

        def finish(got: Any) -> list[Any]:
            return [_write_all(row, np.split(piece, ends)) for row, piece in zip(rows, got, strict=True)]

        task = Task("allgather", np.concatenate([read(x) for x in several]), finish=finish)
        return self._start(task, opts, shapes=[tuple(x.shape) for x in several], dtype=str(several[0].dtype))

    def gather(
        self, output_tensors: Sequence[Tensors], input_tensors: Tensors, opts: GatherOptions | None = None
    ) -> Work:
        opts = opts or GatherOptions()
        x, root = self._tensor(input_tensors, "gather"), self._root(opts.rootRank, "gather")
        rooms = self._only_on(root, output_tensors, "gather", x)
        task = Task("gather", read(x), finish=lambda got: [_write_all(rooms, got or [])], root=root)
        return self._start(task, opts, root=root, **looks(x))

    def scatter(
        self, output_tensors: Tensors, input_tensors: Sequence[Tensors], opts: ScatterOptions | None = None
    ) -> Work:
        opts = opts or ScatterOptions()
        x, root = self._tensor(output_tensors, "scatter"), self._root(opts.rootRank, "scatter")
        pieces = self._only_on(root, input_tensors, "scatter", x)
        part = [read(p) for p in pieces] or None
        task = Task("scatter", part, [np.empty(size_of(x), _stored(x))], lambda got: [write(x, got)], root)
        return self._start(task, opts, root=root, **looks(x))

    def reduce_scatter(
        self, output_tensors: Tensors, input_tensors: Sequence[Tensors], opts: ReduceScatterOptions | None = None
    ) -> Work:
        opts = opts or ReduceScatterOptions()
        x = self._tensor(output_tensors, "reduce_scatter")
        pieces = self._one_each(self._tensor(input_tensors, "reduce_scatter"), "reduce_scatter")
        _fits(pieces[self._rank], x, "reduce_scatter")
        parts = [read(p) for p in pieces]
        task = self._reducing("reduce_scatter", opts.reduceOp, parts, lambda total: [write(x, total)])
        shapes = [tuple(p.shape) for p in pieces]
        return self._start(task, opts, op=opts.reduceOp.name, shapes=shapes, dtype=str(x.dtype))

    def alltoall(self, output_tensors: Tensors, input_tensors: Tensors, opts: AllToAllOptions | None = None) -> Work:
        rooms = self._one_each(output_tensors, "alltoall")
        pieces = self._one_each(input_tensors, "alltoall")
        if len({str(x.dtype) for x in [*rooms, *pieces]}) > 1:
            raise DtypeError("alltoall takes tensors of one dtype", f"{[str(x.dtype) for x in [*rooms, *pieces]]}")
        likes = [np.empty(size_of(x), _stored(x)) for x in rooms]
        task = Task("alltoall", [read(p) for p in pieces], likes, lambda got: _write_all(rooms, got))
        return self._start(task, opts, dtype=str(rooms[0].dtype))

    def alltoall_base(
        self, output: Any, input: Any, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int],
        opts: AllToAllOptions | None = None,
    ) -> Work:  # fmt: skip
        into = self._rows(output, output_split_sizes, "output")
        pieces = self._rows(input, input_split_sizes, "input")
        if str(output.dtype) != str(input.dtype) or tuple(output.shape[1:]) != tuple(input.shape[1:]):
            found = f"{looks(input)} into {looks(output)}"
            raise ShapeError("alltoall_base takes rows of the same shape and dtype to rows of the same", found)
        likes = [np.empty_like(p) for p in into]
        task = Task("alltoall", pieces, likes, lambda got: [write(output, np.concatenate(got))])
        return self._start(task, opts, dtype=str(output.dtype))

    def allgather_base(self, output: Any, input: Any, opts: AllgatherOptions | None = None) -> Work:
        _same_size(output, input, self._size, "all_gather_into_tensor")
        task = Task("allgather", read(input), finish=lambda got: [write(output, np.concatenate(got))])
        return self._start(task, opts, **looks(input))

    def reduce_scatter_base(self, output: Any, input: Any, opts: ReduceScatterOptions | None = None) -> Work:
        opts = opts or ReduceScatterOptions()
        _same_size(input, output, self._size, "reduce_scatter_tensor")
        parts = np.split(read(input), self._size)
        task = self._reducing("reduce_scatter", opts.reduceOp, parts, lambda total: [write(output, total)])
        return self._start(task, opts, op=opts.reduceOp.name, **looks(output))

    def barrier(self, opts: BarrierOptions | None = None) -> Work:
        return self._start(Task("barrier"), opts)

    # what is looked at before anything travels

    def _reducing(self, kind: str, op: ReduceOp, part: Any, finish: Callable[[Any], Any]) -> Task:
        """AVG is a SUM that is divided when it has come; who gets nothing (None) writes nothing."""
        op.check((part[0] if isinstance(part, list) else part).dtype)
        share = self._size if op is ReduceOp.AVG else 1

        def finished(total: Any) -> Any:
            return [] if total is None else finish(total if share == 1 else total / total.dtype.type(share))

        return Task(kind, part, finish=finished, op=op.native)

    def _tensor(self, tensors: Any, call: str, which: int = 0) -> Any:
        """The only one in a list."""
        if not isinstance(tensors, (list, tuple)) or len(tensors) != 1 or which:
            found = f"{len(tensors)}, and number {which}" if isinstance(tensors, (list, tuple)) else repr(tensors)
            raise ArgumentError(f"{call} takes a list of one tensor: a rank has one device", found, "[x]")
        return tensors[0]

    def _one_each(self, tensors: Any, call: str, like: Any = None) -> list[Any]:
        """A tensor for each rank, like another one."""
        found = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        if len(found) != self._size:
            raise ArgumentError(f"{call} takes one tensor for each of {self._size} ranks", f"{len(found)}")
        for x in found if like is not None else ():
            _fits(x, like, call)
        return found

    def _only_on(self, root: int, tensors: Any, call: str, like: Any) -> list[Any]:
        given = list(tensors)
        if self._rank == root:
            return self._one_each(self._tensor(given, call), call, like)
        if any(given):
            raise ArgumentError(f"{call} takes a list of tensors on rank {root} only", f"one on rank {self._rank}")
        return []

    def _root(self, root: int, call: str) -> int:
        if root >= self._size:
            raise ArgumentError(f"{call} takes a rank from 0 to {self._size - 1} as root", repr(root))
        return root

    def _rows(self, x: Any, sizes: Sequence[int], role: str) -> list[Array]:
        """The rows of a tensor for each rank, flat."""
        rows = len(x) if len(x.shape) else 0
        counts = list(sizes) or [rows // self._size] * self._size
        if len(counts) != self._size or min(counts) < 0 or sum(counts) != rows:
            asked = f"the {role} of all_to_all_single has rows for each of {self._size} ranks"
            raise ShapeError(asked, f"{rows} rows, split sizes {list(sizes)}")
        each = math.prod(x.shape[1:])
        return np.split(read(x), np.cumsum(counts)[:-1] * each)


def read(x: Any) -> Array:
    """The numbers of a tensor, flat.

    Raises:
        ArgumentError: it is neither a Var nor an array.

    Example:
        >>> read(jt.ones(2, 1))
        array([1., 1.], dtype=float32)
    """
    if isinstance(x, Var):
        return x.numpy().reshape(-1)
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        return np.array(x, order="C").reshape(-1)
    raise ArgumentError("tensors are Vars, or NumPy arrays of numbers", type(x).__name__, "jt.array(x)")


def write(x: Any, numbers: Array) -> Any:
    """Give a tensor new numbers; a Var keeps whether gradients are taken of it.

    Example:
        >>> write(jt.zeros(1, 2), np.array([1.0, 2.0]))
        jt.Var([[1., 2.]], dtype=float32)
    """
    if isinstance(x, Var):
        return x.update(numbers.reshape(x.shape))
    x[...] = numbers.reshape(x.shape)
    return x


def give(x: Any, numbers: Array) -> Any:
    """Give a tensor new numbers that nobody else writes to: a Var keeps them where they lie.

    Example:
        >>> give(jt.zeros(1, 2), np.array([1.0, 2.0]))
        jt.Var([[1., 2.]], dtype=float32)
    """
    shared = isinstance(x, Var) and numbers.flags.writeable  # else they are a view of somebody's
    return x.update(from_numpy(numbers.reshape(x.shape))) if shared else write(x, numbers)


def looks(x: Any) -> dict[str, Any]:
    """What ranks agree on in a tensor.

    Example:
        >>> looks(jt.ones(2, 3))
        {'shape': (2, 3), 'dtype': 'float32'}
    """
    return {"shape": tuple(int(n) for n in x.shape), "dtype": str(x.dtype)}


def size_of(x: Any) -> int:
    """How many numbers a tensor has."""
    return math.prod(x.shape)


def _stored(x: Any) -> Any:
    """The dtype of its numbers while they travel."""
    return x.numpy().dtype if isinstance(x, Var) else x.dtype


def _write_all(rooms: Sequence[Any], pieces: Sequence[Array]) -> list[Any]:
    return [write(room, piece) for room, piece in zip(rooms, pieces, strict=True)]


def _fits(x: Any, like: Any, call: str) -> None:
    if tuple(x.shape) != tuple(like.shape):
        raise ShapeError(f"{call} takes tensors of the same shape", f"{tuple(x.shape)} beside {tuple(like.shape)}")
    if str(x.dtype) != str(like.dtype):
        raise DtypeError(f"{call} takes tensors of one dtype", f"{x.dtype} beside {like.dtype}")


def _same_size(large: Any, small: Any, size: int, call: str) -> None:
    if size_of(large) != size * size_of(small) or str(large.dtype) != str(small.dtype):
        raise ShapeError(f"{call} has {size} times as many numbers on one side", f"{looks(large)}, {looks(small)}")
