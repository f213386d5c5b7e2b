"""Laws of requests: what is under way, and how one waits for it; see laws.py."""

import numpy as np

from jt_edu.mpi.talk.persistent import Prequest
from jt_edu.mpi.talk.request import REQUEST_NULL, Request
from jt_edu.mpi.terms.names import UNDEFINED, Status
from tests.ranks.laws_together import around


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
        assert not request


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


LAWS = [law for name, law in list(globals().items()) if name.startswith("law_")]
