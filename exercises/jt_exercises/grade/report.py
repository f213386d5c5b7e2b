"""Report: what do a learner, a course's own system and an instructor get to see?

    grades/ada/results.json     the format of Gradescope's autograder
    grades/ada/feedback.html    each exercise, its points, and what was said of it
    grades/class.html           learners and exercises, as a map of colours

Every page is made of our own words, and of a learner's only as escaped text: nothing of theirs is shown as HTML.

Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import jt_edu
from jt_exercises.card import COLOURS, MARK, as_html
from jt_exercises.grade.batch import Batch, Row, rules
from jt_exercises.grade.table import total

PASSED = {"right": True, "not done yet": None, "not handed in": None}
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>:root {{color-scheme: light dark}} table {{border-collapse: collapse}}
body {{font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: {width}; padding: 0 1em}}
th, td {{padding: .2em .5em; text-align: left; vertical-align: top}}
td.share {{min-width: 2.2em; text-align: center}} footer {{color: gray; font-size: .85em}}
</style><h1>{title}</h1>{body}<footer><p>{foot}</p></footer></html>
"""


def write(batch: Batch, took: float) -> None:
    """Write all files of a batch."""
    rows = batch.rows
    for learner in sorted({row.learner for row in rows}):
        own = [row for row in rows if row.learner == learner]
        folder = batch.out / folder_of(learner)
        folder.mkdir(exist_ok=True)
        results = json.dumps(as_results(batch, own, took / max(len(batch.submissions), 1)), indent=1)
        (folder / "results.json").write_text(results, encoding="utf-8")
        (folder / "feedback.html").write_text(as_feedback(batch, learner, own), encoding="utf-8")
    (batch.out / "class.html").write_text(as_class(batch, rows), encoding="utf-8")


def folder_of(learner: str) -> str:
    """A folder's name for a learner's: whatever that is, it stays below ours."""
    plain = re.sub(r"[^\w -]", "_", learner)[:80].strip() or "_"
    return plain if plain == learner else f"{plain}-{hashlib.sha256(learner.encode()).hexdigest()[:8]}"


def about(batch: Batch) -> dict[str, Any]:
    """How it was graded, so that it can be graded again."""
    return {"jt_edu": jt_edu.__version__, "sandbox": batch.step, "seed": batch.seed, "checks": rules()[:16]}


def as_results(batch: Batch, own: Sequence[Row], took: float) -> dict[str, Any]:
    """What Gradescope reads."""
    tests = [
        {
            "number": row.number, "name": f"{row.number} {row.title}", "tags": [row.notebook],
            "score": round(row.score, 4), "max_score": row.points, "visibility": "visible",
            "status": "passed" if row.outcome.status == "right" else "failed",
            "output": f"{row.outcome.status}. {row.outcome.words}".strip(),
        }
        for row in own
    ]  # fmt: skip
    return {
        "score": round(sum(row.score for row in own), 4), "execution_time": round(took, 2),
        "output": f"{total(own)} points", "output_format": "text", "test_output_format": "text",
        "visibility": "visible", "stdout_visibility": "hidden", "tests": tests, "extra_data": about(batch),
    }  # fmt: skip


def as_feedback(batch: Batch, learner: str, own: Sequence[Row]) -> str:
    """A page for a learner."""
    body = ""
    for notebook in dict.fromkeys(row.notebook for row in own):
        here = [row for row in own if row.notebook == notebook]
        lines = "".join(map(_line, here))
        body += f"<h2>{escape(notebook)}: {total(here)} points</h2><table>{lines}</table>"
    return _page(batch, f"{learner}: {total(own)} points", body, "50em")


def _line(row: Row) -> str:
    o, passed = row.outcome, PASSED.get(row.outcome.status, False)
    parts = f"; parts right: {o.right} of {o.of}" if o.of > 1 and o.right < o.of else ""
    said = f"<b><span style='color:{COLOURS[passed]}'>{MARK[passed]}</span> {o.status}</b>{parts}"
    words = f"<br>{as_html(o.words)}" if o.words and o.status != "not handed in" else ""
    title = f"{row.number} {escape(row.title)}"
    return f"<tr><td>{title}</td><td>{row.score:.3g} of {row.points}</td><td>{said}{words}</td></tr>"


def as_class(batch: Batch, rows: Sequence[Row]) -> str:
    """A page for the instructor: who has what, and which exercise was hard."""
    numbers, learners = list(dict.fromkeys(row.number for row in rows)), sorted({row.learner for row in rows})
    by = {(row.learner, row.number): row for row in rows}
    head = "".join(f"<th title='{escape(by[learners[0], n].title, quote=True)}'>{n}</th>" for n in numbers)
    body = ""
    for learner in learners:
        own = [by[learner, n] for n in numbers]
        name = escape(learner)
        link = f"<a href='{escape(folder_of(learner), quote=True)}/feedback.html'>{name}</a>"
        body += f"<tr><th>{link}</th>{''.join(map(_share, own))}<td>{total(own)}</td></tr>"
    means = [sum(by[a, n].score / by[a, n].points for a in learners) / len(learners) for n in numbers]
    body += f"<tr><th>mean</th>{''.join(f'<td>{mean:.0%}</td>' for mean in means)}</tr>"
    told = "".join(f"<li>{escape(remark)}</li>" for remark in batch.remarks)
    return _page(
        batch, "Grades", f"<table><tr><th></th>{head}<th>points</th></tr>{body}</table><ul>{told}</ul>", "90em"
    )


def _share(row: Row) -> str:
    """One exercise of one learner: the greener, the more is right; grey where nothing was done."""
    done = row.score / row.points
    colour = f"hsl({120 * done:.0f} 60% 70%)" if row.outcome.status not in PASSED or done else "#d0d7de"
    mark = MARK[PASSED.get(row.outcome.status, False)] if done in (0, 1) else f"{done:.0%}"
    tip = escape(f"{row.title}: {row.outcome.status}", quote=True)
    return f"<td class='share' title='{tip}' style='background:{colour};color:black'>{mark}</td>"


def _page(batch: Batch, title: str, body: str, width: str) -> str:
    foot = ", ".join(f"{name} {value}" for name, value in about(batch).items() if name != "seed")
    return PAGE.format(title=escape(title), body=body, width=width, foot=escape(foot))
