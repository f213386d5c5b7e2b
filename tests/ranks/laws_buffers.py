"""Laws of buffers: what may be one, how it is told, and layouts, whose elements lie scattered; see laws.py."""

import array
import ctypes
import json
import mmap
import pickle
from types import SimpleNamespace

import numpy as np

import jt_edu as jt
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.mpi import MPI
from jt_edu.mpi.base.constants import BOTTOM, IN_PLACE, NO_OP, OP_NULL, PROC_NULL, REPLACE, SUM, Status
from jt_edu.mpi.communicator.request import Request
from tests.ranks.laws_misuse import refused
from tests.ranks.laws_together import around


class Lent:
    """An object of another library, which tells NumPy, or DLPack, or CUDA, where its numbers lie."""

    def __init__(self, numbers, by):
        self.numbers = numbers
        if by == "dlpack":
            self.__class__ = LentByDLPack
        else:
            setattr(self, by, numbers.__array_interface__)


class LentByDLPack(Lent):
    def __dlpack__(self, **asked):
        return self.numbers.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.numbers.__dlpack_device__()


KINDS = {
    "array": lambda x: array.array("d", x.tolist()),
    "bytearray": lambda x: bytearray(x.tobytes()),
    "memoryview": lambda x: memoryview(bytearray(x.tobytes())).cast("d"),
    "ctypes": lambda x: (ctypes.c_double * x.size)(*x),
    "interface": lambda x: Lent(x, "__array_interface__"),
    "dlpack": lambda x: Lent(x, "dlpack"),
    "cuda": lambda x: Lent(x, "__cuda_array_interface__"),  # of memory that this processor reaches
}


def numbers_in(buf):
    return np.frombuffer(buf.numbers if isinstance(buf, Lent) else buf, "d")


def law_whatever_has_memory_is_a_buffer(comm):
    to, by = around(comm)
    for make in KINDS.values():
        mine, room, everyone = make(np.arange(4.0) + comm.rank), make(np.zeros(4)), make(np.zeros(4 * comm.size))
        comm.Sendrecv([mine, "d"], to, 0, [room, "d"], by, 0)
        assert numbers_in(room).tolist() == [by, by + 1, by + 2, by + 3]
        comm.Allgather([mine, MPI.DOUBLE], [everyone, MPI.DOUBLE])
        assert numbers_in(everyone).tolist() == [k + r for r in range(comm.size) for k in range(4)]
        comm.Allreduce([mine, "d"], [room, "d"], SUM)
        assert numbers_in(room)[0] == sum(range(comm.size))


def law_bytes_are_sent_as_they_are(comm):
    to, by = around(comm)
    room = bytearray(3)
    for sent in (
        np.array([b"a", b"b", b"c"]),
        b"abc",
        bytearray(b"abc"),
        memoryview(b"xabc")[1:],
        [b"abcd", 3],
        [b"abc", MPI.CHAR],
    ):
        room[:] = bytes(3)
        comm.Sendrecv(sent, to, 0, room, by, 0)
        assert room == b"abc"
    for sent in (np.array([b"a"]), [b"a", "c"], [b"a", MPI.CHAR]):
        everyone = bytearray(comm.size)
        comm.Allgather(sent, everyone)
        assert everyone == b"a" * comm.size


def law_what_is_read_only_is_not_received_into(comm):
    for fixed in (b"abc", memoryview(b"abc"), np.broadcast_to(0.0, (3,)), [b"abc", 2]):
        refused(ArgumentError, "can be written|row-major", lambda fixed=fixed: comm.Recv(fixed, comm.rank))
    refused(ArgumentError, "found a Var", lambda: comm.Recv(jt.zeros(3), comm.rank))
    refused(ArgumentError, "takes an array; found str", lambda: comm.Send("abc", comm.rank))
    refused(ArgumentError, "takes an array; found type", lambda: comm.Send(object, comm.rank))


def law_memory_that_is_not_there_is_refused(comm):
    told = {"data": (1 << 20, False), "typestr": "<f8", "shape": (4,), "version": 3}
    away = SimpleNamespace(__cuda_array_interface__=told)
    for lies in (told, {**told, "shape": (2**40,), "data": (np.zeros(1).ctypes.data, False)}):
        false = type("False_", (), {"__array_interface__": {**lies, "version": 3}})()
        refused(ArgumentError, "none of this process", lambda false=false: comm.Send(false, comm.rank))
    kind, gaps = MPI.Datatype.Create_struct([1], [1 << 20], [MPI.INT]), MPI.BYTE.Create_vector(2, 1, 2)
    refused(ArgumentError, "address 0x100000, which is none", lambda: comm.Send(away, comm.rank))
    refused(ArgumentError, "address 0x100000, which is none", lambda: comm.Send([BOTTOM, 1, kind], comm.rank))
    for count in (10**15, 1 << 70):
        refused(ArgumentError, "inside its buffer|address", lambda n=count: comm.Send([BOTTOM, n, kind], comm.rank))
        refused(ArgumentError, "inside its buffer", lambda n=count: comm.Send([bytes(64), n, gaps], comm.rank))
    refused(ArgumentError, "address 8", lambda: comm.Send([BOTTOM, (1, 1), MPI.DOUBLE], comm.rank))


def law_memory_is_looked_at_without_writing_to_it(comm):
    """A page that nobody can write: it is sent, and refused by a receive that only knows its address."""
    to, by = around(comm)
    page, room = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE, access=mmap.ACCESS_READ), "f8", 2), np.ones(2)
    kind = MPI.Datatype.Create_struct([2], [MPI.Get_address(page)], [MPI.DOUBLE])
    for sent in ([BOTTOM, 1, kind], Lent(page, "__cuda_array_interface__")):
        room[:] = 1
        comm.Sendrecv(sent, to, 0, room, by, 0)
        assert room.tolist() == [0, 0]
    refused(ArgumentError, "which is none of this process", lambda: comm.Recv([BOTTOM, 1, kind], comm.rank))


def law_a_tuple_is_counts_and_displacements_however_many_ranks_there_are(comm):
    size, to, by = comm.size, *around(comm)
    x, room = np.arange(10.0) + comm.rank, np.full(10, -1.0)
    for sent, taken in (((3, 4), (3, 2)), ([3, 4], [3, 2]), ((3, 4), (None, 2))):
        room[:] = -1
        comm.Sendrecv([x, sent, MPI.DOUBLE], to, 0, [room, taken, "d"], by, 0)
        assert room.tolist() == [-1, -1, 4 + by, 5 + by, 6 + by, -1, -1, -1, -1, -1]
    wide = np.full(4 * size, -1.0)
    comm.Allgatherv(np.full(1, float(comm.rank)), [wide, (1, 4), MPI.DOUBLE])
    assert wide.reshape(size, 4).tolist() == [[rank, -1, -1, -1] for rank in range(size)]
    comm.Allgatherv(np.full(2, float(comm.rank)), [wide, ([2] * size, list(range(2, 4 * size, 4)))])
    assert wide.reshape(size, 4).tolist() == [[rank, -1, rank, rank] for rank in range(size)]
    comm.Alltoallv([np.arange(3.0 * size), (1, 3)], [wide, 1])
    assert wide[:size].tolist() == [3 * comm.rank] * size
    part = np.zeros(1)
    comm.Reduce_scatter(np.arange(float(size)), part, (1,) * size)
    assert part[0] == size * comm.rank
    refused(ArgumentError, "counts, displacements", lambda: comm.Allgatherv(x[:1], [wide, (1, 1, 1)]))


def law_a_byte_may_be_told_as_any_type_and_any_type_as_bytes(comm):
    to, by = around(comm)
    x, memory = np.arange(3.0) + comm.rank, MPI.Alloc_mem(24)
    comm.Sendrecv([x, MPI.DOUBLE], to, 0, [memory, 3, MPI.DOUBLE], by, 0)
    assert np.frombuffer(memory).tolist() == [by, by + 1, by + 2]
    comm.Sendrecv([x, MPI.BYTE], to, 0, [memory, MPI.BYTE], by, 0)
    assert np.frombuffer(memory).tolist() == [by, by + 1, by + 2]
    MPI.Free_mem(memory)
    refused(DtypeError, "name the type of its elements, float64", lambda: comm.Send([x, MPI.INT], comm.rank))
    refused(DtypeError, "DATATYPE_NULL", lambda: comm.Send([x, 1, MPI.DATATYPE_NULL], comm.rank))


def law_nothing_is_a_buffer_with_a_type(comm):
    to, by = around(comm)
    for nothing in ([None, 0, MPI.BYTE], [None, MPI.BYTE], [None, (0, None), "B"], [BOTTOM, 0, "B"]):
        comm.Sendrecv(nothing, to, 0, nothing, by, 0)
    comm.Allgather([None, MPI.INT], [None, MPI.INT])
    comm.Allreduce([None, MPI.INT], [None, MPI.INT])
    refused(ArgumentError, "takes an array; found NoneType", lambda: comm.Send(None, comm.rank))
    refused(ArgumentError, "count 1", lambda: comm.Send([None, 1, "i"], comm.rank))


def law_nobody_looks_at_a_buffer_for_nobody(comm):
    comm.Send([None, 0, MPI.BYTE], PROC_NULL)
    comm.Send(None, PROC_NULL)
    comm.Recv(None, PROC_NULL)
    comm.Sendrecv(None, PROC_NULL, 0, None, PROC_NULL, 0)
    comm.Sendrecv_replace(None, PROC_NULL, 0, PROC_NULL, 0)
    for begin in (comm.Isend, comm.Issend, comm.Ibsend, comm.Irsend, comm.Irecv):
        begin(None, PROC_NULL).Wait()
    comm.Isendrecv(None, PROC_NULL, 0, None, PROC_NULL, 0).Wait()
    for begin in (comm.Send_init, comm.Ssend_init, comm.Bsend_init, comm.Rsend_init, comm.Recv_init):
        request = begin(None, PROC_NULL)
        request.Start()
        request.Wait()
        request.Free()


def law_none_in_place_of_a_buffer_is_in_place(comm):
    size, rank = comm.size, comm.rank
    for here in (None, IN_PLACE):
        room = np.full(size, -1.0)
        room[rank] = rank
        comm.Allgather(here, room)
        assert room.tolist() == list(range(size))
        total = np.full(2, float(rank))
        comm.Allreduce(here, total)
        assert total[0] == sum(range(size))


def law_a_pickled_object_may_come_as_bytes(comm):
    to, by = around(comm)
    for sent, taken in (({"a": [1]}, {"a": [1]}), ("", "")):
        request = comm.Isend([MPI.pickle.dumps(sent), "B"], to)
        assert comm.recv(source=by) == taken
        request.Wait()
    request = comm.Isend(b"\x80\x05 no object", to)
    refused(DtypeError, "bytes that are no object", lambda: comm.recv(source=by))
    request.Wait()
    request, later = comm.Isend([None, 0, "B"], to), comm.irecv(source=by)
    assert later.wait() is None
    request.Wait()
    assert MPI.pickle.loads(pickle.dumps(3)) == 3


def law_objects_travel_as_the_pickler_of_their_rank_writes_them(comm):
    to, by = around(comm)
    written = []

    def as_json(obj):
        written.append(obj)
        return json.dumps(obj).encode()

    zeros = [bytes, len]  # 17 of them begin as nothing that Python has pickled
    for given, thing in (([as_json, json.loads], "x"), (zeros, 17), ([pickle.dumps, pickle.loads, 0], [1]), ([], {2})):
        MPI.pickle.__init__(*given)
        try:
            assert comm.sendrecv(thing, to, source=by) == thing == comm.bcast(thing)
            assert comm.allgather(thing) == [thing] * comm.size
            request = comm.isend(thing, to)
            assert comm.mprobe(by).recv() == thing
            request.wait()
        finally:
            MPI.pickle.__init__()
    assert "x" in written and MPI.pickle.PROTOCOL == 5


# layouts


def law_a_layout_travels_as_the_row_of_its_elements(comm):
    to, by = around(comm)
    kind = MPI.DOUBLE
    grid = np.arange(12.0).reshape(3, 4) + 100 * comm.rank
    column = kind.Create_vector(3, 1, 4).Commit()
    every_other = kind.Create_indexed_block(1, [0, 2, 4]).Commit()
    block = kind.Create_subarray([3, 4], [2, 2], [1, 1]).Commit()
    for layout, want in (
        (column, [0, 4, 8]), (every_other, [0, 2, 4]), (block, [5, 6, 9, 10]),
        (kind.Create_hvector(2, 2, 40), [0, 1, 5, 6]), (kind.Create_indexed([2, 1], [0, 7]), [0, 1, 7]),
        (kind.Create_hindexed([1, 2], [8, 24]), [1, 3, 4]), (kind.Create_contiguous(3), [0, 1, 2]),
        (MPI.Datatype.Create_struct([1, 2], [16, 48], [kind, kind]), [2, 6, 7]), (kind.Dup(), [0]),
    ):  # fmt: skip
        row, back, status = np.full(6, -1.0), np.full((3, 4), -1.0), Status()
        comm.Sendrecv([grid, 1, layout], to, 0, row, by, 0, status)
        assert row[: len(want)].tolist() == [100 * by + k for k in want] and row[len(want)] == -1
        assert status.Get_count(layout) == 1 and status.Get_elements(layout) == len(want)
        comm.Sendrecv(row[: len(want)].copy(), to, 1, [back, 1, layout], by, 1)
        there = {k: 100 * ((by - 1) % comm.size) + k for k in want}
        assert back.ravel().tolist() == [there.get(k, -1) for k in range(12)]
        layout.Free()


def law_several_of_a_layout_lie_an_extent_apart(comm):
    to, by = around(comm)
    grid, turned = np.arange(6.0).reshape(2, 3), np.zeros((3, 2))
    column = MPI.DOUBLE.Create_vector(2, 1, 3).Create_resized(0, 8).Commit()
    comm.Sendrecv([grid, 3, column], to, 0, turned, by, 0)

    assert (turned == grid.T).all()
    assert (column.size, column.extent, column.Get_extent()) == (16, 8, (0, 8))
    comm.Sendrecv([grid, (1, 2), column], to, 0, turned, by, 0)
    assert turned.ravel()[:2].tolist() == [2, 5]
    refused(ArgumentError, "elements inside its buffer", lambda: comm.Send([grid, 4, column], comm.rank))


def law_a_struct_of_different_types_travels_as_bytes(comm):
    to, by = around(comm)
    kind = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()
    mine = np.zeros(2, [("n", "i4"), ("gap", "i4"), ("x", "f8")])
    room = mine.copy()
    mine["n"], mine["gap"], mine["x"] = comm.rank, 7, [0.5, 1.5]
    comm.Sendrecv([mine.view("u1"), 2, kind], to, 0, [room.view("u1"), 2, kind], by, 0)

    assert room["n"].tolist() == [by, by] and room["x"].tolist() == [0.5, 1.5] and room["gap"].tolist() == [0, 0]
    assert kind.Get_size() == 12 and kind.extent == 16


def law_layouts_in_collectives_and_at_once(comm):
    size, rank = comm.size, comm.rank
    even = MPI.INT.Create_indexed_block(1, [0, 2]).Commit()
    for begin in (comm.Bcast, lambda *given: comm.Ibcast(*given).Wait()):
        x = np.arange(4, dtype="i4") + 10 * rank
        begin([x, 1, even], size - 1)
        assert x[::2].tolist() == [10 * (size - 1), 10 * (size - 1) + 2] and x[1] == 10 * rank + 1
    wide = np.full(4 * size, -1, "i4")
    step = even.Create_resized(0, 16)
    comm.Gather([np.array([rank, 5], "i4"), MPI.INT], [wide, 1, step], 0)
    assert wide.tolist() == ([v for r in range(size) for v in (r, -1, 5, -1)] if rank == 0 else [-1] * 4 * size)


def law_bottom_counts_from_the_beginning_of_memory(comm):
    to, by = around(comm)
    x, room = np.arange(3.0) + comm.rank, np.zeros(3)
    sent, taken = (MPI.Datatype.Create_struct([3], [MPI.Get_address(a)], [MPI.DOUBLE]) for a in (x, room))
    comm.Sendrecv([BOTTOM, 1, sent], to, 0, [BOTTOM, 1, taken], by, 0)

    assert room.tolist() == [by, by + 1, by + 2]
    assert MPI.Aint_diff(MPI.Aint_add(MPI.Get_address(x), 8), MPI.Get_address(x[1:])) == 0


def law_every_part_of_alltoallw_has_a_type_of_its_own(comm):
    size, rank = comm.size, comm.rank
    kinds = [MPI.INT if k % 2 else MPI.DOUBLE for k in range(size)]
    for begin in (comm.Alltoallw, lambda *given: comm.Ialltoallw(*given).Wait(), _again(comm.Alltoallw_init)):
        sent, room = np.zeros(size), np.zeros(size)
        for k, kind in enumerate(kinds):
            sent[k : k + 1].view(kind.dtype)[0] = 10 * rank + k
        places = [8 * k for k in range(size)]
        begin([sent, ([1] * size, places), kinds], [room, [1] * size, places, [kinds[rank]] * size])
        assert room.view(kinds[rank].dtype)[:: 8 // kinds[rank].size].tolist() == [10 * r + rank for r in range(size)]
    everyone = np.arange(float(size)) + 10 * rank
    comm.Alltoallw(IN_PLACE, [everyone, ([1] * size, places), [MPI.DOUBLE] * size])
    assert everyone.tolist() == [rank + 10 * r for r in range(size)]
    refused(ArgumentError, "one of each for each of", lambda: comm.Alltoallw([sent, [MPI.INT] * (size + 1)], [room]))


def _again(init):
    def run(*given):
        request = init(*given)
        for _ in range(2):
            request.Start()
            request.Wait()
        request.Free()

    return run


def law_parts_of_any_length_again_and_again(comm):
    size, rank = comm.size, comm.rank
    counts = [r + 1 for r in range(size)]
    mine, all_of_it, room = np.full(rank + 1, float(rank)), np.zeros(sum(counts)), np.zeros(rank + 1)
    want = [float(r) for r in range(size) for _ in range(r + 1)]
    _again(comm.Allgatherv_init)(mine, [all_of_it, counts])
    assert all_of_it.tolist() == want
    _again(comm.Scatterv_init)([all_of_it, counts], room, 0)
    assert room.tolist() == mine.tolist()
    at_root = np.zeros(sum(counts))
    _again(comm.Gatherv_init)(mine, [at_root, counts] if rank == 0 else None, 0)
    assert at_root.tolist() == (want if rank == 0 else [0.0] * sum(counts))
    out, back = np.arange(float(size)), np.zeros(size)
    _again(comm.Alltoallv_init)([out, 1], [back, 1])
    assert back.tolist() == [rank] * size


# reductions


def law_replace_takes_the_last_and_no_op_the_first(comm):
    last, first = np.zeros(2), np.zeros(2)
    comm.Allreduce(np.full(2, comm.rank + 1.0), last, REPLACE)
    comm.Allreduce(np.full(2, comm.rank + 1.0), first, NO_OP)

    assert last[0] == comm.size == comm.allreduce(comm.rank + 1, REPLACE)
    assert first[0] == 1 == comm.allreduce(comm.rank + 1, NO_OP)
    assert comm.scan(comm.rank, REPLACE) == comm.rank and comm.scan(comm.rank, NO_OP) == 0
    refused(ArgumentError, "reduces with one of", lambda: comm.allreduce(1, OP_NULL))


def law_two_buffers_of_a_rank_are_put_together(comm):
    room, bits = array.array("i", [1, 2, 3]), np.array([1, 2], "u1")
    SUM.Reduce_local(array.array("i", [10, 20, 30]), room)
    MPI.BOR.Reduce_local([b"\x04\x04", MPI.BYTE], bits)

    assert room.tolist() == [11, 22, 33] and bits.tolist() == [5, 6]
    refused(ShapeError, "gives 2 numbers", lambda: SUM.Reduce_local(np.ones(2), np.ones(3)))
    refused(DtypeError, "BAND", lambda: MPI.BAND.Reduce_local(np.ones(2), np.ones(2)))


def law_requests_of_layouts_may_be_waited_for_together(comm):
    to, by = around(comm)
    column, rooms = MPI.DOUBLE.Create_vector(2, 1, 2), [np.zeros((2, 2)) for _ in range(3)]
    requests = [comm.Irecv([room, 1, column], by, k) for k, room in enumerate(rooms)]
    sent = [comm.Isend(np.array([k, comm.rank], float), to, k) for k in range(3)]
    Request.Waitall([*requests, *sent])

    assert [room.ravel().tolist() for room in rooms] == [[k, 0, by, 0] for k in range(3)]


LAWS = [law for name, law in list(globals().items()) if name.startswith("law_")]
