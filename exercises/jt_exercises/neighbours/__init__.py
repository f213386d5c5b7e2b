"""The five exercises of notebook 09: which points are nearest, how is that an operator, and what is its gradient?"""

from jt_exercises.neighbours.cases import GATHER, LIST, LOOK, grid, nearest, squared
from jt_exercises.neighbours.checks import check_agrees, check_back, check_insert, check_nearest, check_rings
from jt_exercises.neighbours.film import film

__all__ = [
    "GATHER",
    "LIST",
    "LOOK",
    "check_agrees",
    "check_back",
    "check_insert",
    "check_nearest",
    "check_rings",
    "film",
    "grid",
    "nearest",
    "squared",
]
