"""Notebook 06: the same sums in another order. A folder for each exercise; here is what its demonstrations use."""

from jt_exercises.matmul.film import film
from jt_exercises.matmul.orders import ijk, ikj, jki

__all__ = ["film", "ijk", "ikj", "jki"]
