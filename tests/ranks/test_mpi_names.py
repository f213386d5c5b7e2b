"""The names of mpi4py: a script that was written for it runs on simulated ranks, and alone."""

import numpy as np
import pytest

from jt_edu.errors import UnknownNameError
from jt_edu.mpi import MPI
from jt_edu.mpi.real.communicator import MPIComm
from jt_edu.mpi.record.network import Network
from jt_edu.mpi.simulated.threads import ThreadComm, simulate

SCRIPT = """
from jt_edu.mpi import MPI
import numpy as np

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
assert isinstance(comm, MPI.Comm) and isinstance(comm, MPI.Intracomm)

data = np.arange(4, dtype="d") * (rank + 1)
total = np.empty(4, dtype="d")
comm.Allreduce([data, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)

status = MPI.Status()
right, left = (rank + 1) % size, (rank - 1) % size
request = comm.Isend([data, 4, MPI.DOUBLE], dest=right, tag=11)
comm.Probe(source=MPI.ANY_SOURCE, tag=11, status=status)
room = np.empty(status.Get_count(MPI.DOUBLE), dtype="d")
comm.Recv([room, MPI.DOUBLE], source=status.Get_source(), tag=MPI.ANY_TAG)
MPI.Request.Waitall([request])
alone = MPI.COMM_SELF.allreduce(rank)
result = (total.tolist(), room.tolist(), alone)
"""


def run_script(comm=None):
    names = {}
    exec(SCRIPT, names)  # noqa: S102 - our own text
    return names["result"]


def test_a_script_for_mpi4py_runs_on_simulated_ranks():
    for rank, (total, room, alone) in enumerate(simulate(3)(run_script)):
        assert total == [0, 6, 12, 18]
        assert room == [k * ((rank - 1) % 3 + 1) for k in range(4)]
        assert alone == rank


def test_the_same_script_runs_alone():
    assert run_script() == ([0, 1, 2, 3], [0, 1, 2, 3], 0)
    assert MPI.COMM_WORLD is MPI.COMM_WORLD


def test_the_time_of_a_simulated_rank_is_virtual():
    def program(comm):
        began = MPI.Wtime()
        comm.compute(2_000_000_000)
        return MPI.Wtime() - began

    assert simulate(2, network=Network(0, 0, 0, 0))(program) == [2.0, 2.0]


@pytest.mark.parametrize(
    ("name", "dtype"), [("DOUBLE", "f8"), ("INT", "i4"), ("BYTE", "u1"), ("C_BOOL", "?"), ("INT64_T", "i8")]
)
def test_datatypes_are_those_of_numpy(name, dtype):
    datatype = getattr(MPI, name)

    assert np.dtype(datatype.tocode()) == dtype and datatype.Get_size() == datatype.extent == np.dtype(dtype).itemsize
    assert datatype.Commit() is datatype and datatype.Get_name() == f"MPI_{name}" and repr(datatype) == f"MPI.{name}"


def test_names_that_are_not_there_are_refused_by_name():
    with pytest.raises(UnknownNameError, match=r"MPI.Win is asked for"):
        _ = MPI.Win
    with pytest.raises(UnknownNameError, match="COMM_WORLD"):
        _ = MPI.COMM_WORD
    with pytest.raises(UnknownNameError, match="stands for none"):
        MPI.COMM_NULL.barrier()


def test_a_method_of_mpi4py_that_communicators_do_not_have_is_refused_by_name():
    def program(comm):
        with pytest.raises(UnknownNameError, match=r"comm.Create_cart is asked for; found no such method here"):
            comm.Create_cart([2])
        with pytest.raises(UnknownNameError, match=r"Try: .*Allreduce"):
            comm.AllReduce(1)
        return hasattr(comm, "Create_cart"), hasattr(comm, "__array__")

    assert simulate(2)(program) == [(False, False)] * 2
    assert MPIComm.__getattr__ is ThreadComm.__getattr__


def test_all_names_are_there():
    assert all(hasattr(MPI, name) for name in MPI.__all__)
    assert MPI.__all__ == sorted(MPI.__all__)
