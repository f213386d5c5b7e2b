"""Launches: sizes, arguments, names of CUDA, and what is said of a kernel that stops."""

import numpy as np
import pytest
from numba import cuda as numba_cuda
from numba import float32

import jt_edu as jt
from jt_edu import cuda
from jt_edu.backends.mathlib import narrow
from jt_edu.cuda import grid, threadIdx
from tests.floors.cuda.kernels import made


def from_text(text):
    return made(text, str(hash(text)))


@cuda.jit
def filled(out, value):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = value


@pytest.mark.parametrize(
    ("blocks", "threads"),
    [
        (0, 1),
        (1, 0),
        (1.5, 2),
        (2**31, 1),
        (2**32 + 1, 1),
        ((1, 1, 1, 1), 2),
        ("2", 2),
        (1, 2000),
        (1, (64, 32)),
        (1, (8, 8, 32)),
    ],
)
def test_a_launch_that_makes_no_sense_is_refused(blocks, threads):
    with pytest.raises(jt.ArgumentError, match=r"threads|blocks"):
        filled[blocks, threads](np.zeros(3), 1)


def test_true_is_no_number_of_blocks_or_threads():
    for sizes in ((True, 1), (1, True), ((2, True), 1)):
        with pytest.raises(jt.ArgumentError, match="True"):
            cuda.simulate(filled, *sizes, np.zeros(3), 1)


@pytest.mark.parametrize("shared", ["x", -4, 1.5, True, None, 227 * 1024 + 1])
def test_bytes_of_shared_memory_that_no_block_has_are_refused_whether_the_kernel_needs_them_or_not(shared):
    with pytest.raises((jt.ArgumentError, jt.KernelError), match="bytes of shared memory"):
        filled[1, 2, 0, shared](np.zeros(3), 1)
    with pytest.raises((jt.ArgumentError, jt.KernelError), match="bytes of shared memory"):
        cuda.simulate(filled, 1, 2, np.zeros(3), 1, shared=shared)
    filled[1, 2, 0, np.int32(227 * 1024)](np.zeros(3), 1)


@pytest.mark.parametrize("how", [3, (1,), (1, 2, 3, 4, 5)])
def test_a_launch_takes_blocks_and_threads(how):
    with pytest.raises(jt.ArgumentError, match=r"\[blocks, threads\] takes two sizes"):
        filled[how]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(3),), "takes 2 arguments, out, value; found 1 argument. Try: one for each"),
        ((np.zeros((4, 4))[:, ::2], 1), "out is an array whose numbers are in one row"),
        ((jt.zeros(3), 1), r"arrays and numbers; found out, Var. Try: np.array\(x\), or cuda.to_device"),
        (([0.0], 1), r"arrays and numbers; found out, list. Try: np.array\(x\), or cuda.to_device"),
        ((np.array([None]), 1), r"arrays and numbers; found out, ndarray of object. Try: x.astype"),
    ],
)
def test_arguments_that_a_kernel_cannot_take_are_refused(arguments, words):
    with pytest.raises(jt.ArgumentError, match=words):
        filled[1, 4](*arguments)


def test_a_kernel_is_launched_and_not_called():
    with pytest.raises(jt.KernelError, match=r"filled\[blocks, threads\]"):
        filled(np.zeros(3), 1)


def test_arguments_of_a_launch_have_no_names():
    with pytest.raises(jt.ArgumentError, match=r"takes its arguments in order; found out=, value=\."):
        filled[1, 4](out=np.zeros(3), value=1)


def test_names_of_numba_that_a_kernel_lacks_are_told():
    with pytest.raises(AttributeError, match=r"a kernel offers no forall\. Try: kernel\["):
        _ = filled.forall


CURES = {  # what a launch says of the first mistake
    "out[t + 1] = 1": r"mistake:\nout of bounds in .*Try: a guard",
    "if t: cuda.syncthreads()": "Try: this line where all threads come to it",
    "out[t] = cuda.shared.array(4, 'float32')[t]": "Try: a write before this line",
    "out[0] = t": r"Try: cuda.syncthreads\(\) between",
}


@pytest.mark.parametrize("body", CURES)
def test_a_launch_that_goes_wrong_says_what_to_try(body):
    text = f"@cuda.jit\ndef kernel(out):\n    t = cuda.threadIdx.x\n    {body}\n"
    with pytest.raises(jt.KernelError, match=rf"(?s)kernel is not right; found 1 .*{CURES[body]}"):
        from_text(text)[1, 4](np.zeros(4))


def test_what_is_slow_stands_at_the_end_of_a_run():
    text = (
        "@cuda.jit\ndef kernel(x):\n    tile = cuda.shared.array((32, 32), 'float32')\n    tile[cuda.laneid, 0] = 1\n"
    )
    assert str(cuda.simulate(from_text(text), 1, 32, np.zeros(1))).splitlines() == [
        "kernel: nothing is wrong", "slow, see run.slow: bank conflict in line 4"
    ]  # fmt: skip


def test_a_device_function_is_not_launched():
    helper = cuda.jit(lambda x: x, device=True)
    with pytest.raises(jt.KernelError, match="kernels call it; found a launch"):
        helper[1, 2](1)
    with pytest.raises(jt.KernelError, match="kernels call it; found a plain call"):
        helper(1)
    with pytest.raises(jt.ArgumentError, match="simulate takes a kernel"):
        cuda.simulate(helper, 1, 2, 1)


def test_a_name_of_a_kernel_means_nothing_outside_of_it():
    for use in (lambda: cuda.threadIdx.x + 1, lambda: cuda.grid(1), lambda: 2 * cuda.blockDim.x, cuda.syncthreads):
        with pytest.raises(jt.KernelError, match="inside of a kernel only"):
            use()


@pytest.mark.parametrize("function", [3, None, "kernel"])
def test_only_a_function_becomes_a_kernel(function):
    if function is None:
        assert callable(cuda.jit())
    else:
        with pytest.raises(jt.ArgumentError, match=r"cuda\.jit takes a function"):
            cuda.jit(function)


def test_a_kernel_without_a_text_is_refused():
    space = {"cuda": cuda}
    exec("@cuda.jit\ndef made(x):\n    x[0] = 1", space)  # noqa: S102
    with pytest.raises(jt.KernelError, match="reads the text of a kernel"):
        space["made"][1, 1](np.zeros(1))
    with pytest.raises(jt.KernelError, match="written with def"):
        cuda.jit(lambda x: None)[1, 1](np.zeros(1))


@cuda.jit
def stops(x):
    t = cuda.threadIdx.x
    x[t] = 1 // (t - 2)


def test_an_error_in_a_kernel_is_told_with_its_thread_and_its_line():
    with pytest.raises(jt.KernelError, match=r"thread 2 of block 0, in line 4: x\[t\] = 1 // \(t - 2\); found ZeroDiv"):
        stops[1, 4](np.zeros(4))


@cuda.jit
def cut(i, x):
    x[narrow(i)] = 1


def test_an_index_that_is_promised_to_have_32_bits_and_has_more_is_told_with_its_line():
    x = np.zeros(4)
    cut[1, 1](3, x)
    assert x.tolist() == [0, 0, 0, 1]
    for i in (2**40 + 3, 2**31, -(2**31) - 1):
        with pytest.raises(jt.KernelError, match=rf"in line 3: x\[narrow\(i\)\] = 1; found Over.* and got {i:,}"):
            cut[1, 1](i, x)


@cuda.jit
def unknown(x):
    cuda.sync_everything()


def test_a_word_that_the_interpreter_does_not_know_is_told_with_its_line():
    with pytest.raises(jt.KernelError, match=r"does not know cuda.sync_everything; found line 3"):
        unknown[1, 1](np.zeros(1))


def test_a_kernel_written_for_numba_runs_as_it_is():
    def kernel(x, out):
        tile = numba_cuda.shared.array(shape=4, dtype=float32)
        t = numba_cuda.threadIdx.x
        tile[t] = x[t]
        numba_cuda.syncthreads()
        out[t] = tile[3 - t]

    out = np.zeros(4, np.float32)
    cuda.jit(kernel)[1, 4](np.arange(4, dtype=np.float32), out)
    assert out.tolist() == [3, 2, 1, 0]


@cuda.jit
def by_name(out):
    out[grid(1)] = threadIdx.x


def test_names_may_be_imported_alone():
    out = np.zeros(4)
    by_name[2, 2](out)
    assert out.tolist() == [0, 1, 0, 1]


@cuda.jit
def through_jt(out):
    out[jt.cuda.grid(1)] = jt.cuda.gridsize(1)


def test_names_may_be_reached_through_the_package():
    out = np.zeros(4)
    through_jt[2, 2](out)
    assert out.tolist() == [4] * 4


@cuda.jit
def in_space(out):
    x, y, z = cuda.grid(3)
    out[z, y, x] = 100 * cuda.threadIdx.z + 10 * cuda.blockIdx.y + cuda.gridDim.x


def test_three_axes_count_x_fastest():
    out = np.zeros((2, 3, 4), int)
    in_space[(2, 3), (2, 1, 2)](out)
    assert out[1].tolist() == [[102] * 4, [112] * 4, [122] * 4]


CHANGES = {"add": 7, "sub": 1, "max": 4, "min": 3, "exch": 3, "and_": 0, "or_": 7, "xor": 7, "inc": 0, "dec": 3}


@pytest.mark.parametrize("name", CHANGES)
def test_an_atomic_gives_the_old_number_and_stores_the_new_one(name):
    change = getattr(cuda.atomic, name).name
    text = f"@cuda.jit\ndef kernel(x, out):\n    out[0] = cuda.{change}(x, 0, 3)\n"
    x, out = np.array([4]), np.zeros(1, int)
    from_text(text)[1, 1](x, out)
    assert (x[0], out[0]) == (CHANGES[name], 4)


def test_compare_and_swap_changes_only_what_is_expected():
    kernel = from_text("@cuda.jit\ndef kernel(x, old):\n    cuda.atomic.cas(x, 0, old, 9)\n")
    x = np.array([4])
    kernel[1, 1](x, 5)
    kept = x[0]
    kernel[1, 1](x, 4)
    assert (kept, x[0]) == (4, 9)


LANES = np.arange(32)
HEARD = {
    "shfl_sync": ("5", np.full(32, 5)),
    "shfl_up_sync": ("1", np.maximum(LANES - 1, 0)),
    "shfl_down_sync": ("2", np.where(LANES < 30, LANES + 2, LANES)),
    "shfl_xor_sync": ("1", LANES ^ 1),
}


@pytest.mark.parametrize("name", HEARD)
def test_a_shuffle_gives_the_number_of_another_lane(name):
    argument, wanted = HEARD[name]
    kernel = from_text(
        f"@cuda.jit\ndef kernel(x):\n    x[cuda.laneid] = cuda.{name}(0xFFFFFFFF, cuda.laneid, {argument})\n"
    )
    x = np.full(32, -1)
    kernel[1, 32](x)
    assert x.tolist() == wanted.tolist()


VOTES = {
    "syncthreads_count(t < 5)": 5, "syncthreads_and(t < 5)": 0, "syncthreads_and(t < 64)": 1,
    "syncthreads_or(t == 40)": 1, "syncthreads_or(t > 99)": 0,
}  # fmt: skip


@pytest.mark.parametrize("call", VOTES)
def test_a_barrier_counts_votes_of_the_whole_block(call):
    kernel = from_text(f"@cuda.jit\ndef kernel(x):\n    t = cuda.threadIdx.x\n    x[t] = cuda.{call}\n")
    x = np.full(64, -1)
    kernel[1, 64](x)
    assert x.tolist() == [VOTES[call]] * 64


@pytest.mark.parametrize(
    ("call", "wanted"), [("popc(13)", 3), ("clz(1)", 31), ("ffs(8)", 4), ("brev(1)", 2**31), ("fma(2.0, 3.0, 4.0)", 10)]
)
def test_functions_of_numbers_are_those_of_cuda(call, wanted):
    x = np.zeros(1)
    from_text(f"@cuda.jit\ndef kernel(x):\n    x[0] = cuda.{call}\n")[1, 1](x)
    assert x[0] == wanted


def test_math_of_a_float32_is_a_float32():
    x, out = np.full(1, 2, np.float32), np.zeros(1, bool)
    text = "import math\n@cuda.jit\ndef kernel(x, out):\n    out[0] = math.sqrt(x[0]) == np.float32(math.sqrt(2.0))\n"
    from_text(text)[1, 1](x, out)
    assert out[0]


@pytest.mark.parametrize(("dtype", "trips"), [("float16", 1), ("float32", 1), ("float64", 2)])
def test_neighbors_in_shared_memory_are_no_conflict_of_banks_however_wide_they_are(dtype, trips):
    text = f"""
@cuda.jit
def kernel(x):
    tile = cuda.shared.array(32, "{dtype}")
    t = cuda.threadIdx.x
    tile[t] = x[t]
"""
    run = cuda.simulate(from_text(text), 1, 32, np.zeros(32))
    assert run.slow == []
    assert [t.trips for t in run.trips if t.name == "tile"] == [trips]


def test_an_array_of_each_thread_makes_no_trips_to_memory():
    text = "@cuda.jit\ndef kernel(x):\n    mine = cuda.local.array(2, 'float32')\n    mine[0] = x[0]\n"
    run = cuda.simulate(from_text(text), 1, 32, np.zeros(1))
    assert {t.name for t in run.trips} == {"x"}


def test_an_array_of_a_device_is_read_only_after_it_was_written():
    out = cuda.device_array(4, "float32")
    filled[1, 2](out, 1.0)
    run = cuda.simulate(copied, 1, 4, out, np.zeros(4))
    assert [(f.kind, f.threads) for f in run.findings] == [("unwritten", ((0, 2), (0, 3)))]
    filled[1, 4](out, 2.0)
    assert cuda.simulate(copied, 1, 4, out, np.zeros(4)).findings == []
    assert out.copy_to_host().tolist() == [2.0] * 4


@cuda.jit
def copied(x, out):
    t = cuda.threadIdx.x
    out[t] = x[t]


def test_numbers_are_copied_to_a_device_and_back():
    numbers = np.arange(6.0).reshape(2, 3)
    there = cuda.to_device(numbers)
    numbers[:] = 0
    back = np.zeros((2, 3))
    assert there.copy_to_host(back) is back and back.sum() == 15
    there.copy_to_device(numbers)
    assert there.copy_to_host().sum() == 0 and (there.shape, there.ndim, there.size, len(there)) == ((2, 3), 2, 6, 2)
    with pytest.raises(jt.ArgumentError, match="array of numbers"):
        cuda.to_device(["a"])


def test_a_turn_in_a_loop_counts_and_a_limit_ends_it():
    kernel = from_text("@cuda.jit\ndef kernel(x):\n    for i in range(100):\n        x[0] = i\n")
    assert cuda.simulate(kernel, 1, 1, np.zeros(1), steps=100).findings == []
    (found,) = cuda.simulate(kernel, 1, 1, np.zeros(1), steps=99).findings
    assert (found.kind, found.line) == ("never ends", 3)


def test_a_read_again_in_a_loop_does_not_hide_another_reader():
    text = """
@cuda.jit
def kernel(x, out):
    tile = cuda.shared.array(4, "float32")
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    if t < 3:
        for _ in range(5):
            out[t] = tile[3]
    else:
        tile[3] = 9
"""
    (found,) = cuda.simulate(from_text(text), 1, 4, np.zeros(4), np.zeros(4)).findings
    assert found.kind == "race" and (0, 3) in found.threads


def test_the_same_launch_gives_the_same_findings_each_time():
    text = "@cuda.jit\ndef kernel(x):\n    x[0] = cuda.grid(1)\n"
    first, second = (str(cuda.simulate(from_text(text), 3, 8, np.zeros(1))) for _ in range(2))
    assert first == second and "race" in first


def test_a_race_of_all_threads_is_one_finding_that_names_each_of_them_once():
    text = "@cuda.jit\ndef kernel(x):\n    x[0] = 1\n"
    (found,) = cuda.simulate(from_text(text), 4, 8, np.zeros(1)).findings
    assert sorted(found.threads) == [(block, thread) for block in range(4) for thread in range(8)]


def test_there_is_no_gpu_and_nothing_says_otherwise():
    assert not cuda.is_available() and cuda.device_count() == 0 and cuda.synchronize() is None
    assert not jt.has_cuda


def test_a_wrapped_function_keeps_its_name_and_its_words():
    @cuda.jit
    def kernel(x):
        """Does nothing."""

    assert (kernel.__name__, kernel.__doc__, repr(kernel)) == ("kernel", "Does nothing.", "<kernel kernel>")


@pytest.mark.parametrize("stream", [1, "s", object()])
def test_a_stream_that_is_not_there_is_refused(stream):
    filled[1, 4, 0](np.zeros(3), 1)
    with pytest.raises(jt.ArgumentError, match="has the stream 0"):
        filled[1, 4, stream](np.zeros(3), 1)
