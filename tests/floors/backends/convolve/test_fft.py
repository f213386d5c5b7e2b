"""Convolutions as products of waves: large windows, every size of image, and our own transform against NumPy's."""

import dataclasses
import random

import numpy as np
import pytest

from jt_edu import backends
from jt_edu.backends.convolve import Sizes, direct, im2col_gemm, no_sum_is_empty
from jt_edu.backends.convolve.fft import ALGORITHMS
from jt_edu.backends.convolve.fft_transform import backward, column_of, forward, mirror, size_for, write_waves
from jt_edu.backends.convolve.gemm_microkernel import LANES
from jt_edu.backends.convolve.standalone import Alone, shapes_of
from tests.floors.backends.convolve.oracle import check

KINDS = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.kind)


def large(kind, dice):
    """A random convolution with a large window."""
    while True:
        most, longest = (33, 70) if dice.random() < 0.2 else (12, 30)
        kernel = [dice.randint(1, most) for _ in range(2)]
        image = [dice.randint(1, longest) for _ in range(2)]
        padding, behind = ([dice.randint(0, k) for k in kernel] for _ in range(2))
        places = [i + p + b - k + 1 for i, p, b, k in zip(image, padding, behind, kernel, strict=True)]
        groups = dice.choice([1, 1, 2, 5])
        c, o = groups * dice.choice([1, 3, 8]), groups * dice.choice([1, 2, 20])
        sides, ones = ((1, *side) for side in (image, kernel, places)), (1, 1, 1)
        sizes = Sizes(kind, dice.randint(1, 2), c, o, groups, *sides, ones, (0, *padding), ones)
        if min(places) > 0 and ALGORITHMS[0].suits(sizes) and no_sum_is_empty(sizes):
            return dataclasses.replace(sizes, dtype=dice.choice(["float32", "float64"]))


@KINDS
def test_two_hundred_random_convolutions_agree_with_float64(algorithm):
    dice = random.Random(65)

    for seed in range(200):
        sizes = large(algorithm.kind, dice)
        check(algorithm, sizes, seed, bound=4e-6 if sizes.dtype == "float32" else 3e-5)


@KINDS
@pytest.mark.parametrize("number", [1e6, -1e30, np.inf, np.nan])
def test_a_number_that_is_far_larger_than_others_stays_in_the_windows_that_see_it(algorithm, number):
    dice, other = random.Random(67), next(a for a in direct.ALGORITHMS if a.kind == algorithm.kind)
    for seed in range(25):
        sizes, rng = large(algorithm.kind, dice), np.random.default_rng(seed)
        pixels, taps, out = shapes_of(sizes)
        given = [rng.standard_normal(pixels).astype(sizes.dtype), rng.standard_normal(taps).astype(sizes.dtype)]
        where = tuple(int(rng.integers(0, length)) for length in pixels)
        mark = np.zeros_like(given[0])
        mark[where] = 1
        exact, seen, found = (np.full(out, 7, sizes.dtype) for _ in range(3))

        Alone(other, sizes, backends.get("numba"))(*given, exact)
        Alone(other, sizes, backends.get("numba"))(mark, np.ones_like(given[1]), seen)
        given[0][where] = number
        Alone(algorithm, sizes, backends.get("numba"))(*given, found)

        limit = 100 * np.finfo(sizes.dtype).eps * np.abs(exact).max()
        assert np.abs(found - exact)[seen == 0].max(initial=0) <= limit, sizes
        assert np.isfinite(found[seen != 0]).all() == np.isfinite(number) or not seen.any()


@KINDS
def test_python_runs_the_same_text(algorithm):
    sizes = Sizes(algorithm.kind, 1, 2, 1, 1, (1, 5, 3), (1, 4, 3), (1, 4, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1))

    check(algorithm, sizes, 0, bound=4e-6, backend="python")


@pytest.mark.parametrize("size", [16, 32, 64])
def test_each_lane_is_transformed_as_numpy_does_it(size):
    step, numbers = 2 * LANES, np.random.default_rng(0).standard_normal((size, 2, LANES))
    start = size * LANES  # the waves are before it
    z = np.zeros(start + size * step, np.float32)
    assert write_waves(z, 0, size) == start
    z[start:] = numbers.reshape(-1)

    forward(z, start, step, size, 0)

    waves = np.fft.fft(numbers[:, 0] + 1j * numbers[:, 1], axis=0)
    bits = size.bit_length() - 1
    found = z[start:].reshape(size, 2, LANES)
    for j in range(size):
        k = int(f"{j:0{bits}b}"[::-1], 2)
        np.testing.assert_allclose(found[j, 0] + 1j * found[j, 1], waves[k], atol=1e-5 * size)
    backward(z, start, step, size, 0)
    np.testing.assert_allclose(z[start:].reshape(numbers.shape) / size, numbers, atol=1e-5)


@pytest.mark.parametrize("size", [16, 32, 64])
def test_half_of_the_columns_and_their_mirrors_are_all_of_them(size):
    half = [column_of(q) for q in range(size // 2 + 1)]

    assert sorted({*half, *map(mirror, half)}) == list(range(size))


@pytest.mark.parametrize(("taps", "size"), [(2, 16), (9, 16), (10, 32), (17, 32), (18, 64), (40, 64)])
def test_a_tile_is_mostly_places(taps, size):
    assert size_for(taps) == size


def test_strides_and_dilations_are_left_to_others():
    sizes = large("forward", random.Random(66))

    assert not ALGORITHMS[0].suits(dataclasses.replace(sizes, stride=(1, 2, 2)))
    assert not ALGORITHMS[0].suits(dataclasses.replace(sizes, dilation=(1, 2, 2)))


def test_a_large_window_is_thought_cheaper_by_waves_and_a_small_one_of_few_channels_by_panels():
    def cheaper(taps, channels):
        sides, half = ((1, 64, 64), (1, taps, taps), (1, 64, 64)), (0, taps // 2, taps // 2)
        sizes = Sizes("forward", 1, channels, channels, 1, *sides, (1, 1, 1), half, (1, 1, 1))
        return ALGORITHMS[0].seconds(sizes) < im2col_gemm.ALGORITHMS[0].seconds(sizes)

    assert cheaper(31, 64)
    assert not cheaper(5, 8)
