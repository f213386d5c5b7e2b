"""Winograd's algorithm F(4x4, 3x3), forward: 4 x 4 sums of 9 products each from 36 multiplications, not 144.

    for each block of rows of tiles:
        V[tile, point, c] = B^T d B          d: the 6 x 6 numbers of the image that the tile looks at
        for each panel of output channels o:
            U[point, c, o] = G g G^T         g: the 3 x 3 taps from channel c to channel o
            for each of the 36 points:
                M[tile, point, o] = V[tile, point, c] @ U[point, c, o]
            sums = A^T M A

The transforms work on a vector of channels at a time. What they cost is shared: V by all panels, U by all tiles of a
block, M by all channels c. The more channels and the more tiles, the nearer it comes to a quarter of the time.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.winograd_tiles import compute, layout_of, turn_taps
from jt_edu.backends.convolve.winograd_transforms import image_at_six, sums_from_six, taps_at_six


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    n, c, _, _, w = image.shape
    _, o, _, oh, ow = out.shape
    layout = layout_of(4, n, c, o, w, oh, ow, lanes(image))
    for unit in range(lo, hi):
        begin, end, first, width = compute(
            unit, unit == lo, image, ph, pw, weights, turn_taps, out, prepared, space, layout,
            image_at_six, taps_at_six, sums_from_six,
        )  # fmt: skip
        for row in range(begin, end):  # of tiles
            picture, y = row // layout.high, 4 * (row % layout.high)
            for channel in range(first, first + width):
                finish(picture, channel, y * ow, min(y + 4, oh) * ow, out, *rest)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
