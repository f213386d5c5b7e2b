"""Kernels written by hand: they run on each backend, take their place in a graph, and have the gradient they state."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ops.custom_kernel import kernel

TEXT = """
def kernel(lo, hi, x, out):
    for row in range(lo, hi):
        total = 0.0
        for i in range(x.shape[1]):
            total += x[row, i]
            out[row, i] = total
"""


def _from_behind(x):
    return RUNNING(x.reindex(x.shape, lambda i, j: (i, x.shape[1] - 1 - j)), shape=x.shape, dtype=x.dtype, span=len(x))


RUNNING = kernel(
    "running_sum",
    TEXT,
    (lambda out, dout, x: _from_behind(dout).reindex(x.shape, lambda i, j: (i, x.shape[1] - 1 - j)),),
)


def running(x):
    return RUNNING(x, shape=x.shape, dtype=x.dtype, span=x.shape[0])


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_kernel_written_by_hand_gives_its_numbers_between_generated_ones(backend):
    a = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")
    with jt.flag_scope(backend=backend), jt.trace() as t:
        y = running(jt.array(a) * 2) + 1

        np.testing.assert_allclose(y.numpy(), np.cumsum(a * 2, 1) + 1, rtol=1e-5)

    assert [k.name for k in t.kernels] == ["multiply", "running_sum", "add"]
    assert "total += x[row, i]" in t.kernels[1].source


def test_its_gradient_is_graph_and_can_be_differentiated_again():
    with jt.flag_scope(backend="python"):
        x = jt.array([[1.0, 2.0, 3.0]])
        dx = jt.grad((running(x * x) ** 2).sum(), x)
        ddx = jt.grad(dx.sum(), x)

        # d/dx of 1 + (x1 + x2)^2 ... by hand, for squares 1, 4, 9 with running sums 1, 5, 14
        np.testing.assert_allclose(dx.numpy(), [[2 * 20 * 2 * 1, 2 * 19 * 2 * 2, 2 * 14 * 2 * 3]])
        assert ddx.shape == (1, 3)


def test_threads_share_its_span_and_every_row_is_done_once():
    a = np.random.default_rng(1).normal(size=(400, 800))
    with jt.flag_scope(backend="numba"):
        np.testing.assert_allclose(running(jt.array(a)).numpy(), np.cumsum(a, 1))


def test_halves_come_as_float32_and_go_back():
    with jt.flag_scope(backend="python"):
        y = running(jt.array(np.ones((2, 3)), "bfloat16"))

        assert str(y.dtype) == "bfloat16"
        np.testing.assert_array_equal(y.numpy(), [[1, 2, 3]] * 2)


def test_one_text_serves_all_shapes_and_each_dtype_has_its_program():
    with jt.flag_scope(backend="numba"), jt.trace() as t:
        for shape, dtype in (((2, 3), "float32"), ((4, 5), "float32"), ((2, 3), "float64")):
            running(jt.ones(shape, dtype)).numpy()
    programs = [k for k in t.kernels if k.name == "running_sum"]
    assert len({k.path for k in programs}) == 2


def test_text_without_a_kernel_is_refused_where_it_is_written():
    with pytest.raises(jt.ArgumentError, match="def work"):
        kernel("wrong", "def work(x): pass")


def test_explain_and_the_picture_know_it():
    y = running(jt.ones((2, 3)))
    assert "written by hand, 2 independent parts" in str(jt.explain(y))
    assert "running_sum" in str(jt.graph(y))
