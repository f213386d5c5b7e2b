"""Fourier, weights: the spectra of all windows, wave by wave.

    prepared[wave, part, channel of the group, place channel]

Part 0 is real, part 1 imaginary; they are conjugated and divided by size^2, so that nothing is left to do later.

Behind them each unit has a plane to work in, and the waves. Lanes are channels of the places.
"""

from jt_edu.backends.convolve.spectrum import forward_plane, size_for, tell_apart, write_waves
from jt_edu.backends.convolve.tile import lanes
from jt_edu.backends.convolve.vector import clear
from jt_edu.backends.mathlib import at

UNITS = 8


def kernel(lo, hi, weights, prepared, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    o, shared = weights.shape[:2]
    kh, kw = weights.shape[3:]
    inner, outer = shared, o
    size, pair = size_for(max(kh, kw)), 2 * lanes(prepared)
    row = (outer + pair - 1) // pair * pair
    room = size * (size + 1) * pair + size * lanes(prepared)
    for unit in range(lo, hi):
        waves = size * (size // 2 + 1) * 2 * inner * row + unit * room
        plane = write_waves(prepared, waves, size)
        for i in range(unit, inner, UNITS):
            for first in range(0, row, pair):
                clear(prepared, plane, plane + size * (size + 1) * pair)
                for j in range(first, min(first + pair, outer)):
                    for ky in range(kh):
                        for kx in range(kw):
                            goal = plane + (ky * (size + 1) + kx) * pair + j - first
                            weight = weights[j, i, 0, ky, kx]
                            prepared[at(goal)] = weight / (size * size)
                forward_plane(prepared, plane, size, kh, waves)
                tell_apart(prepared, plane, size, i * row + first, 2 * inner * row, inner * row, -1.0)
