"""Notebook 12: mixed precision. A folder for each exercise, and what the notebook shows of them."""

from jt_exercises.precision.number_line import number_line

__all__ = ["number_line"]
