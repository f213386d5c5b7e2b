"""Shapes: images of powers of two and their neighbours, distances and attention, forward and with gradients.

Numbers that lie a multiple of 4 KiB apart share sets of a cache. A network of 224 x 224 pixels meets 56, 28 and 14, and
never finds out; one of 32 x 32 or 64 x 64 does at every layer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  its usual name

import jt_edu as jt
from jt_edu import nn
from tests.bench import shares
from tests.bench.pairs import computed, normal
from tests.bench.rows import Case, Goal, Row, vars_and_tensors
from tests.bench.zoo import mean_of, slowest

ROUNDS, BOX = 15, 5.0
TITLE = "Images of powers of two and their neighbours, distances and attention, forward and with gradients."
NOTES = """
* **1x1, (n, c, h², o)**: a convolution of n images of c channels and h x h pixels, to o channels; **3x3** with padding
  that keeps the size; **dilated** by 2; **groups** 8.
* **forward**: the value alone, no gradients on either side. **with gradients**: the value, and the gradients by all
  that it was computed from, given one of the value; not of a sum, whose gradient is a view in PyTorch.
* Geometric means: their quartiles are those over the rows.
"""

Shape = tuple[int, ...]
Line = tuple[str, Callable[..., Any], Callable[..., Any], tuple[Shape, ...]]  # name, ours, PyTorch's, what both get
ONES = (  # n, c, h, o
    *((1, 1024, h, 1024) for h in (8, 16, 24, 31, 32, 33)), (4, 1024, 32, 1024), *((1, 768, h, 768) for h in (31, 32)),
    *((1, 512, h, 512) for h in (31, 32, 33)), *((1, 512, h, 128) for h in (63, 64, 65, 127, 128, 129)),
    *((8, 512, h, 128) for h in (31, 32, 33)), (1, 256, 8, 256), (1, 256, 16, 256),
    *((8, 64, h, 64) for h in (8, 32, 64)),
    *((8, 16, h, 16) for h in (31, 32, 128)),
)  # fmt: skip
THREES = ((8, 16, 32, 16), (8, 64, 32, 64), (1, 64, 64, 64), (1, 64, 63, 64), (1, 16, 128, 16), (8, 512, 8, 512))
HELD = (31, 32, 33, 63, 64)  # pixels of convolutions that are dilated, or in groups
LEAST, ATTENTION, MEANS = (
    Goal("ratio", 0.8),
    Goal("ratio", 1.2),
    {"forward": Goal("ratio", 1.3), "with gradients": Goal("ratio", 1.8)},
)


def conv(words: str, n: int, c: int, h: int, o: int, taps: int = 1, dilation: int = 1, groups: int = 1) -> Line:
    """A convolution that keeps the size of the image."""
    given = (1, taps // 2 * dilation, dilation, groups)
    return (
        f"{words}, ({n}, {c}, {h}², {o})", lambda x, w: jt.conv2d(x, w, None, *given),
        lambda x, w: F.conv2d(x, w, None, *given), ((n, c, h, h), (o, c // groups, taps, taps)),
    )  # fmt: skip


def attention(length: int, causal: bool = False) -> Line:
    """Four heads of 64 numbers, as every transformer has them."""
    both = nn.functional.scaled_dot_product_attention, F.scaled_dot_product_attention
    ours, peer = (partial(f, is_causal=causal) for f in both)
    return f"attention{', causal' * causal}, (2, 4, {length}, 64)", ours, peer, ((2, 4, length, 64),) * 3


def over_rows(rows: int) -> list[Line]:
    """What walks down the columns of a square."""
    return [
        (f"sum over the first axis, {rows}²", lambda x: x.sum(0), lambda x: x.sum(0), ((rows, rows),)),
        (f"maximum over the first axis, {rows}²", lambda x: x.max(0), lambda x: x.amax(0), ((rows, rows),)),
        (
            f"transposed copy, {rows}²",
            lambda x: x.transpose(0, 1) * 2,
            lambda x: x.t().contiguous() * 2,
            ((rows, rows),),
        ),
    ]


IMAGES = [
    *(conv("1x1", *s) for s in ONES),
    *(conv("3x3", *s, 3) for s in THREES),
    *(conv("3x3 dilated", 1, 64, h, 64, 3, 2) for h in HELD),
    *(conv("3x3 groups", 1, 256, h, 256, 3, 1, 8) for h in HELD),
    *(conv("3x3 depthwise", 8, 128, h, 128, 3, 1, 128) for h in (31, 32, 64)),
    *((f"group norm, (8, 256, {h}²)", lambda x: nn.functional.group_norm(x, 8), lambda x: F.group_norm(x, 8),
       ((8, 256, h, h),)) for h in (31, 32)),
    *((f"maximum pool, (8, 64, {h}²)", lambda x: nn.functional.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 2),
       ((8, 64, h, h),)) for h in (32, 64, 66)),
]  # fmt: skip
OTHERS = [
    *((f"cdist, {s} with {o}", jt.cdist, torch.cdist, (s, o)) for s, o in (
        ((100, 64), (100, 64)), ((1000, 64), (1000, 64)), ((1024, 64), (1024, 64)), ((1000, 3), (1000, 3)),
        ((500, 512), (500, 512)))),
    *map(attention, (32, 128, 512, 1024)), *(attention(length, causal=True) for length in (128, 1024)),
    *over_rows(1000), *over_rows(1024),
]  # fmt: skip


def forward(ours: Callable[..., Any], peer: Callable[..., Any], *shapes: Shape) -> Case:
    """The value alone."""
    v, t = vars_and_tensors(*(normal(*shape, seed=k) for k, shape in enumerate(shapes)))

    def run() -> Any:
        with jt.no_grad():
            return ours(*v).sync()

    def run_peer() -> Any:
        with torch.no_grad():
            return peer(*t)

    return Case(run, run_peer, how=lambda: shares.algorithms(run))


def with_gradients(ours: Callable[..., Any], peer: Callable[..., Any], *shapes: Shape) -> Case:
    """The value, and the gradients by all that was given."""
    v, t = vars_and_tensors(*(normal(*shape, seed=k) for k, shape in enumerate(shapes)))
    (d,), (e,) = vars_and_tensors(normal(*peer(*t).shape, seed=len(shapes)))
    for tensor in t:
        tensor.requires_grad_()

    def run() -> Any:
        y = ours(*v)
        return computed([y, *jt.vjp(y, v, d)])

    def run_peer() -> Any:
        y = peer(*t)
        return [y, *torch.autograd.grad(y, t, e)]

    return Case(run, run_peer, how=lambda: shares.algorithms(run))


def _rows(lines: Sequence[Line], kind: str, build: Callable[..., Case]) -> list[Row]:
    """One row for each line; `size` are its arrays, and a test takes them a little at a time."""
    return [
        Row(
            f"{name}, {kind}",
            (ATTENTION if "attention" in name else LEAST,),
            partial(build, ours, peer),
            shapes,
            tolerance=1e-4,
        )
        for name, ours, peer, shapes in lines
    ]


def _mean(lines: Sequence[Line], kind: str, build: Callable[..., Case]) -> list[Row]:
    rows = _rows(lines, kind, build)
    return [
        *rows,
        Row(f"geometric mean, {kind}", (MEANS[kind],), work=partial(mean_of, rows), why=partial(slowest, rows)),
    ]


LINES = [*IMAGES, *OTHERS]
DIFFERENTIATED = [line for line in LINES if not line[0].startswith("sum")]  # PyTorch's gradient of a sum is a view
ROWS = (*_mean(LINES, "forward", forward), *_mean(DIFFERENTIATED, "with gradients", with_gradients))


def QUICK(row: Row) -> bool:  # noqa: N802  a constant of the suite, which happens to be a function
    """What takes no time, and the means."""
    return sum(map(len, row.size)) == 0 or ", (8, 16, " in row.name or "(100, 64)" in row.name
