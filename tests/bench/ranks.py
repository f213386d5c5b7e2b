"""Ranks: how long does an all-reduce of 25 MB take, beside mpi4py alone and beside PyTorch's gloo?

Then whole runs, without a peer (`rank_runs.py`).

    round 1    mpi4py   threads   threads by ring   jt.mpi   gloo          each in processes of its own, one by one
    round 2    mpi4py   threads   ...                                      the best call of all rounds counts

Wall-clock time of the slowest rank: what a program waits for. The sides take turns, so that slow moments of a shared
machine hit all of them; the best of many calls has met the fewest.

    python -m tests.bench ranks [--quick] [--only NAME] [--out FOLDER]
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import machine, rank_runs, report

SIZES = (2, 4)  # ranks
ROUNDS, CALLS, FEW = 4, 6, 2  # calls in a round; of a quick run
LIMIT = 300  # seconds that one side may take
RAW, NATIVE, RING, REAL, GLOO = "mpi4py buffers", "simulated, native", "simulated, ring", "jt.mpi, native", "torch gloo"
SIDES = {RAW: ("mpi4py", "native"), NATIVE: ("threads", "native"), RING: ("threads", "ring"), REAL: ("mpi", "native"),
         GLOO: ("gloo", "")}  # fmt: skip
GOALS = {NATIVE: (1.0, RAW), REAL: (1.2, RAW)}  # at most so many times as long as; and less than gloo
WIDTHS = (22, 5, 10, 19, 10, 10, 22, 7)
HEADS = ("25 MB float32", "ranks", "best", "quartiles", "x mpi4py", "x gloo", "goal", "")
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Side:
    """One way to add up, on so many ranks: ms of all its calls, or why it did not run."""

    name: str
    ranks: int
    ms: list[float] = field(default_factory=list)
    failed: str = ""

    @property
    def best(self) -> float | None:
        return min(self.ms) if self.ms else None


def bench(only: Sequence[str], out: Path | None, *, quick: bool) -> int:
    """Let the sides take turns, print a line for each, and write the page's part if all of them ran in full."""
    names = [name for name in SIDES if not only or any(part in name for part in only)]
    sides = [Side(name, ranks) for ranks in SIZES for name in names]
    loads = [machine.load()]
    with tempfile.TemporaryDirectory(prefix="jt_edu-ranks-") as folder:
        for number in range(1 if quick else ROUNDS):
            for side in sides:
                _measure(side, FEW if quick else CALLS, Path(folder) / f"{side.ranks}-{number}")
    rows = [cells(side, sides) for side in sides]
    print("\n".join(map(_line, [HEADS, *rows])), flush=True)
    runs = [] if only else rank_runs.measured(1 if quick else rank_runs.ROUNDS)
    whole = [rank_runs.cells(run, runs) for run in runs]
    for texts in [rank_runs.HEADS, *whole] if whole else []:
        print("  ".join(t.rjust(18) if number else t.ljust(34) for number, t in enumerate(texts)).rstrip())
    loads.append(machine.load())
    print(f"\nload {loads}")
    if out:
        _write(out, rows, whole, loads)
    return 0


def _measure(side: Side, calls: int, meeting: Path) -> None:
    """One round of one side; what it prints last are its times."""
    kind, how = SIDES[side.name]
    program = [sys.executable, "-m", "tests.bench.allreduce", kind, how or str(meeting), str(side.ranks), str(calls)]
    started = (program, None) if kind == "threads" else rank_runs.under_mpirun(side.ranks, program)
    if started is None:
        side.failed = "no mpirun"
        return
    command, surroundings = started
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env=surroundings, cwd=ROOT, check=False
        )
        side.ms += json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        said = done.stderr.strip().splitlines() if isinstance(error, (ValueError, IndexError)) else []
        side.failed = said[-1] if said else type(error).__name__


def cells(side: Side, sides: Sequence[Side]) -> list[str]:
    """What stands in each column."""
    beside = {other.name: other.best for other in sides if other.ranks == side.ranks}
    raw, gloo = (_ratio(side.best, beside.get(name)) for name in (RAW, GLOO))
    goal = f"≤ {GOALS[side.name][0]:g} x mpi4py, < gloo" if side.name in GOALS else ""
    if side.best is None:
        return [side.name, str(side.ranks), "FAILED", side.failed[:60], "", "", goal, ""]
    shown = [f"{ratio:.2f}" if ratio else "" for ratio in (raw, gloo)]
    low, high = _quartiles(side.ms)
    return [side.name, str(side.ranks), f"{side.best:.2f} ms", f"{low:.1f} … {high:.1f}", *shown, goal,
            verdict(side.name, raw, gloo)]  # fmt: skip


def verdict(name: str, raw: float | None, gloo: float | None) -> str:
    """Whether a goal was met; nothing, where there is none or nobody to compare with."""
    if name not in GOALS or raw is None:
        return ""
    return "met" if raw <= GOALS[name][0] and (gloo is None or gloo < 1) else "missed"


def _ratio(ours: float | None, other: float | None) -> float | None:
    return ours / other if ours and other else None


def _quartiles(ms: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(ms)
    return ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]


def _line(texts: Sequence[str]) -> str:
    first, *rest = (text.rjust(width) for text, width in zip(texts, WIDTHS, strict=True))
    return "  ".join([first.strip().ljust(WIDTHS[0]), *rest]).rstrip()


SECTION = """<!-- ranks -->
## ranks

How long an all-reduce of 25 MB (6,250,000 float32) takes, beside mpi4py with buffers and beside PyTorch's gloo.

{table}

{runs}

* **best**, **quartiles**: of {calls} calls, in wall-clock ms of the slowest rank, in {rounds} rounds in which all sides
  took turns, each in processes of its own.
* **simulated**: ranks as threads of one process; *native* adds up slice by slice in one thread, *ring* sends every
  chunk through Python. **jt.mpi**: jt_edu over mpi4py. **mpi4py buffers**: the same library without jt_edu.
* **digits CNN**: two convolutions with batch norm and two layers, a batch of 256 in all, Adam, one thread a rank,
  `jt.compile`; *shared out* are the halves of the same batch under mpirun. **A barrier by dissemination**: ten rounds,
  10,240 messages in Python.
* Four ranks on fewer processors wait for each other; that says something about the machine, and not about the sides.

### The machine: ranks

{machine}

{load}
<!-- end of ranks -->
"""


def _write(
    folder: Path, rows: Sequence[Sequence[str]], whole: Sequence[Sequence[str]], loads: Sequence[float | None]
) -> None:
    from jt_edu.mpi.mpi4py_backend import launch  # noqa: PLC0415  the environment comes first

    folder.mkdir(parents=True, exist_ok=True)
    page, facts, launcher = folder / "performance.md", machine.describe(), launch.find()
    facts["MPI"] = f"{launcher.kind} {launcher.version}" if launcher else "not installed"
    text = SECTION.format(
        table=report.table([HEADS, [":--", *["--:"] * 5, ":--", ":--"], *rows]), calls=ROUNDS * CALLS, rounds=ROUNDS,
        runs=report.table([rank_runs.HEADS, [":--", *["--:"] * 4, ":--", ":--"], *whole]),
        machine="\n".join(f"* {name}: {fact}" for name, fact in facts.items()), load=report.load_of(loads),
    )  # fmt: skip
    page.write_text(report.page(page.read_text("utf-8") if page.exists() else "", "ranks", text), "utf-8")
    print(f"written: {page}")
