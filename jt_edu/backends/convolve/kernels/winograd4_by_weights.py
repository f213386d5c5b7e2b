"""Winograd's algorithm F(3x3, 4x4), by weights: 3 x 3 sums of 16 products each from 36 multiplications, not 144.

A tap of the gradient is a sum over all places: over all tiles of 4 x 4 places, and in each a sum of 16 products
that places give when they slide over the 6 x 6 numbers of the image they look at:

    for each block of rows of tiles:
        V[tile, point, c] = B^T d B          d: 6 x 6 numbers of the image, as in `winograd4`
        for each panel of output channels o:
            P[tile, point, o] = G g G^T      g: 4 x 4 places
            for each of the 36 points:
                M[point, o, c] += sum over tiles of P[tile, point, o] V[tile, point, c]
    taps = A^T M A

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks", section 4.3 (arXiv:1509.09308).
"""

from jt_edu.backends.convolve.gemm_microkernel import lanes, tile
from jt_edu.backends.convolve.winograd_tiles import (
    Cut,
    cut,
    factors_of,
    layout_by_weights,
    panel_count,
    products,
    uneven_block,
    write_taps,
)
from jt_edu.backends.convolve.winograd_transforms import image_at_six, places_at_six, taps_from_six
from jt_edu.backends.mathlib import at


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, _, _, w = image.shape
    _, o, _, oh, ow = places.shape
    lane = lanes(image)
    layout, panels, ready = layout_by_weights(4, n, c, o, w, oh, ow, lane), panel_count(o, lane), prepared.size > 0
    wide = 2 * lane  # channels of a panel
    for turn in range(1 + hi - lo):
        plain = turn > 0  # a panel that comes again is written out
        left, right = (lo + turn - 1, lo + turn) if plain else (lo, hi)
        if plain and space[at(layout.state + turn - 1)] == 0:
            continue
        uneven = False
        for begin in range(0, n * layout.high, layout.rows):
            end = min(begin + layout.rows, n * layout.high)
            how = Cut(plain, plain or not ready, not plain)
            cut(image, 0, c, begin, end, ph, pw, 2, space, layout.image, layout, image_at_six, how)
            uneven = uneven or (not plain and uneven_block(space, begin, end, 2, layout))
            ours = plain or not ready
            patches, start = (space, layout.image) if ours else (prepared, begin * layout.wide * layout.row)
            for panel in range(left, right):
                width, mark = wide if panel < panels - 1 else o - wide * panel, at(layout.state + panel - lo)
                how = Cut(plain, True, not plain)
                cut(places, wide * panel, width, begin, end, 0, 0, 0, space, layout.weights, layout, places_at_six, how)
                if not plain:
                    marked = begin > 0 and space[mark] > 0
                    space[mark] = uneven or marked or uneven_block(space, begin, end, 0, layout)
                for k in range(products(layout, plain)):
                    point, tap, place = factors_of(k, layout, plain)
                    tile(
                        space, layout.weights + place * width, 1, 36 * width + lane,
                        patches, start + point * c, layout.row,
                        space, layout.sums + (36 * wide * (panel - lo) + tap * width) * c, c,
                        width, c, (end - begin) * layout.wide, begin == 0 and (place == 0 or not plain),
                    )  # fmt: skip
        for panel in range(left, right):
            width, mark = wide if panel < panels - 1 else o - wide * panel, at(layout.state + panel - lo)
            sums = layout.sums + 36 * wide * (panel - lo) * c
            if not write_taps(out, wide * panel, width, space, sums, 6, taps_from_six, plain):
                space[mark] = 1
