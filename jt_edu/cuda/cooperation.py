"""Cooperation: how do the threads of a block put their results together?

    in a warp       each lane takes what the lane 16 further on has, then 8, 4, 2 and 1: now all 32 have the whole
    in a block      the first lane of each warp leaves it in shared memory, and after a barrier all put those together
    by halves       numbers that lanes cannot hand to each other: half of the threads put two together, then a quarter

The order is the same each time, so a sum of floats is, too. `room` is shared memory for 32 numbers, or, by halves, for
one of each thread, used once.
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


def _by_halves(step):
    """The same for values of any dtype, all in shared memory."""

    @cuda.jit(device=True)
    def together(value, room):
        thread, size = cuda.threadIdx.x, cuda.blockDim.x
        room[thread] = value
        cuda.syncthreads()
        while size > 1:
            half = (size + 1) // 2
            if thread < size - half:
                room[thread] = step(room[thread], room[thread + half])
            cuda.syncthreads()
            size = half
        return room[0]

    return together


@cuda.jit(device=True)
def _added(a, b):
    return a + b


@cuda.jit(device=True)
def _multiplied(a, b):
    return a * b


@cuda.jit(device=True)
def _either(a, b):
    return a or b


@cuda.jit(device=True)
def _both(a, b):
    return a and b


block_add, block_multiply = _together(_added), _together(_multiplied)
block_maximum, block_minimum = _together(maximum), _together(minimum)
halves_add, halves_multiply = _by_halves(_added), _by_halves(_multiplied)
halves_maximum, halves_minimum = _by_halves(maximum), _by_halves(minimum)
halves_or, halves_and = _by_halves(_either), _by_halves(_both)
