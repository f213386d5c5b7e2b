"""Notebook 07: four ways to compute a convolution, and a tuner that chooses. A folder for each exercise."""

from jt_exercises.convolution.problems import Problem, key
from jt_exercises.convolution.transforms import transform

__all__ = ["Problem", "key", "transform"]
