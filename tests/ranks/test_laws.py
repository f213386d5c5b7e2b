"""Every law of a communicator, on simulated ranks: any number of them, any schedule, with and without buffers."""

import pytest

from jt_edu.mpi.simulator.threads import SoloComm, run_ranks, simulate
from tests.ranks.faulty import all_end_but, threads_of_ranks
from tests.ranks.laws import LAWS

NAMES = [law.__name__.removeprefix("law_") for law in LAWS]
SCHEDULES = [("round_robin", 0), ("clock", 0), ("random", 1), ("random", 2)]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = threads_of_ranks()
    yield
    all_end_but(before)


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_the_law_holds_for_any_number_of_ranks_and_any_schedule(law):
    for size in (1, 2, 3, 4):
        for policy, seed in SCHEDULES:
            simulate(size, policy=policy, seed=seed)(law)


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_the_law_leaves_nothing_behind(law):
    run = run_ranks(3, law)

    assert run.record.warnings == []


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_the_law_does_not_rely_on_buffers(law):
    for size in (2, 3):
        simulate(size, synchronous=True)(law)


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_the_law_holds_for_a_program_that_runs_alone(law):
    law(SoloComm())


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_the_law_holds_in_a_group(law):
    """Ranks 3, 1 of a world of 4, in this order, and ranks 0, 2 beside them."""
    simulate(4)(lambda comm: law(comm.Split(comm.rank % 2, -comm.rank)))
