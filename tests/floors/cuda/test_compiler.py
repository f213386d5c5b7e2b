"""Kernels become machine code of a GPU, where numba-cuda is installed; no GPU is needed for that."""

import inspect
import math
import re
import struct

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.backends import mathlib
from jt_edu.backends.mathlib import at, exp, half_to_float, maximum, select, simd_math
from jt_edu.cuda import blockDim, blockIdx, compiler, syncthreads, threadIdx
from jt_edu.cuda.arguments import kind_of, layout
from jt_edu.cuda.gpu_function import fingerprint
from tests.floors.cuda.kernels import CASES, made

CCS = (7, 5), (8, 0), (9, 0), (12, 0)
F32, PTX = np.ones(4, np.float32), {"u64": "q", "u32": "i", "u16": "h", "u8": "b", "f32": "f", "f64": "d"}
has_compiler = pytest.mark.usefixtures("numba_cuda")


@pytest.fixture(autouse=True)
def its_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    compiler._store.cache_clear()
    yield
    compiler._store.cache_clear()


@cuda.jit(device=True)
def half_of(x):
    return x * np.float32(0.5)


@cuda.jit
def each(n0, a0, a1, out0):
    i0 = cuda.grid(1)
    if i0 < n0:
        out0[at(i0)] = select(a0[at(i0)] > a1[at(i0)], exp(a0[at(i0)]), half_of(a1[at(i0)]))


@cuda.jit
def row_sums(n0, n1, a0, out0):
    i0, lane = blockIdx.x, threadIdx.x
    part = cuda.shared.array(32, jt.float32)
    total = np.float32(0)
    for i1 in range(lane, n1, blockDim.x):
        total += half_to_float(a0[i0, i1])
    for k in range(5):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 1 << k)
    part[lane // 32] = total
    syncthreads()
    if lane == 0:
        for k in range(1, blockDim.x // 32):
            total += part[k]
        cuda.atomic.add(out0, 0, total)


@cuda.jit
def largest(n0, a0, out0):
    kept = cuda.local.array(4, np.float32)
    for k in range(4):
        kept[k] = a0[jt.cuda.grid(1) * 4 + k]
    found = kept[0]
    for k in range(1, 4):
        found = maximum(found, kept[k])
    out0[jt.cuda.grid(1)] = found


# -------------------------------------------------------------------------------------------- with numba-cuda, no GPU


@has_compiler
@pytest.mark.parametrize("cc", CCS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_right_kernel_compiles_for_each_gpu_and_spills_no_register(case, cc):
    found = cuda.compile(made(case.text, case.name), *case.arguments, cc=cc)

    assert found.cubin.startswith(b"\x7fELF")
    assert f".target sm_{cc[0]}{cc[1]}" in found.ptx
    assert f".entry {found.entry}(" in found.ptx
    assert (found.report.spilled, found.report.stack) == (0, 0)
    assert 8 <= found.report.registers <= 64
    assert (found.report.shared > 0) == ("shared.array(" in case.text and "shared.array(0" not in case.text)


@has_compiler
@pytest.mark.parametrize("cc", CCS, ids=str)
@pytest.mark.parametrize(
    ("kernel", "given", "words"),
    [
        (each, (4, F32, F32, F32), r"ld.global.[fb]32 st.global.[fb]32"),
        (row_sums, (4, 4, np.ones((2, 2), np.uint16), F32), r"shfl.sync.bfly bar.sync atom\S*add\S*f32 f32.f16"),
        (largest, (4, F32, F32), "setp.gt.f32"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_is_written_for_the_interpreter_compiles_unchanged(kernel, given, words, cc):
    found = cuda.compile(kernel, *given, cc=cc)

    assert found.report.spilled == found.report.stack == 0
    assert [word for word in words.split() if not re.search(word, found.ptx)] == []


KINDS = ("float32", "float64", "int64", "uint64", "uint16", "boolean", "complex64", "complex128")
CPU_ONLY = {"ahead", "block", "matrix", "scratch", "stream"}


def formulas():
    """The functions of mathlib, with each kind of argument that they take, and the kind of what they give."""
    for name in sorted({*mathlib.__all__} - CPU_ONLY):
        function = getattr(mathlib, name)
        for kind in KINDS if hasattr(function, "rule") else ():
            given = [getattr(simd_math.types, kind)] * len(inspect.signature(function).parameters)
            if name == "select":
                given[0] = simd_math.types.boolean
            result = function.rule(*given)
            if result is not None:
                yield pytest.param(function, [str(g) for g in given], str(result), id=f"{name}-{kind}")


@has_compiler
@pytest.mark.parametrize(("function", "kinds", "result"), list(formulas()))
def test_a_function_of_mathlib_compiles_for_a_gpu(function, kinds, result):
    names = [f"a{k}" for k in range(len(kinds))]
    text = f"@cuda.jit\ndef kernel({', '.join(names)}, out):\n    i = cuda.grid(1)\n"
    text += f"    out[i] = function({', '.join(f'{name}[i]' for name in names)})\n"
    space = {"cuda": cuda, "function": function}
    exec(text, space)  # noqa: S102 - the lines above
    arrays = [np.ones(2, kind) for kind in (*kinds, result)]
    found = cuda.compile(space["kernel"], *arrays, cc=(9, 0))

    assert "frem" not in found.ptx
    assert found.report.spilled == 0


@has_compiler
@pytest.mark.parametrize(
    "number",
    [True, 3, 1.5, 2j, (1, 2.5, True), *(np.dtype(k).type(1) for k in "bBhHiIqQfd"), np.complex64(1), np.float64(1)],
    ids=repr,
)
def test_arguments_lie_where_the_compiler_looks_for_them(number):
    given = np.int8(1), np.ones((2, 3)), number, np.ones((), np.float32), np.int16(2), number
    found = cuda.compile(cuda.jit(lambda a, x, n, y, b, m: None), *given)
    told = "".join(PTX[kind] for kind in re.findall(r"\.param \.(\w+) ", found.ptx.partition(")")[0]))
    ours = layout([kind_of(g) for g in given])

    assert [_place("@" + told, k) for k in range(len(told))] == [_place(ours, k) for k in range(len(ours) - 1)]


def _place(form, k):
    """Where number k of a row begins."""
    size = struct.calcsize(form[0] + form[k + 1])
    return -(-struct.calcsize(form[: k + 1]) // size) * size, size


@has_compiler
def test_what_was_compiled_is_kept_and_read_again(monkeypatch, tmp_path):
    first = cuda.compile(each, 4, F32, F32, F32, cc=(8, 0))
    monkeypatch.setattr(compiler, "_made", None)

    assert cuda.compile(each, 4, F32, F32, F32, cc=(8, 0)) == first
    assert len(list(tmp_path.rglob("k_*.bin"))) == 1
    with pytest.raises(TypeError):
        cuda.compile(each, 4, F32, F32, F32, cc=(9, 0))


@has_compiler
def test_a_kernel_that_numba_refuses_says_why():
    @cuda.jit
    def wrong(x):
        x[0] = "text"

    with pytest.raises(jt.KernelError, match=r"(?s)wrong can be compiled for a GPU; found .*unicode_type|text"):
        cuda.compile(wrong, F32)


@has_compiler
@pytest.mark.parametrize("cc", [(5, 0), (99, 0)])
def test_a_gpu_that_the_compiler_does_not_know_is_refused(cc):
    with pytest.raises(jt.BackendError, match=f"compiles each for sm_{cc[0]}0"):
        cuda.compile(each, 4, F32, F32, F32, cc=cc)


@has_compiler
def test_device_functions_that_call_themselves_or_stand_in_a_closure_compile():
    by = 3.0

    @cuda.jit(device=True)
    def power(n):
        return 1.0 if n < 1 else by * power(n - 1)

    @cuda.jit
    def kernel(out):
        out[0] = power(out.size) + math.sqrt(by)

    assert "call" in cuda.compile(kernel, F32).ptx


@has_compiler
def test_names_are_found_in_each_way_that_python_has_for_them():
    dims = blockDim  # under another name

    @cuda.jit
    def kernel(x: "an array", by: float = jt.pi) -> None:  # noqa: F722
        i = blockIdx.x * dims.x + threadIdx.x
        x[i] = by * jt.pi + jt.backends.mathlib.exp(x[i]) * cuda.gridDim.x

    ptx = cuda.compile(kernel, F32, 1.0).ptx
    assert [word for word in ("%ctaid.x", "%ntid.x", "%tid.x", "%nctaid.x") if word not in ptx] == []


ZEROS = (np.float32(0),) * 4
WORD = np.uint32(0)


@cuda.jit
def of_halves(x, out):
    w = x[cuda.laneid] | x[cuda.laneid + 1] << 16  # whole numbers of any width
    d = cuda.mma_float16((w, w, w, w), (w, x[0]), (out[0], out[1], 0, out[3]))
    out[0] = d[0] + d[3]


@cuda.jit
def of_bfloats(x, out):
    out[0] = cuda.mma_bfloat16((x[0], x[1], x[2], x[3]), (x[0], WORD), ZEROS)[0]


@cuda.jit(device=True)
def rounded(x):
    return cuda.tf32(x), cuda.tf32(2 * x)


@cuda.jit
def of_tf32(x, out):
    a, b = rounded(out[0]), rounded(out[1])
    out[0], out[1], out[2], out[3] = cuda.mma_tf32((a[0], a[1], b[0], b[1]), b, ZEROS)


PRODUCTS = {
    of_halves: ((7, 5), [r"m16n8k8.row.col.f32.f16.f16.f32"] * 2),
    of_bfloats: ((8, 0), [r"m16n8k16.row.col.f32.bf16.bf16.f32"]),
    of_tf32: ((8, 0), [r"m16n8k8.row.col.f32.tf32.tf32.f32"]),
}


@has_compiler
@pytest.mark.parametrize("kernel", PRODUCTS, ids=lambda k: k.__name__)
def test_a_product_of_a_warp_is_one_instruction_and_two_on_the_oldest_gpu(kernel):
    first, wanted = PRODUCTS[kernel]
    x, out = np.zeros(64, np.uint16), np.zeros(64, np.float32)

    assert cuda.compile(kernel, x, out).cc == first
    assert re.findall(r"mma\.sync\.aligned\.(\S+)", cuda.compile(kernel, x, out).ptx) == wanted
    newer = re.findall(r"mma\.sync\.aligned\.(\S+)", cuda.compile(kernel, x, out, cc=(9, 0)).ptx)
    assert newer == [wanted[0].replace("k8", "k16") if kernel is of_halves else wanted[0]]
    assert cuda.compile(kernel, x, out, cc=(12, 0)).report.spilled == 0
    if kernel is of_tf32:
        assert cuda.compile(kernel, x, out).ptx.count("cvt.rna.tf32.f32") == 4


@has_compiler
@pytest.mark.parametrize("kernel", [of_bfloats, of_tf32], ids=lambda k: k.__name__)
def test_a_gpu_without_such_tensor_cores_refuses_the_word(kernel):
    with pytest.raises(jt.KernelError, match=r"needs compute capability 8\.0; this is 7\.5"):
        cuda.compile(kernel, np.zeros(64, np.uint16), np.zeros(64, np.float32), cc=(7, 5))


@cuda.jit(device=True)
def misspelled(x):
    return cuda.popcc(x)


MISSPELLED = {
    "x[cuda.thredIdx.x] = 1": r"found cuda\.thredIdx. Try: cuda\.threadIdx",
    "x[0] = jt.cuda.gird(1)": r"found cuda\.gird. Try: cuda\.grid",
    "x[0] = misspelled(3)": r"found cuda\.popcc. Try: cuda\.popc",
    "x[0] = cuda.shared.aray(3, 'float32')[0]": r"found shared\.aray. Try: cuda\.shared\.array",
    "x[0] = cuda.nosuch": r"found cuda\.nosuch. Try: threadIdx, blockIdx",
}


@has_compiler
@pytest.mark.parametrize("line", MISSPELLED)
def test_a_word_that_no_kernel_has_is_named_and_so_is_the_nearest_one(line):
    space = {"cuda": cuda, "jt": jt, "misspelled": misspelled}
    exec(f"@cuda.jit\ndef wrong(x):\n    {line}\n", space)  # noqa: S102 - texts above
    with pytest.raises(jt.KernelError, match=f"wrong is made of words that a kernel has; {MISSPELLED[line]}"):
        cuda.compile(space["wrong"], F32, cc=(8, 0))


OF_NUMPY = {
    "x[0] = np.exp(x[1]) + np.expm1(x[2])": "",
    "x[0] = np.sqrt(np.abs(x[1])) + np.power(x[2], x[3]) + exp(x[0])": "",
    "x[0] = np.floor(x[1])": r"NumPy's floor\. Try: arithmetic, or a function of math",
    "import math": r"IMPORT_NAME",
}


@has_compiler
@pytest.mark.parametrize("line", OF_NUMPY)
def test_functions_of_numpy_compile_where_math_has_the_same_and_others_are_named(line):
    space = {"cuda": cuda, "np": np, "exp": np.exp}
    exec(f"@cuda.jit\ndef kernel(x):\n    {line}\n", space)  # noqa: S102 - texts above
    if OF_NUMPY[line]:
        with pytest.raises(jt.KernelError, match=OF_NUMPY[line]):
            cuda.compile(space["kernel"], F32, cc=(8, 0))
    else:
        assert ".f64" not in cuda.compile(space["kernel"], F32, cc=(8, 0)).ptx  # a float32 stays one


@cuda.jit
def wide(x):
    tile = cuda.shared.array(13_000, "float32")
    tile[cuda.threadIdx.x] = x[0]
    syncthreads()
    x[0] = tile[5]


@has_compiler
def test_a_text_that_names_more_shared_memory_than_a_block_has_says_how_much_there_is():
    with pytest.raises(jt.KernelError, match=r"names 49,152 bytes .*; found 52,000 in wide. Try: smaller tiles"):
        cuda.compile(wide, F32, cc=(9, 0))


@has_compiler
def test_a_compiler_without_its_libraries_says_what_to_install(monkeypatch):
    from jt_edu.cuda import to_ptx  # noqa: PLC0415 - it needs numba-cuda

    def missing(*_):
        raise to_ptx.MISSING("libnvrtc")

    monkeypatch.setattr(to_ptx, "ptx_of", missing)
    with pytest.raises(jt.BackendError, match=r"one without a library of NVIDIA's \(libnvrtc\)\. Try: pip install"):
        cuda.compile(each, 4, F32, F32, F32, cc=(9, 0))


# --------------------------------------------------------------------------------------------------- without numba-cuda


def test_the_oldest_gpu_of_a_kernel_is_that_of_its_words_and_of_its_device_functions():
    assert [compiler.oldest(k) for k in (each, of_halves, of_bfloats, of_tf32)] == [(7, 5), (7, 5), (8, 0), (8, 0)]


def test_without_the_compiler_the_way_to_it_is_told(monkeypatch):
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    with pytest.raises(jt.BackendError, match=r"compiled by numba-cuda; found no numba-cuda. Try: pip install"):
        cuda.compile(each, 4, F32, F32, F32)


def test_a_compiler_that_does_not_start_is_told_with_the_version_of_numpy(monkeypatch):
    monkeypatch.setattr(compiler, "find_spec", lambda name: name)
    monkeypatch.setitem(__import__("sys").modules, "jt_edu.cuda.to_ptx", None)
    monkeypatch.delattr(cuda, "to_ptx", raising=False)
    with pytest.raises(jt.BackendError, match=rf"does not start beside numpy {re.escape(np.__version__)}.*numpy<2\.5"):
        cuda.compile(each, 4, F32, F32, F32)


@pytest.mark.parametrize(("kernel", "words"), [(3, "compile takes a kernel"), (half_of, "compile takes a kernel")])
def test_only_a_kernel_is_compiled(kernel, words):
    with pytest.raises(jt.ArgumentError, match=words):
        cuda.compile(kernel, F32)


def test_a_compiler_is_given_an_argument_for_each_name():
    with pytest.raises(jt.ArgumentError, match="each takes 4 arguments, n0, a0, a1, out0; found 1 argument"):
        cuda.compile(each, 4)


@pytest.mark.parametrize("cc", [9, (9,), ("9", "0"), (9, 0, 0), "sm_90"])
def test_a_compute_capability_is_two_numbers(cc):
    with pytest.raises(jt.ArgumentError, match=r"two whole numbers.*\(9, 0\)"):
        cuda.compile(each, 4, F32, F32, F32, cc=cc)


def _prints(text, **space):
    full = {"cuda": cuda, "np": np, **space}
    exec(text, full)  # noqa: S102 - texts of the tests below
    return repr(fingerprint(full["kernel"], {}))


TEXT = "@cuda.jit\ndef kernel(x):\n    x[0] = {}\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_prints(TEXT.format("1")), _prints(TEXT.format("2"))),
        (_prints(TEXT.format("by"), by=1), _prints(TEXT.format("by"), by=2)),
        (_prints(TEXT.format("by"), by=1), _prints(TEXT.format("by"), by=1.0)),
        (_prints(TEXT.format("by[0]"), by=np.zeros(2)), _prints(TEXT.format("by[0]"), by=np.ones(2))),
        (
            _prints(TEXT.format("f(1)"), f=cuda.jit(lambda a: a, device=True)),
            _prints(TEXT.format("f(1)"), f=cuda.jit(lambda a: a + 1, device=True)),
        ),
        (_prints(TEXT.format("f(1.0)"), f=exp), _prints(TEXT.format("f(1.0)"), f=mathlib.log)),
        (_prints(TEXT.format("f(1.0)"), f=np.float32), _prints(TEXT.format("f(1.0)"), f=np.float64)),
        (_prints(TEXT.format("g.x"), g=cuda.threadIdx), _prints(TEXT.format("g.x"), g=cuda.blockIdx)),
    ],
    ids=["constant", "name", "kind", "array", "device function", "mathlib", "dtype", "name of cuda"],
)
def test_kernels_that_differ_in_what_they_compute_have_keys_of_their_own(first, second):
    assert first != second


def test_a_kernel_that_is_written_again_has_the_same_key():
    text = "@cuda.jit(device=True)\ndef f(n):\n    return n if n < 1 else f(n - 1)\n" + TEXT.format("f(by)")

    assert _prints(text, by=2) == _prints("\n\n" + text, by=2)
    assert "0x" not in _prints(text, by=2)
