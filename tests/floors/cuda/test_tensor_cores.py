"""Tensor cores: a warp multiplies two matrices together, in kernels of a learner and in those that jt_edu prints.

The model is written here once more: operands are rounded, products added to float32 one after the other.
"""

from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends, cuda
from jt_edu.base.source_text import remember
from jt_edu.cuda import backend, emit_tensor
from jt_edu.cuda.emit_cuda import cuda_loops
from jt_edu.cuda.tensor_core import multiplied_by, tf32
from tests.floors.cuda.kernels import made

WORDS = ("mma_float16", "mma_bfloat16", "mma_tf32")


def drawn(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def rounded(x, numbers):
    """float32 as the numbers that tensor cores read."""
    if numbers == "tf32":
        size, exponent = np.frexp(np.float64(x))
        return np.float32(np.ldexp(np.copysign(np.floor(np.abs(size) * 2**11 + 0.5), size), exponent - 11))
    if numbers == "float16":
        return x.astype(np.float16).astype(np.float32)
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def added_up(x, y):
    """x @ y in float32, one product after the other."""
    sums = np.zeros((*x.shape[:-1], y.shape[-1]), np.float32)
    for k in range(x.shape[-1]):
        sums = sums + x[..., k, None] * y[..., k, None, :]
    return sums


# ------------------------------------------------------------------------------------------------------------- words

SPREAD = """
@cuda.jit
def kernel(a, b, c):
    lane = cuda.threadIdx.x
    g, t = lane // 4, lane % 4
    sums = (c[g, 2 * t], c[g, 2 * t + 1], c[g + 8, 2 * t], c[g + 8, 2 * t + 1])
    rows = (a[g, t], a[g + 8, t], a[g, t + 4], a[g + 8, t + 4])
    d = cuda.mma_tf32(rows, (b[g, t], b[g, t + 4]), sums)
    c[g, 2 * t], c[g, 2 * t + 1] = d[0], d[1]
    c[g + 8, 2 * t], c[g + 8, 2 * t + 1] = d[2], d[3]
"""


def words_of(x, word):
    """Rows of numbers as words of 32 bits: two halves each, the first one below."""
    if word == "mma_tf32":
        return x
    bits = x.astype(np.float16).view(np.uint16) if word == "mma_float16" else (x.view(np.uint32) >> 16).astype("u2")
    return bits[:, ::2].astype(np.uint32) | bits[:, 1::2].astype(np.uint32) << 16


@pytest.mark.parametrize("word", WORDS)
def test_a_warp_of_a_learner_multiplies_two_matrices(word):
    length, numbers = 8 if word == "mma_tf32" else 16, word.removeprefix("mma_")
    a, b = (rounded(drawn(rows, length, seed=rows), numbers) for rows in (16, 8))
    c = drawn(16, 8)
    out, wanted = c.copy(), c
    for k in range(length):
        wanted = wanted + a[:, k, None] * b.T[k]

    kernel = made(SPREAD.replace("mma_tf32", word), word)
    assert cuda.simulate(kernel, 1, 32, words_of(a, word), words_of(b, word), out).findings == []

    assert np.array_equal(out, wanted)


def test_a_tensor_core_reads_the_upper_bits_of_a_number_that_nobody_rounded():
    a, b, out = np.full((16, 8), 1 + 2.0**-11 + 2.0**-12, np.float32), np.eye(8, dtype=np.float32), np.zeros((16, 8))
    cuda.simulate(made(SPREAD, "cut off"), 1, 32, a, b, out := out.astype(np.float32))

    assert (out == 1).all()
    assert tf32(a[0, 0]) == 1 + 2.0**-10


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(1 + 2**-11, 1 + 2**-10), (-1 - 2**-11, -1 - 2**-10), (1 + 2**-11 - 2**-20, 1), (0.0, 0.0), (-np.inf, -np.inf)],
)
def test_to_tf32_half_a_step_is_rounded_away_from_zero(given, wanted):
    assert tf32(given) == wanted
    assert np.isnan(tf32(np.nan))


def test_rounding_to_tf32_is_that_of_a_fraction_of_eleven_bits():
    x = drawn(300) * np.float32(2.0) ** np.random.default_rng(1).integers(-60, 60, 300).astype(np.float32)
    assert np.array_equal(np.array([tf32(v) for v in x]), rounded(x, "tf32"))


BROKEN = {
    "half of the warp": (
        32, "    if cuda.threadIdx.x < 16:\n        {0}\n", range(16), "16 to 31 of block 0 have ended",
    ),
    "all but one": (
        32, "    if cuda.threadIdx.x != 9:\n        {0}\n", [*range(9), *range(10, 32)], "9 of block 0 has ended",
    ),
    "a block of fewer threads": (24, "    {0}\n", range(24), "takes all 32 lanes of a warp, but the block has no more"),
    "each half at a line of its own": (
        32, "    if cuda.threadIdx.x < 16:\n        {0}\n    else:\n        {0}\n", range(16), "wait at cuda.mma_tf32",
    ),
    "half of it at a barrier": (
        32, "    if cuda.threadIdx.x < 16:\n        {0}\n    else:\n        cuda.syncthreads()\n", range(16),
        "for other lanes of the warp, but threads 16 to 31 of block 0 wait at cuda.syncthreads",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_product_that_not_all_of_a_warp_reach_is_told(name):
    threads, body, who, words = BROKEN[name]
    call = "d = cuda.mma_tf32((x[0], x[0], x[0], x[0]), (x[0], x[0]), (x[0], x[0], x[0], x[0]))"
    kernel = made(f"@cuda.jit\ndef kernel(x):\n{body.format(call)}", name)

    (found,) = cuda.simulate(kernel, 1, threads, np.ones(1, np.float32)).findings

    assert (found.kind, found.text) == ("divergent barrier", call)
    assert found.threads == tuple((0, t) for t in who)
    assert words in found.words


WRONG = {
    "cuda.mma_tf32((1.0, 1.0, 1.0, 1.0), (1.0, 1.0))": "2 arguments in line 3",
    "cuda.mma_tf32((1.0, 1.0), (1.0, 1.0), (0, 0, 0, 0))": "2 of a in line 3",
    "cuda.mma_tf32(x, (1.0, 1.0), (0, 0, 0, 0))": "Array for a in line 3",
    "cuda.mma_float16((1.0, 1.0, 1.0, 1.0), (1, 1), (0, 0, 0, 0))": "of halves a word is a whole number; found float",
}


@pytest.mark.parametrize("call", WRONG)
def test_words_that_are_no_fragments_are_refused_with_their_line(call):
    with pytest.raises(jt.KernelError, match=WRONG[call]):
        cuda.simulate(made(f"@cuda.jit\ndef kernel(x):\n    {call}\n", call), 1, 32, np.ones(4, np.float32))


# ---------------------------------------------------------------------------------------------------------- products


def on_gpu(graph, **settings):
    """The numbers of a graph, and how often its texts multiply on tensor cores, by kind."""
    with jt.flag_scope(backend="cudasim", **settings), jt.trace() as trace:
        found = [x.cast("float32").numpy() for x in graph()]
    text = "".join(k.source for k in trace.kernels)
    return found, {numbers: text.count(f"cuda.mma_{numbers}(") for numbers in ("float16", "bfloat16", "tf32")}


@pytest.fixture(params=["float16", "bfloat16", "high", "medium"])
def asked(request):
    """(dtype of arrays, numbers that are multiplied), with the setting that asks for them."""
    dtype, numbers, precision = {
        "high": ("float32", "tf32", "high"), "medium": ("float32", "bfloat16", "medium"),
    }.get(request.param, (request.param, request.param, "highest"))  # fmt: skip
    jt.set_float32_matmul_precision(precision)
    yield dtype, numbers
    jt.set_float32_matmul_precision("highest")


SHAPES = {
    "ragged": ((17, 23), (23, 19)),
    "turned on the left": ((18, 40), (40, 17), (1, 0)),
    "a batch": ((2, 21, 18), (2, 18, 20)),
    "long sums": ((16, 70), (70, 8)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_products_are_those_of_the_model_to_the_last_bit(name, asked):
    dtype, numbers = asked
    (x, y), turned = (rounded(drawn(*shape), numbers) for shape in SHAPES[name][:2]), SHAPES[name][2:]
    if dtype == "float32":
        x, y = (drawn(*shape) for shape in SHAPES[name][:2])
    left, right = (jt.array(np.ascontiguousarray(v)).cast(dtype).sync() for v in (x.T if turned else x, y))

    (found,), counts = on_gpu(lambda: [(left.transpose(1, 0) if turned else left) @ right])

    wanted = added_up(rounded(x, numbers), rounded(y, numbers))
    assert np.array_equal(found, rounded(wanted, dtype) if dtype != "float32" else wanted)
    assert counts == {"float16": 0, "bfloat16": 0, "tf32": 0, numbers: 1}


def test_warps_that_have_several_matrices_compute_the_same(asked, monkeypatch):
    dtype, numbers = asked
    monkeypatch.setattr(emit_tensor, "FULL", 1)
    side = 128 if numbers == "tf32" else 64  # to interpret 4 by 4 matrices takes seconds: once is enough
    x, y = rounded(drawn(side, 18), numbers), rounded(drawn(18, side + 1), numbers)

    (found,), _ = on_gpu(lambda: [jt.array(x).cast(dtype) @ jt.array(y).cast(dtype)])

    wanted = added_up(x, y)
    assert np.array_equal(found, rounded(wanted, dtype) if dtype != "float32" else wanted)


def test_what_is_around_a_product_of_halves_stays_with_it():
    x, y, z = rounded(drawn(17, 23), "bfloat16"), rounded(drawn(23, 19), "bfloat16"), rounded(drawn(19), "bfloat16")

    def graph():
        left, right, bias = (jt.array(v).cast("bfloat16") for v in (x, y, z))
        return [jt.nn.relu((left * 2) @ right + bias)]

    (found,), counts = on_gpu(graph)

    sums = rounded(added_up(2 * x, y), "bfloat16")
    assert np.array_equal(found, np.maximum(rounded(sums + z, "bfloat16"), 0))
    assert counts["bfloat16"] == 1


@pytest.mark.parametrize("numbers", ["float16", "tf32"])
def test_gradients_of_a_product_are_products_on_tensor_cores(numbers):
    dtype = numbers if numbers == "float16" else "float32"
    x, y, z = drawn(17, 23), drawn(23, 19), drawn(17, 19)
    left, right, seed = (jt.array(rounded(v, numbers)).cast(dtype) for v in (x, y, z))

    def graph():
        return jt.grad((left @ right * seed).cast("float32").sum(), [left, right])

    jt.set_float32_matmul_precision("high")
    try:
        found, counts = on_gpu(graph)
    finally:
        jt.set_float32_matmul_precision("highest")

    x, y, z = (rounded(v, numbers) for v in (x, y, z))
    for mine, wanted in zip(found, (added_up(z, y.T), added_up(x.T, z)), strict=True):
        assert np.array_equal(mine, rounded(wanted, dtype) if dtype != "float32" else wanted)
    assert counts[numbers] == 2


def test_explain_says_that_tensor_cores_multiply_and_what():
    halves = [jt.array(drawn(*shape)).cast("bfloat16").sync() for shape in ((17, 23), (23, 19))]
    with jt.flag_scope(backend="cudasim"):
        told = str(jt.explain(halves[0] @ halves[1]))

    assert "a block of threads for each tile of a product, on tensor cores: bfloat16" in told


def test_a_race_in_such_a_kernel_is_told():
    """The search can fail: the same text, with the barrier taken away."""
    left, right = (jt.array(drawn(*shape)) for shape in ((17, 23), (23, 19)))
    jt.set_float32_matmul_precision("high")
    with jt.flag_scope(backend="cudasim"), jt.trace() as trace:
        (left @ right).sync()
    jt.set_float32_matmul_precision("highest")
    (kernel,) = trace.kernels
    text, space = kernel.source.replace("cuda.syncthreads()", "pass"), {"__name__": "a kernel"}
    exec(compile(text, remember(text, "<a race>"), "exec"), space)  # noqa: S102 - text that the code generator wrote
    arrays = left.numpy().reshape(-1), right.numpy().reshape(-1), np.empty(17 * 19, np.float32)

    with pytest.raises(jt.KernelError, match="race"):
        space["kernel"](0, 1, 17, 19, 23, 23, 19, 19, *arrays)


# ---------------------------------------------------------------------------------------------------------- settings


def test_tf32_is_used_where_it_is_allowed_and_nowhere_else():
    x, y = drawn(17, 60), drawn(60, 18)
    exact = np.float64(x) @ np.float64(y)

    def error():
        (found,), counts = on_gpu(lambda: [jt.array(x) @ jt.array(y)])
        return np.abs(found - exact).max() / np.abs(exact).max(), sum(counts.values())

    plain, none = error()
    jt.backends.cuda.matmul.allow_tf32 = True
    assert jt.get_float32_matmul_precision() == "high"
    rough, some = error()
    jt.backends.cuda.matmul.allow_tf32 = False
    assert jt.get_float32_matmul_precision() == "highest"

    assert (none, some) == (0, 1)
    assert plain < 1e-6
    assert 1e-4 < rough < 2e-3
    assert error() == (plain, 0)


def test_convolutions_and_products_have_settings_of_their_own():
    images, weights = drawn(2, 4, 9, 8), drawn(6, 4, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), (2, 3)).transpose(0, 2, 3, 1, 4, 5)
    rows, columns = windows.reshape(-1, 36), weights.reshape(6, 36).T

    def graph():
        one_by_one = jt.nn.conv2d(jt.array(drawn(2, 16, 8, 8)), jt.array(drawn(24, 16, 1, 1)))
        return [jt.nn.conv2d(jt.array(images), jt.array(weights)), one_by_one]

    jt.set_float32_matmul_precision("high")
    _, by_precision = on_gpu(graph)
    jt.set_float32_matmul_precision("highest")
    with jt.backends.conv.flags(allow_tf32=True):
        (found, _), by_setting = on_gpu(graph)
        _, product = on_gpu(lambda: [jt.array(drawn(17, 23)) @ jt.array(drawn(23, 19))])

    wanted = added_up(rounded(rows, "tf32"), rounded(columns, "tf32")).reshape(2, 7, 6, 6).transpose(0, 3, 1, 2)
    assert np.array_equal(found, wanted)
    assert (by_precision["tf32"], by_setting["tf32"], product["tf32"]) == (0, 2, 0)
    assert not jt.backends.conv.allow_tf32


def test_a_convolution_of_halves_with_a_border_is_one_of_tensor_cores():
    images, weights = rounded(drawn(2, 4, 7, 8), "float16"), rounded(drawn(6, 4, 3, 3), "float16")
    bordered = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(bordered, (3, 3), (2, 3)).transpose(0, 2, 3, 1, 4, 5)

    def graph():
        return [jt.nn.conv2d(jt.array(images).cast("float16"), jt.array(weights).cast("float16"), padding=1)]

    (found,), counts = on_gpu(graph)

    wanted = added_up(windows.reshape(-1, 36), weights.reshape(6, 36).T).reshape(2, 7, 8, 6).transpose(0, 3, 1, 2)
    assert np.array_equal(found, rounded(wanted, "float16"))
    assert counts["float16"] == 1


def test_only_words_that_are_a_precision_are_taken():
    for wrong in ("higher", None, ["high"]):
        with pytest.raises(jt.ArgumentError, match="one of highest, high, medium; found"):
            jt.set_float32_matmul_precision(wrong)
    with pytest.raises(jt.ArgumentError, match=r"allow_tf32 is True or False; found 'yes'"):
        jt.backends.cuda.matmul.allow_tf32 = "yes"
    with pytest.raises(jt.UnknownNameError, match=r"jt\.backends\.cuda\.matmul\.allow_tf32"):
        jt.backends.cuda.matmul.allow_tf23  # noqa: B018 - asking is the test
    assert repr(jt.backends.cuda.matmul) == "jt.backends.cuda.matmul: allow_tf32=False"


@pytest.mark.parametrize(("capability", "able"), [((7, 5), {"float16"}), ((8, 0), {"float16", "bfloat16", "tf32"})])
def test_a_gpu_is_given_what_its_tensor_cores_multiply(card, monkeypatch, capability, able):
    monkeypatch.delitem(backends._loaded, "cuda", raising=False)
    monkeypatch.setattr(backend, "get_device_capability", lambda number: capability)
    card()

    assert backend.Cuda().codegen[1].keywords["able"] == able


def test_a_gpu_without_tensor_cores_for_them_multiplies_halves_as_float32(monkeypatch):
    monkeypatch.setattr(backend.CudaSim, "codegen", ((), partial(cuda_loops, able=multiplied_by((7, 5)))))
    monkeypatch.delitem(backends._loaded, "cudasim", raising=False)
    x, y = rounded(drawn(17, 23), "bfloat16"), rounded(drawn(23, 19), "bfloat16")

    (found,), counts = on_gpu(lambda: [jt.array(x).cast("bfloat16") @ jt.array(y).cast("bfloat16")])

    assert np.array_equal(found, rounded(added_up(x, y), "bfloat16"))
    assert sum(counts.values()) == 0
    jt.set_float32_matmul_precision("high")
    try:
        _, counts = on_gpu(lambda: [jt.array(drawn(16, 23)) @ jt.array(y)])
    finally:
        jt.set_float32_matmul_precision("highest")
    assert sum(counts.values()) == 0
