"""Conv: each distinct convolution of eight networks, forward and both gradients, beside PyTorch eager and the peak.

layer x batch (1, 8)  ->  forward, gradient by input, gradient by weights  ->  ratio, share of the peak, algorithm
"""

from collections.abc import Sequence
from functools import partial

from tests.bench import causes, report
from tests.bench.backbones import DEPTHWISE, FAMILIES, PHOTO
from tests.bench.layers import Layer, forward, gradient, layers_of
from tests.bench.measure import geometric_mean, quartiles
from tests.bench.rows import Cause, Figures, Goal, Result, Row, Run

ROUNDS = 15
TITLE = "Each distinct convolution of eight networks at batch 1 and 8, alone, beside PyTorch eager and beside the peak."
NOTES = """
* **five families**: AlexNet, VGG-16, ResNet-50, Wide ResNet-50-2, SqueezeNet 1.1; **depthwise**: what MobileNet v2,
  ShuffleNet v2 x1.0 and MNASNet 1.0 have besides. A layer that several networks have is measured once, at 224 x 224.
* **forward** has the bias, where the layer has one. **by input**, **by weights**: one gradient, given that of the
  answer; PyTorch's is `aten::convolution_backward`, asked for that one alone. Ours is written, planned from memory and
  run at each call: its Python is a part of it.
* **of the peak**: operations per second, of those that multiply-add chains in registers (or a matrix product of 512 by
  512, whichever is faster) reach on this machine in the same run. Counted is what the definition multiplies and adds;
  Winograd's algorithm does with fewer, and may pass 100 %. The last word of each three is the algorithm.
* In **bold**: below the goal for a single layer (0.8 of PyTorch, forward).
* Geometric means are over layers and batches; their quartiles are those over the same.
"""
KINDS = {"forward": forward, "by input": partial(gradient, 0), "by weights": partial(gradient, 1)}
BATCHES = (1, 8)
SLOWEST = Goal("ratio", 0.8)
MEANS = {"forward": (Goal("ratio", 1.3),), "by input": (Goal("ratio", 1.1),), "by weights": (Goal("ratio", 1.1),)}
WORST = 5  # layers that are named
TINY = Layer(4, 6, (5, 5), (3, 3), (1, 1), (1, 1), 1, biased=True)

FIVE = layers_of(FAMILIES, PHOTO)
OTHERS = {layer: names for layer, names in layers_of(DEPTHWISE, PHOTO).items() if layer not in FIVE}


def _rows(layers: dict[Layer, tuple[str, ...]]) -> list[Row]:
    return [
        Row(
            f"{layer.name}, batch {n}, {kind}",
            (SLOWEST,) if kind == "forward" and layer in FIVE else (), make, (layer, n), (TINY, 2),
            group=f"{layer.name} | {n}", column=kind, tolerance=1e-4,
        )
        for layer in layers
        for n in BATCHES
        for kind, make in KINDS.items()
    ]  # fmt: skip


def found(layers: dict[Layer, tuple[str, ...]], kind: str, net: str, run: Run) -> list[Result]:
    """What was measured of the layers of a network (or of all) in one kind; nothing if some are missing."""
    wanted = {layer for layer, names in layers.items() if net in ("", *names)}
    rows = [r for r in run.results if r.row.column == kind and r.row.size and r.row.size[0] in wanted]
    done = [r for r in rows if r.figures.ratio and not r.failed]
    return done if len(done) == len(wanted) * len({r.row.size[1] for r in rows}) else []


def mean_of(layers: dict[Layer, tuple[str, ...]], kind: str, net: str, run: Run) -> Figures:
    figures = [r.figures for r in found(layers, kind, net, run)]
    if not figures:
        return Figures(how="it needs all of its layers")
    ratios, kept = [f.ratio for f in figures], [f.kept or f.ratio for f in figures]
    return Figures(ratio=geometric_mean(ratios), spread=quartiles(ratios), kept=geometric_mean(kept))


def all_of(layers: dict[Layer, tuple[str, ...]], kind: str, _: Result, run: Run) -> Cause:
    """The layers that the mean over all networks is made of."""
    return causes.of_rows(found(layers, kind, "", run))


def slowest(layers: dict[Layer, tuple[str, ...]], kind: str, run: Run) -> Figures:
    """The layer that is farthest behind."""
    results = found(layers, kind, "", run)
    if not results:
        return Figures(how="it needs all of its layers")
    worst = min(results, key=lambda r: r.figures.ratio)
    return Figures(worst.figures.ours, worst.figures.peer, worst.figures.ratio, worst.figures.spread,
                   worst.figures.limit, worst.figures.error, how=worst.row.name.removesuffix(f", {kind}"))  # fmt: skip


def _summaries() -> list[Row]:
    rows = []
    for title, layers, nets in (("five families", FIVE, FAMILIES), ("depthwise networks", OTHERS, DEPTHWISE)):
        for kind in KINDS:
            goals = MEANS[kind] if layers is FIVE else ()
            mean, why = partial(mean_of, layers, kind, ""), partial(all_of, layers, kind)
            rows.append(Row(f"{title}, {kind}, geometric mean", goals, work=mean, why=why))
            rows.append(Row(f"{title}, {kind}, slowest", work=partial(slowest, layers, kind)))
            everything = FIVE | OTHERS if layers is OTHERS else FIVE
            rows += [Row(f"{net}, {kind}", work=partial(mean_of, _of(everything, net), kind, net)) for net in nets]
    return rows


def _of(layers: dict[Layer, tuple[str, ...]], net: str) -> dict[Layer, tuple[str, ...]]:
    return {layer: names for layer, names in layers.items() if net in names}


PAIRS = [*_rows(FIVE), *_rows(OTHERS)]
ROWS = (*PAIRS, *_summaries())
HEADS = ["layer", "batch", "GFLOP", *(t for k in KINDS for t in (f"{k}: jt_edu", "ratio", "of the peak", "by"))]


def tables(results: Sequence[Result]) -> str:
    """The geometric means, the layers that are farthest behind, and each layer."""
    parts = [report.markdown([r for r in results if not r.row.column])]
    for kind in KINDS:
        told = [r for r in results if r.row.column == kind and r.figures.ratio and not r.failed]
        worst = sorted(told, key=lambda r: r.figures.ratio)[:WORST]
        names = "; ".join(f"{r.row.group.replace(' | ', ', batch ')} ({r.figures.ratio:.2f})" for r in worst)
        parts.append(f"Farthest behind, {kind}: {names or 'nothing was measured'}.")
    for title, layers in (("Five families", FIVE), ("Depthwise networks, what they have besides", OTHERS)):
        parts.append(f"{title}:\n\n{_by_layer([r for r in results if r.row.column and r.row.size[0] in layers])}")
    return "\n\n".join(parts)


def _by_layer(results: Sequence[Result]) -> str:
    lines: dict[tuple[Layer, int], dict[str, Result]] = {}
    for r in results:
        lines.setdefault(r.row.size, {})[r.row.column] = r
    texts = [
        [layer.name, str(n), f"{layer.flops(n) / 1e9:.2f}", *(t for k in KINDS for t in _four(kinds.get(k)))]
        for (layer, n), kinds in lines.items()
    ]
    return report.table([HEADS, [":--", "--:", "--:", *(["--:"] * 3 + [":--"]) * len(KINDS)], *texts])


def _four(result: Result | None) -> list[str]:
    if result is None or result.failed or result.figures.ratio is None:
        return ["", "FAILED" if result is not None and result.failed else "", "", result.failed if result else ""]
    f = result.figures
    ratio = f"**{report.ratio_of(f)}**" if result.missed else report.ratio_of(f)
    return [report.time_of(f.ours), ratio, f"{f.limit:.0%}" if f.limit else "", f.how]


def PICTURED(row: Row) -> bool:  # noqa: N802  a constant of the suite, which happens to be a function
    """The picture has a line for each network and kind."""
    return not row.column and "slowest" not in row.name


def QUICK(row: Row) -> bool:  # noqa: N802  the same
    """Single images, of every fourth layer."""
    layers = [*FIVE, *OTHERS]
    return not row.column or (row.size[1] == 1 and layers.index(row.size[0]) % 4 == 0)
