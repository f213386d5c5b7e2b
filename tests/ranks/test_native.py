"""Native: large buffers are filled slice by slice, with the same numbers and without a copy of everything."""

import tracemalloc

import numpy as np
import pytest

from jt_edu.mpi.algorithms import combine
from jt_edu.mpi.base.constants import IN_PLACE, OPS, Op
from jt_edu.mpi.simulator.threads import simulate

LARGE = 150_001  # float32, more than two slices, and not a whole number of them


def drawn(rank, count=LARGE, dtype=np.float32):
    return np.random.default_rng(rank).normal(size=count).astype(dtype)


def folded(ranks, op="SUM"):
    return combine.fold([drawn(r) for r in range(ranks)], OPS[op])


@pytest.fixture
def straight(monkeypatch):
    """What the fast way answered, call by call."""
    said, way = [], combine.straight

    def told(*args):
        said.append(way(*args))
        return said[-1]

    monkeypatch.setattr(combine, "straight", told)
    return said


@pytest.mark.parametrize("op", ["SUM", "PROD", "MAX"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_large_allreduce_has_the_bits_of_a_fold_in_the_order_of_ranks(ranks, op, straight):
    def program(comm):
        out = np.empty(LARGE, np.float32)
        comm.Allreduce(drawn(comm.rank), out, op=op)
        return out

    for found in simulate(ranks)(program):
        np.testing.assert_array_equal(found, folded(ranks, op))
    assert straight == [True]


def test_a_large_allreduce_in_place_reads_before_it_writes(straight):
    def program(comm):
        x = drawn(comm.rank)
        comm.Allreduce(IN_PLACE, x)
        return x

    for found in simulate(3)(program):
        np.testing.assert_array_equal(found, folded(3))
    assert straight == [True]


def test_large_reduce_and_bcast_reach_the_ranks_that_they_should(straight):
    def program(comm):
        out, x = np.zeros(LARGE, np.float32), drawn(comm.rank)
        comm.Reduce(x, out if comm.rank == 1 else None, root=1)
        comm.Bcast(x, root=2)
        return out, x

    for rank, (out, x) in enumerate(simulate(3)(program)):
        np.testing.assert_array_equal(out, folded(3) if rank == 1 else np.zeros(LARGE, np.float32))
        np.testing.assert_array_equal(x, drawn(2))
    assert straight == [True, True]


def test_a_longer_buffer_keeps_what_lies_behind_the_result(straight):
    def program(comm):
        out = np.full(LARGE + 5, 7, np.float32)
        comm.Allreduce(drawn(comm.rank), [out, LARGE])
        return out

    for found in simulate(2)(program):
        np.testing.assert_array_equal(found[:LARGE], folded(2))
        assert found[LARGE:].tolist() == [7] * 5
    assert straight == [True]


def test_one_s_own_reduction_sees_whole_arrays(straight):
    sizes = []

    def add(a, b):
        sizes.append(a.size)
        return a + b

    def program(comm):
        out = np.empty(LARGE, np.float32)
        comm.Allreduce(drawn(comm.rank), out, op=Op.Create(add, commute=True))
        return out

    for found in simulate(2)(program):
        np.testing.assert_array_equal(found, folded(2))
    assert straight == [False]
    assert set(sizes) == {LARGE}


def test_buffers_that_lie_across_each_other_are_filled_all_the_same(straight):
    shared = np.zeros(LARGE + 10, np.float32)

    def program(comm):
        part = shared[:LARGE] if comm.rank == 0 else drawn(1)
        part[:] = drawn(comm.rank)
        comm.Barrier()
        comm.Allreduce(part, shared[10:] if comm.rank == 0 else np.empty(LARGE, np.float32))

    simulate(2)(program)

    np.testing.assert_array_equal(shared[10:], folded(2))
    assert False in straight
    assert True not in straight


def test_small_buffers_go_by_the_rules(straight):
    def program(comm):
        out = np.empty(3)
        comm.Allreduce(np.arange(3.0), out)
        return out.tolist()

    assert simulate(2)(program) == [[0, 2, 4]] * 2
    assert straight == [False]


def test_a_large_allreduce_makes_no_copy_of_everything():
    count = 4_000_000
    parts, rooms = [drawn(r, count) for r in range(3)], [np.empty(count, np.float32) for _ in range(3)]

    def program(comm):
        comm.Allreduce(parts[comm.rank], rooms[comm.rank])

    simulate(3)(program)
    tracemalloc.start()
    simulate(3)(program)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < parts[0].nbytes / 2
