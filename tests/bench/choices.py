"""Choices: the suite `tuning`: how far are the tuner's choice and the cost model's from the best candidate?

    shape  --tuning.py: tune, estimate, then measure all candidates for longer-->  a row

PyTorch has no part in it. A choice is worth 1.00 if it is the best candidate itself.
"""

import math
import statistics
from collections.abc import Sequence
from functools import partial

from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.tuner_report import sizes_text
from tests.bench import causes, report, tuning
from tests.bench.rows import Cause, Figures, Goal, Result, Row, Run

ROUNDS, QUICK_SECONDS = 15, 0.2
NEAR = 1.1
TITLE = f"What the tuner chooses for {len(tuning.SHAPES)} convolutions, beside the best candidate."
READING = """
* **tuner**, **estimate**: how many times as long the candidate takes that the tuner chose by measuring, or the cost
  model without measuring, as the best one: 1.00 is the best itself. CPU time of one thread; after the choices are made,
  all candidates run again, by turns and for longer, and the least time of each counts.
"""
RATIO = ""
NOTES = """
* The tuner measures as a program would have it measure. Candidates that are equally fast change places from run to run.
"""
HEADS = ["convolution", "candidates", "best", "tuner", "", "estimate", ""]


VERDICTS: dict[Sizes, tuning.Verdict] = {}  # of this run


def choice(sizes: Sizes, run: Run) -> Figures:
    """How many times as long as the best candidate the tuner's takes."""
    v = VERDICTS[sizes] = tuning.verdict(sizes, QUICK_SECONDS if run.quick else tuning.LONG)
    told = f"tuner {v.tuned} {v.tuned_over_best:.2f}, estimate {v.estimated} {v.estimated_over_best:.2f}, best {v.best}"
    return Figures(over=v.tuned_over_best, how=told)


def one_choice(result: Result, _: Run) -> Cause:
    """Who was chosen instead of the best."""
    v = VERDICTS[result.row.size[0]]
    return Cause(f"{v.tuned} was chosen of {v.candidates} candidates, where {v.best} is the best", "1.00 is the best")


def all_choices(_: Result, run: Run) -> Cause:
    """The shapes where the choice is farthest from the best."""
    shapes = sorted((r for r in run.results if r.row.size and r.figures.over), key=lambda r: -r.figures.over)
    names = "; ".join(f"{r.row.name} ({r.figures.over:.2f})" for r in shapes[: causes.FARTHEST])
    return Cause(f"the worst of {len(shapes)} shapes; farthest from the best: {names}", "1.00 is the best")


def worst(who: str, run: Run) -> Figures:
    """Of the shapes of this run: the one where the choice is farthest from the best, how many are near, the mean."""
    ratios = [getattr(VERDICTS[r.row.size[0]], f"{who}_over_best") for r in run.results if r.row.size and not r.failed]
    if not ratios:
        return Figures(how="no shape was measured")
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    near = sum(ratio <= NEAR for ratio in ratios)
    return Figures(
        over=max(ratios), how=f"{near} of {len(ratios)} within 10 %, mean {mean:.3f}, worst {max(ratios):.2f}"
    )


def tables(results: Sequence[Result]) -> str:
    """First what holds for all shapes, then each."""
    told = [f"* **{r.row.name}**: {r.figures.how or r.failed}." for r in results if not r.row.size]
    lines = [_line(r) for r in results if r.row.size]
    return "\n\n".join(
        ["\n".join(told), report.table([HEADS, [":--", "--:", ":--", ":--", "--:", ":--", "--:"], *lines])]
    )


def _line(result: Result) -> list[str]:
    if result.failed:
        return [result.row.name, "", "FAILED", result.failed, "", "", ""]
    v = VERDICTS[result.row.size[0]]
    tuned = f"**{v.tuned_over_best:.2f}**" if result.missed else f"{v.tuned_over_best:.2f}"
    return [result.row.name, str(v.candidates), v.best, v.tuned, tuned, v.estimated, f"{v.estimated_over_best:.2f}"]


LIMIT = (Goal("over", NEAR),)
ROWS = (
    *(Row(sizes_text(s), LIMIT, work=partial(choice, s), size=(s,), why=one_choice) for s in tuning.SHAPES),
    Row("the tuner", LIMIT, work=partial(worst, "tuned"), why=all_choices),
    Row("the cost model", work=partial(worst, "estimated")),
)


def QUICK(row: Row) -> bool:  # noqa: N802  a constant of the suite, which happens to be a function
    """Every tenth shape."""
    return not row.size or tuning.SHAPES.index(row.size[0]) % 10 == 0
