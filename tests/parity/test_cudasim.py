"""Every row of every family: the kernels of a GPU give the same numbers, and nothing is wrong with one."""

import math

import numpy as np
import pytest

import jt_edu as jt
from tests.parity.families import families
from tests.parity.test_families import _compare, _dtypes

ROWS = [(family, row) for family, rows in families().items() if family != "core" for row in rows]
LIKED = ("float32", "int64", "complex64", "bool")


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{family}-{r.name}") for family, r in ROWS])
def test_numbers_and_dtypes_of_kernels_of_a_gpu(torch, row):
    """The smallest shape with something in it: races show there as well, for each access is looked at."""
    dtype = next((d for d in LIKED if d in _dtypes(row)), _dtypes(row)[0])
    shapes = min(row.shapes, key=lambda s: (min((math.prod(x) for x in s), default=1) < 2, sum(map(math.prod, s))))
    with jt.flag_scope(backend="cudasim"), np.errstate(all="ignore"):
        _compare(row._replace(loose=row.loose * 4), dtype, shapes, "plain", torch)
