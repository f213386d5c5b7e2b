"""A folder of kernels that were compiled elsewhere serves another version of Python, without numba-cuda."""

import json
import zlib
from dataclasses import asdict
from types import SimpleNamespace

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
    source = Source(f"from jt_edu import cuda\n@cuda.jit\ndef kernel(x):\n    x[0] = {value}\n", ())
    return define(source, source.key)


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
    monkeypatch.setattr(compiler, "_versions", None)  # of Python and of packages
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
    one, two = (repr(fingerprint(printed(value), {})) for value in "12")
    assert one != two
    assert one == repr(fingerprint(printed("1"), {}))

    function = printed("1").function
    without = SimpleNamespace(__code__=None, __globals__=function.__globals__, __name__="kernel")
    assert one == repr(fingerprint(without, {}))
