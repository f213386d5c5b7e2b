"""Fold, by image: every place sends what it knows through all taps, and the image adds it up.

    sent[(c, tap), place] = sum over o of weights[o, c, tap] * places[n, o, place]       a product of matrices
    out[n, c, place * stride + tap * dilation - padding] += sent[(c, tap), place]        and additions

Both factors are read where they are. With stride 2, neighbouring places send to every other number of the image; so that they
send to neighbours all the same, the sums are kept apart by the rest that their place leaves (their phase), and woven
together at the end:

        image, with padding    0 1 0 1 0 1 0 1           sums of phase 0 | sums of phase 1
                                                          0  0  0  0     |   1  1  1  1

The additions cost least where o is large. A unit of work is one image and some channels: no two send to the same number.
"""

from jt_edu.backends.convolve.tile import tile
from jt_edu.backends.convolve.windows import place_rows, scatter

COLUMNS = 128  # places that send together
DEPTH = 512  # channels of the places that are summed up in registers
ROWS = 48  # pairs (c, tap) in a unit of work, about


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    channels, d, h, w = out.shape[1:]
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = places.shape[2:]
    taps, outs, sent = kd * kh * kw, o // groups, od * oh * ow
    rz = max(od + (kd - 1) * dd // sd, (d - 1 + pd) // sd + 1)  # lengths of a phase
    ry = max(oh + (kh - 1) * dh // sh, (h - 1 + ph) // sh + 1)
    rx = max(ow + (kw - 1) * dw // sw, (w - 1 + pw) // sw + 1)
    block = min(max(1, ROWS // taps), -(-shared // 2))
    blocks, plane = -(-shared // block), sd * sh * sw * rz * ry * rx
    sums = block * plane  # where in space: what is sent
    for unit in range(lo, hi):
        sample, group, c = unit // blocks // groups, unit // blocks % groups, unit % blocks * block
        some = min(block, shared - c)
        place_rows(space, 0, 0, 1, space, 0, 0, 1, some * plane, 0, 0)  # zeros
        for q in range(0, sent, COLUMNS):
            count = min(COLUMNS, sent - q)
            for first in range(0, outs, DEPTH):
                channel = group * outs + first
                tile(
                    weights, (channel * shared + c) * taps, 1, shared * taps,
                    places, (sample * o + channel) * sent + q, sent,
                    space, sums, COLUMNS, some * taps, count, min(DEPTH, outs - first), first == 0,
                )  # fmt: skip
            done = 0
            while done < count:  # places in one row
                x, y, z = (q + done) % ow, (q + done) // ow % oh, (q + done) // ow // oh
                run = min(ow - x, count - done)
                for row in range(some * taps):
                    tz, ty, tx = row // (kh * kw) % kd * dd, row // kw % kh * dh, row % kw * dw
                    goal = ((row // taps * sd + tz % sd) * sh + ty % sh) * sw + tx % sw
                    goal = ((goal * rz + z + tz // sd) * ry + y + ty // sh) * rx + x + tx // sw
                    scatter(space, sums + row * COLUMNS + done, space, goal, 1, run, False)
                done += run
        for line in range(some * d * h):
            y, z = line % h + ph, line // h % d + pd
            goal = ((sample * channels + group * shared + c) * d * h + line) * w
            for x in range(min(w, sw)):
                begin = ((line // h // d * sd + z % sd) * sh + y % sh) * sw + (x + pw) % sw
                begin = ((begin * rz + z // sd) * ry + y // sh) * rx + (x + pw) // sw
                scatter(space, begin, out, goal + x, sw, -(-(w - x) // sw), True)
