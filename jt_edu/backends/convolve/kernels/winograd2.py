"""Winograd's algorithm F(2x2, 3x3), forward: 2 x 2 sums of 9 products each from 16 multiplications, not 36.

    for each block of rows of tiles:
        V[tile, point, c] = B^T d B          d: the 4 x 4 numbers of the image that the tile looks at
        for each panel of output channels o:
            U[point, c, o] = G g G^T         g: the 3 x 3 taps from channel c to channel o
            for each of the 16 points:
                M[tile, point, o] = V[tile, point, c] @ U[point, c, o]
            sums = A^T M A

The transforms work on a vector of channels at a time. What they cost is shared: V by all panels, U by all tiles of a
block, M by all channels c. The more channels and the more tiles, the nearer it comes to 4/9 of the time.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
"""

from jt_edu.backends.convolve.patches import cut, join, multiply, part_of, plan_of, turn_taps
from jt_edu.backends.convolve.points import image_at_four, sums_from_four, taps_at_four
from jt_edu.backends.convolve.tile import inlined, lanes


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    n, c, _, _, w = image.shape
    _, o, _, oh, ow = out.shape
    plan = plan_of(2, n, c, o, w, oh, ow, lanes(image))
    for unit in range(lo, hi):
        begin, end, first, width = part_of(unit, plan, o, lanes(image), n * plan.high)  # rows of tiles, channels
        if unit == lo or first == 0:
            cut(image, 0, c, begin, end, ph, pw, 2, space, plan.image, plan, image_at_four)
        tiles = (end - begin) * plan.wide
        multiply(space, plan.image, tiles, c, weights, first, width, space, plan, turn_taps, taps_at_four)
        join(out, begin, end, first, width, space, plan, sums_from_four)
        for row in range(begin, end):
            picture, y = row // plan.high, 2 * (row % plan.high)
            for channel in range(first, first + width):
                finish(picture, channel, y * ow, min(y + 2, oh) * ow, out, *rest)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
