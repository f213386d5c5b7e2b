"""The training script of tests/ranks/script.py, not a line of which knows about ranks, under mpirun."""

from functools import cache

import numpy as np
import pytest

import jt_edu as jt
from tests.mpi.jobs import MPIS, start, well
from tests.ranks.script import train

PROGRAM = """\
import jt_edu as jt
from tests.ranks.script import train
jt.report(train("adam"))
"""
JOBS = [("mpich", 1), ("mpich", 2), ("mpich", 3), ("mpich", 4), ("openmpi", 2), ("openmpi", 3)]


@pytest.fixture(scope="module")
def alone():
    return train("adam")  # 90 examples in batches of 32: 32, 32, 26


@cache
def trained(mpi, ranks):
    """What each rank reports: its losses, and the parameters."""
    return [told for (told,) in well(start(PROGRAM, ranks, mpi))]


@pytest.mark.parametrize(("mpi", "ranks"), [job for job in JOBS if job[0] in MPIS])
def test_losses_and_parameters_are_those_of_one_process(alone, mpi, ranks):
    for losses, state in trained(mpi, ranks):
        np.testing.assert_allclose(losses, alone[0], rtol=1e-10)
        for name, array in state.items():
            np.testing.assert_allclose(array, alone[1][name], rtol=1e-10, atol=1e-10, err_msg=name)


def test_simulated_and_real_ranks_agree_to_the_last_digits():
    real, _ = trained("mpich", 2)[0]

    simulated, _ = jt.simulate(2)(lambda: train("adam"))[0]

    np.testing.assert_allclose(real, simulated, rtol=1e-12)
