"""Texts are collected without being run; where numba-cuda is installed, one of each schedule becomes machine code."""

import re
from contextlib import contextmanager

import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda.compiler import Report
from tests.gpu import __main__ as program
from tests.gpu import cubins, work
from tests.gpu.cubins import ARCHS, Found, examined
from tests.gpu.texts import collected, launches

has_compiler = pytest.mark.usefixtures("numba_cuda")


def room(*shape):
    return jt.zeros(shape).sync()


def gradient_by_number():
    x = room(5, 7)
    return jt.grad((x[jt.array([1, 0, 1])] * 3).sum(), [x])[0]


def put_by_number():
    x = room(5, 7) + 1
    x[jt.array([1, 0, 1])] = 3
    return x


GRAPHS = {
    "each": lambda: room(300) * 2 + room(300),
    "rows": lambda: nn.softmax(room(9, 70), 1),
    "parts": lambda: room(1 << 16).sum(),
    "tiles": lambda: room(99, 70) @ room(70, 99),
    "ends": lambda: room(4096, 20).transpose(1, 0) @ room(4096, 10),
    "scatter": gradient_by_number,
    "columns": lambda: room(70, 50).sum(0),
    "turned": lambda: room(70, 50).transpose(1, 0) * 2,
    "winners": put_by_number,
    "scan": lambda: jt.cumsum(room(3, 70), 1),
    "merged": lambda: jt.argsort(room(3, 70)),
    "row": lambda: room(300).cast("uint32").max(),
    "once": lambda: room() + 1,
}


@contextmanager
def allowed():
    """Float32 may be rounded for products."""
    jt.backends.cuda.matmul.allow_tf32 = True
    yield
    jt.backends.cuda.matmul.allow_tf32 = False


def texts(graph):
    with collected() as found:
        graph().sync()
    return [*found.values()]


def test_nothing_is_computed_and_large_arrays_take_no_time():
    with collected() as found:
        x = room(1 << 14, 1 << 14) + 1
        assert (x.sum().item(), x.numpy()[5, 5]) == (0, 0)

    assert any("parts[" in source.text for source in found.values())


def test_the_kinds_of_arguments_are_those_of_the_launch_with_arrays_that_the_text_makes():
    (source,) = [source for source in texts(GRAPHS["parts"]) if "parts" in source.text]
    (parts, kinds), (whole, same) = launches(source)

    assert (parts.function.__name__, whole.function.__name__) == ("parts", "whole")
    assert kinds == same
    assert [*kinds][-2:] in (["float32[0]", "float64[1]"], ["float32[0]", "float32[1]"])


def test_a_text_for_a_cpu_launches_nothing():
    assert launches(Source("def kernel(lo, hi):\n    pass\n", ())) == []


def test_a_text_that_does_not_even_start_is_refused():
    (found,) = examined(Source("@cuda.jit\ndef kernel(lo, hi):\n    pass\n", ()))

    assert not found.reports
    assert "NameError" in found.refused


def test_the_table_counts_and_the_exit_code_tells_what_is_wrong(monkeypatch, capsys):
    right, spills = Report(32, 0, 40, 0), Report(255, 8, 0, 0)
    found = [Found("a", "each", (right, spills)), Found("b", "tiles", (right,)), Found("c", "scatter1", (), "no lane")]
    monkeypatch.setattr(cubins, "texts_of", lambda *_: {"some work": {}})
    monkeypatch.setattr(cubins, "all_examined", lambda _: iter(found))

    assert cubins.compile_all() == 1
    said = capsys.readouterr().out
    assert "| some work | 3 | 1 | 255 | 1 | 2 |" in said
    assert "| `scatter` | 1 | 1 | 0 | 0 | 0 |" in said
    assert "scatter1 of the text c: no lane" in said
    del found[2]
    assert cubins.compile_all() == 0  # what is no product may spill
    found.append(Found("d", "tiles", (spills,)))
    assert cubins.compile_all() == 1
    assert "tiles of the text d: 8 bytes are spilled" in capsys.readouterr().out


def test_each_text_is_counted_where_it_is_printed_first(monkeypatch):
    monkeypatch.setattr(work, "STEPS", {"one": lambda: GRAPHS["each"], "two": lambda: GRAPHS["each"]})
    monkeypatch.setattr(cubins, "two_steps", lambda build: build()().sync())
    monkeypatch.setattr(work, "on_tensor_cores", list)

    assert [len(found) for found in cubins.texts_of(rows_too=False, every=False).values()] == [2, 0, 0]


def test_without_a_compiler_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(program, "find_spec", lambda _: None)

    assert program.main(["--compile"]) == 2
    assert "pip install" in capsys.readouterr().out


@pytest.mark.parametrize(("found", "words"), [
    (Found("abc", "rows", (Report(99, 8, 0, 0),)), ""),
    (Found("abc", "tiles", (Report(99, 8, 0, 0),)), "tiles of the text abc: 8 bytes are spilled"),
    (Found("abc", "each", (), "no lane"), "each of the text abc: no lane"),
])  # fmt: skip
def test_a_kernel_is_wrong_where_it_is_refused_or_a_product_that_spills(found, words):
    assert cubins.what_is_wrong(found) == words


# -------------------------------------------------------------------------------------------- with numba-cuda, no GPU


@has_compiler
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_kernel_of_each_schedule_becomes_machine_code_of_four_gpus(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    found = [one for source in texts(GRAPHS[kind]) for one in examined(source)]

    assert [one.name for one in found if one.name.startswith(kind)]
    assert [one.refused for one in found] == [""] * len(found)
    assert {len(one.reports) for one in found} == {len(ARCHS)}
    assert max(one.spilled for one in found) == 0


@has_compiler
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_product_on_tensor_cores_becomes_machine_code_of_each_gpu_that_has_them(dtype, tmp_path, monkeypatch):
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    x, y = room(4096, 64).cast(dtype).sync(), room(64, 4096).cast(dtype).sync()
    with allowed():
        found = [one for source in texts(lambda: x @ y) for one in examined(source) if one.name == "tiles"]

    assert [one.refused for one in found] == [""] * len(found)
    assert [len(one.reports) for one in found] == ([4] if dtype == "float16" else [4, 3])  # first without tensor cores
    assert max(one.spilled for one in found) == 0


def loop_around(word, ptx):
    """The text of the smallest loop that has a word in it."""
    starts = {label[1]: label.start() for label in re.finditer(r"^(\$L\w+):", ptx, re.MULTILINE)}
    jumps = [(starts[jump[1]], jump.end()) for jump in re.finditer(r"\bbra(?:\.uni)?\s+(\$L\w+);", ptx)]
    around = [ptx[begin:end] for begin, end in jumps if begin < end and re.search(word, ptx[begin:end])]
    return min(around, key=len)


def convolution(stride):
    return nn.conv2d(room(16, 64, 32, 32), room(128 // stride, 64, 3, 3), None, stride, 1)


PRODUCTS = {
    "product": (lambda: room(4096, 64) @ room(64, 4096), 8 * 8),
    "product whose sum is shared": (lambda: room(4096, 128).transpose(1, 0) @ room(4096, 4096), 8 * 8),
    "small product": (lambda: room(99, 70) @ room(70, 99), 4 * 4),
    "convolution": (lambda: convolution(1), 8 * 8),
    "convolution of every other place": (lambda: convolution(2), 8 * 4),
}


@has_compiler
@pytest.mark.parametrize("name", PRODUCTS)
def test_along_the_sum_of_a_product_nothing_is_divided_and_sums_stay_in_registers(name):
    """Two steps of the sum at a time are read from shared memory in quads, and nothing but multiplied."""
    from jt_edu.cuda import to_ptx  # noqa: PLC0415 - numba-cuda, where it is installed

    graph, each = PRODUCTS[name]
    (source,) = [s for s in texts(graph) if "tiles" in s.text]
    (kernel, kinds), *_ = launches(source)
    ptx = to_ptx.ptx_of(kernel, kinds, ARCHS[0])
    whole, inner = loop_around(r"bar\.sync", ptx), loop_around(r"fma\.rn\.f32", ptx)

    assert not re.search(r"\b(div|rem)\.[su]|\b(ld|st)\.local", whole)
    assert inner.count("fma.rn.f32") == 2 * each
    assert set(re.findall(r"ld\.shared\.\S+", inner)) == {"ld.shared.v4.f32"}
    assert max(found.spilled for found in examined(source)) == 0


@has_compiler
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_sums_of_a_warp_stay_in_registers_while_tensor_cores_work(dtype):
    from jt_edu.cuda import to_ptx  # noqa: PLC0415 - numba-cuda, where it is installed

    x, y = room(4096, 64).cast(dtype).sync(), room(64, 4096).cast(dtype).sync()
    with allowed():
        source = texts(lambda: x @ y)[-1]
    ((kernel, kinds),) = launches(source)
    ptx = to_ptx.ptx_of(kernel, kinds, (9, 0))

    loop = loop_around(r"bar\.sync", ptx)
    assert loop.count("mma.sync") == 16
    assert not re.search(r"\b(div|rem)\.[su]|\b(ld|st)\.local", loop)
