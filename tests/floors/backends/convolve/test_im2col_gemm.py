"""Products of panels give every convolution and both its gradients, to the error that panels.py states."""

import dataclasses
import re
from functools import lru_cache
from itertools import pairwise, product

import numba
import numpy as np
import pytest

from jt_edu import backends
from jt_edu.backends import numba_pipeline
from jt_edu.backends.convolve import Sizes, im2col_gemm, pointwise, text_of
from jt_edu.backends.convolve.selection import candidates
from jt_edu.backends.convolve.standalone import Alone

ALGORITHMS = [*im2col_gemm.ALGORITHMS, *pointwise.ALGORITHMS]
EVERY = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: f"{a.name}-{a.kind}")
ERROR = {"float32": 2e-6, "float64": 3e-15}  # as panels.py states
GUARD = 12345.0  # behind the memory that a kernel is given


def drawn(rng, kind, dtype="float32", most=(20, 40)):
    """Sizes of any convolution: 1-d to 3-d, grouped, strided, dilated, padded, with an image larger than it needs."""
    channels, length = most
    while True:
        groups, directions = int(rng.choice([1, 1, 2, 3])), int(rng.integers(1, 4))
        c, o = (groups * int(rng.integers(1, channels + 1)) for _ in range(2))
        lines = [(1, 1, 1, 0, 1, 1)] * (3 - directions) + [_line(rng, length) for _ in range(directions)]
        image, kernel, stride, padding, dilation, places = (tuple(p) for p in zip(*lines, strict=True))
        if min(places) >= 1 and np.prod(places) < 20_000:
            return Sizes(
                kind, int(rng.integers(1, 4)), c, o, groups, image, kernel, places, stride, padding, dilation, dtype
            )


def _line(rng, length):
    size, kernel, stride = (int(rng.integers(1, most + 1)) for most in (length, 5, 4))
    padding, dilation = int(rng.integers(0, kernel + 1)), int(rng.choice([1, 1, 2, 3]))
    behind = int(rng.integers(0, padding + 2))
    places = (size + padding + behind - dilation * (kernel - 1) - 1) // stride + 1
    return size, kernel, stride, padding, dilation, places


def drawn_for(algorithm, rng, **limits):
    """Sizes that suit it."""
    sizes = drawn(rng, algorithm.kind, **limits)
    if algorithm.suits(sizes):
        return sizes
    one, none = (1, 1, 1), (0, 0, 0)
    numbers = sizes.n, sizes.c, sizes.o, sizes.groups
    return Sizes(sizes.kind, *numbers, sizes.places, one, sizes.places, one, none, one, sizes.dtype)


def shapes_of(sizes):
    """Of both factors, and of the result."""
    image, weights, places = sizes.image_shape, sizes.weights_shape, sizes.places_shape
    return {
        "forward": (image, weights, places),
        "by_image": (places, weights, image),
        "by_weights": (image, places, weights),
    }[sizes.kind]


def given(sizes, rng):
    return [rng.standard_normal(shape).astype(sizes.dtype) for shape in shapes_of(sizes)[:2]]


def written_out(sizes, first, second):
    """The sums as they are written, tap by tap, in float64."""
    arrays = {"forward": [first, second, None], "by_image": [None, second, first], "by_weights": [first, None, second]}
    image, weights, places = (
        np.zeros(shape) if array is None else array.astype("f8")
        for array, shape in zip(
            arrays[sizes.kind], (sizes.image_shape, sizes.weights_shape, sizes.places_shape), strict=True
        )
    )
    g, (c, o) = sizes.groups, (sizes.c // sizes.groups, sizes.o // sizes.groups)
    reach = [
        max(size, (place - 1) * stride + (kernel - 1) * dilation + 1 - padding) + padding
        for size, place, stride, kernel, dilation, padding in zip(
            sizes.image, sizes.places, sizes.stride, sizes.kernel, sizes.dilation, sizes.padding, strict=True
        )
    ]
    wide = np.zeros((sizes.n, g, c, *reach))
    middle = (..., *(slice(p, p + size) for p, size in zip(sizes.padding, sizes.image, strict=True)))
    wide[middle] = image.reshape(sizes.n, g, c, *sizes.image)
    weights, places = weights.reshape(g, o, c, *sizes.kernel), places.reshape(sizes.n, g, o, *sizes.places)
    for tap in product(*map(range, sizes.kernel)):
        steps = zip(tap, sizes.dilation, sizes.places, sizes.stride, strict=True)
        seen = (..., *(slice(k * d, k * d + (p - 1) * s + 1, s) for k, d, p, s in steps))
        if sizes.kind == "forward":
            places += np.einsum("ngcxyz,goc->ngoxyz", wide[seen], weights[(..., *tap)])
        elif sizes.kind == "by_image":
            wide[seen] += np.einsum("ngoxyz,goc->ngcxyz", places, weights[(..., *tap)])
        else:
            weights[(..., *tap)] = np.einsum("ngoxyz,ngcxyz->goc", places, wide[seen])
    return {"forward": places, "by_image": wide[middle], "by_weights": weights}[sizes.kind].reshape(shapes_of(sizes)[2])


def in_python(stem, finish=None):
    """The kernel as Python runs it, with a `finish` of its own or another one."""
    scope = {}
    exec(text_of(stem).replace(", *rest", ""), scope)  # noqa: S102 - a kernel is text
    if finish is not None:
        scope["finish"] = finish
    return scope["kernel"]


@lru_cache
def compiled(stem, dtype, prepares=False):
    number = numba.from_dtype(np.dtype(dtype))
    five, one = (numba.types.Array(number, rank, "C") for rank in (5, 1))
    arrays = [five, one] if prepares else [five, five, five, one, one]
    return numba_pipeline.build(
        in_python(stem), numba.void(*[numba.int64] * 2, *arrays, *[numba.int64] * 10), apart=True
    )


def computed(algorithm, sizes, first, second, parts=(0, 1), python=False):
    """What the algorithm makes of both factors, its units of work done in parts, nothing beside its memory touched."""
    out = np.full(shapes_of(sizes)[2], np.nan, sizes.dtype)
    prepared, space = (
        np.full(count(sizes) + 1, np.nan, sizes.dtype) for count in (algorithm.prepared, algorithm.space)
    )
    prepared[-1] = space[-1] = GUARD

    def run(stem, span, *arrays):
        kernel = in_python(stem) if python else compiled(stem, sizes.dtype, prepares=len(arrays) == 2)[0]
        borders = [round(span * part) for part in parts]
        for lo, hi in pairwise(borders):
            kernel(lo, hi, *arrays, *sizes.numbers)

    if algorithm.prepare:
        run(algorithm.prepare, algorithm.prepare_span(sizes), second, prepared[:-1])
    run(algorithm.kernel, algorithm.span(sizes), first, second, out, prepared[:-1], space[:-1])
    assert prepared[-1] == space[-1] == GUARD
    return out


def error_of(got, want):
    """The largest error over the largest number."""
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)


@EVERY
@pytest.mark.parametrize(("dtype", "count"), [("float32", 100), ("float64", 25)])
def test_any_convolution_is_computed_to_the_stated_error(algorithm, dtype, count):
    rng = np.random.default_rng(11)
    for _ in range(count):
        sizes = drawn_for(algorithm, rng, dtype=dtype)
        factors = given(sizes, rng)

        got = computed(algorithm, sizes, *factors)

        assert error_of(got, written_out(sizes, *factors)) < ERROR[dtype], sizes


@EVERY
def test_the_answer_does_not_depend_on_how_the_work_is_shared(algorithm):
    rng = np.random.default_rng(12)
    for _ in range(30):
        sizes = drawn_for(algorithm, rng)
        factors = given(sizes, rng)

        alone = computed(algorithm, sizes, *factors)
        shared = computed(algorithm, sizes, *factors, parts=(0, *sorted(rng.random(3)), 1))

        np.testing.assert_array_equal(shared, alone, err_msg=str(sizes))


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a.kind == "forward"], ids=lambda a: a.name)
def test_each_sum_is_finished_once_when_it_is_final(algorithm):
    rng = np.random.default_rng(15)
    for _ in range(8):
        sizes = drawn_for(algorithm, rng, most=(30, 9))
        factors = given(sizes, rng)
        final, finished = computed(algorithm, sizes, *factors, python=True), np.zeros(sizes.places_shape, int)

        def finish(n, o, begin, end, out, final=final, finished=finished):
            seen, wanted, times = (a.reshape(*a.shape[:2], -1)[n, o, begin:end] for a in (out, final, finished))
            np.testing.assert_array_equal(seen, wanted)
            times += 1

        kernel, units = in_python(algorithm.kernel, finish), algorithm.span(sizes)
        for lo, hi in pairwise((0, units // 3, units // 2, units)):
            space = np.zeros(algorithm.space(sizes), sizes.dtype)
            kernel(lo, hi, *factors, np.empty_like(final), space, space, *sizes.numbers)

        np.testing.assert_array_equal(finished, 1)


@EVERY
def test_python_runs_the_same_text(algorithm):
    rng = np.random.default_rng(13)
    for _ in range(6):
        sizes = drawn_for(algorithm, rng, most=(2, 5))
        factors = given(sizes, rng)

        got = computed(algorithm, sizes, *factors, python=True)

        assert error_of(got, written_out(sizes, *factors)) < ERROR["float32"], sizes


def long_sums(algorithm, stride):
    """A convolution whose sums are longer than a panel."""
    kernel, places = ((1, 3, 3), (1, 9, 8)) if algorithm.name != "pointwise" else ((1, 1, 1), (1, 9, 8))
    image = tuple((p - 1) * s + k for p, k, s in zip(places, kernel, (1, stride, stride), strict=True))
    c, o = (2100, 20) if algorithm.kind == "forward" else (20, 2100)
    return Sizes(algorithm.kind, 5, c, o, 1, image, kernel, places, (1, stride, stride), (0, 0, 0), (1, 1, 1))


LONG = [(a, s) for a in ALGORITHMS for s in (1, 2) if a.suits(long_sums(a, s))]


@pytest.mark.parametrize(("algorithm", "stride"), LONG, ids=[f"{a.name}-{a.kind}-{s}" for a, s in LONG])
def test_sums_longer_than_a_panel_are_added_up_panel_by_panel(algorithm, stride):
    sizes = long_sums(algorithm, stride)
    factors = given(sizes, np.random.default_rng(14))

    assert error_of(computed(algorithm, sizes, *factors), written_out(sizes, *factors)) < ERROR["float32"]


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("kind", ["forward", "by_image", "by_weights"])
def test_windows_may_begin_behind_the_edge_of_the_image(kind, groups):
    """Of candidates that say that they can: padding below zero passes numbers over."""
    rng = np.random.default_rng(16)
    ones = ((1, 1, 1), (0, -2, -1), (1, 1, 1))
    sizes = Sizes(kind, 2, 4, 4, groups, (1, 20, 20), (1, 3, 3), (1, 12, 12), *ones)
    factors = given(sizes, rng)
    want = written_out(moved_in(sizes), *moved_in_arrays(kind, *factors))
    names = [a.name for a in candidates(sizes)]

    assert {"panels", "direct"} <= set(names)
    for algorithm in candidates(sizes):
        got = np.full(shapes_of(sizes)[2], np.nan, "f4")
        Alone(algorithm, sizes, backends.get("numba"))(*factors, got)
        seen = got[:, :, :, 2:16, 1:15] if kind == "by_image" else got
        assert error_of(seen, want) < ERROR["float32"], algorithm.name
        assert kind != "by_image" or not got[:, :, :, :2].any(), algorithm.name


def moved_in(sizes):
    """The same without what is passed over: windows begin at the edge of a smaller image."""
    return dataclasses.replace(sizes, image=(1, 14, 14), padding=(0, 0, 0))


def moved_in_arrays(kind, first, second):
    """The factors of that: a piece of the image."""
    return (first, second) if kind == "by_image" else (first[:, :, :, 2:16, 1:15], second)


def test_numbers_of_the_image_that_no_place_sees_have_gradient_zero():
    sizes = Sizes("by_image", 1, 2, 3, 1, (1, 7, 9), (1, 1, 1), (1, 2, 2), (1, 3, 4), (0, 0, 0), (1, 1, 1))
    factors = [np.ones(shape, "f4") for shape in shapes_of(sizes)[:2]]
    seen = np.zeros(sizes.image_shape, "f4")
    seen[..., 0:4:3, 0:5:4] = 3

    for algorithm in (a for a in im2col_gemm.ALGORITHMS if a.kind == "by_image"):
        np.testing.assert_array_equal(computed(algorithm, sizes, *factors), seen)


@EVERY
def test_the_machine_code_can_be_kept(algorithm):
    assert compiled(algorithm.kernel, "float32")[1]
    assert not algorithm.prepare or compiled(algorithm.prepare, "float32", prepares=True)[1]


@pytest.mark.parametrize(
    ("stem", "numbers"),
    [
        ("panels_prepare", {"ROWS": im2col_gemm.PREPARE_ROWS}),
        ("pointwise", {"COLUMNS": pointwise.COLUMNS, "PART": pointwise.PART}),
        ("pointwise_by_image", {"COLUMNS": pointwise.COLUMNS, "PART": pointwise.PART}),
    ],
)
def test_a_kernel_and_its_description_speak_of_the_same_numbers(stem, numbers):
    said = {name: int(number) for name, number in re.findall(r"^([A-Z]+) = (\d+)", text_of(stem), re.MULTILINE)}

    assert {name: said[name] for name in numbers} == numbers


@EVERY
def test_twice_the_images_are_thought_to_take_longer(algorithm):
    one = Sizes(algorithm.kind, 1, 64, 64, 1, (1, 28, 28), (1, 1, 1), (1, 28, 28), (1, 1, 1), (0, 0, 0), (1, 1, 1))
    two = Sizes(algorithm.kind, 2, 64, 64, 1, (1, 28, 28), (1, 1, 1), (1, 28, 28), (1, 1, 1), (0, 0, 0), (1, 1, 1))

    assert 0 < algorithm.seconds(one) < algorithm.seconds(two) < 1
