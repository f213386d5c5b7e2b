"""The laws of a communicator, which hold for simulated ranks, hold for real ones too, on every MPI."""

from functools import cache

import pytest

from tests.mpi.jobs import MPIS, start, well
from tests.ranks.laws import LAWS

CASES = [  # ranks, in which communicator, with debug mode or without
    ("mpich", 1, "world", False),
    ("mpich", 2, "world", False),
    ("mpich", 2, "world", True),
    ("mpich", 4, "group", False),
    ("openmpi", 2, "world", False),
    ("openmpi", 3, "world", True),
]
NAMES = [law.__name__.removeprefix("law_") for law in LAWS]


@cache
def broken(mpi, ranks, place, debug):
    """The laws that do not hold, by rank: {name: traceback}."""
    return [told[0] for told in well(start("laws.py", ranks, mpi, arguments=[place], debug=debug, timeout=120))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("mpi", "ranks", "place", "debug"), [case for case in CASES if case[0] in MPIS])
def test_the_law_holds(mpi, ranks, place, debug, name):
    for rank, told in enumerate(broken(mpi, ranks, place, debug)):
        assert name not in told, f"on rank {rank}:\n{told[name]}"
