"""Laws of requests: what is under way, and how one waits for it; see laws.py."""

import pickle

import numpy as np
import pytest

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.mpi import MPI
from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED, Status
from jt_edu.mpi.base.errors import CLASSES
from jt_edu.mpi.communicator.messages import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from jt_edu.mpi.communicator.persistent import Grequest, Prequest
from jt_edu.mpi.communicator.request import REQUEST_NULL, Request
from tests.ranks.laws_misuse import refused
from tests.ranks.laws_together import around


def copied(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own


def law_a_request_is_used_up_when_it_was_waited_for(comm):
    to, by = around(comm)
    request, sent = comm.irecv(source=by), comm.isend(comm.rank, to)
    assert request and request != REQUEST_NULL

    assert request.wait() == by
    assert not request and request == REQUEST_NULL
    assert request.wait() is None and request.test() == (True, None)
    sent.wait()


def law_test_tells_whether_it_has_happened(comm):
    to, by = around(comm)
    request, room = comm.irecv(source=by, tag=1), np.zeros(1)
    assert request.test() == (False, None)
    comm.barrier()
    sent = comm.isend("now", to, 1)
    while not (found := request.test())[0]:
        pass
    assert found == (True, "now")
    sent.wait()
    request, sent = comm.Irecv(room, by), comm.Isend(np.ones(1), to)
    while not request.Get_status():
        pass
    assert request.Test() is True and room[0] == 1
    sent.Wait()


def law_waitall_gives_all_and_their_statuses(comm):
    to, by = around(comm)
    statuses, requests = [], [comm.irecv(source=by, tag=k) for k in range(3)]
    sent = [comm.isend(k * comm.rank, to, k) for k in (2, 1, 0)]

    assert Request.waitall(requests, statuses) == [0, by, 2 * by]
    assert [s.tag for s in statuses] == [0, 1, 2]
    assert Request.Waitall(sent) is True
    assert Request.waitall([]) == [] and Request.waitall(requests) == [None] * 3


def law_waitany_gives_one(comm):
    to, by = around(comm)
    status, never = Status(), comm.irecv(source=by, tag=99)
    requests = [never, comm.irecv(source=by, tag=1)]
    sent = comm.isend("one", to, 1)

    assert Request.waitany(requests, status) == (1, "one") and status.tag == 1
    sent.wait()
    comm.barrier()
    sent = comm.isend("at last", to, 99)
    assert Request.waitany(requests) == (0, "at last")
    sent.wait()
    assert Request.waitany(requests) == (UNDEFINED, None) and Request.Waitany(requests) == UNDEFINED


def law_waitsome_gives_those_that_there_are(comm):
    to, by = around(comm)
    requests = [comm.irecv(source=by, tag=k) for k in range(3)]
    sent = [comm.isend(k, to, k) for k in range(3)]
    got, statuses = {}, []
    while (found := Request.waitsome(requests, statuses))[0] is not None:
        got |= dict(zip(*found, strict=True))

    assert got == {0: 0, 1: 1, 2: 2}
    assert Request.waitsome(requests) == (None, None) and Request.Waitsome(requests) is None
    Request.waitall(sent)


def law_testall_testany_testsome_of_what_has_not_happened(comm):
    to, by = around(comm)
    requests = [comm.irecv(source=by, tag=k) for k in (7, 8)]
    comm.barrier()

    assert Request.testall(requests) == (False, None) and Request.Testall(requests) is False
    assert Request.testany(requests) == (UNDEFINED, False, None) and Request.Testany(requests) == (UNDEFINED, False)
    assert Request.testsome(requests) == ([], []) and Request.Testsome(requests) == []
    comm.barrier()
    sent = [comm.isend(k, to, k) for k in (7, 8)]
    assert Request.waitall(requests) == [7, 8]
    Request.waitall(sent)


def law_testall_testany_testsome_of_what_has(comm):
    to, by = around(comm)
    statuses, status = [], Status()
    requests, sent = [comm.irecv(source=by, tag=k) for k in (7, 8)], [comm.isend(k, to, k) for k in (7, 8)]
    while not (found := Request.testall(requests, statuses))[0]:
        pass
    assert found == (True, [7, 8]) and [s.tag for s in statuses] == [7, 8]
    Request.waitall(sent)
    request, sent = [comm.irecv(source=by)], comm.isend("x", to, 6)
    while not (found := Request.testany(request, status))[1]:
        pass
    assert found == (0, True, "x") and status.tag == 6
    assert Request.testany(request) == (UNDEFINED, True, None) and Request.testsome(request) == (None, None)
    assert Request.testall(request) == (True, [None]) and Request.testall([]) == (True, [])
    sent.wait()


def law_a_receive_can_be_taken_back(comm):
    to, by = around(comm)
    status, request = Status(), comm.irecv(source=by, tag=55)
    request.Cancel()
    request.Wait(status)

    assert status.Is_cancelled()
    comm.barrier()
    sent = comm.isend("for the next one", to, 55)
    assert comm.recv(source=by, tag=55) == "for the next one"
    sent.wait()


def law_a_call_that_is_told_once_and_started_again(comm):
    to, by = around(comm)
    x, room = np.zeros(2), np.zeros(2)
    out, back = comm.Send_init(x, to, 3), comm.Recv_init(room, by, 3)
    assert out and back.Wait() is True and Request.testall([out, back])[0]
    for k in range(3):
        x[:] = 10 * k + comm.rank
        Prequest.Startall([out, back])
        if k == 1:
            out.Wait()
            while not back.Test():
                pass
        else:
            Request.Waitall([back, out])
        assert (room == 10 * k + by).all()
    total = comm.Allreduce_init(x, room)
    for _ in range(2):
        total.Start()
        total.Wait()
        assert (room == 20 * comm.size + sum(range(comm.size))).all()
    for request in (out, back, total):
        request.Free()
        assert not request and request == REQUEST_NULL


def law_a_buffered_send_comes_back_before_anybody_receives_and_carries_what_was_there_then(comm):
    """Both ranks of a pair send first: with plain sends of this length that would be a deadlock."""
    to, by = around(comm)
    x, room = np.full(300_000, float(comm.rank)), np.zeros(300_000)
    comm.Bsend(x, to, 1)
    comm.bsend([comm.rank] * 30_000, to, 2)
    requests = [comm.Ibsend(x, to, 3), comm.ibsend("x" * 300_000, to, 4)]
    assert Request.testall(requests)[0]
    x[:] = -1

    for tag in (1, 3):
        comm.Recv(room, by, tag)
        assert (room == by).all()
    assert comm.recv(source=by, tag=2) == [by] * 30_000
    assert len(comm.recv(source=by, tag=4)) == 300_000
    comm.barrier()


def law_both_ways_at_once_is_one_request(comm):
    to, by = around(comm)
    room, mine, status = np.zeros(2), np.full(2, float(comm.rank)), Status()
    request = comm.Isendrecv(mine, to, 3, room, by, 3)
    swap = comm.Isendrecv_replace(mine, to, 4, by, 4)
    request.Wait(status)
    while not swap.Test():
        pass

    assert (room == by).all() and (mine == by).all() and (status.source, status.tag) == (by, 3)
    assert not request and request == REQUEST_NULL


def law_a_send_that_is_ready_meets_a_receive_that_was_begun(comm):
    to, by = around(comm)
    room = np.zeros(1)
    for k, send in enumerate((comm.Rsend, lambda *given: comm.Irsend(*given).Wait())):
        request = comm.Irecv(room, by, k)
        comm.barrier()
        send(np.full(1, float(comm.rank + k)), to, k)
        request.Wait()
        assert room[0] == by + k


def law_rounds_of_every_way_to_send(comm):
    to, by = around(comm)
    x, room = np.full(1, float(comm.rank)), np.zeros(1)
    for init in (comm.Send_init, comm.Ssend_init, comm.Bsend_init, comm.Rsend_init):
        back, out = comm.Recv_init(room, by), init(x, to)
        for _ in range(2):
            room[:] = -1
            Prequest.Startall([back, out])
            Request.Waitall([back, out])
            assert room[0] == by and out != REQUEST_NULL
        for request in (back, out):
            request.Free()
            assert request == REQUEST_NULL and not request


def law_the_null_request_is_over(comm):
    for null in (Request(), REQUEST_NULL):
        status = Status(source=3, tag=4)
        assert null == REQUEST_NULL and not null and null.Wait(status) is True and null.test() == (True, None)
        assert (status.source, status.tag, status.error) == (ANY_SOURCE, ANY_TAG, 0)
    assert copied(REQUEST_NULL) is REQUEST_NULL
    assert Request.Waitall([Request(), comm.isend(1, PROC_NULL)])
    request = comm.isend(1, PROC_NULL)
    refused(ArgumentError, "a request is waited for where it was made", lambda: pickle.dumps(request))
    request.wait()


def law_a_message_that_was_received_is_the_null_message(comm):
    to, by = around(comm)
    sent = comm.Isend(np.full(1, 2.0), to, 5), comm.isend("x", to, 6)
    message, room = Message.Probe(comm, by, 5), np.zeros(1)
    assert message and message != MESSAGE_NULL

    message.Recv(room)
    assert room[0] == 2 and not message and message == MESSAGE_NULL == Message()
    message = Message.probe(comm, by, 6)
    request = message.irecv()
    assert not message and request.wait() == "x" and Message.iprobe(comm, by, 6) is None
    Request.waitall(sent)


def law_a_message_from_nobody_stays(comm):
    assert MESSAGE_NO_PROC == comm.mprobe(PROC_NULL) == comm.improbe(PROC_NULL) == Message(MESSAGE_NO_PROC)
    assert MESSAGE_NO_PROC.Recv(None) is MESSAGE_NO_PROC.recv() is None
    assert MESSAGE_NO_PROC and MESSAGE_NO_PROC != MESSAGE_NULL
    copy = Message(MESSAGE_NO_PROC)
    request = copy.Irecv(None)
    assert copy == MESSAGE_NULL and request != REQUEST_NULL
    request.Wait()
    assert request == REQUEST_NULL
    for message in (MESSAGE_NULL, MESSAGE_NO_PROC):
        assert copied(message) is message
        assert copied(Message(message)) == message


def law_what_was_freed_equals_its_null(comm):
    copy, group = comm.Dup(), comm.Get_group()
    op, kind = MPI.Op.Create(lambda a, b: a), MPI.INT.Create_contiguous(2).Commit()
    for thing, null in (
        (copy, MPI.COMM_NULL), (group, MPI.GROUP_NULL), (op, MPI.OP_NULL), (kind, MPI.DATATYPE_NULL)
    ):  # fmt: skip
        assert thing != null
        thing.Free()
        assert thing == null == thing and (not thing or thing is kind)
    MPI.INT.Free()
    MPI.SUM.Free()
    op, room = MPI.Op.Create(lambda a, b: a + b), np.zeros(1)
    request = comm.Iallreduce(np.ones(1), room, op)
    op.Free()
    request.Wait()
    assert room[0] == comm.size
    assert MPI.INT != MPI.DATATYPE_NULL and MPI.SUM and comm


def law_a_request_for_work_of_ones_own_is_over_when_it_is_completed(comm):
    said, status = [], Status()
    request = Grequest.Start(lambda s: s.Set_tag(7), lambda: said.append("free"), said.append)
    assert request.Test() is False and request
    request.Cancel()
    request.Complete()
    assert request.Test(status) is True and status.tag == 7 and said == [False, "free"]
    other = Grequest.Start()
    other.complete(42)
    assert other.wait() == 42 and other == REQUEST_NULL


def law_errors_tell_their_class(comm):
    sent = comm.Isend(np.zeros(2), comm.rank, 9)
    for name, call in {
        "ERR_ROOT": lambda: comm.reduce(1, root=comm.size), "ERR_RANK": lambda: comm.send(1, comm.size),
        "ERR_TAG": lambda: comm.send(1, 0, -5), "ERR_TRUNCATE": lambda: comm.Recv(np.zeros(1), comm.rank, 9),
    }.items():  # fmt: skip
        with pytest.raises(RankError) as caught:
            call()
        assert caught.value.Get_error_class() == CLASSES.index(name)
        assert caught.value.Get_error_string() == str(caught.value)
    sent.Wait()


LAWS = [law for name, law in list(globals().items()) if name.startswith("law_")]
