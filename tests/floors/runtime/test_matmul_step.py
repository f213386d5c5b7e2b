"""Products: who multiplies is read off the sizes, said in words, and does not change what comes out."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.introspect.explain import planned
from jt_edu.lens.kernel_debugger import step_through

FLOATS = pytest.mark.parametrize("dtype", ["float32", "float64"])
ERROR = {"float32": 2e-6, "float64": 4e-15}  # times the root of the number of terms


def layer(rows, summed, columns, dtype="float32", seed=0):
    """Numbers for x, the weights of a linear layer, and the gradient of what it answers."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype(dtype) for s in ((rows, summed), (columns, summed), (rows, columns))]


def three(x, weights, gradient):
    """A linear layer and both of its gradients: their numbers, and who multiplied for each."""
    a, b = jt.array(x), jt.array(weights)
    answers, ways = [], []
    for wanted in (
        lambda: jt.nn.linear(a, b),
        lambda: jt.grad((jt.nn.linear(a, b) * jt.array(gradient)).sum(), a),
        lambda: jt.grad((jt.nn.linear(a, b) * jt.array(gradient)).sum(), b),
    ):
        y = wanted()
        with jt.trace() as t:
            answers.append(y.numpy())
        ways += [k.algorithm for k in t.kernels if k.kind == "product"]
    return answers, ways


def in_float64(x, weights, gradient):
    x, weights, gradient = (a.astype("f8") for a in (x, weights, gradient))
    return [x @ weights.T, gradient @ weights, gradient.T @ x]


@FLOATS
@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize(
    "sizes", [(2, 1030, 1001), (4, 600, 513), (7, 370, 417), (32, 177, 333), (3, 17000, 40), (5, 40, 9000)]
)
def test_a_thin_layer_and_both_gradients_agree_with_float64(sizes, backend, dtype):
    given = layer(*sizes, dtype)

    with jt.flag_scope(backend=backend):
        answers, ways = three(*given)

    assert ways == ["dots", "rows", "outer"]
    for answer, want, terms in zip(answers, in_float64(*given), (sizes[1], sizes[2], sizes[0]), strict=True):
        np.testing.assert_allclose(answer, want, rtol=0, atol=8 * ERROR[dtype] * terms**0.5)


@FLOATS
@pytest.mark.parametrize("sizes", [(33, 256, 300), (1600, 128, 512), (1001, 67, 45)])
def test_long_sums_are_added_to_a_small_answer_that_stays_in_the_cache(sizes, dtype):
    given = layer(*sizes, dtype)

    answers, ways = three(*given)

    assert ways == ["BLAS", "near", "outer"]
    error = np.abs(answers[2] - in_float64(*given)[2]).max()
    assert error < 8 * ERROR[dtype] * sizes[0] ** 0.5


@FLOATS
@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("sizes", [(33, 256, 300), (600, 45, 67), (1601, 128, 512), (100, 1700, 77)])
def test_many_rows_pass_by_a_small_matrix(sizes, backend, dtype):
    rows, summed, columns = sizes
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((rows, summed), (summed, columns)))
    y = jt.array(a) @ jt.array(b)

    with jt.flag_scope(backend=backend), jt.trace() as t:
        answer = y.numpy()

    assert [k.algorithm for k in t.kernels] == ["near"]
    np.testing.assert_allclose(answer, a.astype("f8") @ b.astype("f8"), rtol=0, atol=8 * ERROR[dtype] * summed**0.5)


def test_many_rows_and_small_matrices_are_left_to_blas():
    assert three(*layer(33, 600, 700))[1] == ["BLAS"] * 3
    assert three(*layer(4, 64, 64))[1] == ["BLAS"] * 3


def test_an_explanation_says_who_multiplies_and_why_and_so_does_the_trace():
    x, weights, _ = layer(4, 600, 513)
    y = jt.nn.linear(jt.array(x), jt.array(weights))

    (kernel,) = jt.explain(y).kernels
    with jt.trace() as t:
        y.sync()

    assert "a matrix product by dots, 17 parts" in kernel.loops
    assert kernel.reason.startswith("4 rows, 513 columns, sums of 600: each number of the large side is read once")
    assert (t.kernels[0].algorithm, t.kernels[0].reason) == ("dots", kernel.reason)
    assert kernel.calls == t.kernels[0].calls == ()
    assert "def kernel(lo, hi, a0, a1, out0):" in kernel.source


def test_each_product_of_a_stack_is_counted():
    x, y = jt.ones(3, 5, 7), jt.ones(3, 7, 2)

    assert jt.explain(x.sync() @ y.sync()).flops == 2 * 3 * 5 * 7 * 2


@pytest.mark.parametrize("sizes", [(6, 900, 1100), (700, 128, 256)])
def test_threads_do_not_change_a_bit_of_a_product_by_a_kernel_of_ours(sizes):
    given = layer(*sizes)
    before = jt.get_num_threads()
    try:
        jt.set_num_threads(1)
        alone, ways = three(*given)
        jt.set_num_threads(3)
        together, _ = three(*given)
    finally:
        jt.set_num_threads(before)

    assert {"rows", "near", "outer"}.issuperset(ways[1:])
    for one, other, way in zip(alone, together, ways, strict=True):
        if way != "BLAS":  # on some processors it adds in another order for another number of rows
            np.testing.assert_array_equal(one, other)


def test_a_learner_steps_through_the_definition_in_place_of_a_kernel_of_vectors():
    x, weights, _ = layer(2, 1030, 1001)
    order, plan = planned([jt.nn.linear(jt.array(x), jt.array(weights)).node])

    steps = step_through(plan, order, 0, most=20)

    assert plan.steps[0].way[0] == "dots"
    assert "s = s + a0[i, k] * a1[j, k]" in steps.source
    assert steps.moments
