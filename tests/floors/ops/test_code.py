"""jt.code: an operator whose kernel the learner writes, in Jittor's notation."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt

pytestmark = pytest.mark.usefixtures("backend")

ROOT = Path(__file__).resolve().parents[3]
SQUARE = """
for i in prange(in0_shape0):
    @out(i) = @in0(i) * @in0(i)
"""
SQUARE_BACK = """
for i in prange(in0_shape0):
    @out(i) = @dout(i) * 2 * @in0(i)
"""
POSITIVE = """
@alias(a, in0)
@alias(b, out0)
@alias(c, out1)
n = m = 0  # of each kind
for i in range(a_shape0):
    if @a(i) > 0:
        @b(n) = @a(i)
        n += 1
    else:
        @c(m) = @a(i)
        m += 1
b.set_shape(n)
c.set_shape((m,))
"""


def x():
    return jt.array([1.0, -2.0, 3.0])


def one(body, shape=(3,), dtype="float32", **more):
    return jt.code(shape, dtype, [x()], body, **more)


# values and gradients


def test_values_and_gradients_between_other_operators():
    v = x()

    y = jt.code(v.shape, v.dtype, [v * 2], SQUARE, [SQUARE_BACK]) + 1
    dv = jt.grad((y * jt.array([1.0, 10.0, 100.0])).sum(), v)

    np.testing.assert_array_equal(y.numpy(), [5, 17, 37])
    np.testing.assert_array_equal(dv.numpy(), [8, -160, 2400])


def test_an_input_without_a_body_takes_no_part_in_gradients():
    a, b = x(), x()
    body = "for i in range(3):\n    @out(i) = @in0(i) * @in1(i)"

    y = jt.code((3,), "float32", [a, b], body, ["", "for i in range(3):\n    @out(i) = @dout(i) * @in0(i)"])

    assert jt.grad(y.sum(), [b])[0].tolist() == [1, -2, 3]
    assert jt.grad((y + 0 * a).sum(), [a])[0].tolist() == [0, 0, 0]


def test_ten_arguments_arrive_in_their_order():
    inputs = [jt.array([float(10**k)], "float64") for k in range(10)]
    body = "@out(0) = " + " + ".join(f"{k} * @in{k}(0)" for k in range(10))

    assert jt.code((1,), "float64", inputs, body).item() == 9876543210


def test_names_of_shapes_strides_and_pointers():
    v = jt.array(np.arange(6.0).reshape(2, 3))
    body = (
        "@out(0) = in0_shape0\n@out(1) = in0_shape1\n@out(2) = in0_stride0\n@out(3) = in0_stride1\nout_p[4] = in0_p[5]"
    )

    assert jt.code((5,), "float64", [v.T.T], body).tolist() == [2, 3, 3, 1, 5]


def test_a_turned_input_is_read_as_it_is_seen():
    v = jt.array(np.arange(6.0).reshape(2, 3)).transpose(1, 0)
    body = "for i in range(in0_shape0):\n    for j in range(in0_shape1):\n        @out(i, j) = @in0(i, j)"

    np.testing.assert_array_equal(jt.code(v.shape, v.dtype, [v], body).numpy(), v.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8", "bool"])
def test_dtypes_go_in_and_come_out(dtype):
    v = jt.array([0, 1, 1]).astype(dtype)

    y = jt.code([(3,), ()], [dtype, dtype], [v], "for i in range(3):\n    @out0(i) = @in0(i)\n@out1() = @in0(2)")

    assert [part.dtype for part in y] == [dtype, dtype]
    assert y[0].float32().tolist() == [0, 1, 1] and y[1].float32().item() == 1


def test_an_at_multiplies_matrices_where_it_stands_between_two():
    v = jt.array(np.eye(2))
    body = "@out(0) = (in0 @ in0)[1, 1] + @in0(0, 0)\n# @in0(7, 7) in a comment\ns = '@in0(9)'  # and in a text"

    assert jt.code((1,), "float64", [v], body).tolist() == [2]


def test_functions_of_a_header_are_called():
    header = "K = 3\n\ndef half(v):\n    return v / 2\n\ndef scaled(v):\n    return half(v) * K\n"

    assert one("for i in range(3):\n    @out(i) = scaled(@in0(i)) + math.pi * 0", cpu_header=header).tolist() == [
        1.5,
        -3,
        4.5,
    ]


# several outputs, and sizes that are known afterwards


def test_several_outputs_have_shapes_and_dtypes_of_their_own():
    small, large = jt.code([(1,), (3, 2)], ["int64", "float32"], [x()], """
        @out0(0) = in0_shape0
        for i in range(3):
            for j in range(2):
                @out1(i, j) = @in0(i) + j
    """)  # fmt: skip

    assert small.tolist() == [3] and small.dtype == "int64"
    assert (large * 2).tolist() == [[2, 4], [-4, -2], [6, 8]]


def test_an_output_of_negative_size_is_as_long_as_the_body_says():
    a = jt.array([5, -4, 3, -2, 1])

    b, c = jt.code([(-5,), (-5,)], ["int32", "float64"], [a], POSITIVE)

    assert b.shape == (3,) and b.dtype == "int32" and (b + 1).tolist() == [6, 4, 2]
    assert c.shape == (2,) and c.dtype == "float64" and jt.concat([c, c]).tolist() == [-4, -2, -4, -2]


def test_the_gradient_of_an_output_of_unknown_size_sees_the_real_one():
    v = jt.array([5.0, -4.0, 3.0])
    back = """
        k = 0
        for i in range(in0_shape0):
            mine = (@in0(i) > 0) == (out_index == 0)
            @out(i) = @dout(k) * (1 + out_index) * dout_shape0 if mine else 0
            k += mine
    """

    b, c = jt.code([(-3,), (-3,)], [v.dtype, v.dtype], [v], POSITIVE, [back])

    assert jt.grad((b * jt.array([1.0, 10.0])).sum() + c.sum(), v).tolist() == [2, 2, 20]


def test_a_kernel_of_one_size_serves_all_sizes(backend):
    def compiled(n):
        with jt.trace() as t:
            jt.code(
                [(n,), (n,)], ["float32", "float32"], [jt.ones(n)], "@out0(0) = @in0(0)\n@out1(0) = 37"
            ).__getitem__(0).sync()
        return [k.compiled for k in t.kernels if k.kind == "code"]

    compiled(4)

    assert compiled(7) == [False]


# data, and what is written


def test_numbers_of_data_change_without_compiling(backend):
    def scaled(k):
        with jt.trace() as t:
            y = one(
                'for i in range(3):\n    @out(i) = @in0(i) * data["k"] + data["b"]', data={"k": k, "b": 0.5}
            ).tolist()
        return y, [kernel.compiled for kernel in t.kernels if kernel.kind == "code"]

    scaled(2)

    assert scaled(10) == ([10.5, -19.5, 30.5], [False])


def test_outputs_that_exist_take_new_values():
    v, total = x(), jt.array([100.0])
    body = "for i in range(in0_shape0):\n    @out(0) += @in0(i)"

    assert jt.code([v], [total], cpu_src=body)[0].tolist() == [102]
    assert total.tolist() == [102]
    jt.code([v], [total], body)
    assert total.tolist() == [104]


def test_a_parallel_loop_gives_the_same_on_any_number_of_threads(backend):
    v = jt.array(np.arange(100_000.0))
    answers = []
    for count in (1, 2):
        before = jt.get_num_threads()
        jt.set_num_threads(count)
        try:
            with jt.trace() as t:
                answers.append(jt.code(v.shape if backend == "numba" else (9,), v.dtype, [v], """
                    for i in prange(1, out_shape0 - 1):
                        @out(i) = @in0(i - 1) + @in0(i + 1)
                """)[1:-1].numpy())  # fmt: skip
        finally:
            jt.set_num_threads(before)
        assert "part(lo" in t.kernels[0].source

    np.testing.assert_array_equal(*answers)
    np.testing.assert_array_equal(answers[0], 2 * np.arange(1.0, len(answers[0]) + 1))


# errors


BAD = {
    "outside": ("for i in range(3):\n    # one too far\n    @out(i) = @in0(i + 1)", jt.RangeError,
                r"length 3; found index 3 in line 3 of the body: `@out\(i\) = @in0\(i \+ 1\)`"),
    "far outside": ("@out(0) = @in0(-4)", jt.RangeError, "index -4 in line 1"),
    "nested": ("@out(int(@in0(2)) + 1) = 0", jt.RangeError, "index 4 in line 1"),
    "c++": ("for (int i=0; i<in0_shape0; i++)\n    @out(i) = 1;", jt.ArgumentError,
            r"C\+\+ in line 1.*for i in range\(n\)"),
    "c++ types": ("\nfloat s = 0;\n@out(0) = s;", jt.ArgumentError, r"C\+\+ in line 1: `float s = 0;`.*without a type"),
    "syntax": ("\nif True\n    @out(0) = 1", jt.ArgumentError, "expected ':' in line 1: `if True`"),
    "bracket": ("@out(0 = 1", jt.ArgumentError, "line 1"),
    "name": ("\n@out(0) = in00 + 1", jt.ArgumentError, "`in00` is not defined; found line 1 .*Try: in0"),
    "rank": ("@out(0, 1) = 0", jt.ArgumentError, "out has rank 1; found line 1"),
    "input": ("@in0(0) = 1", jt.ArgumentError, "in0 is an input, which is only read"),
    "alias": ("@alias(a, in7)\n@out(0) = 1", jt.ArgumentError, "@alias names an array: in0, out"),
    "data": ('@out(0) = data["q"]', jt.ArgumentError, "line 1 of the body"),
    "size": ("out.set_shape(2)", jt.ArgumentError, r"outputs of negative size.*\(-n,\)"),
    "two loops": ("for i in prange(3):\n    @out(i) = 1\n@out(1) = 2", jt.ArgumentError, "last statement.*line 3"),
    "before": ("@out(0) = 1\nfor i in prange(3):\n    @out(i) = 1", jt.ArgumentError, "before which no output"),
    "steps": ("for i in prange(0, 3, 2):\n    @out(i) = 1", jt.ArgumentError, "prange takes an end"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "error", "words"), BAD.values(), ids=BAD)
def test_a_wrong_body_is_told_with_its_line(body, error, words):
    with pytest.raises(error, match=words):
        one(body).sync()


def test_sizes_are_told_and_within_their_bound():
    with pytest.raises(jt.ArgumentError, match=r"a body that did not\. Try: out\.set_shape\(n\)"):
        one("@out(0) = 1", (-3,))
    with pytest.raises(jt.RangeError, match=r"at most 3 rows; found set_shape\(4\) in line 2"):
        one("@out(0) = 1\nout.set_shape(4)", (-3,))


def test_what_numba_cannot_compile_is_told_with_its_line():
    with (
        jt.flag_scope(backend="numba"),
        pytest.raises(jt.KernelError, match=r"attribute 'foo' of type float32 in line 2 of"),
    ):
        one("for i in range(3):\n    @out(i) = @in0(i).foo").sync()
    with jt.flag_scope(backend="numba"), pytest.raises(jt.KernelError, match=r"attribute 'foo' .* in cpu_header"):
        one("@out(0) = f(@in0(0))", cpu_header="def f(x):\n    return x.foo").sync()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"inputs": x}, "a list of inputs"),
        ({"cpu_grad_src": ["", ""]}, "up to one gradient for each input; found 2 for 1"),
        ({"shape": [(3,), (3,)], "dtype": ["float32"]}, "a shape for each dtype; found 2 for 1"),
        ({"cpu_header": "def f(x:"}, "cpu_header of jt.code is Python"),
    ],
)
def test_arguments_that_make_no_sense(given, words):
    with pytest.raises(jt.ArgumentError, match=words):
        jt.code(**{"shape": (3,), "dtype": "float32", "inputs": [x()], "cpu_src": "@out(0) = 1", **given}).sync()


def test_a_gradient_for_a_gpu_alone_says_what_is_missing():
    with pytest.raises(jt.BackendError, match="takes a text; found only cuda_grad_src"):
        jt.code((3,), "float32", [x()], cuda_grad_src=["kernel[1, 1](@ARGS)"])


def test_a_body_for_a_gpu_is_left_out_where_there_is_one_for_the_cpu():
    assert one("for i in range(3):\n    @out(i) = 1", cuda_src="as in Jittor").tolist() == [1, 1, 1]


def test_without_checks_no_index_is_looked_at():
    with jt.trace() as t:
        one("for i in range(3):\n    @out(i) = @in0(i)", boundscheck=False).sync()
    with jt.trace() as checked:
        one("for i in range(3):\n    @out(i) = @in0(i)").sync()

    assert "inside(" not in t.kernels[0].source.split("def kernel")[0]
    assert "inside(" in checked.kernels[0].source.split("def kernel")[0]


def test_machine_code_of_another_process_tells_the_line_too(tmp_path, monkeypatch):
    text = """if True:
        import jt_edu as jt
        try:
            jt.code((1,), "float32", [jt.ones(1)], "\\n@out(5) = 1").sync()
        except jt.RangeError as error:
            print(error)
    """
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))

    told = {
        subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for _ in "ab"
    }

    assert len(told) == 1 and "index 5 in line 1 of the body: `@out(5) = 1`" in told.pop()
