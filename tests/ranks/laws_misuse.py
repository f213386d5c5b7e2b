"""Laws of wrong calls: each is refused before a message leaves, and says what was asked, found, and what to try."""

import re

import numpy as np

from jt_edu.base.errors import ArgumentError, DtypeError, RankError, ShapeError, UnknownNameError
from jt_edu.mpi.base.constants import IN_PLACE, SUM, Op
from jt_edu.mpi.base.errors import MismatchError
from jt_edu.mpi.communicator.request import Request
from tests.ranks.laws_together import around

ROOM = np.zeros(4)


def refused(error, text, call):
    """The call raises this error, with this text; whoever reads it finds what was wrong."""
    said = None
    try:
        call()
    except error as found:
        said = found
    assert said is not None, f"no {error.__name__} about {text}"
    assert re.search(text, str(said), re.DOTALL), f"{text} is not said by: {said}"
    assert said.found, "it says what it found"


def law_ranks_that_are_not_there(comm):
    for peer in (comm.size, -7, "1", 1.0, None, True):
        refused(ArgumentError, "dest", lambda peer=peer: comm.send(1, peer))
        refused(ArgumentError, "source", lambda peer=peer: comm.recv(source=peer))
        refused(ArgumentError, "dest", lambda peer=peer: comm.Isend(ROOM, peer))
        refused(ArgumentError, "source", lambda peer=peer: comm.probe(peer))
        refused(ArgumentError, "root", lambda peer=peer: comm.bcast(1, root=peer))


def law_tags_that_no_mpi_takes(comm):
    for tag in (-2, 1 << 40, "a", 1.5, None):
        refused(ArgumentError, "tag", lambda tag=tag: comm.send(1, comm.rank, tag))
        refused(ArgumentError, "tag", lambda tag=tag: comm.irecv(source=comm.rank, tag=tag))
        refused(ArgumentError, "tag", lambda tag=tag: comm.iprobe(comm.rank, tag))


def law_what_is_no_buffer(comm):
    for thing in ([1.0, 2.0], 3, None, "abc"):
        refused(ArgumentError, "takes an array", lambda thing=thing: comm.Send(thing, comm.rank))
        refused(ArgumentError, "takes an array", lambda thing=thing: comm.Allreduce(ROOM, thing))
    refused(DtypeError, "numbers", lambda: comm.Send(np.array([None, {}]), comm.rank))
    refused(ArgumentError, "IN_PLACE", lambda: comm.Bcast(IN_PLACE))
    refused(ArgumentError, "IN_PLACE", lambda: comm.Recv(IN_PLACE, comm.rank))


def law_buffers_that_cannot_be_filled(comm):
    fixed = np.zeros(4)
    fixed.flags.writeable = False
    refused(ArgumentError, "can be written", lambda: comm.Recv(fixed, comm.rank))
    refused(ArgumentError, "row-major", lambda: comm.Recv(np.zeros((4, 4))[:, 0], comm.rank))
    refused(ArgumentError, "row-major", lambda: comm.Allreduce(ROOM, np.zeros((4, 2))[:, 0]))


def law_parts_that_are_not_there(comm):
    refused(ArgumentError, "count 5", lambda: comm.Send([ROOM, 5], comm.rank))
    refused(ArgumentError, "count 2 from 3", lambda: comm.Send([ROOM, 2, 3], comm.rank))
    refused(ArgumentError, "count -1", lambda: comm.Recv([ROOM, -1], comm.rank))
    refused(DtypeError, "float64", lambda: comm.Send([ROOM, "i"], comm.rank))
    refused(DtypeError, "datatype", lambda: comm.Send([ROOM, "no type"], comm.rank))
    refused(ShapeError, "one part for each", lambda: comm.Allgatherv(ROOM[:1], [ROOM, [1] * (comm.size + 1)]))
    refused(ShapeError, "inside its buffer", lambda: comm.Allgatherv(ROOM[:1], [ROOM, [5] * comm.size]))
    refused(ArgumentError, "counts", lambda: comm.Allgatherv(ROOM[:1], [ROOM, [0.5] * comm.size]))
    refused(
        ShapeError,
        "of equal length",
        lambda: comm.Allgather(ROOM, np.zeros(4 * comm.size + 1)) if comm.size > 1 else comm.Allgather(ROOM, [ROOM, 9]),
    )


def law_room_that_does_not_fit(comm):
    refused(ShapeError, "gives 4 numbers", lambda: comm.Allreduce(ROOM, np.zeros(3)))
    refused(ShapeError, "gives 4 numbers", lambda: comm.Scan(ROOM, np.zeros(5)))
    refused(ShapeError, "gives 4 numbers", lambda: comm.Allgather(ROOM, np.zeros(3 * comm.size)))
    refused(ShapeError, "gives 2 numbers", lambda: comm.Alltoall(np.zeros(2 * comm.size), np.zeros(comm.size)))
    refused(ShapeError, "gives 4 numbers", lambda: comm.Reduce_scatter_block(np.zeros(4 * comm.size), np.zeros(3)))
    refused(DtypeError, "float64 and float32", lambda: comm.Allreduce(ROOM, np.zeros(4, "f4")))
    refused(DtypeError, "float64 and int32", lambda: comm.Allgather(ROOM, np.zeros(4 * comm.size, "i4")))
    if comm.size == 1:
        refused(ShapeError, "gives 4 numbers", lambda: comm.Gather(ROOM, np.zeros(3)))
        refused(ShapeError, "gives 4 numbers", lambda: comm.Scatter(ROOM, np.zeros(3)))


def law_reductions_that_have_no_meaning(comm):
    refused(ArgumentError, "reduces with one of", lambda: comm.allreduce(1, op="mean"))
    refused(ArgumentError, "reduces with one of", lambda: comm.Allreduce(ROOM, ROOM.copy(), op=max))
    refused(DtypeError, "BAND", lambda: comm.Allreduce(ROOM, ROOM.copy(), op="band"))
    refused(DtypeError, "MAX", lambda: comm.Allreduce(ROOM.astype("D"), np.zeros(4, "D"), op="max"))
    refused(DtypeError, "MAXLOC", lambda: comm.Allreduce(ROOM, ROOM.copy(), op="maxloc"))
    refused(ArgumentError, "function of two", lambda: Op.Create("sum"))
    refused(ArgumentError, "algorithm|native", lambda: comm.allreduce(1, SUM, algorithm="magic"))


def law_objects_that_do_not_fit(comm):
    refused(ArgumentError, "pickled", lambda: comm.send(lambda: 0, comm.rank))
    refused(ShapeError, "one object for each", lambda: comm.alltoall([1] * (comm.size + 1)))
    refused(ArgumentError, "one object for each", lambda: comm.alltoall(3))
    if comm.size == 1:
        refused(ShapeError, "one object for each", lambda: comm.scatter([1, 2]))


def law_groups_that_cannot_be_made(comm):
    for color in (-1, 1.5, "a", None):
        refused(ArgumentError, "color", lambda color=color: comm.Split(color))
    refused(ArgumentError, "key", lambda: comm.Split(0, "first"))
    refused(ArgumentError, "Split_type goes by machines; found 7", lambda: comm.Split_type(7))
    refused(ArgumentError, "key", lambda: comm.Split_type(key="first"))
    refused(ArgumentError, "Create_group takes a group", lambda: comm.Create_group([0]))
    others = comm.group.Excl([comm.rank])
    refused(ArgumentError, "with the one that calls; found Group of", lambda: comm.Create_group(others))
    refused(ArgumentError, "tag from 0", lambda: comm.Create_group(comm.group, -1))
    refused(ArgumentError, "first, last, step", lambda: comm.group.Range_incl([(0, 1, 0)]))


def law_what_is_not_here_is_refused_with_what_does_the_same(comm):
    for name, instead in (("Create_cart", "Split by"), ("Neighbor_allgather", "Sendrecv with"), ("Spawn", "all ranks")):
        refused(UnknownNameError, f"comm.{name} is asked for.*Try: {instead}", lambda name=name: getattr(comm, name))


def law_groups_that_overlap(comm):
    """The ranks do not agree who is in the group of rank 0: each is told which two groups do not fit."""
    mine = [0] if comm.rank == 0 else [0, comm.rank]
    if comm.size > 1:
        text = r"calls it with Group of ranks? .*calls it with Group of ranks? "
        refused(MismatchError, text, lambda: comm.Create(comm.Get_group().Incl(mine)))


def law_numbers_are_not_received_as_an_object(comm):
    to, by = around(comm)
    sent = [comm.Isend(ROOM, to), comm.Isend(ROOM, to, 1)]
    refused(DtypeError, f"4 numbers of float64|numbers from rank {by}", lambda: comm.recv(source=by, tag=0))
    refused(DtypeError, f"from rank {by}", comm.irecv(source=by, tag=1).wait)
    Request.waitall(sent)


def law_ranks_that_no_group_has(comm):
    group = comm.Get_group()
    refused(ArgumentError, "from 0 to", lambda: group.Incl([comm.size]))
    refused(ArgumentError, "once", lambda: group.Incl([0, 0]))
    refused(ArgumentError, "Create takes a group", lambda: comm.Create([0]))


def law_a_round_is_waited_for_before_the_next(comm):
    request = comm.Recv_init(ROOM.copy(), comm.rank, 5)
    request.Start()
    refused(RankError, "not waited for", request.Start)
    request.Cancel()
    request.Wait()
    request.Free()
    refused(RankError, "freed", request.Start)


def law_a_group_that_was_freed_is_not_used(comm):
    copy = comm.Dup()
    copy.Free()
    refused(RankError, "freed", lambda: copy.send(1, comm.rank))
    refused(RankError, "freed", copy.barrier)


def law_a_message_that_was_taken_away_is_received_once(comm):
    to, by = around(comm)
    sent = comm.isend("x", to, 5)
    message = comm.mprobe(by, 5)

    assert message.recv() == "x"
    refused(RankError, "recv of a message .* received before", message.recv)
    sent.wait()


LAWS = [law for name, law in list(globals().items()) if name.startswith("law_")]
