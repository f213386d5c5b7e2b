"""A folder of kernels that were compiled elsewhere serves another version of Python, without numba-cuda."""

import json
import sys
import zlib
from dataclasses import asdict
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.backends import define
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda import compiler
from jt_edu.cuda.compiler import Compiled, Report
from jt_edu.cuda.gpu_function import fingerprint

GIVEN = np.ones(4, np.float32)


def printed(value):
    """A kernel as jt_edu prints it: a module that is known by its text."""
    return defined(f"@cuda.jit\ndef kernel(x):\n    x[0] = {value}\n")


def defined(text):
    """What is called kernel in a text that jt_edu has printed, or a learner has edited."""
    source = Source(f"from jt_edu import cuda\n{text}", ())
    return define(source, source.key)


def key(kernel):
    return repr(fingerprint(kernel, {}))


@pytest.fixture(autouse=True)
def _its_own_folder():
    compiler._store.cache_clear()
    yield
    compiler._store.cache_clear()


@pytest.mark.usefixtures("numba_cuda")
def test_what_was_compiled_into_a_folder_needs_no_compiler_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("JT_EDU_CUBINS", str(tmp_path))
    first = cuda.compile(printed("1"), GIVEN, cc=(8, 0))
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    monkeypatch.setattr(compiler, "versions", None)  # of Python and of packages
    compiler._store.cache_clear()

    assert cuda.compile(printed("1"), GIVEN, cc=(8, 0)) == first
    with pytest.raises(jt.BackendError, match=r"no numba-cuda, and no kernel in "):
        cuda.compile(printed("2"), GIVEN, cc=(8, 0))


CODE = Compiled("kernel", ("float32[1]",), (8, 0), "k", ".entry k(", b"\x7fELF \0", Report(8, 0, 0, 0))


def packed(entry="k", text=b".entry k(", cubin=CODE.cubin, **needs):
    head = json.dumps({"entry": entry, "report": asdict(CODE.report) | needs})
    return zlib.compress(b"\0".join([head.encode(), text, cubin]))


NOT_KEPT = {
    "nothing": b"",
    "not compressed": b"abc",
    "cut": packed()[:-9],
    "one part": zlib.compress(b"{}"),
    "no json": zlib.compress(b"{\0\0"),
    "no report": zlib.compress(b"{}\0\0"),
    "a list": zlib.compress(b"[]\0\0"),
    "a report of more": packed(speed=1),
    "deep": zlib.compress(b"[" * 100_000 + b"\0\0"),
    "long number": zlib.compress(b"1" * 5000 + b"\0\0"),
    "not utf-8": packed(text=b".entry k(\xff"),
    "large": packed(cubin=CODE.cubin + bytes(compiler.LARGEST)),
    "registers in words": packed(registers="x"),
    "many registers": packed(registers=256),
    "nothing spilled": packed(spilled=None),
    "half a stack": packed(stack=0.5),
    "less than no memory": packed(shared=-1),
    "no entry": packed(entry=None, text=b".entry None("),
    "another entry": packed(entry="\0"),
    "no machine code": packed(cubin=b""),
    "no ELF": packed(cubin=b"MZ"),
}


@pytest.mark.parametrize("content", NOT_KEPT.values(), ids=NOT_KEPT)
def test_a_file_with_a_seal_that_holds_no_kernel_is_as_if_it_were_not_there(monkeypatch, tmp_path, content):
    monkeypatch.setenv("JT_EDU_CUBINS", str(tmp_path / "a" / "b"))  # is made with all folders above it
    made = []
    with monkeypatch.context() as compiling:
        compiling.setattr(compiler, "_made", lambda *given: made.append(given) or CODE)
        for _ in range(2):
            assert cuda.compile(printed("1"), GIVEN, cc=(8, 0)) == CODE
        (file,) = tmp_path.rglob("k_*.bin")
        assert compiler._store().save(file.stem[2:], content)
        for _ in range(2):  # the second time it is there again
            assert cuda.compile(printed("1"), GIVEN, cc=(8, 0)) == CODE
    assert len(made) == 2

    compiler._store().save(file.stem[2:], content)
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    with pytest.raises(jt.BackendError, match=f"no numba-cuda, and no kernel in {file}"):
        cuda.compile(printed("1"), GIVEN, cc=(8, 0))


def test_a_folder_of_a_user_who_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("JT_EDU_CUBINS", "~nobody_of_that_name/x")
    with pytest.raises(jt.BackendError, match="JT_EDU_CUBINS names a folder; found '~nobody_of_that_name/x'"):
        cuda.compile(printed("1"), GIVEN, cc=(8, 0))


def test_a_printed_kernel_is_known_by_its_text_and_not_by_bytecode():
    one, two = (key(printed(value)) for value in "12")
    assert one != two
    assert one == key(printed("1"))

    function = printed("1").function
    other = function.__code__.replace(co_code=printed("x[0] + 1").function.__code__.co_code)
    assert one == key(FunctionType(other, function.__globals__))


def test_functions_of_ours_that_a_text_names_are_known_by_their_names():
    text = "from jt_edu.cuda.cooperation import block_add\nfrom jt_edu.backends.mathlib import exp\n"
    assert "b'" not in key(defined(text + "@cuda.jit\ndef kernel(x):\n    x[0] = block_add(exp(x[0]), x)\n"))


TWO = {
    "of a closure": """
def made(by):
    @cuda.jit
    def scaled(x):
        x[0] *= by
    return scaled
kernel = made(2), made(3)
""",
    "lambdas of one line": "kernel = [cuda.jit(f) for f in (lambda x: x[0], lambda x: x[1])]\n",
    "of a closure that a kernel calls": """
def made(by):
    @cuda.jit(device=True)
    def scaled(x):
        return x * by
    @cuda.jit
    def kernel(x):
        x[0] = scaled(x[0])
    return kernel
kernel = made(2), made(3)
""",
    "one defined over another": """
@cuda.jit
def kernel(x):
    x[0] = 1
first = kernel
@cuda.jit
def kernel(x):
    x[0] = 2
kernel = first, kernel
""",
}


@pytest.mark.parametrize("text", TWO.values(), ids=TWO)
def test_two_kernels_of_one_name_in_a_text_have_keys_of_their_own(text):
    first, second = defined(text)
    assert key(first) != key(second)


@pytest.mark.usefixtures("numba_cuda")
def test_two_kernels_of_one_name_in_a_text_become_machine_code_of_their_own(monkeypatch, tmp_path):
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    first, second = (cuda.compile(kernel, GIVEN, cc=(8, 0)) for kernel in defined(TWO["of a closure"]))
    assert first.cubin != second.cubin


def test_a_text_that_takes_values_from_another_file_has_another_key_when_they_are_others(monkeypatch):
    def of(**values):
        monkeypatch.setitem(sys.modules, "helper_of_a_learner", SimpleNamespace(**values))
        name = next(iter(values))
        return key(defined(f"from helper_of_a_learner import {name}\n@cuda.jit\ndef kernel(x):\n    x[0] = {name}\n"))

    assert of(by=2) != of(by=3)
    assert of(f=cuda.jit(lambda x: x, device=True)) != of(f=cuda.jit(lambda x: x + 1, device=True))
