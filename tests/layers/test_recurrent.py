"""Recurrent layers beside PyTorch's: every argument, states given and not, padded and packed, there and back."""

import warnings

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.nn.rnn_weight_gradients import gates, moments, spread, turned
from tests.layers.harness import agrees

CELLS = {
    "RNNCell": [{}, {"bias": False}, {"nonlinearity": "relu"}],
    "GRUCell": [{}, {"bias": False}],
    "LSTMCell": [{}, {"bias": False}],
}
LAYERS = {
    "RNN": [
        {}, {"nonlinearity": "relu"}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True},
        {"bias": False, "num_layers": 2, "bidirectional": True, "nonlinearity": "relu"},
    ],
    "GRU": [
        {}, {"num_layers": 3}, {"bidirectional": True}, {"batch_first": True}, {"bias": False},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
    ],
    "LSTM": [
        {}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True}, {"bias": False}, {"proj_size": 2},
        {"num_layers": 2, "bidirectional": True, "batch_first": True, "proj_size": 1},
        {"num_layers": 2, "bidirectional": True, "bias": False},
    ],
}  # fmt: skip
WITHIN = [(name, settings) for name, many in LAYERS.items() for settings in many]
EACH_CELL = [(name, settings) for name, many in CELLS.items() for settings in many]


def pair(torch, name, settings):
    return getattr(nn, name)(3, 4, **settings), getattr(torch.nn, name)(3, 4, **settings)


def begin(rng, layer, batch):
    """States for a layer: one array, or two."""
    many = layer.num_layers * (1 + layer.bidirectional)
    widths = [layer.proj_size or layer.hidden_size, layer.hidden_size][: layer.states]
    parts = tuple(rng.normal(size=(many, *batch, n)) for n in widths)
    return parts if len(parts) > 1 else parts[0]


@pytest.mark.parametrize(("name", "settings"), EACH_CELL, ids=str)
def test_a_cell_agrees_with_pytorch(torch, rng, name, settings):
    ours, theirs = pair(torch, name, settings)
    h = [rng.normal(size=(2, 4)) for _ in range(ours.states)]

    agrees(torch, ours, theirs, rng.normal(size=(2, 3)), steps=1)
    agrees(torch, ours, theirs, rng.normal(size=(2, 3)), tuple(h) if len(h) > 1 else h[0], steps=1)
    agrees(torch, ours, theirs, rng.normal(size=3), steps=1)


@pytest.mark.parametrize(("name", "settings"), WITHIN, ids=str)
def test_a_layer_agrees_with_pytorch(torch, rng, name, settings):
    ours, theirs = pair(torch, name, settings)

    agrees(torch, ours, theirs, rng.normal(size=(2, 3, 3)), steps=1)


@pytest.mark.parametrize(("name", "settings"), WITHIN, ids=str)
def test_a_layer_that_is_given_its_state_agrees_with_pytorch(torch, rng, name, settings):
    ours, theirs = pair(torch, name, settings)
    x = rng.normal(size=(3, 2, 3))
    batch = x.shape[:1] if settings.get("batch_first") else x.shape[1:2]

    agrees(torch, ours, theirs, x, begin(rng, ours, batch), train=False)


@pytest.mark.parametrize(("name", "settings"), WITHIN, ids=str)
def test_a_single_sequence_needs_no_batch(torch, rng, name, settings):
    ours, theirs = pair(torch, name, settings)
    x = rng.normal(size=(3, 3))

    agrees(torch, ours, theirs, x, begin(rng, ours, ()), train=False)


@pytest.mark.parametrize(("name", "settings", "lengths"), [
    *((name, settings, [1, 4, 3]) for name, settings in WITHIN),
    *((name, settings, [4, 2, 1]) for name, many in LAYERS.items() for settings in (many[0], many[-1])),
], ids=str)  # fmt: skip
def test_packed_sequences_agree_with_pytorch(torch, rng, name, settings, lengths):
    ours, theirs = pair(torch, name, settings)
    x = rng.normal(size=(4, 3, 3))
    ordered = lengths == sorted(lengths, reverse=True)

    class Packed(nn.Module):
        def __init__(self):
            self.inner = ours

        def execute(self, x, *state):
            packed = nn.pack_padded_sequence(x, lengths, enforce_sorted=ordered)
            out, last = self.inner(packed, *state)
            assert out.batch_sizes.tolist() == packed.batch_sizes.tolist()
            return out.data, nn.pad_packed_sequence(out)[0], last

    class Theirs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = theirs

        def forward(self, x, *state):
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=ordered)
            out, last = self.inner(packed, *state)
            return out.data, torch.nn.utils.rnn.pad_packed_sequence(out)[0], last

    agrees(torch, Packed(), Theirs(), x, begin(rng, ours, (3,)), train=False)


@pytest.mark.parametrize("settings", [{}, {"batch_first": True}, {"padding_value": -1.5}, {"total_length": 6}], ids=str)
@pytest.mark.parametrize("lengths", [[5, 5, 2], [1, 2, 5]], ids=str)
def test_packing_and_padding_agree_with_pytorch(torch, rng, settings, lengths):
    x = rng.normal(size=(5, 3, 2))
    theirs = torch.nn.utils.rnn
    packed = nn.pack_padded_sequence(jt.array(x), jt.array(lengths), enforce_sorted=False)
    expected = theirs.pack_padded_sequence(torch.tensor(x), torch.tensor(lengths), enforce_sorted=False)

    out, counts = nn.pad_packed_sequence(packed, **settings)
    wanted, numbers = theirs.pad_packed_sequence(expected, **settings)

    assert packed.data.tolist() == expected.data.tolist()
    assert packed.batch_sizes.tolist() == expected.batch_sizes.tolist()
    assert out.tolist() == wanted.tolist() and counts.tolist() == numbers.tolist()


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_pad_sequence_agrees_with_pytorch(torch, rng, batch_first, side):
    parts = [rng.normal(size=(n, 2)) for n in (3, 1, 4)]
    settings = {"batch_first": batch_first, "padding_value": 0.5, "padding_side": side}

    ours = nn.pad_sequence([jt.array(p) for p in parts], **settings)
    theirs = torch.nn.utils.rnn.pad_sequence([torch.tensor(p) for p in parts], **settings)

    assert ours.tolist() == theirs.tolist()
    packed = nn.pack_sequence([jt.array(p) for p in parts], enforce_sorted=False)
    expected = torch.nn.utils.rnn.pack_sequence([torch.tensor(p) for p in parts], enforce_sorted=False)
    assert packed.data.tolist() == expected.data.tolist()


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("settings", [{}, {"batch_first": True, "padding_value": 0.5}, {"total_length": 6}], ids=str)
def test_who_has_looked_at_the_data_gets_what_others_get(rng, name, settings):
    layer = getattr(nn, name)(3, 2, bidirectional=True)
    x, lengths = jt.array(rng.normal(size=(5, 3, 3))), [2, 4, 1]
    weight = jt.array(rng.normal(size=(6, 3, 4)))

    def answers(look):
        packed = nn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        assert not look or packed.data.shape == (7, 3)
        out, last = layer(packed)
        assert (packed.padded is None, not look or out.data.shape == (7, 4)) == (look, True)
        padded, counts = nn.pad_packed_sequence(out, **settings)
        steps = padded.transpose(0, 1) if settings.get("batch_first") else padded
        loss = (steps * weight[: steps.shape[0]]).sum() + (last if name != "LSTM" else last[1]).sum()
        return [padded, jt.array(counts), *jt.grad(loss, [x, *layer.parameters()])]

    with jt.flag_scope(backend="python"):
        for a, b in zip(answers(look=False), answers(look=True), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_data_of_a_packed_sequence_that_change_are_what_counts():
    packed = nn.pack_padded_sequence(jt.ones(3, 2), [3, 1])
    data, *_ = packed
    data.assign(data * 2)

    assert nn.pad_packed_sequence(packed)[0].tolist() == [[2, 2], [2, 0], [2, 0]]
    assert nn.pad_packed_sequence(packed._replace(data=data * 2))[0].tolist() == [[4, 4], [4, 0], [4, 0]]
    assert jt.grad(nn.pad_packed_sequence(packed)[0].sum(), packed.data).shape == (4,)


def test_what_stands_behind_the_end_of_a_sequence_has_no_part_in_it():
    layer, x = nn.GRU(1, 1), jt.array([[[1.0], [1.0]], [[1.0], [np.nan]]])

    out, last = layer(nn.pack_padded_sequence(x, [2, 1]))
    found = jt.grad(nn.pad_packed_sequence(out)[0].sum() + last.sum(), [x, *layer.parameters()])

    assert all(np.isfinite(g.numpy()).all() for g in found)
    assert found[0][1, 1].item() == 0


def test_batches_of_other_lengths_are_planned_once(monkeypatch):
    layer, made, make = nn.LSTM(2, 3), [], jt.runtime.execute.make_plan
    monkeypatch.setattr(jt.runtime.execute, "make_plan", lambda *args: made.append(1) or make(*args))
    plans = []

    with jt.flag_scope(backend="python"):
        for lengths in ([4, 3, 1], [4, 1, 1], [4, 4, 4], [4, 2, 2]):
            made.clear()
            out, _ = layer(nn.pack_padded_sequence(jt.ones(5, 3, 2), lengths))
            jt.sync(jt.grad(nn.pad_packed_sequence(out)[0].sum(), layer.parameters()))
            plans.append(len(made))

    assert plans[0] > 0
    assert plans[2:] == [0, 0], plans  # the second finds the layer's template


def test_a_layer_that_reads_packed_sequences_batch_first_packs_batch_first(torch, rng):
    x = rng.normal(size=(3, 5, 2))

    ours = nn.pack_padded_sequence(jt.array(x), [5, 3, 1], batch_first=True)
    theirs = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), torch.tensor([5, 3, 1]), batch_first=True)

    assert ours.data.tolist() == theirs.data.tolist()


def test_dropout_stands_between_layers_while_training(seed):
    jt.set_global_seed(seed)
    x = jt.randn(4, 2, 3)
    layer = nn.LSTM(3, 4, num_layers=2, dropout=1.0)
    with pytest.warns(UserWarning, match="has only one"):
        single = nn.LSTM(3, 4, num_layers=1, dropout=1.0)

    forgotten, used = layer.train()(x)[0].numpy(), layer.eval()(x)[0].numpy()

    assert np.ptp(forgotten, axis=1).max() < 1e-6  # the second layer saw nothing of x
    assert np.ptp(used, axis=1).max() > 1e-3
    assert (single.train()(x)[0].numpy() == single.eval()(x)[0].numpy()).all()


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_second_gradients_agree_with_pytorch(torch, rng, name):
    ours, theirs = getattr(nn, name)(2, 2), getattr(torch.nn, name)(2, 2)
    ours.double().load_state_dict({k: v.detach().numpy() for k, v in theirs.double().state_dict().items()})
    a = rng.normal(size=(3, 1, 2))
    x, t = jt.array(a), torch.tensor(a, requires_grad=True)

    with jt.flag_scope(backend="python"):
        first = jt.grad((ours(x)[0] ** 3).sum(), [x, ours.weight_hh_l0])
        second = jt.grad(sum((g * g).sum() for g in first), x)
        wanted = torch.autograd.grad((theirs(t)[0] ** 3).sum(), [t, theirs.weight_hh_l0], create_graph=True)
        expected = torch.autograd.grad(sum((g * g).sum() for g in wanted), t)[0]
        np.testing.assert_allclose(second.numpy(), expected.numpy(), rtol=1e-8)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_second_gradients_by_the_weights_of_the_steps_agree_with_pytorch(torch, rng, name):
    ours, theirs = getattr(nn, name)(2, 2), getattr(torch.nn, name)(2, 2)
    ours.double().load_state_dict({k: v.detach().numpy() for k, v in theirs.double().state_dict().items()})
    a = rng.normal(size=(3, 1, 2))
    x, t = jt.array(a), torch.tensor(a, requires_grad=True)

    with jt.flag_scope(backend="python"):
        first = jt.grad((ours(x)[0] ** 3).sum(), [ours.weight_hh_l0, ours.weight_ih_l0])
        second = jt.grad(sum((g * g).sum() for g in first), ours.weight_hh_l0)
        wanted = torch.autograd.grad(
            (theirs(t)[0] ** 3).sum(), [theirs.weight_hh_l0, theirs.weight_ih_l0], create_graph=True
        )
        expected = torch.autograd.grad(sum((g * g).sum() for g in wanted), theirs.weight_hh_l0)[0]
        np.testing.assert_allclose(second.numpy(), expected.numpy(), rtol=1e-8)


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_compiled_kernels_compute_what_plain_python_computes(rng, name):
    layer, x = getattr(nn, name)(3, 4, num_layers=2), jt.array(rng.normal(size=(4, 2, 3)))

    def numbers():
        out = layer(x)[0]
        return [v.numpy() for v in (out, *jt.grad((out * out).sum(), layer.parameters()))]

    with jt.flag_scope(backend="python"):
        slow = numbers()

    for a, b in zip(numbers(), slow, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def kernels(explained):
    return int(str(explained).split(" kernel", 1)[0])


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_a_step_is_one_product_and_one_kernel(name):
    layer = getattr(nn, name)(3, 4)

    few, many = (kernels(jt.explain(layer(jt.zeros(t, 300, 3))[0])) for t in (4, 12))

    assert many - few == 8 * 2 - 1  # 4 outputs are put side by side by a kernel, 12 where each is computed


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_going_back_a_weight_costs_one_product_for_all_moments(name):
    layer = getattr(nn, name)(3, 4)

    def products(moments):
        with jt.flag_scope(backend="python"), jt.trace() as told:
            jt.grad((layer(jt.ones(moments, 2, 3))[0] ** 2).sum(), layer.weight_hh_l0).sync()
        return sum(k.source.count("np.dot") for k in told.kernels)

    assert products(9) - products(5) == 4 * 2  # there and back: a product each; the weight's is the same one


def wholes(told):
    """How many arrays are written part by part, where the parts are computed."""
    return len({d.target for d in told.decisions if "where concat wants it" in d.reason})


def test_going_back_the_gates_of_a_step_are_put_beside_each_other_once():
    layer = nn.LSTM(3, 4)

    def joined(moments):
        with jt.flag_scope(backend="python"), jt.trace() as told:
            jt.grad((layer(jt.ones(moments, 2, 3))[0] ** 2).sum(), list(layer.parameters()))[0].sync()
        assert not any(k.name == "concat" for k in told.kernels), "each is written where it is computed"
        return wholes(told)

    assert joined(14) - joined(10) == 4


def test_pieces_put_their_gradients_beside_each_other_and_so_does_a_sum_of_products(rng):
    x, w = jt.array(rng.normal(size=(3, 2, 4))), jt.array(rng.normal(size=(4, 4)))
    u = turned(w)
    (first,), (second,), (third,) = moments(x)

    with jt.flag_scope(backend="python"):
        dx, dw = jt.grad((first @ u * 1 + second @ u * 2 + third @ u * 3).sum(), [x, w])
        part = jt.grad((second * second).sum(), x)
        halves = jt.grad((gates(first, 2)[0] * gates(first, 2)[1]).sum(), x)

    factors = np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1)
    rows = np.broadcast_to(factors * w.numpy().sum(0), x.shape)
    np.testing.assert_allclose(dx.numpy(), rows, rtol=1e-12, err_msg="all of them")
    np.testing.assert_allclose(dw.numpy(), np.tile((factors * x.numpy()).sum((0, 1)), (4, 1)), rtol=1e-12)
    np.testing.assert_allclose(part.numpy(), x.numpy() * np.array([0, 2, 0]).reshape(3, 1, 1), err_msg="one of them")
    np.testing.assert_allclose(halves.numpy()[0], np.roll(x.numpy()[0], 2, axis=1), err_msg="pieces of a piece")


def test_products_of_several_sizes_with_one_weight_are_added_up(rng):
    w, few, many = (
        jt.array(rng.normal(size=(3, 4))),
        jt.array(rng.normal(size=(2, 4))),
        jt.array(rng.normal(size=(5, 4))),
    )
    u = turned(w)

    with jt.flag_scope(backend="python"):
        total = (few @ u).sum() + (many @ u).sum()
        dw, more = jt.grad(total, w), jt.grad(total + (u * u).sum(), w)

    expected = np.tile(few.numpy().sum(0) + many.numpy().sum(0), (3, 1))
    np.testing.assert_allclose(dw.numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(more.numpy(), expected + 2 * w.numpy(), rtol=1e-12, err_msg="not all are products")


def test_gates_of_all_moments_put_their_gradients_beside_each_other(rng):
    x = jt.array(rng.normal(size=(3, 2, 4)))
    factors = np.arange(1.0, 13).reshape(3, 1, 4).repeat(2, 1)

    with jt.flag_scope(backend="python"), jt.trace() as told:
        parts = [part for row in moments(x, 4) for part in row]
        weighted = zip(parts, factors[:, 0].reshape(-1), strict=True)
        dx = jt.grad(sum((part * k).sum() for part, k in weighted), x).sync()

    np.testing.assert_allclose(dx.numpy(), factors, rtol=1e-12)
    assert wholes(told) == 3, "the gates of a moment are put side by side once"


def test_a_bias_that_is_added_at_many_moments_has_one_sum_as_its_gradient(rng):
    b, many = jt.array(rng.normal(size=4)), [jt.array(rng.normal(size=(3, 4))) for _ in range(5)]
    u = spread(b)

    with jt.flag_scope(backend="python"):
        total = sum(((x + u) ** 3).sum() for x in many)
        with jt.trace() as told:
            first = jt.grad(total, b).sync()
        second = jt.grad((jt.grad(total, b) ** 2).sum(), b)
        other = jt.grad(total + (u * u).sum(), b)

    sums = sum(((x.numpy() + b.numpy()) ** 2 * 3).sum(0) for x in many)
    np.testing.assert_allclose(first.numpy(), sums, rtol=1e-12)
    np.testing.assert_allclose(second.numpy(), 2 * sums * sum((x.numpy() + b.numpy()) * 6 for x in many).sum(0))
    np.testing.assert_allclose(other.numpy(), sums + 2 * b.numpy(), err_msg="not all are sums over rows")
    assert sum(b.op == "sum" and b.shape == (4,) for b in told.built) == 1


@pytest.mark.parametrize("uses", [1, 8])
def test_a_turned_weight_has_the_gradients_of_a_transposed_one(rng, uses):
    w = jt.array(rng.normal(size=(5, 4)))
    many = [jt.array(rng.normal(size=(3, 4))) for _ in range(uses)]

    with jt.flag_scope(backend="python"):
        u = turned(w, uses)
        first = jt.grad(sum(((x @ u) ** 3).sum() for x in many), w)
        second = jt.grad((first * first).sum(), w)
        plain = jt.grad(sum(((x @ w.transpose(0, 1)) ** 3).sum() for x in many), w)
        again = jt.grad((plain * plain).sum(), w)

    np.testing.assert_allclose(first.numpy(), plain.numpy(), rtol=1e-10)
    np.testing.assert_allclose(second.numpy(), again.numpy(), rtol=1e-10)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_the_steps_of_a_layer_run_as_python_once_and_are_copied_from_then_on(name, monkeypatch):
    layer, runs = getattr(nn, name)(3, 4), []
    kind = layer.step

    def counted(*given):
        runs.append(1)
        return kind(*given)

    monkeypatch.setattr(type(layer), "step", staticmethod(counted))
    with jt.flag_scope(backend="python"):
        built, copied, longer = (layer(jt.ones(t, 2, 3))[0].numpy() for t in (5, 5, 6))

    assert len(runs) == 5 + 6
    np.testing.assert_array_equal(built, copied)
    np.testing.assert_array_equal(built, longer[:5])


def test_a_long_sequence_turns_its_weight_once_and_a_short_one_not_at_all(seed):
    jt.set_global_seed(seed)
    layer = nn.RNN(128, 512)

    def told(moments):
        with jt.trace() as t:
            layer(jt.randn(moments, 32, 128))[0].sync()
        return [k.algorithm or k.name for k in t.kernels if k.kind == "product" or k.name == "transpose"]

    assert told(3) == ["BLAS"] + ["dots"] * 3
    assert told(9) == ["BLAS", "transpose"] + ["rows"] * 9


def test_a_recurrent_layer_learns_to_remember_the_first_number(seed):
    jt.set_global_seed(seed)
    layer, read = nn.GRU(1, 8), nn.Linear(8, 1)
    optimizer = jt.optim.Adam([*layer.parameters(), *read.parameters()], lr=0.02)
    x = jt.rand(6, 16, 1)

    def loss():
        return nn.mse_loss(read(layer(x)[1][0]), x[0])

    before = loss().item()
    for _ in range(60):
        optimizer.step(loss())

    assert loss().item() < before / 5


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_step_without_laziness_is_the_same(kind):
    x = np.random.default_rng(5).standard_normal((9, 2, 3)).astype("float32")
    found = []
    for lazy in (True, False):
        jt.set_global_seed(3)
        net = kind(3, 4)
        with jt.flag_scope(lazy_execution=lazy):
            loss = (net(jt.array(x))[0] ** 2).sum()
            jt.optim.SGD(net.parameters(), lr=0.1).step(loss)
        found.append([p.numpy() for p in net.parameters()])

    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


class Fading(nn.GRU):
    """A layer with a step of its own."""

    share = 1.0

    def step(self, now, past, state):
        return (super().step(now, past, state)[0] * self.share,)


def test_a_step_of_ones_own_reads_what_is_there_now():
    net, x = Fading(3, 4), jt.ones(5, 2, 3)
    first = net(x)[0].numpy()
    net.share = 0.0

    assert (first != 0).all()
    assert (net(x)[0].numpy() == 0).all()


def test_the_nonlinearity_of_an_rnn_may_change():
    for net, x in ((nn.RNN(3, 4), jt.ones(5, 2, 3)), (nn.RNNCell(3, 4), jt.ones(2, 3))):
        before = [v.numpy() for v in net(x)]
        net.nonlinearity = "relu"
        after = [v.numpy() for v in net(x)]
        assert (before[0] < 0).any() and (after[0] >= 0).all()


@pytest.mark.parametrize("name", ["RNN", "RNNCell"])
def test_the_gradient_of_relu_at_0_is_0(torch, name):
    settings = {"nonlinearity": "relu", "bias": False}
    shape = (3, 1, 2) if name == "RNN" else (1, 2)
    ours, theirs = getattr(nn, name)(2, 2, **settings), getattr(torch.nn, name)(2, 2, **settings)

    agrees(torch, ours, theirs, np.zeros(shape))


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_a_single_layer_says_that_its_dropout_changes_nothing(name):
    with pytest.warns(UserWarning, match=f"{name} applies dropout between layers, and has only one: dropout=0.5"):
        getattr(nn, name)(1, 1, dropout=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(nn, name)(1, 1, num_layers=2, dropout=0.5), getattr(nn, name)(1, 1)
