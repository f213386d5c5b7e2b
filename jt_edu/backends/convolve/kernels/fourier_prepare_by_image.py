"""Fourier, weights reversed: the spectra of all windows, wave by wave.

    prepared[wave, part, place channel of the group, channel]

As in `fourier_prepare`, with both kinds of channels exchanged, and each window read from its last tap. Lanes are
channels of the image.
"""

from jt_edu.backends.convolve.fft_layout import window_back, write_spectra


def kernel(lo, hi, weights, prepared, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    o, shared = weights.shape[:2]
    for unit in range(lo, hi):
        write_spectra(weights, prepared, unit, o // groups, shared * groups, window_back)
