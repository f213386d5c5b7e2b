"""Plans: what a length costs, counted; butterflies that are the transform; roots to the last digit."""

import math

import numpy as np
import pytest

from jt_edu import fft
from jt_edu.fft.roots import roots


def test_a_large_prime_costs_what_n_log_n_does():
    for n in (1009, 10_007, 100_003, 1_000_003):
        assert fft.plan(n).products < 14 * n * math.log2(n)
    assert fft.plan(1009).products < 6 * fft.plan(1024).products  # three of twice the length, not 1009 times one


@pytest.mark.parametrize("n", [*range(1, 40), 1009, 1024, 2310, 2**20])
def test_the_radices_of_a_plan_are_factors_that_the_kernel_knows(n):
    for batch in (1, 100):
        found = fft.plan(n, batch)
        while found.padded is not None:
            assert found.padded.n >= 2 * found.n - 1
            found = found.padded
        radices = (*found.columns, *found.rows)
        assert math.prod(radices) == found.n
        assert set(radices) <= {2, 3, 4, 5, 7, 8, 11, 13}


@pytest.mark.parametrize("radices", [(2, 2, 2), (8,), (4, 2), (2, 4), (3, 5), (5, 3, 2), (7,), (13, 2), ()])
def test_butterflies_one_after_the_other_are_the_transform(rng, radices):
    n = math.prod(radices)
    x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    found, y = fft.plan(n, radices=radices), x

    for stage in found.butterflies():
        after = np.zeros(n, complex)
        for i, j, w in stage:
            after[j] += w * y[i]
        y = after

    np.testing.assert_allclose(y, np.fft.fft(x), atol=1e-12)
    np.testing.assert_allclose(found.apply(x), np.fft.fft(x), atol=1e-12)


def test_a_stage_of_radix_two_has_two_wings_for_each_number():
    for stage in fft.plan(8, radices=(2, 2, 2)).butterflies():
        assert sorted(i for i, _, _ in stage) == sorted(j for _, j, _ in stage) == sorted([*range(8)] * 2)


def test_a_plan_is_told_in_words():
    assert repr(fft.plan(8)) == "8: stages of 8"
    assert repr(fft.plan(1)) == "1: nothing to do"
    assert repr(fft.plan(17)) == "17: a convolution with a chirp, by 48: stages of 4, 4, 3"
    assert repr(fft.plan(512)) == "512 = 16 x 32: columns in stages of 4, 4; twiddles; rows in stages of 8, 4"
    assert repr(fft.plan(512, batch=16)) == "512: stages of 8, 8, 8"


@pytest.mark.parametrize("n", [1, 3, 8, 12, 1000, 1009])
def test_roots_are_right_to_the_last_digit_and_symmetric(n):
    mpmath = pytest.importorskip("mpmath")
    found = roots(n, np.arange(n))

    for k in range(0, n, max(1, n // 50)):
        with mpmath.workdps(40):
            exact = complex(mpmath.expjpi(-2 * mpmath.mpf(k) / n))
        assert abs(found[k] - exact) <= 1.6e-16  # half a unit of each part
    assert (found[1:] == found[:0:-1].conj()).all()
