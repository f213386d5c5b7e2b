"""Convolve: in which ways can a convolution be computed, and what does each of them need?

    forward      places from image and weights       a place with a tap looks at   place * stride + tap * dilation
    by_image     image from places and weights                                     - padding   of the image
    by_weights   weights from image and places

A way to compute one of the three is an `Algorithm`. Its kernel is a file in `kernels/`, which is what a learner reads;
what is joined to the convolution takes the place of its `finish`. One and two directions are three directions, of which
the first have length 1.

Five doors lead to a convolution, in this order:

    ops/conv.py  --graph-->  ir/conv_pattern.py  --Convolution-->  runtime/conv_step.py  --step of a plan-->  it runs
    conv2d(x, w) as a sum    finds such sums by their          its text, its memory,
    of products              index maps: image, weights,       what is joined to it
                             places, Sizes                       |          ^
                                                           Sizes |          | Algorithm
                                                                 v          |
    backends/conv.py  ----settings, table------------->   selection.py
    jt.backends.conv: what a learner asks and sets        which algorithm, and why

Read this folder in the order of the lists. First one algorithm, from outside to inside:

    direct.py       kernels/direct.py: the definition, loop by loop; what an algorithm tells of itself
    standalone.py   how an algorithm runs without a graph: its arrays, its scratch, its threads
    selection.py    which one computes a convolution; options.py has the settings
    packing.py      whether a view is read where it lies, or copied first (kernels/pack.py)
    autotuner.py    which one is fastest when one looks; tuner_report.py prints what it saw
    epilogue_hook.py
                    how an algorithm calls what was joined to it, though both were compiled apart;
                    kernels/subtotals.py: how sums over what it wrote are ended

Then the instructions that all others are made of, and with them the algorithms. Beside each stand who says when it
suits and how long it takes, and its kernels; what several kernels share, and what lies where in their scratch, once.
uneven_tiles.py says, for the last two, whether a tile may be computed as a whole:

    llvm.py         how functions of a kernel are written in LLVM's instructions: the ground of all below
    gemm_microkernel.py, skinny_gemm.py
                    products of small matrices, and of a few rows with many, at full speed
    copy_rows.py    rows of numbers from here to there
    simd.py         vectors as a kernel says them; simd_blocks.py: their + - *, and blocks turned on their side

    algorithm       when, how long       shared by kernels                                  kernels/
    panels, fold    im2col_gemm.py       im2col.py                                          panels*.py
    shifted         indirect_gemm.py     indirect_layout.py                                 shifted.py
    pointwise       pointwise.py         remainder.py                                       pointwise*.py
    depthwise       depthwise.py         row_strips.py, stencil.py                          depthwise*.py
    lanewise        depthwise_simd.py    channel_lanes.py                                   lanewise*.py
    winograd        winograd.py          winograd_blocks.py, _tiles.py, _transforms.py      winograd*.py
    fourier         fft.py               fft_layout.py, fft_transform.py                      fourier*.py

Words that mean the same in all files:

    image, weights, places          the three arrays; a place is where a window stands, a tap is a number of the window
    sd sh sw, pd ph pw, dd dh dw    strides, paddings and dilations of depth, height and width
    unit            of work: lo and hi count them, and threads share them
    shared, lane    how many channels of the image a group has; how many numbers a vector, a register of the machine
    space           scratch of a thread; `prepared` is what was made before, for all threads
    layout          what lies where in scratch, said once for the kernel and the plan: its `end` is how much is needed,
                    its `pitch` how far a row is from the next
    panel           columns of a product that are worked on together
    strip           as many rows, of an image or of places, as are near at a time
    phase           every stride-th row or column: with stride 2 the even ones, or the odd ones
    tile            of winograd and fourier: a square of places that is computed from common parts; `tile` is the
                    product of small matrices

Nothing here knows graphs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jt_edu.ir.conv_pattern import Sizes, Strides

__all__ = [
    "Algorithm", "Constants", "Sizes", "any_sizes", "any_view", "no_constants", "no_sum_is_empty", "no_view", "nothing",
    "strips_apart", "text_of", "text_with", "whole_image",
]  # fmt: skip

_KERNELS = Path(__file__).parent / "kernels"
Constants = tuple[tuple[str, int], ...]  # (NAME, number): what takes the place of the number in a line `NAME = 0`


def nothing(sizes: Sizes) -> int:
    """For algorithms that need no memory of their own."""
    del sizes
    return 0


def whole_image(sizes: Sizes) -> int:
    """For algorithms that finish all places of an image at once."""
    return math.prod(sizes.places)


def strips_apart(sizes: Sizes, high: int) -> int:
    """For algorithms that finish `high` rows of places at once, or what is left of them where a plane ends."""
    planes, rows, row = sizes.places
    return (min(high, rows) if planes == 1 else (rows - 1) % high + 1) * row


def no_constants(sizes: Sizes) -> Constants:
    """For algorithms whose kernel is the same for all sizes."""
    del sizes
    return ()


def no_sum_is_empty(sizes: Sizes) -> bool:
    """Whether each sum of a convolution of stride 1 sees a number, and not only what is beyond the border."""
    lines = zip(sizes.image, sizes.kernel, sizes.places, sizes.padding, strict=True)
    for image, taps, places, before in lines:
        sums, first, seen, there = {  # sum k sees `seen` numbers, from  first + k  on, of which `there` exist
            "forward": (places, -before, taps, image),
            "by_image": (image, before - taps + 1, taps, places),
            "by_weights": (taps, -before, places, image),
        }[sizes.kind]
        if first + seen < 1 or first + sums > there:
            return False
    return True


def any_sizes(sizes: Sizes) -> bool:
    """For algorithms that compute every convolution of their kind."""
    del sizes
    return True


def any_view(lies: Strides) -> bool:
    """For algorithms that read an image from wherever its numbers lie."""
    del lies
    return True


def no_view(lies: Strides) -> bool:
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
    spreads: bool = False  # sums have an error that goes with the largest number around, and not with their own window
    error: float = 0.0  # if so: this part of the largest sum, in float32
    apart: Callable[[Sizes], int] = whole_image  # forward: the calls of `finish` for one channel begin so many places
    # apart, at least; or at multiples of it, counted through all images (codegen/emit_epilogue.py)
    reads_views: Callable[[Strides], bool] = no_view  # of the image: those that the kernel takes with their steps
    constants: Callable[[Sizes], Constants] = no_constants  # of its kernel: what it does not need then is not compiled

    @property
    def takes_tail(self) -> bool:
        """Whether its kernel has a place, `finish`, for what is joined to it: convolutions have one, gradients not."""
        return self.kind == "forward"

    def text(self, sizes: Sizes) -> str:
        """The text of its kernel for these sizes."""
        return text_with(self.kernel, self.constants(sizes))


@lru_cache(maxsize=64)
def text_of(stem: str) -> str:
    """The text of a kernel."""
    return (_KERNELS / f"{stem}.py").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def text_with(stem: str, constants: Constants) -> str:
    """The text of a kernel in which these constants stand."""
    text = text_of(stem)
    for name, number in constants:
        text, found = re.subn(rf"^{name} = \d+", f"{name} = {number}", text, flags=re.MULTILINE)
        assert found == 1, f"{stem} has one line that begins with {name} = 0"
    return text
