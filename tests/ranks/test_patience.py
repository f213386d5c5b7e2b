"""Waits that end: a receive that gives up, a loop that looks in vain, a clock that is asked again and again."""

import pytest

from jt_edu.mpi import MPI, run_ranks
from jt_edu.mpi.base.errors import LookedInVainError, RankTimeoutError

LATE = 10_000_000  # ns


def late(comm, receive):
    """Rank 0 sends too late for what rank 1 first waits for."""
    if comm.rank == 0:
        comm.compute(LATE)
        for text in ("first", "second"):
            comm.send(text, 1)
        return None
    with pytest.raises(RankTimeoutError):
        receive(comm)
    comm.compute(2 * LATE)
    return [comm.recv(source=0) for _ in range(2)]


@pytest.mark.parametrize("policy", ["round_robin", "clock", "random"])
def test_a_receive_that_gave_up_leaves_the_message_where_it_is(policy):
    run = run_ranks(2, late_of_all, policy=policy, timeout=1e-3, seed=1)

    assert run.error is None and run.results[1] == ["first", "second"], run.error


def late_of_all(comm):
    return late(comm, lambda c: c.recv(source=0))


def test_a_message_that_is_left_keeps_its_place_for_a_probe():
    def program(comm):
        if comm.rank == 0:
            comm.compute(LATE)
            return comm.send("late", 1)
        with pytest.raises(RankTimeoutError):
            comm.recv(source=0)
        comm.compute(2 * LATE)
        return comm.iprobe(source=0), comm.recv(source=0)

    for policy in ("round_robin", "clock"):
        assert run_ranks(2, program, policy=policy, timeout=1e-3).results[1] == (True, "late")


def test_a_loop_until_some_virtual_time_is_over_is_told_that_it_never_is():
    def program(comm):
        began = MPI.Wtime()
        while MPI.Wtime() - began < 1e-3:
            pass

    run = run_ranks(2, program)

    assert type(run.error) is LookedInVainError
    assert "virtual time passes only in calls" in str(run.error) and "computing='measured'" in str(run.error)


def test_a_rank_asks_for_the_time_as_often_as_it_likes_when_its_time_passes():
    def program(comm):
        for _ in range(300):
            for _ in range(100):
                MPI.Wtime()
            comm.compute(10)
        return comm.now

    assert run_ranks(1, program).results == [3000]
    assert all(MPI.Wtime() >= 0 for _ in range(25_000)), "alone, the wall clock is asked"


def test_a_rank_that_measures_what_it_computes_sees_its_time_pass():
    def program(comm):
        began = MPI.Wtime()
        while MPI.Wtime() - began < 1e-3:
            pass
        return True

    assert run_ranks(2, program, computing="measured").results == [True, True]


def test_a_rank_that_looks_too_often_is_told_how_often_and_not_that_all_ranks_are_stuck():
    def program(comm):
        if comm.rank == 0:
            for _ in range(25_000):
                comm.iprobe(source=1)
            return comm.send("go", 1)
        return comm.recv(source=0)

    error = run_ranks(2, program).error

    assert type(error) is LookedInVainError
    assert "20,000 looks in vain" in str(error) and "rank 1 waits in recv(source=0" in str(error)
    assert "rank 0 looks again and again for iprobe(source=1" in str(error)
