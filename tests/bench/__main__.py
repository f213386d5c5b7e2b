"""Run a suite:  python -m tests.bench core [--quick] [--only NAME]

    all               in place of a suite: every one that compares with PyTorch in this process, one after the other

    --only NAME       rows whose name contains NAME; may be given several times
    --quick           few repetitions, and of a long suite a part of its rows: does it run at all?
    --out FOLDER      where the page and the picture go (docs, when all rows run in full; else nowhere); what other
                      suites wrote on the page stays
    --profile NAME    where the Python of our side of a row spends its time
    --source NAME     the kernels of a row
    --asm NAME        whether the inner loops of these kernels use packed instructions

A bench is no test: the exit code is 0 whatever the figures are.
"""

import argparse
import importlib
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.surroundings import quiet

PEERS = ("core", "ops", "conv", "backbones", "train", "start")  # PyTorch, in this process
SUITES = (*PEERS, "click", "ranks")
DOCS = Path(__file__).resolve().parents[2] / "docs"
FEW = 3  # rounds of a quick run


def main(arguments=None):
    options = _options(arguments)
    if options.suite == "all":
        given = sys.argv[1:] if arguments is None else list(arguments)
        rest = [word for word in given if word != "all"]
        return max(
            subprocess.run([sys.executable, "-m", "tests.bench", s, *rest], check=False).returncode for s in PEERS
        )
    if options.suite == "click":  # a browser and its clock: nothing to compare with
        from tests.bench import click  # noqa: PLC0415  the environment of the others must come first

        return click.bench(options.only, _folder(options), quick=options.quick)
    if options.suite == "ranks":  # processes of their own, whose wall clocks count
        with quiet():
            from tests.bench import ranks  # noqa: PLC0415  the environment comes first

            return ranks.bench(options.only, _folder(options), quick=options.quick)
    with quiet() as gone:
        import torch  # noqa: PLC0415  the environment comes first

        torch.set_num_threads(1)
        suite = importlib.import_module(f"tests.bench.{options.suite}")
        looks = {name: value for name in ("profile", "source", "asm") if (value := getattr(options, name))}
        for name in gone:
            print(f"{name} was set, and is not any more: each library chooses for itself.")
        if looks:
            return _look(suite.ROWS, looks)
        return _bench(suite, options)


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=(*SUITES, "all"))
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="rows whose name contains NAME")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the page and the picture go")
    for name in ("profile", "source", "asm"):
        parser.add_argument(f"--{name}", metavar="NAME", help=f"show the {name} of a row")
    return parser.parse_args(arguments)


def _look(rows, looks):
    from tests.bench import look  # noqa: PLC0415

    for kind, name in looks.items():
        for row in [row for row in rows if name in row.name and row.build]:
            print(f"== {kind} of {row.name}\n{getattr(look, kind)(row)}", flush=True)
    return 0


def _bench(suite, options):
    from tests.bench import machine, report  # noqa: PLC0415
    from tests.bench.rows import Run, fill  # noqa: PLC0415

    wanted = [row for row in suite.ROWS if not options.only or any(name in row.name for name in options.only)]
    if options.quick and hasattr(suite, "QUICK"):
        wanted = [row for row in wanted if suite.QUICK(row)]
    run = Run(FEW if options.quick else suite.ROUNDS, options.quick, box=getattr(suite, "BOX", math.inf))
    begin, loads = time.monotonic(), [machine.load()]
    print(report.line(report.HEADS), flush=True)
    for number, row in enumerate(wanted):
        _progress(number, len(wanted), row.name, time.monotonic() - begin)
        print(report.line(report.cells(fill(row, run))), flush=True)
    loads.append(machine.load())
    print(f"\n{report.summary(run.results)} {time.monotonic() - begin:.0f} s, load {loads}")
    if out := _folder(options):
        _write(out, options.suite, suite, run, loads)
    return 0


def _folder(options):
    """Where the page goes; None: nowhere."""
    return options.out or (None if options.quick or options.only else DOCS)


def _write(folder, name, suite, run, loads):
    """The part of the page that belongs to this suite, and its picture."""
    from tests.bench import chart, machine, report  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    page, picture = folder / "performance.md", folder / f"performance_{name}.svg"
    reading = getattr(suite, "READING", report.READING)
    shown, pictured = getattr(suite, "tables", report.tables), getattr(suite, "PICTURED", lambda _: True)
    text = report.section(
        name, suite.TITLE, suite.NOTES, run.results, run.rounds, machine.describe(), loads, shown, reading
    )
    before = page.read_text("utf-8") if page.exists() else ""
    page.write_text(report.page(before, name, text), "utf-8")
    picture.write_text(chart.draw([r for r in run.results if pictured(r.row)]), "utf-8")
    print(f"written: {page}, {picture}")


def _progress(done, count, name, seconds):
    """On a terminal: which row it is, and how long the rest will take. Rows differ, so it is a guess."""
    if sys.stderr.isatty():
        left = f", about {seconds / done * (count - done):.0f} s left" if done else ""
        text = f"{done + 1} of {count}: {name}{left}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width].ljust(width)}\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
