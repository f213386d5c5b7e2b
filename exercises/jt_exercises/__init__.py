"""Exercises: a folder for each notebook, and in it one for each exercise. README.md is for those who write them.

    from jt_exercises import YourTurn, board, check, hint, predict, solution

autograd 01, meta_operators 02, fusion 03, ...   rooms: a folder for each exercise, and what these share
checking, exercise, verdict, card                a try; what is asked; what a check says; what a learner sees
answers                                          numbers of the right kind and shape, and mistakes that give just these
process, worker, wire                            a learner's objects run beside us; plain values come back
graph_data                                       an op graph as rows, which the judge fuses itself
prediction                                       guess, lock, run, compare
progress, progress_board, showing, picture       what is solved; in a notebook, and elsewhere
seed, timing                                     which cases an answer is tried on; how two times are compared
child                                            the same in a sandbox, for a grader
grade                                            which exercises a class has solved
author                                           how notebooks are made of all this, and how checks are proven
"""

from jt_exercises.checking import board, check, hint, solution, solved
from jt_exercises.prediction import predict
from jt_exercises.verdict import YourTurn

__all__ = ["YourTurn", "board", "check", "hint", "predict", "solution", "solved"]
