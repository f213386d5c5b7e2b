"""Says who it is."""

import sys

from jt_edu.mpi.mpi4py_backend.communicator import world

print("HELLO" if sys.argv[1:] == ["--loud"] else "hello", world().rank)
