"""Arrays behind each other are written where they are computed, and no kernel copies them."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ops.concat_copy import slabs

pytestmark = pytest.mark.usefixtures("backend")


def matrix(rows=4, columns=3, seed=0):
    return jt.array(np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)).sync()


def computed(*vars):
    with jt.trace() as t:
        jt.sync(list(vars))
    return t


def kinds(t):
    return [k.kind for k in t.kernels]


def steps(h, w, count):
    """h, h @ w through tanh, and so on."""
    found = [jt.tanh(h)]
    while len(found) < count:
        found.append(jt.tanh(found[-1] @ w))
    return found


def test_parts_of_one_loop_are_written_side_by_side_and_nowhere_else():
    x = matrix()

    y = slabs([x * 2, x + 1, -x], 1, (4, 9))
    t = computed(y)

    assert kinds(t) == ["loops"]
    assert t.kernels[0].stored == (y.node.id,)
    np.testing.assert_array_equal(y.numpy(), np.concatenate([x.numpy() * 2, x.numpy() + 1, -x.numpy()], 1))


def test_parts_of_many_kernels_are_written_where_each_is_computed():
    h, w = matrix(4, 3), matrix(3, 3, 1)
    alone = [v.numpy() for v in steps(h, w, 12)]

    y = jt.stack(steps(h, w, 12))
    t = computed(y)

    assert sorted(set(kinds(t))) == ["loops", "product"]
    assert sum(m.action == "allocate" and m.bytes == 4 * y.size for m in t.memory) == 1
    assert t.peak == t.predicted_peak
    np.testing.assert_array_equal(y.numpy(), alone)


def test_a_whole_may_be_a_part_of_another_whole():
    h, w = matrix(4, 3), matrix(3, 3, 1)

    rows = [slabs([v, v * 2], 1, (4, 6)) for v in steps(h, w, 9)]
    y = slabs(rows, 0, (36, 6))
    t = computed(y)

    assert "code" not in kinds(t)
    parts = [v.numpy() for v in steps(h, w, 9)]
    np.testing.assert_array_equal(y.numpy(), np.concatenate([np.concatenate([p, p * 2], 1) for p in parts]))


def test_each_of_many_kernels_stores_something_of_its_own():
    parts = [matrix(seed=k) for k in range(10)]

    y = jt.stack([p * 2 for p in parts])
    t = computed(y)

    assert kinds(t) == ["loops"] * 10
    assert all(k.stored for k in t.kernels)
    np.testing.assert_array_equal(y.numpy(), np.stack([p.numpy() * 2 for p in parts]))


def test_a_part_that_is_held_is_stored_as_well():
    x = matrix()
    part = x * 2

    y = slabs([part, x + 1], 1, (4, 6))
    t = computed(y)

    assert kinds(t) == ["loops"]
    assert set(t.kernels[0].stored) == {part.node.id, y.node.id}
    np.testing.assert_array_equal(part.numpy(), x.numpy() * 2)
    np.testing.assert_array_equal(y.numpy()[:, :3], x.numpy() * 2)


@pytest.mark.parametrize("begin", [0, 1, 3])
def test_what_reads_the_whole_waits_until_it_is_complete(begin):
    x = matrix()
    wanted = np.concatenate([x.numpy() * 2, x.numpy() + 1], 1)[:, begin : begin + 3] * x.numpy()

    y = slabs([x * 2, x + 1], 1, (4, 6))[:, begin : begin + 3] * x

    assert kinds(computed(y)) == ["loops", "loops"]
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 4])
def test_parts_are_seen_under_any_shape_whose_rows_are_the_same(rows):
    x = matrix(4, 6)

    y = slabs([(x * 2).reshape(rows, -1), (x + 1).reshape(rows, -1)], 1, (rows, 48 // rows))

    t = computed(y)
    assert kinds(t) == ["loops"]
    wanted = [(x.numpy() * 2).reshape(rows, -1), (x.numpy() + 1).reshape(rows, -1)]
    np.testing.assert_array_equal(y.numpy(), np.concatenate(wanted, 1))


REFUSED = {
    "rows that are no rows of the parts": lambda x: [(x * 2).reshape(3, 4), (x + 1).reshape(3, 4)],
    "parts of different shapes": lambda x: [x * 2, x[:, :2] + 1],
    "an array that is there": lambda x: [x * 2, x],
    "a product": lambda x: [x * 2, x @ matrix(3, 3)],
    "what a kernel written by hand makes": lambda x: [x * 2, jt.cumsum(x, 1)],
    "a sum": lambda x: [(x * 2).sum(1, keepdims=True), (x + 1).sum(1, keepdims=True)],
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_parts_are_copied(name):
    x = matrix()
    parts = REFUSED[name](x)
    rows, columns = parts[0].shape[0], sum(p.shape[1] for p in parts)

    y = slabs(REFUSED[name](x), 1, (rows, columns))

    assert "code" in kinds(computed(y))
    np.testing.assert_array_equal(y.numpy(), np.concatenate([p.numpy() for p in parts], 1))


def test_without_fusion_the_parts_are_copied():
    x = matrix()

    with jt.flag_scope(fuse=False):
        y = slabs([x * 2, x + 1], 1, (4, 6))
        t = computed(y)

    assert kinds(t) == ["loops", "loops", "code"]


def test_the_trace_says_that_parts_are_written_where_the_whole_wants_them():
    x = matrix()
    y = slabs([x * 2, x + 1], 1, (4, 6))
    whole = y.node.id

    t = computed(y)

    told = [(d.fused, d.rule, d.reason) for d in t.decisions if d.target == whole]
    assert told == [(True, "same loops", "each number is written where concat wants it, as soon as it is computed")] * 2


def test_gradients_through_the_whole_are_the_same_of_first_and_of_second_order():
    def both(fuse):
        with jt.flag_scope(fuse=fuse):
            h, w = matrix(4, 3), matrix(3, 3, 1)
            y = jt.stack([v * v for v in steps(h, w, 10)])
            (first,) = jt.grad((y * y).sum(), [w])
            (second,) = jt.grad((first * first).sum(), [w])
            return first.numpy(), second.numpy()

    for ours, plain in zip(both(True), both(False), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-4)


def test_a_replay_writes_each_part_anew():
    w = matrix(3, 3, 1)
    step = jt.compile(lambda x: jt.stack(steps(x, w, 10)) + 0)

    for seed in range(4):
        x = matrix(4, 3, seed)
        wanted = np.stack([v.numpy() for v in steps(x, w, 10)])
        np.testing.assert_array_equal(step(x).numpy(), wanted)


def test_a_step_of_an_lstm_copies_no_gates_and_no_moments():
    layer = jt.nn.LSTM(3, 4)
    x = jt.array(np.random.default_rng(0).normal(size=(9, 2, 3)).astype(np.float32))
    out, _ = layer(x)
    grads = jt.grad((out * out).sum(), list(layer.parameters()))

    t = computed(*grads)

    assert "code" not in kinds(t)
