"""The training script of tests/mpi/programs/ddp.py, under mpirun: the same as on one rank."""

import numpy as np

from tests.mpi.jobs import on_each_mpi, start, well


@on_each_mpi
def test_ranks_of_mpirun_train_as_one_that_has_the_whole_batch(mpi):
    alone = well(start("ddp.py", 1, mpi))[0]
    found = well(start("ddp.py", 2, mpi))

    for params, events in found:
        assert events[-8:] == ["sent"] * 4 + ["received"] * 4
        for a, b in zip(params, alone[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)
