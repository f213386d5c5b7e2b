"""A folder of kernels that were compiled elsewhere serves another version of Python, without numba-cuda."""

from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.backends import define
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda import compiler
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


def test_a_printed_kernel_is_known_by_its_text_and_not_by_bytecode():
    one, two = (repr(fingerprint(printed(value), {})) for value in "12")
    assert one != two
    assert one == repr(fingerprint(printed("1"), {}))

    function = printed("1").function
    without = SimpleNamespace(__code__=None, __globals__=function.__globals__, __name__="kernel")
    assert one == repr(fingerprint(without, {}))
