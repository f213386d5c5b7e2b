"""Table: how does a class look, on a screen and in a spreadsheet?

03_fusion   1     2     3     4     5     6     points
ada         1     1     1     1     1     1     12 of 12
bob         1     0     -     1     3/7   !     3.86 of 12     1 is right, 3/7 in part, 0 wrong, - empty, ! see words
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from jt_exercises.grade.batch import Outcome, Row

LEGEND = "1 right   3/7 right in part   0 not right   - not done   ! could not be judged; grades.csv says why"
EMPTY = {"not right": "0", "not done yet": "-", "not handed in": "-"}


def rows_as_text(rows: Sequence[Row]) -> str:
    """A table for each notebook, and the points of all."""
    tables = []
    for notebook in dict.fromkeys(row.notebook for row in rows):
        here = [row for row in rows if row.notebook == notebook]
        learners = sorted({row.learner for row in here})
        wide = max(map(len, [notebook, *learners])) + 3
        head = dict.fromkeys(row.number for row in here)
        lines = [notebook.ljust(wide) + "".join(f"{number.partition('.')[2]:<6}" for number in head) + "points"]
        for learner in learners:
            own = [row for row in here if row.learner == learner]
            lines.append(learner.ljust(wide) + "".join(f"{_cell(row.outcome):<6}" for row in own) + total(own))
        tables.append("\n".join(lines))
    return "\n\n".join([*tables, LEGEND]) + "\n"


def total(rows: Sequence[Row]) -> str:
    """What was earned, of what there is."""
    return f"{sum(row.score for row in rows):.3g} of {sum(row.points for row in rows)}"


def _cell(outcome: Outcome) -> str:
    if outcome.status == "right":
        return "1"
    return f"{outcome.right}/{outcome.of}" if outcome.right else EMPTY.get(outcome.status, "!")


def rows_as_csv(rows: Sequence[Row]) -> str:
    """One line for each learner and exercise, with the words of what was not right; and one for each total."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["learner", "notebook", "exercise", "score", "points", "right", "of", "status", "words"])
    for row in rows:
        o, name = row.outcome, f"{row.number} {row.title}"
        told = [f"{row.score:.4g}", row.points, o.right, o.of, o.status, _text(o.words)]
        writer.writerow([_text(row.learner), row.notebook, name, *told])
    for learner in sorted({row.learner for row in rows}):
        own = [row for row in rows if row.learner == learner]
        right = sum(row.outcome.status == "right" for row in own)
        points = sum(row.points for row in own)
        writer.writerow(
            [_text(learner), "all", "total", f"{sum(r.score for r in own):.4g}", points, right, len(own), "", ""]
        )
    return out.getvalue()


def _text(words: str) -> str:
    """In one line, and never a formula: a spreadsheet would compute what begins with one of these."""
    line = " ".join(words.split())
    return f"'{line}" if line[:1] in "=+-@" and line else line
