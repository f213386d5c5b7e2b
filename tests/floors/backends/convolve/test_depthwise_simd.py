"""A lane for each channel: every small image, channels that fill no vector, and what is left to others."""

import dataclasses
import random

import numpy as np
import pytest

from jt_edu.backends.convolve import Sizes, channel_lanes, depthwise_simd
from jt_edu.backends.convolve.depthwise_simd import ALGORITHMS
from jt_edu.backends.convolve.llvm import LANES
from jt_edu.backends.convolve.selection import candidates
from tests.floors.backends.convolve.oracle import Fenced, arrays, check, in_float64
from tests.floors.backends.convolve.test_im2col_gemm import in_python

LANEWISE, BY_IMAGE, BY_WEIGHTS = ALGORITHMS
BOUND = 4e-6


def layer(c, length, taps, stride=1, padding=0, n=1, dtype="float32", step=1, kind="forward"):
    """A square convolution of channels that keep to themselves."""
    places = (length + 2 * padding - step * (taps - 1) - 1) // stride + 1
    sides = ((1, side, side) for side in (length, taps, places))
    return Sizes(kind, n, c, c, c, *sides, (1, stride, stride), (0, padding, padding), (1, step, step), dtype)


def drawn(dice, most, kind="forward"):
    """A random one, of up to `most` numbers in a row of the image."""
    while True:
        taps, step = dice.choice([1, 2, 3, 4, 5, 6, 7]), dice.choice([1, 1, 2])
        length, padding = dice.randint(1, most), dice.randint(0, taps if kind != "by_image" else (taps - 1) * step)
        channels, stride = dice.choice([16, 17, 24, 32, 45]), dice.choice([1, 1, 2, 3])
        if length + 2 * padding >= step * (taps - 1) + 1:
            dtype = dice.choice(["float32", "float64"])
            return layer(channels, length, taps, stride, padding, dice.randint(1, 2), dtype, step, kind)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.kind)
def test_two_hundred_random_convolutions_agree_with_float64(algorithm):
    dice = random.Random(81)
    for number in range(200):
        check(algorithm, drawn(dice, 20, algorithm.kind), number, BOUND)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.kind)
def test_python_runs_the_same_text(algorithm):
    dice = random.Random(82)
    for number in range(5):
        check(algorithm, drawn(dice, 6, algorithm.kind), number, BOUND, backend="python")


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.kind)
@pytest.mark.parametrize("taps", [3, 5, 7])
@pytest.mark.parametrize("stride", [1, 2])
def test_images_of_every_size_are_right(algorithm, taps, stride):
    for length in range(1, 31):
        sizes = layer(40, length, taps, stride, taps // 2, kind=algorithm.kind)
        assert algorithm.suits(sizes)
        check(algorithm, sizes, length, BOUND)


def test_a_high_narrow_image_keeps_to_its_scratch():
    """The last row of places is shorter than a block; so much scratch is needed that nothing is added to it."""
    sides = (1, 240, 2), (1, 3, 3), (1, 238, 2)
    sizes = Sizes("forward", 1, 16, 16, 16, *sides, (1, 1, 1), (0, 0, 1), (1, 1, 1))

    assert LANEWISE.space(sizes) == depthwise_simd._cells(sizes).end > depthwise_simd.LEAST // 4
    check(LANEWISE, sizes, 0, BOUND)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.kind)
@pytest.mark.parametrize("taps", [1, 3, 4, 5])
@pytest.mark.parametrize("channels", [16, 21, 32])
def test_no_block_that_is_turned_ends_beyond_its_array(algorithm, taps, channels, monkeypatch):
    sizes = layer(channels, 5, taps, padding=taps // 2, n=2, kind=algorithm.kind)
    left, right, out = arrays(sizes, 4)
    space, turn = np.zeros(algorithm.space(sizes), "f4"), channel_lanes.turn

    def inside(a, a_start, a_row, b, b_start, b_row, rows, columns):
        assert a_start >= 0 and a_start + (rows - 1) * a_row + columns <= a.size
        assert b_start >= 0 and b_start + (columns - 1) * b_row + rows <= b.size
        turn(a, a_start, a_row, b, b_start, b_row, rows, columns)

    monkeypatch.setattr(channel_lanes, "turn", inside)
    in_python(algorithm.kernel)(0, algorithm.span(sizes), left, right, out, space, space, *sizes.numbers)

    np.testing.assert_allclose(out, in_float64(sizes, left, right), rtol=0, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinite_pixel_reaches_its_windows_and_nothing_else(stride):
    sizes = layer(20, 9, 3, stride, 1)
    left, right, out = arrays(sizes, 0)
    left[0, 17, 0, 4, -1] = np.inf

    Fenced(LANEWISE, sizes, "numba")(left, right, out)

    np.testing.assert_array_equal(np.isfinite(out), np.isfinite(in_float64(sizes, left, right)))


@pytest.mark.parametrize("algorithm", [BY_IMAGE, BY_WEIGHTS], ids=lambda a: a.kind)
@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinite_number_reaches_the_gradients_that_see_it_and_no_others(algorithm, stride):
    sizes = layer(20, 9, 3, stride, 1, n=2, kind=algorithm.kind)
    left, right, out = arrays(sizes, 0)
    left[1, 17, 0, 2, 2] = np.inf  # a place, or a pixel, that is away from the border

    Fenced(algorithm, sizes, "numba")(left, right, out)

    np.testing.assert_array_equal(np.isfinite(out), np.isfinite(in_float64(sizes, left, right)))


def test_many_samples_are_added_up_one_by_one():
    """A single sum over all of them would be off by 6e-6."""
    sizes = layer(16, 14, 3, padding=1, n=300, kind="by_weights")
    left, right, out = arrays(sizes, 1)
    left, right = abs(left), abs(right)  # each product has one sign: errors grow with the sum

    Fenced(BY_WEIGHTS, sizes, "numba")(left, right, out)

    truth = in_float64(sizes, left, right)
    assert abs(out / truth - 1).max() < 2e-6


def test_a_window_that_begins_before_its_zeros_is_left_to_others_by_the_image():
    assert BY_IMAGE.suits(layer(32, 9, 3, padding=2, kind="by_image"))
    assert not BY_IMAGE.suits(layer(32, 9, 3, padding=3, kind="by_image"))


def test_each_channel_is_finished_once_when_all_of_it_is_there():
    sizes = layer(21, 5, 3, padding=1, n=2)
    left, right, out = arrays(sizes, 3)
    space, finished = np.zeros(LANEWISE.space(sizes), "f4"), []

    def finish(n, o, begin, end, out):
        np.testing.assert_allclose(out[n, o], in_float64(sizes, left, right)[n, o], rtol=0, atol=1e-5)
        finished.append((n, o, begin, end))

    in_python("lanewise", finish)(0, LANEWISE.span(sizes), left, right, out, space, space, *sizes.numbers)

    assert finished == [(n, o, 0, 25) for n in range(2) for o in range(21)]
    assert LANEWISE.apart(sizes) == 25


def test_few_channels_groups_and_large_images_are_left_to_others():
    sizes = layer(32, 14, 5, padding=2)

    assert LANEWISE.suits(sizes)
    assert not LANEWISE.suits(layer(LANES // 2, 14, 5, padding=2))
    assert not LANEWISE.suits(layer(32, 112, 5, padding=2))
    assert not LANEWISE.suits(dataclasses.replace(sizes, o=64))
    assert not LANEWISE.suits(dataclasses.replace(sizes, c=64))


def test_the_cost_models_give_small_images_lanes_and_large_ones_rows():
    small = candidates(layer(768, 7, 7, padding=3))[0]
    large = candidates(layer(96, 56, 3, padding=1))[0]

    assert (small.name, large.name) == ("lanewise", "depthwise")


@pytest.mark.parametrize("kind", ["by_image", "by_weights"])
@pytest.mark.parametrize(("c", "length", "stride"), [(1152, 7, 1), (232, 14, 2), (192, 28, 2)])
def test_the_cost_models_give_gradients_of_small_images_lanes(kind, c, length, stride):
    assert candidates(layer(c, length, 3, stride, 1, n=8, kind=kind))[0].name == "lanewise"
    assert candidates(layer(96, 112, 3, 1, 1, n=8, kind=kind))[0].name != "lanewise"
