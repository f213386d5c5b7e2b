"""Winograd's algorithm F(4x4, 3x3), by image: all patches of the places, before anything is multiplied.

    V[tile, point, o] = B^T d B          d: the 6 x 6 numbers of the places that the tile looks at

Whoever computes a panel of channels needs all of V. So where V is not too large, threads make it together and share it.
Behind V each unit of work has room of its own.
"""

from jt_edu.backends.convolve.gemm_microkernel import lanes
from jt_edu.backends.convolve.winograd_tiles import cut_all, layout_of
from jt_edu.backends.convolve.winograd_transforms import image_at_six


def kernel(lo, hi, places, image, prepared, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, _, _, w = places.shape
    layout = layout_of(4, n, c, c, w, image.shape[3], image.shape[4], lanes(prepared))
    for unit in range(lo, hi):
        cut_all(places, unit, 2 - ph, 2 - pw, prepared, layout, image_at_six)
