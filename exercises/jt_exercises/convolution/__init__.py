"""The six exercises of notebook 07: four ways to compute a convolution, their errors, and a tuner that chooses."""

from jt_exercises.convolution.checks import (
    check_broken_key,
    check_choose,
    check_columns,
    check_fft,
    check_half,
    check_winograd,
    error_in_half,
)
from jt_exercises.convolution.problems import ALGORITHMS, Problem, key
from jt_exercises.convolution.transforms import Transform, winograd

__all__ = [
    "ALGORITHMS",
    "Problem",
    "Transform",
    "check_broken_key",
    "check_choose",
    "check_columns",
    "check_fft",
    "check_half",
    "check_winograd",
    "error_in_half",
    "key",
    "winograd",
]
