"""A world that runs for long: what is over is forgotten, and the record ends where it says."""

import numpy as np
import pytest

from jt_edu.mpi import run_ranks
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.simulator import scheduler as batons
from jt_edu.mpi.simulator import world as worlds


def test_a_box_is_gone_when_everything_in_it_was_taken():
    def program(comm):
        for _ in range(50):
            comm.allreduce(comm.rank, algorithm="tree")
        comm.iprobe(source=0)
        return len(comm.world.boxes)

    run = run_ranks(4, program)

    assert run.error is None and run.world.boxes == {}


def test_two_thousand_rings_in_the_background_leave_no_tasks_behind():
    def program(comm):
        x, room, most = np.ones(2), np.zeros(2), 0
        for _ in range(500):
            begun = [comm.Iallreduce(x, room, algorithm="ring") for _ in range(4)]
            most = max(most, len(comm.world.baton.tasks), len(comm.world.open_calls))
            Request.Waitall(begun)
        return most

    run = run_ranks(2, program)

    assert run.error is None and max(run.results) <= 2 + 2 * 4
    assert len(run.world.baton.tasks) == len(run.world.open_calls) == 2
    forks = [number for what, number, _ in run.record.steps if what == "fork"]
    assert forks == list(range(2, 2 + 2 * 2000))  # numbers tell them apart all the same


def test_a_message_that_nobody_takes_keeps_its_box():
    run = run_ranks(2, lambda comm: comm.send("x", 1) if comm.rank == 0 else None)

    assert len(run.world.boxes) == 1 and "nobody received" in run.record.warnings[0]


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(worlds, "MOST_CALLS", 10)


def around(comm):
    for _ in range(20):
        comm.sendrecv(comm.rank, (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
        comm.compute(10)
    return comm.allreduce(comm.rank), comm.now


def test_a_record_ends_with_its_last_call_and_says_so(short):
    run = run_ranks(2, around)

    record = run.record
    assert run.error is None and [total for total, _ in run.results] == [1, 1]
    assert len(record.calls) == 10 and len(record.messages) <= 10 and len(record.work) <= 10
    assert all(message.call < 10 and message.taker < 10 for message in record.messages)
    assert any("10 calls" in warning for warning in record.warnings), record.warnings


def test_the_times_of_a_run_do_not_hang_on_where_its_record_ends(monkeypatch):
    whole = run_ranks(2, around)
    monkeypatch.setattr(worlds, "MOST_CALLS", 10)

    assert run_ranks(2, around).results == whole.results


def test_what_hangs_behind_the_end_of_the_record_is_explained(short):
    def program(comm):
        around(comm)
        comm.recv(source=1 - comm.rank, tag=7)

    text = str(run_ranks(2, program).error)

    assert "rank 0 waits in recv(source=1, tag=7)" in text and "a circle: 0 -> 1 -> 0" in text


def test_a_schedule_ends_with_its_last_turn_and_says_so(monkeypatch):
    whole = run_ranks(3, around, policy="random", seed=3)
    monkeypatch.setattr(batons, "MOST_TURNS", 10)

    run = run_ranks(3, around, policy="random", seed=3)

    assert run.record.schedule == whole.record.schedule[:10] and run.results == whole.results
    assert any("10 turns" in warning for warning in run.record.warnings), run.record.warnings
    assert not any("turns" in warning for warning in whole.record.warnings)


def test_who_repeats_a_schedule_that_has_ended_goes_on_in_turn(monkeypatch):
    monkeypatch.setattr(batons, "MOST_TURNS", 10)
    first = run_ranks(3, around, policy="random", seed=3)

    again = run_ranks(3, around, policy=first.record.schedule)

    assert again.error is None and again.record.schedule == first.record.schedule


def test_a_schedule_can_be_repeated_further_than_it_would_be_recorded(monkeypatch):
    schedule = run_ranks(3, around, policy="random", seed=3).record.schedule[:20]
    wanted = [call.number for call in run_ranks(3, around, policy=schedule).record.calls if call.rank == 1]
    monkeypatch.setattr(batons, "MOST_TURNS", 10)

    again = run_ranks(3, around, policy=schedule)

    assert again.error is None
    assert [call.number for call in again.record.calls if call.rank == 1] == wanted
