"""Convolve: the ways to compute a convolution, and what each of them needs.

    forward      places from image and weights       a place with a tap looks at   place * stride + tap * dilation
    by_image     image from places and weights                                     - padding   of the image
    by_weights   weights from image and places

A way to compute one of the three is an `Algorithm`. Its kernel is a file in `kernels/`, which is run as it stands, and
is what a learner reads. One and two directions are three directions, of which the first have length 1.

Nothing here knows graphs: `convolution.py` finds the convolutions in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jt_edu.convolution import Sizes

__all__ = ["Algorithm", "Sizes", "nothing", "text_of"]

_KERNELS = Path(__file__).parent / "kernels"


def nothing(sizes: Sizes) -> int:
    """For algorithms that need no memory of their own."""
    del sizes
    return 0


@dataclass(frozen=True)
class Algorithm:
    """One way to compute one of the three arrays."""

    name: str
    kind: str
    kernel: str  # a file of kernels/
    suits: Callable[[Sizes], bool]
    span: Callable[[Sizes], int]  # units of work that threads share; the answer does not depend on how
    seconds: Callable[[Sizes], float]  # about how long one thread takes, on a machine of 1e11 operations per second
    space: Callable[[Sizes], int] = nothing  # numbers of scratch for each thread
    prepare: str = ""  # a file of kernels/, run before: it turns the weights into `prepared`
    prepared: Callable[[Sizes], int] = nothing  # how many numbers that are
    prepare_span: Callable[[Sizes], int] = nothing


@lru_cache(maxsize=64)
def text_of(stem: str) -> str:
    """The text of a kernel."""
    return (_KERNELS / f"{stem}.py").read_text(encoding="utf-8")
