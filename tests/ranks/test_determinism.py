"""The same seed gives the same run; other schedules give the same results and times, where no wildcard lets them in."""

from dataclasses import asdict

import numpy as np
import pytest

from jt_edu.mpi.base.constants import ANY_SOURCE, Status
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.simulator.threads import run_ranks

WALL = ("began", "ended")  # seconds of the wall clock, which no two runs share


def program(comm):
    """Some of everything, with uneven work and without wildcards."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, room = np.full(100 * (comm.rank + 1), float(comm.rank)), np.zeros(100 * (left + 1))
    requests = [comm.Irecv(room, left, 1), comm.Isend(x, right, 1)]
    comm.compute(1000 * (comm.rank * 7 % 5))
    total = comm.allreduce(comm.rank)
    Request.waitall(requests)
    pair = comm.Split(comm.rank % 2)
    words = pair.allgather(f"rank {comm.rank}")
    background = comm.Iallreduce(np.full(50, comm.rank + 1.0), shared := np.zeros(50), algorithm="naive")
    comm.compute(20_000)
    comm.sendrecv(room, left, source=right)
    background.wait()
    if comm.rank == 0:
        comm.ssend("end", 1)
    elif comm.rank == 1:
        comm.recv(source=0)
    tree = comm.bcast(words, root=1, algorithm="naive")
    return room.sum(), total, words, shared.sum(), tree, comm.scan(comm.rank), comm.now


def race(comm):
    """Who is received first depends on the schedule."""
    if comm.rank:
        return comm.send(comm.rank, 0)
    status, seen = Status(), []
    for _ in range(1, comm.size):
        comm.recv(source=ANY_SOURCE, status=status)
        seen.append(status.source)
    return seen


def recorded(run):
    """Everything of a record but the seconds."""
    told = asdict(run.record)
    for call in told["calls"]:
        for name in WALL:
            del call[name]
    return told


@pytest.mark.parametrize("policy", ["round_robin", "random", "clock"])
@pytest.mark.parametrize("what", [program, race])
def test_the_same_seed_gives_the_same_record(policy, what):
    first, second = (run_ranks(4, what, policy=policy, seed=5) for _ in range(2))

    assert first.error is None and first.results == second.results
    assert recorded(first) == recorded(second)


@pytest.mark.parametrize("what", [program, race])
def test_a_recorded_schedule_can_be_run_again(what):
    for seed in range(10):
        first = run_ranks(4, what, policy="random", seed=seed)
        again = run_ranks(4, what, policy=first.record.schedule)
        assert again.results == first.results
        assert recorded(again) | {"policy": "", "seed": 0} == recorded(first) | {"policy": "", "seed": 0}


def test_a_failure_can_be_run_again():
    def bad(comm):
        if comm.rank == 0:
            return comm.recv(source=ANY_SOURCE), comm.recv(source=1)
        return comm.send(comm.rank, 0)

    seeds = {run_ranks(3, bad, policy="random", seed=s).error is None: s for s in range(20)}
    first = run_ranks(3, bad, policy="random", seed=seeds[False])
    again = run_ranks(3, bad, policy=first.record.schedule)

    assert str(first.error) == str(again.error)


def test_two_hundred_schedules_give_the_same_results_and_times():
    expected = run_ranks(4, program)
    assert expected.error is None and expected.record.warnings == []

    schedules = set()
    for seed in range(200):
        run = run_ranks(4, program, policy="random", seed=seed)
        assert run.results == expected.results
        schedules.add(tuple(run.record.schedule))

    assert len(schedules) > 190


def test_virtual_times_of_every_call_do_not_hang_on_the_schedule():
    def times(run):
        return sorted((c.rank, c.name, c.enter, c.ready, c.leave) for c in run.record.calls)

    expected = times(run_ranks(4, program))
    for policy, seed in (("clock", 0), *(("random", seed) for seed in range(20))):
        assert times(run_ranks(4, program, policy=policy, seed=seed)) == expected


def test_a_race_has_several_ends_that_seeds_find():
    assert len({tuple(run_ranks(4, race, policy="random", seed=s).results[0]) for s in range(60)}) == 6
