"""Notebook 05: does a kernel wait for memory or for arithmetic, and how does one measure that?"""

from jt_exercises.roofline.caches import caches

__all__ = ["caches"]
