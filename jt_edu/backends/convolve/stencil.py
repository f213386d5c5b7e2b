"""Stencil: how does a small window of weights pass over rows of pixels at full speed?

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

from functools import reduce
from typing import Any

from llvmlite import ir

from jt_edu.backends.convolve.llvm import INT, Array, fused, types, written
from jt_edu.backends.convolve.simd import Vector, load, load_at, spread, spread_at

CHAINS = 2  # sums that each sum is made of: an addition begins before the one before it is done


def _rule(*args: Any) -> Any:
    *_, side, stride = args
    if not all(isinstance(x, types.IntegerLiteral) for x in (side, stride)):
        return None
    return types.UniTuple(args[0], 2) if isinstance(args[0], Vector) else None


def _lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kinds = signature.args
    side, stride = (kind.literal_value for kind in kinds[-2:])
    chains = [[total, *[ir.Constant(total.type, None)] * (CHAINS - 1)] for total in args[:2]]
    source, weights = ((kinds[k], args[k]) for k in (2, 6))
    corner, pitch, block, tap, step = (context.cast(builder, args[k], kinds[k], types.int64) for k in (3, 4, 5, 7, 8))

    def times(number: int, value: Any) -> Any:
        return builder.mul(INT(number), value)

    for row in range(side + stride):
        line = builder.add(corner, times(row // stride, pitch))
        for kx in range(side):
            part = times(row % stride * stride + kx % stride, block)
            pixels = load_at(context, builder, source, builder.add(builder.add(line, part), INT(kx // stride)))
            for which, ky in enumerate((row, row - stride)):
                if 0 <= ky < side:
                    where = times(ky * side + kx, step)
                    weight = spread_at(context, builder, weights, builder.add(tap, where))
                    chain, k = chains[which], (ky * side + kx) % CHAINS
                    chain[k] = fused(builder, weight, pixels, chain[k])
    return context.make_tuple(builder, signature.return_type, [reduce(builder.fadd, chain) for chain in chains])


@written(_rule, _lower)
def slide(
    upper: Array, lower: Array, source: Array, corner: int, pitch: int, block: int,
    weights: Array, tap: int, step: int, side: int, stride: int,
) -> tuple[Array, Array]:  # fmt: skip
    """Add LANES places of a row to `upper`, and those of the row below to `lower`: of a window of side * side taps.

    The pixel of row r and column x lies at  corner + r // stride * pitch + (r % stride * stride + x % stride) * block
    + x // stride,  the weight of tap (ky, kx) at  tap + step * (ky * side + kx).
    """
    for row in range(side + stride):
        for kx in range(side):
            part = (row % stride * stride + kx % stride) * block
            pixels = load(source, corner + row // stride * pitch + part + kx // stride)
            if row < side:
                upper = upper + spread(weights, tap + step * (row * side + kx)) * pixels
            if row >= stride:
                lower = lower + spread(weights, tap + step * ((row - stride) * side + kx)) * pixels
    return upper, lower
