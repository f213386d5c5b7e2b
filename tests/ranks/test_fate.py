"""Faults that are given to a simulation: each run counts for itself, and what makes no sense is refused by name."""

import pytest

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi import Faults, run_ranks
from jt_edu.mpi.simulator.model_checker import explore


def three_barriers(comm):
    for _ in range(3):
        comm.barrier()


def two_messages(comm):
    if comm.rank == 0:
        comm.send("first", 1)
        return comm.send("second", 1)
    return comm.recv(source=0)


def test_the_same_faults_give_the_same_run_again():
    faults = Faults(drop={1: 3})
    first, second = (str(run_ranks(2, three_barriers, faults=faults).error) for _ in range(2))

    assert "at its call 3" in first and first == second


def test_the_same_faults_lose_the_same_message_again():
    faults = Faults(lose={(0, 1): 1})

    assert [run_ranks(2, two_messages, faults=faults).results[1] for _ in range(2)] == ["second", "second"]


def test_every_way_that_is_explored_meets_the_same_faults():
    def program(comm):
        if comm.rank:
            return comm.send(comm.rank, 0)
        return [comm.recv() for _ in range(2)]

    found = explore(4, faults=Faults(lose={(3, 0): 1}))(program)

    assert [end.results[0] for end in found.outcomes] == [[1, 2], [2, 1]]


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ({"drop": {7: 1}}, "from 0 to 1; found 7"),
        ({"slow": {"1": 2}}, "slow of Faults names a rank"),
        ({"slow": {True: 2}}, "found True"),
        ({"lose": {(0, 2): 1}}, r"two ranks from 0 to 1: \(source, destination\); found \(0, 2\)"),
        ({"delay": {1: 5}}, "delay of Faults names two ranks"),
    ],
)
def test_a_fault_of_a_rank_that_is_not_there_is_refused(wrong, found):
    with pytest.raises(ArgumentError, match=found):
        run_ranks(2, two_messages, faults=Faults(**wrong))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, "2", True])
def test_a_fault_without_a_sensible_number_is_refused(value):
    with pytest.raises(ArgumentError, match="slow takes numbers from 0"):
        Faults(slow={1: value})


def test_faults_are_told_as_dicts():
    with pytest.raises(ArgumentError, match="drop of Faults is a dict"):
        Faults(drop=3)
