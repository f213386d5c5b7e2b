"""`dots` multiplies rows with rows, of any number and length, in Python and in machine code, and touches no others."""

from functools import lru_cache

import numba
import numpy as np
import pytest

from jt_edu.backends import code_loader, numba_pipeline
from jt_edu.backends.convolve.gemm_microkernel import LANES, ROWS, VECTORS
from jt_edu.backends.convolve.skinny_gemm import dots
from tests.floors.backends.convolve.test_gemm_microkernel import BOTH, ERROR, NUMBERS, inside


def kernel(a, a_start, a_row, b, b_start, b_row, c, c_start, c_row, rows, columns, depth, fresh):
    dots(a, a_start, a_row, b, b_start, b_row, c, c_start, c_row, rows, columns, depth, fresh)


@lru_cache
def built(dtype):
    array = numba.types.Array(numba.from_dtype(np.dtype(dtype)), 2, "C")
    kinds = [*[array, numba.int64, numba.int64] * 3, *[numba.int64] * 3, numba.boolean]
    return numba_pipeline.build(kernel, numba.void(*kinds))


@BOTH
@NUMBERS
@pytest.mark.parametrize("rows", [1, 2, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 3])
def test_rows_of_any_number_and_length_are_multiplied_and_nothing_beside_them_is_touched(compiled, dtype, rows):
    rng, run = np.random.default_rng(rows), built(dtype)[0] if compiled else kernel
    for columns in (1, VECTORS - 1, VECTORS, VECTORS + 1, 3 * VECTORS + 2):
        for depth, fresh in zip((0, 1, LANES - 1, LANES, 2 * LANES + 3, 40), [True, True, False] * 2, strict=True):
            a, a_start, a_row = inside(rng, dtype, rows, depth)
            b, b_start, b_row = inside(rng, dtype, columns, depth)
            c, c_start, c_row = inside(rng, dtype, rows, columns)
            want = c.astype("f8")
            product = a[1:-1, 3:-2].astype("f8") @ b[1:-1, 3:-2].astype("f8").T
            want[1:-1, 3:-2] = product if fresh else want[1:-1, 3:-2] + product

            run(a, a_start, a_row, b, b_start, b_row, c, c_start, c_row, rows, columns, depth, fresh)

            np.testing.assert_allclose(c, want, rtol=0, atol=40 * ERROR[dtype])


@NUMBERS
def test_the_machine_code_is_the_same_in_another_process(dtype):
    _, frozen = built(dtype)
    run, rng = code_loader.thaw(frozen), np.random.default_rng(1)
    a, b = (rng.standard_normal((rows, 50)).astype(dtype) for rows in (3, 9))
    c, again = np.empty((3, 9), dtype), np.empty((3, 9), dtype)

    run(a, 0, 50, b, 0, 50, c, 0, 9, 3, 9, 50, True)
    built(dtype)[0](a, 0, 50, b, 0, 50, again, 0, 9, 3, 9, 50, True)

    np.testing.assert_array_equal(c, again)
