"""Wrong arguments of a simulation are refused by name, before a rank begins."""

import pytest

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi import run_ranks

WRONG = [
    ({"policy": None}, "policy"),
    ({"policy": ["a"]}, "policy"),
    ({"policy": [0, -1]}, "policy"),
    ({"policy": "roundrobin"}, "policy"),
    ({"seed": "1"}, "seed"),
    ({"seed": None}, "seed"),
    ({"network": 3}, "network"),
    ({"faults": {"drop": {1: 1}}}, "faults"),
    ({"synchronous": "no"}, "synchronous"),
    ({"timeout": "1"}, "timeout"),
    ({"timeout": float("nan")}, "timeout"),
    ({"computing": []}, "computing"),
    ({"polcy": "random"}, "polcy.*policy"),
    ({"while_waiting": 3}, "while_waiting"),
    ({"contexts": [None]}, "contexts"),
]


@pytest.mark.parametrize(("wrong", "named"), WRONG, ids=[str(w) for w, _ in WRONG])
def test_a_wrong_argument_is_refused_by_name(wrong, named):
    with pytest.raises(ArgumentError, match=named):
        run_ranks(2, lambda comm: comm.barrier(), **wrong)


def test_what_is_no_program_is_refused():
    with pytest.raises(ArgumentError, match="program"):
        run_ranks(2, "print(1)")
