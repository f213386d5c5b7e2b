"""The names of mpi4py on real ranks: datatypes, layouts and classes of errors are as mpi4py itself has them."""

from tests.mpi.jobs import on_each_mpi, start, well

DATATYPES = """
from mpi4py import MPI as theirs
from jt_edu.mpi import MPI as ours
from jt_edu.mpi.base.datatypes import TYPES
same = [name for name in TYPES if getattr(theirs, name) != theirs.DATATYPE_NULL]
report([name for name in same if getattr(theirs, name).Get_size() != TYPES[name].Get_size()], len(same))
"""


@on_each_mpi
def test_every_datatype_is_as_long_as_that_of_mpi4py(mpi):
    for wrong, compared in well(start(DATATYPES, 1, mpi)):
        assert wrong == [] and compared > 50


LAYOUTS = """
from mpi4py import MPI as theirs
from jt_edu.mpi import MPI as ours

def made(mpi):
    # a row's bytes are a multiple of 8: Open MPI makes other layouts of doubles longer, MPICH and jt_edu do not
    d, struct = mpi.DOUBLE, mpi.Datatype.Create_struct
    return [
        d.Create_contiguous(3), d.Create_contiguous(0), d.Create_vector(2, 3, 4), d.Create_vector(0, 1, 1),
        d.Create_hvector(2, 3, 104), d.Create_indexed([1, 2], [3, 0]), d.Create_indexed_block(2, [0, 5]),
        d.Create_hindexed([1, 2], [8, 40]), d.Create_hindexed_block(2, [4, 60]), d.Create_resized(-3, 50),
        d.Create_subarray([4, 5], [2, 3], [1, 1]), d.Create_subarray([4, 5], [2, 3], [1, 1], mpi.ORDER_F), d.Dup(),
        struct([1, 2], [0, 8], [mpi.INT, d]), struct([1, 1], [0, 8], [d, mpi.INT]), struct([1], [8], [mpi.INT]),
        struct([1, 1], [0, 4], [mpi.INT, mpi.CHAR]), d.Create_vector(2, 1, 3).Create_contiguous(2),
        struct([2, 1], [0, 100], [d.Create_vector(2, 1, 3), mpi.SHORT]),
    ]

told = [[(t.Get_size(), t.Get_extent(), t.Get_true_extent()) for t in made(mpi)] for mpi in (ours, theirs)]
report([(k, a, b) for k, (a, b) in enumerate(zip(*told, strict=True)) if a != b])
x = np.arange(60.0)
wrong = []
for k, (a, b) in enumerate(zip(made(ours), made(theirs), strict=True)):
    if a.Get_size() and a.Get_extent()[0] >= 0:
        b.Commit()
        size = a.Get_size()
        mine, native = np.zeros(size, "u1"), np.zeros(size, "u1")
        request = comm.Isend([x.view("u1"), 1, a], comm.rank)
        comm.Recv(mine if a.code == "B" else mine.view(a.dtype), comm.rank)
        request.Wait()
        alone = theirs.COMM_SELF
        alone.Sendrecv([x, 1, b], 0, 0, [native, theirs.BYTE], 0, 0)
        if (mine != native).any():
            wrong.append(k)
report(wrong)
"""


@on_each_mpi
def test_layouts_lie_in_memory_and_travel_as_those_of_mpi4py(mpi):
    for told in well(start(LAYOUTS, 1, mpi)):
        assert told == [[], []]


ERRORS = """
from mpi4py import MPI as theirs
from jt_edu.mpi import MPI as ours
found = {}
wrong = {"ERR_ROOT": lambda: comm.bcast(1, root=size), "ERR_RANK": lambda: comm.Send(np.ones(1), size)}
for name, call in wrong.items():
    try:
        call()
    except ours.Exception as error:
        found[name] = error.Get_error_class() == getattr(ours, name)
report(found, ours.get_vendor() == theirs.get_vendor(), ours.COMM_WORLD is comm)
"""


@on_each_mpi
def test_errors_have_a_class_on_real_ranks_too(mpi):
    for told in well(start(ERRORS, 2, mpi)):
        assert told[:2] == [{"ERR_ROOT": True, "ERR_RANK": True}, True]
