"""An explanation says why loops compute what an algorithm could, and what the other ways to multiply would cost."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.dtypes import as_dtype, contracted
from jt_edu.introspect.kernel_notes import estimates
from jt_edu.ir.matmul_pattern import matrix_product

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def slow_and_sure():
    with jt.base.context.rank_context(), jt.flag_scope(backend="python"):
        yield


def numbers(*shape, dtype="float32"):
    return jt.array((4 * RNG.standard_normal(shape)).astype("float32").round()).astype(dtype)


def convolved(dtype="float32", **given):
    x, w = numbers(1, 2, 5, 5, dtype=dtype), numbers(3, 2, 3, 3, dtype=dtype)
    jt.sync([x, w])
    return jt.conv2d(x, w, **given)


def why(y):
    """The rows of an explanation that say who computes a sum of products, and why."""
    return [row for row in jt.explain(y).text.split("\n") if row.startswith(("  chosen", "  costs"))]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution_of_numbers_that_no_algorithm_takes_says_so(dtype, groups):
    x, w = numbers(1, 2, 5, 5, dtype=dtype), numbers(4, 2 // groups, 3, 3, dtype=dtype)
    jt.sync([x, w])

    (row,) = why(jt.conv2d(x, w, groups=groups))

    summed = "int32" if dtype == "uint8" else "int64"
    assert row == f"  chosen  loops: the algorithms for convolutions take float32 and float64, this is {summed}"


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_product_of_numbers_that_blas_does_not_take_says_so(dtype):
    a, b = numbers(4, 5, dtype=dtype), numbers(5, 6, dtype=dtype)
    jt.sync([a, b])

    (row,) = why(a @ b)

    known, found = "float32, float64, complex64, complex128", contracted(as_dtype(dtype))
    assert row == f"  chosen  loops: BLAS multiplies {known}, this is {found}"


def test_a_product_of_halves_is_one_of_float32():
    a, b = numbers(4, 5, dtype="float16"), numbers(5, 6, dtype="float16")
    jt.sync([a, b])

    chosen, _ = why(a @ b)

    assert chosen.startswith("  chosen  BLAS: 4 rows, 6 columns")


def test_a_convolution_with_algorithms_switched_off_says_so():
    with jt.backends.conv.flags(enabled=False):
        (row,) = why(convolved())

    assert row == "  chosen  loops: jt.backends.conv.enabled is False"


def test_without_fusion_the_products_are_stored_and_the_explanation_says_so():
    with jt.flag_scope(fuse=False):
        (row,) = why(convolved())

    assert row.endswith("this is a convolution, but its single products are stored, as jt.flags.fuse is off")


@pytest.mark.parametrize("k", [0, 1])
def test_the_gradient_of_a_sum_stores_its_number_for_an_algorithm_and_says_so(k):
    given = [numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)]
    jt.sync(given)
    gradient = jt.grad(jt.conv2d(*given, padding=1).sum(), given[k])

    explained = jt.explain(gradient)

    assert [kernel.kind for kernel in explained.kernels] == ["loops", "convolution"]
    assert "number 1.0: an argument of the kernel" in explained.text
    assert "whole array: a convolution reads stored arrays" in explained.text


def test_windows_times_a_number_are_no_convolution_and_the_number_is_named():
    x = numbers(1, 2, 5, 5)
    x.sync()
    windows = x.reindex((1, 2, 3, 3, 3, 3), lambda n, c, ky, kx, y, z: (n, c, y + ky, z + kx))

    (row,) = why((windows * 2).sum((2, 3)))

    assert row.startswith("  chosen  loops: one factor is the number 2.0 everywhere")


@pytest.mark.parametrize(
    "other",
    [
        lambda x: (x * 2).sum(1),
        lambda x: (x * x).sum(),
        lambda x: jt.nn.avg_pool2d(x, 2),
        lambda x: jt.nn.max_pool2d(x, 2),
        lambda x: x.softmax(-1),
        lambda x: jt.grad((x * jt.ones(6)).sum(), x),
    ],
)
def test_what_is_no_convolution_and_no_product_has_no_such_row(other):
    x = numbers(1, 2, 6, 6)
    x.sync()

    assert why(other(x)) == []


def test_a_product_tells_what_each_way_would_cost_and_the_one_that_runs_first():
    x, w = numbers(4, 600), numbers(513, 600)
    jt.sync([x, w])

    chosen, costs = why(jt.nn.linear(x, w))

    assert chosen.startswith("  chosen  dots: 4 rows")
    assert costs.startswith("  costs   estimated, on one thread: dots ")
    assert "loops" in costs and "BLAS" in costs


@pytest.mark.parametrize(
    ("rows", "summed", "columns"), [(4, 600, 700), (16, 600, 700), (64, 64, 64), (256, 256, 256), (400, 300, 1)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_the_estimates_agree_with_the_choice(rows, summed, columns, dtype):
    a, b = numbers(rows, summed, dtype=dtype), numbers(summed, columns, dtype=dtype)
    jt.sync([a, b])
    y = a @ b
    found = estimates(matrix_product(y.node))

    assert min(found, key=found.get) == jt.explain(y).kernels[-1].algorithm


def test_a_convolution_that_has_an_algorithm_is_explained_as_before():
    (row,) = why(convolved())

    assert ": estimated" in row and "loops" not in row
