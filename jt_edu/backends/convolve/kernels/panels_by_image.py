"""Panels, by image: the gradient by the image is weights, transposed, times places.

A number of the image is seen through a tap by the place (where + padding - tap * dilation) / stride, if that is whole.
So what the places say about a number is gathered: no zeros are inserted, and nothing is added up in disorder.

With stride 2 every other number of the image is seen through the same taps. Such numbers are a phase. The gradient of a
phase is a convolution with stride 1 and with taps of its own, and no two phases meet:

        stride 2, 3 taps, no padding      image    0 1 0 1 0 1 0      phase 0: taps 0 and 2
                                                                      phase 1: tap 1

    out[n, c, where] = sum over (o, tap of the phase) of prepared[c, tap, o] * panel[(tap, o), where]

    where               the phase: from which plane, row and column of the image on its numbers are counted
    z, y, x             what there is to know of the phase in each direction (im2col.py: phase)
    grid, windows       its numbers in an image, in each direction; in all images: each is a window over places
    panel, part         a unit of work: COLUMNS windows of a group, and PART channels c
    q, count            the first window of the panel, counted from image to image, and how many
    tap, first          a piece of the panel: of the phase's taps those from `tap` on, of the channels o from `first` on
    some, deep          how many taps, and how many channels o, the piece has

Example: 64 channels o, 32 channels c, 3 x 3 taps, stride 2 and padding 1, 7 x 7 numbers from 4 x 4 places. Of the four
phases the first has the numbers 0, 2, 4, 6 of rows 0, 2, 4, 6: 16 windows, each of which meets tap (1, 1) only, so its
panel has 64 rows. The last has 3 x 3 windows, and each meets the taps (0, 0), (0, 2), (2, 0) and (2, 2): 256 rows.
"""

from jt_edu.backends.convolve.copy_rows import scatter
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes, tile
from jt_edu.backends.convolve.im2col import COLUMNS, PART, ROWS, gather, panel_by_image, phase, steps, tap_of


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    o, shared, kd, kh, kw = weights.shape
    sn, sc, sz, sy, sx = steps(places)
    outs, lane, stride = o // groups, lanes(space), (sd, sh, sw)
    parts, begin = -(-shared // PART), 0  # begin: units of the phases before this one
    for index in range(sd * sh * sw):
        where = (index // (sh * sw), index // sw % sh, index % sw)
        z = phase(where[0], sd, pd, dd, kd, out.shape[2])
        y = phase(where[1], sh, ph, dh, kh, out.shape[3])
        x = phase(where[2], sw, pw, dw, kw, out.shape[4])
        taps, grid = z.taps * y.taps * x.taps, (z.windows, y.windows, x.windows)
        windows = out.shape[0] * z.windows * y.windows * x.windows
        panels = -(-windows // COLUMNS)
        layout = panel_by_image(outs, taps, lane)
        block, several, pitch, sums = layout.block, layout.several, layout.pitch, layout.beside
        unit, end = max(lo, begin), min(hi, begin + groups * panels * parts)
        while unit < end:
            panel, part = (unit - begin) // parts, (unit - begin) % parts
            group, q = panel // panels, panel % panels * COLUMNS
            last, count = min(parts, part + end - unit), min(COLUMNS, windows - q)
            for tap in range(0, max(1, taps), several):
                for first in range(0, outs, block):
                    deep, some = min(block, outs - first), min(several, taps - tap)
                    gather(
                        places, (group * outs + first) * sc, sn, deep, (sc, sz, sy, sx), places.shape[2:], grid,
                        (z.taps, y.taps, x.taps), (1, 1, 1), (z.place_step, y.place_step, x.place_step),
                        (z.place, y.place, x.place), tap, tap + some, q, count, space, (pitch, deep * pitch),
                    )  # fmt: skip
                    for c in range(part * PART, min(shared, last * PART), ROWS):
                        rows, channel = min(ROWS, min(shared, last * PART) - c), group * shared + c
                        matrix = (prepared, channel, kd * kh * kw, -(-outs // lane) * lane, first)
                        windows_of = (space, pitch, count, deep, sums)
                        multiply(matrix, windows_of, rows, tap, some, (z, y, x), stride, (kh, kw))
                        put_down(space, sums, out, channel, rows, q, count, grid, where, stride, tap == first == 0)
            unit += last - part
        begin += groups * panels * parts


@inlined
def multiply(matrix, windows, rows, tap, some, phases, stride, taps):
    """The sums of some rows of prepared with the piece of the panel: one product for each tap, added up.

    Where the taps of a phase are all taps, and a panel has all channels o, they lie side by side and are one product.
    """
    prepared, channel, all_taps, long, first = matrix
    space, pitch, count, deep, sums = windows
    z, y, x = phases
    joined = stride == (1, 1, 1) and deep == long
    for m in range(tap, tap + 1 if joined else tap + max(1, some)):
        tile(
            prepared, (channel * all_taps + tap_of(m, z, y, x, taps[0], taps[1])) * long + first, all_taps * long, 1,
            space, (m - tap) * deep * pitch, pitch, space, sums, COLUMNS,
            rows, -(-count // lanes(space)) * lanes(space), deep * (some if joined else min(1, some)), m == tap,
        )  # fmt: skip


@inlined
def put_down(space, sums, out, channel, rows, q, count, grid, where, stride, fresh):
    """Bring the sums of `count` numbers of a phase to their places in the images: every stride-th number of a line."""
    channels, d, h, w = out.shape[1:]
    gz, gy, gx = grid
    line = gz * gy * gx if stride == (1, 1, 1) else gx
    done = 0
    while done < count:  # numbers of one line
        at = q + done
        run = min(count - done, line - at % line)
        z, y, x = at // gx // gy % gz, at // gx % gy, at % gx
        goal = ((at // gx // gy // gz * channels + channel) * d + z * stride[0] + where[0]) * h
        goal = (goal + y * stride[1] + where[1]) * w + x * stride[2] + where[2]
        for r in range(rows):
            scatter(space, sums + r * COLUMNS + done, out, goal + r * d * h * w, stride[2], run, fresh)
        done += run
