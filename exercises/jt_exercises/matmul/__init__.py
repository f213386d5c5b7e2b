"""The six exercises of notebook 06: which order of the same loops suits a cache, registers, and the machine?"""

from jt_exercises.matmul.checks import (
    check_blocked,
    check_edges,
    check_fast,
    check_order,
    check_tiled,
    check_tune,
)
from jt_exercises.matmul.film import film
from jt_exercises.matmul.orders import ijk, ikj, jki

__all__ = [
    "check_blocked",
    "check_edges",
    "check_fast",
    "check_order",
    "check_tiled",
    "check_tune",
    "film",
    "ijk",
    "ikj",
    "jki",
]
