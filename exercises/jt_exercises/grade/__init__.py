"""Grade: which exercises of the course has each of a class solved?

    python -m jt_exercises.grade submissions        a table on the screen, and submissions/grades.csv

    submissions/ada/03_fusion.ipynb                 one folder for each learner, or
    submissions/ada_03_fusion.ipynb                 one file, whose name ends in that of the notebook

From a submitted notebook only the answers are taken (course.py says what they are called), with the helpers that they
need. They are put into the notebook of the course, whose own cells judge them (program.py), in a process of their own,
with a limit of time and memory (trial.py). So it does not matter what else a learner changed, nor what was printed.

Not promised: safety from who attacks the grader. An answer runs as Python, and can reach whatever you can reach. Grade
the work of strangers in a container.
"""

from jt_exercises.grade.course import COURSE
from jt_exercises.grade.program import program
from jt_exercises.grade.table import Row, grade, rows_as_csv, rows_as_text
from jt_exercises.grade.trial import Outcome, judged

__all__ = ["COURSE", "Outcome", "Row", "grade", "judged", "program", "rows_as_csv", "rows_as_text"]
