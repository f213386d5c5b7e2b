"""16.2: the transform of a signal from those of its even and odd places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.signals.probes import transformed
from jt_exercises.verdict import ask, part

HALVES, WHOLE = (4, 3, 1), (16, 2, 1)  # lengths


@exercise(
    "16.2",
    "the butterfly",
    points=2,
    hints=(
        "`k = np.arange(len(even))`, and n is twice as long. `np.exp(-2j * np.pi * k / n)` are the turns.",
        "`turned = ... * odd`. Of the two wings, one is `even + turned`: `np.concatenate` puts the other behind it.",
    ),
    why="""Each level of halves costs n / 2 products, and there are log2(n) levels. That made digital telephones and
    scanners possible.""",
)
def butterfly(answer: Callable[..., Any]) -> str:
    """Compare with transforms of NumPy: first of one level, then of all."""
    for half in HALVES:
        with part(f"a signal of {2 * half}"):
            x = _signal(2 * half)
            even, odd = np.fft.fft(x[::2]), np.fft.fft(x[1::2])
            found = ask(answer, even, odd, case=f"two of length {half}", name="butterfly")
            same(_rows(found), _rows(np.fft.fft(x)), "", _mistakes(even, odd), asked=_asked(2 * half))
    with part("all levels"):
        for n in WHOLE:
            x = _signal(n)
            found = ask(answer, x, case=f"all levels of {n}", name="butterfly", through=transformed)
            same(_rows(found), _rows(np.fft.fft(x)), asked=_asked(n))
    return "\n".join(
        f"{n:7,} numbers: {n * n:13,} products in the sum, {n * (n.bit_length() - 1) // 2:8,} in butterflies"
        for n in (8, 64, 1024, 65536)
    )


def _signal(n: int) -> np.ndarray:
    real, imaginary = random(n).normal(size=(2, n))
    return np.asarray(real + 1j * imaginary)


def _asked(n: int) -> str:
    return f"{n} complex numbers are asked for, shown here as rows of their real and imaginary parts"


def _rows(z: Any) -> Any:
    """(2, n): real and imaginary parts; whatever is no such array stays as it is."""
    return np.stack([z.real, z.imag]) if isinstance(z, np.ndarray) and z.dtype.kind in "iufc" else z


def _mistakes(even: np.ndarray, odd: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    k, h = np.arange(len(even)), len(even)
    for turn, words in (
        (2j / (2 * h), "they turn the other way: there is a minus in the exponent"),
        (0, "nothing is turned: those of the odd places come a step later, so bin k of them has turned by 2 π k / n"),
        (-2j / h, "they turn twice as far: n is the length of the whole signal"),
        (-1j / (2 * h), "they turn half as far: a whole turn is 2 π"),
    ):
        yield _joined(even, odd, np.exp(np.pi * turn * k)), words
    right = np.exp(-1j * np.pi * k / h)
    yield _joined(even, -odd, right), "the two wings are exchanged: first come the sums, then the differences"
    yield _joined(odd, even, right), "the odd places are turned, not the even ones"
    yield _joined(even, odd, right, 1), "the second half is a difference: half a turn later, the sign has changed"
    yield _joined(even, odd, right)[:, :h], "that is the first half: bins from n / 2 on are differences"


def _joined(even: np.ndarray, odd: np.ndarray, turn: Any, sign: int = -1) -> np.ndarray:
    return np.asarray(_rows(np.concatenate([even + turn * odd, even + sign * turn * odd])))
