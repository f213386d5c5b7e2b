"""Launches on a GPU, all but the GPU: a library stands in the place of NVIDIA's driver."""

import gc
import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.base.source_text import remember
from jt_edu.cuda import on_card
from jt_edu.cuda.arguments import kind_of
from jt_edu.cuda.device_array import CardArray, HostArray
from tests.floors.cuda.fake_driver import FakeLibrary
from tests.floors.cuda.kernels import CASES, made

F32 = np.float32


@cuda.jit
def scaled(n, by, x, out):
    i = cuda.grid(1)
    if i < n:
        out[i] = by * x[i]


@cuda.jit
def outside(out):
    out[out.size] = 1


@cuda.jit
def through(x, y):
    x[0] = 5
    y[1] = 2 * y[0]


@cuda.jit
def nothing(x):
    pass


def row(size=70):
    return np.arange(size, dtype=F32)


def test_a_kernel_reads_and_writes_arrays_of_the_gpu_and_nothing_comes_back_unasked(card):
    library = card()
    x, out = cuda.to_device(row()), cuda.device_array(70, "float32")
    scaled[3, 32](70, 2.5, x, out)

    assert library.launches == [("scaled", (3, 1, 1), (32, 1, 1), 0)]
    assert "cuMemcpyDtoHAsync_v2" not in library.calls
    assert np.array_equal(out.copy_to_host(), F32(2.5) * row())


PRINTED = """
from jt_edu import cuda
from jt_edu.backends.mathlib import exp, maximum


@cuda.jit
def each(n0, a0, a1, out0):
    i0 = cuda.grid(1)
    if i0 < n0:
        out0[i0] = maximum(exp(a0[i0]) * a1[i0], a1[i0])


def kernel(lo, hi, n0, a0, a1, out0):
    each[(n0 + 255) // 256, 256](n0, a0, a1, out0)
"""


def test_a_printed_text_runs_on_the_gpu_and_in_the_interpreter_to_the_same_bits(card):
    space = {}
    exec(compile(PRINTED, remember(PRINTED, "<printed>"), "exec"), space)  # noqa: S102 - the text above
    x, y, plain = np.sin(row(300)), np.cos(row(300)), np.zeros(300, F32)
    space["kernel"](0, 300, 300, x, y, plain)
    library = card()
    out = cuda.device_array(300, "float32")
    space["kernel"](0, 300, 300, cuda.to_device(x), cuda.to_device(y), out)

    assert library.launches == [("each", (2, 1, 1), (256, 1, 1), 0)]
    assert np.array_equal(out.copy_to_host(), plain)
    assert np.array_equal(plain, np.maximum(np.exp(x) * y, y))


@pytest.mark.parametrize("there", [True, False], ids=["device arrays", "arrays of NumPy"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_right_kernel_gives_the_right_numbers_on_a_gpu(card, case, there):
    library = card()
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments]
    if there:
        given = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in given]
    made(case.text, case.name)[case.grid, case.block, 0, case.shared](*given)

    assert len(library.launches) == 1
    np.testing.assert_allclose(np.asarray(given[-1]), case.result, 1e-6)
    cuda.synchronize()


def test_arrays_of_numpy_are_copied_there_and_back_and_take_no_room_afterwards(card):
    library = card()
    out = np.zeros(70, F32)
    scaled[3, 32](70, 2.0, row(), out)
    gc.collect()

    assert len(library.launches) == 1
    assert np.array_equal(out, 2 * row())
    assert cuda.memory_stats()["used"] == 0


def test_an_array_that_is_given_twice_is_one_array_there(card):
    card()
    x = row(3)
    through[1, 1](x, x)

    assert x.tolist() == [5, 10, 2]


def test_an_array_that_may_not_be_written_is_not_copied_back(card):
    library = card()
    x, out = row(), np.zeros(70, F32)
    x.flags.writeable = False
    scaled[3, 32](70, 3.0, x, out)

    assert library.calls.count("cuMemcpyDtoHAsync_v2") == 1
    assert np.array_equal(out, 3 * row())


NUMBERS = [
    True, np.bool_(False), -3, 2**63 - 1, 1.5, np.float32(0.1), 2 - 3j, np.complex64(1 + 2j), np.int8(-7),
    np.uint16(65535), np.int32(-(2**31)), np.uint32(2**32 - 1), np.uint64(2**64 - 1), (4, 5), (np.int8(1), (2.5, 3)),
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_a_number_arrives_as_it_was_whatever_is_beside_it(card, monkeypatch, number):
    library, seen = card(), []
    monkeypatch.setattr("tests.floors.cuda.fake_driver.simulate", lambda *given, **_: seen.append(given) or Nothing())
    ignores = cuda.jit(lambda a, x, b, y, c: None)
    x, y = cuda.to_device(np.ones((2, 3), F32)), cuda.to_device(np.ones((), "bool"))
    ignores[2, 3](np.int8(1), x, number, y, np.int16(-2))
    cuda.synchronize()
    _, grid, block, first, matrix, found, one, last = seen[0]

    assert (grid, block, first, found, last) == ((2, 1, 1), (3, 1, 1), 1, number, -2)
    assert (matrix.shape, matrix.dtype, one.shape, one.dtype) == ((2, 3), F32, (), bool)
    assert library.broken == 0


class Nothing:
    findings = ()


def test_a_whole_number_of_more_than_64_bits_is_refused(card):
    card()
    with pytest.raises(jt.ArgumentError, match="has 64 bits; found 18446744073709551616"):
        scaled[1, 1](2**64, 1.0, row(), row())


@pytest.mark.parametrize(
    "value", [None, "text", np.zeros(2, "float16"), np.zeros(2, "datetime64[s]"), jt.zeros(3)], ids=str
)
def test_what_no_kernel_takes_is_refused_with_its_name(card, value):
    card()
    with pytest.raises(jt.ArgumentError, match="by, "):
        scaled[1, 1](1, value, row(), row())


def test_an_array_with_gaps_is_refused(card):
    card()
    with pytest.raises(jt.ArgumentError, match="x is an array whose numbers are in one row"):
        scaled[1, 1](1, 1.0, row()[::2], row())


def test_too_few_arguments_are_refused(card):
    card()
    with pytest.raises(jt.ArgumentError, match="scaled takes 4 arguments, n, by, x, out; found 3 arguments"):
        scaled[1, 1](1, 1.0, row())


def test_a_kernel_is_compiled_and_loaded_once_for_the_kinds_of_its_arguments(card):
    library = card()
    kernel = cuda.jit(scaled.function)
    for by in (1.0, 2.0, 3, 4):
        kernel[1, 32](4, by, row(32), row(32))

    assert library.calls.count("cuModuleLoadData") == len(library.kernels) == 2


def test_a_launch_has_three_axes_and_shared_memory_of_its_own(card):
    library = card()
    ignores = cuda.jit(nothing.function)
    ignores[(2, 3, 4), (5, 6, 7), 0, 100](row())
    ignores[1, 1, 0, 100_000](row())
    ignores[1, 1, 0, 90_000](row())

    assert [launch[1:] for launch in library.launches[:1]] == [((2, 3, 4), (5, 6, 7), 100)]
    assert library.calls.count("cuFuncSetAttribute") == 1
    with pytest.raises(jt.KernelError, match=r"this GPU has 232,448 bytes of shared memory.*found 300,000"):
        ignores[1, 1, 0, 300_000](row())


@pytest.mark.parametrize("grid", [(1, 65_536), (1, 1, 70_000)])
def test_more_blocks_along_y_than_a_gpu_has_are_refused_in_words(card, grid):
    card()

    with pytest.raises(jt.ArgumentError, match=r"65,535 blocks along y and z.*the long side along x"):
        cuda.jit(nothing.function)[grid, 1](row())


def test_memory_that_a_kernel_names_and_memory_that_a_launch_asks_for_are_counted_together(card, monkeypatch):
    library = card()
    monkeypatch.setattr(on_card.compiler, "compiled", lambda *given: library.compile(*given, shared=40_000))

    cuda.jit(nothing.function)[1, 1, 0, 20_000](row())

    assert library.calls.count("cuFuncSetAttribute") == 1


def test_a_block_without_room_for_its_threads_says_what_they_need(card, monkeypatch):
    library = card()
    monkeypatch.setattr(on_card.compiler, "compiled", lambda *given: library.compile(*given, registers=100))
    with pytest.raises(jt.KernelError, match=r"1024 threads in a block, 100 registers a thread.* fewer threads"):
        cuda.jit(scaled.function)[1, 1024](1, 1.0, row(), row())


def test_a_kernel_that_goes_wrong_is_told_at_the_next_wait_and_the_interpreter_takes_over(card):
    card()
    x = cuda.to_device(row())
    outside[1, 1](x)
    with pytest.raises(jt.KernelError, match=r"error 719 while waiting for kernels. Try: cuda\.simulate"):
        cuda.synchronize()
    with pytest.raises(jt.KernelError, match="error 719 while running an earlier kernel"):
        x.copy_to_host()
    out = np.zeros(70, F32)
    scaled[3, 32](70, 2.0, row(), out)

    assert not cuda.is_available()
    assert np.array_equal(out, 2 * row())
    with pytest.raises(jt.KernelError, match="out of bounds"):
        outside[1, 1](np.zeros(3))


def test_simulate_interprets_arrays_of_the_gpu_and_what_it_writes_goes_there(card):
    library = card()
    both = cuda.device_array((2, 8), "float32")
    both.copy_to_device(np.stack([row(8), row(8)]))
    run = cuda.simulate(scaled, 1, 8, 8, 2.0, both.ravel(), both.ravel())

    assert library.launches == []
    assert run.findings == []
    assert np.array_equal(both.copy_to_host(), np.stack([2 * row(8), row(8)]))


def test_simulate_knows_that_nobody_has_written_an_array_of_the_gpu(card):
    card()
    x, out = cuda.device_array(4, "float32"), cuda.device_array(4, "float32")

    assert [f.kind for f in cuda.simulate(scaled, 1, 4, 4, 2.0, x, out).findings] == ["unwritten"]
    assert cuda.simulate(scaled, 1, 4, 4, 2.0, out, out).findings == []
    scaled[1, 4](4, 2.0, cuda.to_device(row(4)), y := cuda.device_array(4, "float32"))
    assert cuda.simulate(scaled, 1, 4, 4, 2.0, y, y).findings == []


# ------------------------------------------------------------------------------------------------------------- memory


def test_memory_that_is_given_back_is_had_again_and_the_driver_is_not_asked(card):
    library = card()
    for _ in range(5):
        cuda.device_array(1000, "float32")

    assert cuda.memory_stats() == {"used": 0, "peak": 4096, "kept": 4096, "asked": 1, "reused": 4}
    assert library.calls.count("cuMemAllocAsync") == 1


def test_an_array_of_the_same_memory_keeps_it(card):
    card()
    x = cuda.to_device(row(32)).reshape(4, 8).view("int32")
    y = cuda.device_array(32, "float32")

    assert y.pointer != x.pointer
    assert np.array_equal(x.copy_to_host().view(F32).ravel(), row(32))


def test_where_there_is_no_room_what_is_kept_goes_first_and_then_it_is_told(card):
    library = card(FakeLibrary(room=10_000))
    cuda.device_array(8_000, "uint8")
    smaller = cuda.device_array(6_000, "uint8")

    assert library.taken == 6_144
    with pytest.raises(jt.OutOfMemoryError, match=r"room for all arrays; found error 2 \(CUDA_ERROR_OUT_OF_MEMORY\)"):
        cuda.device_array(5_000, "uint8")
    with pytest.raises(MemoryError, match="5,120 bytes"):
        cuda.to_device(np.zeros(5_000, np.uint8))
    assert smaller.copy_to_host().shape == (6_000,)
    assert cuda.memory_stats()["used"] == 6_144


# ------------------------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("there", [True, False], ids=["on a GPU", "for the interpreter"])
def test_an_array_is_seen_in_other_shapes_and_dtypes_without_a_copy(card, there):
    if there:
        card()
    x = cuda.to_device(row(24))
    y, z = x.reshape(2, -1, 4), x.reshape((4, 6)).view("complex64")

    assert isinstance(x, CardArray if there else HostArray)
    assert (y.shape, z.shape, z.dtype, z.ravel().shape, len(y)) == ((2, 3, 4), (4, 3), "complex64", (12,), 2)
    assert np.array_equal(np.asarray(z), row(24).reshape(4, 6).view("complex64"))
    y.copy_to_device(7)
    assert np.asarray(x, "int64").tolist() == [7] * 24
    out = np.zeros((2, 12))
    x.reshape(2, 12).copy_to_host(out)
    assert out.tolist() == [[7.0] * 12] * 2


@pytest.mark.parametrize("there", [True, False], ids=["on a GPU", "for the interpreter"])
@pytest.mark.parametrize("asked", [(5,), (-1, -1), (7, -1), (-2, -12)])
def test_a_shape_with_other_elements_is_refused(card, there, asked):
    if there:
        card()
    with pytest.raises(jt.ArgumentError, match="a reshape keeps all 24 elements"):
        cuda.to_device(row(24)).reshape(asked)


def test_a_view_of_half_a_number_is_refused(card):
    card()
    with pytest.raises(jt.ArgumentError, match="whole numbers of 8 bytes"):
        cuda.to_device(row(3)).view("float64")
    with pytest.raises(ValueError, match="copy=False"):
        np.array(cuda.to_device(row(3)), copy=False)
    with pytest.raises(jt.ArgumentError, match="without axes"):
        len(cuda.to_device(3.0))


def test_a_view_for_the_interpreter_knows_what_has_been_written(card):
    x = cuda.device_array(4, "float32")
    with pytest.raises(jt.KernelError, match="unwritten"):
        scaled[1, 4](4, 2.0, x.reshape(2, 2).ravel(), np.zeros(4))
    scaled[1, 4](4, 2.0, row(4), x.view("float32"))

    assert x.written.all()


def test_other_libraries_find_the_numbers_of_the_gpu(card):
    card()
    told = cuda.to_device(np.ones((2, 3), "int16")).__cuda_array_interface__

    assert (told["shape"], told["typestr"], told["strides"], told["version"]) == ((2, 3), "<i2", None, 3)
    assert told["data"][0] > 0 < told["stream"]
    assert not hasattr(HostArray(np.ones(2), written=True), "__cuda_array_interface__")


def test_numbers_go_from_array_to_array_without_leaving_the_gpu(card):
    library = card()
    x, y = cuda.to_device(row()), cuda.device_array(70, "float32")
    y.copy_to_device(x)

    assert "cuMemcpyDtoHAsync_v2" not in library.calls
    assert np.array_equal(y.copy_to_host(), row())


def test_an_array_without_elements_goes_there_and_back(card):
    card()
    empty = cuda.to_device(np.zeros((0, 3), F32))

    assert empty.copy_to_host().shape == (0, 3)
    assert kind_of(empty) == "float32[2]"


def test_arrays_of_the_interpreter_and_of_a_gpu_are_not_mixed(card):
    before = cuda.to_device(row())
    card()
    with pytest.raises(jt.ArgumentError, match="arrays of one launch are in one place"):
        scaled[1, 1](1, 1.0, before, cuda.to_device(row()))


# ------------------------------------------------------------------------------------------------------- several GPUs


def test_each_gpu_has_arrays_of_its_own(card):
    card(FakeLibrary(("Fake A", "Fake B")))
    x = cuda.to_device(row())
    cuda.set_device(1)
    y = cuda.to_device(row())
    scaled[3, 32](70, 2.0, y, y)

    assert np.array_equal(y.copy_to_host(), 2 * row())
    for wrong in (lambda: scaled[1, 1](1, 1.0, x, y), x.copy_to_host, lambda: x.copy_to_device(1)):
        with pytest.raises(jt.ArgumentError, match=r"an array of <GPU 0> on <GPU 1>. Try: set_device\(0\)"):
            wrong()
    cuda.set_device(0)
    assert np.array_equal(x.copy_to_host(), row())


def test_each_thread_has_a_gpu_of_its_own(card):
    card(FakeLibrary(("Fake A", "Fake B")))
    cuda.set_device(1)
    found = []

    def other():
        x = cuda.to_device(row())
        scaled[3, 32](70, 2.0, x, x)
        found.extend([cuda.current_device(), x.copy_to_host()[1]])

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert (found, cuda.current_device()) == ([0, 2.0], 1)
