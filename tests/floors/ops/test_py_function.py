"""numpy_code: operators that a learner writes with NumPy take part in everything that operators take part in."""

import numpy as np
import pytest

import jt_edu as jt

pytestmark = pytest.mark.usefixtures("backend")


def cumsum(np, data):
    np.cumsum(data["inputs"][0], out=data["outputs"][0])


def cumsum_back(np, data):
    data["outputs"][0][...] = data["dout"][::-1].cumsum()[::-1]


def both(np, data):
    a, b = data["inputs"]
    np.add(a, b, out=data["outputs"][0])
    np.subtract(a, b, out=data["outputs"][1])


def left(np, data):
    np.copyto(data["outputs"][0], data["dout"])


def right(np, data):
    np.copyto(data["outputs"][0], data["dout"] if data["out_index"] == 0 else -data["dout"])


def exp(np, data):
    np.exp(data["inputs"][0], out=data["outputs"][0])


def exp_back(np, data):
    np.multiply(data["dout"], data["f_outputs"][data["out_index"]], out=data["outputs"][0])


def x():
    return jt.array([1.0, 2.0, 3.0])


def test_values_and_gradients_between_other_operators():
    v = x()

    y = jt.numpy_code((3,), "float32", [v * 2], cumsum, [cumsum_back]) + 1
    dv = jt.grad((y * jt.array([1.0, 10.0, 100.0])).sum(), v)

    np.testing.assert_array_equal(y.numpy(), [3, 7, 13])
    np.testing.assert_array_equal(dv.numpy(), [222, 220, 200])


def test_several_outputs_are_told_apart():
    a, b = x(), x() * 3

    c, d = jt.numpy_code([(3,), (3,)], ["float32", "float32"], [a, b], both, [left, right])

    np.testing.assert_array_equal(c.numpy(), [4, 8, 12])
    np.testing.assert_array_equal(d.numpy(), [-2, -4, -6])
    for out, sign in ((c, 1), (d, -1)):
        da, db = jt.grad(out.sum(), [a, b])
        np.testing.assert_array_equal(da.numpy(), [1, 1, 1])
        np.testing.assert_array_equal(db.numpy(), [sign] * 3)


def test_a_gradient_may_look_at_what_came_out():
    v = x()

    y = jt.numpy_code(v.shape, v.dtype, [v], exp, exp_back)

    np.testing.assert_allclose(jt.grad(y.sum(), v).numpy(), np.exp([1, 2, 3]), 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int32"])
def test_dtypes_come_and_go(dtype):
    y = jt.numpy_code((3,), dtype, [x().cast(dtype)], cumsum)

    assert y.dtype == dtype
    np.testing.assert_array_equal(y.numpy(), [1, 3, 6])


def test_a_number_comes_as_an_array():
    y = jt.numpy_code((), "float32", [jt.zeros(()) + 2.0], exp)

    assert abs(y.item() - np.exp(2)) < 1e-5


def test_nothing_runs_before_it_is_asked_for_and_a_trace_shows_it():
    calls = []

    def noted(np, data):
        calls.append(1)
        cumsum(np, data)

    with jt.trace() as t:
        y = jt.numpy_code((3,), "float32", [x()], noted) * 2
        assert calls == []
        y.sync()

    assert calls == [1]
    assert [k.kind for k in t.kernels] == ["host", "loops"]


def test_a_function_of_the_file_has_one_plan():
    def plans():
        return len(jt.base.context.current().rank_state["plans"])

    first = jt.numpy_code((3,), "float32", [x()], cumsum).sync()
    before = plans()
    again = jt.numpy_code((3,), "float32", [x()], cumsum).sync()

    np.testing.assert_array_equal(first.numpy(), again.numpy())
    assert plans() == before


def test_a_compiled_step_calls_it_again_and_again():
    step = jt.compile(lambda v: jt.numpy_code((3,), "float32", [v], cumsum) + 1)

    for k in range(4):
        np.testing.assert_array_equal(step(np.full(3, k, "float32")).numpy(), [k + 1, 2 * k + 1, 3 * k + 1])


def test_an_input_cannot_be_written_to():
    def spoils(np, data):
        data["inputs"][0][0] = 9

    with pytest.raises(jt.KernelError, match=r"read-only[\s\S]*test_py_function.py"):
        jt.numpy_code((3,), "float32", [x()], spoils).sync()


def test_an_output_of_another_shape_is_told_with_the_line():
    def replaces(np, data):
        data["outputs"][0] = np.zeros(2)

    with pytest.raises(jt.ShapeError, match=r"\(3,\); found shape \(2,\)[\s\S]*test_py_function.py"):
        jt.numpy_code((3,), "float32", [x()], replaces).sync()


def test_an_input_without_a_gradient_is_cut_off():
    v = x()

    with pytest.raises(jt.GradientError):
        jt.grad(jt.numpy_code((3,), "float32", [v], cumsum).sum(), v)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: jt.numpy_code((3,), "float32", [x()], "cumsum"), "'cumsum'"),
        (lambda: jt.numpy_code((3,), "float32", x(), cumsum), "a list of inputs"),
        (lambda: jt.numpy_code((3,), "float32", [x()], cumsum, [cumsum_back] * 2), "for 1 input"),
        (lambda: jt.numpy_code([(3,)], ["float32", "int64"], [x()], cumsum), "1 for 2"),
        (lambda: jt.numpy_code((3,), "float33", [x()], cumsum), "float33"),
        (lambda: jt.numpy_code("three", "float32", [x()], cumsum), "'three'"),
    ],
)
def test_a_wrong_call_is_told(call, says):
    with pytest.raises(jt.JtError, match=says):
        call()
