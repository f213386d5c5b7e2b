"""Indirect GEMM: when is it worth reading every tap from the same rows?

Where a window has many taps and few channels, as in the first layer of a network, and where a stride keeps Winograd's
algorithm away: there `panels` spend up to half of their time on writing windows out. A strip of rows of all channels
must fit into the cache; with many channels and small images `panels` are as fast, because each number that they write
is read by many rows of the weights.

    numbers written for each place and channel      panels: taps      shifted: kd * sh * sw, and some at the edges

Errors: as for `panels`; each sum runs over all products. There is no gradient: both are left to `panels`. What runs
stands in `kernels/shifted.py` and `indirect_layout.py`. Nothing here knows numbers.

Source: Dukhan 2019, "The Indirect Convolution Algorithm" (arXiv:1907.02129), whose table has a pointer for each window
and tap; here all windows of a strip share the shift of a tap.
"""

from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm, Sizes, any_view, strips_apart
from jt_edu.backends.convolve.im2col_gemm import CALL, VECTOR, moved, multiplied
from jt_edu.backends.convolve.indirect_layout import PART, ROOM, Shifts, fits_rows, shifts_of
from jt_edu.backends.convolve.llvm import lanes_for

MOST = 2 * ROOM  # numbers of a strip of one row
COPY = 2e-9  # seconds for a vector of an image that is copied
PRODUCTS, LONGER = 0.9, 1 / 6000  # of the time that they take with `panels`, and more for each number that a sum has


def _depth(s: Sizes) -> int:
    return s.c // s.groups * math.prod(s.kernel)


def _layout(s: Sizes) -> Shifts:
    return shifts_of(s.c // s.groups, s.kernel, s.stride, s.dilation, s.places[1:], lanes_for(s.dtype))


def _suits(s: Sizes) -> bool:
    return math.prod(s.kernel) > 1 and _layout(s).table <= MOST


def _strips(s: Sizes) -> int:
    return s.n * s.groups * s.places[0] * -(-s.places[1] // _layout(s).high)


def _apart(s: Sizes) -> int:
    return strips_apart(s, _layout(s).high)


def _span(s: Sizes) -> int:
    return _strips(s) * -(-(s.o // s.groups) // PART)


def _space(s: Sizes) -> int:
    return _layout(s).end


def _seconds(s: Sizes) -> float:
    layout, lane, outs, depth = _layout(s), lanes_for(s.dtype), s.o // s.groups, _depth(s)
    rows, columns = s.n * s.groups * s.places[0] * s.places[1], s.places[2]
    seconds = moved(s) / 2 + _strips(s) * (layout.table // lane * COPY + layout.table / layout.block * CALL)
    each = PRODUCTS + depth * LONGER  # rows of b lie far from each other, and no machine guesses which is the next
    if fits_rows(columns, layout.pitch, depth, lane):
        return seconds + each * rows * multiplied(s, outs, columns, depth)
    back = rows * outs * (columns / lane * VECTOR + CALL / 3)
    return seconds + each * multiplied(s, outs, rows * layout.pitch, depth) + back


ALGORITHMS = (
    Algorithm(
        "shifted", "forward", "shifted", _suits, _span, _seconds, _space, apart=_apart, reads_views=any_view,
    ),
)  # fmt: skip
