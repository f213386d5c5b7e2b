"""`cuda_src`: kernels of a GPU in jt.code, which the interpreter runs; the same numbers as the CPU's."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.cuda.translator import Program

GUARDED = """
@cuda.jit
def kernel(@ARGS_DEF):
    @PRECALC
    i = cuda.grid(1)
    if i < in0_shape0:
        {line}

kernel[in0_shape0 // 8 + 1, 8](@ARGS)
"""
SUM = """
@cuda.jit
def kernel(@ARGS_DEF):
    tile = cuda.shared.array(16, "float32")
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = @in0(i) if i < in0_shape0 else 0
    cuda.syncthreads()
    half = 8
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, tile[0])

kernel[in0_shape0 // 16 + 1, 16](@ARGS)
"""
TRANSPOSED = """
@cuda.jit
def kernel(@ARGS_DEF):
    j, i = cuda.grid(2)
    if i < out_shape0 and j < out_shape1:
        @out(i, j) = @in0(j, i)

kernel[(out_shape1 // 4 + 1, out_shape0 // 4 + 1), (4, 4)](@ARGS)
"""
X = np.arange(1.0, 22.0, dtype=np.float32)
CASES = {  # cuda_src, the same for the CPU, inputs, the shape of the output
    "a map of two inputs": (GUARDED.format(line="@out(i) = @in0(i) * @in1(i)"),
                            "for i in range(in0_shape0): @out(i) = @in0(i) * @in1(i)", [X, X[::-1].copy()], (21,)),
    "a sum": (SUM, "@out(0) = 0\nfor i in range(in0_shape0): @out(0) += @in0(i)", [X], (1,)),
    "a transpose": (TRANSPOSED, "for i in range(out_shape0):\n    for j in range(out_shape1): @out(i, j) = @in0(j, i)",
                    [X.reshape(3, 7)], (7, 3)),
}  # fmt: skip


def coded(source, inputs, shape, **more):
    return jt.code(shape, "float32", [jt.array(x) for x in inputs], cuda_src=source, **more)


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_of_a_gpu_gives_the_numbers_of_the_cpu(name):
    cuda_src, cpu_src, inputs, shape = CASES[name]

    found = coded(cuda_src, inputs, shape)

    wanted = jt.code(shape, "float32", [jt.array(x) for x in inputs], cpu_src)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-6)


def test_a_gradient_of_a_gpu_is_used():
    x = jt.array(X)
    forward, back = (
        GUARDED.format(line=f"@out(i) = {value}") for value in ("@in0(i) ** 3", "3 * @pout(i) / @in0(i) * @dout(i)")
    )

    y = jt.code(x.shape, x.dtype, [x], cuda_src=forward, cuda_grad_src=[back])

    np.testing.assert_allclose(jt.grad((y * 2).sum(), x).numpy(), 6 * X**2, 1e-5)


def test_data_and_a_header_are_there():
    header = "@cuda.jit(device=True)\ndef more(x, k):\n    return x + k"
    source = GUARDED.format(line='@out(i) = more(@in0(i), data["k"])')

    found = [coded(source, [X], (21,), cuda_header=header, data={"k": k}).numpy() for k in (1, 2)]

    np.testing.assert_array_equal(found, [X + 1, X + 2])


def test_several_outputs_are_filled_by_one_text():
    source = GUARDED.format(line="@out0(i) = -@in0(i)\n        @out1(i) = int(@in0(i)) % 2")

    negative, odd = jt.code([(21,), (21,)], ["float32", "int32"], [jt.array(X)], cuda_src=source)

    np.testing.assert_array_equal(negative.numpy(), -X)
    np.testing.assert_array_equal(odd.numpy(), X.astype(int) % 2)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("if i < in0_shape0:", "if i <= in0_shape0:", r"out of bounds in kernel, line 6.*\n.*touches in0\[21\]"),
        ("i = cuda.grid(1)", "i = cuda.threadIdx.x", "race in kernel, line 6"),
        ("cuda.grid(1)", "cuda.gird(1)", "does not know cuda.gird"),
        ("@out(i) = @in0(i)", "@in0(i) = 1", "read-only"),
    ],
)
def test_what_is_wrong_with_a_kernel_is_an_error_that_names_its_line(old, new, words):
    source = GUARDED.format(line="@out(i) = @in0(i)")
    assert source.count(old) == 1

    with pytest.raises(jt.KernelError, match=words):
        coded(source.replace(old, new), [X], (21,)).numpy()


@pytest.mark.parametrize(
    "source", ["__global__ static void kernel1(@ARGS_DEF) { @PRECALC }", "kernel<<<1, 32>>>(@ARGS);", "def kernel(:"]
)
def test_a_text_of_cpp_is_refused_before_anything_runs(source):
    with pytest.raises(jt.ArgumentError, match=r"cuda_src is Python, in the words of numba\.cuda"):
        coded(source, [X], (21,))


def test_kernels_that_nobody_launches_are_refused():
    source, _, launch = SUM.rpartition("kernel[")
    assert launch
    with pytest.raises(jt.ArgumentError, match=r"launches its kernels; found no launch of kernel\. Try: kernel"):
        coded(source, [X], (1,))


def test_a_number_that_data_has_not_is_refused_before_anything_runs():
    source = GUARDED.format(line='@out(i) = @in0(i) * data["k"]')
    with pytest.raises(jt.ArgumentError, match=r'reads data\["k"\]; found data with n\. Try: .*data={"k": 1.0}'):
        coded(source, [X], (21,), data={"n": 2})


def test_gradients_of_several_outputs_are_refused():
    with pytest.raises(jt.ArgumentError, match="a cuda_grad_src is for one output"):
        jt.code([(1,), (1,)], ["float32"] * 2, [jt.array(X)], cuda_src=SUM, cuda_grad_src=[SUM])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (5, "are texts"),
        ("x = '\0'", "in the words of"),
        ("x = '\ud800'", "surrogates"),
        ("x = 1 +" + " " * 500 + "(", r"found EOF in [a-z-]+ statement\. Try"),
    ],
)
def test_what_is_no_text_of_python_is_refused_in_few_words(source, words):
    with pytest.raises(jt.ArgumentError, match=words) as error:
        coded(source, [X], (21,))
    assert len(str(error.value)) < 400


def test_more_gradients_than_inputs_are_refused():
    with pytest.raises(jt.ArgumentError, match="one cuda_grad_src for each input; found 2 for 1"):
        coded(SUM, [X], (1,), cuda_grad_src=[SUM, SUM])


def test_an_error_beside_the_kernels_names_its_line():
    with pytest.raises(jt.KernelError, match=r"cuda_src stopped in line 2: y = in0\[99\]; found IndexError"):
        coded("x = 1\ny = in0[99]", [X], (21,)).numpy()


def test_ranks_may_launch_at_once():
    sources = [GUARDED.format(line=f"@out(i) = {k} * @in0(i)") for k in range(4)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda source: [coded(source, [X], (21,)).numpy() for _ in range(5)], sources))

    assert all(np.array_equal(y, k * X) for k, ys in enumerate(found) for y in ys)


def test_launches_leave_nothing_behind():
    def once():
        coded(GUARDED.format(line="@out(i) = @in0(i)"), [X], (21,)).numpy()
        gc.collect()
        return sum(isinstance(o, Program) for o in gc.get_objects())

    assert once() == once()
