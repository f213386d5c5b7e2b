"""Naive."""

from jt_edu.backends.convolve.tile import inlined


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    I, W, P = image, out, places
    ins, outs = W.shape[1], W.shape[0] // groups
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            for x in range(out.shape[2]):
                for y in range(out.shape[3]):
                    for z in range(out.shape[4]):
                        out[a, b, x, y, z] = 0
    for n in range(I.shape[0]):
        for o in range(W.shape[0]):
            for c in range(ins):
                ch = o // outs * ins + c
                for kd in range(W.shape[2]):
                    for kh in range(W.shape[3]):
                        for kw in range(W.shape[4]):
                            for x in range(P.shape[2]):
                                for y in range(P.shape[3]):
                                    for z in range(P.shape[4]):
                                        i, j, k = x * sd + kd * dd - pd, y * sh + kh * dh - ph, z * sw + kw * dw - pw
                                        if 0 <= i < I.shape[2] and 0 <= j < I.shape[3] and 0 <= k < I.shape[4]:
                                            out[o, c, kd, kh, kw] += I[n, ch, i, j, k] * P[n, o, x, y, z]
