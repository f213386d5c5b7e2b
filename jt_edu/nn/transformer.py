"""Transformer: layers of attention and of two linear layers, each with a residual connection.

    encoder layer    x + attention(x)                      every word looks at every word
                     x + linear(activation(linear(x)))     and thinks about it, by itself

    decoder layer    has one more attention in between, whose keys and values are what the encoder answered

The sums keep a straight road open for the gradient. A layer norm stands behind each of them, or, with `norm_first`, on
the side road in front of each part.

Source: Vaswani et al. 2017 (arXiv:1706.03762); norm_first: Xiong et al. 2020 (arXiv:2002.04745).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import own
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import short
from jt_edu.nn.attention import MultiheadAttention, causal_mask
from jt_edu.nn.dropout import Dropout
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.initializers import xavier_uniform_
from jt_edu.nn.layer_norm import LayerNorm
from jt_edu.nn.linear import Linear, count
from jt_edu.nn.module import Module
from jt_edu.nn.sequential import ModuleList
from jt_edu.ops.activation import gelu, relu
from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.ops.create import index, zeros
from jt_edu.ops.trigonometry import COS, SIN
from jt_edu.variable.var import Var, as_var

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer", "generate_square_subsequent_mask", "positional_encoding"]  # fmt: skip
Bend = Callable[[Any], Var]


def positional_encoding(length: int, width: int, base: float = 10_000.0) -> Var:
    """Waves that encode the position of each word. They are added to the words, because attention ignores order.

        out[t, 2 * p]     = sin(t * base ** (-2 * p / width))
        out[t, 2 * p + 1] = cos(t * base ** (-2 * p / width))

    Args:
        length: how many places.
        width: numbers for each, an even one.
        base: wavelength of the slowest wave, divided by 2 pi.

    Returns:
        (length, width), not trained.

    Source: Vaswani et al. 2017 (arXiv:1706.03762).

    Example:
        >>> positional_encoding(2, 4).numpy().round(2)
        array([[0.  , 1.  , 0.  , 1.  ],
               [0.84, 0.54, 0.01, 1.  ]], dtype=float32)
    """
    name = "positional_encoding"
    shape = (whole(name, "length", length, 0), whole(name, "width", width, 2))
    if shape[1] % 2:
        raise ArgumentError(f"{name} takes width as an even number", f"width={short(width)}", f"width={shape[1] + 1}")
    base = number(name, "base", base, 0, above=True, finite=True)
    place, wave = index(shape, 0), index(shape, 1)
    slower = ((wave // 2).cast("float64") * (-2 * math.log(base) / shape[1])).apply(f.EXP)
    angle = place.cast("float64") * slower
    return angle.apply(COS).where_not(wave % 2 == 0, angle.apply(SIN)).cast("float32")


def generate_square_subsequent_mask(size: int) -> Var:
    """0 where a word may look, -inf at all later words: a float mask for attention.

    Example:
        >>> generate_square_subsequent_mask(2).numpy()
        array([[  0., -inf],
               [  0.,   0.]], dtype=float32)
    """
    n = whole("generate_square_subsequent_mask", "size", size, 1)
    return zeros(n, n).stop_grad().where_not(causal_mask(n, n).apply(f.LOGICAL_NOT), -math.inf)


class _Layer(Module):
    """What both kinds of layers share: a linear layer there and back, and where the norms stand."""

    def _build(
        self, d_model: int, dim_feedforward: int, dropout: float, activation: Any, norm_first: bool, bias: bool
    ) -> None:
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = yes_or_no(type(self).__name__, "norm_first", norm_first)
        self.activation = _bend(activation)

    def _think(self, x: Var) -> Var:
        out: Var = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return out

    def _added(self, x: Var, part: Callable[[Var], Var], norm: Module, drop: Module) -> Var:
        """x + part(x), with a norm behind the sum or in front of the part."""
        out: Var = x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))
        return out


def _bend(given: Any) -> Bend:
    known: dict[Any, Bend] = {"relu": relu, "gelu": gelu}
    if not callable(given) and given not in tuple(known):
        raise ArgumentError("the activation of a transformer is 'relu', 'gelu' or a function", short(given))
    chosen: Bend = given if callable(given) else known[given]
    return chosen


class TransformerEncoderLayer(_Layer):
    """x + attention(x), then x + linear(activation(linear(x))).

    Args:
        d_model: length of a word.
        nhead: how many heads look.
        dim_feedforward: width between the two linear layers.
        dropout: probability with which numbers are forgotten while training.
        activation: "relu", "gelu", or a function.
        layer_norm_eps: is added to the variance in the norms.
        batch_first: inputs are (n, l, d_model) instead of (l, n, d_model).
        norm_first: norms stand in front of the parts, not behind the sums.
        bias: whether linear layers and norms add something.

    Example:
        >>> TransformerEncoderLayer(6, 2, 8)(jt.ones(4, 2, 6)).shape
        (4, 2, 6)
    """

    @takes_placement
    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self._build(d_model, dim_feedforward, dropout, activation, norm_first, bias)
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)

    def execute(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Var:
        """(l, n, d_model) -> (l, n, d_model); masks as in `MultiheadAttention`."""

        def look(x: Var) -> Var:
            out: Var = self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]
            return out

        x = self._added(as_var(src), look, self.norm1, self.dropout1)
        return self._added(x, self._think, self.norm2, self.dropout2)


class TransformerDecoderLayer(_Layer):
    """x + attention(x), x + attention(x, memory), x + linear(activation(linear(x))).

    Arguments as in `TransformerEncoderLayer`.

    Example:
        >>> TransformerDecoderLayer(6, 2, 8)(jt.ones(4, 2, 6), jt.ones(5, 2, 6)).shape
        (4, 2, 6)
    """

    @takes_placement
    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
    ) -> None:  # fmt: skip
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self._build(d_model, dim_feedforward, dropout, activation, norm_first, bias)
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(3))

    def execute(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Var:  # fmt: skip
        """Words (l, n, d_model), and what the encoder answered, (s, n, d_model) -> (l, n, d_model)."""
        seen = as_var(memory)

        def look(x: Var) -> Var:
            out: Var = self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]
            return out

        def read(x: Var) -> Var:
            masks = (memory_key_padding_mask, False, memory_mask)
            out: Var = self.multihead_attn(x, seen, seen, *masks, is_causal=memory_is_causal)[0]
            return out

        x = self._added(as_var(tgt), look, self.norm1, self.dropout1)
        x = self._added(x, read, self.norm2, self.dropout2)
        return self._added(x, self._think, self.norm3, self.dropout3)


class _Tower(Module):
    """Copies of a layer above each other, and a norm on top, or none."""

    def __init__(self, layer: Any, num_layers: int, norm: Any = None) -> None:
        if not isinstance(layer, Module) or not (norm is None or isinstance(norm, Module)):
            raise ArgumentError(f"{type(self).__name__} is made of a layer and a norm", f"{layer!r}, {norm!r}")
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(count(self, "num_layers", num_layers))])
        self.num_layers, self.norm = num_layers, norm

    def _climb(self, x: Any, *others: Any, **masks: Any) -> Var:
        for layer in self.layers:
            x = layer(x, *others, **masks)
        out: Var = x if self.norm is None else self.norm(x)
        return out


class TransformerEncoder(_Tower):
    """A stack of copies of an encoder layer; they start alike, and learn to differ.

    Args:
        encoder_layer: a `TransformerEncoderLayer`, which is copied.
        num_layers: how often.
        norm: a layer at the end, or None.

    Example:
        >>> TransformerEncoder(TransformerEncoderLayer(6, 2, 8), 3)(jt.ones(4, 2, 6)).shape
        (4, 2, 6)
    """

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def execute(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Var:
        """(l, n, d_model) -> (l, n, d_model); masks as in `MultiheadAttention`."""
        masks = {"src_mask": mask, "src_key_padding_mask": src_key_padding_mask, "is_causal": is_causal}
        return self._climb(src, **masks)


class TransformerDecoder(_Tower):
    """A stack of copies of a decoder layer.

    Args:
        decoder_layer: a `TransformerDecoderLayer`, which is copied.
        num_layers: how often.
        norm: a layer at the end, or None.

    Example:
        >>> layer = TransformerDecoderLayer(6, 2, 8)
        >>> TransformerDecoder(layer, 3)(jt.ones(4, 2, 6), jt.ones(5, 2, 6)).shape
        (4, 2, 6)
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def execute(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Var:  # fmt: skip
        """Words (l, n, d_model), and what the encoder answered, (s, n, d_model) -> (l, n, d_model)."""
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal)
        return self._climb(tgt, memory, *masks)


class Transformer(Module):
    """An encoder that reads, and a decoder that writes while it looks at what was read.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: as in
            `TransformerEncoderLayer`.
        num_encoder_layers, num_decoder_layers: how many of each.
        custom_encoder, custom_decoder: modules to take instead.

    Example:
        >>> model = Transformer(6, 2, 1, 1, 8)
        >>> mask = Transformer.generate_square_subsequent_mask(3)
        >>> model(jt.ones(4, 2, 6), jt.ones(3, 2, 6), tgt_mask=mask).shape
        (3, 2, 6)
    """

    generate_square_subsequent_mask = staticmethod(generate_square_subsequent_mask)

    @takes_placement
    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu", custom_encoder: Any = None,
        custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True,
    ) -> None:  # fmt: skip
        settings = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.d_model, self.nhead = d_model, nhead
        self.batch_first = yes_or_no(type(self).__name__, "batch_first", batch_first)
        self.encoder, self.decoder = custom_encoder, custom_decoder  # an empty one is one, too
        if custom_encoder is None:
            reader = TransformerEncoderLayer(d_model, nhead, *settings)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias)
            self.encoder = TransformerEncoder(reader, num_encoder_layers, norm)
        if custom_decoder is None:
            writer = TransformerDecoderLayer(d_model, nhead, *settings)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias)
            self.decoder = TransformerDecoder(writer, num_decoder_layers, norm)
        for var in own(self).parameters():
            if var.ndim > 1:
                xavier_uniform_(var)

    def execute(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool = False, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Var:  # fmt: skip
        """What is read (s, n, d_model), what was written so far (l, n, d_model) -> (l, n, d_model)."""
        read, written = as_var(src), as_var(tgt)
        batch = 0 if self.batch_first else 1
        if read.ndim != written.ndim or (read.ndim == 3 and read.shape[batch] != written.shape[batch]):
            raise ShapeError("a transformer takes equally many src and tgt", f"shapes {read.shape} and {written.shape}")
        memory = self.encoder(read, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        out: Var = self.decoder(written, memory, *masks, tgt_is_causal, memory_is_causal)
        return out
