"""Notebook 09: which points are nearest? A folder for each exercise, and what the notebook shows of them."""

from jt_exercises.neighbours.cases import GATHER, LIST, LOOK, grid
from jt_exercises.neighbours.film import film

__all__ = ["GATHER", "LIST", "LOOK", "film", "grid"]
