"""Attention and transformers beside PyTorch's: every argument, every mask, with PyTorch's names of parameters."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, ShapeError
from tests.layers.harness import agrees

INF = math.inf


class Call(nn.Module):
    """A function as a layer, for the harness."""

    def __init__(self, function, **settings):
        self.function, self.settings = function, settings

    def execute(self, *args):
        return self.function(*args, **self.settings)


def torch_call(torch, **settings):
    class Theirs(torch.nn.Module):
        def forward(self, *args):
            return torch.nn.functional.scaled_dot_product_attention(*args, **settings)

    return Theirs()


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [((4, 3), (5, 3), (5, 2)), ((2, 4, 3), (2, 5, 3), (2, 5, 3)), ((2, 3, 4, 2), (2, 3, 1, 2), (2, 3, 1, 2))],
    ids=str,
)
@pytest.mark.parametrize("settings", [{}, {"is_causal": True}, {"scale": 0.3}], ids=str)
def test_scaled_dot_product_attention_agrees_with_pytorch(torch, rng, q, k, v, settings):
    inputs = [rng.normal(size=s) for s in (q, k, v)]

    agrees(torch, Call(nn.scaled_dot_product_attention, **settings), torch_call(torch, **settings), *inputs, steps=1)


@pytest.mark.parametrize("shape", [(4, 5), (2, 1, 4, 5), (1, 5), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_agree_with_pytorch(torch, rng, shape, kind):
    q, k, v = (rng.normal(size=(2, 3, n, 3)) for n in (4, 5, 5))
    mask = rng.random(size=shape) > 0.4 if kind == "bool" else rng.normal(size=shape)
    ours, theirs = Call(nn.scaled_dot_product_attention), torch_call(torch)

    agrees(torch, ours, theirs, q, k, v, mask, train=False)


def test_a_query_that_may_look_nowhere_answers_0_and_has_no_nan_in_its_gradient():
    x = jt.array([[1.0, 2.0], [3.0, 4.0]])
    mask = jt.array([[False, False], [True, False]])

    out = nn.scaled_dot_product_attention(x, x, x, mask)

    assert out.tolist() == [[0.0, 0.0], [1.0, 2.0]]
    assert np.isfinite(jt.grad((out * out).sum(), x).numpy()).all()


def test_groups_of_queries_share_their_keys_as_in_pytorch(torch, rng):
    q, k = rng.normal(size=(2, 6, 4, 3)), rng.normal(size=(2, 2, 5, 3))

    agrees(
        torch, Call(nn.scaled_dot_product_attention, enable_gqa=True), torch_call(torch, enable_gqa=True), q, k, k,
        train=False,
    )  # fmt: skip


def test_dropout_forgets_weights(seed):
    jt.set_global_seed(seed)
    x = jt.ones(1, 200, 4)

    gone = nn.scaled_dot_product_attention(x, x, x, dropout_p=1.0)
    some = nn.scaled_dot_product_attention(x, x, x, dropout_p=0.5).numpy()

    assert (gone.numpy() == 0).all()
    assert abs(some.mean() - 1) < 0.05 and some.std() > 0.01


HEADS = [
    {}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 3, "vdim": 5}, {"batch_first": True},
    {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True, "kdim": 2},
]  # fmt: skip


def heads(torch, settings):
    return nn.MultiheadAttention(6, 2, **settings), torch.nn.MultiheadAttention(6, 2, **settings)


def looks(rng, layer, n=3, queries=4, keys=5):
    """A query, a key and a value for a layer."""
    shapes = ((queries, 6), (keys, layer.kdim), (keys, layer.vdim))
    return [rng.normal(size=(n, m, e) if layer.batch_first else (m, n, e)) for m, e in shapes]


@pytest.mark.parametrize("settings", HEADS, ids=str)
def test_multihead_attention_agrees_with_pytorch(torch, rng, settings):
    ours, theirs = heads(torch, settings)

    agrees(torch, ours, theirs, *looks(rng, ours), steps=1)


@pytest.mark.parametrize("settings", HEADS, ids=str)
def test_every_mask_of_multihead_attention_agrees_with_pytorch(torch, rng, settings):
    ours, theirs = heads(torch, settings)
    x = looks(rng, ours)
    padding = np.zeros((3, 5), bool)
    padding[:, 3:] = rng.random(size=(3, 2)) > 0.5
    forbidden, each = np.triu(np.ones((4, 5), bool), 2), np.zeros((6, 4, 5), bool)
    each[2, 1, 1:4] = True

    agrees(torch, ours, theirs, *x, key_padding_mask=padding, train=False)
    agrees(torch, ours, theirs, *x, attn_mask=forbidden, train=False)
    agrees(torch, ours, theirs, *x, attn_mask=each, key_padding_mask=padding, train=False)
    agrees(torch, ours, theirs, *x, attn_mask=rng.normal(size=(4, 5)), train=False)


@pytest.mark.parametrize("settings", HEADS, ids=str)
@pytest.mark.parametrize("asked", [{"need_weights": False}, {"average_attn_weights": False}], ids=str)
def test_answers_of_multihead_attention_agree_with_pytorch(torch, rng, settings, asked):
    ours, theirs = heads(torch, settings)
    x = looks(rng, ours)
    single = [a[0] if ours.batch_first else a[:, 0] for a in x]

    agrees(torch, ours, theirs, *x, train=False, **asked)
    agrees(torch, ours, theirs, *single, train=False, **asked)


def test_is_causal_is_the_mask_of_the_future(rng):
    layer, x = nn.MultiheadAttention(6, 2), jt.array(rng.normal(size=(4, 3, 6)).astype("float32"))
    future = np.triu(np.ones((4, 4), bool), 1)

    for a, b in zip(layer(x, x, x, is_causal=True), layer(x, x, x, attn_mask=future), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=3e-6)  # they may be added up in loops of their own


def test_heads_forget_weights_while_training():
    layer, x = nn.MultiheadAttention(6, 2, dropout=1.0), jt.ones(4, 1, 6)

    assert (layer.train()(x, x, x)[1].numpy() == 0).all()
    assert (layer.eval()(x, x, x)[1].numpy() > 0).all()


LAYERS = [
    {}, {"norm_first": True}, {"activation": "gelu"}, {"batch_first": True}, {"bias": False}, {"layer_norm_eps": 0.5},
    {"norm_first": True, "activation": "gelu", "batch_first": True},
]  # fmt: skip


@pytest.mark.parametrize("settings", LAYERS, ids=str)
def test_an_encoder_layer_agrees_with_pytorch(torch, rng, settings):
    ours, theirs = (m.TransformerEncoderLayer(4, 2, 3, 0.0, **settings) for m in (nn, torch.nn))
    x, padding = rng.normal(size=(3, 3, 4)), np.array([[False, False, True]] * 3)

    agrees(torch, ours, theirs, x, steps=1)
    agrees(
        torch, ours, theirs, x, src_mask=np.triu(np.ones((3, 3), bool), 1), src_key_padding_mask=padding, train=False
    )  # fmt: skip


@pytest.mark.parametrize("settings", LAYERS, ids=str)
def test_a_decoder_layer_agrees_with_pytorch(torch, rng, settings):
    ours, theirs = (m.TransformerDecoderLayer(4, 2, 3, 0.0, **settings) for m in (nn, torch.nn))
    x, memory = rng.normal(size=(3, 3, 4)), rng.normal(size=(3, 3, 4))
    masks = {
        "tgt_mask": np.triu(np.ones((3, 3), bool), 1),
        "memory_mask": np.eye(3) > 0,
        "tgt_key_padding_mask": np.array([[False, False, True]] * 3),
        "memory_key_padding_mask": np.array([[False] * 3, [False, False, True], [False] * 3]),
    }
    masks["memory_mask"][:, 1] = False

    agrees(torch, ours, theirs, x, memory, train=False, **masks)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("settings", [LAYERS[0], LAYERS[4], LAYERS[6]], ids=str)
def test_a_transformer_agrees_with_pytorch(torch, rng, settings):
    ours, theirs = (m.Transformer(2, 1, 2, 1, 3, 0.0, **settings) for m in (nn, torch.nn))
    src, tgt = (rng.normal(size=(2, n, 2) if ours.batch_first else (n, 2, 2)) for n in (3, 2))
    masks = {
        "tgt_mask": np.triu(np.ones((2, 2), bool), 1),
        "src_key_padding_mask": np.array([[False, False, True]] * 2),
    }

    agrees(torch, ours, theirs, src, tgt, train=False, **masks)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm", [False, True])
def test_towers_agree_with_pytorch(torch, rng, norm):
    def tower(m, kind):
        layer = getattr(m, f"Transformer{kind}Layer")(2, 1, 3, 0.0)
        return getattr(m, f"Transformer{kind}")(layer, 2, m.LayerNorm(2) if norm else None)

    x, memory = rng.normal(size=(3, 2, 2)), rng.normal(size=(4, 2, 2))

    agrees(torch, tower(nn, "Encoder"), tower(torch.nn, "Encoder"), x, mask=np.eye(3) > 0, train=False)
    agrees(torch, tower(nn, "Decoder"), tower(torch.nn, "Decoder"), x, memory, train=False)


def test_copies_in_a_tower_start_alike_and_are_not_the_same():
    tower = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 5), 2)
    first, second = (layer.linear1.weight for layer in tower.layers)

    assert first is not second and (first.numpy() == second.numpy()).all()
    assert len(tower.parameters()) == 2 * 12


def test_every_causal_flag_masks_the_future(rng):
    x = [jt.array(rng.normal(size=(3, 2, 4)).astype("float32")) for _ in range(2)]
    future = np.triu(np.ones((3, 3), bool), 1)
    model = nn.Transformer(4, 2, 1, 1, 5, 0.0)
    pairs = [("src_is_causal", "src_mask"), ("tgt_is_causal", "tgt_mask"), ("memory_is_causal", "memory_mask")]

    plain = model(*x).numpy()
    for flag, mask in pairs:
        found = model(*x, **{flag: True}).numpy()
        np.testing.assert_array_equal(found, model(*x, **{mask: future}).numpy(), flag)
        assert abs(found - plain).max() > 1e-4, flag


def test_layers_forget_while_training(seed):
    jt.set_global_seed(seed)
    layer = nn.TransformerEncoderLayer(4, 2, 5, dropout=0.5)
    x = jt.randn(3, 2, 4)

    assert abs(layer.train()(x).numpy() - layer.train()(x).numpy()).max() > 1e-3
    np.testing.assert_array_equal(layer.eval()(x).numpy(), layer.eval()(x).numpy())


def test_the_square_mask_is_pytorchs(torch):
    ours, theirs = (m.Transformer.generate_square_subsequent_mask(4) for m in (nn, torch.nn))

    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    assert ours.is_stop_grad()


def test_a_transformer_takes_parts_of_ones_own_and_be_they_empty():
    empty, own = nn.Sequential(), nn.Sequential()

    model = nn.Transformer(4, 2, 1, 1, 8, custom_encoder=empty, custom_decoder=own)

    assert model.encoder is empty
    assert model.decoder is own
    assert model.parameters() == []


def test_a_scale_may_be_a_number_of_numpy_or_be_learned(rng):
    x, scale = jt.array(rng.normal(size=(3, 2))), jt.array(0.3)

    learned = nn.scaled_dot_product_attention(x, x, x, scale=scale)

    np.testing.assert_allclose(
        learned.numpy(), nn.scaled_dot_product_attention(x, x, x, scale=np.float32(0.3)).numpy(), rtol=1e-6
    )
    assert jt.grad(learned[0, 0], scale).item() != 0


@pytest.mark.parametrize("size", [np.int64(3), np.int32(3), jt.array(3)], ids=repr)
def test_how_many_waves_there_are_may_be_any_whole_number(size):
    np.testing.assert_array_equal(nn.positional_encoding(size, 4).numpy(), nn.positional_encoding(3, 4).numpy())


@pytest.mark.parametrize("base", [10_000.0, 50.0])
def test_positions_are_waves_of_growing_length(base):
    t, p = np.arange(7)[:, None], np.arange(3)[None, :]
    angle = t * base ** (-2 * p / 6)

    found = nn.positional_encoding(7, 6, base).numpy()

    np.testing.assert_allclose(found[:, 0::2], np.sin(angle), atol=1e-6)
    np.testing.assert_allclose(found[:, 1::2], np.cos(angle), atol=1e-6)


def test_second_gradients_of_attention_agree_with_pytorch(torch, rng):
    ours, theirs = nn.MultiheadAttention(4, 2), torch.nn.MultiheadAttention(4, 2)
    ours.double().load_state_dict({k: v.detach().numpy() for k, v in theirs.double().state_dict().items()})
    a = rng.normal(size=(3, 1, 4))
    x, t = jt.array(a), torch.tensor(a, requires_grad=True)

    with jt.flag_scope(backend="python"):
        first = jt.grad((ours(x, x, x)[0] ** 3).sum(), x)
        second = jt.grad((first * first).sum(), x).numpy()
    wanted = torch.autograd.grad((theirs(t, t, t)[0] ** 3).sum(), t, create_graph=True)[0]
    expected = torch.autograd.grad((wanted * wanted).sum(), t)[0].numpy()

    np.testing.assert_allclose(second, expected, rtol=1e-8)


def test_compiled_kernels_compute_what_plain_python_computes(rng):
    layer, x = nn.MultiheadAttention(4, 2), jt.array(rng.normal(size=(3, 2, 4)))

    def numbers():
        out = layer(x, x, x, is_causal=True)[0]
        return [v.numpy() for v in (out, *jt.grad((out * out).sum(), layer.parameters()))]

    with jt.flag_scope(backend="python"):
        slow = numbers()

    for a, b in zip(numbers(), slow, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_attention_learns_where_to_look(seed):
    jt.set_global_seed(seed)
    layer, x = nn.MultiheadAttention(4, 1), jt.randn(5, 8, 4)
    optimizer = jt.optim.Adam(layer.parameters(), lr=0.02)

    def loss():
        return nn.mse_loss(layer(x, x, x)[0], x)

    before = loss().item()
    for _ in range(60):
        optimizer.step(loss())

    assert loss().item() < before / 2


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="multiple of num_heads"):
        nn.MultiheadAttention(6, 4)
    with pytest.raises(ShapeError, match=r"\(4, 4\)"):
        nn.MultiheadAttention(6, 2)(*[jt.ones(4, 3, 6)] * 3, attn_mask=jt.zeros(3, 3))


def test_a_mask_of_numbers_is_told_what_true_means_where_it_was_given():
    x, numbers = jt.ones(2, 3, 4), jt.ones(3, 3, dtype="int32")

    with pytest.raises(jt.base.errors.DtypeError, match="who may look"):
        nn.functional.scaled_dot_product_attention(x, x, x, numbers)
    with pytest.raises(jt.base.errors.DtypeError, match="who may not look"):
        nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, attn_mask=numbers)
