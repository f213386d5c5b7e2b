"""The cost model: closed forms, a line through three measurements, and what both say about ten thousand ranks."""

import json

import numpy as np
import pytest

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.perf_model.engine import run
from jt_edu.mpi.perf_model.model import CLOSED, Hockney, best, choices, fit, known, measure, predict, scaling, timed
from jt_edu.mpi.perf_model.schedules import SCHEDULES, schedule
from jt_edu.mpi.simulator.threads import SoloComm, run_ranks, simulate
from jt_edu.mpi.trace.network import Network
from tests.ranks.calls import call

PAPER = Network(latency=2500, overhead=1500, gap=0, byte=6)
ANY_SIZE = {"ring", "pairwise", "hierarchical", "rank_order", "naive", "linear", "dissemination"}  # exact for all P
KEYS = list(CLOSED)


def by_the_engine(name, algorithm, ranks, size):
    return run(schedule(name, algorithm, ranks, size), ranks, PAPER).duration


def test_every_schedule_has_a_closed_form():
    assert set(CLOSED) == set(SCHEDULES)


@pytest.mark.parametrize(("name", "algorithm"), KEYS, ids=["-".join(key) for key in KEYS])
def test_the_closed_forms_are_exact_where_everything_divides(name, algorithm):
    for ranks in (1, 2, 4, 8, 64, 256):
        for pieces in (1, 40):
            size = 0 if name == "barrier" else ranks * pieces

            assert predict(name, algorithm, ranks, size, PAPER) == by_the_engine(name, algorithm, ranks, size)


@pytest.mark.parametrize(("name", "algorithm"), KEYS, ids=["-".join(key) for key in KEYS])
def test_the_closed_forms_are_exact_or_an_upper_bound_for_any_number_of_ranks(name, algorithm):
    for ranks in (3, 5, 6, 7, 9, 12, 100):
        size = 0 if name == "barrier" else ranks * 40
        told, found = predict(name, algorithm, ranks, size, PAPER), by_the_engine(name, algorithm, ranks, size)

        if algorithm in ANY_SIZE or name == "allgather":
            assert told == found
        else:
            assert found <= told < 2 * found


def test_alpha_and_beta_give_the_formulas_of_the_books():
    line = Hockney(alpha=1000, beta=2)

    assert predict("allreduce", "ring", 8, 8000, line) == 2 * 7 * 1000 + 2 * 7 / 8 * 8000 * 2
    assert predict("allreduce", "doubling", 8, 8000, line) == 3 * (1000 + 8000 * 2)
    assert predict("bcast", "tree", 8, 8000, line) == 3 * (1000 + 8000 * 2)
    assert predict("allreduce", "rabenseifner", 8, 8000, line) == 2 * 3 * 1000 + 2 * 7 / 8 * 8000 * 2


def test_native_costs_what_simulated_ranks_count():
    def program(comm):
        call(comm, "allreduce", "native", 250, dtype="float32")
        return comm.now

    assert predict("allreduce", "native", 4, 1000, PAPER) == simulate(4, network=PAPER)(program)[0]
    assert predict("allreduce", "native", 4, 1000, Hockney(5494, 6)) == predict("allreduce", "native", 4, 1000, PAPER)


@pytest.mark.parametrize(("name", "wanted"), [
    ("barrier", 2 * 1000), ("bcast", 2 * 1000 + 80), ("reduce", 2 * 1000 + 80), ("gather", 2 * 1000 + 80),
    ("scatter", 2 * 1000 + 80), ("scan", 2 * 1000 + 80), ("exscan", 2 * 1000 + 80),
    ("allreduce", 4 * 1000 + 2 * 3 * 80 / 4), ("reduce_scatter", 4 * 1000 + 2 * 3 * 80 / 4),
    ("allgather", 2 * 1000 + 3 * 80), ("alltoall", 2 * 1000 + 3 * 80),
])  # fmt: skip
def test_a_native_collective_of_80_bytes_on_4_ranks_costs_what_its_formula_says_by_hand(name, wanted):
    assert predict(name, "native", 4, 80, Network(latency=1000, overhead=0, byte=1)) == wanted
    assert predict(name, "native", 1, 80, Network(latency=1000, overhead=0, byte=1)) == 0


@pytest.mark.parametrize(("program", "wanted"), [
    (lambda comm: comm.Barrier(), 2 * 1000),
    (lambda comm: comm.Bcast(np.zeros(80, np.uint8)), 2 * 1000 + 80),
    (lambda comm: comm.Allreduce(np.zeros(80, np.uint8), np.zeros(80, np.uint8)), 4 * 1000 + 2 * 3 * 80 / 4),
    (lambda comm: comm.Allgather(np.zeros(80, np.uint8), np.zeros(320, np.uint8)), 2 * 1000 + 3 * 80),
])  # fmt: skip
def test_four_simulated_ranks_take_as_long_as_a_formula_says_by_hand(program, wanted):
    def timed_program(comm):
        program(comm)
        return comm.now

    assert simulate(4, network=Network(latency=1000, overhead=0, byte=1))(timed_program) == [wanted] * 4


def test_few_bytes_want_few_rounds_and_many_bytes_small_chunks():
    line = Hockney(alpha=5000, beta=0.2)

    assert best("allreduce", 64, 8, line) == "doubling"
    assert best("allreduce", 64, 25_000_000, line) == "rabenseifner"
    assert best("bcast", 2, 8, line) == "naive"
    assert best("bcast", 64, 8, line) == "tree"
    assert known("alltoall") == ["pairwise"]


def test_the_choices_are_plain_data_and_a_table():
    told = choices("bcast", [2, 64], [8, 1_000_000], Hockney(alpha=5000, beta=0.2))

    assert told.best == {(2, 8): "naive", (2, 1_000_000): "naive", (64, 8): "tree", (64, 1_000_000): "tree"}
    assert json.loads(json.dumps(told.as_dict()))["rows"][2] == {"ranks": 64, "bytes": 8, "algorithm": "tree"}
    assert [line.split()[-1] for line in repr(told).splitlines()[2:]] == ["naive", "tree"]


# measured


def test_three_exact_times_give_alpha_and_beta_back():
    line = fit([1000, 100_000, 4_000_000], [5000 + 0.2 * m for m in (1000, 100_000, 4_000_000)])

    assert line == Hockney(5000, 0.2)


def test_a_line_never_has_a_time_below_nothing():
    assert fit([1000, 2000], [1000, 3000]).alpha == 0
    assert fit([1000, 2000], [3000, 1000]).beta == 0


def test_a_long_message_does_not_decide_alone():
    """Each error counts as a part of its time, so the short message is met as well as the long one."""
    line = fit([8, 1000, 4_000_000], [5000, 5500, 900_000])

    assert line.trip(8) == pytest.approx(5000, rel=0.06)
    assert line.trip(4_000_000) == pytest.approx(900_000, rel=0.06)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_ping_pong_of_simulated_ranks_finds_the_network(ranks):
    lines = simulate(ranks, network=PAPER)(measure)

    assert lines == [Hockney(alpha=2500 + 2 * 1500 - 6, beta=6)] * ranks


def test_the_sizes_and_repeats_of_a_ping_pong_are_those_asked_for():
    told = run_ranks(2, lambda comm: measure(comm, sizes=(10, 20), repeats=4))

    sent = [m.bytes for m in told.record.messages]
    assert sent == [10] * 2 * 4 + [20] * 2 * 4


def test_a_prediction_meets_what_simulated_ranks_measure():
    measured = {}
    for ranks in (2, 4):
        for algorithm in ("ring", "doubling", "hierarchical"):

            def program(comm):
                return timed(comm, lambda: call(comm, "allreduce", algorithm, 1000, dtype="float32"), repeats=2)  # noqa: B023

            measured[algorithm, ranks] = simulate(ranks, network=PAPER)(program)[0]

    told = scaling("allreduce", ["ring", "doubling", "hierarchical"], 4000, Hockney(5494, 6), [2, 4, 4096], measured)

    assert set(told.errors) == set(measured)
    assert all(abs(error) < 1e-9 for error in told.errors.values())


def test_a_scaling_is_plain_data_and_a_table():
    told = scaling("allreduce", ["ring"], 8000, Hockney(5000, 0.2), [2, 10_000], {("ring", 2): 10_000.0})

    assert json.loads(json.dumps(told.as_dict()))["rows"][1] == {
        "algorithm": "ring", "ranks": 10_000, "predicted": 2 * 9999 * (5000 + 0.2 * 0.8), "measured": None,
    }  # fmt: skip
    assert repr(told).splitlines()[2].split() == ["2", "11.6", "(10.0,", "+16%)"]
    assert "10000" in repr(told)


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (lambda: predict("allreduce", "snake", 4, 8, PAPER), "found 'snake'"),
        (lambda: predict("allreduce", "ring", 0, 8, PAPER), "found ranks=0"),
        (lambda: predict("allreduce", "ring", 4, -1, PAPER), "found nbytes=-1"),
        (lambda: best("allremove", 4, 8, PAPER), "found 'allremove'"),
        (lambda: fit([8], [1]), "found sizes \\[8\\]"),
        (lambda: fit([8, 8], [1, 2]), "found sizes \\[8, 8\\]"),
        (lambda: fit([8, 16], [0, 2]), "times \\[0, 2\\]"),
        (lambda: measure(SoloComm()), "communicator of 1"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, found):
    with pytest.raises(ArgumentError, match=found):
        wrong()
