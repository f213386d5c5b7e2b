"""The training script of tests/ranks/script.py, not a line of which knows about ranks, under mpirun."""

import numpy as np
import pytest

import jt_edu as jt
from tests.mpi.jobs import on_each_mpi, start, well
from tests.ranks.script import train

PROGRAM = """\
import jt_edu as jt
from tests.ranks.script import train
jt.report(train("adam"))
"""


@pytest.fixture(scope="module")
def alone():
    return train("adam")  # 90 examples in batches of 32: 32, 32, 26


@on_each_mpi
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_losses_and_parameters_are_those_of_one_process(alone, mpi, ranks):
    for ((losses, state),) in well(start(PROGRAM, ranks, mpi)):
        np.testing.assert_allclose(losses, alone[0], rtol=1e-10)
        for name, array in state.items():
            np.testing.assert_allclose(array, alone[1][name], rtol=1e-10, atol=1e-10, err_msg=name)


def test_simulated_and_real_ranks_agree_to_the_last_digits():
    ((real, _),), *_ = well(start(PROGRAM, 2))

    simulated, _ = jt.simulate(2)(lambda: train("adam"))[0]

    np.testing.assert_allclose(real, simulated, rtol=1e-12)
