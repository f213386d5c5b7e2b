"""Direct, gradient by the weights: each weight gathers what it met.

    weights[o, i, kz, ky, kx] = sum over samples n and places (z, y, x)
                                places[n, o, z, y, x] * image[n, i, z sd + kz dd - pd, ...]

A sum for each row, and a sum of those: so the error grows with the rows and the row, and not with their product.
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined
from jt_edu.backends.mathlib import at


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    samples, (d, h, w) = image.shape[0], image.shape[2:]
    o, shared, kd, kh, kw = out.shape
    od, oh, ow = places.shape[2:]
    for unit in range(lo, hi):  # a pair of channels
        channel, i = unit // shared, unit % shared
        first = channel // (o // groups) * shared
        for kz in range(kd):
            for ky in range(kh):
                for kx in range(kw):
                    aside = kx * dw - pw
                    z0, z1 = inside(od, d, sd, kz * dd - pd)
                    y0, y1 = inside(oh, h, sh, ky * dh - ph)
                    x0, x1 = inside(ow, w, sw, aside)
                    out[channel, i, kz, ky, kx] = 0
                    for n in range(samples):
                        for z in range(z0, z1):
                            for y in range(y0, y1):
                                deep, row = z * sd + kz * dd - pd, y * sh + ky * dh - ph
                                total = out.dtype.type(0)
                                for x in range(x0, x1):
                                    total += (
                                        places[n, channel, z, y, at(x)]
                                        * image[n, first + i, deep, row, at(x * sw + aside)]
                                    )
                                out[channel, i, kz, ky, kx] += total


@inlined
def inside(places, length, stride, shift):
    """From where to where a place sees pixels:  0 <= place * stride + shift < length."""
    return max(0, -(shift // stride)), min(places, (length - 1 - shift) // stride + 1)
