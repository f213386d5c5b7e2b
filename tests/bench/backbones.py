"""Backbones: whole networks forward, in evaluation, beside the same networks in PyTorch eager.

Our networks are those of `jt.models`, with weights drawn from a seed; PyTorch's are their mirrors (`mirror.py`). The
answers are compared in the same run, and nothing is measured that is not equal.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch

import jt_edu as jt
from jt_edu import models
from tests.bench import causes, shares
from tests.bench.measure import geometric_mean, quartiles
from tests.bench.mirror import lively, mirror
from tests.bench.rows import Case, Cause, Figures, Goal, Result, Row, Run, vars_and_tensors

ROUNDS = 15
TITLE = "Whole networks, forward in evaluation, one image of 224 x 224 or several, beside PyTorch eager."
NOTES = """
* **batch**: how many images at once. The same network on both sides: PyTorch's is made of the modules of ours, with the
  same numbers, and its activations write in place. **error**: of the scores, as a share of the largest; 1e-4 may be.
* **peak**: the operations per second that multiply-add chains in registers (or a matrix product of 512 by 512, if that
  is faster) reach on this machine in the same run. Counted are multiplications and additions of convolutions and linear
  layers, as by the definition; an algorithm such as Winograd's does with fewer, and may pass 100 %.
* **jt.compile**: the forward is captured once, and then replayed; the others write their graph at each call.
* **peer: channels_last**: PyTorch at its best without a compiler: under `inference_mode`, with weights and images in
  memory as (n, h, w, c). **peer: torch.compile**: PyTorch's inductor, under `inference_mode`; compiling takes it up to
  a minute, which does not count. These rows have no goal, and no part in the means.
* Geometric means: their quartiles are those over the rows.
"""
BATCHES = (1, 4, 16)
GOOD, LIVE = (Goal("ratio", 1.0),), (Goal("ratio", 1.3),)
FAMILIES: dict[str, Callable[[], Any]] = {
    "AlexNet": models.alexnet,
    "VGG-16": models.vgg16,
    "ResNet-50": models.resnet50,
    "Wide ResNet-50-2": models.wide_resnet50_2,
    "SqueezeNet 1.1": models.squeezenet1_1,
}
DEPTHWISE: dict[str, Callable[[], Any]] = {
    "MobileNet v2": models.mobilenet_v2,
    "ShuffleNet v2": models.shufflenet_v2_x1_0,
    "MNASNet": models.mnasnet1_0,
}
PHOTO, SMALL = (3, 224, 224), (2, 3, 64, 64)
LAST, INDUCTOR = "peer: channels_last", "jt.compile, peer: torch.compile"
BEST = {  # network and batch -> which rows show PyTorch at its best
    ("AlexNet", 4): (LAST, INDUCTOR),
    ("ResNet-50", 1): (LAST, INDUCTOR),
    ("ResNet-50", 4): (LAST,),
    ("MobileNet v2", 1): (LAST, INDUCTOR),
}


@lru_cache(maxsize=1)
def network(name: str) -> tuple[Any, torch.nn.Module]:
    """A network of ours in evaluation, and its mirror; the last one is kept for the next batch."""
    jt.set_global_seed(0)
    net = lively((FAMILIES | DEPTHWISE)[name]())
    net.eval()
    jt.sync([*net.parameters(), *net.buffers()])
    return net, mirror(net)


def forward(name: str, compiled: bool, *size: int) -> Case:
    """Scores of images of size (batch, 3, h, w)."""
    net, peer = network(name)
    (x,), (t,) = vars_and_tensors(np.random.default_rng(0).standard_normal(size, np.float32))

    def scores(x: Any) -> Any:
        with jt.no_grad():
            return net(x)

    def theirs() -> Any:
        with torch.no_grad():
            return peer(t)

    taken = jt.compile(scores) if compiled else scores

    def ours() -> Any:
        return taken(x).sync()

    return Case(ours, theirs, flops=size[0] * flops_of(peer, t[:1]), how=lambda: shares.told(ours))


def beside_the_best(name: str, compiled: bool, *size: int) -> Case:
    """The same scores, beside PyTorch as fast as it can be: compiled, as ours is then, or with channels last."""
    case, (_, peer) = forward(name, compiled, *size), network(name)
    (_,), (t,) = vars_and_tensors(np.random.default_rng(0).standard_normal(size, np.float32))
    peer = copy.deepcopy(peer)  # the mirror is kept for other rows, and stays as it is
    if compiled:
        torch.compiler.reset()  # what it knows of other batches would make it compile for any batch
        peer = torch.compile(peer, dynamic=False)
    else:
        peer, t = peer.to(memory_format=torch.channels_last), t.to(memory_format=torch.channels_last)

    def theirs() -> Any:
        with torch.inference_mode():
            return peer(t)

    return replace(case, peer=theirs)


def flops_of(peer: torch.nn.Module, one: torch.Tensor) -> float:
    """Multiplications and additions of convolutions and linear layers for one image."""
    found = []

    def count(layer: Any, _: Any, out: torch.Tensor) -> None:
        found.append(2 * out.numel() * layer.weight[0].numel())

    layers = [m for m in peer.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
    hooks = [m.register_forward_hook(count) for m in layers]
    with torch.no_grad():
        peer(one)
    for hook in hooks:
        hook.remove()
    return float(sum(found))


# ------------------------------------------------------------------------------------------- rows made of other rows


def mean_of(names: tuple[str, ...], run: Run) -> Figures:
    """The geometric mean over networks and batches, and the quartiles of these ratios."""
    wanted = [row.name for row in PAIRS if row.group in names and row.goals]
    found = {r.row.name: r.figures for r in run.results if not r.failed and r.figures.ratio}
    figures = [found[name] for name in wanted if name in found]
    if len(figures) < len(wanted):
        return Figures(how=f"it needs all {len(wanted)} rows")
    ratios, kept = [f.ratio for f in figures], [f.kept or f.ratio for f in figures]
    return Figures(ratio=geometric_mean(ratios), spread=quartiles(ratios), kept=geometric_mean(kept))


def all_of(names: tuple[str, ...], _: Result, run: Run) -> Cause:
    """The rows that `mean_of` is made of."""
    return causes.of_rows([r for r in run.results if r.row.group in names and r.row.goals])


def _rows(names: dict[str, Callable[[], Any]], wanted: tuple[Goal, ...]) -> list[Row]:
    return [row for name in names for row in (*_beside_eager(name, wanted), *_beside_the_best(name))]


def _beside_eager(name: str, wanted: tuple[Goal, ...]) -> list[Row]:
    replayed = BATCHES if name in DEPTHWISE else BATCHES[:1]
    return [
        *(_row(name, f"batch {n}", n, partial(forward, name, False), wanted) for n in BATCHES),
        *(_row(name, f"batch {n}, jt.compile", n, partial(forward, name, True)) for n in replayed),
    ]


def _beside_the_best(name: str) -> list[Row]:
    return [
        _row(name, f"batch {n}, {what}", n, partial(beside_the_best, name, what == INDUCTOR))
        for (net, n), kinds in BEST.items()
        for what in kinds
        if net == name
    ]


def _row(name: str, what: str, n: int, build: Callable[..., Case], goals: tuple[Goal, ...] = ()) -> Row:
    return Row(f"{name}, {what}", goals, build, (n, *PHOTO), SMALL, group=name, tolerance=1e-4)


PAIRS = [*_rows(FAMILIES, GOOD), *_rows(DEPTHWISE, LIVE)]
ROWS = (
    *PAIRS,
    Row(
        "five families, geometric mean", LIVE, work=partial(mean_of, tuple(FAMILIES)),
        why=partial(all_of, tuple(FAMILIES)),
    ),
    Row("depthwise, geometric mean", (), work=partial(mean_of, tuple(DEPTHWISE))),
)  # fmt: skip


tables = shares.tables


def QUICK(row: Row) -> bool:  # noqa: N802  a constant of the suite, which happens to be a function
    """One image at a time, and nothing for which PyTorch compiles."""
    return row.build is None or (row.size[0] == 1 and INDUCTOR not in row.name)
