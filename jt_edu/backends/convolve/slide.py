"""Slide: how does a small window of weights pass over rows of pixels at full speed?

Two rows of places, one below the other, need nearly the same rows of the image. So each vector of pixels is loaded
once, and multiplied for both:

    rows of the image      weights above      weights below
        row 0               k0 k1 k2
        row 1               k3 k4 k5           k0 k1 k2          3 x 3: 12 loads for 18 multiply-adds
        row 2               k6 k7 k8           k3 k4 k5
        row 3                                  k6 k7 k8

The loop over the taps is written out, because only then do their weights stay in registers; so the size of the window
must be a constant of the kernel. In Python it is the loop that it says.
"""

from __future__ import annotations

from typing import Any

from jt_edu.backends.convolve.tile import written
from jt_edu.backends.convolve.vector import INT64, Array, Vector, fused, load, load_at, spread, spread_at, types


def _rule(*args: Any) -> Any:
    *_, kh, kw, stride, high = args
    if not all(isinstance(x, types.IntegerLiteral) for x in (kh, kw, stride, high)):
        return None
    return types.UniTuple(args[0], 2) if isinstance(args[0], Vector) else None


def _lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kinds = signature.args
    kh, kw, stride, high = (kind.literal_value for kind in kinds[-4:])
    sums = [args[0], args[1]]
    source, weights = ((kinds[k], args[k]) for k in (2, 6))
    corner, pitch, block, tap, step, across = (
        context.cast(builder, args[k], kinds[k], types.int64) for k in (3, 4, 5, 7, 8, 9)
    )

    def times(number: int, value: Any) -> Any:
        return builder.mul(INT64(number), value)

    for row in range(kh + (high - 1) * stride):
        line = builder.add(corner, times(row // stride, pitch))
        for kx in range(kw):
            part = times(row % stride * stride + kx % stride, block)
            pixels = load_at(context, builder, source, builder.add(builder.add(line, part), INT64(kx // stride)))
            for which, ky in enumerate((row, row - stride)[:high]):
                if 0 <= ky < kh:
                    where = builder.mul(step, builder.add(times(ky, across), INT64(kx)))
                    weight = spread_at(context, builder, weights, builder.add(tap, where))
                    sums[which] = fused(builder, weight, pixels, sums[which])
    return context.make_tuple(builder, signature.return_type, sums)


@written(_rule, _lower)
def slide(
    upper: Array, lower: Array, source: Array, corner: int, pitch: int, block: int,
    weights: Array, tap: int, step: int, across: int, kh: int, kw: int, stride: int, high: int,
) -> tuple[Array, Array]:  # fmt: skip
    """Add LANES places of a row, and if `high` is 2 of the row below, to what `upper` and `lower` hold.

    The pixel of row r and column x lies at  corner + r // stride * pitch + (r % stride * stride + x % stride) * block
    + x // stride,  the weight of tap (ky, kx) at  tap + step * (ky * across + kx).
    """
    for row in range(kh + (high - 1) * stride):
        for kx in range(kw):
            part = (row % stride * stride + kx % stride) * block
            pixels = load(source, corner + row // stride * pitch + part + kx // stride)
            if row < kh:
                upper = upper + spread(weights, tap + step * (row * across + kx)) * pixels
            if high == 2 and row >= stride:
                lower = lower + spread(weights, tap + step * ((row - stride) * across + kx)) * pixels
    return upper, lower
