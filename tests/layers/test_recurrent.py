"""Recurrent layers beside PyTorch's: every argument, states given and not, padded and packed, there and back."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
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


@pytest.mark.parametrize(("name", "settings"), WITHIN, ids=str)
@pytest.mark.parametrize("lengths", [[4, 2, 1], [1, 4, 3]], ids=str)
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


def test_a_layer_that_reads_packed_sequences_batch_first_packs_batch_first(torch, rng):
    x = rng.normal(size=(3, 5, 2))

    ours = nn.pack_padded_sequence(jt.array(x), [5, 3, 1], batch_first=True)
    theirs = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), torch.tensor([5, 3, 1]), batch_first=True)

    assert ours.data.tolist() == theirs.data.tolist()


def test_dropout_stands_between_layers_while_training(seed):
    jt.set_global_seed(seed)
    x = jt.randn(4, 2, 3)
    layer = nn.LSTM(3, 4, num_layers=2, dropout=1.0)
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

    few, many = (kernels(jt.explain(layer(jt.zeros(t, 2, 3))[0])) for t in (4, 12))

    assert 8 * 2 <= many - few <= 8 * 2 + 2  # to put 12 outputs side by side takes some kernels more


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
