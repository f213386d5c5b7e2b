"""Winograd's algorithm F(4x4, 3x3), by image: `winograd4` over places instead of the image.

A place with tap k looks at image position  place + k - padding.  So tap k sees a position from  position + padding - k,
and tap 2 - j from  position + j - (2 - padding):  a convolution of the places, with the taps in reverse order,
a padding of 2 - padding, and sums over o for each channel c.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
"""

from jt_edu.backends.convolve.gemm_microkernel import lanes
from jt_edu.backends.convolve.winograd_tiles import compute, layout_of, turn_taps_back
from jt_edu.backends.convolve.winograd_transforms import image_at_six, sums_from_six, taps_at_six


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, o, _, _, ow = places.shape
    _, c, _, h, w = out.shape
    layout = layout_of(4, n, o, c, ow, h, w, lanes(places))
    for unit in range(lo, hi):
        compute(
            unit, unit == lo, places, 2 - ph, 2 - pw, weights, turn_taps_back, out, prepared, space, layout,
            image_at_six, taps_at_six, sums_from_six,
        )  # fmt: skip
