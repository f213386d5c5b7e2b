"""Assembly: the compiler's own words for a kernel, and which instructions work on several numbers at once."""

import numpy as np
import pytest
from llvmlite import binding

import jt_edu as jt
from jt_edu import backends
from jt_edu.codegen.emit_python import Source
from jt_edu.lens.assembly import assembly, cuda, trimmed_asm, trimmed_llvm, vectors
from jt_edu.lens.kernel_edit import find


@pytest.fixture(scope="module")
def made():
    x = jt.array(np.ones((40, 60), "float32"))
    (kernel,) = jt.explain((x.exp() * 2).sum(1)).kernels
    return assembly(find(kernel))


def test_only_the_kernel_is_told(made):
    assert made.llvm.startswith("define ")
    assert "@kernel(" in made.llvm.splitlines()[0]
    assert made.llvm.count("\ndefine") == 0
    assert made.llvm.endswith("}\n")
    assert made.asm.startswith("kernel:\n")
    assert "PyArg" not in made.asm  # the wrapper's business
    assert not [row for row in made.asm.splitlines() if row.strip().startswith(".p2align")]


def test_a_loop_of_arithmetic_uses_the_widest_registers_of_the_processor():
    x = jt.array(np.ones((100, 60), "float32"))
    (kernel,) = jt.explain(x.sigmoid() * x.tanh()).kernels
    has = binding.get_host_cpu_features()
    widest = 512 if has.get("avx512f") else 256 if has.get("avx") else 128

    arithmetic = [v.width for v in assembly(find(kernel)).vectors if v.arithmetic]

    assert max(arithmetic) == widest


def test_a_sum_of_exponentials_computes_several_numbers_at_once(made):
    rows = made.asm.splitlines()

    assert made.widest >= 128
    assert {v.line for v in made.vectors} <= set(range(1, len(rows) + 1))
    assert f"of {made.widest} bits" in made.summary


def test_a_machine_without_a_gpu_says_why_there_is_no_ptx(monkeypatch):
    x = jt.array(np.ones(4, "float32"))
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    assembly.cache_clear()

    made = assembly(find(jt.explain(x * 11).kernels[0]))

    assert (made.ptx, made.no_ptx) == ("", "numba finds no NVIDIA GPU on this machine, so there is no PTX to show.")
    assembly.cache_clear()


def test_what_came_from_disk_can_be_looked_at(made):
    x = jt.array(np.ones((40, 60), "float32"))
    source = find(jt.explain((x.exp() * 2).sum(1)).kernels[0])
    backend = backends.get("numba")
    backend.compile(source)
    backend._programs.pop(source.key)
    assembly.cache_clear()

    assert not backend.compile(source).compiled  # it was on disk, which holds no text of it
    again = assembly(source)

    assert again is not made
    assert again.asm == made.asm


def test_a_text_that_does_not_compile_is_an_error_of_ours():
    source = Source("def kernel(lo, hi):\n    return nobody(lo)\n", ())

    with pytest.raises(jt.KernelError, match=rf"numba compiles kernel {source.key[:10]}; found TypingError: .*"):
        assembly(source)


def test_without_numbas_compiler_there_is_no_machine_code(monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", True)

    with pytest.raises(jt.KernelError, match="found NUMBA_DISABLE_JIT"):
        assembly(Source("def kernel(lo, hi):\n    pass\n", ()))


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("    vaddps  %zmm0, %zmm1, %zmm2", (512, True)),
        ("    vfmadd231ps  (%rax), %ymm1, %ymm2", (256, True)),
        ("    vfmadd213ss  %xmm0, %xmm1, %xmm2", None),
        ("    addps   %xmm0, %xmm1", (128, True)),
        ("    mulsd   %xmm0, %xmm1", None),
        ("    vmovups %ymm0, (%rdi)", (256, False)),
        ("    vpslld  $23, %zmm1, %zmm1", (512, True)),
        ("    vxorps  %xmm0, %xmm0, %xmm0", (128, False)),
        ("    vbroadcastss (%rax), %zmm3", (512, False)),
        ("    vcvtss2sd %xmm0, %xmm0, %xmm1", None),
        ("    fmla    v0.4s, v1.4s, v2.4s", (128, True)),
        ("    fadd    v0.2s, v1.2s, v2.2s", (64, True)),
        ("    fmadd   s0, s1, s2, s3", None),
        ("    ldp     q0, q1, [x8]", (128, False)),
        ("    pushq   %rbp", None),
        (".LBB0_3:", None),
    ],
)
def test_instructions(row, found):
    assert [(v.width, v.arithmetic) for v in vectors(row)] == ([found] if found else [])


def test_a_function_is_cut_out_of_its_module():
    llvm = "declare void @other()\ndefine i32 @_Zk(i64 %a) {\nret i32 0\n}\ndefine i32 @wrap() {\n}\n"
    asm = "\t.text\n_Zk:\n\t.cfi_startproc\n\tpushq\t%rbp\n.LBB0_1:\n\tretq\n.Lfunc_end0:\n_ZN7cpython1:\n\tretq\n"

    assert trimmed_llvm(llvm, "_Zk") == "define i32 @kernel(i64 %a) {\nret i32 0\n}\n"
    assert trimmed_asm(asm, "_Zk") == "kernel:\n    pushq   %rbp\n.LBB0_1:\n    retq\n"
