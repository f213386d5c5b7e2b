"""GPU assembly: kernels of a plan with the threads that it would launch, in C++, and what they take of four GPUs."""

import re
from unittest.mock import Mock

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.cuda.compiler import Compiled, Report
from jt_edu.cuda.device import NO_COMPILER
from jt_edu.introspect.explain import planned
from jt_edu.lens import gpu_assembly
from jt_edu.lens.gpu_assembly import listings, of_step


def shown(graph):
    """What is shown of the last step of a graph."""
    with jt.flag_scope(backend="cudasim"):
        plan = planned([graph().node])[1]
        return of_step(plan, plan.steps[-1])


@pytest.fixture
def compiler(monkeypatch):
    """One that says: 40 registers, 4 bytes spilled, 2 kB of shared memory."""

    def compiled(kernel, kinds, cc):
        ptx, report = ".visible .entry _ZN4long(", Report(40, 4, 0, 2048)
        return Compiled(kernel.__name__, kinds, cc, "_ZN4long", ptx, b"", report)

    monkeypatch.setattr(gpu_assembly, "compiled", compiled)


def numbers(*shape):
    return jt.array(np.ones(shape, "float32"))


def softmax():
    return jt.nn.softmax(numbers(5, 70) * 2, 1)


def sums():
    return numbers(200, 30).sum(0)


def scanned():
    return jt.cumsum(numbers(3, 9000), 1)


@pytest.mark.parametrize(
    ("graph", "threads"),
    [(softmax, {"rows": 96}), (sums, {"columns": 256, "ends": 256}), (scanned, {"scan": 256})],
)
def test_each_kernel_is_told_once_with_the_threads_that_its_arrays_ask_for(graph, threads, compiler):
    rows = shown(graph)["needs"]

    assert {row["kernel"]: row["threads"] for row in rows} == threads
    assert len(rows) == 4 * len(threads)


def test_a_row_says_what_a_kernel_takes_of_a_gpu(compiler):
    found = shown(softmax)

    assert found["needs"][2] == {
        "kernel": "rows", "threads": 96, "gpu": "H100, 9.0", "registers": 40, "spilled": 4, "shared": 2048,
        "blocks": 16, "warps": 48, "most": 64, "limits": "registers",
    }  # fmt: skip
    assert "__global__ void rows(" in found["cpp"]
    assert found["ptx"].splitlines()[0].startswith("// <rows for sm_75: Report(registers=40")
    assert found["ptx"].splitlines()[1] == ".visible .entry rows("


def test_without_a_compiler_it_says_what_to_install_and_shows_the_rest(monkeypatch):
    missing = Mock(side_effect=jt.BackendError(*NO_COMPILER))  # what was compiled before would be found
    monkeypatch.setattr("jt_edu.lens.gpu_assembly.compiled", missing)
    found = shown(softmax)

    assert "pip install 'jt-edu[cuda]'" in found["no_ptx"]
    assert (found["ptx"], found["needs"]) == ("", [])
    assert "__global__ void rows(" in found["cpp"]


EACH = """
from jt_edu import cuda
from jt_edu.cuda.cublas import gemm
from jt_edu.cuda.cudnn import convolve as slid


@cuda.jit
def each(x):
    x[cuda.grid(1)] = 0


def kernel(lo, hi, x):
    {line}
    each[1, 32](x)
"""


@pytest.mark.parametrize("call", ['gemm("float32", x, x, x, 1, 2, 2, 2, "nn")', "slid(x, x, x, None, algorithm=1)"])
def test_where_a_library_computes_the_kernels_beside_it_are_shown(call, compiler):
    found = listings(Source(EACH.format(line=call), (Parameter("x", "float32", 1),)))

    assert [row["kernel"] for row in found["needs"]] == ["each"] * 4
    assert "__global__ void each(" in found["cpp"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("raise ValueError(3)", r"line 13: raise ValueError\(3\); found ValueError: 3"),
        ("x.nothing", "line 13: x.nothing; found AttributeError"),
        ("1 +", r"line 13: 1 \+; found SyntaxError"),
    ],
)
def test_an_edit_that_stops_is_told_with_its_line(line, words, compiler):
    found = listings(Source(EACH.format(line=line), (Parameter("x", "float32", 1),)))

    assert re.search(words, found["no_ptx"])
    assert (found["cpp"], found["needs"]) == ("", [])


def test_with_a_compiler_the_figures_are_those_of_the_assembler(numba_cuda):
    found = shown(softmax)

    assert ".visible .entry rows(" in found["ptx"]
    assert [row["gpu"] for row in found["needs"]] == ["T4, 7.5", "A100, 8.0", "H100, 9.0", "RTX 50, 12.0"]
    assert all(16 <= row["registers"] <= 64 and row["spilled"] == 0 for row in found["needs"])
    assert {row["shared"] for row in found["needs"]} == {384}  # 32 numbers of 4 bytes, and 32 of 8
