"""Convolutions by NVIDIA's library, all but the library: off by default, named in the trace, and the same numbers."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.cuda import cublas, cudnn
from tests.floors.cuda.fake_cudnn import FakeCudnn
from tests.floors.cuda.fake_driver import FakeLibrary


@pytest.fixture
def library(gpu, monkeypatch):
    """A fake GPU, and a fake library that computes convolutions there."""
    found = FakeCudnn(gpu)
    monkeypatch.setattr(cudnn, "library", lambda: found)
    monkeypatch.setattr(cudnn, "_handles", {})
    cudnn._described.cache_clear()
    jt.flags.use_cuda = 1
    yield found
    jt.flags.cudnn = False
    cudnn._described.cache_clear()


def numbers(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype("float32")


CONVOLUTIONS = {
    "2d": ((2, 4, 9, 8), (6, 4, 3, 2), {"padding": (1, 2)}),
    "2d, with steps": ((2, 4, 10, 9), (6, 4, 3, 3), {"padding": 1, "stride": (2, 3), "dilation": (1, 2)}),
    "2d, two groups": ((2, 4, 9, 8), (6, 2, 3, 3), {"padding": 1, "groups": 2}),
    "2d, a group for each channel": ((3, 8, 12, 12), (8, 1, 3, 3), {"padding": 1, "groups": 8}),
    "1d": ((4, 6, 40), (8, 6, 5), {"padding": 2, "stride": 2}),
    "3d": ((1, 3, 5, 6, 7), (4, 3, 2, 3, 3), {"padding": (0, 1, 1), "stride": (1, 2, 1)}),
}


def layer(name, dtype="float32", kept=()):
    """A convolution, and both gradients of a loss of it."""
    x_shape, w_shape, how = CONVOLUTIONS[name]
    x, w = jt.array(numbers(*x_shape)).cast(dtype).sync(), jt.array(numbers(*w_shape, seed=1)).cast(dtype).sync()
    y = {3: jt.nn.conv1d, 4: jt.nn.conv2d, 5: jt.nn.conv3d}[x.ndim](x, w, **how)
    loss = (
        y.cast("float32" if "16" in dtype else dtype) * jt.array(numbers(*y.shape, seed=2)).cast(dtype).sync()
    ).sum()
    return [a.cast("float32").numpy() for a in (y, *jt.grad(loss, [x, w]))]


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_and_its_gradients_have_the_same_numbers(library, name):
    with jt.flag_scope(backend="numba"):
        expected = layer(name)

    with jt.flag_scope(cudnn=True):
        found = layer(name)

    assert [kind for kind, *_ in library.ran] == ["Forward", "BackwardData", "BackwardFilter"]
    for ours, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_all_dtypes_that_the_library_has_are_given_to_it(library, dtype):
    with jt.flag_scope(backend="numba"):
        expected = layer("2d, with steps", dtype)

    with jt.flag_scope(cudnn=True):
        found = layer("2d, with steps", dtype)

    assert [kind for kind, *_ in library.ran] == ["Forward", "BackwardData", "BackwardFilter"]
    error = {"float64": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    for ours, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, right, rtol=error, atol=error * np.abs(right).max())


def convolve(x=None, w=None, **how):
    x = jt.array(numbers(2, 4, 9, 9)) if x is None else x
    return jt.nn.conv2d(x, jt.array(numbers(6, 4, 3, 3, seed=1)) if w is None else w, **({"padding": 1} | how))


def test_float32_is_multiplied_as_it_is_unless_tf32_is_allowed(library):
    with jt.flag_scope(backend="numba"):
        expected = convolve().numpy()
    with jt.flag_scope(cudnn=True):
        exact = convolve().numpy()
        with jt.backends.conv.flags(allow_tf32=True):
            rounded = convolve().numpy()

    assert [how for *_, how in library.ran] == [cudnn.FMA, cudnn.TENSOR_CORES]
    np.testing.assert_allclose(exact, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rounded, expected, atol=0.05)
    assert np.abs(rounded - expected).max() > 1e-4


def test_with_deterministic_the_one_algorithm_runs_that_always_gives_the_same_bits(library):
    with jt.flag_scope(cudnn=True):
        layer("2d")
        with jt.backends.conv.flags(deterministic=True, benchmark=True):
            layer("2d")

    assert [algorithm for _, algorithm, _ in library.ran] == [7, 0, 3, 1, 1, 1]


def test_an_algorithm_that_asks_for_more_memory_than_the_limit_is_no_candidate(library):
    with jt.flag_scope(cudnn=True), jt.backends.conv.flags(workspace_limit=100, deterministic=True):
        layer("2d")

    assert [kind for kind, *_ in library.ran] == ["BackwardData", "BackwardFilter"]


def test_a_trace_and_an_explanation_name_it_and_without_the_flag_they_do_not(library):
    def graph():
        return jt.nn.relu(convolve() + 1)

    with jt.flag_scope(cudnn=True), jt.trace() as trace:
        graph().sync()
        text = jt.explain(graph()).text
    (kernel,) = trace.kernels
    assert (kernel.calls, kernel.algorithm, kernel.reason) == (("cuDNN",), "cuDNN", "jt.flags.cudnn is True")
    assert "convolve(a0, a1, out0, Sizes(kind='forward', n=2, c=4, o=6" in kernel.source
    assert "a convolution by cuDNN, then a thread for each element" in text
    with jt.trace() as trace:
        graph().sync()
    assert "cuDNN" not in repr(trace.kernels)


OTHERS = {
    "other borders behind than before": lambda: convolve(w=jt.array(numbers(6, 4, 2, 2)), padding="same"),
    "groups, which this library does not take": lambda: convolve(w=jt.array(numbers(6, 2, 3, 3)), groups=2),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_it_cannot_compute_is_a_kernel_of_ours_and_the_trace_says_so(library, name):
    library.groups = False
    with jt.flag_scope(backend="numba"):
        expected = OTHERS[name]().numpy()

    with jt.flag_scope(cudnn=True), jt.trace() as trace:
        found = OTHERS[name]().numpy()

    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert not library.ran
    assert not any("cuDNN" in kernel.calls for kernel in trace.kernels)


STORED = {
    "a part of an image": lambda: convolve(jt.array(numbers(2, 4, 12, 12))[:, :, ::2, 1:10]),
    "turned weights": lambda: convolve(w=jt.array(numbers(4, 6, 3, 3)).transpose(1, 0, 2, 3)),
    "what is computed first": lambda: convolve(jt.array(numbers(2, 4, 9, 9)) * 2),
    "borders of its own": lambda: convolve(jt.nn.pad(jt.array(numbers(2, 4, 9, 9)), (0, 1, 0, 1)), stride=2),
    "rows of an image": lambda: convolve(jt.array(numbers(2, 4, 81)).reshape(2, 4, 9, 9)),
}


@pytest.mark.parametrize("name", STORED)
def test_what_does_not_lie_in_memory_as_it_must_is_stored_for_it(library, name):
    with jt.flag_scope(backend="numba"):
        expected = STORED[name]().numpy()

    with jt.flag_scope(cudnn=True):
        found = STORED[name]().numpy()

    assert len(library.ran) == 1
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_network_whose_kernels_are_cut_trains_with_the_same_numbers_run_after_run(library):
    x = jt.array(numbers(2, 3, 7, 7))
    with jt.flag_scope(backend="numba"):
        net = jt.nn.Sequential(
            jt.nn.Conv2d(3, 8, 3, padding=1), jt.nn.BatchNorm2d(8), jt.nn.ReLU(), jt.nn.Conv2d(8, 8, 3, stride=2)
        )
        expected = [g.numpy() for g in jt.grad((net(x) ** 2).sum(), net.parameters())]

    with jt.flag_scope(cudnn=True):
        step = jt.compile(lambda x: jt.grad((net(x) ** 2).sum(), net.parameters()))
        found = [[g.numpy() for g in step(x)] for _ in range(3)]

    assert {kind for kind, *_ in library.ran} == {"Forward", "BackwardData", "BackwardFilter"}
    for run in found:
        for ours, right in zip(run, expected, strict=True):
            np.testing.assert_allclose(ours, right, rtol=2e-3, atol=2e-3)


def test_arrays_of_another_gpu_are_refused(card, monkeypatch):
    found = FakeCudnn(card(FakeLibrary(("Fake A", "Fake B"))))
    monkeypatch.setattr(cudnn, "library", lambda: found)
    x = jt.cuda.to_device(numbers(1, 1, 2, 2))
    jt.cuda.set_device(1)
    y = jt.cuda.to_device(numbers(1, 1, 2, 2))
    for given in ((x, y, y), (y, x, y), (y, y, x)):
        with pytest.raises(jt.ArgumentError, match="an array of <GPU 0> on <GPU 1>"):
            cudnn.convolve(*given, None, 1, 3, 0)


def test_the_library_starts_once_however_many_threads_ask(library):
    made, locked = library.create, []
    library.create = lambda handle: locked.append(cudnn._lock.locked()) or made(handle)
    with jt.flag_scope(cudnn=True):
        layer("2d")

    assert locked == [True]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_each_way_has_a_name_of_its_own_and_says_tensor_cores_only_where_they_multiply(dtype):
    names = [cudnn.Way(1, how, 0).name(dtype) for how in range(4)]

    assert len({*names}) == 4
    assert [how for how, name in enumerate(names) if "tensor cores" in name] == [cudnn.TENSOR_CORES] * (
        dtype != "float64"
    )


def test_what_goes_wrong_is_told_with_the_line(library):
    library.fails["cudnnConvolutionForward"] = 5000
    words = r"(?s)error 5000 \(NAME_OF_IT\) while computing forward 2x4x9x9.* at test_cudnn"
    with jt.flag_scope(cudnn=True), pytest.raises(jt.BackendError, match=words):
        convolve().sync()


def test_without_the_library_or_a_gpu_the_flag_says_so_and_stays_off(gpu, card, monkeypatch):
    monkeypatch.setattr(cublas, "candidates", lambda *_: iter(["libcudnn.so.of-nobody"]))
    cudnn.library.cache_clear()
    with pytest.raises(jt.BackendError, match=r"no libcudnn\. Try: pip install nvidia-cudnn-cu13 nvidia-cublas"):
        jt.flags.cudnn = True
    card(FakeLibrary(names=()))
    jt.backends._loaded.pop("cuda")
    with pytest.raises(jt.BackendError, match="on a GPU; found error 100"):
        jt.flags.cudnn = True

    assert not jt.flags.cudnn
