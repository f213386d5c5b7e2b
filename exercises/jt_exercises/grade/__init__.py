"""Grade: which exercises of the course has each of a class solved?

    python -m jt_exercises.grade submissions        a table on the screen, submissions/grades.csv, and pages beside it

handed_in    whose notebooks are these?
program      a learner's answers in the notebook of the course
sandbox      where an answer runs, and what is out of its reach there
batch        all of them, beside each other; a batch that was stopped goes on
table, report    a class on a screen, in a spreadsheet, as pages, for Gradescope

From a submitted notebook only the answers are taken, with the helpers that they need. They run in a child that knows no
check; the judge asks it questions, and gets plain values. So nothing counts that a learner prints, patches or claims.
"""

from jt_exercises.grade.batch import Batch, CanaryError, Outcome, Row
from jt_exercises.grade.table import rows_as_csv, rows_as_text

__all__ = ["Batch", "CanaryError", "Outcome", "Row", "rows_as_csv", "rows_as_text"]
