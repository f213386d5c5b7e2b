"""The names of mpi4py: a script that was written for it runs on simulated ranks, and alone."""

import array
import gc
import pickle
import weakref

import numpy as np
import pytest

from jt_edu.base.errors import ArgumentError, DtypeError, RankError, UnknownNameError
from jt_edu.mpi import MPI
from jt_edu.mpi.base.errors import CLASSES
from jt_edu.mpi.mpi4py_backend.communicator import MPIComm
from jt_edu.mpi.simulator.threads import ThreadComm, simulate
from jt_edu.mpi.trace.network import Network

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


def test_programs_of_mpi4py_find_its_constants():
    names = """LONG_DOUBLE MESSAGE_NULL MESSAGE_NO_PROC BOTTOM NO_OP REPLACE OP_NULL DATATYPE_NULL ERR_ROOT SUCCESS
        BSEND_OVERHEAD UNSIGNED_INT C_LONG_DOUBLE_COMPLEX Get_address Alloc_mem Free_mem pickle Grequest Prequest
        get_vendor ORDER_C IDENT ERR_OTHER ERR_TRUNCATE""".split()

    assert all(hasattr(MPI, name) for name in names)
    nulls = (MPI.MESSAGE_NULL, MPI.OP_NULL, MPI.DATATYPE_NULL, MPI.REQUEST_NULL, MPI.COMM_NULL, MPI.GROUP_NULL)
    assert not any(nulls) and MPI.Op() == MPI.OP_NULL != MPI.SUM and MPI.SUCCESS == 0
    assert len({*(getattr(MPI, name) for name in CLASSES)}) == len(CLASSES)


def test_what_can_come_to_equal_something_else_has_no_hash_as_in_mpi4py():
    def program(comm):
        mine = comm.isend(1, 1 - comm.rank), comm.group
        comm.recv()
        found = (*mine, MPI.REQUEST_NULL, MPI.Op(), MPI.SUM, MPI.COMM_NULL, MPI.GROUP_NULL, MPI.MESSAGE_NULL)
        for thing in (*found, MPI.Request(), MPI.DATATYPE_NULL, MPI.GROUP_EMPTY):
            with pytest.raises(TypeError, match="unhashable"):
                hash(thing)
        mine[0].wait()

    simulate(2)(program)


def test_each_rank_has_a_pickler_of_its_own():
    def program(comm):
        if comm.rank == 0:
            MPI.pickle.PROTOCOL = 0
        comm.barrier()
        return MPI.pickle.PROTOCOL, len(MPI.pickle.dumps(7))

    assert simulate(2)(program) == [(0, 4), (5, 5)] and MPI.pickle.PROTOCOL == 5


def test_a_second_buffer_is_not_attached():
    def program(comm):
        first = bytearray(100)
        MPI.Attach_buffer(first)
        with pytest.raises(MPI.Exception, match="found a second one") as caught:
            MPI.Attach_buffer(bytearray(200))
        assert caught.value.Get_error_class() == MPI.ERR_BUFFER and MPI.Detach_buffer() is first
        MPI.Attach_buffer(first)
        return MPI.Detach_buffer() is first

    assert simulate(2)(program) == [True, True]


@pytest.mark.parametrize("thing", [MPI.SUM, MPI.OP_NULL, MPI.INT, MPI.BOTTOM, MPI.IN_PLACE, MPI.DATATYPE_NULL])
def test_constants_stay_themselves_when_they_are_pickled(thing):
    assert pickle.loads(pickle.dumps(thing)) is thing  # noqa: S301 - our own


def test_layouts_are_copied_as_they_are():
    column = MPI.INT.Create_vector(2, 1, 3).Create_resized(-4, 20)

    copy = pickle.loads(pickle.dumps(column))  # noqa: S301 - our own

    assert copy.places.tolist() == column.places.tolist() == [0, 12]
    assert copy.Get_extent() == (-4, 20) and copy.Get_true_extent() == (0, 16) and repr(copy) == repr(column)
    assert MPI.Datatype.fromcode("d") is MPI.DOUBLE and not column.is_predefined and MPI.INT.is_predefined


@pytest.mark.parametrize(("text", "call"), [
    ("whole number", lambda: MPI.INT.Create_contiguous(1.5)),
    ("whole number from 0", lambda: MPI.INT.Create_vector(-1, 1, 1)),
    ("2 lengths, 1 displacements", lambda: MPI.INT.Create_indexed([1, 1], [0])),
    ("list of whole numbers; found None", lambda: MPI.INT.Create_indexed_block(1, None)),
    ("whole number; found item='a'", lambda: MPI.Datatype.Create_struct([1], ["a"], [MPI.INT])),
    ("MPI's or NumPy's; found 'no'", lambda: MPI.Datatype.Create_struct([1], [0], ["no"])),
    ("a part of an array of", lambda: MPI.INT.Create_subarray([2], [1, 2], [0])),
    ("whole number", lambda: MPI.INT.Create_resized("a", 1)),
    ("a part of an array of", lambda: MPI.INT.Create_subarray([4], [3], [2])),
    ("MPI has a type for each type of number; found 'U3'", lambda: MPI.Datatype.fromcode("U3")),
    ("from 0; found size=-1", lambda: MPI.Alloc_mem(-1)),
])  # fmt: skip
def test_layouts_that_make_no_sense_are_refused(text, call):
    with pytest.raises((ArgumentError, DtypeError), match=text):
        call()


def test_a_request_that_nobody_completes_is_not_waited_for_for_ever():
    request = MPI.Grequest.Start()
    assert request.Test() is False

    with pytest.raises(RankError, match="one that no rank completes"):
        request.Wait()
    request.Complete()
    assert request.Wait() is True


def test_a_receive_that_is_given_a_buffer_for_an_object_is_told_that_it_has_no_use():
    def program(comm):
        request = comm.isend("x", comm.rank)
        with pytest.warns(UserWarning, match="buf has no use"):
            assert comm.recv(bytearray(8), comm.rank) == "x"
        request.wait()

    simulate(1)(program)


def test_numbers_of_pytorch_are_sent_from_where_they_lie_and_received_there():
    torch = pytest.importorskip("torch")

    def program(comm):
        mine, room = torch.full((2, 2), comm.rank + 1.0), torch.zeros(2, 2)
        comm.Sendrecv(mine, 1 - comm.rank, 0, room, 1 - comm.rank, 0)
        comm.Allreduce(MPI.IN_PLACE, mine)
        with pytest.raises(ArgumentError, match="found type 4 of 16 bits"):
            comm.Send(torch.zeros(2, dtype=torch.bfloat16), comm.rank)
        return room.tolist(), mine[0, 0].item()

    assert simulate(2)(program) == [([[2, 2], [2, 2]], 3), ([[1, 1], [1, 1]], 3)]


def test_both_ways_at_once_have_not_happened_before_the_message_is_taken():
    def program(comm):
        room, mine = np.zeros(1), np.ones(1)
        if comm.rank == 1:
            sent = comm.Isend(mine, 0)
            comm.barrier()
            comm.barrier()
            comm.Recv(room, 0)
            return sent.Wait()
        request = comm.Isendrecv(mine, 1, 0, room, 1, 0)
        comm.barrier()
        happened = request.Test()
        comm.barrier()
        return happened, request.Wait(), room[0]

    assert simulate(2, synchronous=True)(program) == [(False, True, 1), True]


def test_nothing_of_a_collective_is_left_for_the_garbage_collection():
    def program(comm):
        mine, room = Numbers("d", [comm.rank] * 4), Numbers("d", [0] * 4 * comm.size)
        comm.Allgather(mine, room)
        comm.Iallgather(mine, room).Wait()
        comm.Isendrecv_replace(mine, comm.rank, 0, comm.rank, 0).Wait()
        return weakref.ref(mine), weakref.ref(room)

    gc.disable()
    try:
        assert [ref() for refs in simulate(2)(program) for ref in refs] == [None] * 4
    finally:
        gc.enable()


class Numbers(array.array):
    """An array that can be looked for."""
