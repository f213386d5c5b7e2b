"""Problems: convolutions of which only the sizes matter, and machines that are known to compute them so fast.

`seconds(name, problem)` is made up, and shaped like the truth: the products of each algorithm, and what it moves. So a
tuner can be judged: it is known which algorithm is the fastest for which problem.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

ALGORITHMS = ("direct", "im2col", "winograd", "fft")


@dataclass(frozen=True)
class Problem:
    """The sizes of a convolution."""

    images: int = 1
    channels: int = 64
    size: int = 56  # pixels, in both directions
    kernel: int = 3
    stride: int = 1
    dtype: str = "float32"


def key(problem: Problem) -> Hashable:
    """Under what a tuner remembers a problem. One thing is missing."""
    return problem.images, problem.channels, problem.size, problem.kernel, problem.dtype


def suits(name: str, p: Problem) -> bool:
    """Whether an algorithm can compute it at all."""
    if name == "winograd":
        return p.kernel == 3 and p.stride == 1
    return name != "fft" or p.stride == 1


def seconds(name: str, p: Problem) -> float:
    """Made-up seconds."""
    places = p.images * (p.size / p.stride) ** 2
    products = places * p.kernel**2 * p.channels**2
    width = 2.0 if p.dtype == "float64" else 1.0
    moved = places * p.channels * p.kernel**2
    match name:
        case "direct":
            return 1e-11 * products * width * (1 if p.channels <= 8 else 2.2)
        case "im2col":
            return 1e-11 * products * width * 1.2 + 2e-10 * moved * width + 2e-6
        case "winograd":
            return (1e-11 * products / 2.25 + 4e-10 * places * p.channels) * (6.5 if width > 1 else 1) + 3e-5
        case _:
            return 4e-9 * places * p.channels * width + 6e-11 * places * p.channels**2 * width


def fastest(p: Problem) -> str:
    """The algorithm that takes least."""
    return min((a for a in ALGORITHMS if suits(a, p)), key=lambda a: seconds(a, p))
