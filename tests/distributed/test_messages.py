"""Messages and objects: from one rank to another, and anything that can be pickled."""

import pickle
import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi.base.errors import DeadlockError, LostRankError, RankTimeoutError
from tests.distributed.ranks import BACKENDS, LONG, dist, run

both = pytest.mark.parametrize("backend", BACKENDS)


@both
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_batch_shifts_a_ring(backend, size):
    def program(rank):
        x, came = jt.array([float(rank)]), jt.zeros(1)
        ops = [
            dist.P2POp(dist.irecv, came, (rank - 1) % size),
            dist.P2POp(dist.isend, x, (rank + 1) % size),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        return came.item()

    assert run(backend, size, program) == [float((rank - 1) % size) for rank in range(size)]


@both
def test_tags_are_found_in_any_order_and_messages_of_one_tag_keep_theirs(backend):
    def program(rank):
        if rank == 0:
            for value, tag in [(1.0, 7), (2.0, 8), (3.0, 7)]:
                dist.send(jt.array([value]), 1, tag=tag)
            return None
        found = []
        for tag in (8, 7, 7):
            x = jt.zeros(1)
            dist.recv(x, 0, tag=tag)
            found.append(x.item())
        return found

    assert run(backend, 2, program)[1] == [2.0, 1.0, 3.0]


@both
def test_a_receive_from_anybody_tells_who_it_was(backend):
    def program(rank):
        if rank:
            dist.send(jt.array([float(rank)]), 0)
            return None
        x = jt.zeros(1)
        return sorted((dist.recv(x), x.item()) for _ in range(2))

    assert run(backend, 3, program)[0] == [(1, 1.0), (2, 2.0)]


@both
def test_irecv_is_completed_when_its_message_is_there(backend):
    def program(rank):
        x = jt.zeros(2)
        if rank == 0:
            work = dist.irecv(x, 1)
            dist.barrier()
            before = work.is_completed()
            dist.barrier()
            work.wait()
            return before, x.tolist()
        dist.barrier()
        dist.barrier()
        dist.send(jt.ones(2), 0)
        return None

    assert run(backend, 2, program)[0] == (False, [1.0, 1.0])


@both
@pytest.mark.parametrize(("sent", "room", "error"), [
    (np.ones(3, "f4"), np.zeros(4, "f4"), jt.ShapeError),
    (np.ones(4, "f4"), np.zeros(3, "f4"), (jt.ShapeError, jt.RankError)),
    (np.ones(2, "f4"), np.zeros(2, "i4"), jt.DtypeError),
])  # fmt: skip
def test_a_message_that_does_not_fit_its_room_is_refused(backend, sent, room, error):
    def program(rank):
        if rank == 1:
            dist.send(jt.array(sent), 0)
            return
        with pytest.raises(error, match=r"rank 1|src=1"):
            dist.recv(jt.array(room), 1)

    run(backend, 2, program)


def test_two_receives_that_wait_for_each_other_are_a_deadlock_that_names_both():
    with pytest.raises(DeadlockError, match=r"rank 0 waits[\s\S]*rank 1 waits") as caught:
        run("threads", 2, lambda rank: dist.recv(jt.zeros(1), 1 - rank))

    assert "0 -> 1 -> 0" in str(caught.value)


def test_two_receives_over_sockets_time_out_and_name_whom_they_wait_for():
    both_were_told = threading.Barrier(2)

    def program(rank):
        dist.group.WORLD.set_timeout(0.2)
        with pytest.raises(RankTimeoutError, match=rf"recv\(src={1 - rank}, tag=0\).*rank {1 - rank} within 0\.2 s"):
            dist.recv(jt.zeros(1), 1 - rank)
        both_were_told.wait(LONG)  # else the one that leaves first is what the other is told of

    run("tcp", 2, program)


def test_who_waits_for_one_that_has_left_is_told_so_even_when_the_time_is_up():
    def program(rank):
        inbox = dist.group.WORLD.mesh.inbox
        if rank == 1:
            return
        with inbox.changed:
            assert inbox.changed.wait_for(lambda: 1 in inbox.gone, LONG)
        dist.group.WORLD.set_timeout(1e-6)
        with pytest.raises(LostRankError, match=r"recv\(src=1, tag=0\).*rank 1 has left the group"):
            dist.recv(jt.zeros(1), 1)

    run("tcp", 2, program)


@both
def test_a_large_message_both_ways_at_once_does_not_stop(backend):
    def program(rank):
        x, came = jt.full((2_000_000,), float(rank)), jt.zeros(2_000_000)
        dist.send(x, 1 - rank)
        dist.recv(came, 1 - rank)
        return float(came.numpy()[-1])

    assert run(backend, 2, program) == [1.0, 0.0]


# objects


@both
@pytest.mark.parametrize("size", [1, 2, 4])
def test_objects_of_any_size_arrive_everywhere(backend, size):
    things = [{"rank": 0}, "x" * 1000, [], (np.arange(3), None)]

    def program(rank):
        every = [None] * size
        dist.all_gather_object(every, things[rank])
        mine = [None] * size if rank == 0 else None
        dist.gather_object(things[rank], mine)
        told = [things[1], things[0]] if rank == size - 1 else [None, None]
        dist.broadcast_object_list(told, src=size - 1)
        one = [None]
        dist.scatter_object_list(one, things[:size] if rank == 0 else None)
        return every, mine, told, one

    for rank, (every, mine, told, one) in enumerate(run(backend, size, program)):
        assert pickle.dumps(every) == pickle.dumps(things[:size]) and told == [things[1], things[0]]
        assert (mine is None) == (rank != 0) and pickle.dumps(one) == pickle.dumps([things[rank]])


@both
def test_an_object_that_arrives_is_a_copy(backend):
    shared = [[0], [1]]

    def program(rank):
        found = [None, None]
        dist.all_gather_object(found, shared[rank])
        found[rank].append("mine")
        return found[rank] is shared[rank]

    assert run(backend, 2, program) == [False, False] and shared == [[0], [1]]


@pytest.mark.parametrize(("call", "words"), [
    (lambda: dist.all_gather_object([None], 1), "each of 2 ranks"),
    (lambda: dist.all_gather_object(None, 1), "None"),
    (lambda: dist.all_gather_object([None] * 2, lambda: 1), "pickled"),
    (lambda: dist.broadcast_object_list((1,), 0), "list"),
    (lambda: dist.scatter_object_list([], [1, 2]), "first place"),
])  # fmt: skip
def test_lists_that_do_not_fit_and_objects_that_cannot_travel_are_refused(call, words):
    def program(rank):
        with pytest.raises(jt.ArgumentError, match=words):
            call()

    run("threads", 2, program)
