"""16.1: a band of frequencies, as a gain for each bin of rfft."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.signals.probes import on_vars
from jt_exercises.verdict import ask, part

BANDS = ((45, 90, 11, 30.5), (64, 16, 1, 3), (64, 16, 0, 8), (1, 16, 0, 3))  # n, rate, low, high; those of 64 meet bins
SIZES = 9, 12, 7, 1
PLACES = "`irfft` cannot see whether there were n numbers or one less, for both have as many bins: tell it n"


@exercise(
    "16.1",
    "a band",
    points=2,
    seconds=60,  # kernels are compiled the first time
    hints=(
        "Bin k is a wave that goes round k times in all n numbers, which take n / rate seconds.",
        "`frequency = np.arange(n // 2 + 1) * rate / n`, and then two comparisons.",
        "`jt.fft.irfft(..., n)`, where n is the length of x.",
    ),
    why="Equalisers, the removal of hum, and the compression of sound and pictures are a gain for each frequency.",
)
def band(gains: Callable[..., Any], filtered: Callable[..., Any]) -> str:
    """Compare gains with those of the formula, and the filter with one of NumPy."""
    with part("gains"):
        for n, rate, low, high in BANDS:
            right, told = _band(np.arange(n // 2 + 1) * rate / n, low, high), f"for {n} numbers, {rate} a second"
            found = ask(gains, n, rate, low, high, name="gains")
            found = found + 0.0 if isinstance(found, np.ndarray) and found.dtype == bool else found
            same(found, right, f"{told}, from {low} to {high}", _mistakes(n, rate, low, high))
    with part("filtered"):
        for n in SIZES:
            x, gain = random(n).normal(size=n), random(n, 1).random(n // 2 + 1)
            spectrum = np.fft.rfft(x)
            known = [
                (np.fft.irfft(spectrum * gain, max(2 * (n // 2), 1)), PLACES),
                (np.fft.irfft(abs(spectrum) * gain, n), "the waves are there, but all begin at once: keep their phase"),
                (x, "nothing is filtered: multiply the spectrum by the gains"),
            ]
            found = ask(filtered, x, gain, case=f"{n} numbers", name="filtered", through=on_vars)
            same(found, np.fft.irfft(spectrum * gain, n), f"of {n} numbers", known, 1e-6)
    return "for even and odd lengths, and for a single number"


def _band(frequency: np.ndarray, low: float, high: float) -> np.ndarray:
    return ((low <= frequency) & (frequency <= high)).astype(float)


def _mistakes(n: int, rate: float, low: float, high: float) -> Iterator[tuple[np.ndarray, str]]:
    k = np.arange(n // 2 + 1)
    f = k * rate / n
    yield _band(np.arange(n) * rate / n, low, high), "these are bins of `fft`. `rfft` keeps n // 2 + 1 of them"
    yield _band(f[:-1], low, high), "a bin is missing: there are n // 2 + 1, for there is one of frequency 0"
    yield _band(k, low, high), "these are numbers of bins. How many waves a second is bin k?"
    yield _band(np.linspace(0, rate / 2, n // 2 + 1), low, high), "of an odd number, the last bin is not at rate / 2"
    yield 1 - _band(f, low, high), "this keeps what is outside of the band"
    for above, below, words in (
        (low < f, f < high, "`low` and `high` themselves belong to the band"),
        (low <= f, f < high, "the bin at exactly `high` belongs to the band, too: at most `high`"),
        (low < f, f <= high, "the bin at exactly `low` belongs to the band, too: at least `low`"),
    ):
        yield (above & below).astype(float), words
