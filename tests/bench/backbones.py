"""Backbones: whole networks forward, in evaluation, beside the same networks in PyTorch eager.

Our networks are those of `jt.models`, with weights drawn from a seed; PyTorch's are their mirrors (`mirror.py`). The
answers are compared in the same run, and nothing is measured that is not equal.
"""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch

import jt_edu as jt
from jt_edu import models
from tests.bench import machine, shares
from tests.bench.measure import geometric_mean, quartiles, spread, take_turns
from tests.bench.mirror import lively, mirror
from tests.bench.rows import Case, Figures, Goal, Row, Run, numbers, vars_and_tensors

ROUNDS, BOX = 15, 25.0
TITLE = "Whole networks, forward in evaluation, one image of 224 x 224 or several, beside PyTorch eager."
NOTES = """
* **batch**: how many images at once. The same network on both sides: PyTorch's is made of the modules of ours, with the
  same numbers, and its activations write in place. **error**: of the scores, as a share of the largest; 1e-4 may be.
* A row gets 15 rounds, or as many as fit into 25 seconds, and at least 5.
* **of the limit**: of the operations per second that multiply-add chains in registers (or a matrix product of 512 by
  512, whichever is faster) reach on this machine in the same run. Counted are multiplications and additions of
  convolutions and linear layers, as by the definition; an algorithm such as Winograd's does with fewer.
* **jt.compile**: the forward is captured once, and then replayed; the others write their graph at each call.
* **2 threads over 1**: wall-clock time of ours with one thread / with two; measured only while the machine has nothing
  else to do (load below 0.5).
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
PHOTO = (3, 224, 224)


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
    found = {r.row.name: r.figures.ratio for r in run.results if not r.failed and r.figures.ratio}
    ratios = [found[name] for name in wanted if name in found]
    if len(ratios) < len(wanted):
        return Figures(how=f"it needs all {len(wanted)} rows")
    return Figures(ratio=geometric_mean(ratios), spread=quartiles(ratios))


def two_threads(run: Run) -> Figures:
    """Wall-clock time with one thread over that with two, by turns; only on a machine that is quiet."""
    before = machine.load()
    if before is None or before >= machine.QUIET:
        return Figures(how=f"not quiet: load {before}")
    net, _ = network("ResNet-50")
    x = jt.array(np.random.default_rng(0).standard_normal((4, *PHOTO), np.float32))

    def scores() -> Any:
        with jt.no_grad():
            return net(x).sync()

    alone = numbers(scores())
    times = take_turns({"1": scores, "2": scores}, run.rounds, time.perf_counter, box=run.box, threads={"1": 1, "2": 2})
    after = machine.load()
    if after is None or after >= machine.QUIET + 2:  # the benchmark itself counts for up to 2
        return Figures(how=f"not quiet any more: load {after}")
    one, two = times["1"], times["2"]
    error = float(np.abs(alone[0] - numbers(scores())[0]).max())
    return Figures(ratio=one.best / two.best, spread=spread(one, two), error=error)


def _rows(names: dict[str, Callable[[], Any]], wanted: tuple[Goal, ...]) -> list[Row]:
    return [
        Row(
            f"{name}, {what}",
            goals,
            partial(forward, name, compiled),
            (n, *PHOTO),
            (2, 3, 64, 64),
            None,
            name,
            "",
            1e-4,
        )
        for name in names
        for what, n, compiled, goals in (
            *((f"batch {n}", n, False, wanted) for n in BATCHES),
            *((f"batch {n}, jt.compile", n, True, ()) for n in BATCHES if n == 1 or names is DEPTHWISE),
        )
    ]


PAIRS = [*_rows(FAMILIES, GOOD), *_rows(DEPTHWISE, LIVE)]
ROWS = (
    Row("ResNet-50, 2 threads over 1", (Goal("ratio", 1.7),), work=two_threads),  # first, while all is quiet
    *PAIRS,
    Row("five families, geometric mean", LIVE, work=partial(mean_of, tuple(FAMILIES))),
    Row("depthwise, geometric mean", (), work=partial(mean_of, tuple(DEPTHWISE))),
)


tables = shares.tables


def QUICK(row: Row) -> bool:  # noqa: N802  a constant of the suite, which happens to be a function
    """One image at a time."""
    return row.build is None or row.size[0] == 1
