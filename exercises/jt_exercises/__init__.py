"""Exercises: a folder for each notebook, with checks that say what is not right, and where to look.

    from jt_exercises import YourTurn, board, check, hint

autograd 01, ranks 13, together 13b                     a folder for each exercise: exercise.py, solution.py, wrong.toml
author                                                  how notebooks are made of these, and how checks are tested
fusion 03, kernels 04, roofline 05, matmul 06, convolution 07   door, checks, what those are asked about
checking, exercise, verdict, card                       a try; what is asked; what a check says; what a learner sees
process, worker, wire                                   a learner's objects run beside us; plain values come back
progress, progress_board                                what is solved
tell                                                    a comparison, for notebooks that know the right answer
grade                                                   which exercises a class has solved
timing                                                  comparing times on a machine that does other things, too
"""

from jt_exercises.checking import board, check, hint
from jt_exercises.verdict import YourTurn

__all__ = ["YourTurn", "board", "check", "hint"]
