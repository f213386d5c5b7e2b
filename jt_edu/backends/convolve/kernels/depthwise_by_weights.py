"""Depthwise, gradient by the weights: how well does each shifted image agree with the places?

    weight (ky, kx) = sum over samples and places (y, x)   places[y, x] * image[y * stride + ky][x * stride + kx]

That is a dot product for each tap. Rows of the image are copied first, as forward, so that both factors are
neighbours (row_strips.py); behind them `space` holds a vector of sums for each tap. A vector of places is loaded once
for three taps. Each lane has a sum to itself; the lanes meet at the very end.
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.row_strips import fill, image_strips, sums_behind
from jt_edu.backends.convolve.simd import fma, load, load_some, store, sum_of, write_zeros
from jt_edu.backends.mathlib import at


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, w = image.shape[0], image.shape[1], image.shape[4]
    o, shared, kd, kh, kw = out.shape
    od, oh, ow = places.shape[2:]
    sh = sw if oh == 1 else sh  # a single row has no next one
    planes, many, lane = shared * kd, o // groups, lanes(space)
    layout = image_strips((w, pw), (oh, ow), (kh, kw), (sh, sw), (dh, dw), planes, lane)
    high, pitch, block = layout.high, layout.pitch, layout.block
    taps = planes * kh * kw
    sums, end = sums_behind(layout, many * taps, lane)
    strips = (oh + high - 1) // high
    dirty = od > 1 or high < oh  # else zeros stay where they are
    write_zeros(space, 0, sums)
    for group in range(lo, hi):
        write_zeros(space, sums, end)
        for part in range(n * od * strips):
            whole = part // strips  # a plane of places of a sample
            sample, z, top = whole // od, whole % od, (part - whole * strips) * high
            rows = min(high, oh - top)
            shape, corner = (rows + layout.more, pitch, block, dirty), (z * sd - pd, top * sh - ph, layout.left)
            fill(image, sample * c + group * shared, space, 0, shape, sh, planes, kd, dd, corner)
            for m in range(many):
                here = (places, (((sample * o + group * many + m) * od + z) * oh + top) * ow, rows, ow)
                for k in range(planes * kh):
                    plane = k // kh
                    row = (k - plane * kh) * dh
                    start = (plane * sh + (row & (sh - 1))) * sw * block + row // sh * pitch
                    agree((space, start, pitch, block), sw, here, kw, dw, sums + (m * taps + k * kw) * lane)
        for m in range(many):
            for k in range(taps):
                i, kz, ky, kx = k // (kd * kh * kw), k // (kh * kw) % kd, k // kw % kh, k % kw
                total = sum_of(load(space, sums + (m * taps + k) * lane))
                out[at(group * many + m), at(i), at(kz), at(ky), at(kx)] = total


@inlined
def agree(pixels, stride, here, kw, dw, sums):
    """Add to the sums of one row of taps, three at a time."""
    space, start, pitch, block = pixels
    places, begin, rows, ow = here
    lane, half = lanes(space), stride - 1
    for kx in range(0, kw, 3):
        middle, right = min(kx + 1, kw - 1), min(kx + 2, kw - 1)  # where there are fewer, one is computed again
        a = start + (kx * dw & half) * block + (kx * dw >> half)
        b = start + (middle * dw & half) * block + (middle * dw >> half)
        c = start + (right * dw & half) * block + (right * dw >> half)
        first, second = load(space, sums + kx * lane), load(space, sums + middle * lane)
        third = load(space, sums + right * lane)
        for y in range(rows):
            for x in range(0, ow - lane + 1, lane):
                one = load(places, begin + y * ow + x)
                first = fma(one, load(space, a + y * pitch + x), first)
                second = fma(one, load(space, b + y * pitch + x), second)
                third = fma(one, load(space, c + y * pitch + x), third)
            rest = ow % lane
            if rest > 0:
                x = ow - rest
                one = load_some(places, begin + y * ow + x, rest)
                first = fma(one, load_some(space, a + y * pitch + x, rest), first)
                second = fma(one, load_some(space, b + y * pitch + x, rest), second)
                third = fma(one, load_some(space, c + y * pitch + x, rest), third)
        store(space, sums + kx * lane, first)
        store(space, sums + middle * lane, second)
        store(space, sums + right * lane, third)
