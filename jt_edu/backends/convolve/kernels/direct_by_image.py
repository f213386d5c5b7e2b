"""Direct, gradient by the image: each pixel gathers what it gave.

    image[n, i, z sd + kz dd - pd, ...] = sum over the channels o of i's group, taps and places (z, y, x)
                                          weights[o, i, kz, ky, kx] * places[n, o, z, y, x]

The loops are those of the convolution; the product goes to where the pixel came from.
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined
from jt_edu.backends.mathlib import at


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    c, d, h, w = out.shape[1:]
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = places.shape[2:]
    for unit in range(lo, hi):  # a channel of a sample
        n, channel = unit // c, unit % c
        group, i = channel // shared, channel % shared
        for z in range(d):
            for y in range(h):
                for x in range(w):
                    out[n, channel, z, y, at(x)] = 0
        for giver in range(group * (o // groups), (group + 1) * (o // groups)):
            for kz in range(kd):
                for ky in range(kh):
                    for kx in range(kw):
                        weight, aside = weights[giver, i, kz, ky, kx], kx * dw - pw
                        z0, z1 = inside(od, d, sd, kz * dd - pd)
                        y0, y1 = inside(oh, h, sh, ky * dh - ph)
                        x0, x1 = inside(ow, w, sw, aside)
                        for z in range(z0, z1):
                            for y in range(y0, y1):
                                deep, row = z * sd + kz * dd - pd, y * sh + ky * dh - ph
                                for x in range(x0, x1):
                                    out[n, channel, deep, row, at(x * sw + aside)] += (
                                        weight * places[n, giver, z, y, at(x)]
                                    )


@inlined
def inside(places, length, stride, shift):
    """From where to where a place sees pixels:  0 <= place * stride + shift < length."""
    return max(0, -(shift // stride)), min(places, (length - 1 - shift) // stride + 1)
