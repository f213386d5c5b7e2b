"""Winograd's algorithm F(2x2, 3x3), by image: `winograd2` over places instead of the image.

Padding and the order of the taps change as in `winograd4_by_image`.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
"""

from jt_edu.backends.convolve.gemm_microkernel import lanes
from jt_edu.backends.convolve.winograd_tiles import compute, layout_of, turn_taps_back
from jt_edu.backends.convolve.winograd_transforms import image_at_four, sums_from_four, taps_at_four


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, o, _, _, ow = places.shape
    _, c, _, h, w = out.shape
    layout = layout_of(2, n, o, c, ow, h, w, lanes(places))
    for unit in range(lo, hi):
        compute(
            unit, unit == lo, places, 2 - ph, 2 - pw, weights, turn_taps_back, out, prepared, space, layout,
            image_at_four, taps_at_four, sums_from_four,
        )  # fmt: skip
