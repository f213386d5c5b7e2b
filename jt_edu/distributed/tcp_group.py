"""TCP group: a process group over sockets between processes, with the readable algorithms of jt_edu.mpi.

    1  roll call     each rank tells every other what it calls: sequence number, name, reduction, shape, dtype
    2  algorithm     ring, tree, ... over send and receive, as for simulated ranks

The roll call is why a mismatch is told on every rank before anything is mixed up, and why a timeout knows who is
missing. A thread of the group runs its collectives in the order in which they were called, so that the program can go
on; nothing else happens there: tensors are read and written by the program's own thread.
"""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.base.errors import DtypeError, JtError, RankError, ShapeError
from jt_edu.distributed import ring_allreduce
from jt_edu.distributed.group_base import Array, ArrayGroup, Task, looks, read, write
from jt_edu.distributed.mpi_group import retold
from jt_edu.distributed.process_group import Tensors
from jt_edu.distributed.socket_mesh import NUMBERS, TEXT, Frame, Mesh, as_text, text_of
from jt_edu.distributed.work import Finished, Work
from jt_edu.mpi import algorithms
from jt_edu.mpi.algorithms.transport import NOBODY, Wire
from jt_edu.mpi.base.buffers import Buffer
from jt_edu.mpi.base.constants import ANY_SOURCE as ANY
from jt_edu.mpi.base.constants import Status
from jt_edu.mpi.base.errors import LostRankError, MismatchError, RankTimeoutError
from jt_edu.mpi.communicator.messages import check_peer, check_tag

LARGE = 1 << 15  # bytes from which an all-reduce goes round the ring: few bytes count rather than few steps


class SocketComm:
    """One collective's messages: as much of a communicator as `Wire` needs."""

    def __init__(self, group: SocketGroup, tag: int, deadline: float) -> None:
        self.rank, self.size = group.rank(), group.size()
        self._group, self._tag, self._deadline = group, tag, deadline

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send numbers."""
        group = self._group
        group.mesh.send(group.ranks[dest], NUMBERS, group.plane, self._tag, buf, self._deadline)

    def Recv(self, buf: Any, source: int = 0, tag: int = 0, status: Status | None = None) -> None:
        """Receive numbers, as many as there is room for or fewer."""
        got = self.take(source, buf)
        buf.reshape(-1)[: got.size] = got
        if status is not None:
            status.bytes = got.nbytes

    def take(self, source: int, like: Any) -> Array:
        """The numbers that come next from a rank, in an array of their own; as many as in `like`, or fewer.

        Raises:
            ShapeError: more came, or others.
        """
        got = self._group.take(NUMBERS, source, self._tag, self._deadline).payload
        if got.size > like.size or got.dtype != like.dtype:
            asked = f"room for {like.size} numbers of {like.dtype} from rank {source}"
            raise ShapeError(asked, f"{got.size} of {got.dtype}", "split sizes that fit each other")
        return got

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = 0, recvtag: int = 0
    ) -> None:
        """Send, then receive: what is sent is always taken, so nobody waits in a circle."""
        if dest != NOBODY:
            self.Send(sendbuf, dest)
        if source != NOBODY:
            self.Recv(recvbuf, source)

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Objects do not travel here."""
        raise DtypeError("sockets carry numbers", type(obj).__name__, "all_gather_object and its like")

    def recv(self, buf: Any = None, source: int = 0, tag: int = 0) -> Any:
        """Objects do not travel here."""
        raise DtypeError("sockets carry numbers", "an object")

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = 0, recvtag: int = 0
    ) -> Any:
        """Objects do not travel here."""
        raise DtypeError("sockets carry numbers", type(sendobj).__name__)


class SocketWire(Wire):
    """A wire whose pieces stay in the arrays in which they came: nothing is copied."""

    def __init__(self, comm: SocketComm, room: Buffer | None = None) -> None:
        super().__init__(comm, room=room)
        self._take = comm.take

    def receive(self, source: int, like: Any = None) -> Any:
        """The piece that comes from `source`; it may be shorter than `like`."""
        return self._take(source, like)

    def swap(self, piece: Any, dest: int, source: int, like: Any = None) -> Any:
        """Send one piece and receive another: what is sent is always taken, so nobody waits in a circle."""
        if dest != NOBODY:
            self.send(piece, dest)
        return None if source == NOBODY else self._take(source, piece if like is None else like)


class SocketGroup(ArrayGroup):
    """A process group over a mesh of sockets.

    Args:
        mesh: the connections of this process.
        ranks: the members, as ranks of the mesh.
        plane: tells its messages from those of other groups; the same number on all members.
        name: by which the backend was asked for, "tcp" or "gloo".

    Example:
        >>> jt.distributed.init_process_group("tcp", "tcp://127.0.0.1:0?rank=0&world_size=1")
        >>> jt.distributed.group.WORLD
        SocketGroup(rank 0 of 1)
        >>> jt.distributed.destroy_process_group()
    """

    def __init__(self, mesh: Mesh, ranks: Sequence[int], plane: int = 0, name: str = "tcp") -> None:
        super().__init__(list(ranks).index(mesh.rank), len(ranks))
        self.mesh, self.ranks, self.plane, self._name = mesh, tuple(ranks), plane, str(name)
        self._jobs: queue.SimpleQueue[SocketWork | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def name(self) -> str:
        """The backend."""
        return self._name

    def _run(self, task: Task) -> Work:
        work = SocketWork(self, task)
        if self._thread is None:
            arguments = (self._jobs, weakref.ref(self))
            self._thread = threading.Thread(target=_work_off, args=arguments, name="jt_edu collectives", daemon=True)
            self._thread.start()
        self._jobs.put(work)
        return work

    def join(self) -> None:
        """Wait until all have joined: collective number 0."""
        self._number = -1
        self.agree("init_process_group").wait()

    def agree(self, what: str, **said: Any) -> Work:
        """Make sure that all ranks call `what` with the same words; nothing else travels."""
        return self._start(Task(what), None, **said)

    # inside the thread of the group

    def carry_out(self, task: Task) -> Any:
        """Roll call, then the algorithm: returns what this rank gets.

        Raises:
            RankError: it failed; everyone else is told.
        """
        deadline = time.monotonic() + task.timeout.total_seconds()
        try:
            self.check_whole(task.kind)
            self._call_the_roll(task, deadline)
            run = RUN.get(task.kind)
            return None if run is None else run(self._wire(task, deadline), task)
        except Exception as error:
            known = isinstance(error, JtError)
            self.give_up(task.label, error if known else RankError("a collective runs", repr(error)))
            raise

    def give_up(self, label: str, error: BaseException) -> None:
        """This group has failed: nobody uses it any more."""
        self.fail(label, error)
        self.mesh.give_up(self.plane, f"rank {self.mesh.rank} gave up {label}: {error}", self.ranks)

    def _call_the_roll(self, task: Task, deadline: float) -> None:
        """Each tells every other what it calls, and looks whether all say the same."""
        others = [r for r in range(self._size) if r != self._rank]
        for rank in others:
            self.mesh.send(self.ranks[rank], TEXT, self.plane, task.number, as_text(task.words), deadline)
        said = {self._rank: task.words}
        for rank in others:
            try:
                frame = self.take(TEXT, rank, task.number, deadline)
            except RankTimeoutError:
                patience = task.timeout.total_seconds()
                raise self.absent(task, [r for r in others if r not in said], patience) from None
            said[rank] = text_of(frame.payload)
            if said[rank] != task.words:
                self._disagree(said, task.number)

    def absent(self, task: Task, ranks: list[int], seconds: float) -> RankTimeoutError:
        """Who has not come; some of them may have by now."""
        late = [r for r in ranks if not self._has_come(r, task)]
        who = ", ".join(str(self.ranks[r]) for r in late or ranks)
        found = f"no rank {who} within {seconds:g} s"
        return RankTimeoutError(f"every rank comes to {task.words}", found, "the same calls on every rank")

    def _has_come(self, rank: int, task: Task) -> bool:
        with self.mesh.inbox.changed:
            waiting = self.mesh.inbox.frames.get(self.plane, ())
            return any(f.source == self.ranks[rank] and f.tag == task.number and f.kind == TEXT for f in waiting)

    def _disagree(self, said: dict[int, str], sequence: int) -> None:
        rows = "\n  ".join(f"rank {self.ranks[r]} calls {call}" for r, call in sorted(said.items()))
        asked = f"all ranks of a group meet in their collective number {sequence}"
        raise MismatchError(asked, f"different ones:\n  {rows}", "the same calls in the same order on every rank")

    def _wire(self, task: Task, deadline: float) -> Wire:
        room = Buffer(task.rooms[0]) if task.kind == "scatter" else None
        return SocketWire(SocketComm(self, task.number, deadline), room)

    def take(self, kind: int, source: int, tag: int, deadline: float) -> Frame:
        """The next frame of a member."""
        return self.mesh.inbox.take(self.plane, kind, [self.ranks[source]], tag, deadline)

    # one to one: see process_group.py

    def send(self, tensors: Tensors, dst: int, tag: int = 0) -> Work:
        x = self._tensor(tensors, "send")
        check_peer(dst, self._size, "send", "dst")
        check_tag(tag, "send")
        deadline = time.monotonic() + self.timeout.total_seconds()
        try:
            self.mesh.send(self.ranks[dst], NUMBERS, self.plane + 1, tag, read(x), deadline)
        except RankError as error:
            raise retold(error, f"send(dst={dst}, tag={tag})") from None
        return Finished([x])

    def recv(self, tensors: Tensors, src: int, tag: int = 0) -> Work:
        check_peer(src, self._size, "recv", "src")
        check_tag(tag, "recv")
        return ReceiveWork(self, self._tensor(tensors, "recv"), src, tag)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Work:
        check_tag(tag, "recv")
        return ReceiveWork(self, self._tensor(tensors, "recv"), ANY, tag)

    def shutdown(self) -> None:
        """End the thread of the group."""
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(1.0)


def _work_off(jobs: queue.SimpleQueue[Any], group: Callable[[], SocketGroup | None]) -> None:
    """The thread of a group: one collective after the other."""
    while (work := jobs.get()) is not None:
        me = group()
        if me is None:
            return
        work.carry_out(me)
        del me, work


class SocketWork(Work):
    """A collective in the thread of its group."""

    def __init__(self, group: SocketGroup, task: Task) -> None:
        super().__init__(f"{task.label}, {task.words}")
        self._group, self._task = group, task
        self._came = threading.Event()
        self._got: Any = None
        self._wrong: Exception | None = None

    def carry_out(self, group: SocketGroup) -> None:
        """What the thread does."""
        try:
            self._got = group.carry_out(self._task)
        except Exception as error:  # noqa: BLE001 - it is raised by who waits
            self._wrong = error
        self._came.set()

    def _poll(self) -> bool:
        return self._came.is_set()

    def _await(self, seconds: float | None) -> Any:
        if not self._came.wait(seconds):
            task, group = self._task, self._group
            others = [r for r in range(group.size()) if r != group.rank()]
            error = group.absent(task, others, 0.0 if seconds is None else seconds)
            error = RankTimeoutError(f"{self.label}: {error.asked}", error.found, error.attempt)
            group.give_up(task.label, error)
            raise error
        if isinstance(self._wrong, JtError):
            raise retold(self._wrong, self.label) from self._wrong
        if self._wrong is not None:
            raise RankError(f"{self.label} goes well", repr(self._wrong)) from self._wrong
        return self._task.finish(self._got)


class ReceiveWork(Work):
    """A tensor that comes from one other rank."""

    def __init__(self, group: SocketGroup, x: Any, source: int, tag: int) -> None:
        super().__init__(f"recv(src={'any' if source == ANY else source}, tag={tag})")
        self._group, self._x, self._source, self._tag = group, x, source, tag
        self._frame: Frame | None = None

    def _find(self, deadline: float) -> Frame:
        group, source = self._group, self._source
        sources = group.ranks if source == ANY else [group.ranks[source]]
        return group.mesh.inbox.take(group.plane + 1, NUMBERS, sources, self._tag, deadline)

    def _poll(self) -> bool:
        try:
            self._frame = self._find(0.0)
        except LostRankError:
            return True
        except RankTimeoutError:
            return False
        return True

    def _await(self, seconds: float | None) -> Any:
        patience = self._group.timeout.total_seconds() if seconds is None else seconds
        try:
            frame = self._frame or self._find(time.monotonic() + patience)
        except RankTimeoutError as error:
            raise RankTimeoutError(f"{self.label}: {error.asked}", f"{error.found} within {patience:g} s") from None
        except RankError as error:
            raise retold(error, self.label) from None
        numbers, room = frame.payload, read(self._x)
        source = self._group.ranks.index(frame.source)
        if (numbers.size, numbers.dtype) != (room.size, room.dtype):
            kind = ShapeError if numbers.size != room.size else DtypeError
            found = f"{numbers.size} numbers of {numbers.dtype} from rank {source}"
            raise kind(f"{self.label} has room for {looks(self._x)}", found, "the same shape and dtype on both ranks")
        write(self._x, numbers)
        return source if self._source == ANY else [self._x]


# ------------------------------------------------------------------------------------- how each collective is done


def _allreduce(wire: Wire, task: Task) -> Array:
    if task.part.nbytes >= LARGE:
        return ring_allreduce.allreduce(wire, task.part, task.op)
    found: Array = algorithms.find("allreduce", "doubling")(wire, task.part, task.op)
    return found


RUN: dict[str, Callable[[Wire, Task], Any]] = {  # a barrier is not here: the roll call is one
    "bcast": lambda wire, task: algorithms.tree.bcast(wire, task.part, task.root),
    "allreduce": _allreduce,
    "reduce": lambda wire, task: algorithms.tree.reduce(wire, task.part, task.root, task.op),
    "allgather": lambda wire, task: algorithms.ring.allgather(wire, task.part),
    "gather": lambda wire, task: algorithms.naive.gather(wire, task.part, task.root),
    "scatter": lambda wire, task: algorithms.naive.scatter(wire, task.part, task.root),
    "reduce_scatter": lambda wire, task: algorithms.ring.reduce_scatter(wire, task.part, task.op),
    "alltoall": lambda wire, task: algorithms.pairwise.alltoall(wire, task.part, task.rooms),
}
