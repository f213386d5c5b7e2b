"""What ctypes hands over arrives: a driver that is written in C, with the types of the real one."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.cuda import compiler

CC = shutil.which("cc") or shutil.which("gcc")


@cuda.jit
def add(n, a, b, out):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]


@pytest.fixture
def of_c(card, tmp_path, monkeypatch):
    """A GPU behind a library of C, and a compiler that gives what it takes."""
    if CC is None:
        pytest.skip("no compiler of C")
    built = tmp_path / "driver.so"
    subprocess.run([CC, "-shared", "-fPIC", "-o", built, Path(__file__).with_name("driver.c")], check=True)
    card(ctypes.CDLL(str(built)))

    def compiled(kernel, kinds, cc):
        return compiler.Compiled("add", kinds, cc, "add", "", b"a\0b", compiler.Report(8, 0, 0, 0))

    monkeypatch.setattr(compiler, "compiled", compiled)


def test_a_driver_of_c_gets_handles_sizes_and_arguments_as_they_are(of_c):
    a, out = cuda.to_device(np.arange(5, dtype="float32")), cuda.device_array(5, "float32")
    b = cuda.device_array(5, "float32")
    b.copy_to_device(a)
    add[(2**31 - 1, 65535, 3), (4, 5, 6), 0, 60_000](5, a, b, out)

    assert out.copy_to_host().tolist() == [0, 2, 4, 6, 8]
    assert (cuda.device_count(), cuda.get_device_name(), cuda.get_device_capability()) == (1, "Of C", (8, 6))
    with pytest.raises(jt.KernelError, match=r"error 701 \(NAME_IN_C\)"):
        add[1, 1](5, a, b, out)
    with pytest.raises(jt.OutOfMemoryError, match="2,199,023,255,552 bytes"):
        cuda.device_array(2**41, "uint8")
