"""Direct: a convolution as it is defined.

    places[n, o, z, y, x] = sum over the channels i of o's group and the taps (kz, ky, kx)
                            weights[o, i, kz, ky, kx] * image[n, i, z sd + kz dd - pd, y sh + ..., x sw + ...]

Beyond the edge the image is 0: `inside` tells which places of a tap lie within. Everything else the other algorithms do
differently, this one only says. The loop over a row stands inside, because numbers beside each other in memory can be
computed together.
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined
from jt_edu.backends.mathlib import at


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    d, h, w = image.shape[2:]
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = out.shape[2:]
    for unit in range(lo, hi):  # a channel of a sample
        n, channel = unit // o, unit % o
        first = channel // (o // groups) * shared
        for z in range(od):
            for y in range(oh):
                for x in range(ow):
                    out[n, channel, z, y, at(x)] = 0
        for i in range(shared):
            for kz in range(kd):
                for ky in range(kh):
                    for kx in range(kw):
                        weight, aside = weights[channel, i, kz, ky, kx], kx * dw - pw
                        z0, z1 = inside(od, d, sd, kz * dd - pd)
                        y0, y1 = inside(oh, h, sh, ky * dh - ph)
                        x0, x1 = inside(ow, w, sw, aside)
                        for z in range(z0, z1):
                            for y in range(y0, y1):
                                deep, row = z * sd + kz * dd - pd, y * sh + ky * dh - ph
                                for x in range(x0, x1):
                                    out[n, channel, z, y, at(x)] += (
                                        weight * image[n, first + i, deep, row, at(x * sw + aside)]
                                    )
        finish(n, channel, 0, od * oh * ow, out, *rest)


@inlined
def inside(places, length, stride, shift):
    """From where to where a place sees pixels:  0 <= place * stride + shift < length."""
    return max(0, -(shift // stride)), min(places, (length - 1 - shift) // stride + 1)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
