"""Notebook 16: signals and matrices. A folder for each exercise, and what the notebook shows of them."""

from jt_exercises.signals.slider import slider

__all__ = ["slider"]
