"""C++ of kernels: it says what the kernel says, in two languages, and refuses what it cannot say."""

import contextlib
import gc
import importlib.metadata
import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.backends import register
from jt_edu.runtime.devices import forget_plans
from tests.floors.cuda.cpp_runner import GXX, Collected, Compiled, OfCpp, compiled
from tests.floors.cuda.kernels import CASES, made
from tests.programs import program_at

needs_gxx = pytest.mark.skipif(GXX is None, reason="g++ compiles the C++ of kernels for this machine")
WAVES = [("cuda", 32), ("hip", 32), ("hip", 64)]


def golden_maker():
    return program_at(Path(__file__).parent / "golden" / "make.py")


def test_generated_kernels_are_written_as_the_goldens_have_them():
    for path, text in golden_maker().texts():
        assert path.read_text(encoding="utf-8") == text, (
            "run tests/floors/cuda/golden/make.py, and read what it changes"
        )


@pytest.mark.parametrize(
    ("compiler", "ending", "flags"), [("nvcc", "cu", ["-ptx"]), ("hipcc", "hip", ["-S", "--cuda-device-only"])]
)
def test_a_compiler_takes_the_goldens(compiler, ending, flags, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    together = tmp_path / f"together.{ending}"
    parts = [f"namespace {p.stem} {{\n{p.read_text()}}}" for p in sorted(golden_maker().HERE.glob(f"*.{ending}"))]
    include = "#include <hip/hip_runtime.h>\n"
    together.write_text(include * (ending == "hip") + "\n".join(parts).replace(include, ""))
    command = [shutil.which(compiler), *flags, "-o", tmp_path / "out", together]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def copies(arguments):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


@needs_gxx
@pytest.mark.parametrize(("language", "wave"), WAVES)
def test_kernels_of_a_learner_compute_the_same_in_cpp(language, wave, tmp_path):
    kernels = {f"case{k}": made(case.text, case.name) for k, case in enumerate(CASES)}
    texts = {
        key: cuda.source(kernel, *case.arguments, language=language)
        for (key, kernel), case in zip(kernels.items(), CASES, strict=True)
    }

    launches = compiled(texts, tmp_path, wave)

    for (key, kernel), case in zip(kernels.items(), CASES, strict=True):
        given = copies(case.arguments)
        launches(key, kernel)[case.grid, case.block](*given)
        np.testing.assert_allclose(given[-1], case.result, rtol=1e-5, err_msg=f"{case.name}\n{texts[key]}")


LANES = """
@cuda.jit
def kernel(x, out):
    t, all = cuda.threadIdx.x, 0xFFFFFFFF
    out[t, 0] = cuda.shfl_down_sync(all, x[t], 5)
    out[t, 1] = cuda.shfl_up_sync(all, x[t], 5)
    out[t, 2] = cuda.shfl_sync(all, x[t], 3)
    out[t, 3] = cuda.shfl_xor_sync(all, x[t], 7)
    out[t, 4] = cuda.popc(cuda.ballot_sync(all, x[t] < 40))
    out[t, 5] = cuda.any_sync(all, x[t] == 40)
    out[t, 6] = cuda.all_sync(all, x[t] < 40)
    out[t, 7] = cuda.laneid + cuda.warpsize
"""


@needs_gxx
@pytest.mark.parametrize(("language", "wave"), WAVES)
def test_a_warp_of_32_stays_one_where_64_lanes_go_together(language, wave, tmp_path):
    kernel, x, wanted, found = made(LANES, "lanes"), np.arange(64), np.zeros((64, 8), int), np.zeros((64, 8), int)
    assert cuda.simulate(kernel, 1, 64, x, wanted).findings == []

    text = cuda.source(kernel, x, found, language=language)
    compiled({"lanes": text}, tmp_path, wave)("lanes", kernel)[1, 64](x, found)

    np.testing.assert_array_equal(found, wanted, err_msg=text)


PRODUCT = """
@cuda.jit
def kernel(a, b, out):
    g, t = cuda.laneid // 4, cuda.laneid % 4
    rows = a[g, t], a[g + 8, t], a[g, t + 4], a[g + 8, t + 4]
    d = cuda.mma_bfloat16(rows, (b[g, t], b[g, t + 4]), (0, 0, 0.5, 0))
    out[g, 2 * t], out[g, 2 * t + 1], out[g + 8, 2 * t], out[g + 8, 2 * t + 1] = cuda.mma_bfloat16(
        rows, (b[g, t], b[g, t + 4]), (d[0], d[1], d[2], d[3])
    )
"""


@needs_gxx
def test_a_product_of_a_warp_is_the_same_in_cpp(tmp_path):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, 16), np.float32).view(np.uint32)[:, ::2] + 0x40000000 for n in (16, 8))
    kernel, wanted, found = made(PRODUCT, "product"), np.zeros((16, 8), np.float32), np.zeros((16, 8), np.float32)
    assert cuda.simulate(kernel, 1, 32, a, b, wanted).findings == []

    text = cuda.source(kernel, a, b, found)
    compiled({"product": text}, tmp_path)("product", kernel)[1, 32](a, b, found)

    assert "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" in text
    assert "const unsigned rows[4] = {a[" in text
    np.testing.assert_array_equal(found, wanted, err_msg=text)


@needs_gxx
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_product_that_jt_edu_prints_for_tensor_cores_is_the_same_in_cpp(dtype, tmp_path):
    x, y = numbers(20, 18).cast(dtype).sync(), numbers(18, 17).cast(dtype).sync()
    jt.backends.cuda.matmul.allow_tf32 = True
    try:
        with on(Collected()) as collected:
            wanted = (x @ y).cast("float32").numpy()
        assert any("cuda.mma_" in source.text for source in collected.sources.values())
        with on(OfCpp(compiled(collected.texts("cuda"), tmp_path))):
            found = (x @ y).cast("float32").numpy()
    finally:
        jt.backends.cuda.matmul.allow_tf32 = False

    np.testing.assert_array_equal(found, wanted)


NO_PRODUCT = {
    ("hip", "d = cuda.mma_tf32((1.0, 1.0, 1.0, 1.0), (1.0, 1.0), (0, 0, 0, 0))"): "of NVIDIA; found line 4",
    ("hip", "x[0] = cuda.tf32(x[0])"): "cannot write cuda.tf32 of 1 number",
    ("cuda", "d = cuda.mma_tf32((1.0, 1.0), (1.0, 1.0), (0, 0, 0, 0))"): "a is 4 numbers of float32",
    ("cuda", "d = cuda.mma_tf32(x, x, x)"): "a is 4 numbers of float32",
    ("cuda", "d = cuda.mma_tf32(x, x)"): "takes words of A, of B, and sums",
    ("cuda", "a = x[0], 3"): "the numbers of a are of one dtype",
    ("cuda", "a = 2\n    if t:\n        a = x[0], x[1]\n    x[0] = a"): "a is several numbers, and nothing else",
}  # fmt: skip


@pytest.mark.parametrize(("language", "body"), NO_PRODUCT)
def test_a_product_that_has_no_spelling_is_refused_with_its_line(language, body):
    kernel = made(f"@cuda.jit\ndef kernel(x):\n    t = cuda.laneid\n    {body}\n", f"{language} {body}")
    with pytest.raises(jt.KernelError, match=NO_PRODUCT[language, body]):
        cuda.source(kernel, np.ones(4, np.float32), language=language)


@contextlib.contextmanager
def on(backend):
    register(backend)
    with jt.flag_scope(backend=backend.name):
        yield backend
    forget_plans()  # an edit would be compiled for them, too
    gc.collect()


def numbers(*shape):
    return jt.array(np.random.default_rng(len(shape)).standard_normal(shape).astype("float32"))


def embedding_gradient():
    table, places = numbers(10, 4), jt.array(np.array([1, -2, 1, 3]))
    return jt.grad((table[places] ** 2).sum(), table)


EXPRESSIONS = {
    "multiply and add": lambda: numbers(4, 5) * numbers(4, 5) + numbers(5),
    "a sum of all": lambda: (numbers(7, 50) * 2).sum(),
    "sums of rows": lambda: numbers(3, 300).mean(1),
    "softmax": lambda: jt.nn.softmax(numbers(4, 300), -1),
    "a product with relu": lambda: jt.nn.relu(numbers(20, 18) @ numbers(18, 17) + numbers(17)),
    "a convolution": lambda: jt.nn.conv2d(numbers(1, 2, 6, 6), numbers(3, 2, 3, 3)),
    "the gradient of an embedding": embedding_gradient,
    "integers that round down": lambda: (jt.arange(-7, 7) // 3) * (jt.arange(-7, 7) % 3),
    "floats that round down": lambda: (numbers(30) // 0.25) + (numbers(30) % -0.25),
    "halves": lambda: numbers(300).cast("float16") * 3 + (numbers(300) * 1e-5).cast("float16"),
    "halves of 8 bits": lambda: (numbers(300).cast("bfloat16") * 3).cast("float32"),
    "halves without end": lambda: jt.array([7e4, np.inf, -np.inf, np.nan, 65519.0]).cast("float16").cast("float32"),
    "the largest, with nan": lambda: jt.maximum(numbers(4), jt.array([np.nan, 0.0, 1.0, np.inf])),
    "functions": lambda: jt.sigmoid(numbers(9)).exp().log1p().tanh() + numbers(9).abs().sqrt() * numbers(9).sign(),
    "conditions": lambda: jt.where((numbers(9) > 0) & (numbers(9) < 1), numbers(9), 2.0),
}  # fmt: skip


@pytest.fixture(scope="module")
def interpreted():
    """What the interpreter computes, and the sources of the kernels."""
    with on(Collected()) as backend:
        wanted = {name: ask().numpy() for name, ask in EXPRESSIONS.items()}
    return wanted, backend


@needs_gxx
@pytest.mark.parametrize(("language", "wave"), WAVES)
def test_generated_kernels_compute_the_same_in_cpp(language, wave, tmp_path, interpreted):
    wanted, first = interpreted
    before = Compiled.launches
    with on(OfCpp(compiled(first.texts(language), tmp_path, wave))):
        found = {name: ask().numpy() for name, ask in EXPRESSIONS.items()}

    assert Compiled.launches - before >= len(first.sources) >= len(EXPRESSIONS)
    for name in EXPRESSIONS:
        np.testing.assert_allclose(found[name], wanted[name], rtol=2e-5, atol=1e-6, err_msg=name)


# ----------------------------------------------------------------------------------------------------------- the words


def row_of(body, *arguments, language="cuda"):
    """The lines of a kernel with this body, which reads x and n and writes out."""
    text = f"import math\n@cuda.jit\ndef kernel(x, n, out):\n    t = cuda.threadIdx.x\n    {body}\n"
    given = arguments or (np.zeros(4, np.float32), 3, np.zeros(4, np.float32))
    return cuda.source(made(text, body), *given, language=language)


INT32 = np.zeros(4, np.int32), -3, np.zeros(4, np.int32)
LINES = {
    "out[t] = x[t] * 0.5": "out[t] = x[t] * 0.5f;",
    "out[t] = x[t] * n": "out[t] = (double)x[t] * n;",
    "out[t] = np.float32(n) * x[t]": "out[t] = (float)n * x[t];",
    "out[t] = n / 2": "out[t] = (double)n / 2;",
    "out[t] = cuda.threadIdx.x - 1": "out[t] = (long long)threadIdx.x - 1;",
    "out[t] = -cuda.threadIdx.x": "out[t] = -(long long)threadIdx.x;",
    "out[t] = (t - 1) // n": "out[t] = floor_div(t - 1, n);",
    "out[t] = t // n % 2": "out[t] = t / n % 2;",
    "out[t] = -(-n // 16)": "out[t] = (n + 15) / 16;",
    "out[t] = x[t] ** 2 + x[t] ** 0.5": "out[t] = x[t] * x[t] + powf(x[t], 0.5f);",
    "out[t] = x[t] - (x[t] - 1)": "out[t] = x[t] - (x[t] - 1);",
    "out[t] = (t & 3) << 1 | n": "out[t] = ((t & 3) << 1) | n;",
    "out[t] = 2**40 - 1": "out[t] = 1099511627775;",
    "out[t] = math.floor(x[t])": "out[t] = (long long)floorf(x[t]);",
    "out[t] = max(x[t], 0)": "out[t] = larger(x[t], 0.0f);",
    "if 0 <= n < 2 or t and n > 1:\n        out[t] = 1": "if ((0 <= n && n < 2) || (t && n > 1)) {",
    "new = 3\n    out[t] = new": "long long new_ = 3;",
    "a, b = n, t\n    a, b = b, a\n    out[t] = a": "const long long new0 = b;",
    "a, b = n, t\n    a, b = b, a\n    a, b = b, a\n    out[t] = a": "const long long new0_ = b;",
    "out[t] *= 0.1": "out[t] *= 0.1f;",
    "out[t] -= x[t] - 1": "out[t] -= (x[t] - 1);",
    "float = n\n    exp = 2 * float\n    out[t] = exp": "long long exp_ = 2 * float_;",
    "s = n\n    for k in range(0, 9, s):\n        s = s + 1\n        out[k] = s": "const long long k_step = s;",
    "for k in range(n - 1, -1, -1):\n        out[k] = k": "for (long long k = n - 1; k > -1; k--) {",
    "for k in range(n):\n        n = n - 1\n        out[k] = n": "const long long k_end = n;",
    "cuda.atomic.sub(out, t, x[t])": "atomicAdd(&out[t], -x[t]);",
    "cuda.syncwarp()": "__syncwarp();",
}  # fmt: skip


@pytest.mark.parametrize("body", LINES)
def test_a_line_is_written_as_a_person_would(body):
    assert LINES[body] in [line.strip() for line in row_of(body).splitlines()]


def test_integers_of_32_bits_are_added_in_64_as_numba_has_it():
    text = row_of("out[t] = x[t] + x[t]\n    out[t] = x[t] // n", *INT32)

    assert "out[t] = (long long)x[t] + x[t];" in text
    assert "out[t] = floor_div((long long)x[t], n);" in text


def test_a_name_begins_where_all_that_read_it_are_inside():
    inside = row_of("if n > 1:\n        v = x[t]\n        out[t] = v")
    outside = row_of("v = x[0]\n    for k in range(n):\n        v = v + x[k]\n    out[t] = v")
    late = row_of("for k in range(n):\n        if x[k] > 0:\n            v = x[k]\n    out[t] = v")

    assert "        float v = x[t];" in inside.splitlines()
    assert "    float v = x[0];" in outside.splitlines()
    assert late.index("float v;") < late.index("for (")
    assert "            v = x[k];" in late.splitlines()


def test_a_variable_is_what_holds_all_that_is_put_into_it():
    assert "double v = 0;" in row_of("v = 0\n    for k in range(n):\n        v = v + x[k] / 2.0 * n\n    out[t] = v")
    assert "float v = 0.0f;" in row_of("v = np.float32(0)\n    for k in range(n):\n        v += x[k]\n    out[t] = v")


def test_what_nobody_writes_is_const_and_only_lengths_that_are_read_are_parameters():
    head = row_of("if t < x.shape[0]:\n        out[t] = x[t]").splitlines()[0]

    assert head == "__global__ void kernel(const float* x, long long x_n0, long long n, float* out)"


def test_hip_says_32_where_the_kernel_means_a_warp_of_32():
    body = "v = cuda.shfl_xor_sync(0xFFFFFFFF, x[t], 16)\n    out[t] = v + cuda.ballot_sync(0xFFFFFFFF, v > 0)"
    text = row_of(body, language="hip")

    assert text.startswith("#include <hip/hip_runtime.h>")
    assert "__shfl_xor(x[t], 16, 32)" in text
    assert "ballot32(v > 0)" in text
    assert "_sync" not in text


REFUSED = {
    "out[t] = x[t:]": "an index of x is a whole number|cannot write `t:`",
    "out[t] = x[t, 0]": "x has 1 axis",
    "out[t] = x": "an array has one name",
    "y = x\n    out[t] = y[t]": "an array has one name",
    "out[t] = n or t": "between conditions",
    "out[t] = n ** t": "a power is one of floats",
    "out[t] = sorted(x)": "an element of x is a number",
    "out[t] = hash(n)": "cannot write hash of 1 number in C",
    "return n": "a kernel gives nothing back",
    "for k in range(0, 9, n - 4):\n        out[k] = 1": "a sign that can be seen",
    "for k in range(n):\n        out[k] = 1\n    out[t] = k": "k counts a loop, and nothing else",
    "while n > 0:\n        n -= 1\n    else:\n        out[t] = 1": "cannot write `while n > 0:` in C",
    "out[t] = y[t]": "`y` is none; found line 4.*Try: an argument or a tile named y",
    "out[t] = [n]": r"cannot write `\[n\]` in C",
    "out[t] = cuda.shfl_xor_sync(0xFF, x[t], 1)": "for all 32 lanes",
    "cuda.atomic.max(out, t, x[t])": "atomicMax takes int32, uint32, int64, uint64; out is float32",
    "q = cuda.shared.array(n, 'float32')": "q has a shape of numbers",
    "q = cuda.shared.array(4, 'float16')": "q holds whole or real numbers, and not float16",
    "out[t] = 'a'": "computes with numbers",
}  # fmt: skip


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_spelling_is_refused_with_its_line(body):
    with pytest.raises(jt.KernelError, match=REFUSED[body]) as told:
        row_of(body)
    assert "of the kernel: " in str(told.value)


def test_source_takes_kernels_and_two_languages():
    kernel = made("@cuda.jit\ndef kernel(x):\n    x[0] = 1\n", "one line")
    with pytest.raises(jt.ArgumentError, match="in cuda or in hip; found 'opencl'"):
        cuda.source(kernel, np.zeros(1), language="opencl")
    with pytest.raises(jt.ArgumentError, match="source takes a kernel"):
        cuda.source(len)
    with pytest.raises(jt.ArgumentError, match="whole or real; found x, ndarray of complex128"):
        cuda.source(kernel, np.zeros(1, complex))
    with jt.flag_scope(backend="python"), jt.trace() as t:
        (jt.array([1.0]) + 1).numpy()
    with pytest.raises(jt.ArgumentError, match="for kernels of a GPU; found from jt_edu"):
        cuda.source(t.kernels[-1])


def test_numbers_of_another_sign_make_another_text():
    assert "out[t] = n / 2;" in row_of("out[t] = n // 2")
    assert "out[t] = floor_div(n, 2LL);" in row_of("out[t] = n // 2", np.zeros(1), -1, np.zeros(1))


def test_no_card_of_amd_is_claimed_and_cuda_is_that_of_the_compiler(monkeypatch):
    assert jt.version.hip is None
    assert jt.version.__version__ == jt.__version__
    monkeypatch.setattr(jt.version, "_cuda", jt.version._cuda.__wrapped__)  # what is remembered is not asked again
    monkeypatch.setattr(importlib.metadata, "version", {"nvidia-nvvm": "13.5.88"}.get)
    assert jt.version.cuda == "13.5"
    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert jt.version.cuda is None


def missing(name):
    raise importlib.metadata.PackageNotFoundError(name)
