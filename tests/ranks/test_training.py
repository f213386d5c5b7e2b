"""One script, alone and on several ranks: the same losses, parameters and running statistics."""

import functools

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi import rank_team, run_ranks
from tests.ranks.script import train

CLOSE = {"float64": 1e-10, "float32": 1e-5}


@functools.cache
def alone(*args):
    return train(*args)


def assert_equal(found, expected, dtype):
    for losses, state in found:
        np.testing.assert_allclose(losses, expected[0], rtol=CLOSE[dtype], atol=CLOSE[dtype])
        for name, array in state.items():
            if dtype == "float64":
                np.testing.assert_allclose(array, expected[1][name], rtol=1e-10, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("rule", ["adam", "sgd"])
def test_losses_and_parameters_are_those_of_one_rank_uneven_batches_included(rule, size):
    found = jt.simulate(size)(lambda: train(rule))  # 90 examples in batches of 32: 32, 32, 26

    assert_equal(found, alone(rule), "float64")


def test_losses_agree_in_float32():
    assert_equal(jt.simulate(3)(lambda: train("adam", "float32")), alone("adam", "float32"), "float32")


@pytest.mark.parametrize("size", [2, 3])
def test_a_last_batch_of_one_example_counts_once(size):
    found = jt.simulate(size)(lambda: train("adam", "float64", 43, 21, 1))  # 21, 21, 1

    assert_equal(found, alone("adam", "float64", 43, 21, 1), "float64")


@pytest.mark.parametrize("style", ["clipped", "closure", "compiled"])
def test_every_way_to_make_a_step_gives_the_step_of_one_rank(style):
    args = ("sgd", "float64", 60, 25, 2, style)

    assert_equal(jt.simulate(3)(lambda: train(*args)), alone(*args), "float64")


def test_backward_of_a_loss_alone_is_exact_for_equal_shares():
    args = ("sgd", "float64", 48, 24, 2, "pytorch")

    assert_equal(jt.simulate(3)(lambda: train(*args)), alone(*args), "float64")


def test_a_line_search_is_the_same_on_all_ranks():
    args = ("lbfgs", "float64", 64, 64, 2, "closure")

    assert_equal(jt.simulate(2)(lambda: train(*args)), alone(*args), "float64")


def test_workers_make_the_share_of_each_rank():
    args = ("sgd", "float64", 60, 25, 1, "jittor", 1)

    assert_equal(jt.simulate(2)(lambda: train(*args)), alone("sgd", "float64", 60, 25, 1), "float64")


@pytest.mark.parametrize("policy", ["round_robin", "clock"])
def test_the_same_seed_gives_the_same_schedule_record_and_numbers(policy):
    first, second = (run_ranks(3, lambda comm: train("sgd", "float64", 40, 20, 1), policy=policy) for _ in range(2))

    assert first.record.schedule == second.record.schedule
    assert [(c.rank, c.words, c.enter, c.leave) for c in first.record.calls] == [
        (c.rank, c.words, c.enter, c.leave) for c in second.record.calls
    ]
    for a, b in zip(first.results, second.results, strict=True):
        np.testing.assert_array_equal(a[0], b[0])


def small():
    """Two steps of a small model with batch norm, on uneven shares."""
    jt.set_global_seed(1)
    net = jt.nn.Sequential(jt.nn.Linear(3, 4), jt.nn.BatchNorm(4), jt.nn.Tanh(), jt.nn.Linear(4, 1)).float64()
    optimizer = jt.optim.Adam(net.parameters(), lr=0.1)
    data = jt.data.ArrayDataset(np.random.default_rng(0).normal(size=(14, 3)), batch_size=7)
    for (x,) in data:
        optimizer.step((net(x) ** 2).mean())
    return [p.numpy() for p in net.parameters()]


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_200_random_schedules_give_the_same_training(first):
    expected = small()

    for seed in range(first, first + 25):
        for found in jt.simulate(3, policy="random", seed=seed)(small):
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-9, err_msg=f"seed {seed}")


def test_ranks_that_start_from_other_parameters_train_those_of_rank_0():
    def program():
        jt.set_global_seed(jt.rank)
        w = jt.randn(3)
        jt.optim.SGD([w], lr=0.1)
        return w.numpy()

    found = jt.simulate(3)(program)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_parts_cut_by_hand_count_alike():
    x = np.arange(6.0)

    def program(mine):
        w = jt.array([2.0])
        jt.optim.SGD([w], lr=0.5).step(((w * jt.array(mine) - 1) ** 2).mean())
        return w.item()

    assert np.allclose(jt.simulate(2)(lambda: program(x[jt.rank * 3 : jt.rank * 3 + 3])), program(x))


# data


class Numbers(jt.data.Dataset):
    def __getitem__(self, k):
        return k


def test_batches_are_cut_into_shares_that_differ_by_one_and_the_order_is_common():
    def program():
        jt.set_global_seed(jt.rank)  # the order is that of rank 0 all the same
        data = Numbers().set_attrs(total_len=211, batch_size=21, shuffle=True)
        return [[b.tolist() for b in data] for _ in range(2)], len(data)

    (first, length), (second, _) = jt.simulate(2)(program)

    assert length == 11
    assert [(len(a), len(b)) for a, b in zip(first[0], second[0], strict=True)] == [(11, 10)] * 10 + [(1, 1)]
    assert first[0][-1] == second[0][-1]  # the one example of the last batch is seen twice, and counts once
    for epoch in (0, 1):
        seen = [k for a, b in zip(first[epoch][:-1], second[epoch][:-1], strict=True) for k in a + b] + first[epoch][-1]
        assert sorted(seen) == list(range(211))
    assert first[0] != first[1]


def loops(kind, compiled=False):
    """A step on 5 examples, with another dataset in between."""
    jt.set_global_seed(0)
    data = jt.data.ArrayDataset(np.array([1.0, 2, 3, 4, 10]), batch_size=5)
    other = jt.data.ArrayDataset(np.arange(8.0), batch_size=4)
    w = jt.array(np.array([0.5]))
    optimizer = jt.optim.SGD([w], lr=0.01)

    def step(x):
        loss = ((w * x - 1) ** 2).mean()
        optimizer.step(loss)
        return loss

    run = jt.compile(step) if compiled else step
    losses = []
    for _ in range(3):
        losses += [run(x).item() for x in LOOPS[kind](data, other)]
    return [*losses, w.item()]


def _validated(data, other):
    for (x,) in data:
        for (v,) in other:
            v.sum().item()
        yield x


def _scoped(data, other):
    @jt.single_process_scope()
    def report():
        return jt.world_size

    for (x,) in data:
        report()
        yield x


LOOPS = {
    "alone": lambda data, other: (x for (x,) in data),
    "a validation loop inside": _validated,
    "zip": lambda data, other: (x for (x,), _ in zip(data, other, strict=False)),
    "a list of batches": lambda data, other: [x for (x,) in list(data)],
    "the first batch": lambda data, other: [next(iter(data))[0]],
    "a function of one rank": _scoped,
}


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loss_knows_its_batch_whatever_else_is_handed_out(kind):
    expected = loops(kind)

    for size in (2, 3):
        for found in jt.simulate(size)(lambda: loops(kind)):
            np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["alone", "a validation loop inside", "a function of one rank"])
def test_a_compiled_step_weighs_the_batch_at_hand(kind):
    for found in jt.simulate(2)(lambda: loops(kind, compiled=True)):
        np.testing.assert_allclose(found, loops(kind), rtol=1e-10)


def test_a_loss_of_two_batches_with_other_shares_is_refused():
    def program():
        (x,), (v,) = (next(iter(jt.data.ArrayDataset(np.arange(n), batch_size=8))) for n in (5.0, 4.0))
        w = jt.array(np.array([1.0]))
        with pytest.raises(ValueError, match="batches of 4 examples and 5 examples"):
            jt.optim.SGD([w], lr=0.1).step((w * x).mean() + (w * v).mean())

    jt.simulate(2)(program)


def test_in_a_loop_over_batches_of_one_size_nobody_looks_through_a_graph_for_the_batch(monkeypatch):
    monkeypatch.setattr(rank_team, "inputs_of", lambda node: pytest.fail("the graph of a loss is walked"))

    def program():
        w = jt.array(np.array([0.5]))
        optimizer = jt.optim.SGD([w], lr=0.01)
        for (x,) in jt.data.ArrayDataset(np.arange(9.0), batch_size=3):  # shares of 2 and 1
            optimizer.step(((w * x - 1) ** 2).mean())
        return w.item()

    np.testing.assert_allclose(jt.simulate(2)(program), [program()] * 2, rtol=1e-12)


# batch norm


def normed(x, upstream, sync=True):
    norm = jt.nn.BatchNorm(2, sync=sync)
    norm.float64() if x.dtype == np.float64 else None
    v = jt.array(x)
    y = norm(v)
    dx = jt.grad((y * jt.array(upstream)).sum(), v)
    return y.numpy(), dx.numpy(), norm.running_mean.numpy(), norm.running_var.numpy()


def test_batch_norm_over_uneven_ranks_is_that_of_the_whole_batch():
    rng = np.random.default_rng(0)
    x, upstream = rng.normal(size=(7, 2, 3)), rng.normal(size=(7, 2, 3))
    cut = [0, 1, 4, 7]

    def program():
        mine = slice(cut[jt.rank], cut[jt.rank + 1])
        return normed(x[mine], upstream[mine])

    y, dx, mean, var = normed(x, upstream)
    for rank, got in enumerate(jt.simulate(3)(program)):
        mine = slice(cut[rank], cut[rank + 1])
        for a, b in zip(got, (y[mine], dx[mine], mean, var), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 10.0, 100.0, 1000.0])
def test_the_variance_survives_a_large_mean(mean):
    x = (np.random.default_rng(0).normal(size=(64, 2)) + mean).astype("float32")

    def program():
        return normed(x[jt.rank * 16 : jt.rank * 16 + 16], np.ones((16, 2), "float32"))[3]

    exact = x.astype("float64").var(0, ddof=1) * 0.1 + 0.9
    for got in jt.simulate(4)(program):
        np.testing.assert_allclose(got, exact, rtol=2e-6)


def test_sync_false_keeps_the_batch_of_the_rank():
    x = np.random.default_rng(0).normal(size=(6, 2))

    def program():
        mine = x[jt.rank * 3 : jt.rank * 3 + 3]
        return normed(mine, np.ones((3, 2)), sync=False)[0]

    for rank, got in enumerate(jt.simulate(2)(program)):
        np.testing.assert_allclose(got, normed(x[rank * 3 : rank * 3 + 3], np.ones((3, 2)))[0])


def test_in_eval_mode_nothing_is_said():
    def program(comm):
        norm = jt.nn.BatchNorm(2)
        norm.eval()
        return norm(jt.ones(3, 2)).sum().item()

    assert run_ranks(2, program).record.calls == []


ROWS = np.random.default_rng(0).normal(size=(10, 2)) * 3
AHEAD = {
    "as they come": lambda data: data,
    "a list of batches": list,
    "one fetched ahead": lambda data: fetched_ahead(data),
}


def fetched_ahead(batches):
    before = None
    for batch in batches:
        if before is not None:
            yield before
        before = batch
    yield before


def two_norms(kind):
    """Batches of 8 and 2: on four ranks two have no example of the second."""
    jt.set_global_seed(1)
    layers = jt.nn.Linear(2, 3), jt.nn.BatchNorm(3), jt.nn.Tanh(), jt.nn.Linear(3, 3), jt.nn.BatchNorm(3)
    net = jt.nn.Sequential(*layers).float64()
    optimizer = jt.optim.SGD(net.parameters(), 0.1)
    for (x,) in AHEAD[kind](jt.data.ArrayDataset(ROWS, batch_size=8)):
        optimizer.step(((net(x) - 0.3) ** 2).mean())
    return [v.numpy() for v in (*net.parameters(), *net.buffers())]


@pytest.mark.parametrize("kind", AHEAD)
def test_batch_norm_knows_the_batch_of_its_numbers_whichever_was_handed_out_last(kind):
    expected = two_norms(kind)

    for found in jt.simulate(4)(lambda: two_norms(kind)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_batch_norm_of_a_batch_fetched_before_the_last_one():
    def program():
        batches = iter(jt.data.ArrayDataset(ROWS, batch_size=8))
        (x, *_), (last, *_) = next(batches), next(batches)
        norm, other = (jt.nn.BatchNorm(2).float64() for _ in range(2))
        other(last), norm(x)
        return norm.running_mean.numpy(), other.running_mean.numpy()

    for found in jt.simulate(4)(program):
        np.testing.assert_allclose(found, program(), rtol=1e-10, atol=1e-12)


def test_messages_of_two_batches_do_not_mix_them_up_though_one_waits_for_the_other():
    def program():
        jt.set_global_seed(0)
        (x,), (last,) = list(jt.data.ArrayDataset(ROWS, batch_size=8))
        one, two = (jt.nn.BatchNorm(2).float64() for _ in range(2))
        with jt.no_grad():
            two(one(x).tanh()), two(one(last).tanh())
        return two.running_mean.numpy()

    for found in jt.simulate(4)(program):
        np.testing.assert_allclose(found, program(), rtol=1e-10, atol=1e-12)


def test_batch_norm_of_numbers_that_lead_back_to_no_batch_is_refused_where_it_matters():
    def program():
        (x,), (last,) = list(jt.data.ArrayDataset(ROWS, batch_size=8))
        with pytest.raises(ValueError, match="batches of 2 examples and 8 examples"):
            jt.nn.BatchNorm(2).float64()(jt.array(x.numpy()))
        return last.shape[0]

    assert jt.simulate(4)(program) == [1] * 4
