"""Im2col GEMM: which convolutions does a product of matrices compute, and how long does it take?

All of them: this is the algorithm for whatever has no better one. The windows are written out as a matrix (im2col), of
which only a panel exists at a time, so that it stays in the cache and padding, strides and dilation cost nothing more.

    forward      weights @ windows              kernels/panels.py
    by_image     weights transposed @ windows   kernels/panels_by_image.py        windows of the places, by phases
                 weights transposed @ places    kernels/panels_by_image_fold.py   and the image adds them up (fold)
    by_weights   places @ windows transposed    kernels/panels_by_weights.py

A fold needs no windows, but adds each product to the image. It wins where the image has few channels, as in the first
layer of a network: a panel would be used for a few rows only.

The largest error of a number, measured against float64 with normal random numbers and divided by the largest
result: below 2e-6 in float32, 3e-15 in float64. The sums run over DEPTH products at a time and then over these.

The times are those of one thread, fitted to measurements on a machine of 1.1e11 operations per second in float32.
What runs stands in `kernels/panels*.py` and `im2col.py`. Nothing here knows numbers.

Source: Chellapilla, Puri, Simard 2006, "High Performance Convolutional Neural Networks for Document Processing"
(windows written out as a matrix).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from jt_edu.backends.convolve import Algorithm, Sizes, any_sizes, any_view
from jt_edu.backends.convolve.im2col import (
    COLUMNS,
    FOLD_COLUMNS,
    PART,
    TURNED_DEPTH,
    Panel,
    fold_length,
    folded,
    panel_by_image,
    panel_by_weights,
    panel_of,
    phase,
)
from jt_edu.backends.convolve.llvm import LANES, by_width, lanes_for

PREPARE_ROWS = 64  # as in the kernel

MULTIPLY = by_width(1.8e-11, 3e-11)  # seconds for two operations
VECTOR, CALL = 8e-10, 1.5e-8  # for a vector moved; for a row of them begun
BYTE = 6e-11  # of what is read or written once


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _round(a: int, b: int) -> int:
    return _ceil(a, b) * b


def _taps(s: Sizes) -> int:
    return math.prod(s.kernel)


def _shared(s: Sizes) -> int:
    return s.c // s.groups


def _outs(s: Sizes) -> int:
    return s.o // s.groups


def _from_the_edge(s: Sizes) -> bool:
    """The first window begins at the edge of the image, or before it: nothing of the image is passed over."""
    return min(s.padding) >= 0


def multiplied(s: Sizes, rows: int, columns: int, depth: int) -> float:
    """Seconds that `tile` needs: rows are rounded up to two, columns to a vector; short sums take longer."""
    work = _round(rows, 2) * _round(columns, lanes_for(s.dtype)) * (depth + 6)
    return work * MULTIPLY * (LANES // lanes_for(s.dtype))


def moved(s: Sizes) -> float:
    """Seconds to read both factors and write the result, once."""
    numbers = math.prod(s.image_shape) + math.prod(s.places_shape) + math.prod(s.weights_shape)
    return numbers * BYTE * (4 if s.dtype == "float32" else 8)


def _gathered(s: Sizes, windows: int, line: int, channels: int, taps: int) -> float:
    """Seconds to write out so many windows, `line` of which lie in a row of their grid."""
    runs = windows / min(line, COLUMNS) + windows / COLUMNS
    vectors = windows / lanes_for(s.dtype) + runs / 2
    return taps * (vectors * channels * VECTOR + runs * CALL)


# -------------------------------------------------------------------------------------------------------- forward


def _span(s: Sizes) -> int:
    return s.groups * _ceil(s.n * math.prod(s.places), COLUMNS) * _ceil(_outs(s), PART)


def _space(s: Sizes) -> int:
    return panel_of(_shared(s), _taps(s), lanes_for(s.dtype)).end


def _seconds(s: Sizes) -> float:
    windows, depth = s.n * math.prod(s.places), _shared(s) * _taps(s)
    flat = _taps(s) == 1 and s.image == s.places
    line = math.prod(s.places) if flat else s.places[2]
    each = multiplied(s, _outs(s), windows, depth) + _gathered(s, windows, line, _shared(s), _taps(s))
    return s.groups * each + moved(s)


# ------------------------------------------------------------------------------------------------------- by image


def _phases(s: Sizes) -> Iterator[tuple[int, int, int]]:
    """Of each phase: how many taps, how many numbers of the image, how many of them in a line."""
    for where in product(*map(range, s.stride)):
        ways = [phase(*way) for way in zip(where, s.stride, s.padding, s.dilation, s.kernel, s.image, strict=True)]
        yield math.prod(way.taps for way in ways), math.prod(way.windows for way in ways), ways[2].windows


def _span_by_image(s: Sizes) -> int:
    panels = sum(_ceil(s.n * grid, COLUMNS) for _, grid, _ in _phases(s))
    return s.groups * panels * _ceil(_shared(s), PART)


def _space_by_image(s: Sizes) -> int:
    return panel_by_image(_outs(s), max(taps for taps, _, _ in _phases(s)), lanes_for(s.dtype)).end


def _seconds_by_image(s: Sizes) -> float:
    total = prepare_seconds(s) + moved(s)
    for taps, grid, line in _phases(s):
        windows = s.n * grid
        if windows:
            each = multiplied(s, _shared(s), windows, _outs(s) * taps)
            each += _gathered(s, windows, grid if _taps(s) == 1 and line == grid else line, _outs(s), taps)
            total += s.groups * each
            total += s.c * windows * (1 / lanes_for(s.dtype) if s.stride == (1, 1, 1) else 4) * VECTOR
    return total


def prepared(s: Sizes) -> int:
    """Numbers of the transposed weights."""
    return s.c * _taps(s) * _round(_outs(s), lanes_for(s.dtype))


def prepare_span(s: Sizes) -> int:
    """Units of work to transpose the weights."""
    return s.groups * _ceil(_shared(s) * _taps(s), PREPARE_ROWS)


def prepare_seconds(s: Sizes) -> float:
    """How long that takes."""
    return math.prod(s.weights_shape) * 4e-10


# ----------------------------------------------------------------------------------------------------------- fold


def _folded(s: Sizes) -> tuple[int, int]:
    """Channels of the image in a unit of work, and the scratch for it."""
    ways = zip(s.image, s.places, s.kernel, s.stride, s.padding, s.dilation, strict=True)
    plane = math.prod(s.stride) * math.prod(fold_length(*way) for way in ways)
    block, _, end = folded(_shared(s), _taps(s), plane, lanes_for(s.dtype))
    return block, end


def _span_fold(s: Sizes) -> int:
    return s.n * s.groups * _ceil(_shared(s), _folded(s)[0])


def _space_fold(s: Sizes) -> int:
    return _folded(s)[1]


def _seconds_fold(s: Sizes) -> float:
    sent, rows = math.prod(s.places), _shared(s) * _taps(s)
    units = _ceil(_shared(s), _folded(s)[0])
    each = units * multiplied(s, _ceil(rows, units), sent, _outs(s)) + rows * (
        sent / lanes_for(s.dtype) * 5 * VECTOR + sent / min(s.places[2], FOLD_COLUMNS) * CALL
    )
    out = math.prod(s.image_shape) * (1 / lanes_for(s.dtype) if s.stride[2] == 1 else 2) * VECTOR
    return s.n * s.groups * each + out + prepare_seconds(s) + moved(s)


# ----------------------------------------------------------------------------------------------------- by weights


def _panel_by_weights(s: Sizes) -> Panel:
    return panel_by_weights(_shared(s), _taps(s), lanes_for(s.dtype))


def _span_by_weights(s: Sizes) -> int:
    return s.groups * _ceil(_shared(s), _panel_by_weights(s).block) * _ceil(_outs(s), PART)


def _space_by_weights(s: Sizes) -> int:
    return _panel_by_weights(s).end


def _seconds_by_weights(s: Sizes) -> float:
    windows, columns = s.n * math.prod(s.places), _shared(s) * _taps(s)
    flat = _taps(s) == 1 and s.image == s.places
    line = math.prod(s.places) if flat else s.places[2]
    calls = _ceil(windows, TURNED_DEPTH)
    each = multiplied(s, _outs(s), columns, windows + 6 * calls)
    each += _gathered(s, windows, line, _shared(s), _taps(s)) + windows * columns / lanes_for(s.dtype) * 2 * VECTOR
    return s.groups * each + moved(s)


ALGORITHMS = (
    Algorithm(
        "panels", "forward", "panels", any_sizes, _span, _seconds, _space,
        apart=lambda s: COLUMNS, reads_views=any_view,
    ),
    Algorithm(
        "panels", "by_image", "panels_by_image", any_sizes, _span_by_image, _seconds_by_image, _space_by_image,
        "panels_prepare", prepared, prepare_span,
    ),
    Algorithm(
        "fold", "by_image", "panels_by_image_fold", _from_the_edge, _span_fold, _seconds_fold, _space_fold,
        "panels_prepare", prepared, prepare_span,
    ),
    Algorithm(
        "panels", "by_weights", "panels_by_weights", any_sizes, _span_by_weights, _seconds_by_weights,
        _space_by_weights, reads_views=any_view,
    ),
)  # fmt: skip
