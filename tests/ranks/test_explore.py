"""Explore: every end that a program with receives from any rank can come to."""

import math

import pytest

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.base.constants import ANY_SOURCE, Status
from jt_edu.mpi.base.errors import DeadlockError
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.simulator.model_checker import explore
from jt_edu.mpi.simulator.threads import run_ranks


def ends(told):
    return sorted(str(o.results[0]) for o in told.outcomes if o.error is None)


def test_a_program_without_wildcards_has_one_end():
    told = explore(4)(lambda c: c.sendrecv(c.rank, (c.rank + 1) % 4, source=(c.rank - 1) % 4))

    assert told.ways == 1 and told.complete and len(told.outcomes) == 1
    assert repr(told).startswith("1 way through, 1 different end")


@pytest.mark.parametrize("senders", [1, 2, 3, 4])
def test_receives_from_any_rank_come_in_every_order(senders):
    def program(comm):
        if comm.rank == 0:
            return [comm.recv(source=ANY_SOURCE) for _ in range(senders)]
        return comm.send(comm.rank, dest=0)

    told = explore(senders + 1)(program)

    assert told.ways == math.factorial(senders) == len(told.outcomes)


def test_messages_of_one_sender_keep_their_order():
    """Two words of each of two ranks: 4! / (2! 2!) = 6 orders."""

    def program(comm):
        if comm.rank == 0:
            return "".join(comm.recv() for _ in range(4))
        return [comm.send(f"{'_ab'[comm.rank]}{k}", dest=0) for k in range(2)]

    told = explore(3)(program)

    assert told.ways == 6
    assert ends(told) == ["a0a1b0b1", "a0b0a1b1", "a0b0b1a1", "b0a0a1b1", "b0a0b1a1", "b0b1a0a1"]


def test_the_way_into_the_deadlock_is_found_and_told():
    def program(comm):
        if comm.rank == 0:
            return [comm.recv(source=ANY_SOURCE), comm.recv(source=1)]
        return comm.send(comm.rank, dest=0)

    told = explore(3)(program)

    (bad,) = told.failures
    assert isinstance(bad.error, DeadlockError) and bad.ways == 1
    assert len(bad.choices) == 1 and bad.choices[0].endswith("from rank 1")
    assert "rank 0, recv(source=any, tag=any) at test_explore.py" in repr(told)
    assert ends(told) == ["[2, 1]"]


def test_a_receive_behind_an_open_one_waits_for_the_choice():
    """Message order: the receive from rank 1 gets rank 1's first message only if the open one before took another."""

    def program(comm):
        if comm.rank == 0:
            requests = [comm.irecv(source=ANY_SOURCE), comm.irecv(source=1), comm.irecv(source=ANY_SOURCE)]
            return Request.waitall(requests)
        return [comm.send(f"{comm.rank}{k}", dest=0) for k in range(2 if comm.rank == 1 else 1)]

    assert ends(explore(3)(program)) == ["['10', '11', '20']", "['20', '10', '11']"]


def test_probes_from_any_rank_are_choices_too():
    def program(comm):
        if comm.rank:
            return comm.send(comm.rank, dest=0)
        status = Status()
        comm.probe(status=status)
        return [comm.recv(source=status.source), comm.mprobe().recv()]

    assert ends(explore(3)(program)) == ["[1, 2]", "[2, 1]"]


def test_a_wait_for_any_request_is_a_choice():
    def program(comm):
        if comm.rank:
            return comm.send(comm.rank, dest=0)
        requests = [comm.irecv(source=1), comm.irecv(source=2)]
        return [Request.waitany(requests)[1] for _ in range(2)]

    assert ends(explore(3)(program)) == ["[1, 2]", "[2, 1]"]


def test_choices_that_hang_on_choices():
    """Who is served first may ask again at once, and then is one of two once more: 1 1 2, 1 2 1, 2 1 1."""

    def program(comm):
        if comm.rank == 0:
            seen = []
            for _ in range(3):
                status = Status()
                comm.recv(status=status)
                comm.send("served", status.source)
                seen.append(status.source)
            return seen
        for _ in range(2 if comm.rank == 1 else 1):
            comm.send("ask", 0)
            comm.recv(source=0)
        return None

    told = explore(3)(program)

    assert told.complete and ends(told) == ["[1, 1, 2]", "[1, 2, 1]", "[2, 1, 1]"]


def test_collectives_and_synchronous_sends_pass_through():
    def program(comm):
        total = comm.allreduce(comm.rank, algorithm="naive")
        if comm.rank == 0:
            return [total, *sorted(comm.recv() for _ in range(2))]
        return comm.ssend(comm.rank, 0)

    told = explore(3)(program)

    assert ends(told) == ["[3, 1, 2]"] and told.ways == 2 and told.outcomes[0].ways == 2


def test_the_number_of_ways_is_bounded_and_told():
    def program(comm):
        if comm.rank == 0:
            return [comm.recv() for _ in range(6)]
        return comm.send(comm.rank, 0)

    told = explore(7, limit=10)(program)

    assert told.ways == 10 and not told.complete and "more ways" in repr(told)
    with pytest.raises(ArgumentError, match="from 1"):
        explore(2, limit=0)


def test_what_is_found_is_what_random_schedules_meet():
    def program(comm):
        if comm.rank == 0:
            first, second = comm.recv(source=ANY_SOURCE, tag=1), comm.recv(source=ANY_SOURCE)
            return first, second
        comm.send(comm.rank, 0, tag=1 if comm.rank < 3 else 2)
        return None

    explored = explore(4)(program)
    met = {str(run_ranks(4, program, policy="random", seed=seed).results[0]) for seed in range(200)}

    assert met == set(ends(explored))
