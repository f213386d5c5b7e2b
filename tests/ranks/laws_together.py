"""Laws of collectives and groups; see laws.py."""

import numpy as np

from jt_edu.mpi.base.constants import (
    BAND,
    BOR,
    BXOR,
    IN_PLACE,
    LAND,
    LOR,
    LXOR,
    MAX,
    MAXLOC,
    MIN,
    MINLOC,
    PROD,
    SUM,
    Op,
)  # fmt: skip
from jt_edu.mpi.communicator.request import Request

PAIR = np.dtype([("value", "f8"), ("place", "i4")])
WORDS = Op.Create(lambda a, b: f"({a} {b})")  # neither commutes nor associates: only one order of ranks gives this
DIGITS = Op.Create(lambda a, b: a * 10 + b)  # does not commute


def around(comm):
    """(the next rank, the one before), in a ring."""
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def counts_of(comm):
    """1, 2, 3, ... numbers from or for rank 0, 1, 2, ..."""
    return [rank + 1 for rank in range(comm.size)]


def ramp(comm):
    """rank r repeated r + 1 times, for all ranks."""
    return np.concatenate([np.full(rank + 1, float(rank)) for rank in range(comm.size)])


# objects


def law_bcast_gives_what_root_has(comm):
    for root in range(comm.size):
        mine = {"from": comm.rank} if comm.rank == root else None
        assert comm.bcast(mine, root) == {"from": root}


def law_gather_and_scatter_of_objects(comm):
    for root in range(comm.size):
        found = comm.gather((comm.rank, "x"), root)
        assert found == ([(k, "x") for k in range(comm.size)] if comm.rank == root else None)
        parts = [f"for {k}" for k in range(comm.size)] if comm.rank == root else None
        assert comm.scatter(parts, root) == f"for {comm.rank}"


def law_allgather_and_alltoall_of_objects(comm):
    assert comm.allgather([comm.rank]) == [[k] for k in range(comm.size)]
    sent = [(comm.rank, k) for k in range(comm.size)]
    assert comm.alltoall(sent) == [(k, comm.rank) for k in range(comm.size)]


def law_reductions_of_objects(comm):
    ranks = list(range(comm.size))
    assert comm.allreduce(comm.rank) == sum(ranks)
    assert comm.allreduce([comm.rank]) == ranks
    assert comm.allreduce(comm.rank, MAX) == comm.allreduce(comm.rank, max) == comm.size - 1
    assert comm.allreduce(float(comm.rank), MIN) == 0
    assert comm.reduce(2, PROD, root=comm.size - 1) == (2**comm.size if comm.rank == comm.size - 1 else None)
    assert comm.allreduce(comm.rank > 0, LAND) is False and comm.allreduce(comm.rank == 0, LOR) is True
    assert comm.allreduce(True, LXOR) is (comm.size % 2 == 1)
    assert comm.allreduce(1 << comm.rank, BOR) == comm.allreduce(1 << comm.rank, BXOR) == 2**comm.size - 1
    assert comm.allreduce(3, BAND) == 3


def law_the_place_of_the_largest(comm):
    assert comm.allreduce((comm.rank % 2, comm.rank), MAXLOC) == (min(comm.size - 1, 1), min(comm.size - 1, 1))
    assert comm.allreduce((comm.rank % 2, comm.rank), MINLOC) == (0, 0)
    mine, room = np.array([(comm.rank % 2, comm.rank), (5, comm.rank)], PAIR), np.zeros(2, PAIR)
    comm.Allreduce(mine, room, MAXLOC)
    assert room.tolist() == [(min(comm.size - 1, 1), min(comm.size - 1, 1)), (5, 0)]


def law_scan_and_exscan_of_objects(comm):
    assert comm.scan([comm.rank]) == list(range(comm.rank + 1))
    assert comm.exscan([comm.rank]) == (list(range(comm.rank)) if comm.rank else None)


def law_an_op_of_ones_own_keeps_the_order_of_ranks(comm):
    word = "0"
    for rank in range(1, comm.size):
        word = f"({word} {rank})"
    assert not WORDS.Is_commutative()
    assert comm.allreduce(str(comm.rank), WORDS) == word
    assert comm.reduce(str(comm.rank), lambda a, b: a + b) == (
        "".join(map(str, range(comm.size))) if comm.rank == 0 else None
    )
    digits, room = np.array([comm.rank + 1.0]), np.zeros(1)
    comm.Allreduce(digits, room, DIGITS)
    assert room[0] == int("".join(str(k + 1) for k in range(comm.size)))
    comm.Scan(digits, room, DIGITS)
    assert room[0] == int("".join(str(k + 1) for k in range(comm.rank + 1)))


def law_an_op_may_write_into_its_second_buffer(comm):
    def larger(a, b, datatype):
        x, y = np.frombuffer(a, "d"), np.frombuffer(b, "d")
        y[:] = np.where(x > y, x, y)

    room = np.zeros(2)
    comm.Allreduce(np.array([comm.rank, -comm.rank], "d"), room, Op.Create(larger, commute=True))

    assert room.tolist() == [comm.size - 1, 0]


def law_objects_of_collectives_are_copies(comm):
    mine = [[comm.rank]]
    everything = [comm.bcast(mine), *comm.allgather(mine), comm.allreduce(mine), comm.alltoall([mine] * comm.size)[0]]
    everything.append(comm.scatter([mine] * comm.size))
    for thing in everything:
        thing.append("changed")
        thing[0].append("changed inside")

    assert mine == [[comm.rank]]
    assert len({id(thing[0]) for thing in everything}) == len(everything)


def law_barrier(comm):
    for _ in range(3):
        assert comm.barrier() is None
        assert comm.Barrier() is None
    comm.ibarrier().wait()
    assert comm.Ibarrier().Wait() is True


# buffers


def law_bcast_of_buffers(comm):
    for root in range(comm.size):
        x = np.full((2, 2), comm.rank, "f4")
        assert comm.Bcast(x, root) is None
        assert (x == root).all()


def law_gather_and_scatter_of_buffers(comm):
    root = comm.size - 1
    rows = np.full((comm.size, 3), -1.0) if comm.rank == root else None
    comm.Gather(np.full(3, comm.rank, float), rows, root)
    if comm.rank == root:
        np.testing.assert_array_equal(rows, np.repeat(np.arange(comm.size), 3).reshape(comm.size, 3))
    room = np.zeros(3)
    comm.Scatter(rows, room, root)
    assert (room == comm.rank).all()


def law_parts_of_any_length(comm):
    counts, mine = counts_of(comm), np.full(comm.rank + 1, float(comm.rank))
    whole = np.full(sum(counts), -1.0) if comm.rank == 0 else None
    comm.Gatherv(mine, [whole, counts] if comm.rank == 0 else None)
    if comm.rank == 0:
        np.testing.assert_array_equal(whole, ramp(comm))
    room = np.zeros(comm.rank + 1)
    comm.Scatterv([whole, counts] if comm.rank == 0 else None, room)
    assert (room == comm.rank).all()
    everything = np.zeros(sum(counts))
    comm.Allgatherv(mine, [everything, counts, "d"])
    np.testing.assert_array_equal(everything, ramp(comm))


def law_parts_at_any_place(comm):
    """Displacements may leave gaps, and may turn the order round."""
    starts = [2 * (comm.size - 1 - rank) for rank in range(comm.size)]
    room = np.full(2 * comm.size, -1.0)
    comm.Allgatherv(np.array([float(comm.rank)]), [room, ([1] * comm.size, starts), "d"])

    expected = np.full(2 * comm.size, -1.0)
    expected[starts] = range(comm.size)
    np.testing.assert_array_equal(room, expected)


def law_without_counts_the_first_ranks_get_what_is_left_over(comm):
    size = 3 * comm.size - 1
    share = len(range(comm.rank, size, comm.size))
    room = np.full(size, -1.0)
    comm.Allgatherv(np.full(share, float(comm.rank)), room)

    np.testing.assert_array_equal(
        room, np.repeat(range(comm.size), [len(range(k, size, comm.size)) for k in range(comm.size)])
    )


def law_allgather_and_alltoall_of_buffers(comm):
    room = np.zeros((comm.size, 2))
    comm.Allgather(np.full(2, float(comm.rank)), room)
    np.testing.assert_array_equal(room, np.repeat(range(comm.size), 2).reshape(comm.size, 2))
    sent = 10.0 * comm.rank + np.repeat(range(comm.size), 2)
    comm.Alltoall(sent, room)
    np.testing.assert_array_equal(room[:, 0], 10 * np.arange(comm.size) + comm.rank)


def law_alltoall_of_any_lengths(comm):
    """Rank r has r + 1 numbers for each; so it gets k + 1 from rank k."""
    sent, room = np.full((comm.rank + 1) * comm.size, float(comm.rank)), np.zeros(sum(counts_of(comm)))
    comm.Alltoallv([sent, [comm.rank + 1] * comm.size], [room, counts_of(comm)])

    np.testing.assert_array_equal(room, ramp(comm))


def law_reductions_of_buffers(comm):
    x, room, ranks = np.array([1, comm.rank, -comm.rank], "i8"), np.zeros(3, "i8"), np.arange(comm.size)
    for op, expected in (
        (SUM, [comm.size, ranks.sum(), -ranks.sum()]), (MAX, [1, comm.size - 1, 0]), (MIN, [1, 0, 1 - comm.size]),
        (PROD, [1, ranks.prod(), (-ranks).prod()]), (LAND, [1, 0, 0]), (LOR, [1, comm.size > 1, comm.size > 1]),
        (BAND, [1, np.bitwise_and.reduce(ranks), np.bitwise_and.reduce(-ranks)]),
        (BOR, [1, np.bitwise_or.reduce(ranks), np.bitwise_or.reduce(-ranks)]),
        (BXOR, [comm.size % 2, np.bitwise_xor.reduce(ranks), np.bitwise_xor.reduce(-ranks)]),
        (LXOR, [comm.size % 2, (comm.size - 1) % 2, (comm.size - 1) % 2]),
    ):  # fmt: skip
        comm.Allreduce(x, room, op)
        np.testing.assert_array_equal(room, expected, err_msg=str(op))
    root = comm.size // 2
    into = np.zeros(3, "i8") if comm.rank == root else None
    comm.Reduce(x, into, MAX, root)
    assert into is None or into.tolist() == [1, comm.size - 1, 0]


def law_reductions_of_every_kind_of_number(comm):
    for letter in ("b", "B", "h", "i", "q", "f", "d", "F", "D", "e"):
        room = np.zeros(2, letter)
        comm.Allreduce(np.array([1, comm.rank]).astype(letter), room)
        np.testing.assert_array_equal(room, np.array([comm.size, sum(range(comm.size))]).astype(letter))


def law_scan_and_exscan_of_buffers(comm):
    x, room = np.array([1.0, comm.rank]), np.full(2, -1.0)
    comm.Scan(x, room)
    assert room.tolist() == [comm.rank + 1, sum(range(comm.rank + 1))]
    room[:] = -1
    comm.Exscan(x, room)
    assert room.tolist() == ([comm.rank, sum(range(comm.rank))] if comm.rank else [-1, -1])


def law_reduce_scatter(comm):
    room, x = np.zeros(2), np.arange(2.0 * comm.size)
    comm.Reduce_scatter_block(x, room)
    assert room.tolist() == [comm.size * 2 * comm.rank, comm.size * (2 * comm.rank + 1)]
    counts = counts_of(comm)
    x, room, begin = np.arange(float(sum(counts))), np.zeros(comm.rank + 1), sum(range(comm.rank + 1))
    for given in (counts, None):
        room[:] = 0
        comm.Reduce_scatter(x, room, given)
        np.testing.assert_array_equal(room, comm.size * x[begin : begin + comm.rank + 1])


def law_in_place(comm):
    total, root, ranks = sum(range(comm.size)), comm.size - 1, np.arange(float(comm.size))
    at_root = comm.rank == root
    x = np.full(2, float(comm.rank))
    comm.Allreduce(IN_PLACE, x)
    assert (x == total).all()
    x[:] = comm.rank
    comm.Reduce(IN_PLACE if at_root else x, x if at_root else None, SUM, root)
    assert (x == (total if at_root else comm.rank)).all()
    x[:] = comm.rank
    comm.Scan(IN_PLACE, x)
    assert (x == sum(range(comm.rank + 1))).all()
    room = np.full(comm.size, -1.0)
    room[comm.rank] = comm.rank
    comm.Gather(IN_PLACE if at_root else room[comm.rank :][:1], room if at_root else None, root)
    assert not at_root or (room == ranks).all()
    room[comm.rank] = comm.rank
    comm.Allgather(IN_PLACE, room)
    np.testing.assert_array_equal(room, ranks)
    comm.Scatter(10 * ranks if at_root else None, IN_PLACE if at_root else room[:1], root)
    assert room[0] == (0 if at_root else 10 * comm.rank)


def law_in_place_of_parts(comm):
    counts, ranks = counts_of(comm), np.arange(comm.size)
    room, begin = np.full(sum(counts), -1.0), sum(range(comm.rank + 1))
    room[begin : begin + comm.rank + 1] = comm.rank
    comm.Allgatherv(IN_PLACE, [room, counts])
    np.testing.assert_array_equal(room, ramp(comm))
    x = 10.0 * comm.rank + ranks
    comm.Alltoall(IN_PLACE, x)
    np.testing.assert_array_equal(x, 10 * ranks + comm.rank)
    x = 10.0 * comm.rank + ranks
    comm.Alltoallv(IN_PLACE, [x, [1] * comm.size])
    np.testing.assert_array_equal(x, 10 * ranks + comm.rank)
    x = np.arange(2.0 * comm.size)
    comm.Reduce_scatter_block(IN_PLACE, x)
    assert x[:2].tolist() == [comm.size * 2 * comm.rank, comm.size * (2 * comm.rank + 1)]
    x = np.arange(float(sum(counts)))
    comm.Reduce_scatter(IN_PLACE, x, counts)
    np.testing.assert_array_equal(x[: comm.rank + 1], comm.size * np.arange(begin, begin + comm.rank + 1))


def law_empty_buffers_meet(comm):
    nothing = np.zeros(0)
    comm.Bcast(nothing)
    comm.Allreduce(nothing, np.zeros(0))
    comm.Allgather(nothing, np.zeros(0))
    counts = [2 * (rank % 2) for rank in range(comm.size)]
    room = np.zeros(sum(counts))
    comm.Allgatherv(np.ones(counts[comm.rank]), [room, counts])
    assert (room == 1).all()


def law_arrays_of_any_shape_and_order(comm):
    x = np.arange(6.0).reshape(2, 3).T + comm.rank
    room = np.zeros((3, 2))
    comm.Allreduce(x, room)

    np.testing.assert_array_equal(room, comm.size * np.arange(6.0).reshape(2, 3).T + sum(range(comm.size)))


# at once


def law_collectives_that_come_back_at_once(comm):
    size, rank, counts = comm.size, comm.rank, counts_of(comm)
    ranks, one, mine = np.arange(float(size)), np.array([float(rank)]), np.full(rank + 1, float(rank))
    whole, single, everyone, parts = np.full(size, -1.0), np.zeros(1), np.zeros(size), np.zeros(sum(counts))
    root, shared = rank == 0, np.array([float(rank)])
    crossed, own, v_parts, own_v = np.zeros(size), np.zeros(1), np.zeros(sum(counts)), np.zeros(rank + 1)
    total, at_root, up_to, below, block, scattered = (np.full(1, -1.0) for _ in range(6))
    mine_only = np.eye(size, dtype=int)[rank] * (rank + 1)
    requests = [
        comm.Ibcast(shared, 0), comm.Iallreduce(one, total), comm.Ireduce(one, at_root if root else None),
        comm.Igather(one, whole if root else None), comm.Iallgather(one, everyone),
        comm.Iscatter(ranks if root else None, single), comm.Ialltoall(ranks + 10 * rank, crossed),
        comm.Igatherv(mine, [parts, counts] if root else None), comm.Iallgatherv(mine, [v_parts, counts]),
        comm.Iscatterv([ramp(comm), counts] if root else None, own_v),
        comm.Ialltoallv([mine, mine_only], [own_v.copy(), mine_only]),
        comm.Iscan(one, up_to), comm.Iexscan(one, below), comm.Ireduce_scatter_block(ranks, block),
        comm.Ireduce_scatter(ranks, scattered, [1] * size), comm.Ibarrier(),
    ]  # fmt: skip
    one[:] = mine[:] = -5  # what was brought may not be changed yet in MPI; here it was copied already
    Request.waitall(requests[::-1])

    assert shared[0] == 0 and total[0] == ranks.sum() and (not root or at_root[0] == ranks.sum())
    assert (not root) or ((whole == ranks).all() and (parts == ramp(comm)).all())
    assert (everyone == ranks).all() and single[0] == rank and (crossed == 10 * ranks + rank).all()
    assert (v_parts == ramp(comm)).all() and (own_v == rank).all()
    assert up_to[0] == sum(range(rank + 1)) and below[0] == (sum(range(rank)) if rank else -1)
    assert block[0] == scattered[0] == size * rank and own[0] == 0


def law_a_collective_may_go_on_while_messages_pass(comm):
    room, x = np.zeros(3), np.full(3, comm.rank + 1.0)
    request = comm.Iallreduce(x, room)
    to, by = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    assert comm.sendrecv(comm.rank, to, source=by) == by
    assert comm.allreduce(1) == comm.size
    request.Wait()

    assert (room == sum(range(1, comm.size + 1))).all()


def law_what_is_no_number_stays_whoever_has_it(comm):
    for op in (MAX, MIN):
        for who in range(comm.size):
            mine = float("nan") if comm.rank == who else float(comm.rank)
            room = np.zeros(1)
            comm.Allreduce(np.array([mine]), room, op)
            assert np.isnan(room[0]) and np.isnan(comm.allreduce(mine, op)), (op, who)
            assert np.isnan(comm.allreduce(np.float64(mine), op, algorithm="tree"))


LAWS = [law for name, law in list(globals().items()) if name.startswith("law_")]
