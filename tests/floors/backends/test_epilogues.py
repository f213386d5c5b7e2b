"""An algorithm is compiled once; what is joined to it is compiled apart and called by address."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends, nn
from jt_edu.backends.convolve import Sizes, text_of
from jt_edu.backends.convolve.selection import algorithms, candidates
from jt_edu.backends.convolve.standalone import Alone
from tests.house.plan import ROOT

COUNT = """
import json
import numpy as np
import jt_edu as jt
from jt_edu.backends import numba_pipeline as lean, epilogues as tails

made = {"algorithms": 0, "tails": 0}

def counted(name, build):
    def count(function, *rest, **more):
        made[name] += name == "tails" or "finish" in function.__code__.co_names
        return build(function, *rest, **more)
    return count

lean.build, tails.build = counted("algorithms", lean.build), counted("tails", tails.build)
rng = np.random.default_rng(0)
x, w, b = (jt.array(rng.standard_normal(s).astype("float32")) for s in ((2, 3, 6, 6), (4, 3, 3, 3), (4,)))
jt.backends.conv.workspace_limit = 0  # one algorithm for all
answers, counts = [], []
with jt.no_grad():
    for follow in (lambda y: y, lambda y: y.relu(), lambda y: (y * 2).sigmoid()):
        answers.append(float(follow(jt.conv2d(x, w, b)).numpy().sum(dtype="float64")))
        counts.append(dict(made))
print(json.dumps([counts, answers]))
"""


def run(home):
    """What a process of its own compiled, after each of three networks, and what they answered."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=ROOT, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), "JT_EDU_CACHE": str(home), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_new_tail_compiles_no_algorithm_and_the_next_process_compiles_nothing(tmp_path):
    first, answers = run(tmp_path)
    again, same = run(tmp_path)

    assert [c["algorithms"] for c in first] == [1, 1, 1]
    assert [c["tails"] for c in first] == [1, 2, 3]  # the bias alone is a tail as well
    assert [(c["algorithms"], c["tails"]) for c in again] == [(0, 0)] * 3
    assert same == answers


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_a_tail_may_read_numbers_flags_and_arrays_of_any_dtype(dtype, backend):
    rng = np.random.default_rng(1)
    x, w, add = (rng.standard_normal(s).astype(dtype) for s in ((2, 3, 5, 5), (4, 3, 2, 2), (2, 4, 4, 4)))
    flag, count, half = rng.random((4, 1, 1)) < 0.5, rng.integers(-3, 3, (2, 4, 4, 4)), np.float16(1.5)

    def follow(y):
        y = jt.where(jt.array(flag).broadcast(y.shape), y * 0.25, y - jt.array(add))
        return y + jt.array(count).cast(dtype) * jt.array(np.full((4, 1, 1), half)).cast(dtype)

    with jt.flag_scope(backend=backend), jt.no_grad(), jt.trace() as t:
        got = follow(jt.conv2d(jt.array(x), jt.array(w))).numpy()
    sums = jt.conv2d(jt.array(x), jt.array(w)).numpy()

    assert t.kernels[-1].kind == "convolution"
    expected = np.where(flag, sums * sums.dtype.type(0.25), sums - add) + count.astype(dtype) * dtype_of(dtype, half)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def dtype_of(dtype, number):
    """A number in a dtype."""
    return np.dtype(dtype).type(number)


def test_threads_share_one_tail(monkeypatch):
    rng = np.random.default_rng(2)
    x, w = (jt.array(rng.standard_normal(s).astype("float32")) for s in ((4, 16, 40, 40), (32, 16, 3, 3)))
    before = jt.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            jt.set_num_threads(count)
            with jt.no_grad():
                found.append((jt.conv2d(x, w, padding=1) * 0.5).relu().numpy())
    finally:
        jt.set_num_threads(before)

    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def convolved():
    """A convolution with something joined to it, and one without."""
    rng = np.random.default_rng(3)
    x, w = (jt.array(rng.standard_normal(s).astype("float32")) for s in ((2, 3, 6, 6), (4, 3, 3, 3)))
    return (jt.conv2d(x, w) * 0.5).relu(), jt.conv2d(x, w)


def test_the_file_beside_a_convolution_holds_the_text_that_is_shown():
    with jt.flag_scope(backend="numba"), jt.no_grad(), jt.trace() as t:
        for y in convolved():
            y.numpy()

    run = [k for k in t.kernels if k.kind == "convolution"]
    assert len({k.source for k in run}) == 2
    assert [Path(k.path).read_text("utf-8") for k in run] == [k.source for k in run]


def test_the_algorithm_that_is_timed_is_the_one_that_a_plan_runs(monkeypatch):
    numba, asked = backends.get("numba"), []
    compile_ = numba.compile
    monkeypatch.setattr(numba, "compile", lambda source: asked.append(source.key) or compile_(source))
    x, w = jt.array(np.ones((2, 3, 7, 7), "float32")), jt.array(np.ones((4, 3, 3, 3), "float32"))
    with jt.flag_scope(backend="numba"), jt.no_grad(), jt.trace() as t:
        jt.conv2d(x, w).tanh().numpy()  # a plan that nobody made before
    sizes = Sizes("forward", 2, 3, 4, 1, (1, 7, 7), (1, 3, 3), (1, 5, 5), (1, 1, 1), (0, 0, 0), (1, 1, 1))
    algorithm = next(a for a in candidates(sizes) if a.name == t.kernels[-1].algorithm)
    in_plan = set(asked)
    asked.clear()

    Alone(algorithm, sizes, numba)

    assert asked and set(asked) <= in_plan


def test_an_algorithm_that_takes_a_tail_has_a_place_for_it():
    assert {a.kernel for a in algorithms() if a.takes_tail} == {
        a.kernel for a in algorithms() if "def finish(" in text_of(a.kernel)
    }


@pytest.mark.parametrize("side", [1, 5])  # pixels; a single one is read outside of the loop
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_tail_reads_and_writes_one_view_of_the_sums(rng, side, groups):
    """LLVM takes two views of one memory for arrays that overlap, and does one number at a time."""
    x, w, b = (jt.array(rng.standard_normal(s)) for s in ((1, 4, side, side), (4, 4 // groups, 3, 3), (4,)))
    with jt.trace() as t:
        y = nn.silu(jt.conv2d(x, w, b, padding=1, groups=groups)).numpy()

    (kernel,) = [k for k in t.kernels if "def finish" in k.source]
    assert side == 1 or "out1" not in kernel.source

    plain = jt.conv2d(x, w, None, padding=1, groups=groups).numpy() + b.numpy()[:, None, None]
    np.testing.assert_allclose(y, plain / (1 + np.exp(-plain)), rtol=1e-12)
