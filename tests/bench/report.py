"""Report: the results as lines of a terminal, and as a part of a page that each suite writes for itself.

    # Performance
    <!-- machines -->  ...                       which parts were measured where: made anew with each part
    <!-- core -->  ...  <!-- end of core -->      `bench core` replaces what stands between these two,
    <!-- ops -->   ...  <!-- end of ops -->       `bench ops` what stands between those

Nothing here measures.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tests.bench.machine import QUIET
from tests.bench.rows import Figures, Goal, Result, Run

HEADS = ("row", "jt_edu", "PyTorch", "ratio", "quartiles", "of the limit", "goal", "", "error")
LEFT = (True, False, False, False, False, False, True, True, True)
WIDTHS = (34, 10, 10, 16, 13, 12, 27, 6, 8)
SIGNS = {"ratio": "ratio ≥ {:g}", "limit": "limit ≥ {:.0%}", "ms": "≤ {:g} ms", "over": "≤ {:g} x the best"}

HEAD = """# Performance

How fast is jt_edu, beside PyTorch and beside what the machine can do? `python3 lab.py bench SUITE` measures, and
writes its own part of this page: `core` the operators that everything else is made of, `ops` those that people use
most, `conv` each convolution of eight networks, `backbones` these networks, `train` steps of training, `start` the
first step of a program, `threads` what a second thread is worth, `tuning` what the tuner's choices are worth,
`shapes` what images of powers of two cost beside their neighbours. Each part names its machine.

**Nothing here was measured on a GPU**: none was to be had. On a machine with one, `python -m tests.gpu` is to measure
in less than four minutes (with `pip install 'jt-edu[cuda]' 'numpy<2.5'`, or with kernels that were compiled elsewhere:
`python -m tests.gpu --help`); it was tried against a fake driver only. Without one, `python -m tests.gpu --compile`
says what the kernels need: all 3,730 of two steps of LeNet, resnet18 and a transformer, of products on tensor cores,
of the 2,048 rows of the parity table and of their gradients become machine code for sm_75, 80, 90 and 120, without
spills. (Counted before the tiles of decision 106. Of today's texts, the 251 kernels of these steps and products were
counted again: none is refused, none spills, up to 180 registers. Each commit compiles a share of all for one of the
four GPUs: decision 107.) And `python -m tests.gpu --host` measures what the processor does for each kernel of a step
that is run again, beside a driver that does nothing: of resnet18 0.6 µs for its plan with CUDA graphs and 1.5 without,
and 2.2 and 3.4 to 5.0 for all that jt.compile does (two cores, busy).
"""

PROVISIONAL = "**Measured on a machine that was busy with other things: provisional.**"

READING = """
* **jt_edu, PyTorch**: CPU time of one call, all threads together. One thread on each side. The best of {rounds} samples
  of at least 2 ms each, both sides by turns; compiling and warming up do not count, and malloc
  keeps blocks of up to 32 MB that were freed.
"""

RATIO = """
* **ratio**: PyTorch / jt_edu, best against best; above 1, jt_edu is faster. **quartiles**: of the ratio round by round,
  which on a busy machine may lie beside it. **(kept ...)**: the ratio if malloc gave PyTorch's freed blocks never back
  to the system; above 32 MB it does, and each page is a fault, which is a part of PyTorch's time as it is installed.
"""

IN_A_BOX = """
* A slow row gets as many rounds as fit into {box:g} seconds, and at least 5; then their number stands in brackets.
"""

SECTION = """<!-- {suite} -->
## {suite}

{title} Measured on {processor}.

{picture}{tables}

{summary}

{causes}### How to read it: {suite}

{reading}

### The machine: {suite}

{machine}

{load}
<!-- end of {suite} -->
"""


CAUSES = """### Goals that were missed, and where the time goes: {suite}

{table}

* **where the time goes**: of jt_edu's side, traced right after the row was measured. A kernel is named by its algorithm
  or by its kind (**loops**: generated from the graph), and its time holds the call and the room for its answer.
  **products** and **transforms** or **packing** of an algorithm share its time as its cost model says. **Python** is
  what a profile finds beside the kernels: **writing** the graph, **planning** it, **launching** its kernels. **the
  rest**: what neither the clock of a kernel nor the profile holds, such as memory that is given back.
* **limit**: what this machine cannot do in less: **arithmetic**, each addition and multiplication of the algorithm that
  ran (padding included) at the peak of the machine, or **memory**, each array that a kernel reads or writes once, as a
  plain copy of that length does by turns with another one. The longer of the two counts. A kernel that hardly writes
  may take less than a copy.
  **ratio**: that of the row if it took no longer. **kernels alone**: if Python took no time.

"""

PICTURE = "![PyTorch's time / jt_edu's time, row by row](performance_{suite}.svg)\n\n"


@dataclass(frozen=True)
class Words:
    """What a suite says beside its figures: what it measures, what a time is, what a ratio is, how to read its rows."""

    title: str
    notes: str = ""
    reading: str = READING
    ratio: str = RATIO
    tables: "Callable[[Sequence[Result]], str] | None" = None  # a table with a line for each row, if it has none
    picture: bool = True


def cells(result: Result) -> list[str]:
    """What stands in each column."""
    f = result.figures
    if result.failed or not f.measured:
        why = result.failed or f.how
        return [result.row.name, *[""] * 5, goals(result.row.goals), verdict(result), why]
    return [
        f"{result.row.name}: {f.how}" if f.how else result.row.name,
        time_of(f.ours),
        time_of(f.peer),
        ratio_of(f),
        _spread(f),
        _limit(f),
        goals(result.row.goals),
        verdict(result),
        error_of(f.error),
    ]


def goals(bars: Sequence[Goal]) -> str:
    return ", ".join(SIGNS[bar.kind].format(bar.value) for bar in bars)


def ratio_of(f: Figures) -> str:
    """PyTorch / ours; behind it, where it differs, the same without PyTorch's page faults."""
    if f.ratio is None:
        return ""
    return f"{f.ratio:.2f}" if f.kept is None or f.ratio - f.kept < 0.005 else f"{f.ratio:.2f} (kept {f.kept:.2f})"


def verdict(result: Result) -> str:
    if result.failed:
        return "FAILED"
    if not result.figures.measured:
        return "not measured"
    if not result.row.goals:
        return ""
    return "missed" if result.missed else "met"


def _spread(f: Figures) -> str:
    if f.spread is None:
        return ""
    return f"{f.spread[0]:.2f} … {f.spread[1]:.2f}" + (f" ({f.rounds})" if f.rounds else "")


def _limit(f: Figures) -> str:
    return "" if f.limit is None else f"{f.limit:.0%} of {f.limit_of}" if f.limit_of else f"{f.limit:.0%}"


def line(texts: Sequence[str]) -> str:
    """One line of the table in a terminal."""
    columns = zip(LEFT, WIDTHS, texts, strict=True)
    return "  ".join(text.ljust(width) if left else text.rjust(width) for left, width, text in columns).rstrip()


def tables(results: Sequence[Result]) -> str:
    """A table with a line for each row; rows with columns first, several in a line."""
    wide, plain = [r for r in results if r.row.column], [r for r in results if not r.row.column]
    return "\n\n".join([*([by_size(wide)] if wide else []), *([markdown(plain)] if plain else [])])


def markdown(results: Sequence[Result], heads: Sequence[str] = HEADS) -> str:
    """A line for each row."""
    return table([heads, tuple(":--" if left else "--:" for left in LEFT), *map(cells, results)])


def by_size(results: Sequence[Result]) -> str:
    """A line for each group: times and ratio at each size, in bold where a goal was missed."""
    columns = list(dict.fromkeys(r.row.column for r in results))
    heads = ["operator", *(text for c in columns for text in (f"{c}: jt_edu", "PyTorch", "ratio"))]
    lines = [[name, *_by_column(list(group), columns)] for name, group in groupby(results, lambda r: r.row.group)]
    return table([heads, [":--", *["--:"] * (len(heads) - 1)], *lines])


def _by_column(group: list[Result], columns: list[str]) -> list[str]:
    found = {r.row.column: r for r in group}
    return [text for c in columns for text in (_three(found[c]) if c in found else [""] * 3)]


def _three(result: Result) -> list[str]:
    f = result.figures
    if result.failed or f.ratio is None:
        return ["", "", "FAILED"]
    return [time_of(f.ours), time_of(f.peer), f"**{ratio_of(f)}**" if result.missed else ratio_of(f)]


def table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows)


def summary(results: Sequence[Result]) -> str:
    """One sentence on how many goals were missed."""
    failed = [r.row.name for r in results if r.failed]
    judged = [r for r in results if r.row.goals and not r.failed and r.figures.measured]
    passed_over = [r.row.name for r in results if not r.failed and not r.figures.measured]
    missed = [r.row.name for r in judged if r.missed]
    text = f"{len(judged) - len(missed)} of {len(judged)} rows with a goal met it"
    text += f"; missed: {len(missed)} ({'; '.join(missed)})" if missed else "; none was missed"
    text += f"; not measured: {'; '.join(passed_over)}" if passed_over else ""
    return text + (f"; failed: {'; '.join(failed)}." if failed else ".")


def causes(suite: str, results: Sequence[Result]) -> str:
    """The part of a section on goals that were missed; nothing if none was."""
    lines = [
        [r.row.name, found(r), goals(r.missed), r.cause.where, r.cause.limit]
        for r in results
        if r.missed and not r.failed and r.cause
    ]
    heads = [["row", "ratio", "goal", "where the time goes", "limit"], [":--", "--:", ":--", ":--", ":--"]]
    return CAUSES.format(suite=suite, table=table([*heads, *lines])) if lines else ""


def cause_lines(result: Result) -> list[str]:
    """The same in a terminal, below the line of the row."""
    told = result.cause and (("where the time goes", result.cause.where), ("limit", result.cause.limit))
    return [f"    {what}: {text}" for what, text in told or () if text]


def found(result: Result) -> str:
    """What was found where a goal was missed, the ratio first."""
    f = result.figures
    told = {"ratio": "" if f.ratio is None else f"{f.ratio:.2f}", "limit": _limit(f), "ms": time_of(f.ours)}
    told["over"] = "" if f.over is None else f"{f.over:.2f} x the best"
    return ", ".join(told[kind] for kind in dict.fromkeys(goal.kind for goal in result.missed))


def section(suite: str, words: Words, run: Run, facts: Mapping[str, str], loads: Sequence[float | None]) -> str:
    """What a suite has to say, without a date."""
    slow = IN_A_BOX.format(box=run.box) if math.isfinite(run.box) else ""
    reading = [words.reading.format(rounds=run.rounds), slow, words.ratio, words.notes]
    return SECTION.format(
        suite=suite, title=words.title, processor=facts.get("processor", "an unknown processor"),
        picture=PICTURE.format(suite=suite) if words.picture else "", tables=(words.tables or tables)(run.results),
        summary=summary(run.results), causes=causes(suite, run.results),
        reading="\n".join(text.strip() for text in reading if text.strip()),
        machine="\n".join(f"* {name}: {fact}" for name, fact in facts.items()), load=load_of(loads),
    )  # fmt: skip


def page(before: str, suite: str, text: str) -> str:
    """The page `before` with another text for this suite; what the other suites wrote stays."""
    _, mark, parts = before.partition("<!-- ") if before.startswith(HEAD.splitlines()[0]) else ("", "", "")
    old = re.sub(r"<!-- machines -->.*?<!-- end of machines -->\n+", "", mark + parts, count=1, flags=re.DOTALL)
    own = re.compile(rf"<!-- {suite} -->.*?<!-- end of {suite} -->\n", re.DOTALL)
    new = own.sub(lambda _: text, old, count=1) if own.search(old) else f"{old.rstrip()}\n\n{text}".lstrip()
    return f"{HEAD}\n{machines(new)}\n{new}"


def machines(parts: str) -> str:
    """Which parts of the page were measured on which processor, and which while it was busy."""
    found: dict[str, list[str]] = {}
    busy = []
    for name, text in re.findall(r"<!-- (\w+) -->(.*?)<!-- end of \1 -->", parts, re.DOTALL):
        where = re.search(r"^\* processor: (.+)$", text, re.MULTILINE)
        found.setdefault(where[1] if where else "unknown", []).append(f"`{name}`")
        busy += [f"`{name}`"] * (PROVISIONAL in text)
    told = "All parts were measured on the same kind of processor:"
    if len(found) > 1:
        told = (
            "**Not all parts were measured on the same machine.** Compare figures within a part, not across machines:"
        )
    lines = [told, "", *(f"* {where}: {', '.join(names)}" for where, names in found.items())]
    lines += ["", f"Provisional, because the machine had other things to do: {', '.join(busy)}."] if busy else []
    return "\n".join(["<!-- machines -->", *lines, "<!-- end of machines -->", ""])


def load_of(loads: Sequence[float | None]) -> str:
    if None in loads:
        return "This system does not tell how much else it had to do."
    told = f"Load when it began {loads[0]:.1f}, when it ended {loads[-1]:.1f} (the benchmark itself counts for 1)."
    if max(loads[0], loads[-1] - 1) < QUIET:
        return told
    return f"{PROVISIONAL} {told}"


def error_of(error: float | None) -> str:
    return "" if error is None else f"{error:.0e}" if error else "none"


def time_of(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms * 1e3:.1f} µs" if ms < 1 else f"{ms:.2f} ms" if ms < 1000 else f"{ms / 1e3:.2f} s"
