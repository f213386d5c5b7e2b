"""Memory: where a Var lies, who shares it, what NumPy may see of it, and what it is used for."""

import gc
import threading
import weakref

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.base import allocator
from jt_edu.variable.storage import Allocation

pytestmark = pytest.mark.usefixtures("backend")

BIG = 100_000  # floats: enough for a buffer that is lent again


def stored(*shape):
    return jt.array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


# ----------------------------------------------------------------------------------------------------------- storage


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.reshape(3, 2),
        lambda x: x.flatten(),
        lambda x: x.unsqueeze(0),
        lambda x: x.unsqueeze(0).sync().squeeze(),
        lambda x: x.unflatten(1, (3, 1)),
        lambda x: x.view(6),
        lambda x: x.contiguous(),
        lambda x: x.detach(),
        lambda x: x.reshape(6).reshape(2, 3).detach().reshape(6, 1),
        lambda x: jt.Var(x),
    ],
)
def test_another_shape_of_the_same_numbers_lies_where_they_lie(look):
    x = stored(2, 3)

    y = look(x)

    assert x.storage().shares(y)
    assert y.data_ptr() == x.data_ptr()
    assert y.storage() == x.storage() and hash(y.storage()) == hash(x.storage())
    assert (y.storage().nbytes, len(y.storage())) == (24, 24)


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x[0],
        lambda x: x[:, 1:],
        lambda x: x.T,
        lambda x: x.expand(4, 2, 3),
        lambda x: x.flip(0),
        lambda x: x.clone(),
        lambda x: x * 1,
        lambda x: jt.array(x),
    ],
)
def test_every_other_view_has_memory_of_its_own_once_it_is_stored(look):
    x = stored(2, 3)

    y = look(x)

    assert not x.storage().shares(y)
    assert x.storage() != y.storage()
    assert y.is_contiguous() and y.storage_offset() == 0
    assert y.stride() == tuple(s // y.dtype.size for s in y.numpy().strides)


def test_what_a_var_says_about_its_memory_is_what_numpy_says():
    for shape in ((0,), (1,), (5,), (2, 3, 4)):
        x = jt.ones(shape).sync()
        a = x.numpy()

        assert x.data_ptr() == a.ctypes.data == x.storage().data_ptr
        assert x.storage().nbytes == x.nbytes == a.nbytes
        assert a.flags.c_contiguous == x.is_contiguous()
        if 0 not in shape:
            assert tuple(s * 4 for s in x.stride()) == a.strides


def test_asking_for_the_storage_computes():
    x = jt.ones(3) + 1

    with jt.trace() as t:
        x.storage()

    assert len(t.kernels) == 1


def test_a_number_of_the_graph_has_a_storage_too():
    assert jt.array(2.0).storage().nbytes == 4
    assert jt.full((), 3).storage().nbytes == 8


@pytest.mark.parametrize("size", [6, BIG], ids=["small", "lent"])
def test_how_many_values_lie_in_a_memory(size):
    x = stored(size)
    assert x.storage().refcount == 1

    y, z = x.reshape(size, 1).sync(), x.detach()
    assert [v.storage().refcount for v in (x, y, z)] == [3, 3, 3]

    del y
    gc.collect()  # planning leaves a circle behind
    assert x.storage().refcount == 2
    del z
    assert x.storage().refcount == 1


def test_large_memories_are_whole_blocks():
    x = stored(BIG)

    assert x.storage().nbytes == 400_000
    assert x.storage().reserved >= 400_000 + 64
    a = np.zeros(10)
    assert (jt.from_numpy(a[2:5]).storage().nbytes, jt.from_numpy(a[2:5]).storage().reserved) == (24, 80)


def test_what_a_storage_is_shared_with_is_a_var_or_an_array():
    a = np.zeros(3)
    x = jt.from_numpy(a)

    assert x.storage().shares(a) and x.storage().shares(a[1:]) and not x.storage().shares(a.copy())
    assert repr(x.storage()).startswith("jt.Storage(24 bytes at 0x")
    with pytest.raises(jt.ArgumentError, match="list"):
        x.storage().shares([1.0])


@pytest.mark.parametrize("size", [6, BIG], ids=["small", "lent"])
def test_memory_lives_as_long_as_the_last_view_and_no_longer(size):
    with jt.allocator(jt.PlainAllocator()):
        x = stored(size)
    root = weakref.ref(x.node.data)
    y, a = x.reshape(size, 1).sync(), x.numpy()

    del x
    assert root() is not None and y.numpy()[1, 0] == 1
    del y
    assert root() is not None and a[1] == 1
    del a
    gc.collect()
    assert root() is None


# ---------------------------------------------------------------------------------------------------- from and to NumPy


def test_a_shared_array_is_seen_and_a_new_one_under_its_name_is_not():
    a = np.zeros(3)
    x = jt.from_numpy(a)

    a += 1
    assert x.tolist() == [1, 1, 1]
    a = a + 1
    assert a.tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]


def test_nothing_is_copied_on_the_way_in_or_out():
    a = np.arange(4.0)

    assert jt.from_numpy(a).numpy().ctypes.data == a.ctypes.data
    assert np.shares_memory(np.asarray(jt.from_numpy(a)), a)
    assert not np.shares_memory(np.array(jt.from_numpy(a)), a)
    assert not np.shares_memory(jt.array(a).numpy(), a)


def test_what_runs_later_reads_what_a_shared_array_holds_by_then():
    a = np.ones(3)
    x = jt.from_numpy(a)
    early, late, copied = (x * 10).sync(), x * 10, jt.array(a) * 10

    a += 1

    assert early.tolist() == [10, 10, 10]
    assert late.tolist() == [20, 20, 20]
    assert copied.tolist() == [10, 10, 10]
    a += 1
    assert late.tolist() == [20, 20, 20], "what has run stays what it is"


def test_a_view_that_was_stored_before_still_sees_the_array():
    a = np.ones(4)
    square = jt.from_numpy(a).reshape(2, 2).sync()

    a[3] = 7

    assert square.tolist() == [[1, 1], [1, 7]]


def test_a_step_that_was_compiled_reads_a_shared_array_anew_each_time():
    a = np.ones(3)
    x = jt.from_numpy(a)
    total = jt.compile(lambda v: (v * 2).sum())

    found = [total(x).item()]
    a += 1
    found += [total(x).item(), total(x).item()]

    assert found == [6, 12, 12]


def test_nothing_is_ever_written_to_a_shared_array():
    a = np.arange(3.0)
    x = jt.from_numpy(a)

    x[0] = 9
    x += 5
    optim.SGD([x], lr=1.0).step((x * x).sum())

    assert a.tolist() == [0, 1, 2]


def test_read_only_arrays_are_shared_and_stay_read_only():
    a = np.arange(3.0)
    a.flags.writeable = False

    x = jt.from_numpy(a)

    assert not x.storage().writable and jt.from_numpy(np.ones(2)).storage().writable
    assert np.shares_memory(x.numpy(), a) and (x + 1).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "a", [np.arange(4.0)[::-1], np.ones((2, 3)).T, np.arange(6.0)[::2], np.broadcast_to(np.ones(1), (3,))]
)
def test_an_array_that_does_not_lie_in_row_major_order_is_refused_and_a_copy_proposed(a):
    with pytest.raises(jt.ArgumentError, match=r"strides \(.*Try: jt.array\(a\), which copies"):
        jt.from_numpy(a)

    np.testing.assert_array_equal(jt.array(a).numpy(), a)


def test_numbers_that_go_out_cannot_be_written_through():
    x = stored(3)
    pending = x + 1

    for a in (x.numpy(), x.data, np.asarray(x), jt.array(2.0).numpy(), jt.ones(3, dtype="bfloat16").numpy()):
        with pytest.raises(ValueError, match="read-only"):
            a[...] = 7
    assert pending.tolist() == [1, 2, 3] and x.tolist() == [0, 1, 2]


def test_a_copy_that_goes_out_is_the_learners_own():
    x = stored(3)
    pending = x + 1

    for a in (x.numpy(copy=True), np.array(x), jt.array(2.0).numpy(copy=True), x.cast("bfloat16").numpy(copy=True)):
        a[...] = 7
        assert not np.shares_memory(a, x.numpy())
    assert pending.tolist() == [1, 2, 3] and x.tolist() == [0, 1, 2]


def test_numbers_that_went_out_stay_what_they_were():
    x = stored(BIG)
    before = x.numpy()

    del x
    others = [jt.array(np.zeros(BIG, np.float32)) for _ in range(3)]

    assert before[0] == 0 and before[-1] == BIG - 1 and len(others) == 3


# ---------------------------------------------------------------------------------------------------------- allocators


def test_buffers_are_lent_again():
    mine = jt.CachingAllocator()
    with jt.allocator(mine):
        for _ in range(10):
            stored(BIG)

    stats = mine.stats()
    assert stats.made + stats.reused >= 10 and stats.made <= 2
    assert stats.in_use == 0 and stats.kept >= 400_000
    mine.clear()
    assert mine.stats().kept == 0


def test_a_plain_allocator_takes_fresh_memory():
    before = jt.memory_stats()
    with jt.allocator(jt.PlainAllocator()):
        xs = [stored(BIG) for _ in range(3)]

    after = jt.memory_stats()
    assert (after.made, after.reused) == (before.made, before.reused)
    assert all(x.storage().reserved == 400_000 for x in xs)


def test_a_tracing_allocator_tells_bytes_and_lines():
    with jt.allocator(jt.TracingAllocator()) as seen:
        x = jt.array(np.ones(10))  # the first line
        y = (x * 2 + 1).sum().item()  # the second line

    assert y == 30
    assert [a.bytes for a in seen.allocations] == [80, 8]
    assert [a.line.split("# ")[1] for a in seen.allocations] == ["the first line", "the second line"]
    assert seen.bytes == 88 and list(seen.by_line().values()) == [80, 8]
    assert repr(seen).startswith("2 arrays, 88 bytes\n            80 bytes  test_storage.py:")
    assert seen.allocations[1] == Allocation(8, seen.allocations[1].line)


def test_a_tracing_allocator_stands_in_front_of_another_one():
    inner = jt.CachingAllocator()
    with jt.allocator(jt.TracingAllocator(inner)) as seen:
        x = stored(BIG)

    assert [a.bytes for a in seen.allocations] == [400_000]
    assert inner.stats().in_use >= 400_000 and x.numpy()[2] == 2


def test_the_usual_allocator_comes_back_whatever_happens():
    outer = jt.TracingAllocator()

    def fail():
        with jt.allocator(outer):
            with jt.allocator(jt.PlainAllocator()):
                jt.ones(3).sync()
            jt.ones(4).sync()
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()
    jt.ones(5).sync()
    assert [a.bytes for a in outer.allocations] == [16]


def test_what_an_allocator_hands_out_is_looked_at():
    class Wrong:
        def __init__(self, answer):
            self.answer = answer

        def empty(self, shape, dtype):
            return self.answer

    for answer in (np.empty(2, np.float32), np.empty(3, np.float64), np.empty(6, np.float32)[::2], [1.0, 2.0, 3.0]):
        with jt.allocator(Wrong(answer)), pytest.raises(jt.ArgumentError, match=r"shape \(3,\), float32"):
            (jt.ones(3) * 2).sync()
    with pytest.raises(jt.ArgumentError, match="'malloc'"), jt.allocator("malloc"):
        pass


def test_a_chain_of_products_holds_two_arrays_at_once_as_was_predicted():
    x = y = stored(5, 5)
    for _ in range(6):
        y = y @ x

    with jt.trace() as t, jt.allocator(jt.TracingAllocator()) as seen:
        y.sync()

    assert t.predicted_peak == t.peak == 2 * 100
    assert seen.bytes == 6 * 100


def test_arrays_are_made_by_threads_at_the_same_time():
    found = []

    def work():
        found.extend(jt.array(np.full(BIG, k, np.float32)).numpy()[-1] for k in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    assert sorted(found) == sorted(list(range(20)) * 4)


# ----------------------------------------------------------------------------------------------- what it is used for


@pytest.fixture
def ground():
    """What is in use before a test begins, so that it can count its own bytes; nothing else is let go meanwhile."""
    gc.collect()
    gc.freeze()
    gc.disable()
    before = jt.memory_stats()

    def since():
        now = jt.memory_stats()
        return {k: getattr(now, k) - getattr(before, k) for k in KINDS}

    yield since
    gc.enable()


KINDS = ("weights", "optimizer", "gradients", "saved", "other")


def test_memory_of_a_training_by_hand_counted_bytes(ground):
    """4 -> 8 -> 2 has 4*8 + 8 + 8*2 + 2 = 58 weights and biases, 232 bytes; a batch has 5*4 numbers, 80 bytes."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    assert ground() == dict.fromkeys(KINDS, 0), "nothing is stored before somebody asks for it"

    jt.sync(net.parameters())
    assert ground() == {**dict.fromkeys(KINDS, 0), "weights": 232}

    optimizer = optim.Adam(net.parameters(), lr=0.1)
    x = jt.array(np.ones((5, 4), np.float32))
    jt.sync([v for state in optimizer.state for v in state.values() if isinstance(v, jt.Var)])
    assert ground() == {"weights": 232, "optimizer": 2 * 232, "gradients": 0, "saved": 0, "other": 80}

    loss = net(x).sum()
    assert ground()["saved"] == 80 and ground()["other"] == 0, "the batch is what the pending loss reads"

    optimizer.backward(loss)
    assert ground() == {"weights": 232, "optimizer": 464, "gradients": 232, "saved": 0, "other": 84}

    optimizer.step()
    optimizer.zero_grad()
    assert ground() == {"weights": 232, "optimizer": 464, "gradients": 0, "saved": 0, "other": 84}

    del x, loss
    assert ground()["other"] == 0
    del optimizer, net
    assert ground() == dict.fromkeys(KINDS, 0)


def test_activations_that_are_held_are_saved_while_a_gradient_can_pass_them(ground):
    w = jt.array(np.ones((4, 3), np.float32))
    x = jt.array(np.ones((5, 4), np.float32))
    hidden = (x @ w).sync()
    loss = (hidden * hidden).sum()

    assert ground() == {**dict.fromkeys(KINDS, 0), "saved": 4 * (12 + 20 + 15)}
    del loss, hidden
    assert ground() == {**dict.fromkeys(KINDS, 0), "other": 4 * (12 + 20)}


def test_views_are_counted_once(ground):
    x = stored(BIG)
    y, z = x.reshape(100, 1000).sync(), x.detach()

    assert sum(ground().values()) == 400_000
    assert y.shape == (100, 1000) and z.shape == (BIG,)


def test_a_weight_that_an_optimizer_moves_needs_no_module(ground):
    w = jt.array(np.ones(10))
    optimizer = optim.SGD([w], lr=0.1)
    assert ground() == {**dict.fromkeys(KINDS, 0), "weights": 80}

    del optimizer
    gc.collect()
    assert ground() == {**dict.fromkeys(KINDS, 0), "other": 80}
    assert w.shape == (10,)


def test_buffers_in_use_and_kept():
    jt.gc()
    before = jt.memory_stats()
    x = jt.array(np.ones(BIG, np.float32))

    assert jt.memory_stats().in_use - before.in_use >= 400_000
    assert jt.memory_stats().total - before.total == 400_000
    del x
    assert jt.memory_stats().in_use == before.in_use
    assert jt.memory_stats().kept >= 400_000
    assert "weights" in repr(jt.memory_stats()) and "total" in repr(jt.memory_stats())


def test_a_fresh_buffer_gives_back_the_unused_ones_where_they_are_too_many(monkeypatch):
    monkeypatch.setattr(allocator, "KEEP", 1 << 20)
    pool = jt.CachingAllocator()
    lent = [pool.empty((1 << 19,), np.dtype(np.uint8)) for _ in range(4)]
    del lent
    assert pool.stats().kept == 4 << 19  # nothing is given back before another one is made

    other = pool.empty((1 << 18,), np.dtype(np.uint8))

    assert (pool.stats().kept, other.nbytes) == (0, 1 << 18)


def test_gc_asks_the_allocator_in_charge_as_well():
    mine = jt.CachingAllocator()
    with jt.allocator(mine):
        stored(BIG)
        assert mine.stats().kept >= 400_000
        jt.gc()

    assert mine.stats().kept == 0


def test_a_thousand_steps_leave_no_memory_behind(backend):
    if backend == "python":
        return
    w = jt.array(np.ones(3, np.float32))
    optimizer = optim.SGD([w], lr=0.001, momentum=0.9)

    def steps(count):
        for _ in range(count):
            optimizer.step((w * w).sum())
        return jt.memory_stats().total

    assert steps(10) == steps(1000)


# ------------------------------------------------------------------------------------------------- too little memory


class Full:
    """An allocator that has room for nothing of `most` bytes or more."""

    def __init__(self, most):
        self.most = most

    def empty(self, shape, dtype):
        if np.prod(shape) * dtype.itemsize >= self.most:
            raise MemoryError("told to be full")
        return np.empty(shape, dtype)


def test_too_little_memory_is_an_error_of_ours_and_the_graph_goes_on():
    x = jt.array(np.arange(6.0))
    small, large = x + 1, x.reshape(2, 3).broadcast_to((500, 2, 3)) * 2

    with jt.allocator(Full(1000)), pytest.raises(jt.OutOfMemoryError) as caught:
        jt.sync([small, large])

    assert isinstance(caught.value, jt.JtError) and isinstance(caught.value, MemoryError)
    for word in (r"(500, 2, 3)", "24,000 bytes", "test_storage.py", "small, large = x + 1"):
        assert word in str(caught.value)
    np.testing.assert_array_equal(small.numpy(), np.arange(6) + 1)
    np.testing.assert_array_equal(large.numpy()[77], np.arange(6).reshape(2, 3) * 2)


def test_a_step_that_finds_no_memory_leaves_the_parameters_and_can_be_repeated():
    layer = nn.Linear(3, 2)
    rule = optim.SGD(layer.parameters(), lr=0.1)
    x, before = jt.ones(400, 3), layer.weight.numpy(copy=True)

    with jt.allocator(Full(2000)), pytest.raises(jt.OutOfMemoryError, match=r"bytes; found too little memory"):
        rule.step((layer(x).sort(0)[0] ** 2).sum())
    np.testing.assert_array_equal(layer.weight.numpy(), before)

    rule.step((layer(x).sort(0)[0] ** 2).sum())
    assert not np.array_equal(layer.weight.numpy(), before)


def test_an_array_that_is_too_large_to_copy_is_told_with_its_size():
    huge = np.broadcast_to(np.float32(0), (1 << 20, 1 << 20, 16))

    with pytest.raises(jt.OutOfMemoryError, match=r"\(1048576, 1048576, 16\), 70,368,744,177,664 bytes"):
        jt.array(huge)


# ---------------------------------------------------------------------------------------- free as soon as nobody asks


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


RUNS = {
    "a chain of operators": lambda x: ((x + 1) * 2).sum(),
    "a product and a softmax": lambda x: (x @ x).softmax(1),
    "a gradient": lambda x: jt.grad((x @ x).exp().sum(), x),
    "index arrays": lambda x: x[jt.array([0, 2])].sum(0),
    "kernels by hand": lambda x: x.sort(0)[0].cumsum(0),
    "a convolution": lambda x: jt.conv2d(x.reshape(1, 1, 4, 4), x[:2, :2].reshape(1, 1, 2, 2)),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_arrays_of_a_first_run_are_free_without_the_collector(run, no_collector):
    x = jt.array(np.eye(4, dtype=np.float32) + 0.125)
    y = run(x).sync()
    arrays = [weakref.ref(x.node.data), weakref.ref(y.node.data)]
    nodes = [weakref.ref(x.node), weakref.ref(y.node)]

    del x, y

    assert [r() for r in arrays + nodes] == [None] * 4
