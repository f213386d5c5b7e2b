"""Collectives of real ranks give what NumPy says, by MPI's own way and by each algorithm over send and receive."""

import numpy as np
import pytest

from jt_edu.mpi.simulator.threads import simulate
from tests.mpi.jobs import MPIS, on_each_mpi, start, well


@pytest.mark.parametrize(("mpi", "ranks"), [c for c in [("mpich", 2), ("mpich", 3), ("openmpi", 2)] if c[0] in MPIS])
def test_each_algorithm_on_each_dtype_gives_what_numpy_says(mpi, ranks):
    for tried, wrong in well(start("collectives.py", ranks, mpi, debug=False, timeout=120)):
        assert wrong == []
        assert tried > 400


REDUCTIONS = """
told = {}
for op in ("SUM", "PROD", "MAX", "MIN", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"):
    for dtype in ("float64", "float32", "float16", "int64", "int8", "uint16", "bool", "complex64"):
        x, room = ((np.arange(5) * (rank + 2) + rank) % 4).astype(dtype), np.zeros(5, dtype)
        try:
            comm.Allreduce(x, room, op)
            told[op, dtype] = room.tolist()
        except TypeError as error:
            told[op, dtype] = type(error).__name__
report(told)
"""


def test_each_reduction_on_each_dtype_gives_what_simulated_ranks_get():
    def program(comm):
        names = {"comm": comm, "rank": comm.rank, "np": np, "report": lambda told: found.append(told)}
        found = []
        exec(REDUCTIONS, names)  # noqa: S102 - the same text as for real ranks
        return found[0]

    wanted = simulate(2)(program)

    assert [told[0] for told in well(start(REDUCTIONS, debug=False))] == wanted
    assert sum(value == "DtypeError" for value in wanted[0].values()) < 20


@on_each_mpi
def test_the_largest_of_numbers_is_no_number_if_one_of_them_is_none(mpi):
    text = "x, room = np.eye(size)[rank], np.zeros(size)\nx[x == 1] = np.nan\n"
    text += "for op in ('MAX', 'MIN'):\n    comm.Allreduce(x, room, op); report(np.isnan(room).all())"

    assert well(start(text, mpi=mpi)) == [[True, True]] * 2


@on_each_mpi
def test_an_exception_in_ones_own_reduction_is_raised_where_it_is_called(mpi):
    text = "from jt_edu.mpi.base.constants import Op\nx, room = np.ones(2), np.zeros(2)\n"
    text += "comm.Allreduce(x, room, Op.Create(lambda a, b: 1 / 0))"

    job = start(text, mpi=mpi)

    assert "ZeroDivisionError" in str(job.error)
    assert "cell.py" in job.warnings[job.failed_rank]


def test_numbers_are_kept_until_a_collective_in_the_background_has_read_them():
    """mpi4py does not keep them, and Open MPI reads them as late as in the wait."""
    text = """
rooms = [np.zeros(1) for _ in range(4)]
requests = [comm.Ireduce_scatter_block(np.arange(2.0) + k, room) for k, room in enumerate(rooms)]
junk = [np.full(2, 7.0) for _ in range(100)]
for request in requests[::-1]:
    request.wait()
report([float(room[0]) for room in rooms])
"""
    for mpi in MPIS:
        assert well(start(text, mpi=mpi)) == [[[0.0, 2.0, 4.0, 6.0]], [[2.0, 4.0, 6.0, 8.0]]]


def test_a_long_object_goes_on_while_its_receiver_does_something_else():
    """A long object has two messages; whoever began to receive it may be inside of any other call."""
    text = """
other, long = 1 - rank, "x" * 500_000
first = comm.irecv(source=other)
comm.send(long, other)
comm.barrier()
second = comm.irecv(source=other)
if rank == 0:
    comm.send(long, other)
    comm.send("short", other, 9)
else:
    comm.recv(source=0, tag=9)
    comm.send(long, other)
comm.Allreduce(np.ones(3), np.zeros(3))
report(len(first.wait()), len(second.wait()))
"""
    for mpi in MPIS:
        assert well(start(text, mpi=mpi, timeout=20)) == [[500_000, 500_000]] * 2
