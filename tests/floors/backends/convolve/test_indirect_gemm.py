"""Taps that read the same rows: every window and stride, strips that end early, and views that are read in place."""

import dataclasses
import random
from itertools import pairwise

import numpy as np
import pytest

from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.indirect_gemm import ALGORITHMS
from jt_edu.backends.convolve.indirect_layout import fits_rows, shifts_of
from tests.floors.backends.convolve.oracle import Fenced, arrays, check, in_float64, some
from tests.floors.backends.convolve.test_im2col_gemm import drawn, given, in_python

SHIFTED = ALGORITHMS[0]
BOUND = 4e-6
LANE = 16


def layer(c, length, o, taps, stride, padding=0, n=1, groups=1, dtype="float32", step=1):
    """A square convolution of two directions."""
    places = (length + 2 * padding - step * (taps - 1) - 1) // stride + 1
    sides = ((1, side, side) for side in (length, taps, places))
    ways = ((1, stride, stride), (0, padding, padding), (1, step, step))
    return Sizes("forward", n, c, o, groups, *sides, *ways, dtype)


def suited(dice, count, **limits):
    """So many random convolutions that suit it."""
    drawn = (some("forward", dice, **limits) for _ in range(100 * count))
    found = [sizes for sizes in drawn if SHIFTED.suits(sizes)]
    return found[:count]


def test_two_hundred_random_convolutions_agree_with_float64():
    for number, sizes in enumerate(suited(random.Random(71), 200)):
        check(SHIFTED, sizes, number, BOUND)


def test_python_runs_the_same_text():
    for number, sizes in enumerate(suited(random.Random(72), 8, small=True)):
        check(SHIFTED, sizes, number, BOUND, backend="python")


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("taps", [2, 3, 7, 11])
def test_first_layers_of_networks_are_right_at_every_stride(taps, stride):
    for length, padding in [(11, 0), (33, 2), (64, taps // 2)]:
        check(SHIFTED, layer(3, length, 13, taps, stride, padding, n=2), length, BOUND)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_windows_with_holes_and_of_groups_are_right(dtype):
    for step, groups in [(2, 1), (3, 3), (2, 5)]:
        sizes = layer(15, 40, 30, 3, 2, 3, n=2, groups=groups, dtype=dtype, step=step)
        check(SHIFTED, sizes, step, BOUND)


def test_an_image_of_many_strips_is_right():
    sizes = layer(48, 90, 7, 3, 2, 1)
    layout = shifts_of(48, sizes.kernel, sizes.stride, sizes.dilation, sizes.places[1:], LANE)

    assert layout.high < sizes.places[1] / 3
    check(SHIFTED, sizes, 0, BOUND)


@pytest.mark.parametrize(("length", "direct"), [(64, True), (34, False)])
def test_rows_of_sums_are_written_in_place_or_handed_out(length, direct):
    sizes = layer(3, length, 20, 3, 1, 1, n=3)

    assert fits_rows(length, length + 2, 27, LANE) == direct
    check(SHIFTED, sizes, length, BOUND)


@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinite_pixel_reaches_its_windows_and_nothing_else(stride):
    sizes = layer(3, 20, 5, 3, stride, 1)
    left, right, out = arrays(sizes, 0)
    left[0, 1, 0, 5, -1] = np.inf  # the last of its row: the next row begins beside it

    Fenced(SHIFTED, sizes, "numba")(left, right, out)

    np.testing.assert_array_equal(np.isfinite(out), np.isfinite(in_float64(sizes, left, right)))


@pytest.mark.parametrize("order", [(0, 4, 1, 2, 3), (1, 0, 2, 3, 4), (0, 1, 2, 4, 3)])
def test_a_view_is_read_where_it_lies(order):
    sizes = layer(4, 30, 9, 5, 2, 2, n=3)
    left, right, out = arrays(sizes, 1)
    lies = np.argsort(order)
    view = np.ascontiguousarray(left.transpose(order)).transpose(lies)[..., ::-1]
    kernel = in_python("shifted")
    space = np.full(SHIFTED.space(sizes), np.nan, "f4")

    kernel(0, SHIFTED.span(sizes), view, right, out, space, space, *sizes.numbers)

    np.testing.assert_allclose(out, in_float64(sizes, np.ascontiguousarray(view), right), rtol=0, atol=1e-4)


def planes_of_three_strips():
    """Two planes of 40 rows of places, in strips of 14, 14 and 12."""
    image, kernel, places = (3, 41, 61), (2, 2, 2), (2, 40, 60)
    return Sizes("forward", 1, 1, 2, 1, image, kernel, places, (1, 1, 1), (0, 0, 0), (1, 1, 1))


def some_that_suit(rng, count):
    """Random ones, as `test_panels` draws them."""
    found = []
    while len(found) < count:
        sizes = drawn(rng, "forward", most=(8, 12))
        found += [sizes] if SHIFTED.suits(sizes) else []
    return found


def test_each_sum_is_finished_once_when_it_is_final_in_chunks_as_long_as_promised():
    rng = np.random.default_rng(73)
    for sizes in [planes_of_three_strips(), *some_that_suit(rng, 8)]:
        factors, space = given(sizes, rng), np.zeros(SHIFTED.space(sizes), "f4")
        final, finished, begins = np.empty(sizes.places_shape, "f4"), np.zeros(sizes.places_shape, int), {}
        in_python("shifted")(0, SHIFTED.span(sizes), *factors, final, space, space, *sizes.numbers)

        def finish(n, o, begin, end, out, final=final, finished=finished, begins=begins):
            seen, wanted, times = (a.reshape(*a.shape[:2], -1)[n, o, begin:end] for a in (out, final, finished))
            np.testing.assert_array_equal(seen, wanted)
            times += 1
            begins.setdefault((n, o), []).append(begin)

        units = SHIFTED.span(sizes)
        for lo, hi in pairwise((0, units // 3, units // 2, units)):
            in_python("shifted", finish)(lo, hi, *factors, np.empty_like(final), space, space, *sizes.numbers)

        np.testing.assert_array_equal(finished, 1)
        lengths = [b - a for places in begins.values() for a, b in pairwise(sorted(places))]
        assert min(lengths, default=np.inf) >= SHIFTED.apart(sizes), sizes


def test_one_tap_and_strips_beyond_the_cache_are_left_to_others():
    assert SHIFTED.suits(layer(3, 224, 64, 7, 2, 3))
    assert not SHIFTED.suits(layer(3, 20, 64, 1, 1))
    assert not SHIFTED.suits(layer(2048, 28, 64, 3, 1, 1))


def test_twice_the_images_are_thought_to_take_twice_as_long():
    one = layer(3, 60, 16, 5, 2, 2)

    ratio = SHIFTED.seconds(dataclasses.replace(one, n=2)) / SHIFTED.seconds(one)

    assert 1.5 < ratio < 2.01
