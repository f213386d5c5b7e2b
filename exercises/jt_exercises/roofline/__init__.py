"""The six exercises of notebook 05: does a kernel wait for memory or for arithmetic, and how does one measure that?"""

from jt_exercises.roofline.caches import caches
from jt_exercises.roofline.checks import (
    check_intensity,
    check_measure,
    check_misses,
    check_moves,
    check_roof,
    check_slower,
)

__all__ = [
    "caches",
    "check_intensity",
    "check_measure",
    "check_misses",
    "check_moves",
    "check_roof",
    "check_slower",
]
