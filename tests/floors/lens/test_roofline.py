"""Roofline: what is said of a kernel by its time, its bytes and its operations."""

import pytest

from jt_edu.lens.roofline import judged
from tests.floors import machines

SLOW = "it may run on one thread, do what takes longer than a plus (exp, divisions, looking up), or wait for new memory"


@pytest.mark.parametrize(
    ("ms", "moved", "flops", "sentence"),
    [
        (1.0, 8_300_000, 1_000_000, "memory-bound: at 83 % of the bandwidth"),
        (1.0, 1_000_000, 50_000_000, "compute-bound: at 50 % of the peak"),
        (
            1.0,
            100_000,
            10_000,
            "at 1 % of the bandwidth, far below it: " + SLOW,
        ),
        (0.008, 100, 100_000, "at 12 % of the peak, far below it: being called takes 12 % of its time"),
        (0.01, 400_000, 10_000, "faster than memory: at 400 % of the bandwidth, since its 400 kB fit in the cache"),
        (
            1.0,
            50_000_000,
            1_000_000,
            "memory-bound: at 500 % of the bandwidth",
        ),  # more than the cache holds: told as it is
    ],
)
def test_the_verdict(ms, moved, flops, sentence):
    told = judged({"ms": ms, "bytes": moved, "flops": flops}, machines.made(), call=0.001)

    assert told["sentence"] == sentence
    assert told["has_place"]


@pytest.mark.parametrize(
    ("ms", "moved", "flops", "words"),
    [
        (0.003, 100, 100, "too short to say, since calling any kernel takes about 1.0 µs"),
        (1.0, 2_000_000, 0, "its operations are not counted: it moves 2 GB/s"),
        (1.0, 0, 100, "its bytes are not counted"),
    ],
)
def test_what_has_no_place_is_said_and_not_drawn(ms, moved, flops, words):
    told = judged({"ms": ms, "bytes": moved, "flops": flops}, machines.made(), call=0.001)

    assert (told["sentence"], told["has_place"], told["intensity"]) == (words, False, None)
