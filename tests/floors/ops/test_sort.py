"""Long rows are sorted by digits, short ones by merging; the few largest are found without sorting. All agree."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ops.sort import FEW, LONG
from tests.house.plan import ROOT

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


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_the_first_few_of_many_blocks_are_the_first_of_all(rng, dtype, largest):
    x = np.concatenate([odd_rows(rng, dtype, 1000), np.sort(odd_rows(rng, dtype, 1000), 1)])

    found = jt.topk(jt.array(x), 3, 1, largest)[1].numpy()

    np.testing.assert_array_equal(found, in_order(x, largest)[:, :3])


# -------------------------------------------------------------------------------------------- numbers without positions


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("n", [5, LONG + 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_alone_are_sorted_as_with_their_positions(rng, backend, dtype, n):
    x = odd_rows(rng, dtype, max(n, 8)).T.copy()

    with jt.flag_scope(backend=backend):
        found, once = jt.msort(jt.array(x)).numpy(), jt.unique(jt.array(x)).numpy()

    want = np.take_along_axis(x, np.argsort(x, 0, kind="stable"), 0)
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(want))  # -0.0 and 0.0 keep their order
    np.testing.assert_array_equal(once, np.unique(x))


def test_gradients_of_sorted_numbers_go_to_where_these_came_from(rng):
    x, w = (jt.array(rng.standard_normal((LONG + 9, 2))) for _ in range(2))

    def twice(ordered):
        g = jt.grad((ordered(x) ** 3 * w).sum(), x)
        return g, jt.grad((g * g * w).sum(), x)

    for found, want in zip(twice(jt.msort), twice(lambda v: jt.sort(v, 0)[0]), strict=True):
        np.testing.assert_allclose(found.numpy(), want.numpy(), 1e-12)


# ------------------------------------------------------------------------------------------------------------ searching


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(("rows", "edges", "values"), [(1, 0, 5), (1, 1, 5), (3, 7, 1000), (300, 99, 3), (2, 257, 513)])
def test_blocks_of_values_are_searched_for_as_each_alone(rng, rows, edges, values, right):
    e, v = np.sort(rng.integers(0, 90, (rows, edges)), 1), rng.integers(-5, 95, (rows, values))

    found = jt.searchsorted(jt.array(e), jt.array(v), right=right).numpy()

    side = "right" if right else "left"
    np.testing.assert_array_equal(found, [np.searchsorted(a, b, side) for a, b in zip(e, v, strict=True)])


FIRST_SORT = """
import numpy as np
from numba.core import event
import jt_edu as jt

x = jt.array(np.arange(600.0).reshape(2, 300))
with event.install_recorder("numba:compile") as record:
    jt.sync([x.argsort(1), x[:, :9].argsort(1), jt.msort(x)])
print(*sorted({str(e.data["dispatcher"]) for _, e in record.buffer}), sep="\\n")
"""


def test_the_first_sort_compiles_nothing_that_writes_words(tmp_path):
    """Numba's `np.empty` and `row[:] = other` bring some twenty functions for their errors: three seconds."""
    env = {**os.environ, "JT_EDU_CACHE": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", FIRST_SORT], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )

    names = said.stdout.splitlines()
    assert sum("kernel_" in name for name in names) >= 1, said.stdout
    assert len(names) <= 8, said.stdout
