"""Collectives against NumPy: 1 to 5 ranks, simulated and over sockets, six dtypes, odd shapes."""

import numpy as np
import pytest

import jt_edu as jt
from tests.distributed.ranks import BACKENDS, dist, run

DTYPES = ("float32", "float64", "int32", "int64", "uint8", "complex64")
SHAPES = ((3,), (2, 3), (), (0,), (2, 0, 3))
SIZES = (1, 2, 3, 4, 5)
WORLDS = [("threads", size) for size in SIZES] + [("tcp", size) for size in (1, 2, 3, 5)]


def part(rank, shape=(2, 3), dtype="float32", which=0):
    """What a rank brings: whole numbers, so that sums have no rounding."""
    rng = np.random.default_rng((rank, which, len(shape)))
    return np.asarray(rng.integers(1, 5, shape)).astype(dtype)


def all_parts(size, *args, **named):
    return [part(rank, *args, **named) for rank in range(size)]


@pytest.fixture(params=WORLDS, ids=lambda w: f"{w[0]}-{w[1]}")
def world(request):
    """(size, function that runs a program on so many ranks)"""
    backend, size = request.param
    return size, lambda program: run(backend, size, program)


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_reduce_adds_in_every_dtype(world, dtype):
    size, on_ranks = world

    def program(rank):
        out = []
        for shape in SHAPES:
            x = jt.array(part(rank, shape, dtype))
            assert dist.all_reduce(x) is None
            out.append(x.numpy(copy=True))
        return out

    for shape, *found in zip(SHAPES, *on_ranks(program), strict=True):
        wanted = sum(all_parts(size, shape, dtype)[1:], all_parts(size, shape, dtype)[0]).astype(dtype)
        for got in found:
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, wanted)


REDUCTIONS = [
    (dist.ReduceOp.SUM, np.add, "float32"), (dist.ReduceOp.PRODUCT, np.multiply, "float64"),
    (dist.ReduceOp.MIN, np.minimum, "int32"), (dist.ReduceOp.MAX, np.maximum, "float32"),
    (dist.ReduceOp.BAND, np.bitwise_and, "int64"), (dist.ReduceOp.BOR, np.bitwise_or, "uint8"),
    (dist.ReduceOp.BXOR, np.bitwise_xor, "int32"),
]  # fmt: skip


def test_every_reduction_is_numpys(world):
    size, on_ranks = world

    def program(rank):
        found = []
        for op, _, dtype in REDUCTIONS:
            x, y = jt.array(part(rank, dtype=dtype)), jt.array(part(rank, dtype=dtype))
            dist.all_reduce(x, op)
            dist.reduce(y, size - 1, op)
            found.append((x.numpy(copy=True), y.numpy(copy=True)))
        return found

    results = on_ranks(program)

    for k, (_, combine, dtype) in enumerate(REDUCTIONS):
        wanted = combine.reduce(all_parts(size, dtype=dtype)).astype(dtype)
        for rank in range(size):
            np.testing.assert_array_equal(results[rank][k][0], wanted)
            np.testing.assert_array_equal(results[rank][k][1], wanted if rank == size - 1 else part(rank, dtype=dtype))


def test_an_average_is_the_sum_divided_by_the_number_of_ranks(world):
    size, on_ranks = world

    def program(rank):
        x = jt.array(part(rank))
        dist.all_reduce(x, dist.ReduceOp.AVG)
        return x.numpy(copy=True)

    for got in on_ranks(program):
        np.testing.assert_allclose(got, np.mean(all_parts(size), axis=0), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_broadcast_gather_scatter_and_all_gather_move_the_right_numbers(world, dtype):
    size, on_ranks = world
    root = size // 2

    def program(rank):
        x = jt.array(part(rank, dtype=dtype))
        dist.broadcast(x, root)
        every = [jt.zeros(2, 3, dtype=dtype) for _ in range(size)]
        dist.all_gather(every, jt.array(part(rank, dtype=dtype)))
        mine = [jt.zeros(2, 3, dtype=dtype) for _ in range(size)] if rank == root else None
        dist.gather(jt.array(part(rank, dtype=dtype)), mine, root)
        y = jt.zeros(2, 3, dtype=dtype)
        parts = [jt.array(part(k, dtype=dtype, which=1)) for k in range(size)] if rank == root else None
        dist.scatter(y, parts, root)
        return x.numpy(copy=True), [v.numpy(copy=True) for v in every], mine and [v.numpy() for v in mine], y.numpy()

    for rank, (x, every, mine, y) in enumerate(on_ranks(program)):
        np.testing.assert_array_equal(x, part(root, dtype=dtype))
        np.testing.assert_array_equal(every, all_parts(size, dtype=dtype))
        np.testing.assert_array_equal(y, part(rank, dtype=dtype, which=1))
        assert (mine is not None) == (rank == root)
        if rank == root:
            np.testing.assert_array_equal(mine, all_parts(size, dtype=dtype))


def test_reduce_scatter_gives_each_rank_its_part_of_the_sum(world):
    size, on_ranks = world

    def program(rank):
        x, z = jt.zeros(2, 3), jt.zeros(2, 3)
        dist.reduce_scatter(x, [jt.array(part(rank, which=k)) for k in range(size)])
        dist.reduce_scatter_tensor(z, jt.array(np.concatenate([part(rank, which=k) for k in range(size)])))
        return x.numpy(copy=True), z.numpy(copy=True)

    for rank, (x, z) in enumerate(on_ranks(program)):
        np.testing.assert_array_equal(x, sum(part(other, which=rank) for other in range(size)))
        np.testing.assert_array_equal(z, x)


def test_all_to_all_transposes_the_table_of_parts_of_any_length(world):
    size, on_ranks = world

    def length(source, dest):
        return (source + 2 * dest) % 3  # 0 too

    def program(rank):
        out = [jt.full((length(rank, k),), 10.0 * rank + k) for k in range(size)]
        came = [jt.zeros(length(k, rank)) for k in range(size)]
        dist.all_to_all(came, out)
        rows = np.concatenate([np.full((length(rank, k), 2), 10 * rank + k) for k in range(size)])
        into = jt.zeros(sum(length(k, rank) for k in range(size)), 2, dtype="int64")
        sizes = [length(k, rank) for k in range(size)], [length(rank, k) for k in range(size)]
        dist.all_to_all_single(into, jt.array(rows), *sizes)
        return [v.tolist() for v in came], into.numpy(copy=True)

    for rank, (came, into) in enumerate(on_ranks(program)):
        assert came == [[10.0 * k + rank] * length(k, rank) for k in range(size)]
        wanted = [10 * k + rank for k in range(size) for _ in range(length(k, rank))]
        np.testing.assert_array_equal(into[:, 0], wanted)
        np.testing.assert_array_equal(into[:, 1], wanted)


def test_all_gather_into_tensor_stacks_rank_after_rank(world):
    size, on_ranks = world

    def program(rank):
        whole = jt.zeros(2 * size, 3)
        dist.all_gather_into_tensor(whole, jt.array(part(rank)))
        return whole.numpy(copy=True)

    for whole in on_ranks(program):
        np.testing.assert_array_equal(whole, np.concatenate(all_parts(size)))


def test_coalesced_is_what_single_ones_are(world):
    size, on_ranks = world
    shapes = ((3,), (), (0, 2), (2, 2))

    def program(rank):
        several = [jt.array(part(rank, shape)) for shape in shapes]
        dist.all_reduce_coalesced(several, dist.ReduceOp.MAX)
        return [x.numpy(copy=True) for x in several]

    for found in on_ranks(program):
        for x, shape in zip(found, shapes, strict=True):
            np.testing.assert_array_equal(x, np.maximum.reduce(all_parts(size, shape)))


def test_coalesced_is_one_collective_in_the_record():
    def program(comm):
        dist.init_process_group()
        before = len(comm.world.record.calls)
        dist.all_reduce_coalesced([jt.ones(2), jt.ones(3)], async_op=True).wait()
        return [c.name for c in comm.world.record.calls[before:] if c.rank == comm.rank and c.name != "wait"]

    assert jt.simulate(2)(program)[0] == ["Allreduce"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_of_arrays_are_read_and_written_where_they_lie(backend):
    def program(rank):
        whole = np.arange(12.0).reshape(3, 4) * (rank + 1)
        dist.all_reduce(whole[:, ::2])
        turned = jt.array(np.arange(6.0).reshape(2, 3)).transpose(1, 0)
        dist.all_reduce(turned)
        return whole, turned.numpy(copy=True)

    for rank, (whole, turned) in enumerate(run(backend, 3, program)):
        base = np.arange(12.0).reshape(3, 4)
        np.testing.assert_array_equal(whole[:, ::2], base[:, ::2] * 6)
        np.testing.assert_array_equal(whole[:, 1::2], base[:, 1::2] * (rank + 1))
        np.testing.assert_array_equal(turned, 3 * np.arange(6.0).reshape(2, 3).T)


@pytest.mark.parametrize("backend", BACKENDS)
def test_bfloat16_and_bools_travel_too(backend):
    def program(rank):
        half, yes = jt.array([1.5, rank]).cast("bfloat16"), jt.array([rank == 0, False])
        dist.all_reduce(half)
        dist.all_reduce(yes, dist.ReduceOp.MAX)
        return str(half.dtype), half.float().tolist(), yes.tolist()

    assert run(backend, 2, program) == [("bfloat16", [3.0, 1.0], [True, False])] * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_parameter_stays_one(backend):
    def program(rank):
        x = jt.array([1.0]).start_grad()
        x.name = "weight"
        dist.all_reduce(x)
        return x.requires_grad, x.name, x.item(), jt.grad((x * x).sum(), x).item()

    assert run(backend, 2, program) == [(True, "weight", 2.0, 4.0)] * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_async_work_leaves_the_tensor_alone_until_it_is_waited_for(backend):
    def program(rank):
        x, y = jt.ones(2), jt.ones(2)
        first, second = dist.all_reduce(x, async_op=True), dist.all_reduce(y, dist.ReduceOp.MAX, async_op=True)
        before = x.tolist()
        doubled = first.get_future().then(lambda f: f.value()[0].numpy() * 2)
        second.wait()  # in another order than begun
        assert first.wait() and first.is_completed() and first.is_success() and first.exception() is None
        return before, x.tolist(), doubled.wait().tolist(), first.result()[0] is x

    assert run(backend, 3, program) == [([1.0, 1.0], [3.0, 3.0], [6.0, 6.0], True)] * 3


def test_async_work_overlaps_with_computing_on_the_virtual_clock():
    def program(comm):
        dist.init_process_group()
        x = jt.ones(100_000)
        dist.barrier()
        begin = comm.now
        work = dist.all_reduce(x, async_op=True)
        comm.compute(10_000_000)
        work.wait()
        overlapped, begin = comm.now - begin, comm.now
        dist.all_reduce(x)
        comm.compute(10_000_000)
        return overlapped, comm.now - begin

    overlapped, one_by_one = jt.simulate(2)(program)[0]

    assert overlapped < 10_050_000 and one_by_one > 10_080_000


def test_every_function_answers_none_or_work():
    def program(rank):
        def tensors():
            return [jt.ones(1), jt.ones(1)]

        x = jt.ones(1)
        calls = [
            lambda a: dist.broadcast(x, 0, async_op=a),
            lambda a: dist.all_reduce(x, async_op=a),
            lambda a: dist.all_reduce_coalesced([x], async_op=a),
            lambda a: dist.reduce(x, 0, async_op=a),
            lambda a: dist.all_gather(tensors(), x, async_op=a),
            lambda a: dist.gather(x, tensors() if rank == 0 else None, async_op=a),
            lambda a: dist.scatter(x, tensors() if rank == 0 else None, async_op=a),
            lambda a: dist.reduce_scatter(x, tensors(), async_op=a),
            lambda a: dist.all_to_all(tensors(), tensors(), async_op=a),
            lambda a: dist.all_to_all_single(jt.ones(2), jt.ones(2), async_op=a),
            lambda a: dist.all_gather_into_tensor(jt.ones(2), x, async_op=a),
            lambda a: dist.reduce_scatter_tensor(x, jt.ones(2), async_op=a),
            lambda a: dist.barrier(async_op=a),
        ]
        assert all(call(False) is None for call in calls)
        works = [call(True) for call in calls]
        return all(isinstance(w, dist.Work) and w.wait() for w in works)

    assert run("threads", 2, program) == [True, True]


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda r: dist.all_reduce([1.0]), jt.ArgumentError, "list"),
    (lambda r: dist.all_reduce(jt.ones(2), "mean"), jt.ArgumentError, "mean"),
    (lambda r: dist.all_reduce(jt.ones(2), dist.ReduceOp.BAND), jt.DtypeError, "float32"),
    (lambda r: dist.all_reduce(jt.ones(2, dtype="int32"), dist.ReduceOp.AVG), jt.DtypeError, "int32"),
    (lambda r: dist.broadcast(jt.ones(2), 2), jt.ArgumentError, "2"),
    (lambda r: dist.broadcast(jt.ones(2), -1), jt.ArgumentError, "-1"),
    (lambda r: dist.all_gather([jt.ones(2)], jt.ones(2)), jt.ArgumentError, "each of 2 ranks"),
    (lambda r: dist.all_gather([jt.ones(3), jt.ones(2)], jt.ones(2)), jt.ShapeError, r"\(3,\)"),
    (lambda r: dist.all_gather([jt.ones(2, dtype="int32")] * 2, jt.ones(2)), jt.DtypeError, "int32"),
    (lambda r: dist.gather(jt.ones(2), None if r == 0 else [jt.ones(2)] * 2), jt.ArgumentError, "rank 0"),
    (lambda r: dist.scatter(jt.ones(2), None if r == 0 else [jt.ones(2)] * 2), jt.ArgumentError, "rank 0"),
    (lambda r: dist.reduce_scatter(jt.ones(3), [jt.ones(2)] * 2), jt.ShapeError, r"\(2,\)"),
    (lambda r: dist.all_to_all_single(jt.ones(2), jt.ones(3)), jt.ShapeError, "3 rows"),
    (lambda r: dist.all_to_all_single(jt.ones(2), jt.ones(2), [1, 2], [1, 1]), jt.ShapeError, r"\[1, 2\]"),
    (lambda r: dist.all_gather_into_tensor(jt.ones(3), jt.ones(2)), jt.ShapeError, "2 times"),
    (lambda r: dist.all_reduce_coalesced([]), jt.DtypeError, r"\[\]"),
    (lambda r: dist.all_reduce(jt.ones(1), group="world"), jt.ArgumentError, "world"),
    (lambda r: dist.group.WORLD.allreduce([jt.ones(1), jt.ones(1)]), jt.ArgumentError, "one tensor"),
    (lambda r: dist.send(jt.ones(1), 5), jt.ArgumentError, "5"),
    (lambda r: dist.send(jt.ones(1), 0, tag=-3), jt.ArgumentError, "-3"),
    (lambda r: dist.P2POp(dist.send, jt.ones(1), 0), jt.ArgumentError, "send"),
    (lambda r: dist.batch_isend_irecv([]), jt.ArgumentError, r"\[\]"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_with_words(call, error, words):
    def program(rank):
        with pytest.raises(error, match=words):
            call(rank)

    run("threads", 2, program)


def test_a_program_that_has_not_joined_is_told_how():
    with pytest.raises(jt.RankError, match="init_process_group"):
        dist.all_reduce(jt.ones(1))
