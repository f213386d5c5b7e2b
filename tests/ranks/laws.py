"""Laws of a communicator: what mpi4py documents of each call, as functions that any communicator can be handed to.

    for law in LAWS: law(comm)          on every rank of the communicator, with any number of ranks

A law uses its communicator and NumPy, nothing else, so that the same laws hold simulated ranks (test_laws.py) and real
ones (tests/mpi). It leaves nothing behind: no message, no request. Here: one rank to one other; laws_together.py has
what all ranks do together, laws_algorithms.py by which way, laws_misuse.py wrong calls,
laws_buffers.py what may be sent.
"""

import numpy as np

from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG, COMM_NULL, IN_PLACE, PROC_NULL, UNDEFINED, Status
from jt_edu.mpi.communicator.request import REQUEST_NULL, Request
from tests.ranks import laws_algorithms, laws_buffers, laws_groups, laws_misuse, laws_requests, laws_together
from tests.ranks.laws_together import around

# who one is


def law_rank_and_size(comm):
    assert comm.Get_rank() == comm.rank in range(comm.size)
    assert comm.Get_size() == comm.size
    assert comm.allgather(comm.rank) == list(range(comm.size))


def law_constants_are_what_mpi4py_says(comm):
    assert len({ANY_SOURCE, PROC_NULL, *range(comm.size)}) == comm.size + 2
    assert ANY_TAG < 0 and not COMM_NULL and not REQUEST_NULL
    assert UNDEFINED < 0 and IN_PLACE is not None


# objects


def law_objects_go_round(comm):
    to, by = around(comm)
    thing = {"rank": comm.rank, "deep": [1, (2.5, "three"), None]}
    request = comm.isend(thing, to, 3)

    assert comm.recv(source=by, tag=3) == {"rank": by, "deep": [1, (2.5, "three"), None]}
    assert request.wait() is None


def law_send_and_recv(comm):
    for rank in range(1, comm.size):
        if comm.rank == 0:
            comm.send(f"to {rank}", rank, tag=rank)
        elif comm.rank == rank:
            assert comm.recv(source=0, tag=rank) == f"to {rank}"


def law_ssend_meets_its_receive(comm):
    for rank in range(1, comm.size):
        if comm.rank == 0:
            comm.ssend(rank, rank)
            comm.Ssend(np.array([rank]), rank)
        elif comm.rank == rank:
            room = np.zeros(1, int)
            assert comm.recv(source=0) == rank
            comm.Recv(room, 0)
            assert room[0] == rank


def law_sends_that_wait_for_their_receive_may_be_begun_first(comm):
    to, by = around(comm)
    room = np.zeros(2)
    requests = [comm.issend("x", to, 1), comm.Issend(np.full(2, comm.rank, float), to, 2)]

    assert comm.recv(source=by, tag=1) == "x"
    comm.Recv(room, by, 2)
    assert Request.waitall(requests) == [None, None]
    assert (room == by).all()


def law_sendrecv_of_objects(comm):
    to, by = around(comm)
    status = Status()

    assert comm.sendrecv([comm.rank], to, 5, source=by, recvtag=5, status=status) == [by]
    assert (status.source, status.tag) == (by, 5)


def law_an_object_that_was_received_is_a_copy(comm):
    to, by = around(comm)
    mine = [comm.rank]
    request = comm.isend(mine, to)
    mine.append("changed after it was sent")
    found = comm.recv(source=by)
    found.append("changed by its receiver")
    request.wait()

    assert found[0] == by and len(found) == 2
    assert mine == [comm.rank, "changed after it was sent"]


def law_messages_to_oneself(comm):
    request = comm.irecv(source=comm.rank, tag=1)
    comm.isend("me", comm.rank, 1).wait()

    assert request.wait() == "me"


def law_long_objects(comm):
    to, by = around(comm)
    request = comm.irecv(source=by)
    sent = comm.isend(np.full(40_000, comm.rank), to)

    assert (request.wait() == by).all()
    sent.wait()


# buffers


def law_buffers_go_round(comm):
    to, by = around(comm)
    room = np.full(4, -1.0)
    request = comm.Isend(np.arange(4.0) + comm.rank, to)
    assert comm.Recv(room, by) is None
    request.Wait()

    np.testing.assert_array_equal(room, np.arange(4.0) + by)


def law_every_dtype_arrives_as_it_was(comm):
    to, by = around(comm)
    for letter in ("?", "b", "B", "h", "i", "l", "q", "L", "f", "d", "F", "D", "e"):
        x = np.array([[0, 1, 2], [3, 4, 5]]).astype(letter)
        room = np.zeros_like(x)
        comm.Sendrecv(x, to, 0, room, by, 0)
        np.testing.assert_array_equal(room, x)


def law_a_buffer_can_be_named_in_parts(comm):
    to, by = around(comm)
    x, room, status = np.arange(10.0) + comm.rank, np.full(10, -1.0), Status()
    for sent, taken, begin in (
        (x, room, 0), ([x, 10], [room, 10], 0), ([x, "d"], [room, np.float64], 0), ([x, 3, "d"], [room, 3], 0),
        ([x, 3, 4, "d"], [room, 3, 2, "d"], 4), ([x, (3, 4)], [room, (3, 2), "d"], 4),
    ):  # fmt: skip
        room[:] = -1
        comm.Sendrecv(sent, to, 0, taken, by, 0, status)
        found = room[room >= 0]
        np.testing.assert_array_equal(found, x[begin : begin + found.size] - comm.rank + by)
        assert status.Get_count("d") == found.size and status.count == 8 * found.size


def law_a_send_takes_the_numbers_as_they_are_at_that_moment(comm):
    to, by = around(comm)
    x, room = np.full(3, comm.rank), np.zeros(3, int)
    request = comm.Irecv(room, by, 9)
    comm.Send(x, to, 9)
    x[:] = -7
    request.Wait()

    assert (room == by).all()


def law_what_is_sent_may_lie_anywhere_in_memory(comm):
    to, by = around(comm)
    grid = np.arange(12.0).reshape(3, 4) + comm.rank
    for view in (grid[:, 1], grid.T, grid[::2, ::-1]):
        room = np.zeros(view.shape)
        comm.Sendrecv(view, to, 0, room, by, 0)
        np.testing.assert_array_equal(room, view - comm.rank + by)


def law_empty_buffers(comm):
    to, by = around(comm)
    status, room = Status(), np.full(2, 5.0)
    comm.Sendrecv(np.zeros(0), to, 0, room, by, 0, status)

    assert status.count == 0 and (room == 5).all() and status.source == by


def law_a_buffer_may_have_more_room_than_comes(comm):
    to, by = around(comm)
    room, status = np.full(6, -1.0), Status()
    comm.Sendrecv(np.full(2, 1.0 + comm.rank), to, 0, room, by, 0, status)

    np.testing.assert_array_equal(room, [1 + by, 1 + by, -1, -1, -1, -1])
    assert status.Get_count(np.float64) == status.Get_elements("d") == 2
    assert status.Get_count() == status.count == 16


def law_sendrecv_replace(comm):
    to, by = around(comm)
    x = np.full(3, comm.rank)
    comm.Sendrecv_replace(x, to, 1, by, 1)

    assert (x == by).all()


# nobody


def law_nobody_takes_and_sends_at_once(comm):
    status, room = Status(), np.full(2, 7.0)
    comm.send("x", PROC_NULL)
    comm.Ssend(room, PROC_NULL)
    comm.Recv(room, PROC_NULL)

    assert comm.recv(source=PROC_NULL, status=status) is None and (room == 7).all()
    assert (status.source, status.tag, status.count) == (PROC_NULL, ANY_TAG, 0)
    assert Request.waitall([comm.isend(1, PROC_NULL), comm.irecv(source=PROC_NULL)]) == [None, None]
    assert comm.probe(PROC_NULL) is True and comm.iprobe(PROC_NULL) is True
    assert comm.mprobe(PROC_NULL).recv() is None and comm.improbe(PROC_NULL) is not None


def law_a_line_of_ranks_ends_in_nobody(comm):
    right = comm.rank + 1 if comm.rank + 1 < comm.size else PROC_NULL
    left = comm.rank - 1 if comm.rank > 0 else PROC_NULL
    room = np.full(1, -1)
    comm.Sendrecv(np.array([comm.rank]), right, 0, room, left, 0)

    assert room[0] == comm.rank - 1


# order, tags, anyone


def law_messages_with_one_tag_keep_their_order(comm):
    to, by = around(comm)
    sent = [comm.isend(k, to, 2) for k in range(5)]

    assert [comm.recv(source=by, tag=2) for _ in range(5)] == [0, 1, 2, 3, 4]
    Request.waitall(sent)


def law_tags_may_be_received_in_any_order(comm):
    to, by = around(comm)
    sent = [comm.isend(k, to, tag=k) for k in range(4)]

    assert [comm.recv(source=by, tag=k) for k in (2, 0, 3, 1)] == [2, 0, 3, 1]
    Request.waitall(sent)


def law_any_tag_takes_the_first(comm):
    to, by = around(comm)
    sent, status = [comm.isend(k, to, tag=10 + k) for k in range(3)], Status()

    for k in range(3):
        assert comm.recv(source=by, tag=ANY_TAG, status=status) == k
        assert status.Get_tag() == 10 + k
    Request.waitall(sent)


def law_anyone_is_told_in_the_status(comm):
    status, seen = Status(), {}
    if comm.rank == 0:
        for _ in range(1, comm.size):
            word = comm.recv(source=ANY_SOURCE, tag=4, status=status)
            seen[status.Get_source()] = word
        assert seen == {rank: f"from {rank}" for rank in range(1, comm.size)}
    else:
        comm.send(f"from {comm.rank}", 0, tag=4)


def law_receives_that_were_begun_first_get_first(comm):
    to, by = around(comm)
    first, second = comm.irecv(source=by, tag=ANY_TAG), comm.irecv(source=by, tag=ANY_TAG)
    Request.waitall([comm.isend("a", to, 1), comm.isend("b", to, 2)])

    assert Request.waitall([second, first]) == ["b", "a"]


# probes


def law_probe_tells_and_leaves_the_message(comm):
    to, by = around(comm)
    status, sent = Status(), comm.Isend(np.arange(5.0), to, 3)

    assert comm.probe(by, 3, status) is True
    assert (status.source, status.tag, status.Get_count("d")) == (by, 3, 5)
    room = np.zeros(status.Get_count("d"))
    comm.Recv(room, status.source, status.tag)
    assert (room == np.arange(5)).all()
    sent.Wait()


def law_iprobe_does_not_wait(comm):
    to, by = around(comm)
    status = Status()
    assert comm.iprobe(by, 77) is False and comm.improbe(by, 77) is None
    comm.barrier()
    sent = comm.isend("x", to, 77)
    while not comm.iprobe(by, 77, status):
        pass
    assert (status.source, status.tag) == (by, 77)
    assert comm.recv(source=by, tag=77) == "x"
    sent.wait()


def law_a_matched_probe_takes_the_message_away(comm):
    to, by = around(comm)
    sent = [comm.isend("first", to, 1), comm.isend("second", to, 1), comm.Isend(np.full(2, 3.0), to, 2)]
    message, status, room = comm.mprobe(by, 1), Status(), np.zeros(2)

    assert comm.recv(source=by, tag=1) == "second"
    assert message.recv(status) == "first" and status.tag == 1
    comm.mprobe(by, 2).Recv(room)
    assert (room == 3).all()
    Request.waitall(sent)
    sent = comm.isend("third", to, 1)
    while (message := comm.improbe(by, 1)) is None:
        pass
    assert message.irecv().wait() == "third"
    sent.wait()


LAWS = [
    *(law for name, law in list(globals().items()) if name.startswith("law_")),
    *laws_requests.LAWS,
    *laws_groups.LAWS,
    *laws_together.LAWS,
    *laws_algorithms.LAWS,
    *laws_misuse.LAWS,
    *laws_buffers.LAWS,
]
