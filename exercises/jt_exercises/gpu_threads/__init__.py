"""Notebook 08: kernels of a GPU. A folder for each exercise, and kernels in which a barrier is missing."""

from jt_exercises.gpu_threads.broken import BROKEN, kernel

__all__ = ["BROKEN", "kernel"]
