"""Broken: the texts of three kernels, in each of which one barrier is missing.

kernel(BROKEN["rolled"])      can be launched
"""

from __future__ import annotations

from typing import Any

from jt_edu import cuda
from jt_edu.base.source_text import remember
from jt_edu.cuda.launch import Kernel

ROLLED = """\
@cuda.jit
def rolled(x, out):
    row = cuda.shared.array(32, "float32")
    t = cuda.threadIdx.x
    row[t] = x[t]
    y = row[t] * row[t]
    out[t] = y + row[(t + 1) % 32]
"""
LARGEST = """\
@cuda.jit
def largest(x, out):
    row = cuda.shared.array(32, "float32")
    t = cuda.threadIdx.x
    row[t] = x[t]
    cuda.syncthreads()
    half = 16
    while half > 0:
        if t < half:
            row[t] = max(row[t], row[t + half])
        half //= 2
    if t == 0:
        out[0] = row[0]
"""
SMOOTHED = """\
@cuda.jit
def smoothed(x, out):
    row = cuda.shared.array(32, "float32")
    t = cuda.threadIdx.x
    row[t] = x[t]
    cuda.syncthreads()
    for _ in range(3):
        left, right = max(t - 1, 0), min(t + 1, 31)
        mean = (row[left] + row[t] + row[right]) / 3
        row[t] = mean
        cuda.syncthreads()
    out[t] = row[t]
"""
BROKEN = {"rolled": ROLLED, "largest": LARGEST, "smoothed": SMOOTHED}


def kernel(text: str) -> Any:
    """The kernel that a text defines.

    Example:
        >>> kernel(BROKEN["rolled"])
        <kernel rolled>
    """
    name, space = remember(text, f"<kernel {hash(text)}>"), {"cuda": cuda}  # the interpreter reads it
    exec(compile(text, name, "exec"), space)  # noqa: S102 - a text of ours
    return next(value for value in space.values() if isinstance(value, Kernel))
