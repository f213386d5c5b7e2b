"""Direct: what does the definition of a convolution need?

Nothing: it takes every shape, stride, padding, dilation and number of groups, and no memory. It is the first to read,
and what the others are compared with. A row is computed several numbers at a time where the stride is 1; no number is
used twice while it is in a register, so it is slow for all but small convolutions.

Sums are plain, in the dtype of the arrays; by the weights, a sum of sums of rows.

    |error| <= eps * products * sum of |products|           always
    |error| <  4e-6 * sqrt(sum of products^2)               float32, measured against float64 on random shapes
                8e-15                                        float64

What runs stands in `kernels/direct*.py`. Nothing here knows numbers.
"""

from __future__ import annotations

from jt_edu.backends.convolve import Algorithm, Sizes, any_sizes


def _seconds(s: Sizes) -> float:
    """Each vector of a row is read and written for each tap; short rows and strides come number by number."""
    lane = (16 if s.dtype == "float32" else 8) if s.stride[2] == 1 else 1
    row = s.places[2]
    steps = row // lane + row % lane
    return s.flops / 2 / row * (3.0 + 0.9 * steps) * 1e-9


ALGORITHMS = (
    Algorithm("direct", "forward", "direct", any_sizes, lambda s: s.n * s.o, _seconds),
    Algorithm("direct", "by_image", "direct_by_image", any_sizes, lambda s: s.n * s.c, _seconds),
    Algorithm("direct", "by_weights", "direct_by_weights", any_sizes, lambda s: s.o * (s.c // s.groups), _seconds),
)
