"""Ops: the operators that people use most, at three sizes each, and the steps of training that are made of them.

Goals are ratios of CPU time, PyTorch eager / jt_edu, one thread each. Each operator stands alone: it is written, run
and waited for, so a small one is a measure of Python, and a large one of its kernel. Nothing is fused with neighbours,
which is what a lazy framework is made for; the steps of training at the end show that.
"""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  its usual name

import jt_edu as jt
from jt_edu import nn
from tests.bench import causes, training
from tests.bench.measure import geometric_mean
from tests.bench.pairs import (
    COLUMNS,
    FLAT,
    PICTURES,
    SQUARE,
    TABLE,
    above,
    gradients,
    layers,
    normal,
    normals,
    operator,
    positive,
    shuffled,
    values,
    whole,
)  # fmt: skip
from tests.bench.rows import Cause, Figures, Goal, Result, Row, Run

ROUNDS = 15
TITLE = "The operators that people use most, at three sizes each, and the steps of training that are made of them."
NOTES = """
* **small, middle, large**: about 1,000 and 100,000 and 4,000,000 numbers in or out, in one row or in tables such as
  (10, 100), (100, 1000), (4000, 1000); less where the work grows faster. `tests/bench/ops.py` says what each is given.
* Each operator is written, run and waited for alone. A small one measures the Python of it, a large one its kernel.
  Nothing is fused with a neighbour, which is what a lazy framework is made for; the steps of training do that.
* In **bold**: a goal was missed.
* **cross entropy**, **mse**, **bce with logits**, **embedding**: the loss and its gradient, on both sides.
* **jt.compile**: the step is captured once, and then replayed.
"""

ELEMENTWISE = [
    operator("add", lambda x, y: x + y, lambda t, u: t + u, FLAT, normals(2)),
    operator("mul", lambda x, y: x * y, lambda t, u: t * u, FLAT, normals(2)),
    operator("div", lambda x, y: x / y, lambda t, u: t / u, FLAT, lambda n: [normal(n), above(n)]),
    operator("exp", jt.exp, torch.exp),
    operator("log", jt.log, torch.log, FLAT, positive),
    operator("tanh", jt.tanh, torch.tanh),
    operator("sigmoid", jt.sigmoid, torch.sigmoid),
    operator("sqrt", jt.sqrt, torch.sqrt, FLAT, positive),
    operator("pow", lambda x, y: x**y, lambda t, u: t**u, FLAT, lambda n: [above(n), normal(n)]),
    operator("clamp", lambda x: x.clamp(-1, 1), lambda t: t.clamp(-1, 1)),
    operator(
        "where", jt.where, torch.where, FLAT, lambda n: [whole(2, n).astype(bool), normal(n), normal(n, seed=1)]
    ),
    operator("compare", lambda x, y: x > y, lambda t, u: t > u, FLAT, normals(2)),
    operator("abs", jt.abs, torch.abs),
    operator("gelu", jt.gelu, F.gelu),
    operator("silu", jt.silu, F.silu),
    operator("leaky_relu", jt.leaky_relu, F.leaky_relu),
    operator("elu", jt.elu, F.elu),
    operator("softplus", jt.softplus, F.softplus),
    operator("hardswish", jt.hardswish, F.hardswish),
    operator("cast to int32", lambda x: x.cast("int32"), lambda t: t.int()),
    operator("cast to float64", lambda x: x.cast("float64"), lambda t: t.double()),
    operator("cast uint8 to float32", lambda x: x.cast("float32"), lambda t: t.float(), FLAT,
             lambda n: [whole(256, n).astype(np.uint8)]),
]  # fmt: skip

REDUCTIONS = [
    operator("sum", jt.sum, torch.sum, TABLE),
    operator("mean", lambda x: x.mean(1), lambda t: t.mean(1), TABLE),
    operator("max", lambda x: x.max(1), lambda t: t.amax(1), TABLE),
    operator("argmax", lambda x: x.argmax(1), lambda t: t.argmax(1), TABLE),
    operator("std", lambda x: x.std(1), lambda t: t.std(1, correction=0), TABLE),
    operator("logsumexp", lambda x: x.logsumexp(1), lambda t: t.logsumexp(1), TABLE),
    operator("norm", jt.norm, torch.norm, TABLE, tolerance=2e-4),  # the peer adds in float32
    operator("cumsum", lambda x: x.cumsum(1), lambda t: t.cumsum(1), TABLE, tolerance=1e-4),
    operator("any", lambda x: x.any(1), lambda t: t.any(1), TABLE, lambda *shape: [np.zeros(shape, bool)]),
    operator(
        "prod", lambda x: x.prod(1), lambda t: t.prod(1), TABLE, lambda *s: [1 + 0.01 * normal(*s)], tolerance=1e-4
    ),
    operator("softmax", lambda x: jt.softmax(x, 1), lambda t: F.softmax(t, 1), TABLE),
]  # fmt: skip

CUBES = ((10, 10, 10), (50, 40, 50), (200, 100, 200), (2, 3, 4))
CLASSES = ((100,), (10_000,), (400_000,), (5,))


def halves(n):
    return [normal(n // 2), normal(n - n // 2, seed=1)]


def taken(rows, columns):
    return [normal(rows, columns), whole(columns, rows, columns)]


SHAPES = [
    operator("permute, stored", lambda x: x.permute(2, 0, 1), lambda t: t.permute(2, 0, 1).contiguous(), CUBES),
    operator("concat", lambda *x: jt.concat(x), lambda *t: torch.concat(t), FLAT, halves),
    operator("stack", lambda *x: jt.stack(x), lambda *t: torch.stack(t), FLAT, halves),
    operator("pad constant", lambda x: jt.pad(x, (2, 2, 2, 2)), lambda t: F.pad(t, (2, 2, 2, 2)), PICTURES),
    operator(
        "pad reflect", lambda x: jt.pad(x, (2, 2, 2, 2), "reflect"), lambda t: F.pad(t, (2, 2, 2, 2), "reflect"),
        PICTURES,
    ),
    operator("flip", lambda x: x.flip(1), lambda t: t.flip(1), SQUARE),
    operator("roll", lambda x: x.roll(3, 1), lambda t: t.roll(3, 1), SQUARE),
    operator("tile", lambda x: x.tile(4), lambda t: t.tile(4), FLAT, lambda n: [normal(n // 4)]),
    operator("gather", lambda x, i: x.gather(1, i), lambda t, i: t.gather(1, i), TABLE, taken),
    operator(
        "index_select", lambda x, i: jt.index_select(x, 0, i), lambda t, i: t.index_select(0, i), TABLE,
        lambda r, c: [normal(r, c), whole(r, r)],
    ),
    operator(
        "scatter_add", lambda x, i, y: x.scatter_add(0, i, y), lambda t, i, u: t.scatter_add(0, i, u), FLAT,
        lambda n: [normal(n), whole(n, n), normal(n, seed=1)],
    ),
    operator("one_hot", lambda i: jt.one_hot(i, 10), lambda i: F.one_hot(i, 10), CLASSES, lambda n: [whole(10, n)]),
    operator("x[mask]", lambda x, m: x[m], lambda t, m: t[m], FLAT, lambda n: [normal(n), whole(2, n).astype(bool)]),
    operator("triu", jt.triu, torch.triu, SQUARE),
]  # fmt: skip

SORTING = [
    operator("sort", jt.sort, torch.sort, FLAT, lambda n: [shuffled(n)]),
    operator("topk", lambda x: x.topk(3, 1), lambda t: t.topk(3, 1), TABLE),
    operator("unique", jt.unique, torch.unique, FLAT, lambda n: [whole(1_000, n)]),
    operator("searchsorted", jt.searchsorted, torch.searchsorted, FLAT, lambda n: [np.sort(normal(1_000)), normal(n)]),
]

LINEAR = ((8, 32, 32), (64, 256, 256), (512, 1024, 1024), (2, 3, 4))
MATRICES = ((32, 32), (316, 316), (1024, 1024), (3, 3))
BATCHES = ((4, 16, 16), (16, 80, 80), (64, 128, 128), (2, 3, 3))
HEADS = ((2, 2, 16, 16), (4, 4, 64, 64), (16, 8, 128, 64), (2, 2, 3, 4))  # batch, heads, tokens, width


def layer(batch, width, out):
    return [normal(batch, width), normal(out, width, seed=1), normal(out, seed=2)]


CONTRACTIONS = [
    operator("matmul", lambda x, y: x @ y, lambda t, u: t @ u, MATRICES, normals(2)),
    operator("bmm", jt.bmm, torch.bmm, BATCHES, normals(2)),
    operator(
        "einsum bhqd,bhkd->bhqk", partial(jt.einsum, "bhqd,bhkd->bhqk"), partial(torch.einsum, "bhqd,bhkd->bhqk"),
        HEADS, normals(2),
    ),
    operator("outer", jt.outer, torch.outer, SQUARE, lambda n, m: [normal(n), normal(m)]),
    operator("linear", nn.functional.linear, F.linear, LINEAR, layer),
]  # fmt: skip

NORMS = [
    operator("batch norm, training", nn.BatchNorm, torch.nn.BatchNorm2d, PICTURES, case=layers, tolerance=1e-4),
    operator(
        "layer norm", lambda x, *w: nn.functional.layer_norm(x, x.shape[-1:], *w),
        lambda t, *w: F.layer_norm(t, t.shape[-1:], *w), TABLE, lambda r, c: [normal(r, c), above(c), normal(c)],
    ),
    operator(
        "group norm", lambda x, *w: nn.functional.group_norm(x, 4, *w), lambda t, *w: F.group_norm(t, 4, *w), PICTURES,
        lambda n, c, h, w: [normal(n, c, h, w), above(c), normal(c)],
    ),
]  # fmt: skip

LOSSES = [
    operator(
        "cross entropy", jt.cross_entropy_loss, F.cross_entropy, TABLE, lambda r, c: [normal(r, c), whole(c, r)],
        gradients,
    ),
    operator("mse", nn.mse_loss, F.mse_loss, FLAT, normals(2), gradients),
    operator(
        "bce with logits", nn.functional.binary_cross_entropy_with_logits, F.binary_cross_entropy_with_logits, FLAT,
        lambda n: [normal(n), whole(2, n).astype(np.float32)], gradients,
    ),
]  # fmt: skip

SIGNALS = ((1, 8, 125), (4, 50, 500), (16, 64, 2_000), (2, 2, 6))
IMAGES = ((1, 4, 16, 16), (4, 32, 28, 28), (16, 64, 56, 56), (2, 2, 5, 5))
PHOTOS = ((1, 1, 16, 16), (1, 3, 90, 90), (4, 3, 280, 280), (1, 2, 3, 3))
WORDS = ((100, 10, 100), (1_000, 100, 1_000), (10_000, 400, 10_000), (5, 4, 6))  # rows of the table, width, words


def with_filters(n, c, *lengths):
    """Pictures, and as many filters as they have channels, of length 3 along each axis."""
    return [normal(n, c, *lengths), normal(c, c, *(3 for _ in lengths), seed=1)]


def words(rows, width, count):
    return [normal(rows, width), whole(rows, count), normal(count, width, seed=1)]


LAYERS = [
    operator(
        "conv1d", lambda x, w: jt.conv1d(x, w, padding=1), lambda t, w: F.conv1d(t, w, padding=1), SIGNALS, with_filters
    ),
    operator(
        "conv2d", lambda x, w: jt.conv2d(x, w, padding=1), lambda t, w: F.conv2d(t, w, padding=1), IMAGES, with_filters
    ),
    operator("max pool", lambda x: jt.max_pool2d(x, 2), lambda t: F.max_pool2d(t, 2), PICTURES),
    operator("avg pool", lambda x: jt.avg_pool2d(x, 2), lambda t: F.avg_pool2d(t, 2), PICTURES),
    operator(
        "interpolate bilinear", lambda x: jt.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda t: F.interpolate(t, scale_factor=2, mode="bilinear"), PHOTOS,
    ),
    operator(
        "embedding, with gradient", lambda w, i, y: (nn.functional.embedding(i, w) * y).sum(),
        lambda w, i, u: (F.embedding(i, w) * u).sum(), WORDS, words, gradients,
    ),
    operator(
        "dropout", nn.functional.dropout, F.dropout, FLAT, lambda n: [np.ones(n, np.float32)],
        partial(values, told=np.unique),  # which numbers, not where
    ),
]  # fmt: skip

OPERATORS = [
    row
    for family in (ELEMENTWISE, REDUCTIONS, SHAPES, SORTING, CONTRACTIONS, NORMS, LOSSES, LAYERS)
    for three in family
    for row in three
]


def mean_of(columns: tuple[str, ...], run: Run) -> Figures:
    """The geometric mean of the ratios of all operators at these sizes."""
    ratios = [r.figures.ratio for r in run.results if r.row.column in columns and not r.failed]
    wanted = sum(row.column in columns for row in OPERATORS)
    if len(ratios) < wanted or None in ratios:
        raise LookupError(f"it needs all {wanted} rows of operators")
    return Figures(ratio=geometric_mean(ratios))


def all_operators(_: Result, run: Run) -> Cause:
    return causes.of_rows([r for r in run.results if r.row.column in COLUMNS])


ROWS = (
    *OPERATORS,
    Row("operators, geometric mean", (Goal("ratio", 1.0),), work=partial(mean_of, COLUMNS), why=all_operators),
    *(Row(f"operators, {column}, geometric mean", work=partial(mean_of, (column,))) for column in COLUMNS),
    *training.ROWS,
)
