"""Fourier, weights reversed: the spectra of all windows, wave by wave.

    prepared[wave, part, place channel of the group, channel]

As in `fourier_prepare`, with both kinds of channels exchanged, and each window read from its last tap. Lanes are
channels of the image.
"""

from jt_edu.backends.convolve.tile import inlined
from jt_edu.backends.convolve.waves import write_spectra


def kernel(lo, hi, weights, prepared, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    o, shared = weights.shape[:2]
    for unit in range(lo, hi):
        write_spectra(weights, prepared, unit, o // groups, shared * groups, window)


@inlined
def window(weights, inner, i, j):
    """From channel i of a group of `inner` places to channel j of the image, from its last tap backwards."""
    shared, taps = weights.shape[1], weights.shape[3] * weights.shape[4]
    channel = j // shared * inner + i  # of the places
    return (channel * shared + j % shared + 1) * taps - 1, -1
