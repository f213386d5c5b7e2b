"""Panels, by image: the gradient by the image is weights, turned round, times places.

A number of the image is seen through a tap by the place (where + padding - tap * dilation) / stride, if that is whole.
So what the places say about a number is gathered: no zeros are inserted, and nothing is added up in disorder.

With stride 2 every other number of the image is seen through the same taps. Such numbers are a phase. The gradient of a
phase is a convolution with stride 1 and with taps of its own, and no two phases meet:

        stride 2, 3 taps, no padding      image    0 1 0 1 0 1 0      phase 0: taps 0 and 2
                                                                      phase 1: tap 1

    out[n, c, where] = sum over (o, tap of the phase) of prepared[c, tap, o] * panel[(tap, o), where]

A unit of work is PART channels c of one panel of one phase.
"""

from jt_edu.backends.convolve.tile import inlined, lanes, tile
from jt_edu.backends.convolve.windows import gather, scatter, steps

COLUMNS = 64  # numbers of the image in a panel
DEPTH = 1024  # rows of a panel, about
PART = 12  # channels in a unit of work
ROWS = 48  # channels that are multiplied at a time


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    o, shared, kd, kh, kw = weights.shape
    sn, sc, sz, sy, sx = steps(places)
    outs, lane, whole = o // groups, lanes(space), sd * sh * sw == 1
    pitch, long, block = COLUMNS + lane, -(-outs // lane) * lane, -(-outs // max(1, outs // DEPTH))
    n, begin = out.shape[0], 0  # units of the phases before this one
    for index in range(sd * sh * sw):
        tz, kz, lz, fz, jz, gz = phase(index // (sh * sw), sd, pd, dd, kd, out.shape[2])
        ty, ky, ly, fy, jy, gy = phase(index // sw % sh, sh, ph, dh, kh, out.shape[3])
        tx, kx, lx, fx, jx, gx = phase(index % sw, sw, pw, dw, kw, out.shape[4])
        taps, grid, where = tz * ty * tx, gz * gy * gx, (index // (sh * sw), index // sw % sh, index % sw)
        panels, parts = -(-n * grid // COLUMNS), -(-shared // PART)
        several = max(1, min(taps, DEPTH // block))
        sums = block * several * pitch + lane  # where in space: sums on their way to the image
        unit, end = max(lo, begin), min(hi, begin + groups * panels * parts)
        while unit < end:
            panel, part = (unit - begin) // parts, (unit - begin) % parts
            group, q = panel // panels, panel % panels * COLUMNS
            last, count = min(parts, part + end - unit), min(COLUMNS, n * grid - q)
            for turn in range(-(-outs // block) * max(1, -(-taps // several))):
                first, tap = turn % -(-outs // block) * block, turn // -(-outs // block) * several
                deep, some = min(block, outs - first), min(several, taps - tap)
                gather(
                    places, (group * outs + first) * sc, sn, deep, (sc, sz, sy, sx), places.shape[2:], (gz, gy, gx),
                    (tz, ty, tx), (1, 1, 1), (jz, jy, jx), (fz, fy, fx), tap, tap + some, q, count, space,
                    (pitch, deep * pitch),
                )  # fmt: skip
                joined = whole and deep == long  # rows of prepared that lie side by side count as one
                for c in range(part * PART, min(shared, last * PART), ROWS):
                    rows, channel = min(ROWS, min(shared, last * PART) - c), group * shared + c
                    for m in range(tap, tap + 1 if joined else tap + max(1, some)):
                        line = (kz + m // max(1, ty * tx) * lz) * kh + ky + m // max(1, tx) % max(1, ty) * ly
                        tile(
                            prepared, ((channel * kd * kh + line) * kw + kx + m % max(1, tx) * lx) * long + first,
                            kd * kh * kw * long, 1, space, (m - tap) * deep * pitch, pitch, space, sums, COLUMNS,
                            rows, -(-count // lane) * lane, deep * some if joined else deep * min(1, some), m == tap,
                        )  # fmt: skip
                    put_down(space, sums, out, channel, rows, q, count, (gz, gy, gx), where, (sd, sh, sw), turn == 0)
            unit += last - part
        begin += groups * panels * parts


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


@inlined
def phase(where, stride, padding, dilation, taps, size):
    """In one direction: how many taps, the first, the step to the next; what window 0 sees through the first, and the
    step to what it sees through the next; how many windows.
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
