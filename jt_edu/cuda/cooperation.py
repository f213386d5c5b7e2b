"""Cooperation: how do the threads of a block put their results together?

    in a warp       each lane takes what the lane 16 further on has, then 8, 4, 2 and 1: now all 32 have the whole
    in a block      the first lane of each warp leaves it in shared memory, and after a barrier all put those together

The order is the same each time, so a sum of floats is, too. `room` is shared memory for 32 numbers, used once.
"""

from __future__ import annotations

from jt_edu import cuda
from jt_edu.backends.mathlib import maximum, minimum

ALL = 0xFFFFFFFF  # lanes


def _together(step):
    """A device function that gives all threads of a block what `step` makes of their values, two at a time."""

    @cuda.jit(device=True)
    def together(value, room):
        for lanes in (16, 8, 4, 2, 1):
            value = step(value, cuda.shfl_xor_sync(ALL, value, lanes))
        if cuda.laneid == 0:
            room[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        value = room[0]
        for warp in range(1, cuda.blockDim.x // 32):
            value = step(value, room[warp])
        return value

    return together


@cuda.jit(device=True)
def _added(a, b):
    return a + b


@cuda.jit(device=True)
def _multiplied(a, b):
    return a * b


block_add, block_multiply = _together(_added), _together(_multiplied)
block_maximum, block_minimum = _together(maximum), _together(minimum)
