"""Grade a folder of submitted notebooks: a table on the screen, and all of it in FOLDER/grades.csv.

python -m jt_exercises.grade submissions             every notebook of the course that lies there
python -m jt_exercises.grade submissions --only 03   notebook 03 alone
python -m jt_exercises.grade submissions --seconds 120 --out results.csv
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from jt_exercises.grade import grade, rows_as_csv, rows_as_text
from jt_exercises.grade.trial import SECONDS


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 where there was nothing to grade."""
    parser = argparse.ArgumentParser("python -m jt_exercises.grade", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="one folder for each learner, or files such as ada_03_fusion.ipynb")
    parser.add_argument("--only", default="", metavar="03", help="the number of a notebook")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the limit of one exercise (%(default)s)")
    parser.add_argument("--out", type=Path, help="where the csv goes (grades.csv in the folder)")
    asked = parser.parse_args(arguments)
    rows = []
    for row in grade(asked.folder, f"{asked.only}_" if asked.only else "", asked.seconds):
        rows.append(row)
        sys.stderr.write(f"{row.learner}  {row.notebook}  {row.exercise}: {row.outcome.status}\n")
    if not rows:
        sys.stderr.write(f"There is no notebook of the course below {asked.folder}, such as ada/03_fusion.ipynb.\n")
        return 1
    out = asked.out or asked.folder / "grades.csv"
    out.write_text(rows_as_csv(rows), encoding="utf-8")
    sys.stdout.write(f"{rows_as_text(rows)}{out} has what was said of each\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
