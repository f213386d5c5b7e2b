"""Panels, by image: the gradient by the image is weights, turned round, times places.

A number of the image is seen through a tap by the place (where + padding - tap * dilation) / stride, if that is whole. So
what the places say about a number is gathered: no zeros are inserted, and nothing is added up in disorder.

With stride 2 every other number of the image is seen through the same taps. Such numbers are a phase. The gradient of a
phase is a convolution with stride 1 and with taps of its own, and no two phases meet:

        stride 2, 3 taps, no padding      image    0 1 0 1 0 1 0      phase 0: taps 0 and 2
                                                                      phase 1: tap 1

    out[n, c, where] = sum over (o, tap of the phase) of prepared[c, tap, o] * panel[(tap, o), where]

A unit of work is PART channels c of one panel of one phase.
"""

from jt_edu.backends.convolve.tile import inlined, lanes, tile
from jt_edu.backends.convolve.windows import gather, scatter

COLUMNS = 64  # numbers of the image in a panel
DEPTH = 1024  # rows of a panel, about
PART = 12  # channels in a unit of work
ROWS = 48  # channels that are multiplied at a time


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, channels, d, h, w = out.shape
    o, shared, kd, kh, kw = weights.shape
    seen = places.shape[2] * places.shape[3] * places.shape[4]
    outs, lane, whole = o // groups, lanes(space), sd * sh * sw == 1
    pitch, long = COLUMNS + lane, -(-outs // lane) * lane
    begin = 0  # units of the phases before this one
    for index in range(sd * sh * sw):
        z, y, x = index // (sh * sw), index // sw % sh, index % sw
        tz, kz, lz, fz, jz, gz = phase(z, sd, pd, dd, kd, d)
        ty, ky, ly, fy, jy, gy = phase(y, sh, ph, dh, kh, h)
        tx, kx, lx, fx, jx, gx = phase(x, sw, pw, dw, kw, w)
        taps, grid = tz * ty * tx, gz * gy * gx
        line = grid if whole else gx  # windows whose numbers of the image lie in one line
        panels, parts = -(-n * grid // COLUMNS), -(-shared // PART)
        block = -(-outs // max(1, outs * taps // DEPTH))
        sums = block * taps * pitch + lane  # where in space: sums on their way to the image
        unit, end = max(lo, begin), min(hi, begin + groups * panels * parts)
        while unit < end:
            panel, part = (unit - begin) // parts, (unit - begin) % parts
            last = min(parts, part + end - unit)
            group, q = panel // panels, panel % panels * COLUMNS
            count = min(COLUMNS, n * grid - q)
            for first in range(0, outs, block):
                deep = min(block, outs - first)
                gather(
                    places, (group * outs + first) * seen, o * seen, deep, places.shape[2:], (gz, gy, gx),
                    (tz, ty, tx), (1, 1, 1), (jz, jy, jx), (fz, fy, fx), q, count, space, (pitch, deep * pitch),
                )  # fmt: skip
                for c in range(part * PART, min(shared, last * PART), ROWS):
                    rows, channel = min(ROWS, min(shared, last * PART) - c), group * shared + c
                    start, wide = channel * kd * kh * kw * long + first, -(-count // lane) * lane
                    joined = whole and deep == long  # rows of prepared that lie side by side count as one
                    for m in range(1 if joined else max(1, taps)):
                        mz, my, mx = m // max(1, ty * tx), m // max(1, tx) % max(1, ty), m % max(1, tx)
                        tap = ((kz + mz * lz) * kh + ky + my * ly) * kw + kx + mx * lx
                        tile(
                            prepared, start + tap * long, kd * kh * kw * long, 1, space, m * deep * pitch, pitch,
                            space, sums, COLUMNS, rows, wide, deep * taps if joined else deep * min(1, taps), m == 0,
                        )  # fmt: skip
                    done = 0
                    while done < count:  # numbers of the image in one line
                        at = q + done
                        run = min(count - done, line - at % line)
                        where = at % gx * sw + x
                        where += ((at // gx // gy % gz * sd + z) * h + at // gx % gy * sh + y) * w
                        goal = (at // grid * channels + channel) * d * h * w + where
                        for r in range(rows):
                            scatter(space, sums + r * COLUMNS + done, out, goal + r * d * h * w, sw, run, first == 0)
                        done += run
            unit += last - part
        begin += groups * panels * parts


@inlined
def phase(where, stride, padding, dilation, taps, size):
    """In one direction: how many taps, the first and the step to the next; which place window 0 sees through the
    first, and the step to the next; how many windows.
    """
    count, first, step, place, along = 0, 0, 0, 0, 0
    for tap in range(taps):
        seen = where + padding - tap * dilation
        if seen % stride == 0:
            if count == 0:
                first, place = tap, seen // stride
            elif count == 1:
                step, along = tap - first, seen // stride - place
            count += 1
    return count, first, step, place, along, max(0, -(-(size - where) // stride))
