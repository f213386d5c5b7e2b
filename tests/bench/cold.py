"""Cold: how long until something has happened, from the start of the interpreter?

Each sample is a process of its own; what counts is the CPU time of that process and all its threads, as the system
tells it afterwards. The first start, which lets Python write its own .pyc files, counts for nothing.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.bench import causes
from tests.bench.measure import measured, spread
from tests.bench.rows import Cause, Figures, Goal, Result, Row, Run

try:
    import resource
except ImportError:  # Windows
    resource = None

FEW = 3  # samples of what a first step is made of
ROUNDS, FEWEST, BOX = 15, 7, 100.0  # samples of each side: 15, or as many as fit into 100 seconds, and at least 7
ROOT = Path(__file__).resolve().parents[2]
NOTHING = ["-c", "print(0)"]
IMPORT = {"ours": ["-c", "import jt_edu; print(0)"], "peer": ["-c", "import torch; print(0)"]}


def start(arguments: list[str], cache: str) -> tuple[float, float]:
    """CPU seconds of a Python with these arguments, and the number that it printed."""
    if resource is None:
        raise OSError("the CPU time of a child is told on Linux and macOS only")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env={**os.environ, "JT_EDU_CACHE": cache},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode:
        raise RuntimeError(f"python {' '.join(arguments)}: {child.stderr.strip().splitlines()[-1]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, float(child.stdout)


def programs(name: str, peer: str = "peer") -> dict[str, list[str]]:
    """Both sides of the first step of a network; `peer="jax"`: beside JAX."""
    return {side: ["-m", f"tests.bench.net_{who}", name] for side, who in {"ours": "ours", "peer": peer}.items()}


def step(sides: dict[str, list[str]], empty: bool, run: Run) -> Figures:
    """Programs that take a step and print the loss; each time with an empty cache of kernels, or with one of an earlier
    start.
    """
    with tempfile.TemporaryDirectory() as folder:
        folders = (str(Path(folder) / str(k)) for k in range(1000))
        return _samples(sides, run, lambda: next(folders) if empty else folder)


def parts(result: Result, _: Run) -> Cause:
    """Of a first step: the start of Python, the import, and the rest, each the best of some processes."""
    with tempfile.TemporaryDirectory() as folder:
        python, imported = (
            min(start(arguments, folder)[0] for _ in range(FEW)) * 1e3 for arguments in (NOTHING, IMPORT["ours"])
        )
    whole = max(result.figures.ours or 0.0, imported)
    shares = causes.percent({"Python": python, "import": imported - python, "rest": whole - imported})
    return Cause(
        f"the start of Python {shares['Python']}%, the import {shares['import']}%, "
        f"kernels, the network and the step {shares['rest']}%",
        f"the import alone takes {imported:.0f} ms",
    )


def importing(run: Run) -> Figures:
    """The import alone."""
    with tempfile.TemporaryDirectory() as folder:
        return _samples(IMPORT, run, lambda: folder)


def _samples(sides: dict[str, list[str]], run: Run, cache) -> Figures:
    for arguments in sides.values():
        start(arguments, cache())
    found, said = {"ours": [], "peer": []}, {}
    for number in range(1 if run.quick else ROUNDS):
        if number >= FEWEST and sum(map(sum, found.values())) >= min(run.box, BOX):
            break
        for side, arguments in sides.items():
            seconds, said[side] = start(arguments, cache())
            found[side].append(seconds)
    ours, peer = (measured(found[side]) for side in ("ours", "peer"))
    error = abs(said["ours"] - said["peer"]) / max(abs(said["peer"]), 1e-30)
    few = len(ours.times) if len(ours.times) < ROUNDS else 0
    return Figures(ours.best * 1e3, peer.best * 1e3, peer.best / ours.best, spread(peer, ours), None, error, few)


MLP = programs("mlp")
ROWS = (
    Row("first step, empty cache", (Goal("ms", 3000),), work=partial(step, MLP, True), group="start", why=parts),
    Row("first step, kernels on disk", (Goal("ms", 1000),), work=partial(step, MLP, False), group="start", why=parts),
    Row("import", (), work=importing, group="start"),
)
