"""Every algorithm for convolutions against float64: on 500 convolutions that nobody chose, and on some that suit each.

Most algorithms are for a few kinds of layers, which chance alone would hardly draw: so there are families of those.
"""

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from jt_edu import backends
from jt_edu.backends.convolve import Sizes
from jt_edu.backends.convolve.selection import algorithms, candidates
from jt_edu.backends.convolve.standalone import Alone, shapes_of

COUNT, PARTS = 500, 10
FAMILIES, EACH = ("3x3", "1x1", "large", "depthwise", "lanewise"), 130
ALL = COUNT + len(FAMILIES) * EACH
LEAST = 60  # that each algorithm is tried on, in float32 and in float64
KINDS = ("forward", "by_image", "by_weights")
# the largest error, as a share of the largest number of the answer; sums of n products may err by sqrt(n) as much
BOUND = {"float32": 2e-6, "float64": 1e-14}
WINOGRAD = {"winograd2": {"float32": 2e-6, "float64": 2e-14}, "winograd4": {"float32": 4e-5, "float64": 8e-14}}


def drawn(number, kind):
    """A convolution of one, two or three directions; every third is 3x3 with stride 1, every fifth depthwise.

    From COUNT on they belong to families, and are of two directions.
    """
    rng = np.random.default_rng([7, number])
    ways = int(rng.choice([1, 2, 2, 2, 3]))
    some = lambda low, high: tuple([1] * (3 - ways) + [int(v) for v in rng.integers(low, high, ways)])  # noqa: E731
    kernel, stride, dilation = some(1, 5), some(1, 4), some(1, 3)
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    ins, outs = int(rng.integers(1, 9)), int(rng.integers(1, 14))
    if number % 3 == 0:
        ways, kernel, stride, dilation = 2, (1, 3, 3), (1, 1, 1), (1, 1, 1)
    if number % 5 == 0:
        groups, ins, outs = int(rng.integers(2, 9)), 1, int(rng.choice([1, 1, 2]))
    family = "" if number < COUNT else FAMILIES[(number - COUNT) // EACH]
    if family:
        few, wide = [int(v) for v in rng.integers(4, 9, 2)], [int(v) for v in rng.integers(16, 49, 2)]
        ways, stride, dilation, groups = 2, (1, 1, 1), (1, 1, 1), 1
        ins, outs = (ins, outs) if family == "large" else wide
        narrow = (1, few[0] - 3, 3)
        kernels = {"3x3": (1, 3, 3), "1x1": (1, 1, 1), "large": (1, *few), "depthwise": narrow, "lanewise": narrow}
        kernel = kernels[family]
    if family in ("depthwise", "lanewise"):
        step = int(rng.integers(1, 3))
        groups, ins, outs, stride = few[1], 1, int(rng.choice([1, 1, 2])), (1, step, step)
    if family == "lanewise":
        groups, outs = wide[0], 1
    padding = tuple(int(rng.integers(0, d * (k - 1) + 1)) for k, d in zip(kernel, dilation, strict=True))
    least = [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(kernel, dilation, padding, strict=True)]
    image = tuple(1 if w < 3 - ways else low + int(rng.integers(0, 14)) for w, low in enumerate(least))
    places = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(image, padding, dilation, kernel, stride, strict=True)
    )
    dtype = "float64" if number % (2 if family else 4) == 1 else "float32"
    n = int(rng.integers(1, 4))
    return Sizes(kind, n, groups * ins, groups * outs, groups, image, kernel, places, stride, padding, dilation, dtype)


def exact(sizes, left, right):
    """The same sum in float64: by einsum over windows that are only looked at, or by painting tap after tap."""
    g, w = sizes.groups, (sizes.o // sizes.groups, sizes.c // sizes.groups, *sizes.kernel)
    spans = [d * (k - 1) + 1 for d, k in zip(sizes.dilation, sizes.kernel, strict=True)]
    last = [s * (q - 1) + span for s, q, span in zip(sizes.stride, sizes.places, spans, strict=True)]
    wide = [max(p + n, end) for p, n, end in zip(sizes.padding, sizes.image, last, strict=True)]
    padded = np.zeros((sizes.n, sizes.c, *wide))
    inner = (..., *(slice(p, p + n) for p, n in zip(sizes.padding, sizes.image, strict=True)))
    if sizes.kind == "by_image":
        places = left.reshape(sizes.n, g, w[0], *sizes.places).astype(float)
        painted = np.einsum("ngoxyz,gocijk->ngcxyzijk", places, right.reshape(g, *w).astype(float), optimize=True)
        painted = painted.reshape(sizes.n, sizes.c, *painted.shape[3:])
        for tap in np.ndindex(*sizes.kernel):
            begins = [t * d for t, d in zip(tap, sizes.dilation, strict=True)]
            ends = [b + s * (q - 1) + 1 for b, s, q in zip(begins, sizes.stride, sizes.places, strict=True)]
            at = (..., *(slice(b, e, s) for b, e, s in zip(begins, ends, sizes.stride, strict=True)))
            padded[at] += painted[(..., *tap)]
        return padded[inner]
    padded[inner] = left
    windows = sliding_window_view(padded, spans, (2, 3, 4))
    taken = [slice(0, s * (q - 1) + 1, s) for s, q in zip(sizes.stride, sizes.places, strict=True)]
    windows = windows[(..., *taken, *(slice(None, None, d) for d in sizes.dilation))]
    windows = windows.reshape(sizes.n, g, w[1], *windows.shape[2:])
    if sizes.kind == "forward":
        out = np.einsum("ngcxyzijk,gocijk->ngoxyz", windows, right.reshape(g, *w).astype(float), optimize=True)
        return out.reshape(sizes.places_shape)
    places = right.reshape(sizes.n, g, w[0], *sizes.places).astype(float)
    return np.einsum("ngcxyzijk,ngoxyz->gocijk", windows, places, optimize=True).reshape(sizes.weights_shape)


@lru_cache(maxsize=4)
def cases(part, kind):
    """Sizes, both factors and the exact answer for a tenth of the convolutions."""
    found = []
    for number in range(part, ALL, PARTS):
        sizes = drawn(number, kind)
        rng = np.random.default_rng([8, number])
        left, right, _ = shapes_of(sizes)
        a, b = rng.standard_normal(left).astype(sizes.dtype), rng.standard_normal(right).astype(sizes.dtype)
        found.append((sizes, a, b, exact(sizes, a, b)))
    return found


def error(algorithm, sizes, a, b, expected, backend="numba"):
    """The largest error of an algorithm, as a share of the largest number."""
    out = np.full(expected.shape, np.nan, sizes.dtype)
    Alone(algorithm, sizes, backends.get(backend))(a, b, out)
    return float(np.abs(out - expected).max() / max(np.abs(expected).max(), 1e-30))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_candidate_computes_what_float64_computes(part, kind):
    for sizes, a, b, expected in cases(part, kind):
        for algorithm in candidates(sizes):
            bound = WINOGRAD.get(algorithm.name, BOUND)[sizes.dtype]
            assert error(algorithm, sizes, a, b, expected) <= bound, (algorithm.name, sizes)


@pytest.mark.parametrize("kind", KINDS)
def test_every_algorithm_is_tried_on_many_of_them_in_both_dtypes(kind):
    sizes = [drawn(number, kind) for number in range(ALL)]
    tried = Counter((a.name, s.dtype) for s in sizes for a in candidates(s))

    assert {name for name, _ in tried} == {a.name for a in algorithms() if a.kind == kind}
    assert {entry: times for entry, times in tried.items() if times < LEAST} == {}
    assert len(tried) == 2 * len({name for name, _ in tried})


@pytest.mark.parametrize("kind", KINDS)
def test_plain_python_runs_the_same_texts(kind):
    seen = set()
    for number in range(60):
        sizes = drawn(number, kind)
        if sizes.flops > 40_000 or sizes.dtype != "float32":
            continue
        rng = np.random.default_rng([8, number])
        left, right, _ = shapes_of(sizes)
        a, b = rng.standard_normal(left).astype("float32"), rng.standard_normal(right).astype("float32")
        for algorithm in candidates(sizes):
            if algorithm.name in seen:
                continue
            seen.add(algorithm.name)
            bound = WINOGRAD.get(algorithm.name, BOUND)["float32"]
            assert error(algorithm, sizes, a, b, exact(sizes, a, b), "python") <= bound, (algorithm.name, sizes)
