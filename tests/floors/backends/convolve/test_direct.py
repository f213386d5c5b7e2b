"""The definition of a convolution, computed as it is defined, is right for every shape."""

import random

import pytest

from jt_edu.backends.convolve.direct import ALGORITHMS
from tests.floors.backends.convolve.oracle import check, some

KINDS = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.kind)


@KINDS
def test_two_hundred_random_convolutions_agree_with_float64(algorithm):
    dice = random.Random(61)

    for seed in range(200):
        check(algorithm, some(algorithm.kind, dice), seed, bound=4e-6)


@KINDS
def test_python_runs_the_same_text(algorithm):
    dice = random.Random(62)

    for seed in range(8):
        check(algorithm, some(algorithm.kind, dice, small=True), seed, bound=4e-6, backend="python")
