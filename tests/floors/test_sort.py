"""Long rows are sorted by digits, short ones by merging; the few largest are found without sorting. All agree."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ops.sort import FEW, LONG

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


def odd_rows(rng, dtype, n):
    """Two rows: everything that the dtype holds, and few numbers many times; with nan, both zeros and infinities."""
    if dtype == "bool":
        return rng.random((2, n)) > 0.5
    if np.dtype(dtype).kind != "f":
        span = np.iinfo(dtype)
        return np.stack([rng.integers(span.min, span.max, n, dtype, endpoint=True), rng.integers(0, 5, n, dtype)])
    x = rng.standard_normal((2, n)).astype(dtype)
    x[0, ::7], x[0, 3::11], x[0, 4::11] = np.nan, -0.0, 0.0
    x[1, :8] = [np.inf, -np.inf, -np.nan, np.nan, 1.5, 1.5, -0.0, 0.0]
    return x


def in_order(x, descending):
    """NumPy's positions; falling, equal numbers keep their order and nan comes first."""
    if not descending:
        return np.argsort(x, 1, kind="stable")
    back = x.shape[1] - 1 - np.argsort(x[:, ::-1], 1, kind="stable")
    return back[:, ::-1]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_rows_are_sorted_like_short_ones(rng, backend, dtype, descending):
    x = odd_rows(rng, dtype, LONG + 3)

    with jt.flag_scope(backend=backend):
        found = jt.argsort(jt.array(x), 1, descending).numpy()

    np.testing.assert_array_equal(found, in_order(x, descending))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_long_rows_of_halves_are_sorted(rng, dtype):
    x = jt.array(rng.standard_normal((1, LONG)).astype("float32")).cast(dtype)

    found = jt.argsort(x, 1).numpy()

    np.testing.assert_array_equal(found, in_order(x.cast("float32").numpy(), descending=False))


@pytest.mark.parametrize("many", [1, 5, FEW, FEW + 1])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_the_first_few_are_the_first_of_all(rng, dtype, largest, many):
    x = odd_rows(rng, dtype, 80)

    with jt.flag_scope(backend="python"):
        found = jt.topk(jt.array(x), many, 1, largest)[1].numpy()

    np.testing.assert_array_equal(found, in_order(x, largest)[:, :many])


def test_a_row_with_as_many_as_are_asked_for():
    with jt.flag_scope(backend="python"):
        values, where = jt.topk(jt.array([[2.0, 3.0, 1.0]]), 3)

    assert (values.tolist(), where.tolist()) == ([[3, 2, 1]], [[1, 0, 2]])


@pytest.mark.parametrize("many", [0, FEW + 1])
def test_none_and_many_are_found_by_sorting(many):
    with jt.flag_scope(backend="python"), jt.trace() as t:
        jt.topk(jt.arange(40), many)[1].sync()

    assert "topk" not in [k.name for k in t.kernels]
