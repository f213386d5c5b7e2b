"""The engine: schedules as data take as long as the same algorithms on simulated ranks, to the nanosecond."""

import time

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.algorithms import ALGORITHMS
from jt_edu.mpi.perf_model.engine import Compute, Round, events, run
from jt_edu.mpi.perf_model.schedules import SCHEDULES, schedule
from jt_edu.mpi.simulator.threads import run_ranks, simulate
from jt_edu.mpi.trace.network import Network
from tests.ranks.calls import CUT, ROOTED, call

PAPER = Network(latency=2500, overhead=1500, gap=0, byte=6)  # the check values of the reference simulator
NETWORKS = (PAPER, Network(latency=700, overhead=300, gap=4000, byte=0.37), Network(latency=0, overhead=5, byte=0))
POLICIES = ("round_robin", "random", "clock")


def as_rows(messages):
    return sorted((m.source, m.dest, m.bytes, m.sent, m.arrived, m.taken, m.done) for m in messages)


def test_every_algorithm_has_a_schedule():
    assert set(SCHEDULES) == set(ALGORITHMS)


@pytest.mark.parametrize("ranks", range(1, 10))
@pytest.mark.parametrize(("name", "algorithm"), ALGORITHMS, ids=["-".join(key) for key in ALGORITHMS])
def test_the_engine_takes_as_long_as_simulated_ranks_message_by_message(name, algorithm, ranks):
    for k, count in enumerate((0, 1, 5, 24)):
        network, policy = NETWORKS[(ranks + k) % 3], POLICIES[(ranks + k) % 3]
        root = (ranks - 1) * (k % 2) if name in ROOTED else 0
        size = 4 * count * (ranks if name in CUT else 1)

        def program(comm):
            call(comm, name, algorithm, count, root, "float32")  # noqa: B023
            return comm.now

        told = run_ranks(ranks, program, network=network, policy=policy, seed=k)
        timing = run(schedule(name, algorithm, ranks, size, item=4, root=root), ranks, network, keep=True)

        assert timing.ends.tolist() == told.results
        assert as_rows(timing.messages) == as_rows(told.record.messages)
        assert timing.sent.sum() == sum(m.bytes for m in told.record.messages)
        assert timing.count.sum() == len(told.record.messages)


@pytest.mark.parametrize(
    ("name", "algorithm", "ranks", "size", "took"),
    [
        ("barrier", "dissemination", 16, 0, 22_000),  # ceil(log2 P) (L + 2 o)
        ("barrier", "dissemination", 1000, 0, 55_000),
        ("barrier", "dissemination", 1024, 0, 55_000),
        ("barrier", "dissemination", 10_000, 0, 77_000),
        ("bcast", "tree", 8, 1000, 34_482),  # log2 P (L + 2 o + (m - 1) G)
        ("allreduce", "ring", 4, 4000, 68_964),  # 2 (P - 1) (L + 2 o + (n / P - 1) G)
        ("allreduce", "ring", 1024, 1024, 2 * 1023 * 5500),
    ],
)
def test_the_check_values_of_the_reference_simulator_come_out(name, algorithm, ranks, size, took):
    assert run(schedule(name, algorithm, ranks, size), ranks, PAPER).duration == took


@pytest.mark.parametrize("policy", POLICIES)
def test_simulated_ranks_give_the_check_values_too(policy):
    def took(ranks, program):
        return max(simulate(ranks, network=PAPER, policy=policy, seed=3)(program))

    def dissemination(comm):
        comm.Barrier(algorithm="dissemination")
        return comm.now

    def tree(comm):
        comm.Bcast(np.zeros(1000, np.uint8), algorithm="tree")
        return comm.now

    def ring(comm):
        comm.Allreduce(np.zeros(1000, np.float32), np.empty(1000, np.float32), algorithm="ring")
        return comm.now

    assert took(16, dissemination) == 22_000
    assert took(8, tree) == 34_482
    assert took(4, ring) == 68_964


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 9, 100])
def test_messages_that_come_together_go_through_the_door_one_after_the_other(network, ranks):
    timing = run(schedule("gather", "naive", ranks, 1000), ranks, network)

    assert timing.ends[0] == network.trip(1000) + (ranks - 2) * network.door(1000)


def test_a_receiver_is_free_for_other_things_while_bytes_come_in():
    """The reference simulator holds its processor too: there each further message takes o = 1500 ns longer."""
    assert run(schedule("gather", "naive", 4, 1000), 4, PAPER).ends[0] == 11_494 + 2 * 5994


def test_ranks_that_compute_are_late():
    late = [Compute(np.array([7000]), np.array([2])), *schedule("barrier", "dissemination", 4, 0)]
    all_late = [Compute(7000), *schedule("barrier", "dissemination", 4, 0)]

    def program(comm):
        comm.compute(7000 if comm.rank == 2 else 0)
        comm.Barrier(algorithm="dissemination")
        return comm.now

    assert run(late, 4, PAPER).ends.tolist() == simulate(4, network=PAPER)(program)
    assert run(all_late, 4, PAPER).duration == 7000 + 11_000


def test_the_events_of_one_rank_are_its_messages_in_its_order():
    for name, algorithm in (("allreduce", "ring"), ("allreduce", "rabenseifner"), ("bcast", "tree")):
        told = run_ranks(6, lambda comm: call(comm, name, algorithm, 30))  # noqa: B023
        sent, taken = (
            [(getattr(m, peer), m.bytes) for m in told.record.messages if getattr(m, mine) == 4]
            for mine, peer in (("source", "dest"), ("dest", "source"))
        )

        found = events(schedule(name, algorithm, 6, 240, item=8), rank=4)

        assert [e[1:] for e in found if e[0] == "send"] == sent
        assert sorted(e[1:] for e in found if e[0] == "take") == sorted(taken)


def test_the_events_of_one_rank_say_how_long_it_computes():
    steps = [Compute(5), Compute(np.array([1, 2, 3])), Compute(np.array([8, 9]), np.array([2, 0]))]

    assert events(steps, 0) == [("compute", -1, 5), ("compute", -1, 1), ("compute", -1, 9)]
    assert events(steps, 1) == [("compute", -1, 5), ("compute", -1, 2)]
    assert run(steps, 3).ends.tolist() == [15, 7, 16]


def test_a_round_is_no_barrier():
    rounds = [Round(np.array([1]), 8, np.array([0])), Round(np.array([3]), 8, np.array([2]))]

    assert run(rounds, 4, PAPER).ends.tolist() == [1500, 5542, 1500, 5542]


@pytest.mark.parametrize("algorithm", ["hierarchical", "rabenseifner"])
def test_ten_thousand_ranks_need_no_ranks(algorithm):
    timing = run(schedule("allreduce", algorithm, 10_000, 25_000_000, item=4), 10_000)
    ring = 2 * 9_999 * Network().trip(2500)

    assert timing.duration < ring / 4
    assert timing.sent.min() > 2 * 25_000_000 * 0.3


def test_a_timing_says_what_was_sent():
    assert repr(run(schedule("bcast", "tree", 8, 1000), 8, PAPER)) == (
        "8 ranks: 34.482 µs, 7 messages, 7000 bytes, at most 3000 from one rank"
    )


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (lambda: schedule("allreduce", "snake", 4, 8), "found 'snake'"),
        (lambda: schedule("allreduce", "ring", 0, 8), "found ranks=0"),
        (lambda: schedule("allreduce", "ring", 4, -8), "found nbytes=-8"),
        (lambda: schedule("allreduce", "ring", 4, 8, item=0), "found item=0"),
        (lambda: schedule("bcast", "tree", 4, 8, root=4), "found 4"),
        (lambda: run([], 0), "found ranks=0"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, found):
    with pytest.raises(ArgumentError, match=found):
        wrong()


def test_a_thousand_simulated_ranks_finish_a_barrier_in_few_turns():
    """`tests.bench ranks` says how long that takes."""
    begin = time.process_time()  # other programs on the machine do not count, but that they take turns does

    told = run_ranks(1000, lambda comm: comm.Barrier(algorithm="dissemination"), network=PAPER)

    assert told.error is None and told.record.duration == 55_000
    assert len(told.record.schedule) <= len(told.record.messages) == 10 * 1000  # no wait for what is there already
    assert time.process_time() - begin < 20


@pytest.mark.parametrize("ready", [True, False], ids=["computed", "pending"])
def test_a_var_from_outside_is_computed_with_by_every_rank(ready):
    x = jt.array([1.0, 2.0]) + 1
    if ready:
        x.sync()

    assert [a.tolist() for a in jt.simulate(3)(lambda: (x * 2).numpy())] == [[4.0, 6.0]] * 3
