"""Panels."""
from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm
from jt_edu.backends.convolve.tile import LANES
from jt_edu.convolution import Sizes

COLUMNS, DEPTH, PART, ROWS = 64, 1024, 12, 48


def _lane(s: Sizes) -> int:
    return LANES if s.dtype == "float32" else LANES // 2


def _space(s: Sizes) -> int:
    taps, shared = math.prod(s.kernel), s.c // s.groups
    blocks = max(1, shared * taps // DEPTH)
    pitch = COLUMNS + _lane(s)
    return -(-shared // blocks) * taps * pitch + pitch + ROWS * COLUMNS + LANES


def _span(s: Sizes) -> int:
    outs = s.o // s.groups
    return s.groups * -(-s.n * math.prod(s.places) // COLUMNS) * -(-outs // PART)


def _phases(s: Sizes):
    for z in range(s.stride[0]):
        for y in range(s.stride[1]):
            for x in range(s.stride[2]):
                taps = math.prod(sum((w + p - k * d) % t == 0 for k in range(kk)) for w, p, d, t, kk in zip((z, y, x), s.padding, s.dilation, s.stride, s.kernel))
                grid = math.prod(max(0, -(-(i - w) // t)) for w, i, t in zip((z, y, x), s.image, s.stride))
                yield taps, grid


def _span_by_image(s: Sizes) -> int:
    return sum(s.groups * -(-s.n * grid // COLUMNS) * -(-(s.c // s.groups) // PART) for taps, grid in _phases(s))


def _space_by_image(s: Sizes) -> int:
    outs, pitch = s.o // s.groups, COLUMNS + _lane(s)
    deep = max(-(-outs // max(1, outs * taps // DEPTH)) * taps for taps, grid in _phases(s))
    return deep * pitch + pitch + ROWS * COLUMNS + LANES


def _prepared(s: Sizes) -> int:
    long = -(-(s.o // s.groups) // _lane(s)) * _lane(s)
    return s.c * math.prod(s.kernel) * long


def _prepare_span(s: Sizes) -> int:
    return s.groups * -(-(s.c // s.groups * math.prod(s.kernel)) // 64)


WIDE, LONG = 256, 192


def _block(s: Sizes) -> int:
    return min(s.c // s.groups, max(1, WIDE // math.prod(s.kernel)))


def _span_by_weights(s: Sizes) -> int:
    return s.groups * -(-(s.c // s.groups) // _block(s)) * -(-(s.o // s.groups) // PART)


def _space_by_weights(s: Sizes) -> int:
    lane = _lane(s)
    wide, pitch = -(-_block(s) * math.prod(s.kernel) // lane) * lane, LONG + lane
    return wide * pitch + LONG * wide + ROWS * pitch + LANES


def _fold(s):
    taps, shared = math.prod(s.kernel), s.c // s.groups
    return min(max(1, ROWS // taps), -(-shared // 2))


def _fold_span(s):
    return s.n * s.groups * -(-(s.c // s.groups) // _fold(s))


def _fold_space(s):
    plane = math.prod(t * max(p + (k - 1) * d // t, (i - 1 + a) // t + 1) for t, p, k, d, i, a in zip(s.stride, s.places, s.kernel, s.dilation, s.image, s.padding))
    return _fold(s) * (plane + math.prod(s.kernel) * 128) + LANES


ALGORITHMS = (
    Algorithm("fold", "by_image", "panels_fold", lambda s: True, _fold_span, lambda s: s.flops / 1e11, _fold_space),
    Algorithm("panels", "forward", "panels", lambda s: True, _span, lambda s: s.flops / 1e11, _space),
    Algorithm("panels", "by_image", "panels_by_image", lambda s: True, _span_by_image, lambda s: s.flops / 1e11, _space_by_image, "panels_prepare", _prepared, _prepare_span),
    Algorithm("panels", "by_weights", "panels_by_weights", lambda s: True, _span_by_weights, lambda s: s.flops / 1e11, _space_by_weights),
)
