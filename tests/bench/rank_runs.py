"""Rank runs: is a training on two ranks faster than on one, and how long do 1,024 simulated ranks take to meet?

    round 1    one rank alone   two ranks under mpirun   1,024 ranks meet         each in processes of its own
    round 2    ...                                                                the best of all rounds counts

Wall-clock time: what a learner waits for. The second part of the suite `ranks`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROUNDS = 3
LIMIT = 120  # seconds that one run may take
ALONE, TOGETHER, MEET = "digits CNN, one step", "digits CNN, one step, shared out", "a barrier by dissemination"
FASTER, LONGEST = 1.6, 2000  # times as fast as alone; ms
MANY = 1024  # simulated ranks, which meet in ten rounds
HEADS = ("whole runs", "ranks", "best", "quartiles", "x as fast as alone", "goal", "")
ROOT = Path(__file__).resolve().parents[2]
STEPS = ("-m", "tests.bench.rank_steps")


@dataclass
class Run:
    """One kind of run, on so many ranks: ms of all of them, or why it did not run."""

    name: str
    ranks: int
    ms: list[float] = field(default_factory=list)
    failed: str = ""


def measured(rounds: int) -> list[Run]:
    """The three kinds take turns."""
    alone, together, meet = Run(ALONE, 1), Run(TOGETHER, 2), Run(MEET, MANY)
    for _ in range(rounds):
        for run in (alone, together):
            _train(run)
        meet.ms.append(_meet())
    return [alone, together, meet]


def cells(run: Run, runs: list[Run]) -> list[str]:
    """What stands in each column."""
    goal = {TOGETHER: f"≥ {FASTER:g} x as fast", MEET: f"≤ {LONGEST / 1000:g} s"}.get(run.name, "")
    if not run.ms:
        return [run.name, f"{run.ranks:,}", "FAILED", run.failed[:60], "", goal, ""]
    alone = next((min(r.ms) for r in runs if r.name == ALONE and r.ms), None)
    ratio = alone / min(run.ms) if alone and run.name == TOGETHER else None
    ordered = sorted(run.ms)
    low, high = ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]
    return [run.name, f"{run.ranks:,}", f"{min(run.ms):.2f} ms", f"{low:.1f} … {high:.1f}",
            f"{ratio:.2f}" if ratio else "", goal, verdict(run.name, min(run.ms), ratio)]  # fmt: skip


def verdict(name: str, best: float, ratio: float | None) -> str:
    """Whether a goal was met; nothing, where there is none or nobody to compare with."""
    if name == MEET:
        return "met" if best <= LONGEST else "missed"
    return "" if ratio is None else "met" if ratio >= FASTER else "missed"


def under_mpirun(ranks: int, program: list[str]) -> tuple[list[str], dict[str, str]] | None:
    """The command that runs a program on so many real ranks, and its environment; None where there is no mpirun."""
    from jt_edu.mpi.mpi4py_backend import launch  # noqa: PLC0415  the environment comes first

    launcher = launch.find()
    if launcher is None:
        return None
    return launcher.command(ranks, program), launch.surroundings(launcher, ranks, dict(os.environ))


def _train(run: Run) -> None:
    with tempfile.TemporaryDirectory(prefix="jt_edu-ranks-") as folder:
        target = Path(folder) / "told.json"
        program = [sys.executable, *STEPS, str(target)]
        started = (program, None) if run.ranks == 1 else under_mpirun(run.ranks, program)
        if started is None:
            run.failed = "no mpirun"
            return
        command, surroundings = started
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, env=surroundings, cwd=ROOT, check=False
            )
            run.ms += json.loads(target.read_text("utf-8"))["ms"]
        except subprocess.SubprocessError as error:
            run.failed = type(error).__name__
        except OSError:
            run.failed = (done.stderr.strip().splitlines() or ["it told nothing"])[-1]


def _meet() -> float:
    from jt_edu.mpi.simulator.threads import run_ranks  # noqa: PLC0415  the environment comes first

    begin = time.perf_counter()
    run = run_ranks(MANY, _barrier)
    if run.error is not None:
        raise run.error
    return (time.perf_counter() - begin) * 1e3


def _barrier(comm) -> None:
    far, nothing = 1, np.zeros(1, np.uint8)
    while far < comm.size:
        comm.Sendrecv(nothing, (comm.rank + far) % comm.size, 0, nothing.copy(), (comm.rank - far) % comm.size, 0)
        far *= 2
