"""Mpi4py backend: the same communicator over mpi4py, which mpirun started; and what watches over it."""
