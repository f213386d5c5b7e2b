"""Philox: numbers that look random and can be computed anywhere, in any order.

`philox(key, counter)` mixes a counter so well that each bit of the result looks like a coin: no state, so element i of
an array is drawn from counter i, on whichever thread it falls.

Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox4x32-10).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np

from jt_edu.backends.mathlib.exponential import log
from jt_edu.backends.mathlib.simd_math import Number, alike, instruction, kernel_function, types
from jt_edu.backends.mathlib.trig import near_cos

LOW = 0xFFFFFFFF
MULTIPLIERS, STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


def mixed(key: Sequence[Number], counter: Sequence[Number]) -> tuple[Number, ...]:
    """Ten rounds of Philox4x32 on two words of key and four of counter: Python's integers, or Lanes of 64 bits."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & LOW, (p0 >> 32) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + STEPS[0]) & LOW, (k1 + STEPS[1]) & LOW
    return c0, c1, c2, c3


def _philox(key: Number, counter: Number) -> Number:
    first, second, *_ = mixed((key & LOW, key >> 32), (counter & LOW, counter >> 32, counter & 0, counter & 0))
    return first | (second << 32)


@kernel_function(lambda key, counter: np.uint64(_philox(int(key), int(counter))), alike("u"))
def philox(key: Number, counter: Number) -> Number:
    """64 random bits for a key (the seed) and a counter (which draw), all uint64: words 0 and 1 of Philox4x32-10."""
    return _philox(key, counter)


@kernel_function(lambda bits: np.float32((int(bits) >> 40) * 2.0**-24), alike("u", types.float32))
def uniform32(bits: Number) -> Number:
    """A float32 with 0 <= u < 1 from the top 24 of 64 bits."""
    return (bits >> 40).to(types.int32).to(types.float32) * 2.0**-24


@kernel_function(lambda bits: np.float64((int(bits) >> 11) * 2.0**-53), alike("u", types.float64))
def uniform64(bits: Number) -> Number:
    """A float64 with 0 <= u < 1 from the top 53 of 64 bits."""
    high, low = (bits >> 38).to(types.int32), ((bits >> 11) & (2**27 - 1)).to(types.int32)
    return high.to(types.float64) * 2.0**-26 + low.to(types.float64) * 2.0**-53


def _plain_normal32(bits: Number) -> Number:
    u, turn = np.float32(((int(bits) >> 33) + 0.5) * 2.0**-31), np.float32((int(bits) >> 9 & 0xFFFFFF) * 2.0**-24)
    return np.sqrt(np.float32(-2) * np.log(u)) * np.cos(np.float32(2 * pi) * turn)


@kernel_function(_plain_normal32, alike("u", types.float32))
def normal32(bits: Number) -> Number:
    """A float32 from the standard normal distribution (Box and Muller), at most 6.7 from 0."""
    u = (bits >> 33).to(types.int32).to(types.float32) * 2.0**-31 + 2.0**-32
    turn = ((bits >> 9) & 0xFFFFFF).to(types.int32).to(types.float32) * 2.0**-24
    return instruction("llvm.sqrt", -2 * log(u)) * near_cos(turn * (2 * pi))


def _plain_normal64(bits1: Number, bits2: Number) -> Number:
    u, turn = uniform64(bits1) + 2.0**-54, uniform64(bits2)
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * pi * turn)


@kernel_function(_plain_normal64, alike("u", types.float64))
def normal64(bits1: Number, bits2: Number) -> Number:
    """A float64 from the standard normal distribution (Box and Muller), at most 8.7 from 0."""
    u = uniform64(bits1) + 2.0**-54
    return instruction("llvm.sqrt", -2 * log(u)) * near_cos(uniform64(bits2) * (2 * pi))
