"""Run a suite:  python -m tests.bench core [--quick] [--only NAME]

    all               instead of a suite: every one that compares with a library in this process, one after the other

    --only NAME       rows whose name contains NAME; may be given several times
    --quick           few repetitions, and of a long suite a part of its rows: does it run at all?
    --seconds N       a slow row gets only as many rounds as fit into N seconds, and at least 5; the page says so
    --out FOLDER      where the page and the picture go (docs, when all rows run in full; else nowhere); what other
                      suites wrote on the page stays
    --profile NAME    where the Python of our side of a row spends its time
    --source NAME     the kernels of a row
    --asm NAME        whether the inner loops of these kernels use packed instructions

A bench is no test: the exit code is 0 whatever the figures are, and 2 if it could not begin.
"""

import argparse
import difflib
import importlib
import importlib.util
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.surroundings import quiet

SUITES = {  # what it measures, and about how long that takes on one core that has nothing else to do
    "core": "operators that all else is made of, GEMM beside the peak, a small step, the start: 5 minutes",
    "ops": "some 60 operators at three sizes, steps of an LSTM and a transformer: 15 minutes",
    "conv": "each convolution of eight networks, forward and both gradients, batch 1 and 8: 10 minutes",
    "backbones": "eight networks forward, batch 1, 4, 16, some beside PyTorch at its best: 15 minutes",
    "train": "steps of ResNet-18 and of a small CNN, beside eager and torch.compile: 4 minutes",
    "start": "processes of their own: the import, and the first step of a small CNN: 4 minutes",
    "jax": "steps and first steps of four small networks beside JAX, where that is installed: 10 minutes",
    "jittor": "nearest neighbours, the first answer of a ResNet-18, the memory of a ResNet-50: 5 minutes",
    "science": "Fourier transforms, linear algebra, derivatives, beside PyTorch and NumPy: 3 minutes",
    "shapes": "images of powers of two and beside, distances, attention, with gradients: 10 minutes",
    "zoo": "ten networks of jt.zoo forward, steps of two transformers, memory of autocast: 10 minutes",
    "threads": "two threads over one, forward; wants two cores and no other program: 1 minute",
    "tuning": "the tuner's choice beside the best candidate, on 38 convolutions: 6 minutes",
    "click": "what a click in a view costs, in a browser: 5 minutes",
    "ranks": "all-reduce beside mpi4py and gloo, in processes of their own: 10 minutes",
}
PEERS = ("core", "ops", "conv", "backbones", "train", "start", "jittor", "science", "shapes", "zoo")  # PyTorch, here
MODULES = {"tuning": "choices", "jax": "beside_jax"}  # where the module has another name than its suite
DOCS = Path(__file__).resolve().parents[2] / "docs"
FEW = 3  # rounds of a quick run


class UsageError(Exception):
    """Something that its reader can mend: a sentence, and no traceback."""


def main(arguments=None):
    options = _options(arguments)
    try:
        return _run(options, sys.argv[1:] if arguments is None else list(arguments))
    except UsageError as reason:
        print(reason, file=sys.stderr)
        return 2


def _run(options, given):
    if options.suite == "all":
        rest = [word for word in given if word != "all"]
        return max(
            subprocess.run([sys.executable, "-m", "tests.bench", s, *rest], check=False).returncode
            for s in (*PEERS, "jax")
        )
    if options.suite == "click":  # a browser and its clock: nothing to compare with
        from tests.bench import click  # noqa: PLC0415  the environment of the others must come first

        _known([question.name for question in click.QUESTIONS], options.only)
        return click.bench(options.only, _folder(options), quick=options.quick)
    if options.suite == "ranks":  # processes of their own, whose wall clocks count
        with quiet():
            from tests.bench import ranks  # noqa: PLC0415  the environment comes first

            _known(list(ranks.SIDES), options.only)
            return ranks.bench(options.only, _folder(options), quick=options.quick)
    if options.suite == "jax" and importlib.util.find_spec("jax") is None:
        print("The suite jax is passed over: JAX is not installed here. To measure:  pip install jax")
        return 0
    with quiet() as gone:
        suite = _suite(options.suite)
        for name in gone:
            print(f"{name} was set, and is not any more: each library chooses for itself.")
        looks = {name: value for name in ("profile", "source", "asm") if (value := getattr(options, name))}
        return _look(suite.ROWS, looks) if looks else _bench(suite, options)


def _suite(name):
    """The module of a suite; with PyTorch on one thread, if it compares with it."""
    if name in PEERS:
        if importlib.util.find_spec("torch") is None:
            raise UsageError(
                f"The suite {name} compares with PyTorch, which is not installed here. "
                f"Try:  python3 lab.py bench {name}  (it installs PyTorch, to compare with, and measures)"
            )
        import torch  # noqa: PLC0415  the environment comes first

        torch.set_num_threads(1)
    return importlib.import_module(f"tests.bench.{MODULES.get(name, name)}")


def _options(arguments):
    told = "\n".join(f"  {name:<10} {what}" for name, what in SUITES.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__.splitlines()[0], epilog=f"suites:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("suite", choices=(*SUITES, "all"), metavar="suite", help="one of those below, or all")
    parser.add_argument("--quick", action="store_true", help="few repetitions, of a long suite a part of its rows")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="rows whose name contains NAME")
    parser.add_argument(
        "--seconds", type=_seconds, metavar="N", help="a slow row: as many rounds as fit into N, at least 5"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the page and the picture go")
    for name in ("profile", "source", "asm"):
        parser.add_argument(f"--{name}", metavar="NAME", help=f"show the {name} of a row")
    return parser.parse_args(arguments)


def _seconds(text):
    if not 0 < (number := float(text)) < math.inf:
        raise ValueError
    return number


def _look(rows, looks):
    from tests.bench import look  # noqa: PLC0415

    for kind, name in looks.items():
        for row in _named([row for row in rows if row.build], [name]):
            print(f"== {kind} of {row.name}\n{getattr(look, kind)(row)}", flush=True)
    return 0


def _bench(suite, options):
    from tests.bench import causes, machine, report  # noqa: PLC0415
    from tests.bench.rows import Run, fill  # noqa: PLC0415

    wanted = _named(suite.ROWS, options.only)
    if options.quick and hasattr(suite, "QUICK"):
        wanted = [row for row in wanted if suite.QUICK(row)]
    if not wanted:
        raise UsageError(
            f"No row of {options.suite} with {' or '.join(options.only)} in its name is part of a quick run."
        )
    box = options.seconds or getattr(suite, "BOX", math.inf)
    run = Run(FEW if options.quick else suite.ROUNDS, options.quick, box=box)
    begin, loads = time.monotonic(), [machine.load()]
    print(report.line(getattr(suite, "HEADS", report.HEADS)), flush=True)
    for number, row in enumerate(wanted):
        _progress(number, len(wanted), row.name, time.monotonic() - begin)
        result = fill(row, run, causes.of)
        print(report.line(report.cells(result)), *report.cause_lines(result), sep="\n", flush=True)
    loads.append(machine.load())
    print(f"\n{report.summary(run.results)} {time.monotonic() - begin:.0f} s, load {loads}")
    if out := _folder(options):
        _write(out, options.suite, suite, run, loads)
    return 0


def _named(rows, names):
    """The rows whose name contains one of these names."""
    _known([row.name for row in rows], names)
    return [row for row in rows if not names or any(name in row.name for name in names)]


def _known(rows, names):
    """Each name has to be a part of the name of a row."""
    for name in names:
        if not any(name in row for row in rows):
            near = difflib.get_close_matches(name, rows, cutoff=0.3) or rows[:3]
            raise UsageError(f"No row has {name!r} in its name. Try one of these: {'; '.join(near)}.")


def _folder(options):
    """Where the page goes; None: nowhere."""
    return options.out or (None if options.quick or options.only else DOCS)


def _write(folder, name, suite, run, loads):
    """The part of the page that belongs to this suite, and its picture."""
    from tests.bench import machine, report  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    page, picture = folder / "performance.md", folder / f"performance_{name}.svg"
    words = report.Words(
        suite.TITLE, suite.NOTES, getattr(suite, "READING", report.READING), getattr(suite, "RATIO", report.RATIO),
        getattr(suite, "tables", report.tables), picture=name in PEERS,
    )  # fmt: skip
    text = report.section(name, words, run, machine.describe(), loads)
    before = page.read_text("utf-8") if page.exists() else ""
    page.write_text(report.page(before, name, text), "utf-8")
    if words.picture:
        from tests.bench import chart  # noqa: PLC0415  it needs matplotlib

        pictured = getattr(suite, "PICTURED", lambda _: True)
        picture.write_text(chart.draw([r for r in run.results if pictured(r.row)]), "utf-8")
    print(f"written: {page}{f', {picture}' if words.picture else ''}")


def _progress(done, count, name, seconds):
    """On a terminal: which row it is, and how long the rest will take. Rows differ, so it is a guess."""
    if sys.stderr.isatty():
        left = f", about {seconds / done * (count - done):.0f} s left" if done else ""
        text = f"{done + 1} of {count}: {name}{left}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width].ljust(width)}\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
