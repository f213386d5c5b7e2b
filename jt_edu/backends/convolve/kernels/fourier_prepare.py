"""Fourier, weights: the spectra of all windows, wave by wave.

    prepared[wave, part, channel of the group, place channel]

Part 0 is real, part 1 imaginary; they are conjugated and divided by size^2, so that nothing is left to do later.
Lanes are channels of the places.
"""

from jt_edu.backends.convolve.fft_layout import window, write_spectra


def kernel(lo, hi, weights, prepared, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    o, shared = weights.shape[:2]
    for unit in range(lo, hi):
        write_spectra(weights, prepared, unit, shared, o, window)
