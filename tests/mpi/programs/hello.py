"""Says who it is."""

import sys

from jt_edu.mpi.real.communicator import world

print("HELLO" if sys.argv[1:] == ["--loud"] else "hello", world().rank)
