"""The door to `python -m jt_edu.launch -np 4 program.py`: a program on simulated ranks; see mpi/notebook/program.py."""

from __future__ import annotations

import sys

from jt_edu.mpi.notebook.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
