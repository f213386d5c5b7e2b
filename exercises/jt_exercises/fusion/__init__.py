"""The six exercises of notebook 03: which operators share a kernel, and what is that worth?"""

from jt_exercises.fusion.cases import Value, all_graphs, diamond
from jt_exercises.fusion.checks import (
    check_can_inline,
    check_groups,
    check_removed,
    check_softmax_step,
    check_store_or_recompute,
    check_three_groups,
)

__all__ = [
    "Value",
    "all_graphs",
    "check_can_inline",
    "check_groups",
    "check_removed",
    "check_softmax_step",
    "check_store_or_recompute",
    "check_three_groups",
    "diamond",
]
