"""The five exercises of notebook 11: blocks, weights of strangers, batch norm folded away, a new head, attention."""

from jt_exercises.backbones.browser import browse
from jt_exercises.backbones.checks import (
    check_attention,
    check_blocks,
    check_fold,
    check_new_head,
    check_report,
)
from jt_exercises.backbones.foreign import foreign
from jt_exercises.backbones.networks import folded, photographs

__all__ = [
    "browse",
    "check_attention",
    "check_blocks",
    "check_fold",
    "check_new_head",
    "check_report",
    "folded",
    "foreign",
    "photographs",
]
