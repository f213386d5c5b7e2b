"""Native and entry: machine code is called without numba, and refuses what it cannot take."""

import json
import os
import subprocess
import sys
import traceback

import numba
import numpy as np
import pytest

from jt_edu.backends import code_loader, numba_pipeline
from jt_edu.backends.numba_cpu import NumbaBackend
from jt_edu.codegen.emit_python import Parameter, Source
from tests.house.plan import ROOT

KINDS = (numba.int64, numba.int64)


def both(kernel, *kinds):
    """The kernel as it was compiled, and as another process would load it."""
    call, frozen = numba_pipeline.build(kernel, numba.void(*KINDS, *kinds))
    return call, code_loader.thaw(frozen)


def copied(lo, hi, x, n, out):
    for i in range(lo, hi):
        out[i] = x[i] * n


NUMBERS = [
    ("int8", -3), ("int16", np.int16(300)), ("int32", -(2**31)), ("int64", -(2**63)), ("uint8", 255),
    ("uint16", np.uint16(2**16 - 1)), ("uint64", 2**64 - 1), ("float32", 0.1), ("float64", np.float64(1e300)),
    ("float64", np.array(-2.5)), ("float32", 3), ("complex64", 1 - 2j), ("complex128", np.complex64(3 + 4j)),
    ("complex128", np.array(1j)), ("complex64", 2.0), ("bool", True), ("bool", np.False_),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "number"), NUMBERS)
def test_a_kernel_takes_any_number_that_python_or_numpy_may_hold(dtype, number):
    kind = numba.from_dtype(np.dtype(dtype))

    def kernel(lo, hi, n, out):
        out[0] = n

    for call in both(kernel, kind, kind[::1]):
        out = np.zeros(1, dtype)
        call(0, 1, number, out)
        assert out[0] == np.asarray(number).astype(dtype)


@pytest.mark.parametrize("rank", range(6))
def test_a_kernel_sees_the_shape_of_arrays_of_any_rank_and_takes_subclasses(rank):
    x = np.zeros(tuple(range(2, 2 + rank)), np.float32).view(np.recarray)

    def kernel(lo, hi, x, out):
        out[0] = x.size
        for k in range(x.ndim):
            out[1 + k] = x.shape[k]

    for call in both(kernel, numba.types.Array(numba.float32, rank, "C"), numba.int64[::1]):
        out = np.zeros(7, np.int64)
        call(0, 1, x, out)
        assert out.tolist() == [x.size, *x.shape, *[0] * (6 - rank)]


WRONG = {
    "too few": lambda x, out: (0, 3, x),
    "too many": lambda x, out: (0, 3, x, 2.0, out, out),
    "a list": lambda x, out: (0, 3, x.tolist(), 2.0, out),
    "another rank": lambda x, out: (0, 3, x.reshape(3, 1), 2.0, out),
    "another size of numbers": lambda x, out: (0, 3, x.astype("float32"), 2.0, out),
    "a word": lambda x, out: (0, 3, x, "two", out),
    "None": lambda x, out: (0, 3, x, 2.0, None),
}


@pytest.mark.parametrize("how", WRONG)
def test_what_is_no_argument_of_its_kind_is_an_error_and_nothing_is_written(how):
    x, out = np.arange(3.0), np.full(3, 7.0)
    for call in both(copied, numba.float64[::1], numba.float64, numba.float64[::1]):
        with pytest.raises(TypeError):
            call(*WRONG[how](x, out))

        assert out.tolist() == [7.0, 7.0, 7.0]
        call(0, 3, x, 2.0, out)  # and it works as before
        assert out.tolist() == [0.0, 2.0, 4.0]
        out[:] = 7.0


def test_an_error_tells_numbers_that_were_not_known_before():
    text = "def kernel(lo, hi, x):\n    if hi > 3:\n        raise ValueError('too far', hi)\n    x[0] = 1\n"
    source = Source(text, (Parameter("x", "float64", 1),))

    for _ in range(2):  # the second time from the disk
        program = NumbaBackend().compile(source)
        with pytest.raises(ValueError, match="too far") as caught:
            program.call(0, 4, np.zeros(1))
        assert caught.value.args == ("too far", 4)
        assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == 3


def test_a_kernel_that_lives_on_the_disk_may_print(capfd):
    def kernel(lo, hi, x):
        print("rows", hi)

    for call in both(kernel, numba.float64[::1]):
        call(0, 5, np.zeros(1))

    sys.stdout.flush()
    assert capfd.readouterr().out == "rows 5\n" * 2


def test_references_are_neither_kept_nor_lost():
    x, out, number = np.arange(3.0), np.zeros(3), np.float64(2.5)
    things = (x, out, number, None)
    for call in both(copied, numba.float64[::1], numba.float64, numba.float64[::1]):
        before = [sys.getrefcount(thing) for thing in things]
        for _ in range(1000):
            call(0, 3, x, number, out)
        assert all(abs(sys.getrefcount(a) - b) < 100 for a, b in zip(things, before, strict=True))


def test_a_complex_number_leaves_nothing_behind():
    def kernel(lo, hi, z, out):
        out[0] = z

    for call in both(kernel, numba.complex128, numba.complex128[::1]):
        out, number = np.zeros(1, complex), 1e300 + 2e300j
        before = sys.getallocatedblocks()
        for _ in range(10_000):
            call(0, 1, number, out)
        assert sys.getallocatedblocks() - before < 5_000


WARM = """
import json, sys
import numpy as np
import jt_edu as jt
from jt_edu import nn, optim
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for k, p in enumerate(net.parameters()):
    p.update(jt.array(np.linspace(-1, 1 + k, p.numel(), dtype="float32").reshape(p.shape)))
jt.set_num_threads(1)
loss = nn.cross_entropy_loss(net(jt.array(np.ones((5, 4), "float32"))), jt.array([0, 1, 2, 0, 1]))
optim.SGD(net.parameters(), lr=0.1).step(loss)
print(json.dumps([loss.item(), "numba" in sys.modules, "scipy.linalg" in sys.modules]))
import scipy.linalg
from scipy.linalg import cython_blas
assert scipy.linalg.cython_blas is cython_blas and abs(scipy.linalg.det([[2.0, 0.0], [0.0, 3.0]]) - 6) < 1e-9
"""


def test_where_all_kernels_are_on_the_disk_a_step_of_training_imports_neither_numba_nor_half_of_scipy(tmp_path):
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", WARM], cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
            env={**os.environ, "JT_EDU_CACHE": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.append(json.loads(done.stdout))

    (cold, compiles, _), (warm, *guests) = said
    assert compiles and guests == [False, False]
    assert warm == cold


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc to overwrite memory that is given back")
def test_a_kernel_that_outlives_its_module_does_no_harm_at_the_exit():
    code = (
        "import sys, jt_edu as jt; sys.kept = jt.compile(lambda x: (x + 1).sum()); print(sys.kept(jt.ones(5)).item())"
    )
    surroundings = {**os.environ, "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "2"}

    done = subprocess.run([sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "10.0\n"), done.stderr
