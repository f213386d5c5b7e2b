"""`tile` multiplies blocks of any size and step, in Python and in machine code, and touches nothing beside them."""

from functools import lru_cache

import numba
import numpy as np
import pytest

from jt_edu.backends import code_loader, numba_pipeline
from jt_edu.backends.convolve import llvm as module
from jt_edu.backends.convolve.gemm_microkernel import LANES, ROWS, VECTORS, WIDTH, lanes, tile, tile_at

BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["python", "numba"])
NUMBERS = pytest.mark.parametrize("dtype", ["float32", "float64"])
ERROR = {"float32": 2e-6, "float64": 4e-15}  # of sums of up to 40 products of numbers around 1


def kernel(a, a_start, a_row, a_step, b, b_start, b_row, c, c_start, c_row, rows, columns, depth, fresh, told):
    tile(a, a_start, a_row, a_step, b, b_start, b_row, c, c_start, c_row, rows, columns, depth, fresh)
    told[0] = lanes(c)


def kernel_at(a, a_start, a_row, b, b_start, table, t_start, c, c_start, c_row, rows, columns, depth):
    tile_at(a, a_start, a_row, b, b_start, table, t_start, c, c_start, c_row, rows, columns, depth)


@lru_cache
def built_at(dtype):
    array, whole = numba.types.Array(numba.from_dtype(np.dtype(dtype)), 2, "C"), numba.int64
    kinds = [array, whole, whole, array, whole, array, whole, array, *[whole] * 5]
    return numba_pipeline.build(kernel_at, numba.void(*kinds))[0]


@lru_cache
def built(dtype):
    array = numba.types.Array(numba.from_dtype(np.dtype(dtype)), 2, "C")
    wholes = [numba.int64] * 3
    kinds = [array, *wholes, array, *wholes[:2], array, *wholes[:2], *wholes, numba.boolean, numba.int64[::1]]
    return numba_pipeline.build(kernel, numba.void(*kinds))


def run(compiled, *arguments):
    """Multiply; how many lanes a vector of c has."""
    told = np.zeros(1, "i8")
    function = built(str(arguments[0].dtype))[0] if compiled else kernel
    function(*arguments, told)
    return told[0]


def inside(rng, dtype, rows, columns):
    """A matrix in the middle of a larger array of NaN: the array, where the matrix begins, the step from row to row."""
    array = np.full((rows + 2, columns + 5), np.nan, dtype)
    array[1:-1, 3:-2] = rng.standard_normal((rows, columns))
    return array, columns + 5 + 3, columns + 5


@BOTH
@NUMBERS
@pytest.mark.parametrize("rows", [1, 2, 3, ROWS - 1, ROWS, ROWS + 1, ROWS + 2, 2 * ROWS + 5])
def test_a_block_of_any_size_is_multiplied_and_nothing_beside_it_is_touched(compiled, dtype, rows):
    rng = np.random.default_rng(rows)
    sides = {1, LANES - 1, LANES, LANES + 1, WIDTH - 1, WIDTH, WIDTH + 1, WIDTH + LANES - 1, 2 * WIDTH + LANES // 2}
    for columns in sides:
        for depth, fresh in [(1, True), (7, False), (40, True), (0, True), (0, False)]:
            a, a_start, a_row = inside(rng, dtype, rows, depth)
            b, b_start, b_row = inside(rng, dtype, depth, columns)
            c, c_start, c_row = inside(rng, dtype, rows, columns)
            want = c.astype("f8")
            product = a[1:-1, 3:-2].astype("f8") @ b[1:-1, 3:-2].astype("f8")
            want[1:-1, 3:-2] = product if fresh else want[1:-1, 3:-2] + product

            run(compiled, a, a_start, a_row, 1, b, b_start, b_row, c, c_start, c_row, rows, columns, depth, fresh)

            np.testing.assert_allclose(c, want, rtol=0, atol=40 * ERROR[dtype])


@BOTH
@NUMBERS
def test_the_left_matrix_may_be_transposed_and_flipped_where_it_lies(compiled, dtype):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((9, 11)).astype(dtype)  # (depth, rows)
    b, c = rng.standard_normal((9, 20)).astype(dtype), np.full((11, 20), np.nan, dtype)

    run(compiled, a, 8 * 11, 1, -11, b, 0, 20, c, 0, 20, 11, 20, 9, True)

    np.testing.assert_allclose(c, a[::-1].T.astype("f8") @ b, rtol=0, atol=40 * ERROR[dtype])


@BOTH
@NUMBERS
@pytest.mark.parametrize("rows", [1, 3, 4, ROWS, 2 * ROWS + 3])
def test_rows_of_the_right_matrix_begin_wherever_a_table_says(compiled, dtype, rows):
    rng = np.random.default_rng(rows)
    for columns in (LANES, LANES + 3, WIDTH, 2 * WIDTH + LANES + 5):
        begins = rng.integers(0, 50, 23)  # any order, overlapping, some twice
        a, a_start, a_row = inside(rng, dtype, rows, 23)
        b, table = rng.standard_normal((2, 100 + columns)).astype(dtype), np.full((1, 30), np.nan, dtype)
        table[0, 4:27] = begins
        c, c_start, c_row = inside(rng, dtype, rows, columns)
        want = c.astype("f8")
        seen = np.stack([b.reshape(-1)[7 + begin :][:columns] for begin in begins]).astype("f8")
        want[1:-1, 3:-2] = a[1:-1, 3:-2].astype("f8") @ seen

        run_at = built_at(dtype) if compiled else kernel_at
        run_at(a, a_start, a_row, b, 7, table, 4, c, c_start, c_row, rows, columns, 23)

        np.testing.assert_allclose(c, want, rtol=0, atol=40 * ERROR[dtype])


@NUMBERS
def test_both_backends_say_how_many_numbers_a_vector_has(dtype):
    one = np.ones((1, 1), dtype)

    told = [run(compiled, one, 0, 1, 1, one, 0, 1, one.copy(), 0, 1, 1, 1, 1, True) for compiled in (False, True)]

    assert told == [LANES * 4 // one.itemsize] * 2


@pytest.mark.parametrize("rows", [4, ROWS])
def test_a_row_is_the_same_sum_whichever_rows_it_is_computed_with(rows):
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((rows, 99)).astype("f4"), rng.standard_normal((99, WIDTH)).astype("f4")
    together, alone = np.empty((rows, WIDTH), "f4"), np.empty((rows, WIDTH), "f4")

    run(True, a, 0, 99, 1, b, 0, WIDTH, together, 0, WIDTH, rows, WIDTH, 99, True)
    for r in range(rows):
        run(True, a, r * 99, 99, 1, b, 0, WIDTH, alone, r * WIDTH, WIDTH, 1, WIDTH, 99, True)

    np.testing.assert_array_equal(together, alone)


def test_the_compiled_block_can_be_kept_and_read_again():
    _, frozen = built("float32")

    again = code_loader.thaw(frozen)
    c = np.empty((1, WIDTH), "f4")
    again(
        np.ones((1, 3), "f4"),
        0,
        3,
        1,
        np.ones((3, WIDTH), "f4"),
        0,
        WIDTH,
        c,
        0,
        WIDTH,
        1,
        WIDTH,
        3,
        True,
        np.zeros(1, "i8"),
    )

    np.testing.assert_array_equal(c, 3)


@pytest.mark.parametrize(
    ("features", "machine", "shape"),
    [
        ({"avx512f": True, "avx2": True}, "x86_64", (16, 6, 4)),
        ({"avx2": True}, "AMD64", (8, 6, 2)),
        ({}, "x86_64", (4, 6, 2)),
        ({}, "arm64", (4, 6, 4)),
    ],
)
def test_a_block_fits_into_the_registers_of_the_machine(monkeypatch, features, machine, shape):
    monkeypatch.setattr(module.binding, "get_host_cpu_features", lambda: features)
    monkeypatch.setattr(module.platform, "machine", lambda: machine)

    found = module._shape()

    registers = 32 if machine == "arm64" or "avx512f" in features else 16
    _, rows, vectors = found
    assert found == shape
    assert rows * vectors + vectors <= registers
    assert (LANES, ROWS, VECTORS) in {(16, 6, 4), (8, 6, 2), (4, 6, 2), (4, 6, 4)}
