"""What ctypes hands over arrives: a driver that is written in C, with the types of the real one."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.cuda import compiler, device
from jt_edu.cuda.driver import KernelNode, Launch

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


def test_a_driver_of_c_gets_events_and_reads_its_clock(of_c):
    driver, stream = device.here().driver, device.here().stream
    mark = driver.event(timed=True)
    driver.record(mark, stream)
    driver.wait(mark)

    assert driver.elapsed(mark, mark) == 1.5


SIZES = (2**31 - 1, 65535, 3, 4, 5, 6)


def row_of(*arrays):
    """The arguments of `add`, as words."""
    return np.array([5, *(word for x in arrays for word in x.words)], np.int64)


def test_a_driver_of_c_gets_graphs_and_what_is_changed_in_them(of_c):
    a, b, out, end = (cuda.to_device(np.full(5, k, "float32")) for k in (1, 2, 0, 0))
    gpu = device.here()
    function = gpu.driver.load(b"a\0b", "add")
    rows = [row_of(a, b, out), row_of(out, a, end)]
    launches = [Launch(function, SIZES, 0, row.ctypes.data, row.nbytes) for row in rows]
    graph, nodes = gpu.driver.graph(launches)
    executable = gpu.driver.executable(graph)
    rows[0][:] = 0  # they were copied
    gpu.driver.launch_graph(executable, gpu.stream)
    assert end.copy_to_host().tolist() == [4] * 5  # (1 + 2) + 1

    rows[0][:] = row_of(b, b, out)
    gpu.driver.change_node(executable, nodes[0], launches[0])
    gpu.driver.launch_graph(executable, gpu.stream)
    assert end.copy_to_host().tolist() == [5] * 5
    gpu.driver.forget_graph(graph, [executable])


def test_a_node_of_a_graph_lies_as_in_cuda_h():
    begins = {name: getattr(KernelNode, name).offset for name, _ in KernelNode._fields_}

    assert ctypes.sizeof(KernelNode) == 72
    assert begins == {
        "function": 0, "grid_x": 8, "grid_y": 12, "grid_z": 16, "block_x": 20, "block_y": 24, "block_z": 28,
        "shared": 32, "parameters": 40, "extra": 48, "kernel": 56, "context": 64,
    }  # fmt: skip
