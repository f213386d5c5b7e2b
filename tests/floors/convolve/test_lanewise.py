"""A lane for each channel: every small image, channels that fill no vector, and what is left to others."""

import dataclasses
import random

import numpy as np
import pytest

from jt_edu.backends.convolve import Sizes, beside, lanewise
from jt_edu.backends.convolve.choice import candidates
from jt_edu.backends.convolve.lanewise import ALGORITHMS
from jt_edu.backends.convolve.llvm import LANES
from tests.floors.convolve.oracle import Fenced, arrays, check, in_float64
from tests.floors.convolve.test_panels import in_python

LANEWISE = ALGORITHMS[0]
BOUND = 4e-6


def layer(c, length, taps, stride=1, padding=0, n=1, dtype="float32", step=1):
    """A square convolution of channels that keep to themselves."""
    places = (length + 2 * padding - step * (taps - 1) - 1) // stride + 1
    sides = ((1, side, side) for side in (length, taps, places))
    return Sizes("forward", n, c, c, c, *sides, (1, stride, stride), (0, padding, padding), (1, step, step), dtype)


def drawn(dice, most):
    """A random one, of up to `most` numbers in a row of the image."""
    while True:
        taps, step = dice.choice([1, 2, 3, 4, 5, 7]), dice.choice([1, 1, 2])
        length, padding = dice.randint(1, most), dice.randint(0, taps)
        channels, stride = dice.choice([16, 17, 24, 32, 45]), dice.choice([1, 1, 2, 3])
        if length + 2 * padding >= step * (taps - 1) + 1:
            dtype = dice.choice(["float32", "float64"])
            return layer(channels, length, taps, stride, padding, dice.randint(1, 2), dtype, step)


def test_two_hundred_random_convolutions_agree_with_float64():
    dice = random.Random(81)
    for number in range(200):
        check(LANEWISE, drawn(dice, 20), number, BOUND)


def test_python_runs_the_same_text():
    dice = random.Random(82)
    for number in range(5):
        check(LANEWISE, drawn(dice, 6), number, BOUND, backend="python")


@pytest.mark.parametrize("taps", [3, 5, 7])
@pytest.mark.parametrize("stride", [1, 2])
def test_images_of_every_size_are_right(taps, stride):
    for length in range(1, 31):
        check(LANEWISE, layer(40, length, taps, stride, taps // 2), length, BOUND)


def test_a_high_narrow_image_keeps_to_its_scratch():
    """The last row of places is shorter than a block; so much scratch is needed that nothing is added to it."""
    sides = (1, 240, 2), (1, 3, 3), (1, 238, 2)
    sizes = Sizes("forward", 1, 16, 16, 16, *sides, (1, 1, 1), (0, 0, 1), (1, 1, 1))

    assert LANEWISE.space(sizes) == lanewise._cells(sizes).end > lanewise.LEAST // 4
    check(LANEWISE, sizes, 0, BOUND)


@pytest.mark.parametrize("taps", [1, 3, 4, 5])
@pytest.mark.parametrize("channels", [16, 21, 32])
def test_no_block_that_is_turned_ends_beyond_its_array(taps, channels, monkeypatch):
    sizes = layer(channels, 5, taps, padding=2)
    left, right, out = arrays(sizes, 4)
    space, turn = np.zeros(LANEWISE.space(sizes), "f4"), beside.turn

    def inside(a, a_start, a_row, b, b_start, b_row, rows, columns):
        assert a_start >= 0 and a_start + (rows - 1) * a_row + columns <= a.size
        assert b_start >= 0 and b_start + (columns - 1) * b_row + rows <= b.size
        turn(a, a_start, a_row, b, b_start, b_row, rows, columns)

    monkeypatch.setattr(beside, "turn", inside)
    in_python("lanewise")(0, LANEWISE.span(sizes), left, right, out, space, space, *sizes.numbers)

    np.testing.assert_allclose(out, in_float64(sizes, left, right), rtol=0, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinite_pixel_reaches_its_windows_and_nothing_else(stride):
    sizes = layer(20, 9, 3, stride, 1)
    left, right, out = arrays(sizes, 0)
    left[0, 17, 0, 4, -1] = np.inf

    Fenced(LANEWISE, sizes, "numba")(left, right, out)

    np.testing.assert_array_equal(np.isfinite(out), np.isfinite(in_float64(sizes, left, right)))


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
