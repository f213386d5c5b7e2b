"""Rows of numbers come where they are wanted, with zeros before and behind, though one begins where another ends."""

from functools import lru_cache

import numba
import numpy as np
import pytest

from jt_edu.backends import numba_pipeline
from jt_edu.backends.convolve.copy_rows import place_rows
from jt_edu.backends.convolve.gemm_microkernel import LANES

BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["python", "numba"])
GUARD = 12345.0  # behind what may be written


def kernel(source, s, s_row, step, target, t, t_row, rows, before, inside, after):
    place_rows(source, s, s_row, step, target, t, t_row, rows, before, inside, after)


@lru_cache
def built(dtype):
    array, whole = numba.types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C"), numba.int64
    kinds = [array, *[whole] * 3, array, *[whole] * 6]
    return numba_pipeline.build(kernel, numba.void(*kinds))[0]


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_rows_that_touch_each_other_are_all_there(compiled, dtype, step):
    rng = np.random.default_rng(step)
    run = built(dtype) if compiled else kernel
    for inside in (0, 1, LANES - 2, LANES, LANES + 1, 3 * LANES + 5, 9 * LANES + 1):
        for before, after in [(0, 0), (2, 0), (0, 3), (LANES + 1, LANES + 2)]:
            source = rng.standard_normal(5 * (inside * step + 3) + 9).astype(dtype)
            wide, rows, far = before + inside + after, 5, inside * step + 3
            target = np.full(7 + rows * wide + LANES, GUARD, dtype)
            want = np.zeros((rows, wide), dtype)
            for r in range(rows):
                want[r, before : before + inside] = source[4 + r * far :][: inside * step : step]

            run(source, 4, far, step, target, 7, wide, rows, before, inside, after)

            np.testing.assert_array_equal(target[7 : 7 + rows * wide].reshape(rows, wide), want)
            assert (target[:7] == GUARD).all()
