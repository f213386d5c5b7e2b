"""Grade a folder of submitted notebooks: a table on the screen, FOLDER/grades.csv, and pages in FOLDER/grades.

python -m jt_exercises.grade submissions             every notebook of the course that lies there
python -m jt_exercises.grade submissions --only 03   notebook 03 alone
python -m jt_exercises.grade submissions --seconds 120 --out results.csv
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from jt_edu import progress
from jt_exercises.grade import report
from jt_exercises.grade.batch import SECONDS, Batch, CanaryError
from jt_exercises.grade.sandbox import LADDER
from jt_exercises.grade.table import rows_as_csv, rows_as_text


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 where there was nothing to grade, 2 where nobody can be graded here."""
    asked = options().parse_args(arguments)
    batch = Batch(asked.folder, asked.only and f"{asked.only}_", asked.seconds, asked.jobs, asked.seed, asked.sandbox)
    told = len(batch.remarks)
    sys.stderr.write("".join(f"{remark}\n" for remark in batch.remarks))
    if not batch.submissions:
        sys.stderr.write(f"There is no notebook of the course below {asked.folder}, such as ada/03_fusion.ipynb.\n")
        return 1
    begin = time.monotonic()
    sys.stderr.write("first the solutions and the empty notebooks: those earn full marks here, and these do not?\n")
    try:
        for rows in progress(batch):
            for row in rows if asked.verbose else ():
                sys.stderr.write(f"{row.learner}  {row.notebook}  {row.number} {row.title}: {row.outcome.status}\n")
    except CanaryError as error:
        sys.stderr.write(f"Nobody was graded. {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. The same command goes on from here.\n")
        return 130
    sys.stderr.write("".join(f"{remark}\n" for remark in [*batch.remarks[told:], f"sandbox: {batch.step}"]))
    report.write(batch, time.monotonic() - begin)
    out = asked.out or asked.folder / "grades.csv"
    out.write_text(rows_as_csv(batch.rows), encoding="utf-8")
    sys.stdout.write(
        f"{rows_as_text(batch.rows)}{out} has what was said of each; {batch.out / 'class.html'} shows the class\n"
    )
    return 0


def options() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser("python -m jt_exercises.grade", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="one folder for each learner, or files such as ada_03_fusion.ipynb")
    parser.add_argument("--only", default="", metavar="03", help="the number of a notebook")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the limit of one exercise (%(default)s)")
    parser.add_argument("--out", type=Path, help="where the csv goes (grades.csv in the folder)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="submissions beside each other (%(default)s)")
    parser.add_argument("--seed", type=int, help="of the cases; else a secret one, in grades/seed.txt")
    parser.add_argument("--sandbox", default="", choices=[s.name for s in LADDER], help="else the best that works here")
    parser.add_argument("--verbose", action="store_true", help="a line for each exercise")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
