"""The six exercises of notebook 04: what do generated kernels say, and what becomes of them when they are changed?"""

from jt_exercises.kernels.cases import EXPRESSIONS, puzzle
from jt_exercises.kernels.checks import (
    INSTRUCTIONS,
    REWRITES,
    check_at_once,
    check_kernels_of,
    check_leaky,
    check_match,
    check_may,
    check_rows,
)
from jt_exercises.kernels.machine import inner_loop, signature, words

__all__ = [
    "EXPRESSIONS",
    "INSTRUCTIONS",
    "REWRITES",
    "check_at_once",
    "check_kernels_of",
    "check_leaky",
    "check_match",
    "check_may",
    "check_rows",
    "inner_loop",
    "puzzle",
    "signature",
    "words",
]
