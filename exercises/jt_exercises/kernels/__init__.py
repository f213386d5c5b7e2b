"""Notebook 04: what do generated kernels say, and what becomes of them when they are changed?"""

from jt_exercises.kernels.cases import puzzle
from jt_exercises.kernels.machine import inner_loop, signature, words

__all__ = ["inner_loop", "puzzle", "signature", "words"]
