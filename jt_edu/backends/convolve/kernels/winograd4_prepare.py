"""Winograd's algorithm F(4x4, 3x3): all patches of the image, before anything is multiplied.

    V[tile, point, c] = B^T d B          d: the 6 x 6 numbers of the image that the tile looks at

Whoever computes a panel of channels needs all of V. So where V is not too large, threads make it together and share it.
It is the same V for `winograd4_by_weights`, with tiles of places. Behind V each unit of work has room of its own.
"""

from jt_edu.backends.convolve.gemm_microkernel import lanes
from jt_edu.backends.convolve.winograd_tiles import cut_all, layout_of
from jt_edu.backends.convolve.winograd_transforms import image_at_six


def kernel(lo, hi, image, tiled, prepared, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, _, _, w = image.shape
    layout = layout_of(4, n, c, c, w, tiled.shape[3], tiled.shape[4], lanes(prepared))
    for unit in range(lo, hi):
        cut_all(image, unit, ph, pw, prepared, layout, image_at_six)
