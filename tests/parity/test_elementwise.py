"""Element functions, operators, casts and promotion: NumPy's numbers and NumPy's dtypes."""

import itertools
import operator

import numpy as np
import pytest

import jt_edu as jt
from tests.parity.inputs import COMPLEX, EVERY, FLOATS, HALVES, LAYOUTS, both, draw, expect_same, refuses, seed_of
from tests.parity.table import BINARY, ELEMENTWISE, UNARY

ALL_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "complex64", "complex128")  # fmt: skip


@pytest.fixture(autouse=True)
def _python_backend():
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(
    ("row", "dtype"),
    [pytest.param(r, d, id=f"{r.name}-{d}") for r in ELEMENTWISE if r.numpy for d in r.dtypes],
)
def test_numbers_and_dtypes_are_numpys(row, dtype):
    for shapes in row.shapes:
        for layout, _, _ in LAYOUTS if shapes in (((3, 4),), ((3, 1), (1, 4)), ((2, 3), (2, 3))) else LAYOUTS[:1]:
            seed = seed_of(row.name, shapes, dtype)
            pairs = [both(seed + k, shape, dtype, row.domain, layout) for k, shape in enumerate(shapes)]

            ours, theirs = row.ours(*(a for a, _ in pairs)), row.numpy(*(b for _, b in pairs))

            expect_same(ours, theirs, dtypes=(dtype,), loose=row.loose, what=f"{row.name} {shapes} {layout}, seed {seed}")
