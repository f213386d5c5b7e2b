"""The tuner on a GPU: its ways are measured by the driver's events, on a clock that the test owns."""

from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.backends.convolve import autotuner
from jt_edu.base.errors import OutOfMemoryError
from jt_edu.cuda import cublas, cudnn, tuning
from tests.floors.cuda.fake_cublas import FakeCublas
from tests.floors.cuda.fake_cudnn import FakeCudnn


@pytest.fixture
def clock(gpu, monkeypatch):
    """A fake GPU whose kernels take a tenth of a second for each block, as libraries do, and an empty table."""
    gpu.seconds = lambda kernel, blocks: 0.1 * blocks
    monkeypatch.setattr(tuning, "measured", partial(measured_by_the_clock_alone, gpu))
    monkeypatch.setattr(autotuner, "mine", autotuner.Tuner(stamp="of-a-test"))
    autotuner.mine.clear()
    libraries = {cublas: FakeCublas(gpu), cudnn: FakeCudnn(gpu)}
    for module, library in libraries.items():
        monkeypatch.setattr(module, "library", lambda library=library: library)
        monkeypatch.setattr(module, "_handles", {})
        library.seconds = 0.05
    cudnn._described.cache_clear()
    jt.flags.use_cuda = 1
    yield gpu
    jt.flags.cublas = jt.flags.cudnn = False
    autotuner.mine.clear()
    cudnn._described.cache_clear()


def measured_by_the_clock_alone(gpu, *given):
    """Kernels compute nothing meanwhile: the interpreter takes its time."""
    gpu.computes = False
    try:
        return autotuner.measured(*given)
    finally:
        gpu.computes = True


def numbers(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype("float32")


def kernel_of(graph):
    with jt.trace() as trace:
        found = graph().numpy()
    return trace.kernels[-1], found


def product(m=40, k=20, n=40):
    return jt.array(numbers(m, k)) @ jt.array(numbers(k, n, seed=1))


def test_off_nothing_is_measured_and_the_usual_tiles_are_taken(clock):
    kernel, _ = kernel_of(product)

    assert "cuEventElapsedTime" not in clock.calls
    assert (kernel.algorithm, autotuner.mine.timed) == ("", 0)
    assert "tiles[max(1, -(-n0 // 16) * -(-n1 // 16)), 256]" in kernel.source


def test_the_tile_is_taken_whose_kernel_takes_least_time_and_the_trace_says_so(clock):
    with jt.backends.conv.flags(benchmark=True):
        kernel, found = kernel_of(product)

    assert (kernel.algorithm, kernel.reason) == ("tiles of 64 x 64", "measured 100 ms, tiles of 16 x 16 900 ms")
    assert "tiles[max(1, -(-n0 // 64) * -(-n1 // 64)), 256]" in kernel.source
    np.testing.assert_allclose(found, numbers(40, 20) @ numbers(20, 40, seed=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("seconds", "winner"), [(0.05, "cuBLAS"), (0.15, "tiles of 64 x 64")])
def test_a_library_computes_it_where_it_is_asked_for_and_takes_less_time(clock, seconds, winner):
    cublas.library().seconds = seconds
    with jt.flag_scope(cublas=True), jt.backends.conv.flags(benchmark=True):
        kernel, _ = kernel_of(product)

    assert (kernel.algorithm, kernel.calls) == (winner, ("cuBLAS",) if winner == "cuBLAS" else ())
    assert f"cuBLAS {seconds * 1e3:g} ms" in f"{kernel.algorithm} {kernel.reason.removeprefix('measured ')}"


def test_each_algorithm_of_a_convolution_is_measured_and_the_broken_one_is_not_taken(clock):
    with jt.flag_scope(cudnn=True), jt.backends.conv.flags(benchmark=True):
        image, weights = jt.array(numbers(1, 4, 6, 6)), jt.array(numbers(4, 4, 3, 3))
        kernel, _ = kernel_of(lambda: jt.nn.conv2d(image, weights, padding=1))

    (entry,) = autotuner.mine.all()
    assert {t.name for t in entry.timings} == {"cuDNN 7", "cuDNN 1", "tiles of 16 x 16"}
    assert kernel.algorithm in ("cuDNN 7", "cuDNN 1")
    assert entry.sizes.kind == "forward"


def test_a_size_is_measured_once_and_its_line_names_the_gpu(clock):
    with jt.backends.conv.flags(benchmark=True):
        product().sync()
        spent = autotuner.mine.samples
        autotuner.mine.entries.clear()  # what is on the disk is read
        (product() + 1).sync()
        table = repr(jt.backends.conv.table())

    assert autotuner.mine.samples == spent > 0
    assert f"product nn 40x20x1 * 40x20x1, float32, Fake 0 (9.0), driver 13.0, {tuning.stamp()}" in table


@pytest.mark.parametrize("what", ["the driver", "a file or a package"])
def test_with_another_driver_or_other_kernels_a_size_is_measured_anew(clock, monkeypatch, what):
    with jt.backends.conv.flags(benchmark=True):
        product().sync()
        spent = autotuner.mine.samples
        if what == "the driver":
            clock.version = 13_010
        else:
            monkeypatch.setattr(tuning, "stamp", lambda: "other")
        (product() + 1).sync()

    assert autotuner.mine.samples == 2 * spent > 0


def test_deterministic_has_no_clock_choose(clock):
    with jt.backends.conv.flags(benchmark=True, deterministic=True):
        kernel_of(product)

    assert autotuner.mine.timed == 0


def test_a_way_that_the_gpu_has_no_room_for_is_no_candidate(clock):
    launch = clock._launch
    clock._launch = lambda stream, function, sizes, row: 701 if sizes[0] == 1 else launch(stream, function, sizes, row)
    with jt.backends.conv.flags(benchmark=True):
        kernel, _ = kernel_of(product)

    assert kernel.algorithm == "tiles of 16 x 16"


def no_room(*_):
    raise OutOfMemoryError("a GPU has room", "none")


def test_where_there_is_no_room_to_measure_the_usual_way_is_taken_and_measured_when_there_is(clock):
    with jt.backends.conv.flags(benchmark=True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tuning, "to_device", no_room)
            kernel, _ = kernel_of(product)
        assert (kernel.reason, autotuner.mine.all()) == ("", [])
        assert "tiles[max(1, -(-n0 // 16) * -(-n1 // 16)), 256]" in kernel.source
        kernel, _ = kernel_of(lambda: product() + 1)

    assert (kernel.algorithm, kernel.reason) == ("tiles of 64 x 64", "measured 100 ms, tiles of 16 x 16 900 ms")


def test_a_way_without_room_for_a_moment_is_measured_the_next_time(clock):
    def convolution(more):
        image, weights = jt.array(numbers(1, 4, 6, 6)), jt.array(numbers(4, 4, 3, 3))
        return kernel_of(lambda: jt.nn.conv2d(image, weights, padding=1) + numbers(*more))[0]

    with jt.flag_scope(cudnn=True), jt.backends.conv.flags(benchmark=True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cudnn, "device_array", no_room)
            assert convolution((4, 6, 6)).algorithm == "tiles of 16 x 16"
        autotuner.mine.entries.clear()  # what is on the disk is read
        convolution((1, 6))

    (entry,) = autotuner.mine.all()
    assert {t.name: t.runs > 0 for t in entry.timings} == {"cuDNN 7": True, "cuDNN 1": True, "tiles of 16 x 16": True}


def test_ways_that_take_the_same_arrays_share_them(clock, monkeypatch):
    made = []
    monkeypatch.setattr(tuning, "to_device", lambda x: made.append(x.shape) or jt.cuda.to_device(x))
    with jt.backends.conv.flags(benchmark=True):
        product().sync()

    assert sorted(made) == [(800,), (800,), (1600,)]


def test_the_interpreter_measures_nothing():
    with jt.flag_scope(backend="cudasim"), jt.backends.conv.flags(benchmark=True), jt.trace() as trace:
        product().sync()

    assert "measured" not in trace.kernels[-1].source


def test_on_tensor_cores_there_are_three_tiles_and_another_precision_is_measured_anew(clock):
    with jt.backends.conv.flags(benchmark=True):
        product().sync()
        jt.set_float32_matmul_precision("high")
        kernel, _ = kernel_of(product)

    found = {entry.sizes.dtype: {t.name for t in entry.timings} for entry in autotuner.mine.all()}
    assert found == {
        "float32": {"tiles of 16 x 16", "tiles of 64 x 64"},
        "float32 as tf32": {"tf32 tiles of 32", "tf32 tiles of 64", "tf32 tiles of 128"},
    }
    assert kernel.algorithm in ("tf32 tiles of 32", "tf32 tiles of 64", "tf32 tiles of 128")
