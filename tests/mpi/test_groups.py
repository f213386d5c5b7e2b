"""Groups of real ranks: MPI has not many communicators, so what is freed is given back."""

from tests.mpi.jobs import on_each_mpi, start, well

FREED = """
for number in range(1200):  # each has two of MPI's 2,048
    group = comm.Dup()
    if number % 400 == 0:
        assert group.allgather(rank) == list(range(size))
    group.Free()
    group.Free()
report(comm.allreduce(1))
"""


@on_each_mpi
def test_groups_that_are_freed_leave_room_for_others(mpi):
    assert well(start(FREED, mpi=mpi, debug=False)) == [[2], [2]]
