"""Winograd's algorithm gives the sums that were asked for, at every size and border, to the error that it states."""

from functools import lru_cache

import numba
import numpy as np
import pytest
from numba.core import codegen

from jt_edu import backends
from jt_edu.backends import code_loader, numba_pipeline
from jt_edu.backends.convolve import Sizes, im2col_gemm, no_sum_is_empty, text_of, winograd, winograd_tiles
from jt_edu.backends.convolve.gemm_microkernel import LANES, inlined
from jt_edu.backends.convolve.simd_blocks import turn
from jt_edu.backends.convolve.standalone import Alone
from jt_edu.backends.convolve.winograd import ALGORITHMS
from jt_edu.backends.convolve.winograd_transforms import (
    image_at_four,
    image_at_six,
    sums_from_four,
    sums_from_six,
    taps_at_four,
    taps_at_six,
)  # fmt: skip

# Largest error over largest sum that the docstring of winograd.py states, and a half more
ERROR = {("winograd2", "float32"): 1e-6, ("winograd4", "float32"): 3e-6}
ERROR |= {("winograd2", "float64"): 2e-15, ("winograd4", "float64"): 6e-15}
LINES = {2: (image_at_four, taps_at_four, sums_from_four), 4: (image_at_six, taps_at_six, sums_from_six)}
EVERY = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: f"{a.name}-{a.kind}")


def sizes_of(kind, n, c, o, image, padding, after, dtype="float32"):
    """A 3 x 3 convolution; `padding` before the image, `after` behind it."""
    places = tuple(length + p + q - 2 for length, p, q in zip(image, padding, after, strict=True))
    return Sizes(kind, n, c, o, 1, (1, *image), (1, 3, 3), (1, *places), (1, 1, 1), (0, *padding), (1, 1, 1), dtype)


def given(sizes, rng):
    """The two arrays that are given."""
    shapes = [sizes.image_shape, sizes.weights_shape, sizes.places_shape]
    left, right = {"forward": (0, 1), "by_image": (2, 1), "by_weights": (0, 2)}[sizes.kind]
    return [rng.standard_normal(shapes[k]).astype(sizes.dtype) for k in (left, right)]


def asked(sizes):
    """The shape of the third."""
    shapes = {"forward": sizes.places_shape, "by_image": sizes.image_shape, "by_weights": sizes.weights_shape}
    return shapes[sizes.kind]


def written_out(sizes, left, right):
    """The sums as they are written, in float64."""
    _, ph, pw = sizes.padding
    (h, w), (oh, ow) = sizes.image[1:], sizes.places[1:]
    wide = np.zeros((sizes.n, sizes.c, max(h + ph, oh + 2) + 2, max(w + pw, ow + 2) + 2))
    inside = wide[:, :, ph : ph + h, pw : pw + w]
    windows = [wide[:, :, y : y + oh, x : x + ow] for y in range(3) for x in range(3)]
    left, right = left.astype("f8")[:, :, 0], right.astype("f8")[:, :, 0]
    if sizes.kind == "by_image":
        for k, window in enumerate(windows):
            window[...] += np.einsum("nohw,oc->nchw", left, right[:, :, k // 3, k % 3], optimize=True)
        return inside[:, :, None]
    inside[...] = left
    if sizes.kind == "forward":
        taps = right.reshape(*right.shape[:2], 9)
        sums = sum(np.einsum("nchw,oc->nohw", v, taps[:, :, k], optimize=True) for k, v in enumerate(windows))
        return sums[:, :, None]
    taps = [np.einsum("nchw,nohw->oc", window, right, optimize=True) for window in windows]
    return np.stack(taps, -1).reshape(sizes.weights_shape)


def in_python(algorithm):
    """The kernel as Python runs it."""
    scope = {}
    text = text_of(algorithm.kernel).replace(", *rest", "")  # no tail
    exec(compile(text, algorithm.kernel, "exec"), scope)  # noqa: S102 - as the backends do
    return scope["kernel"]


@lru_cache
def compiled(algorithm, dtype):
    number = numba.from_dtype(np.dtype(dtype))
    arrays = [numba.types.Array(number, rank, "C") for rank in (5, 5, 5, 1, 1)]
    signature = numba.void(numba.int64, numba.int64, *arrays, *[numba.int64] * 10)
    return numba_pipeline.build(in_python(algorithm), signature, apart=True)


def run(algorithm, sizes, arrays, cut=None, kernel=None):
    """What a kernel writes, with its span cut in two; it may write nowhere else, and use nothing it has not written."""
    kernel = kernel or compiled(algorithm, sizes.dtype)[0]
    out = np.full(asked(sizes), np.nan, sizes.dtype)
    memory = np.full(algorithm.space(sizes) + 2 * LANES, np.nan, sizes.dtype)
    space, span = memory[LANES:-LANES], algorithm.span(sizes)
    cut = span if cut is None else cut % (span + 1)
    for lo, hi in [(a, b) for a, b in ((0, cut), (cut, span)) if a < b]:
        space[:] = np.nan
        kernel(lo, hi, *arrays, out, np.empty(0, sizes.dtype), space, *sizes.numbers)
    assert np.isnan(memory[:LANES]).all()
    assert np.isnan(memory[-LANES:]).all()
    return out


def some_sizes(kind, rng, dtype="float32", limit=60):
    """Anything that suits: odd lengths, odd channels, paddings that differ on all four sides."""
    while not no_sum_is_empty(found := _any_sizes(kind, rng, dtype, limit)):
        pass
    return found


def _any_sizes(kind, rng, dtype, limit):
    low = LANES if dtype == "float32" else LANES // 2
    c, o = (int(k) for k in rng.integers(low, 80, 2))
    image = tuple(int(k) for k in rng.integers(1, limit + 1, 2))
    padding = tuple(int(k) for k in rng.integers(0, 4, 2))
    after = tuple(max(int(k), 3 - i - p) for k, i, p in zip(rng.integers(0, 4, 2), image, padding, strict=True))
    return sizes_of(kind, int(rng.integers(1, 4)), c, o, image, padding, after, dtype)


# the transforms


@pytest.mark.parametrize("size", [2, 4])
def test_transforms_in_one_direction_give_the_sums_of_three_products(size, rng):
    image_at, taps_at, sums_from = LINES[size]
    points = size + 2
    space = np.zeros(4 * points * LANES)
    d, g = rng.standard_normal(points), rng.standard_normal(3)
    space[: points * LANES : LANES], space[points * LANES : (points + 3) * LANES : LANES] = d, g

    image_at(space, 0, LANES, 2 * points * LANES, LANES)
    taps_at(space, points * LANES, LANES, 3 * points * LANES, LANES)
    space[: points * LANES] = space[2 * points * LANES : 3 * points * LANES] * space[3 * points * LANES :]
    sums_from(space, 0, LANES, points * LANES, LANES)

    np.testing.assert_allclose(space[points * LANES :: LANES][:size], np.convolve(d, g[::-1], "valid"), rtol=1e-12)


@pytest.mark.parametrize("shape", [(LANES, LANES), (LANES, 3), (5, LANES), (1, 1)])
def test_turn_transposes_a_block_and_touches_nothing_else(shape, rng):
    a, b = rng.standard_normal((LANES, 40)).astype("f4"), np.zeros((LANES, 50), "f4")

    turn(a, 3, 40, b, 7, 50, *shape)

    rows, columns = shape
    np.testing.assert_array_equal(b[:columns, 7 : 7 + rows], a[:rows, 3 : 3 + columns].T)
    assert np.count_nonzero(b) == rows * columns


# the sums


@EVERY
@pytest.mark.parametrize("image", [(1, 1), (3, 5)])
def test_python_runs_the_kernel_as_it_stands(algorithm, image, rng):
    sizes = sizes_of(algorithm.kind, 2, LANES, LANES + 1, image, (1, 1), (1, 1), "float64")
    arrays = given(sizes, rng)

    sums = run(algorithm, sizes, arrays, kernel=in_python(algorithm))

    np.testing.assert_allclose(sums, written_out(sizes, *arrays), rtol=0, atol=1e-11)


@EVERY
@pytest.mark.parametrize("seed", range(5))
def test_sums_are_right_to_the_stated_error_at_any_size(algorithm, seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        sizes = some_sizes(algorithm.kind, rng, limit=60 if seed else 7)
        arrays = given(sizes, rng)
        assert algorithm.suits(sizes)

        sums, exact = run(algorithm, sizes, arrays), written_out(sizes, *arrays)

        assert np.abs(sums - exact).max() <= ERROR[algorithm.name, "float32"] * np.abs(exact).max(), sizes


@EVERY
def test_double_precision_is_right_to_the_stated_error(algorithm, rng):
    for _ in range(4):
        sizes = some_sizes(algorithm.kind, rng, "float64", 30)
        arrays = given(sizes, rng)

        sums, exact = run(algorithm, sizes, arrays), written_out(sizes, *arrays)

        assert np.abs(sums - exact).max() <= ERROR[algorithm.name, "float64"] * np.abs(exact).max(), sizes


@EVERY
def test_many_channels_do_not_make_the_error_grow(algorithm, rng):
    sizes = sizes_of(algorithm.kind, 1, 512, 512, (6, 6), (1, 1), (1, 1))
    arrays = given(sizes, rng)

    sums, exact = run(algorithm, sizes, arrays), written_out(sizes, *arrays)

    assert np.abs(sums - exact).max() <= ERROR[algorithm.name, "float32"] * np.abs(exact).max()


@EVERY
def test_sums_are_bit_equal_however_the_span_is_cut(algorithm, rng):
    sizes = sizes_of(algorithm.kind, 3, 70, 101, (33, 50), (1, 1), (1, 1))
    arrays = given(sizes, rng)
    whole = run(algorithm, sizes, arrays)
    assert algorithm.span(sizes) > 2

    for cut in (1, 2):
        np.testing.assert_array_equal(run(algorithm, sizes, arrays, cut), whole)


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a.prepare], ids=lambda a: a.kind)
@pytest.mark.parametrize("n", [1, 3])
def test_threads_that_share_the_patches_get_the_same_bits(algorithm, n, rng, monkeypatch):
    backend, size = backends.get("numba"), 2 * LANES + 3
    sizes, found = sizes_of(algorithm.kind, n, size, size, (13, 10), (1, 1), (1, 1)), set()
    left, right = given(sizes, rng)
    for count in (1, 2, 3):
        monkeypatch.setattr(winograd, "threads", lambda count=count: count)
        out = np.full(asked(sizes), np.nan, np.float32)
        assert (algorithm.prepared(sizes) > 0) == (count > 1)
        Alone(algorithm, sizes, backend)(left, right, out)
        found.add(out.tobytes())
        np.testing.assert_allclose(out, written_out(sizes, left, right), atol=1e-3)

    assert len(found) == 1


@EVERY
def test_an_image_of_small_whole_numbers_gives_nearly_whole_sums(algorithm, rng):
    """A number that anyone can check: ones everywhere, 9 c in the middle, 4 c in a corner."""
    sizes = sizes_of(algorithm.kind, 1, 32, 32, (9, 9), (1, 1), (1, 1))

    sums = run(algorithm, sizes, [np.ones_like(a) for a in given(sizes, rng)])

    if algorithm.kind == "by_weights":  # the tap in the middle meets all 9 x 9 places, one in a corner 8 x 8
        np.testing.assert_allclose(sums[0, 0, 0], [[64, 72, 64], [72, 81, 72], [64, 72, 64]], rtol=1e-5)
        return
    np.testing.assert_allclose(sums[0, :, 0, 4, 4], 9 * 32, rtol=1e-5)
    np.testing.assert_allclose(sums[0, :, 0, 0, 0], 4 * 32, rtol=1e-5)
    np.testing.assert_allclose(sums[0, :, 0, 8, 3], 6 * 32, rtol=1e-5)


# what is too large for a tile


def spoilt(kind, dtype, number, rng):
    """Sizes, arrays of which one number is another, the sums without it, and which sums see it."""
    sizes = some_sizes(kind, rng, dtype, 20)
    arrays, side = given(sizes, rng), int(rng.integers(0, 2)) if kind == "by_weights" else 0
    where = tuple(int(rng.integers(0, length)) for length in arrays[side].shape)
    sums, marks = written_out(sizes, *arrays), [np.ones_like(a) for a in arrays]
    marks[side][...] = 0
    arrays[side][where] = number
    marks[side][where] = 1
    return sizes, arrays, sums, written_out(sizes, *marks) != 0


@EVERY
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [1e4, -1e6, 1e30])
def test_a_number_that_is_far_larger_than_others_stays_in_the_windows_that_see_it(algorithm, dtype, number):
    for seed in range(12):
        sizes, arrays, exact, seen = spoilt(algorithm.kind, dtype, number, np.random.default_rng(seed))

        sums = run(algorithm, sizes, arrays)

        error = np.abs(sums - exact)[~seen].max(initial=0)
        assert error <= ERROR[algorithm.name, dtype] * np.abs(exact).max(), sizes


@EVERY
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_infinity_and_nan_are_where_they_are_in_sums_that_are_written_out(algorithm, number):
    other = next(a for a in im2col_gemm.ALGORITHMS if a.kind == algorithm.kind)
    for seed in range(6):
        sizes, arrays, _, _ = spoilt(algorithm.kind, "float32", number, np.random.default_rng(seed))
        found = [np.full(asked(sizes), 7, np.float32) for _ in range(2)]

        for one, out in zip((algorithm, other), found, strict=True):
            Alone(one, sizes, backends.get("numba"))(*arrays, out)

        np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-3)


@EVERY
def test_an_infinite_tap_reaches_the_sums_of_its_channels_only(algorithm, rng):
    sizes = sizes_of(algorithm.kind, 1, 2 * LANES, 2 * LANES, (9, 9), (0, 0), (0, 0))
    arrays = given(sizes, rng)
    arrays[1][(0, 5, 0, 1, 1) if algorithm.kind == "by_weights" else (3, 5, 0, 1, 1)] = np.inf

    sums = run(algorithm, sizes, arrays)

    spoilt = {"forward": np.s_[:, 3], "by_image": np.s_[:, 5], "by_weights": np.s_[5]}[algorithm.kind]
    assert not np.isfinite(sums[spoilt]).all()
    sums[spoilt] = 0
    assert np.isfinite(sums).all()


@EVERY
def test_a_hole_of_small_numbers_keeps_its_small_sums(algorithm, rng):
    """The other way round: one window of numbers of size 1 in a sea of 1e6."""
    if algorithm.kind == "by_weights":
        pytest.skip("a tap is a sum over all places: none of them sees small numbers alone")
    sizes = sizes_of(algorithm.kind, 1, LANES, LANES, (21, 21), (1, 1), (1, 1))
    for y, x in ((4, 5), (7, 6), (9, 8), (10, 11)):
        arrays = given(sizes, rng)
        arrays[0][..., y : y + 3, x : x + 3] *= 1e-6
        arrays[0] *= 1e6

        error = np.abs(run(algorithm, sizes, arrays) - written_out(sizes, *arrays))

        assert error[0, :, 0, y + 1, x + 1].max() < 1e-3


@EVERY
def test_uneven_numbers_give_the_same_bits_however_the_span_is_cut(algorithm, rng):
    sizes = sizes_of(algorithm.kind, 3, 70, 101, (33, 50), (1, 1), (1, 1))
    arrays = given(sizes, rng)
    arrays[0][1, 7, 0, 5, 6] = arrays[1][0, 40, 0, 0, 0] = 1e6
    whole = run(algorithm, sizes, arrays)

    for cut in (1, 2, algorithm.span(sizes) - 1):
        np.testing.assert_array_equal(run(algorithm, sizes, arrays, cut), whole)


@EVERY
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ordinary_numbers_are_never_written_out(algorithm, dtype, monkeypatch):
    """Half of them zero, as behind a ReLU, at borders of every kind: the slow way costs four times as many products.

    As many channels on every machine: the fewer, the more often a cell has only small numbers by chance.
    """
    asked_for = []
    count = winograd_tiles.products
    monkeypatch.setattr(
        winograd_tiles, "products", lambda layout, plain: asked_for.append(plain) or count(layout, plain)
    )
    low = 32 if dtype == "float32" else 16
    for seed in range(2):
        rng = np.random.default_rng(seed)
        border = (int(rng.integers(0, 3)), int(rng.integers(0, 3)))
        sizes = sizes_of(algorithm.kind, 1, low, low, (5, 7), border, border, dtype)
        arrays = [np.maximum(a, 0) if a.shape[3:] != (3, 3) else a for a in given(sizes, rng)]

        run(algorithm, sizes, arrays, kernel=in_python(algorithm))

    assert not any(asked_for)
    assert asked_for or algorithm.kind == "by_weights"  # whose kernel has its own


# when


@EVERY
def test_it_suits_plain_3_x_3_windows_with_a_vector_of_channels(algorithm):
    def suits(**changes):
        plain = {
            "kind": algorithm.kind, "n": 1, "c": 64, "o": 64, "groups": 1, "image": (1, 9, 9), "kernel": (1, 3, 3),
            "places": (1, 7, 7), "stride": (1, 1, 1), "padding": (0, 0, 0), "dilation": (1, 1, 1),
        }  # fmt: skip
        return algorithm.suits(Sizes(**(plain | changes)))

    assert suits()
    assert not suits(groups=2)
    assert not suits(c=LANES - 1)
    assert not suits(o=LANES - 1)
    assert not suits(stride=(1, 1, 2), places=(1, 7, 4))
    assert not suits(dilation=(1, 2, 1), places=(1, 5, 7))
    assert not suits(kernel=(1, 3, 1), places=(1, 7, 9))
    assert not suits(kernel=(3, 3, 3), image=(9, 9, 9), places=(7, 7, 7))
    assert not suits(padding=(1, 0, 0), places=(3, 7, 7))


def test_a_function_inside_a_kernel_has_no_machine_code_of_its_own(monkeypatch):
    made = []
    add = codegen.JITCPUCodegen._add_module
    monkeypatch.setattr(codegen.JITCPUCodegen, "_add_module", lambda self, m: made.append(m.name) or add(self, m))

    @inlined
    def twice(x):
        return 2 * x

    @inlined
    def four_times(x):
        return twice(twice(x))

    def kernel(lo, hi, x):
        for i in range(lo, hi):
            x[i] = four_times(x[i])

    call, frozen = numba_pipeline.build(kernel, numba.void(numba.int64, numba.int64, numba.float64[::1]))

    assert made == []  # numba runs nothing by itself
    assert b"twice" not in frozen and b"four_times" not in frozen
    for run_it in (call, code_loader.thaw(frozen)):
        x = np.arange(5.0)
        run_it(1, 4, x)
        assert x.tolist() == [0, 4, 8, 12, 4]


@EVERY
def test_another_process_can_run_the_compiled_kernel(algorithm, rng):
    sizes = sizes_of(algorithm.kind, 1, 20, 20, (7, 7), (1, 1), (1, 1))
    arrays = given(sizes, rng)
    frozen = compiled(algorithm, sizes.dtype)[1]
    assert frozen is not None

    sums = run(algorithm, sizes, arrays, kernel=code_loader.thaw(frozen))

    np.testing.assert_array_equal(sums, run(algorithm, sizes, arrays))


@pytest.mark.parametrize("kind", ["forward", "by_image"])
def test_the_estimate_knows_when_larger_tiles_are_worth_it(kind):
    two, four = (a for a in ALGORITHMS if a.kind == kind)
    assert (two.name, four.name) == ("winograd2", "winograd4")
    large = sizes_of(kind, 8, 128, 128, (56, 56), (1, 1), (1, 1))
    tiny = sizes_of(kind, 1, 256, 256, (2, 2), (1, 1), (1, 1))

    assert four.seconds(large) < 0.7 * two.seconds(large)
    assert two.seconds(tiny) < four.seconds(tiny)
    assert four.seconds(large) < large.flops / 1.5e11


PAYS = {  # as measured with vectors of so many numbers
    16: [(1, 256, 14, False), (4, 512, 7, False), (4, 256, 14, True)],
    8: [(1, 512, 7, False), (4, 512, 7, True), (4, 256, 14, True)],
}


@pytest.mark.parametrize(("n", "c", "side", "pays"), PAYS[16 if LANES == 16 else 8])
def test_by_weights_many_channels_of_few_tiles_are_left_to_panels(n, c, side, pays):
    sizes = sizes_of("by_weights", n, c, c, (side, side), (1, 1), (1, 1))
    mine = next(a for a in ALGORITHMS if a.kind == "by_weights")
    other = next(a for a in im2col_gemm.ALGORITHMS if a.kind == "by_weights")

    assert (mine.seconds(sizes) < other.seconds(sizes)) == pays
