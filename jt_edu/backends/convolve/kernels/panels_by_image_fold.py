"""Fold, by image: every place sends what it knows through all taps, and the image adds it up.

    sent[(c, tap), place] = sum over o of prepared[(c, tap), o] * places[n, o, place]       a product of matrices
    out[n, c, place * stride + tap * dilation - padding] += sent[(c, tap), place]        and additions

The places are read where they are, the weights are transposed. With stride 2, neighbouring places send to every other
number of the image. So that they send to neighbours all the same, the sums are kept apart by phase, and woven later:

        image, with padding    0 1 0 1 0 1 0 1           sums of phase 0 | sums of phase 1
                                                          0  0  0  0     |   1  1  1  1

The additions cost least where o is large. A unit of work is one image and some channels: no two send to one number.
"""

from jt_edu.backends.convolve.copy_rows import place_rows, scatter
from jt_edu.backends.convolve.gemm_microkernel import lanes, tile
from jt_edu.backends.convolve.im2col import FOLD_COLUMNS, fold_length, folded

DEPTH = 512  # channels of the places that are summed up in registers


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    channels, d, h, w = out.shape[1:]
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = places.shape[2:]
    taps, outs, sent = kd * kh * kw, o // groups, od * oh * ow
    rz, ry = fold_length(d, od, kd, sd, pd, dd), fold_length(h, oh, kh, sh, ph, dh)  # lengths of a phase
    rx = fold_length(w, ow, kw, sw, pw, dw)
    plane = sd * sh * sw * rz * ry * rx
    block, begin_sent, _ = folded(shared, taps, plane, lanes(space))
    blocks = -(-shared // block)
    for unit in range(lo, hi):
        sample, group, c = unit // blocks // groups, unit // blocks % groups, unit % blocks * block
        some = min(block, shared - c)
        place_rows(space, 0, 0, 1, space, 0, 0, 1, some * plane, 0, 0)  # zeros
        for q in range(0, sent, FOLD_COLUMNS):
            count = min(FOLD_COLUMNS, sent - q)
            for first in range(0, outs, DEPTH):
                channel, long = group * outs + first, -(-outs // lanes(space)) * lanes(space)
                tile(
                    prepared, (group * shared + c) * taps * long + first, long, 1,
                    places, (sample * o + channel) * sent + q, sent,
                    space, begin_sent, FOLD_COLUMNS, some * taps, count, min(DEPTH, outs - first), first == 0,
                )  # fmt: skip
            done = 0
            while done < count:  # places in one row
                x, y, z = (q + done) % ow, (q + done) // ow % oh, (q + done) // ow // oh
                run = min(ow - x, count - done)
                for row in range(some * taps):
                    tz, ty, tx = row // (kh * kw) % kd * dd, row // kw % kh * dh, row % kw * dw
                    goal = ((row // taps * sd + tz % sd) * sh + ty % sh) * sw + tx % sw
                    goal = ((goal * rz + z + tz // sd) * ry + y + ty // sh) * rx + x + tx // sw
                    scatter(space, begin_sent + row * FOLD_COLUMNS + done, space, goal, 1, run, False)
                done += run
        for line in range(some * d * h):
            y, z = line % h + ph, line // h % d + pd
            phase = ((line // h // d * sd + z % sd) * sh + y % sh) * sw
            for x in range(min(w, sw)):
                begin = (((phase + (x + pw) % sw) * rz + z // sd) * ry + y // sh) * rx + (x + pw) // sw
                goal = ((sample * channels + group * shared + c) * d * h + line) * w + x
                scatter(space, begin, out, goal, sw, -(-(w - x) // sw), True)
