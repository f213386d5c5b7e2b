"""Products by NVIDIA's library, all but the library: off by default, named in the trace, and the same numbers."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.cuda import cublas
from tests.floors.cuda.fake_cublas import FakeCublas
from tests.floors.cuda.fake_driver import FakeLibrary

GEMM = "cublasGemmStridedBatchedEx"


@pytest.fixture
def library(gpu, monkeypatch):
    """A fake GPU, and a fake library that multiplies there."""
    found = FakeCublas(gpu)
    monkeypatch.setattr(cublas, "library", lambda: found)
    monkeypatch.setattr(cublas, "_handles", {})
    jt.flags.use_cuda = 1
    yield found
    jt.flags.cublas = False


def numbers(*shape, dtype="float32", seed=0):
    x = np.random.default_rng((seed, *shape)).standard_normal((2, *shape))
    return (x[0] + 1j * x[1] if "complex" in dtype else x[0]).astype(dtype)


PRODUCTS = {
    "as they lie": (lambda a, b: a @ b, (20, 30), (30, 40)),
    "left turned": (lambda a, b: a.transpose(1, 0) @ b, (30, 20), (30, 40)),
    "right turned": (lambda a, b: a @ b.transpose(1, 0), (20, 30), (40, 30)),
    "both turned": (lambda a, b: a.transpose(1, 0) @ b.transpose(1, 0), (30, 20), (40, 30)),
    "out turned": (lambda a, b: (a @ b).transpose(1, 0), (20, 30), (30, 40)),
    "a batch": (lambda a, b: a @ b, (3, 20, 30), (3, 30, 8)),
    "a batch, turned": (lambda a, b: a @ b.transpose(0, 2, 1), (3, 20, 30), (3, 8, 30)),
    "two axes of a batch": (lambda a, b: a @ b, (2, 3, 9, 30), (2, 3, 30, 8)),
    "the first of a batch": (lambda a, b: a[:2] @ b[:2], (3, 20, 30), (3, 30, 8)),
    "one for all of a batch": (lambda a, b: a @ b, (3, 20, 30), (30, 40)),
    "a part of a matrix": (lambda a, b: a[:, :20] @ b[:20], (20, 30), (30, 40)),
    "a layer": (lambda a, b: jt.nn.relu(a @ b.transpose(1, 0) + b[:, 0]), (20, 30), (40, 30)),
    "a gradient": (lambda a, b: jt.grad(((a @ b) ** 2).sum(), [a, b])[0], (20, 30), (30, 40)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_has_the_same_numbers(library, name):
    product, *shapes = PRODUCTS[name]
    x, y = (numbers(*shape, seed=k) for k, shape in enumerate(shapes))
    with jt.flag_scope(backend="numba"):
        expected = product(jt.array(x), jt.array(y)).numpy()

    with jt.flag_scope(cublas=True):
        found = product(jt.array(x), jt.array(y)).numpy()

    assert GEMM in library.calls
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


OTHERS = {
    "every second number": lambda a, b: a[0, :, ::2] @ b[0, :15],
    "a part of a batch": lambda a, b: a.reshape(2, 3, 20, 30)[:, :2] @ b.reshape(2, 3, 30, 8)[:, :2],
    "a border": lambda a, b: (
        jt.nn.pad(a[0], (1, 0)) @ b[0].reshape(8, 30)[:, :1].reshape(8, 1).expand(8, 31).transpose(1, 0)
    ),
    "what is computed first": lambda a, b: (a[0] + 1) @ jt.exp(b[0]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_not_lie_in_memory_as_it_must_is_a_kernel_of_ours_or_two_arrays(library, name):
    x, y = numbers(6, 20, 30), numbers(6, 30, 8)
    with jt.flag_scope(backend="numba"):
        expected = OTHERS[name](jt.array(x), jt.array(y)).numpy()

    with jt.flag_scope(cublas=True):
        found = OTHERS[name](jt.array(x), jt.array(y)).numpy()

    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16", "bfloat16", "int32"])
def test_all_dtypes_that_the_library_has_are_given_to_it(library, dtype):
    x, y = (numbers(*shape, dtype="float64" if dtype == "bfloat16" else dtype) for shape in ((20, 30), (30, 40)))

    def product():
        a, b = jt.array(x).cast(dtype).sync(), jt.array(y).cast(dtype).sync()
        return (a @ b).cast("float32" if "16" in dtype else dtype).numpy()

    with jt.flag_scope(backend="numba"):
        expected = product()
    with jt.flag_scope(cublas=True):
        found = product()

    assert (GEMM in library.calls) == (dtype != "int32")
    np.testing.assert_allclose(found, expected, rtol=1e-2 if "16" in dtype else 1e-4, atol=1e-3)


def test_a_trace_and_an_explanation_name_it_and_without_the_flag_they_do_not(library):
    def product():
        return jt.nn.relu(jt.array(numbers(20, 30)) @ jt.array(numbers(30, 40)) + 1)

    with jt.flag_scope(cublas=True), jt.trace() as trace:
        product().sync()
        text = jt.explain(product()).text
    (kernel,) = trace.kernels
    assert (kernel.calls, kernel.algorithm, kernel.reason) == (("cuBLAS",), "cuBLAS", "jt.flags.cublas is True")
    assert 'gemm("float32", a0, a1, out0, 1, n0, n1, n2, "nn")' in kernel.source
    assert [line.op for line in kernel.lines if "gemm(" in kernel.source.splitlines()[line.number - 1]] == ["matmul"]
    assert "a product by cuBLAS, then a thread for each element" in text
    with jt.trace() as trace:
        product().sync()
    assert "cuBLAS" not in repr(trace.kernels)


def test_a_plan_with_such_a_product_is_cut_there_when_it_is_run_again(library, gpu):
    def graph(x, y):
        return jt.nn.softmax(jt.nn.softmax(x @ y, 1).sum(0).reshape(1, 40), 1).sum(0) * 3

    given = jt.array(numbers(20, 30)), jt.array(numbers(30, 40))
    with jt.flag_scope(backend="numba"):
        expected = graph(*given).numpy()
    with jt.flag_scope(cublas=True):
        found = [graph(*given).numpy() for _ in range(6)]  # in the first, arrays are brought

    assert gpu.calls.count("cuGraphLaunch") == 2
    np.testing.assert_allclose(found, [expected] * 6, rtol=1e-4)


def test_the_library_starts_once_and_stands_in_our_line(library, gpu):
    with jt.flag_scope(cublas=True):
        for _ in range(3):
            (jt.array(numbers(20, 30)) @ jt.array(numbers(30, 40))).sync()

    assert library.calls.count("cublasCreate_v2") == 1
    assert [stream.value for stream in library.streams.values()] == [len(gpu.streams)]


@pytest.mark.parametrize(
    ("name", "code", "words"), [("cublasCreate_v2", 1, "NOT_INIT.*starting"), (GEMM, 15, "20 x 30 by 30 x 40")]
)
def test_what_it_cannot_do_is_told_with_the_line(library, name, code, words):
    library.fails[name] = code
    with (
        jt.flag_scope(cublas=True),
        pytest.raises(jt.BackendError, match=rf"(?s)error {code}.*{words}.* at test_cublas"),
    ):
        (jt.array(numbers(20, 30)) @ jt.array(numbers(30, 40))).sync()


def test_without_the_library_or_a_gpu_the_flag_says_so_and_stays_off(gpu, card, monkeypatch):
    monkeypatch.setattr(cublas, "candidates", lambda *_: iter(["libcublas.so.of-nobody"]))
    cublas.library.cache_clear()
    with pytest.raises(jt.BackendError, match=r"no libcublas\. Try: pip install nvidia-cublas"):
        jt.flags.cublas = True
    card(FakeLibrary(names=()))
    jt.backends._loaded.pop("cuda")
    with pytest.raises(jt.BackendError, match=r"jt\.flags\.cublas computes on a GPU; found error 100"):
        jt.flags.cublas = True

    assert not jt.flags.cublas


def test_packages_are_looked_into_first_and_the_newest_first(monkeypatch, tmp_path):
    for folder, name in (("cu13", "libcublas.so.13"), ("cublas", "libcublas.so.12")):
        (tmp_path / "nvidia" / folder / "lib").mkdir(parents=True)
        (tmp_path / "nvidia" / folder / "lib" / name).write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cublas.sys, "platform", "linux")
    found = [name for name in cublas.candidates("cublas", (13, 12)) if str(tmp_path) in name or "/" not in name]

    assert [name.removeprefix(str(tmp_path)) for name in found] == [
        "/nvidia/cu13/lib/libcublas.so.13", "/nvidia/cublas/lib/libcublas.so.12", "libcublas.so.13", "libcublas.so.12"
    ]  # fmt: skip


def test_gradients_of_layers_whose_kernels_are_cut_have_the_same_numbers_run_after_run(library):
    """A kernel that a CPU fuses has products and sums of columns: calls and launches stand there in their order."""
    x = jt.array(numbers(33, 16))
    with jt.flag_scope(backend="numba"):
        net = jt.nn.Sequential(jt.nn.Linear(16, 16), jt.nn.LayerNorm(16), jt.nn.GELU(), jt.nn.Linear(16, 16))
        expected = [g.numpy() for g in jt.grad((net(x) ** 2).sum(), net.parameters())]

    with jt.flag_scope(cublas=True):
        step = jt.compile(lambda x: jt.grad((net(x) ** 2).sum(), net.parameters()))
        found = [[g.numpy() for g in step(x)] for _ in range(4)]
        with jt.trace() as trace:
            jt.sync(jt.grad((net(x) ** 2).sum(), net.parameters()))

    assert [k.name for k in trace.kernels if "gemm(" in k.source and "def columns(" in k.source]
    for run in found:
        for ours, right in zip(run, expected, strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-3, atol=1e-3)


def test_factors_of_another_gpu_are_refused(card, monkeypatch):
    found = FakeCublas(card(FakeLibrary(("Fake A", "Fake B"))))
    monkeypatch.setattr(cublas, "library", lambda: found)
    x = jt.cuda.to_device(numbers(2, 2))
    jt.cuda.set_device(1)
    y, out = (jt.cuda.to_device(numbers(2, 2)) for _ in range(2))
    for left, right, to in ((x, y, out), (y, x, out), (y, y, x)):
        with pytest.raises(jt.ArgumentError, match="an array of <GPU 0> on <GPU 1>"):
            cublas.gemm("float32", left, right, to, 1, 2, 2, 2, "nn")

    assert GEMM not in found.calls
