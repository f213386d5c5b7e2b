"""Core: the operators that everything else is made of, a training step and the start, each with its goal.

Goals are ratios of CPU time, PyTorch eager / jt_edu, one thread each. Memory-bound rows are held to the machine too: a
copy that moves as many bytes as the row must read and write. Every number counts; none is rounded up.
"""

import statistics
from functools import partial

import numpy as np
import torch

import jt_edu as jt
from jt_edu import nn
from tests.bench import causes, cold, limits, net_ours, net_peer, networks
from tests.bench.measure import geometric_mean
from tests.bench.rows import Case, Cause, Figures, Goal, Result, Row, Run, vars_and_tensors

ROUNDS = 25
TITLE = "The operators that everything else is made of, a step of training, and the start."
NOTES = """
* **of the limit**: of what the machine does at best in the same run. **peak**: the float operations per second of
  multiply-add chains in registers, or of a product of 512 by 512, whichever is faster. **BLAS**: the five matrix
  products of the training step, alone, in NumPy's BLAS. **copy**: the bytes per second of a plain copy, bytes read and
  bytes written both counted, that moves as many as the row has to read and write. A row that hardly writes can pass
  100 % of it.
* **error**: the largest difference between the two answers, as a share of the largest number.
* `first step` and `import` are processes of their own, from the start of the interpreter to its end; 15 of
  each side, or as many as fit into 100 seconds, and then their number stands in brackets.
* `a*b+c, peer: addcmul(out=)` is PyTorch at its best: one pass, into memory that is there already. It has no goal.
"""
N = 4 << 20


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


# ------------------------------------------------------------------------------------------------------------ cases


def pointwise(ours, peer, inputs, n):
    """`inputs` arrays of n numbers in, one out."""
    v, t = vars_and_tensors(*normal(inputs, n))
    return Case(lambda: ours(*v).sync(), lambda: peer(*t), limits.copying(4 * n * (inputs + 1)))


def multiply_add(a, b, c):
    return a * b + c


def told_where_to_write(n):
    """The peer at its best: one pass, and memory that is there already."""
    v, (a, b, c) = vars_and_tensors(*normal(3, n))
    out = torch.empty_like(a)
    case = pointwise(multiply_add, multiply_add, 3, n)
    return Case(lambda: multiply_add(*v).sync(), lambda: torch.addcmul(c, a, b, out=out), case.limit)


def softmax(rows, columns):
    (x,), (t,) = vars_and_tensors(normal(rows, columns))
    return Case(lambda: jt.softmax(x, 1).sync(), lambda: torch.softmax(t, 1), limits.copying(8 * rows * columns))


def layer_norm(rows, columns):
    (x,), (t,) = vars_and_tensors(normal(rows, columns))
    ours, peer = nn.LayerNorm(columns), torch.nn.LayerNorm(columns)

    def without_gradient():
        with torch.no_grad():
            return peer(t)

    return Case(lambda: ours(x).sync(), without_gradient, limits.copying(8 * rows * columns))


def reduction(ours, peer, *shape):
    """Everything is read, next to nothing is written."""
    (x,), (t,) = vars_and_tensors(normal(*shape))
    return Case(lambda: ours(x).sync(), lambda: peer(t), limits.copying(4 * x.size))


def mean_and_variance(*shape):
    (x,), (t,) = vars_and_tensors(normal(*shape))
    axes = (0, 2, 3)

    def ours():
        both = [x.var(axes), x.mean(axes)]
        jt.sync(both)
        return both

    def peer():
        return torch.var_mean(t, axes, correction=0)

    return Case(ours, peer, limits.copying(4 * x.size))


def matmul(n):
    a, b = normal(2, n, n)
    v, t = vars_and_tensors(a, b)

    def ours():
        return (v[0] @ v[1]).sync()

    return Case(ours, partial(torch.mm, *t), flops=2.0 * n**3)


def training_step(compiled, *sizes):
    return Case(
        net_ours.trainer("mlp", *sizes, compiled=compiled), net_peer.trainer("mlp", *sizes),
        limits.products(networks.products_of_a_step(*sizes)), limit_of="BLAS", steps=4,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- rows made of other rows


def mean_of_reductions(run: Run) -> Figures:
    ratios = [r.figures.ratio for r in run.results if r.row.group == "reductions"]
    wanted = sum(row.group == "reductions" for row in ROWS)
    if len(ratios) < wanted or None in ratios:
        raise LookupError(f"it needs all {wanted} rows of reductions")
    return Figures(ratio=geometric_mean(ratios))


def all_reductions(_: Result, run: Run) -> Cause:
    return causes.of_rows([r for r in run.results if r.row.group == "reductions"])


def median_kernel(run: Run) -> Figures:
    if not run.compiled:
        raise LookupError("no row before it compiled a kernel")
    return Figures(ours=statistics.median(run.compiled) * 1e3)


def all_kernels(_: Result, run: Run) -> Cause:
    first, last = (end(run.compiled) * 1e3 for end in (min, max))
    return Cause(f"the median of {len(run.compiled)} kernels of the rows above: {first:.0f} to {last:.0f} ms in LLVM")


# ------------------------------------------------------------------------------------------------------------- table


def _reduction(name, ours, peer):
    goals = (Goal("ratio", 1.0),)
    return Row(name, goals, partial(reduction, ours, peer), (2048, 2048), (5, 7), group="reductions")


def _pointwise(name, ours, peer, inputs):
    return Row(
        name, (Goal("ratio", 1.5), Goal("limit", 0.85)), partial(pointwise, ours, peer, inputs), (N,), (1000,),
        group="pointwise",
    )  # fmt: skip


def _matmul(n):
    return Row(f"matmul {n}", (Goal("ratio", 1.3), Goal("limit", 0.8)), matmul, (n,), (9,), group="matmul")


MLP = networks.NETWORKS["mlp"].sizes


def _training(name, goal, compiled):
    tiny = (5, 4, 3, 6)
    return Row(
        name,
        (Goal("ratio", goal),),
        partial(training_step, compiled),
        networks.NETWORKS["mlp"].sizes,
        tiny,
        group="training",
    )


ROWS = (
    _pointwise("a*b+c", multiply_add, multiply_add, 3),
    Row("a*b+c, peer: addcmul(out=)", (), told_where_to_write, (N,), (1000,), group="pointwise"),
    _pointwise("silu", jt.silu, torch.nn.functional.silu, 1),
    _pointwise("gelu", jt.gelu, torch.nn.functional.gelu, 1),
    Row("softmax", (Goal("ratio", 1.5),), softmax, (4096, 1024), (6, 5), group="rows"),
    Row("layer norm", (Goal("ratio", 1.0),), layer_norm, (4096, 1024), (6, 5), group="rows"),
    _reduction("sum, axis 0", lambda x: x.sum(0), lambda t: t.sum(0)),
    _reduction("sum, axis 1", lambda x: x.sum(1), lambda t: t.sum(1)),
    _reduction("sum, all", lambda x: x.sum(), lambda t: t.sum()),
    _reduction("max, axis 0", lambda x: x.max(0), lambda t: t.amax(0)),
    _reduction("max, axis 1", lambda x: x.max(1), lambda t: t.amax(1)),
    _reduction("max, all", lambda x: x.max(), lambda t: t.amax()),
    Row(
        "mean, variance over n, h, w", (Goal("ratio", 1.0),), mean_and_variance, (32, 64, 56, 56), (3, 4, 5, 2),
        group="reductions",
    ),
    Row("reductions, geometric mean", (Goal("ratio", 1.5),), work=mean_of_reductions, why=all_reductions),
    *(_matmul(n) for n in (256, 512, 1024, 2048)),
    _training("mlp step", 0.7, compiled=False),
    _training("mlp step, jt.compile", 3.0, compiled=True),
    *cold.ROWS,
    Row("one kernel compiled, median", (Goal("ms", 120),), work=median_kernel, why=all_kernels),
)  # fmt: skip
