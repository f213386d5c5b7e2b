"""Table: how does a class look, on a screen and in a spreadsheet?

03_fusion    1     2     3     4     5     6     solved
ada          1     1     1     1     1     1     6 of 6
bob          1     0     -     1     3/7   !     2 of 6      1 is right, 3/7 in part, 0 wrong, - empty, ! see words
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from jt_edu.lab import notebooks
from jt_exercises.grade.course import COURSE
from jt_exercises.grade.program import UnreadableError, program, read
from jt_exercises.grade.trial import SECONDS, Outcome, judged

NOTEBOOKS = notebooks()
LEGEND = "1 right   3/7 right in part   0 not right   - not done   ! could not be judged; grades.csv says why"


@dataclass(frozen=True)
class Row:
    """One exercise of one learner."""

    learner: str
    notebook: str
    exercise: str
    outcome: Outcome


PARSING = threading.Lock()  # two threads that parse at the same time may both fail, before Python 3.11.8


def grade(folder: Path, only: str = "", seconds: float = SECONDS, course: Path = NOTEBOOKS) -> Iterator[Row]:
    """Grade every notebook of the course that lies below a folder, those whose name begins with `only`."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as kernels,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        environment = {"JT_EDU_CACHE": kernels}  # what is compiled for one is not compiled again for the next

        def ask(path: Path, notebook: str, number: int) -> Future[Outcome]:
            return pool.submit(_outcome, path, course / f"{notebook}.ipynb", number, seconds, environment)

        wanted = {key: path for key, path in sorted(submissions(folder).items()) if key[1].startswith(only)}
        given = {
            (notebook, number): ask(course / f"{notebook}.ipynb", notebook, number)
            for notebook in dict.fromkeys(notebook for _, notebook in wanted)
            for number in range(len(COURSE[notebook]))
        }
        jobs = [
            (learner, notebook, number, ask(path, notebook, number))
            for (learner, notebook), path in wanted.items()
            for number in range(len(COURSE[notebook]))
        ]
        for learner, notebook, number, job in jobs:
            outcome = _earned(job.result(), given[notebook, number].result().right)
            yield Row(learner, notebook, list(COURSE[notebook])[number], outcome)


def _earned(outcome: Outcome, given: int) -> Outcome:
    """The same, without the parts that are right in the empty notebook already."""
    if outcome.of <= given:
        return outcome
    return replace(outcome, right=max(0, outcome.right - given), of=outcome.of - given)


def _outcome(path: Path, course: Path, number: int, seconds: float, environment: dict[str, str]) -> Outcome:
    try:
        with PARSING:
            text = program(read(course), read(path), list(COURSE[course.stem].values()), number)
    except UnreadableError as error:
        return Outcome(0, 1, "not judged", str(error))
    except (RecursionError, MemoryError) as error:  # brackets in brackets: one file does not end it for the class
        return Outcome(0, 1, "not judged", f"no Python that a person would write ({type(error).__name__})")
    return judged(text, seconds, environment)


def submissions(folder: Path) -> dict[tuple[str, str], Path]:
    """{(learner, notebook): file}: a folder for each learner, or the name before that of the notebook."""
    found = dict[tuple[str, str], Path]()
    for path in sorted(folder.rglob("*.ipynb"), key=lambda p: p.stat().st_mtime):  # of two the newer one
        notebook = next((name for name in COURSE if name in path.stem), None)
        if notebook and ".ipynb_checkpoints" not in path.parts:
            below = path.relative_to(folder).parts
            name = below[0] if len(below) > 1 else path.stem.partition(notebook)[0].strip("_- ")
            found[name or "(no name)", notebook] = path
    return found


def rows_as_text(rows: list[Row]) -> str:
    """A table for each notebook."""
    tables = []
    for notebook in dict.fromkeys(row.notebook for row in rows):
        here = [row for row in rows if row.notebook == notebook]
        learners = list(dict.fromkeys(row.learner for row in here))
        wide = max(map(len, [notebook, *learners])) + 3
        head = [exercise.partition(" ")[0] for exercise in COURSE[notebook]]
        lines = [notebook.ljust(wide) + "".join(f"{number:<6}" for number in head) + "solved"]
        for learner in learners:
            outcomes = [row.outcome for row in here if row.learner == learner]
            solved = sum(o.status == "right" for o in outcomes)
            lines.append(learner.ljust(wide) + "".join(f"{_cell(o):<6}" for o in outcomes) + f"{solved} of {len(head)}")
        tables.append("\n".join(lines))
    return "\n\n".join([*tables, LEGEND]) + "\n"


def _cell(outcome: Outcome) -> str:
    if outcome.status == "right":
        return "1"
    if outcome.right:
        return f"{outcome.right}/{outcome.of}"
    return {"not right": "0", "not done yet": "-"}.get(outcome.status, "!")


def rows_as_csv(rows: list[Row]) -> str:
    """One line for each learner and exercise, with the words of what was not right."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["learner", "notebook", "exercise", "score", "right", "of", "status", "words"])
    for row in rows:
        o = row.outcome
        score = round(o.right / o.of, 3)
        writer.writerow(
            [_text(row.learner), row.notebook, row.exercise, score, o.right, o.of, o.status, _text(o.words)]
        )
    return out.getvalue()


def _text(words: str) -> str:
    """In one line, and never a formula: a spreadsheet would compute what begins with one of these."""
    line = " ".join(words.split())
    return f"'{line}" if line[:1] in "=+-@" and line else line
