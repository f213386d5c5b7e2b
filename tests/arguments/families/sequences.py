"""Sequences: recurrent layers, attention and transformers, packed and padded; settings, and arguments of a call."""

import numpy as np

import jt_edu as jt
from jt_edu import nn
from tests.arguments.inputs import some
from tests.arguments.rows import Given, Row, as_torch, calling, layer, making, shows

LINE = some(3, 2, 4)  # (t, n, width)
SHORT = some(2, 2, 4, seed=1)
STATE = some(2, 3)
PADDED = np.array([[False, True, True], [False, False, True]])  # (n, t)
SHORT_PADDED = PADDED[:, :2]


def mask(rows: int, columns: int) -> np.ndarray:
    """True where a query may not look: behind its own place."""
    return np.triu(np.ones((rows, columns), bool), 1)


# ------------------------------------------------------------------------------------------------------------ recurrent

DEEP = {"dropout": Given(1.0, num_layers=2)}
RECURRENT = {"num_layers": 2, "bias": False, "batch_first": True, "bidirectional": True, **DEEP}


def cells() -> list[Row]:
    rows = layer(nn.RNNCell, 4, 3, on=[LINE[0]], nonlinearity="relu")
    for kind in (nn.RNNCell, nn.GRUCell, nn.LSTMCell):
        state = (STATE, STATE + 1) if kind is nn.LSTMCell else STATE
        rows += layer(kind, 4, 3, on=[LINE[0]], bias=False)
        rows += calling(lambda lib, name=kind.__name__: getattr(lib.nn, name)(4, 3), [LINE[0]], kind.execute,
                        words={"state": "hx"}, state=state)  # fmt: skip
    return rows


def recurrent() -> list[Row]:
    rows = layer(nn.RNN, 4, 3, on=[LINE], nonlinearity="relu") + layer(nn.LSTM, 4, 3, on=[LINE], proj_size=2)
    for kind in (nn.RNN, nn.GRU, nn.LSTM):
        rows += layer(kind, 4, 3, on=[LINE], **RECURRENT)
    return rows + calling(
        lambda lib: lib.nn.GRU(4, 3), [LINE], nn.GRU.execute, words={"state": "hx"}, state=STATE[None]
    )


# ------------------------------------------------------------------------------------------------------------ attention


def attention(**settings):
    return lambda library: library.nn.MultiheadAttention(4, 2, **settings)


def masked(whose, make, on, word, **masks) -> list[Row]:
    """A flag `word` that stands for a mask: the same answer as the mask itself, which is held to PyTorch's."""

    def call(**given):
        return make(jt).eval()(*map(jt.array, on), **given)

    (name, value), *_ = masks.items()
    jt.set_global_seed(0)
    return shows(whose, word, True, _seeded(call), lambda torch: _seeded(call)(**{name: jt.array(value)}))


def _seeded(call):
    """Layers that are made anew start alike."""

    def again(**given):
        jt.set_global_seed(0)
        return call(**given)

    return again


def attends() -> list[Row]:
    whose, on = nn.MultiheadAttention.execute, [LINE, LINE, LINE]
    q, k = some(2, 6, 4, 3), some(2, 2, 5, 3)
    settings = {"bias": False, "add_bias_kv": True, "add_zero_attn": True, "batch_first": True, "dropout": 1.0}
    return [
        *layer(nn.MultiheadAttention, 4, 2, on=on, **settings),
        *layer(nn.MultiheadAttention, 4, 2, on=[LINE, some(3, 2, 3), LINE], kdim=3),
        *layer(nn.MultiheadAttention, 4, 2, on=[LINE, LINE, some(3, 2, 3)], vdim=3),
        *calling(attention(), on, whose, key_padding_mask=PADDED, need_weights=False, attn_mask=mask(3, 3),
                 average_attn_weights=False),
        *masked(whose, attention(), on, "is_causal", attn_mask=mask(3, 3)),
        *as_torch(nn.scaled_dot_product_attention, q, q, q, attn_mask=some(4, 4), is_causal=True, scale=0.3,
                  dropout_p=1.0),
        *as_torch(nn.scaled_dot_product_attention, q, k, k, enable_gqa=True),
    ]  # fmt: skip


# --------------------------------------------------------------------------------------------------------- transformers

SETTINGS = {
    "dim_feedforward": 7, "dropout": 1.0, "activation": "gelu", "layer_norm_eps": 0.5, "norm_first": True,
    "bias": False,
}  # fmt: skip


def encoder_layer(library, **settings):
    return library.nn.TransformerEncoderLayer(4, 2, **{**LITTLE, **settings})


def decoder_layer(library, **settings):
    return library.nn.TransformerDecoderLayer(4, 2, **{**LITTLE, **settings})


def encoder(library, **settings):
    return library.nn.TransformerEncoder(encoder_layer(library), 1, **settings)


def decoder(library, **settings):
    return library.nn.TransformerDecoder(decoder_layer(library), 1, **settings)


def whole(library, **settings):
    return library.nn.Transformer(**{**SMALL, **settings})


LITTLE = {"dim_feedforward": 6, "dropout": 0.0}
SMALL = {"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1, **LITTLE}
READ = {"src_key_padding_mask": PADDED}
WRITTEN = {
    "tgt_mask": mask(2, 2), "memory_mask": mask(2, 3), "tgt_key_padding_mask": SHORT_PADDED,
    "memory_key_padding_mask": PADDED,
}  # fmt: skip


def transforms() -> list[Row]:
    coder = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    rows = [
        *making(encoder_layer, [LINE], coder[0], batch_first=True, **SETTINGS),
        *making(decoder_layer, [SHORT, LINE], coder[1], **SETTINGS),
        *making(decoder_layer, [LINE, LINE], coder[1], batch_first=True),
        *calling(encoder_layer, [LINE], coder[0].execute, src_mask=mask(3, 3), **READ),
        *calling(encoder, [LINE], nn.TransformerEncoder.execute, mask=mask(3, 3), **READ),
        *masked(coder[0].execute, encoder_layer, [LINE], "is_causal", src_mask=mask(3, 3)),
        *masked(nn.TransformerEncoder.execute, encoder, [LINE], "is_causal", mask=mask(3, 3)),
        *calling(whole, [LINE, SHORT], nn.Transformer.execute, src_mask=mask(3, 3), **READ, **WRITTEN),
        *masked(nn.Transformer.execute, whole, [LINE, SHORT], "src_is_causal", src_mask=mask(3, 3)),
    ]
    both = ((decoder_layer, coder[1], [SHORT, LINE]), (decoder, nn.TransformerDecoder, [SHORT, LINE]))
    for make, kind, on in both:
        rows += calling(make, on, kind.execute, **WRITTEN)
    for make, kind, on in (*both, (whole, nn.Transformer, [LINE, SHORT])):
        rows += masked(kind.execute, make, on, "tgt_is_causal", tgt_mask=mask(2, 2))
        rows += masked(kind.execute, make, on, "memory_is_causal", memory_mask=mask(2, 3))
    return rows


def wholes() -> list[Row]:
    """Of Transformer itself: sizes, halves of one's own, norms of towers, and the settings that it hands on."""
    settings = {**SETTINGS, "num_encoder_layers": 2, "num_decoder_layers": 2, "nhead": 4}
    norm = nn.LayerNorm(4)
    rows = [
        *making(whole, [LINE, SHORT], nn.Transformer, **settings),
        *making(whole, [LINE, LINE], nn.Transformer, batch_first=True),
        *shows(nn.Transformer, "d_model", 9, _width, 9),
    ]
    for word in ("custom_encoder", "custom_decoder"):
        half = nn.Identity()
        rows += shows(nn.Transformer, word, half, lambda w=word, h=half, **k: getattr(whole(jt, **k), w[7:]) is h)
    for make, kind in ((encoder, nn.TransformerEncoder), (decoder, nn.TransformerDecoder)):
        rows += shows(kind, "norm", norm, lambda make=make, **k: make(jt, **k).norm is norm)
    return rows


def _width(**given):
    """How wide words are: 512 unless somebody says so, and three heads do not share that."""
    settings = {name: value for name, value in SMALL.items() if name != "d_model"}
    return nn.Transformer(**{**settings, "nhead": 3}, **given).encoder.layers[0].linear1.weight.shape[1]


# ---------------------------------------------------------------------------------------------------- packed and padded

PARTS = [some(3, 2), some(1, 2, seed=1)]


def packing(**given):
    return nn.pack_padded_sequence(jt.array(LINE), [3, 2], **given)


PACKS = [
    *as_torch(nn.pad_sequence, PARTS, twin=lambda t, parts, **k: t.nn.utils.rnn.pad_sequence(parts, **k),
              batch_first=True, padding_value=7.0, padding_side="left"),
    *shows(nn.pack_padded_sequence, "batch_first", True,
           lambda **k: nn.pack_padded_sequence(jt.array(SHORT), [2, 1], **k).data, SHORT.reshape(4, 4)[[0, 2, 1]]),
    *shows(nn.pack_padded_sequence, "enforce_sorted", False,
           lambda **k: nn.pack_padded_sequence(jt.array(SHORT), [1, 2], **k).batch_sizes, np.array([2, 1])),
    *shows(nn.pack_sequence, "enforce_sorted", False,
           lambda **k: nn.pack_sequence([jt.array(p) for p in PARTS[::-1]], **k).batch_sizes, np.array([2, 1, 1])),
    *shows(nn.pad_packed_sequence, "batch_first", True,
           lambda **k: nn.pad_packed_sequence(packing(), **k)[0].shape, (2, 3, 4)),
    *shows(nn.pad_packed_sequence, "padding_value", 7.0,
           lambda **k: nn.pad_packed_sequence(packing(), **k)[0][2, 1], np.full(4, 7.0)),
    *shows(nn.pad_packed_sequence, "total_length", 5,
           lambda **k: nn.pad_packed_sequence(packing(), **k)[0].shape, (5, 2, 4)),
    *(row for word in ("sorted_indices", "unsorted_indices") for row in shows(
        nn.PackedSequence, word, [1, 0], lambda w=word, **k: getattr(nn.PackedSequence(LINE, [2], **k), w), [1, 0])),
]  # fmt: skip

ROWS = [*cells(), *recurrent(), *attends(), *transforms(), *wholes(), *PACKS]
