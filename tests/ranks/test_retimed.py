"""Replay: the steps of a record give its times again, and on another network those that a run there has."""

from itertools import pairwise

import numpy as np
import pytest

from jt_edu.mpi.perf_model.replay import Replay
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import run_ranks
from jt_edu.mpi.trace.network import Network

HERE = Network(latency=2500, overhead=1500, gap=20, byte=6)
NETWORKS = [HERE, Network(latency=900, overhead=4100, gap=50, byte=1.3), Network(1, 0, 0, 0), Network(0, 0, 0, 0.5)]


def program(comm):
    """Everything that moves a clock."""
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.compute(1000 * comm.rank + 7)
    mine, total = np.full(300, comm.rank, np.float32), np.empty(300, np.float32)
    comm.Allreduce(mine, total)
    comm.Allreduce(mine, total, algorithm="ring")
    slow, quick = comm.Iallreduce(mine, total, algorithm="tree"), comm.Iallreduce(mine, total)
    comm.compute(5000)
    slow.wait()
    quick.wait()
    comm.Split(comm.rank % 2).allreduce(comm.rank)
    comm.sendrecv(comm.rank, after, source=before)
    sent, here, later = comm.issend(mine, after), comm.irecv(source=before, tag=0), comm.isend(total, after, tag=5)
    comm.recv(source=before, tag=5)
    for request in (here, sent, later):
        request.wait()
    if comm.rank == 0:
        comm.ssend("taken late", 1)
    if comm.rank == 1:
        comm.compute(99_999)
        comm.recv(source=0)
    comm.barrier()


def times(run):
    """Every time of a record or of a replay."""
    calls = [(call.enter, call.ready, call.leave) for call in run.calls]
    messages = [(m.sent, m.arrived, m.taken, m.done) for m in run.messages]
    return calls, messages, [(work.begin, work.end) for work in run.work]


HOW = [
    {},
    {"policy": "random", "seed": 3},
    {"synchronous": True},
    {"faults": Faults(slow={2: 3.0}, delay={(0, 1): 12_345})},
]


@pytest.mark.parametrize("how", HOW, ids=["plain", "random", "synchronous", "faults"])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_same_steps_on_another_network_take_what_a_run_there_takes(how, network):
    record = run_ranks(4, program, network=HERE, **how).record
    there = run_ranks(4, program, network=network, **how).record
    assert not record.failure

    again = Replay(record, network)

    assert times(again) == times(there)
    assert again.duration == there.duration


def test_a_replay_leaves_the_record_as_it_is():
    record = run_ranks(4, program, network=HERE).record
    before = record.as_dict()

    Replay(record, NETWORKS[1])

    assert record.as_dict() == before


def test_what_tasks_do_leaves_no_gap():
    replay = Replay(run_ranks(4, program, network=HERE).record)

    for rank in range(4):
        spans = [span for span in replay.spans if span.task == rank]
        assert spans[0].begin == 0
        assert all(a.end == b.begin for a, b in pairwise(spans))
        assert spans[-1].end == max(call.leave for call in replay.calls if call.rank == rank)


def test_a_rank_that_nobody_sent_to_yet_waits_and_then_the_message_is_under_way():
    def late(comm):
        if comm.rank == 0:
            comm.compute(10_000)
            comm.Send(np.zeros(100, np.uint8), 1)
        else:
            comm.Recv(np.empty(100, np.uint8), 0)

    spans = [span for span in Replay(run_ranks(2, late, network=HERE).record).spans if span.rank == 1]

    assert [(span.kind, span.begin, span.end) for span in spans] == [
        ("wait", 0, 10_000), ("transfer", 10_000, 10_000 + HERE.trip(100)),
    ]  # fmt: skip


def test_parts_of_a_call_in_the_background_belong_to_it():
    record = run_ranks(4, program, network=HERE).record

    background = [call for call in record.calls if call.name == "Allreduce" and call.algorithm == "tree"]

    assert len(background) == 4
    for call in background:
        parts = [other for other in record.calls if other.parent == call.number]
        assert parts
        assert {part.line for part in parts} == {call.line}
        assert {part.rank for part in parts} == {call.rank}


def test_each_meeting_of_a_world_has_its_own_number():
    record = run_ranks(4, program, network=HERE).record

    numbers = [call.meeting for call in record.calls if call.sequence >= 0]

    split = [call for call in record.calls if call.name == "allreduce"]
    assert len({call.meeting for call in split}) == 2
    assert sorted(set(numbers)) == list(range(len(set(numbers))))
