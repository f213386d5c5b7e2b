"""Remainder: which places of a small image are computed one by one, and where do their sums lie?

An image of 7 x 7 has 49 places: three vectors of 16, and one place more, for which a fourth vector would have to be
multiplied. Instead the channels at the places left over are written one behind the other, and each sum is that of a
vector of channels with a row of weights (`dots`):

    space   | channels of place 48 |   ..   | sums of ROWS rows there |
                                            sums                      end

Nothing here knows arrays.
"""

from __future__ import annotations

from jt_edu.backends.convolve.llvm import inlined

ROWS = 48  # rows of out that are finished at a time: they are still in the cache
FEW = 3  # places left over
SMALL = 128  # places of so small an image, that this is worth it


@inlined
def left_over(places: int, lane: int) -> int:
    """How many of the last places are computed one by one.

    Example:
        >>> left_over(49, 16), left_over(48, 16), left_over(56, 16)
        (1, 0, 0)
    """
    last = places % lane
    return last if last <= FEW and lane < places < SMALL else 0


@inlined
def sums_behind(left: int, channels: int) -> tuple[int, int]:
    """Where in scratch the sums of the places left over begin, and where they end."""
    sums = left * channels
    return sums, sums + left * ROWS
