"""Attention: each query looks at all keys, and takes a mean of their values, most from the keys that fit best.

    weights = softmax(query @ key.T / sqrt(d))        (queries, keys), each row adds up to 1
    out     = weights @ value                         (queries, d)

A mask forbids some of the looks: of a word at what follows it, or at padding. Several heads, each with projections of
its own, look at different things at the same time.

Source: Vaswani et al. 2017 (arXiv:1706.03762).
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from jt_edu.base.dtypes import bool_, promote
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.nn.dropout import dropout
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.initializers import constant_, xavier_gauss_, xavier_uniform_
from jt_edu.nn.linear import Linear, count, linear
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import factor, number, whole, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import index, zeros
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import max, mean, sum
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var


@castable
@template
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Var:  # fmt: skip
    """softmax(query @ key.T * scale + mask) @ value.

    Args:
        query: (..., l, e).
        key, value: (..., s, e) and (..., s, v).
        attn_mask: broadcast to (..., l, s). Of bool: True where a query may look; a query that may look nowhere
            answers 0. Of floats: is added to the scores.
        dropout_p: probability that a weight is dropped.
        is_causal: query i looks at keys 0 to i only.
        scale: a number or a Var; 1 / sqrt(e) by default.
        enable_gqa: the third axis from the end (the heads) of key and value is repeated to be as long as the query's.

    Raises:
        ShapeError: the shapes do not fit each other.
        DtypeError: one of the three holds no real floats, or the mask neither bools nor floats.
        ArgumentError: dropout_p is not a probability, or scale is not a number.

    Example:
        >>> x = jt.array([[1.0, 0.0], [0.0, 1.0]])
        >>> scaled_dot_product_attention(x, x, x, is_causal=True).numpy().round(2)
        array([[1.  , 0.  ],
               [0.33, 0.67]], dtype=float32)
    """
    q, k, v = (as_var(x) for x in (query, key, value))
    name = "scaled_dot_product_attention"
    if yes_or_no(name, "enable_gqa", enable_gqa):
        k, v = _repeated("key", k, q), _repeated("value", v, q)
    _check_looks(q, k, v)
    forgotten = number(name, "dropout_p", dropout_p, 0, 1)
    sharpness = 1 / math.sqrt(q.shape[-1] or 1) if scale is None else factor(name, "scale", scale)
    looks = (q.shape[-2], k.shape[-2])
    shape = (*broadcast_shape("matmul", q.shape[:-2], k.shape[:-2]), *looks)
    masks = [] if attn_mask is None else [_mask("attn_mask", attn_mask, shape)]
    if yes_or_no(name, "is_causal", is_causal):
        masks.append(causal_mask(*looks))
    return _look([q, k, v], sharpness, masks, forgotten)[0]


def _look(
    parts: list[Var], sharpness: Any, masks: list[Var], forgotten: float, training: bool = True
) -> tuple[Var, Var]:
    """Answers and weights; what halves add up to on the way need not be a half."""
    q, k, v = map(widened, parts)
    scores = matmul(q * sharpness, k.transpose(k.ndim - 2, k.ndim - 1))  # (..., l, s)
    weights = dropout(_weights(scores, masks), forgotten, training)
    dtype = reduce(promote, (x.dtype for x in parts + masks))
    return matmul(weights, v).cast(dtype), weights.cast(dtype)


def _repeated(name: str, x: Var, query: Var) -> Var:
    """Each head of a key or value as often as there are heads of the query for it."""
    if x.ndim < 3 or query.ndim != x.ndim:
        asked = (
            f"enable_gqa takes query and {name} with heads, on the third axis from the end, and with equally many axes"
        )
        raise ShapeError(asked, f"shapes {query.shape} and {x.shape}", "x.unsqueeze(-3), for one head")
    heads, looking = x.shape[-3], query.shape[-3]
    if not heads or looking % heads:
        asked = f"enable_gqa gives each head of the {name} to equally many heads of the query"
        fits = ", ".join(str(n) for n in range(1, looking + 1) if looking % n == 0)
        found = f"{heads} heads of the {name} {x.shape} for {looking} of the query {query.shape}"
        raise ShapeError(asked, found, f"a {name} with {fits} heads")
    times = looking // heads
    wide = x.unsqueeze(-3).stretched((*x.shape[:-3], heads, times, *x.shape[-2:]))
    return wide.reshape(*x.shape[:-3], heads * times, *x.shape[-2:])


def _check_looks(q: Var, k: Var, v: Var) -> None:
    if any(x.dtype.kind != "f" for x in (q, k, v)):
        found = f"dtypes {q.dtype}, {k.dtype} and {v.dtype}"
        raise DtypeError("attention works on real floats", found, "x.float()")
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            "attention takes query (..., l, e), key (..., s, e) and value (..., s, v)",
            f"shapes {q.shape}, {k.shape} and {v.shape}",
        )


def causal_mask(queries: int, keys: int) -> Var:
    """True where query i may look at key j: j <= i.

    Example:
        >>> causal_mask(2, 3).numpy()
        array([[ True, False, False],
               [ True,  True, False]])
    """
    shape = (whole("causal_mask", "queries", queries, 0), whole("causal_mask", "keys", keys, 0))
    return index(shape, 1) <= index(shape, 0)


def _mask(name: str, mask: Any, shape: tuple[int, ...], true: str = "who may look") -> Var:
    """A mask of bools, where True is `true`, or floats that fits the scores."""
    m = as_var(mask)
    if m.dtype is not bool_ and m.dtype.kind != "f":
        raise DtypeError(f"{name} holds bools ({true}) or floats (to be added)", f"dtype {m.dtype}", "mask > 0")
    fits = m.ndim <= len(shape) and all(
        n in (1, wanted) for n, wanted in zip(reversed(m.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ShapeError(f"{name} is broadcast to the scores", f"{m.shape} for scores {shape}")
    return m


def _weights(scores: Var, masks: list[Var]) -> Var:
    """Softmax over the keys that are not forbidden; 0 where all are."""
    for m in masks:
        scores = m.apply(f.SELECT, scores, as_var(-math.inf, scores.dtype)) if m.dtype is bool_ else scores + m
    ahead = scores
    if scores.shape[-1]:
        top = max(scores, -1, keepdim=True).detach()
        ahead = (scores - top.where_not(top.apply(f.ISINF), 0)).apply(f.EXP)  # inf - inf does not arise
    total = sum(ahead, -1, keepdim=True)
    return ahead * (1.0 / total.where_not(total == 0, 1))


class MultiheadAttention(Module):
    """Attention by several heads: query, key and value are projected, each head takes its share of the axis.

    Args:
        embed_dim: length of a query and of the answer.
        num_heads: embed_dim is a multiple of it.
        dropout: probability that a weight is dropped during training.
        bias: whether the projections add something.
        add_bias_kv: one more key and value, learned.
        add_zero_attn: one more key and value, 0: somewhere to look when there is nothing to see.
        kdim, vdim: lengths of a key and a value, if they differ from embed_dim.
        batch_first: inputs are (n, l, e) instead of (l, n, e).

    Example:
        >>> x = jt.ones(4, 2, 6)
        >>> out, weights = MultiheadAttention(6, 3)(x, x, x)
        >>> out.shape, weights.shape
        ((4, 2, 6), (2, 4, 4))
    """

    @takes_placement
    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
    ) -> None:  # fmt: skip
        self.embed_dim, self.num_heads = count(self, "embed_dim", embed_dim), count(self, "num_heads", num_heads)
        if embed_dim % num_heads:
            raise ArgumentError(f"embed_dim must be a multiple of num_heads, {num_heads}", short(embed_dim))
        name = "MultiheadAttention"
        self.dropout = float(number(name, "dropout", dropout, 0, 1))
        self.add_zero_attn = yes_or_no(name, "add_zero_attn", add_zero_attn)
        self.batch_first = yes_or_no(name, "batch_first", batch_first)
        self.kdim = embed_dim if kdim is None else count(self, "kdim", kdim)
        self.vdim = embed_dim if vdim is None else count(self, "vdim", vdim)
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = xavier_uniform_(zeros(3 * embed_dim, embed_dim))
        else:
            self.q_proj_weight = xavier_uniform_(zeros(embed_dim, embed_dim))
            self.k_proj_weight = xavier_uniform_(zeros(embed_dim, self.kdim))
            self.v_proj_weight = xavier_uniform_(zeros(embed_dim, self.vdim))
        self.in_proj_bias = zeros(3 * embed_dim) if yes_or_no(name, "bias", bias) else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if self.out_proj.bias is not None:
            constant_(self.out_proj.bias, 0)
        self.bias_k = xavier_gauss_(zeros(1, 1, embed_dim)) if yes_or_no(name, "add_bias_kv", add_bias_kv) else None
        self.bias_v = xavier_gauss_(zeros(1, 1, embed_dim)) if add_bias_kv else None

    def execute(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
        attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Var, Var | None]:  # fmt: skip
        """Queries (l, n, e), keys (s, n, e) and values (s, n, e) -> answers (l, n, e), and weights (n, l, s).

        Args:
            query, key, value: (n, l, e) ... with batch_first; (l, e) ... for a single one.
            key_padding_mask: (n, s), True where a key is padding; or floats, to be added to its scores.
            need_weights: return the weights too, instead of None.
            attn_mask: (l, s) or (n * heads, l, s), True where a query may not look; or floats, to be added.
            average_attn_weights: the mean of the heads' weights; False: (n, heads, l, s).
            is_causal: query i looks at keys 0 to i only.
        """
        given = as_var(query), as_var(key), as_var(value)
        name = "MultiheadAttention"
        need_weights, is_causal = yes_or_no(name, "need_weights", need_weights), yes_or_no(name, "is_causal", is_causal)
        average_attn_weights = yes_or_no(name, "average_attn_weights", average_attn_weights)
        single = given[0].ndim == 2
        q, k, v = (self._steps_first(x, single) for x in given)
        self._check(q, k, v, given)
        heads = self._projected(q, k, v)
        masks = self._masks(q, k, attn_mask, key_padding_mask, is_causal)
        sharpness = 1 / math.sqrt(self.embed_dim // self.num_heads)
        out, weights = _look(heads, sharpness, masks, self.dropout, self.is_train)
        out = self.out_proj(out.permute(2, 0, 1, 3).reshape(*q.shape))  # (n, heads, l, d) -> (l, n, e)
        shown = None if not need_weights else mean(weights, 1) if average_attn_weights else weights
        if single:
            return out.squeeze(1), None if shown is None else shown.squeeze(0)
        return out.transpose(0, 1) if self.batch_first else out, shown

    def _steps_first(self, x: Var, single: bool) -> Var:
        """Words as (l, n, e): a single text is a batch of one."""
        if single:
            return x.unsqueeze(1)
        return x.transpose(0, 1) if self.batch_first and x.ndim == 3 else x

    def _check(self, q: Var, k: Var, v: Var, given: tuple[Var, ...]) -> None:
        lengths = (self.embed_dim, self.kdim, self.vdim)
        fits = all(x.ndim == 3 for x in (q, k, v)) and tuple(x.shape[2] for x in (q, k, v)) == lengths
        if not fits or k.shape[:2] != v.shape[:2] or q.shape[1] != k.shape[1]:
            axes = ("n, l", "n, s", "n, s") if self.batch_first else ("l, n", "s, n", "s, n")
            words = [f"{x} ({at}, {e})" for x, at, e in zip(("query", "key", "value"), axes, lengths, strict=True)]
            asked = f"MultiheadAttention takes {words[0]}, {words[1]} and {words[2]}"
            raise ShapeError(asked, f"{given[0].shape}, {given[1].shape} and {given[2].shape}")

    def _projected(self, q: Var, k: Var, v: Var) -> list[Var]:
        """Each projected and cut into heads: (n, heads, l, d)."""
        e = self.embed_dim
        if self.kdim == self.vdim == e:
            weights = [self.in_proj_weight[m * e : (m + 1) * e] for m in range(3)]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        b = self.in_proj_bias
        biases = [None if b is None else b[m * e : (m + 1) * e] for m in range(3)]
        parts = [linear(x, w, c) for x, w, c in zip((q, k, v), weights, biases, strict=True)]
        if self.bias_k is not None and self.bias_v is not None:
            shape = (1, q.shape[1], e)
            parts[1:] = [concat([x, c.stretched(shape)]) for x, c in zip(parts[1:], (self.bias_k, self.bias_v),
                                                                            strict=True)]  # fmt: skip
        if self.add_zero_attn:
            parts[1:] = [x.reindex((x.shape[0] + 1, *x.shape[1:]), lambda i, j, h: (i, j, h)) for x in parts[1:]]
        each = e // self.num_heads
        return [x.reshape(*x.shape[:2], self.num_heads, each).permute(1, 2, 0, 3) for x in parts]

    def _masks(self, q: Var, k: Var, attn_mask: Any, padding: Any, is_causal: bool) -> list[Var]:
        """All masks as they are added to scores (n, heads, l, s); what was forbidden becomes what is allowed."""
        (queries, n, _), keys = q.shape, k.shape[0]
        masks = [causal_mask(queries, keys)] if is_causal else []
        if attn_mask is not None:
            m = as_var(attn_mask)
            if m.shape == (n * self.num_heads, queries, keys):
                m = m.reshape(n, self.num_heads, queries, keys)
            elif m.shape != (queries, keys):
                asked = f"attn_mask is ({queries}, {keys}) or ({n * self.num_heads}, {queries}, {keys})"
                raise ShapeError(asked, f"shape {m.shape}")
            masks.append(_allowed("attn_mask", m))
        if padding is not None:
            m = as_var(padding)
            if m.shape != (n, keys) and not (n == 1 and m.shape == (keys,)):
                raise ShapeError(f"key_padding_mask is ({n}, {keys})", f"shape {m.shape}")
            masks.append(_allowed("key_padding_mask", m.reshape(n, 1, 1, keys)))
        more = (self.bias_k is not None) + self.add_zero_attn
        return [_wider(m, more) for m in masks] if more else masks

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"{self.embed_dim}, {self.num_heads}"


def _allowed(name: str, mask: Var) -> Var:
    """True where a look is allowed, from True where it is forbidden; floats stay what they are."""
    return _mask(name, mask, mask.shape, "who may not look") if mask.dtype is not bool_ else mask.apply(f.LOGICAL_NOT)


def _wider(mask: Var, more: int) -> Var:
    """A mask that allows to look at further keys."""
    shape = (*mask.shape[:-1], mask.shape[-1] + more)
    return mask.reindex(shape, lambda *at: at, fill=1 if mask.dtype is bool_ else 0)
