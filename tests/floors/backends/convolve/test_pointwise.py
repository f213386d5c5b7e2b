"""Windows of one number: small images whose last places fill no vector, and any number of them at a time."""

import pytest

from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.pointwise import ALGORITHMS
from tests.floors.backends.convolve.oracle import check

FORWARD = next(a for a in ALGORITHMS if a.kind == "forward")
BOUND = 4e-6


def layer(places, c=20, o=30, n=2, groups=1, dtype="float32"):
    """One tap over images that are a row of so many numbers."""
    ones, row = (1, 1, 1), (1, 1, places)
    return Sizes("forward", n, c, o, groups, row, ones, row, ones, (0, 0, 0), ones, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_length_of_an_image_is_right_with_exactly_the_scratch_it_asks_for(dtype):
    for places in (1, 8, 9, 16, 17, 18, 19, 20, 33, 49, 51, 97, 127, 129, 511, 513, 1030):
        check(FORWARD, layer(places, dtype=dtype), places, BOUND)


@pytest.mark.parametrize("groups", [1, 3])
def test_the_last_places_are_those_of_their_group_and_sample(groups):
    check(FORWARD, layer(49, 1100 * groups, 63 * groups, groups=groups), 1, 2 * BOUND)  # sums of 1100 terms


def test_python_runs_the_same_text():
    for places in (1, 17, 19):
        check(FORWARD, layer(places, c=3, o=5), places, BOUND, backend="python")
