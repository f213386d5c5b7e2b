"""Reductions, scans and sorting: accuracy, large rows, and laws that a table of numbers does not show."""

import itertools

import numpy as np
import pytest

import jt_edu as jt


def uniform(rng, *shape):
    return rng.uniform(0, 1, shape).astype(np.float32)


# --------------------------------------------------------------------------------------------------------- accuracy


@pytest.mark.parametrize("shift", [0.0, 1000.0])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
def test_ten_million_small_numbers_add_up(rng, name, shift):
    a = uniform(rng, 10_000_000) + np.float32(shift)

    found = getattr(jt.array(a), name)().item()

    assert found == pytest.approx(getattr(a.astype(np.float64), name)(), rel=1e-6)


@pytest.mark.parametrize("number", [0.1, 1 / 3, 16777215.0])
def test_ten_million_equal_numbers_add_up(number):
    a = np.full(10_000_000, number, np.float32)

    assert jt.array(a).sum().item() == pytest.approx(a.astype(np.float64).sum(), rel=1e-6)


def test_a_hundred_thousand_numbers_multiply_in_float64(rng):
    a = (1 + rng.normal(0, 1e-3, 100_000)).astype(np.float32)

    found = [jt.array(a).prod().item(), jt.array(a.reshape(1, -1)).prod(1).item()]

    assert found == pytest.approx([np.prod(a.astype(np.float64))] * 2, rel=2e-7)


@pytest.mark.parametrize("n", [255, 256, 257, 511, 513, 1000, 1024, 1025, 2049])
def test_rows_that_end_within_a_block_add_up(rng, n):
    a = uniform(rng, 3, n)
    x = jt.array(a)

    with jt.trace() as t:
        found = [x.sum(1).numpy(), (x.mean(1) + x.var(1)).numpy(), jt.sum(x * x).numpy()]

    wide = a.astype(np.float64)
    for got, want in zip(found, [wide.sum(1), wide.mean(1) + wide.var(1), (wide * wide).sum()], strict=True):
        np.testing.assert_allclose(got, want, 1e-6)
    assert ("float32(0)" in t.kernels[0].source) == (n > 256)  # short rows are summed in float64


def test_a_running_sum_of_a_million_small_numbers_ends_where_it_should(rng):
    a = uniform(rng, 1_000_000)

    last = jt.cumsum(jt.array(a))[-1].item()

    assert last == pytest.approx(a.astype(np.float64).sum(), rel=1e-6)


def test_a_mean_of_halves_exists_where_their_sum_does_not():
    x = jt.full((3000,), 100.0, "float16")

    assert x.sum().item() == np.inf
    assert (x.mean().item(), x.var().item(), x.nanmean().item()) == (100.0, 0.0, 100.0)
    assert x.norm().item() == pytest.approx(3000**0.5 * 100, rel=1e-3)


# ------------------------------------------------------------------------------------------------------ large arrays


@pytest.mark.parametrize("shape", [(3, 1 << 20), (3 << 20,), (5, 700_001), (12_000, 263)])
@pytest.mark.parametrize("threads", [1, 3])
def test_arrays_that_bypass_the_caches_hold_what_was_computed(rng, shape, threads):
    a = uniform(rng, *shape)
    x, before = jt.array(a), jt.get_num_threads()

    try:
        jt.set_num_threads(threads)
        with jt.trace() as t:
            got = (x * x + 1).numpy()
    finally:
        jt.set_num_threads(before)

    assert "stream(w0, out0[" in t.kernels[0].source
    np.testing.assert_allclose(got, a * a + 1, 1e-6)


def test_only_what_no_later_loop_reads_bypasses_the_caches(rng):
    x = jt.array(uniform(rng, 4, 1 << 20))
    y = x * 2
    z = y - jt.max(y, 1, True)

    with jt.trace() as t:
        jt.sync([y, z])

    (kernel,) = t.kernels
    assert "out0[at(i0), i1] = " in kernel.source
    assert "stream(w0, out1[" in kernel.source
    np.testing.assert_array_equal(z.numpy(), x.numpy() * 2 - x.numpy().max(1, keepdims=True) * 2)


def test_what_is_expensive_to_compute_or_small_is_stored_at_once(rng):
    with jt.trace() as t:
        jt.sync([jt.array(uniform(rng, 3 << 20)).exp(), jt.array(uniform(rng, 1 << 20)) * 2])

    assert [k.source.count("stream") for k in t.kernels] == [0, 0]


# ------------------------------------------------------------------------------------------------------- large rows


@pytest.mark.parametrize("shape", [(100_000,), (300, 257), (3, 17)])
def test_long_rows_are_sorted_as_numpy_sorts_them(rng, shape):
    a = rng.integers(0, 50, shape)

    values, where = jt.sort(jt.array(a))

    np.testing.assert_array_equal(where.numpy(), np.argsort(a, kind="stable"))
    np.testing.assert_array_equal(values.numpy(), np.sort(a))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_rows_of_every_length_are_sorted_up_and_down(rng, backend):
    with jt.flag_scope(backend=backend):
        for n in (0, 1, 2, 15, 16, 17, 31, 32, 33, 65):
            a = rng.integers(0, 9, (2, n))
            np.testing.assert_array_equal(jt.argsort(jt.array(a)).numpy(), np.argsort(a, kind="stable"))
            np.testing.assert_array_equal(
                jt.argsort(jt.array(a), descending=True).numpy(), np.argsort(-a, kind="stable")
            )


def test_threads_share_the_rows_of_a_scan(rng):
    a = rng.normal(size=(500, 1000))

    np.testing.assert_allclose(jt.cumsum(jt.array(a), 1).numpy(), np.cumsum(a, 1), 1e-12)
    np.testing.assert_array_equal(jt.cummax(jt.array(a), 0)[0].numpy(), np.maximum.accumulate(a, 0))


# ------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.usefixtures("python_backend", "quiet")
class TestLaws:
    def test_sorting_only_puts_numbers_elsewhere(self, rng):
        x = jt.array(rng.normal(size=(4, 7)))

        values, where = jt.sort(x, 1)

        np.testing.assert_array_equal(jt.gather(x, 1, where).numpy(), values.numpy())
        np.testing.assert_array_equal(np.sort(where.numpy(), 1), np.tile(np.arange(7), (4, 1)))

    def test_equal_numbers_keep_their_order_whether_it_is_asked_for_or_not(self):
        x = jt.zeros(40)

        for stable, descending in itertools.product((True, False), repeat=2):
            assert jt.argsort(x, stable=stable, descending=descending).tolist() == list(range(40))

    def test_differences_undo_a_running_sum(self, rng):
        a = rng.integers(-9, 9, (3, 5))

        np.testing.assert_array_equal(jt.diff(jt.cumsum(jt.array(a), 1), prepend=0).numpy(), a)

    def test_a_running_product_and_a_running_sum_are_linear_recurrences(self, rng):
        x, zero = jt.array(rng.normal(size=5)), jt.zeros(5, dtype="float64")
        first = jt.array([1.0, 0, 0, 0, 0], "float64")

        np.testing.assert_allclose(jt.linear_recurrence(zero + 1, x).numpy(), jt.cumsum(x).numpy())
        np.testing.assert_allclose(jt.linear_recurrence(x, first * x).numpy(), jt.cumprod(x).numpy())

    def test_a_running_product_has_a_third_derivative_where_there_are_zeros(self):
        x = jt.array([2.0, 0.0, 3.0, 5.0], "float64")

        last = jt.cumprod(x)[-1]  # x0 x1 x2 x3
        by_x1 = jt.grad(last, x)[1]  # x0 x2 x3
        by_x1_x2 = jt.grad(by_x1, x)[2]  # x0 x3

        assert jt.grad(last, x).tolist() == [0.0, 30.0, 0.0, 0.0]
        assert by_x1_x2.item() == 10.0
        assert jt.grad(by_x1_x2, x).tolist() == [5.0, 0.0, 0.0, 2.0]

    def test_a_median_along_an_axis_has_names_for_its_answers(self):
        found = jt.nanmedian(jt.array([4.0, 1.0, 3.0, 2.0]), dim=0)

        assert (found.values.item(), found.indices.item()) == (2, 3)

    def test_the_median_of_an_even_count_is_the_lower_one_and_the_quantile_their_mean(self):
        x = jt.array([1.0, 2.0, 3.0, 10.0])

        assert (jt.median(x).item(), jt.quantile(x, 0.5).item()) == (2.0, 2.5)

    def test_gradients_of_what_was_picked_go_to_where_it_stood(self):
        x = jt.array([[3.0, 1.0, 2.0]])

        for function, wanted in (
            (lambda x: jt.topk(x, 2)[0], [1, 0, 1]), (lambda x: jt.kthvalue(x, 1)[0], [0, 1, 0]),
            (lambda x: jt.median(x, 1)[0], [0, 0, 1]), (lambda x: jt.cummax(x, 1)[0], [3, 0, 0]),
            (lambda x: jt.mode(x)[0], [0, 1, 0]), (lambda x: jt.msort(x.T)[:1], [0, 1, 0]),
            (lambda x: jt.quantile(x, 0.25), [0, 0.5, 0.5]), (lambda x: jt.unique(x)[2:], [1, 0, 0]),
        ):  # fmt: skip
            np.testing.assert_allclose(jt.grad(function(x).sum(), x).numpy(), [wanted])

    def test_equal_extremes_share_the_gradient_as_in_pytorch(self, torch):
        a = np.array([[2.0, 2.0, 1.0], [0.0, 1.0, 1.0]])
        x, t = jt.array(a), torch.tensor(a, requires_grad=True)

        for name in ("max", "min", "amax", "amin", "nanmax", "nanmin"):
            theirs = torch.autograd.grad(getattr(t, f"a{name[-3:]}")(1).sum(), t)[0]
            np.testing.assert_array_equal(jt.grad(getattr(jt, name)(x, 1).sum(), x).numpy(), theirs.numpy())

    def test_a_quantile_reads_shares_in_full_precision(self):
        x = jt.arange(40).double()

        assert jt.quantile(x, 0.1, method="inverted_cdf").item() == 3.0

    def test_a_share_that_is_a_var_takes_no_part_in_gradients(self):
        x, q = jt.array([1.0, 3.0]), jt.array([0.25])

        assert jt.quantile(x, q).tolist() == [1.5]

    def test_a_set_can_tell_all_it_knows_at_once(self):
        found = jt.unique(jt.array([5, 3, 5, 4]), True, True, return_index=True)

        assert [v.tolist() for v in found] == [[3, 4, 5], [1, 3, 0], [2, 0, 2, 1], [1, 1, 2]]

    def test_the_same_axis_may_be_called_dim_dims_or_axis(self, rng):
        x = jt.array(rng.normal(size=(3, 4)))
        one = ("cumsum", "cumprod", "nancumsum", "nancumprod", "logcumsumexp", "argsort", "diff", "nansum", "nanprod",
               "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "ptp")  # fmt: skip
        two = ("cummax", "cummin", "median", "nanmedian", "mode", "aminmax")

        for name in (*one, *two):
            answers = [getattr(jt, name)(x, **{word: 0}) for word in ("dim", "dims", "axis")]
            values = [np.asarray(a[0] if name in two else a) for a in answers]
            for v in values[1:]:
                np.testing.assert_array_equal(v, values[0])
            with pytest.raises(jt.ArgumentError, match="once"):
                getattr(jt, name)(x, dim=0, axis=0)

    def test_lists_and_numbers_are_taken_as_they_are(self):
        assert jt.sum([1, 2, 3]).item() == 6
        assert jt.argmax([1, 3, 2]).item() == 1
        assert jt.median([3, 1, 2]).item() == 2
        assert jt.cumsum([1, 2]).tolist() == [1, 3]
        assert jt.norm([3.0, 4.0]).item() == 5.0
        assert jt.std(5.0).item() == 0.0

    def test_a_reduction_builds_a_graph_and_runs_nothing(self):
        x = jt.array([3.0, 1.0, 2.0])

        built = [jt.sort(x)[0], jt.quantile(x, 0.5), jt.cumprod(x), jt.topk(x, 2)[0], jt.median(x), jt.histogram(x)[0]]

        assert all(v.node.data is None for v in built)


# ---------------------------------------------------------------------------------------------------- single numbers


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dim", [0, -1, (0,)])
@pytest.mark.parametrize("name", "sum mean prod max min any all var std norm logsumexp nansum nanmean".split())
def test_a_single_number_is_reduced_along_the_axis_that_it_might_have(name, dim, keep):
    x = jt.array(3.0)

    along, whole = getattr(jt, name)(x, dim=dim, keepdim=keep), getattr(jt, name)(x)

    assert along.shape == ()
    assert along.item() == whole.item()


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
def test_a_single_number_is_the_largest_and_the_smallest_at_place_0(name, keep):
    for dim in (0, -1):
        place = getattr(jt, name)(jt.array(3.0), dim, keep)

        assert (place.shape, place.item()) == ((), 0)


def test_a_single_number_has_a_softmax(torch):
    for name in ("softmax", "log_softmax", "softmin"):
        theirs = getattr(torch.nn.functional, name)(torch.tensor(3.0), 0)
        for dim in (0, -1):
            ours = getattr(jt.nn.functional, name)(jt.array(3.0), dim)
            assert (ours.shape, ours.item()) == ((), theirs.item())


@pytest.mark.parametrize("name", ["sum", "max", "argmax", "softmax", "nanargmin", "squeeze"])
def test_a_single_number_has_no_second_axis(name):
    for dim in (1, -2):
        with pytest.raises(jt.RangeError, match=f"0 axes; found axis {dim}"):
            getattr(jt, name)(jt.array(3.0), dim)
