"""Notebook 11: backbones. A folder for each exercise; here is what the notebook shows besides."""

from jt_exercises.backbones.browser import browse
from jt_exercises.backbones.foreign import foreign
from jt_exercises.backbones.networks import folded, photographs

__all__ = ["browse", "folded", "foreign", "photographs"]
