"""Convolve: the ways to compute a convolution, and what each of them needs.

    forward      places from image and weights       a place with a tap looks at   place * stride + tap * dilation
    by_image     image from places and weights                                     - padding   of the image
    by_weights   weights from image and places

A way to compute one of the three is an `Algorithm`. Its kernel is a file in `kernels/`, which is what a learner reads;
what is joined to the convolution takes the place of its `finish`. One and two directions are three directions, of which
the first have length 1.

Where a convolution passes through, in this order:

    ops/conv.py           conv2d(x, w) as a sum of products, from the meta-operators
    convolution.py        finds convolutions among all sums, by their index maps alone
    backends/convolve/    choice.py takes one of the algorithms; each has a file here, and one in kernels/
    convolving.py         makes of it a step of the plan: its text, its memory, what is joined to it
    backends/conv.py      jt.backends.conv: what a learner may ask and set

Begin with `direct.py` and `kernels/direct.py`. Nothing here knows graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jt_edu.convolution import Sizes, Strides

__all__ = ["Algorithm", "Sizes", "never", "nothing", "text_of"]

_KERNELS = Path(__file__).parent / "kernels"


def nothing(sizes: Sizes) -> int:
    """For algorithms that need no memory of their own."""
    del sizes
    return 0


def never(lies: Strides) -> bool:
    """For algorithms that read images in row-major order."""
    del lies
    return False


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
    prepare: str = ""  # a file of kernels/, run before, which writes `prepared`
    prepared: Callable[[Sizes], int] = nothing  # how many numbers that are; 0: it is not run
    prepare_span: Callable[[Sizes], int] = nothing
    reads: tuple[int, ...] = (1,)  # given to `prepare`: 0 and 1 are the factors, as in `SIDES`, 2 the array to fill
    spreads: bool = False  # a number, and NaN, may reach sums whose windows do not see it
    reads_views: Callable[[Strides], bool] = never  # of the image: which ones the kernel takes with steps of their own


@lru_cache(maxsize=64)
def text_of(stem: str) -> str:
    """The text of a kernel."""
    return (_KERNELS / f"{stem}.py").read_text(encoding="utf-8")
