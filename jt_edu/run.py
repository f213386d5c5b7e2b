"""The door to `python -m jt_edu.run`: a program as one of the ranks that mpirun started; see mpi/mpirun_jobs/run.py."""

from __future__ import annotations

import sys

from jt_edu.mpi.mpirun_jobs.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
