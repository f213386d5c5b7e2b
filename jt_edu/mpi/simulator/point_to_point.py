"""Point to point: how messages go between ranks of one process. What a rank can say stands in communicator/.

send    a copy of the packet goes into a letter, and the letter to the box of its receiver
recv    a `Receive` waits at the rank's own box; when its letter has come, the clock moves and the buffer is filled
"""

from __future__ import annotations

from jt_edu.mpi.base.buffer_memory import Array
from jt_edu.mpi.base.buffers import Packet, fill, pack_array
from jt_edu.mpi.base.constants import SMALL, STUB_BYTES, Status
from jt_edu.mpi.base.errors import TruncationError
from jt_edu.mpi.communicator.messages import Message
from jt_edu.mpi.communicator.point_to_point import Plane, PointToPoint
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.simulator.task import Task
from jt_edu.mpi.simulator.world import Letter, Receive, World
from jt_edu.mpi.trace.records import Call


class ThreadPairs(PointToPoint):
    """What a simulated rank says to one other.

    Args:
        world, task: whose rank this is, and the thread that speaks for it.
        members, plane, name: as for any communicator.
    """

    is_simulated = True
    ledger: World
    task: Task

    def __init__(self, world: World, task: Task, members: tuple[int, ...], plane: Plane, name: str) -> None:
        super().__init__(world, task, members, plane, name)

    @property
    def world(self) -> World:
        """The ranks of this process, and what is under way between them."""
        return self.ledger

    @property
    def now(self) -> int:
        """ns on the virtual clock of this rank, with all that it has computed so far."""
        self.world.catch_up(self.task)
        return self.task.now

    def ask_the_time(self) -> int:
        """As `now`, for a program that may do so in a loop; it is told if that would never end."""
        return self.world.ask_the_time(self.task)

    def _compute(self, nanoseconds: float) -> None:
        self.world.work(self.task, nanoseconds)

    def _lent(self, flat: Array) -> Packet:
        return pack_array(flat)

    def _post(self, request: Request, call: Call, packet: Packet, dest: int, tag: int, synchronous: bool) -> None:
        self.ledger.post(self.plane, self.task, call, self.members[dest], tag, packet, synchronous, request)

    def _expect(self, request: Request, call: Call, source: int, tag: int, into: Array | None) -> None:
        receive = Receive(self._place(source), tag, request, self.task.clock.now)
        request.finish = lambda: self._take(receive, into, call)
        request.withdraw = lambda: self.world.withdraw(self.plane, self.task.rank, receive)
        self.ledger.expect(self.plane, self.task.rank, receive)

    def _find(self, request: Request, source: int, tag: int, waits: bool, takes: bool) -> Message | None:
        world, plane, rank, place = self.world, self.plane, self.task.rank, self._place(source)
        if waits:
            letter = world.await_letter(plane, self.task, Receive(place, tag, request, self.task.clock.now))
        else:
            self.task.look_for(request, lambda: world.look(plane, rank, place, tag) is not None)
            there = world.look(plane, rank, place, tag)
            if there is None:
                return None
            letter = there
        if takes:
            world.take_out(plane, rank, letter)
        return Message(self, self._seen(letter), letter)

    def _fetch(self, request: Request, call: Call, message: Message, into: Array | None) -> None:
        letter = message.handle
        receive = Receive(letter.source, letter.tag, request, self.task.clock.now)
        request.finish = lambda: self._take(receive, into, call)
        self.world.join(letter, receive)

    def _place(self, rank: int) -> int:
        """The number in the world of a rank of this group."""
        return self.members[rank] if rank >= 0 else rank

    def _take(self, receive: Receive, into: Array | None, call: Call) -> object:
        """The receiver takes its letter: its clock moves, its buffer is filled."""
        letter = receive.letter
        assert letter is not None, "a receive is finished when its letter has come"
        self._charge(letter, call)
        receive.request.status = self._status_of(letter)
        packet, source = letter.packet, receive.request.status.source
        if into is None:
            return packet.as_object(call.name, source)
        if packet.count > into.size:
            room = f"{call.name} has room for {into.size} numbers"
            raise TruncationError(room, f"{packet} from rank {source}", "a larger buffer, or Probe first")
        fill(into, packet, call.name, source)
        return None

    def _charge(self, letter: Letter, call: Call) -> None:
        clock, record = self.task.clock, letter.record
        call.ready = max(call.enter, letter.arrival)
        record.taken, record.done = clock.receive(letter.arrival, letter.packet.bytes)
        record.taker = -1 if self.ledger.is_full else call.number
        call.leave, call.bytes = clock.now, letter.packet.bytes
        self.ledger.note("take", self.task, record.number)

    def _seen(self, letter: Letter) -> Status:
        """What a probe tells of a message."""
        seen = self._status_of(letter)
        if isinstance(letter.packet.payload, bytes) and seen.bytes > SMALL:
            seen.bytes = STUB_BYTES
        return seen

    def _status_of(self, letter: Letter) -> Status:
        return Status(self._number_of(letter.source), letter.tag, letter.packet.bytes)

    def _number_of(self, rank: int) -> int:
        """What this group calls a rank of the world; in the world itself, that is quick."""
        is_world = rank < self.size and self.members[rank] == rank
        return rank if is_world else self.members.index(rank)
