"""Report: the results as lines of a terminal, and as a page."""

from collections.abc import Mapping, Sequence

from tests.bench.machine import QUIET
from tests.bench.rows import Goal, Result

HEADS = ("row", "jt_edu", "PyTorch", "ratio", "quartiles", "of the limit", "goal", "", "error")
LEFT = (True, False, False, False, False, False, True, True, True)
WIDTHS = (31, 10, 10, 7, 13, 12, 27, 6, 8)
SIGNS = {"ratio": "ratio ≥ {:g}", "limit": "limit ≥ {:.0%}", "ms": "≤ {:g} ms"}

PAGE = """# Performance: {suite}

How fast is jt_edu, beside PyTorch and beside what the machine can do? `python3 lab.py bench {suite}` measures it anew
and writes this page.

![PyTorch's time / jt_edu's time, row by row](performance_{suite}.svg)

{table}

{summary}

## How to read it

* **jt_edu, PyTorch**: CPU time of one call, all threads together. One thread on each side. The best of {rounds} samples
  of at least 2 ms each, both sides by turns; compiling and warming up do not count, and malloc
  keeps what was freed.
* **ratio**: PyTorch / jt_edu, best against best; above 1, jt_edu is faster. **quartiles**: of the ratio round by round,
  which on a busy machine may lie beside it.
* **of the limit**: of what the machine does at best in the same run. For matrix products: float operations per second
  of NumPy's BLAS with n = 1024. For the training step: its five matrix products, alone, in NumPy's BLAS. Else: bytes
  per second of a plain copy, bytes read and bytes written both counted, that moves as many as the row has to read and
  write. A row that hardly writes can pass 100 %.
* **error**: the largest difference between the two answers, as a share of the largest number.
* `first step` and `import` are processes of their own, from the start of the interpreter to its end.
* `a*b+c, peer: addcmul(out=)` is PyTorch at its best: one pass, into memory that is there already. It has no goal.

## The machine

{machine}

{load}
"""


def cells(result: Result) -> list[str]:
    """What stands in each column."""
    f = result.figures
    if result.failed:
        return [result.row.name, *[""] * 5, goals(result.row.goals), "FAILED", result.failed]
    return [
        result.row.name,
        _time(f.ours),
        _time(f.peer),
        "" if f.ratio is None else f"{f.ratio:.2f}",
        "" if f.spread is None else f"{f.spread[0]:.2f} … {f.spread[1]:.2f}",
        "" if f.limit is None else f"{f.limit:.0%}",
        goals(result.row.goals),
        verdict(result),
        _error(f.error),
    ]


def goals(bars: Sequence[Goal]) -> str:
    return ", ".join(SIGNS[bar.kind].format(bar.value) for bar in bars)


def verdict(result: Result) -> str:
    if result.failed:
        return "FAILED"
    if not result.row.goals:
        return ""
    return "missed" if result.missed else "met"


def line(texts: Sequence[str]) -> str:
    """One line of the table in a terminal."""
    columns = zip(LEFT, WIDTHS, texts, strict=True)
    return "  ".join(text.ljust(width) if left else text.rjust(width) for left, width, text in columns).rstrip()


def markdown(results: Sequence[Result]) -> str:
    rows = [HEADS, tuple(":--" if left else "--:" for left in LEFT), *map(cells, results)]
    return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows)


def summary(results: Sequence[Result]) -> str:
    """One sentence on how many goals were missed."""
    failed = [r.row.name for r in results if r.failed]
    judged = [r for r in results if r.row.goals and not r.failed]
    missed = [r.row.name for r in judged if r.missed]
    text = f"{len(judged) - len(missed)} of {len(judged)} rows with a goal met it"
    text += f"; missed: {len(missed)} ({', '.join(missed)})" if missed else "; none was missed"
    return text + (f"; failed: {', '.join(failed)}." if failed else ".")


def page(
    suite: str, results: Sequence[Result], rounds: int, facts: Mapping[str, str], loads: Sequence[float | None]
) -> str:
    """The whole page, without a date."""
    parts = {"table": markdown(results), "summary": summary(results), "load": _load(loads)}
    machine = "\n".join(f"* {name}: {fact}" for name, fact in facts.items())
    return PAGE.format(suite=suite, rounds=rounds, machine=machine, **parts)


def _load(loads: Sequence[float | None]) -> str:
    if None in loads:
        return "This system does not tell how much else it had to do."
    told = f"Load when it began {loads[0]:.1f}, when it ended {loads[-1]:.1f} (the benchmark itself counts for 1)."
    if max(loads[0], loads[-1] - 1) < QUIET:
        return told
    return f"**Measured on a machine that was busy with other things: provisional.** {told}"


def _error(error: float | None) -> str:
    return "" if error is None else f"{error:.0e}" if error else "none"


def _time(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms * 1e3:.1f} µs" if ms < 1 else f"{ms:.2f} ms" if ms < 1000 else f"{ms / 1e3:.2f} s"
