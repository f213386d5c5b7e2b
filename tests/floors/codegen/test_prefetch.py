"""Reach: what is read early and what goes past the caches changes no answer; and where it is done, and where not."""

import numba
import numpy as np
import pytest

import jt_edu as jt
from jt_edu.backends import mathlib


def table(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@pytest.fixture(params=[1, 2])
def threads(request):
    before = jt.get_num_threads()
    jt.set_num_threads(request.param)
    yield request.param
    jt.set_num_threads(before)


def test_an_index_array_is_read_before_the_loop_in_which_it_stays_the_same(rng, threads):
    a, rows = table(rng, 300, 700), rng.integers(-300, 300, 500)
    x = jt.array(a)

    with jt.trace() as t:
        y = x[jt.array(rows)]
        found, back = y.numpy(), jt.grad((y * y).sum(), x).numpy()

    want = np.zeros((300, 700))
    np.add.at(want, rows, 2.0 * a[rows])
    np.testing.assert_array_equal(found, a[rows])
    np.testing.assert_allclose(back, want, 1e-6, 1e-6)
    for kernel in (t.kernels[0], t.kernels[-1]):
        before, found_there, inside = kernel.source.partition("j0 = wrap(")
        assert found_there
        assert "wrap(" not in inside.partition("\n")[2]
        assert "for i" in before


def test_an_index_array_that_is_read_under_a_condition_is_read_there(rng, threads):
    a, rows = table(rng, 20, 600), rng.integers(0, 20, 50)

    with jt.trace() as t:
        found = jt.pad(jt.array(a)[jt.array(rows)], ((3, 4), (0, 0)), value=7).numpy()

    np.testing.assert_array_equal(found, np.pad(a[rows], ((3, 4), (0, 0)), constant_values=7))
    assert "= wrap(" not in t.kernels[-1].source


@pytest.mark.parametrize(("n", "early"), [(100, False), (1000, True), (5000, False)])
def test_the_next_row_is_asked_for_where_several_loops_read_one(rng, threads, n, early):
    a = table(rng, 9, n)

    with jt.trace() as t:
        found = jt.softmax(jt.array(a), 1).numpy()

    e = np.exp(a - a.max(1, keepdims=True).astype(np.float64))
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), 2e-6)
    assert ("ahead(a0, i0 + 1)" in t.kernels[0].source) == early


def test_an_array_without_axes_has_no_next_row(rng):
    a, on = table(rng, 9, 1000), (jt.array(np.float32(2.5)) < 3).sync()

    found = jt.pad((jt.array(a) > 0) & on, ((0, 0), (1, 1)), value=1).argmin(1).numpy()

    np.testing.assert_array_equal(found, np.pad(a > 0, ((0, 0), (1, 1)), constant_values=True).argmin(1))


def test_one_loop_over_a_row_asks_for_nothing(rng):
    with jt.trace() as t:
        jt.array(table(rng, 9, 1000)).sum(1).sync()

    assert "ahead" not in t.kernels[0].source


def test_to_ask_for_a_row_changes_nothing_and_beyond_the_last_there_is_none(rng):
    a = table(rng, 3, 50)
    kept = a.copy()
    kind = numba.types.Array(numba.float32, 2, "C")
    compiled = numba.njit(numba.void(kind, numba.int64))(lambda rows, k: mathlib.ahead(rows, k))

    for ask in (mathlib.ahead, compiled):
        for k in (0, 2, 3, 1 << 40):
            ask(a, k)

    np.testing.assert_array_equal(a, kept)


@pytest.mark.parametrize(
    ("shape", "work", "past"),
    [
        ((4000, 1000), lambda x: x * 2 + x, True),  # one row
        ((4000, 1000), lambda x: x - x.mean(1, keepdims=True), False),  # rows that end amid a line
        ((4000, 1024), lambda x: x - x.mean(1, keepdims=True), True),
        ((1000, 4000), lambda x: x - x.mean(1, keepdims=True), True),
        ((2000, 2000), lambda x: x.flip(1), False),  # only moved
        ((2000, 2000), lambda x: x.T, False),
    ],
)
def test_long_rows_and_whole_lines_that_were_computed_bypass_the_caches(rng, shape, work, past):
    a = table(rng, *shape)

    with jt.trace() as t:
        found = work(jt.array(a)).numpy()

    assert ("stream(" in "".join(k.source for k in t.kernels)) == past
    np.testing.assert_allclose(found, work(jt.array(a.astype(np.float64))).numpy(), 1e-5, 1e-5)


# ---------------------------------------------------------------------------------------------------------- squares


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "float16", "complex64"])
@pytest.mark.parametrize("shape", [(512, 128), (513, 131), (1000, 16), (601, 1003), (3, 700, 40)])
def test_columns_that_leave_the_cache_are_read_in_squares(rng, threads, dtype, shape):
    a = (table(rng, *shape) * 9).astype(dtype)
    x = jt.array(a).sync()

    with jt.trace() as t:
        found = (x.transpose(-1, -2) * 2).numpy()

    np.testing.assert_array_equal(found, a.swapaxes(-1, -2) * np.asarray(2, dtype))
    assert "if b0 + 8 <= " in t.kernels[0].source


@pytest.mark.parametrize(
    ("shape", "why"),
    [((40, 317), "few numbers"), ((400, 317), "they stay in the cache"), ((5000, 15), "the other side is short")],
)
def test_columns_that_stay_in_the_cache_or_are_few_are_read_as_they_come(rng, threads, shape, why):
    a = table(rng, *shape)

    with jt.trace() as t:
        found = jt.array(a).transpose(0, 1).contiguous().numpy()

    np.testing.assert_array_equal(found, a.T)
    assert "if b0" not in t.kernels[-1].source, why


def test_what_else_a_kernel_reads_is_read_in_the_same_squares(rng, threads):
    a, b, row, column = table(rng, 514, 130), table(rng, 130, 514), table(rng, 514), table(rng, 130, 1)
    x, y, r, c = (jt.array(v).sync() for v in (a, b, row, column))

    with jt.trace() as t:
        found = (x.T * y + r - c).numpy()

    np.testing.assert_allclose(found, a.T * b + row - column, 1e-6, 1e-6)
    assert "if b0 + 8 <= " in t.kernels[0].source


def test_what_is_expensive_and_the_same_in_a_row_is_computed_once_for_the_row(rng):
    a, column = table(rng, 514, 130), table(rng, 130, 1)

    with jt.trace() as t:
        found = (jt.array(a).sync().T * jt.array(column).sync().exp()).numpy()

    np.testing.assert_allclose(found, a.T * np.exp(column), 1e-6)
    assert "if b0" not in t.kernels[-1].source


def test_sums_over_columns_are_not_read_in_squares(rng):
    a = table(rng, 600, 1003)

    with jt.trace() as t:
        found = jt.array(a).transpose(0, 1).sum(1).numpy()

    np.testing.assert_allclose(found, a.T.sum(1, dtype=np.float64), 1e-4, 1e-4)
    assert "if b0" not in t.kernels[-1].source
