"""Bench: how many images a second does a network answer, against the size of the batch? Beside PyTorch, if it is here.

    python -m jt_edu.bench backbones                               five families, 224 x 224 pixels: some ten minutes
    python -m jt_edu.bench backbones --networks resnet18 vgg11 --batch 1 4 --size 64 --rounds 15 --folder figures

Both sides use one thread, and seconds are those of the CPU: on a machine that others use, too, those of the clock say
little. They take turns, so that what slows one slows the other. The first answer, with its compilation, is told apart.
Before anything is measured, both must give the same scores.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jt_edu import models
from jt_edu.backends.thread_pool import set_num_threads, threads
from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.data.progress_bar import progress, screen
from jt_edu.draw.chart import Axis, Chart, Line, axis, figure
from jt_edu.draw.plot import draw
from jt_edu.variable.var import array

FAMILIES = ("alexnet", "vgg16", "resnet50", "wide_resnet50_2", "squeezenet1_1")
SIDES = ("jt_edu", "PyTorch")
SAME = 1e-4  # of the largest score
ROUNDS = 15


class Row(NamedTuple):
    """One network and size of batch on one side. Rates are images a second of CPU: the median, and the quartiles."""

    network: str
    side: str
    batch: int
    rate: float
    low: float
    high: float
    first: float  # seconds of CPU that the first answer took
    best: float  # seconds that the fastest took


class Rates(list[Row]):
    """Rows, as a table, a file and a plot.

    Example:
        >>> rates = Rates([Row("resnet18", "jt_edu", 1, 20.0, 19.0, 21.0, 3.5, 0.05)])
        >>> print(rates)
        network   batch  jt_edu images/s    first s
        resnet18      1  20.0 (19.0..21.0)      3.5
    """

    def __str__(self) -> str:
        sides = [side for side in SIDES if any(row.side == side for row in self)]
        heads = [[f"{side} images/s", "first s"] for side in sides]
        lines = [["network", "batch", *chain(*heads), *["ratio"] * (len(sides) > 1)]]
        for network, batch in dict.fromkeys((row.network, row.batch) for row in self):
            found = [row for row in self if (row.network, row.batch) == (network, batch)]
            cells = [[f"{r.rate:.1f} ({r.low:.1f}..{r.high:.1f})", f"{r.first:.1f}"] for r in found]
            lines.append([network, str(batch), *chain(*cells), *_ratio(found)])
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        left = [True, False, *[True, False] * len(sides), False]
        cells = [[c.ljust(w) if side else c.rjust(w) for c, w, side in zip(row, wide, left)] for row in lines]  # noqa: B905
        return "\n".join(["  ".join(row).rstrip() for row in cells] + self.slower())

    def slower(self) -> list[str]:
        """A sentence on where PyTorch is faster, if it is anywhere."""
        pairs = [(row, other) for row in self for other in self if row[:3:2] == other[:3:2] and row.side < other.side]
        found = [f"{theirs.network} {theirs.batch}" for theirs, ours in pairs if ours.best > theirs.best]
        return [f"PyTorch is faster for {', '.join(found)}."] if found else []

    def write(self, path: str | Path) -> None:
        """All rows as CSV."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([Row._fields, *self])

    def svg(self) -> str:
        """A plot for each network: images a second over the size of the batch, with the quartiles."""
        charts = []
        for network in dict.fromkeys(row.network for row in self):
            rows = [row for row in self if row.network == network]
            x, y = axis("log", [row.batch for row in rows], "batch"), axis("linear", [0.0, *(r.high for r in rows)])
            y = Axis(y.kind, y.start, y.end, f"{network}: images/s", figure)
            lines = []
            for k, side in enumerate(side for side in SIDES if any(row.side == side for row in rows)):
                mine = [row for row in rows if row.side == side]
                lines.append(Line([(row.batch, row.rate) for row in mine], f"s{k}", side))
                lines += [Line([(row.batch, row.low), (row.batch, row.high)], f"s{k}") for row in mine]
            charts.append(Chart(x, y, lines, height=210))
        return draw(charts, "Images a second against the size of the batch")

    def _repr_html_(self) -> str:
        return self.svg()


def _ratio(found: Sequence[Row]) -> list[str]:
    return [f"{found[1].best / found[0].best:.2f}"] if len(found) > 1 else []


def backbones(
    networks: Sequence[str] = FAMILIES, batch: Sequence[int] = (1, 2, 4, 8, 16), size: int = 224, rounds: int = ROUNDS,
    peer: bool = True, clock: Callable[[], float] = time.process_time,
) -> Rates:  # fmt: skip
    """Measure networks of jt.models in evaluation, beside torchvision's with the same weights where that is installed.

    Args:
        networks: names of jt.models.
        batch: how many images at once.
        size: pixels of an image in each direction.
        rounds: how often each side answers, in turns.
        peer: False leaves PyTorch out.
        clock: tells seconds; of the CPU by default.

    Example:
        >>> backbones(["squeezenet1_1"], [1], size=32, rounds=1, peer=False)[0].network
        'squeezenet1_1'
    """
    unknown = [name for name in networks if not callable(getattr(models, name))]  # or the door's error
    if unknown or rounds < 1 or min(batch, default=0) < 1:
        raise ArgumentError("backbones measures networks, from batch 1 and round 1 on", repr((unknown, batch, rounds)))
    before, rates = threads(), Rates()
    set_num_threads(1)
    try:
        for name in networks:
            for side in _rounds(name, sorted(batch), size, rounds, peer, clock):
                rates.append(side)
    finally:
        set_num_threads(before)
    return rates


def _rounds(name: str, batches: Sequence[int], size: int, rounds: int, peer: bool, clock: Any) -> Iterator[Row]:
    ours = getattr(models, name)().eval()
    sides: dict[str, Callable[[Any], Any]] = {SIDES[0]: lambda x: ours(array(x)).numpy()}
    other = _torch(name, ours) if peer else None
    sides |= {SIDES[1]: other} if other else {}
    for batch in batches:
        x = np.random.default_rng(0).standard_normal((batch, 3, size, size), dtype="float32")
        _tell(f"{name}, batch {batch}")
        first, scores = {}, {}
        seconds: dict[str, list[float]] = {side: [] for side in sides}
        with no_grad():
            for side, answer in sides.items():
                begin = clock()
                scores[side] = answer(x)
                first[side] = clock() - begin
            _compare(name, list(scores.values()))
            for _ in progress(range(rounds)):
                for side, answer in sides.items():
                    begin = clock()
                    answer(x)
                    seconds[side].append(clock() - begin)
        for side, found in seconds.items():
            q = statistics.quantiles(found, n=4, method="inclusive") if len(found) > 1 else found * 3
            yield Row(name, side, batch, batch / q[1], batch / q[2], batch / q[0], first[side], min(found))


def _compare(name: str, scores: Sequence[Any]) -> None:
    for theirs in scores[1:]:
        off = float(np.abs(scores[0] - theirs).max() / np.abs(theirs).max())
        if off > SAME:
            raise ArgumentError(f"{name} answers as PyTorch does, to {SAME} of the largest score", f"{off:.1e}")


def _tell(line: str) -> None:
    """A line above the bars of progress, which do not say what they measure."""
    if out := screen():
        out.write(line + "\n")
        out.flush()


@cache  # it says once that PyTorch is missing, and not for each network
def _pytorch() -> tuple[Any, Any] | None:
    """torch and torchvision; None where they are not installed."""
    try:
        return importlib.import_module("torch"), importlib.import_module("torchvision")
    except (ImportError, RuntimeError) as error:  # none, or one of another build
        _tell(f"PyTorch is left out: {str(error).splitlines()[0]}")
        return None


def _torch(name: str, ours: Any) -> Callable[[Any], Any] | None:
    """torchvision's network with the numbers of ours; None where it is not installed."""
    if (modules := _pytorch()) is None:
        return None
    torch, torchvision = modules
    torch.set_num_threads(1)
    settings = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    net = getattr(torchvision.models, name)(**settings).eval()
    net.load_state_dict({key: torch.from_numpy(var.numpy().copy()) for key, var in ours.state_dict().items()})

    def answer(x: Any) -> Any:
        with torch.no_grad():
            return net(torch.from_numpy(x)).numpy()

    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m jt_edu.bench backbones`."""
    parser = argparse.ArgumentParser(prog="python -m jt_edu.bench", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=["backbones"])
    parser.add_argument("--networks", nargs="+", default=list(FAMILIES), help="names of jt.models")
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 2, 4, 8, 16], help="images at once")
    parser.add_argument("--size", type=int, default=224, help="pixels in each direction")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="answers of each side")
    parser.add_argument("--folder", default=".", help="where backbones.csv and backbones.svg are written")
    asked = parser.parse_args(arguments)
    rates = backbones(asked.networks, asked.batch, asked.size, asked.rounds)
    folder = Path(asked.folder)
    folder.mkdir(parents=True, exist_ok=True)
    rates.write(folder / "backbones.csv")
    (folder / "backbones.svg").write_text(rates.svg(), encoding="utf-8")
    sys.stdout.write(f"{rates}\n{folder / 'backbones.csv'}, {folder / 'backbones.svg'}\n")


if __name__ == "__main__":
    main()
