"""Convolutions whose channels keep to themselves: every window, stride 1 and 2, with the scratch they asked for."""

import dataclasses
import random

import numpy as np
import pytest

from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.depthwise import ALGORITHMS
from tests.floors.backends.convolve.oracle import Fenced, arrays, check, in_float64, some

KINDS = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.kind)
BOUND = 4e-6


def window(kind, length, taps, stride, c=3, n=2, dtype="float32"):
    """A square window with half of it beyond each edge, as networks have it."""
    places = (length + 2 * (taps // 2) - taps) // stride + 1
    sides = ((1, side, side) for side in (length, taps, places))
    ones = ((1, stride, stride), (0, taps // 2, taps // 2), (1, 1, 1))
    return Sizes(kind, n, c, c, c, *sides, *ones, dtype)


@KINDS
def test_two_hundred_random_convolutions_agree_with_float64(algorithm):
    dice, done = random.Random(63), 0

    while done < 200:
        sizes = some(algorithm.kind, dice)
        if algorithm.suits(sizes):
            check(algorithm, sizes, done, BOUND)
            done += 1


@KINDS
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("taps", [3, 5, 7])
def test_the_windows_of_mobile_networks_are_right_at_every_size_of_their_images(algorithm, taps, stride):
    for length in (1, 2, 7, 14, 15, 16, 17, 33, 56, 112):
        check(algorithm, window(algorithm.kind, length, taps, stride), length, BOUND)


@KINDS
def test_python_runs_the_same_text(algorithm):
    dice, done = random.Random(64), 0

    while done < 5:
        sizes = some(algorithm.kind, dice, small=True)
        if algorithm.suits(sizes):
            check(algorithm, sizes, done, BOUND, backend="python")
            done += 1


@pytest.mark.parametrize("algorithm", ALGORITHMS[:2], ids=lambda a: a.kind)
@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinite_pixel_reaches_its_window_and_nothing_else(algorithm, stride):
    sizes = window(algorithm.kind, 20, 3, stride)
    left, right, out = arrays(sizes, 0)
    left[0, 1, 0, 0, -1] = np.inf

    Fenced(algorithm, sizes, "numba")(left, right, out)

    np.testing.assert_array_equal(np.isfinite(out), np.isfinite(in_float64(sizes, left, right)))


def test_an_infinite_pixel_reaches_only_the_weights_that_met_it():
    sizes = dataclasses.replace(window("by_weights", 20, 3, 1), padding=(0, 0, 0), places=(1, 18, 18))
    left, right, out = arrays(sizes, 0)
    left[0, 1, 0, 5, -1] = np.inf  # only the taps of the last column see it

    Fenced(ALGORITHMS[2], sizes, "numba")(left, right, out)

    np.testing.assert_array_equal(np.isfinite(out), np.isfinite(in_float64(sizes, left, right)))


def test_strides_that_differ_and_large_groups_are_left_to_others():
    sizes = window("forward", 14, 3, 1)

    assert ALGORITHMS[0].suits(sizes)
    assert not ALGORITHMS[0].suits(dataclasses.replace(sizes, stride=(1, 1, 2)))
    assert not ALGORITHMS[0].suits(dataclasses.replace(sizes, stride=(1, 3, 3)))
    assert not ALGORITHMS[0].suits(dataclasses.replace(sizes, c=8, o=8, groups=2))


def test_a_row_alone_may_have_any_stride():
    sizes = Sizes("forward", 1, 4, 4, 4, (1, 1, 30), (1, 1, 5), (1, 1, 15), (1, 1, 2), (0, 0, 2), (1, 1, 1))

    for algorithm in ALGORITHMS:
        check(algorithm, dataclasses.replace(sizes, kind=algorithm.kind), 0, BOUND)


@pytest.mark.parametrize("algorithm", ALGORITHMS[:2], ids=lambda a: a.kind)
@pytest.mark.parametrize(
    ("taps", "stride", "side"), [(3, 1, 3), (5, 1, 5), (7, 1, 7), (7, 2, {"forward": 7, "by_image": 0}), (4, 1, 0)]
)
def test_a_kernel_holds_the_window_that_it_was_compiled_for_and_no_other(algorithm, taps, stride, side):
    text = algorithm.text(window(algorithm.kind, 20, taps, stride))

    assert f"\nSIDE = {side if isinstance(side, int) else side[algorithm.kind]}  #" in text


def test_a_constant_that_no_line_sets_is_a_mistake():
    wrong = dataclasses.replace(ALGORITHMS[0], constants=lambda sizes: (("SIZE", sizes.kernel[2]),))

    with pytest.raises(AssertionError, match="depthwise has one line that begins with SIZE = 0"):
        wrong.text(window("forward", 20, 3, 1))
