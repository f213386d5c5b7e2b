"""Nobody else does the work: kernels compute, NumPy only holds the numbers, and PyTorch is not even there.

While a training step runs, NumPy's arithmetic is taken away: its functions raise. What kernels are made of was compiled
before and does not notice. What the core does with NumPy (counting bytes, checking index arrays) is not arithmetic on
the learner's numbers, and has its exceptions in the list below.
"""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt

ROOT = Path(__file__).resolve().parents[2]

FORBIDDEN = (
    "absolute add arccos arcsin arctan cos cosh divide dot einsum exp expm1 floor fmax fmin inner log log1p log2 "
    "logaddexp matmul mean multiply negative outer power reciprocal rint sign sin sinh sqrt square std subtract sum "
    "tan tanh tensordot true_divide trunc var vdot where clip convolve correlate cumsum maximum minimum amax amin "
    "argmax argmin sort argsort take take_along_axis put_along_axis pad concatenate stack tile repeat roll linspace"
).split()

# who may be called besides arithmetic, and for what: products of matrices
ALLOWED = {"matmul": ("BLAS",)}


class TakenAwayError(AssertionError):
    """NumPy was asked to compute."""


def batch():
    rng = np.random.default_rng(0)
    return rng.normal(size=(4, 1, 8, 8)).astype(np.float32), np.array([0, 2, 1, 2])


def parameters():
    rng = np.random.default_rng(1)
    shapes = ((3, 1, 3, 3), (3,), (48, 6), (6,), (6, 3), (3,))
    return [jt.array(rng.normal(size=s).astype(np.float32) * 0.3) for s in shapes]


def step(weights, images, labels):
    """One step of training: convolution, pooling, two layers, softmax, all gradients, and gradient descent."""
    k, kb, w1, b1, w2, b2 = weights
    x = jt.relu(jt.conv2d(images, k, kb, padding=1))
    x = jt.max_pool2d(x, 2).reshape(images.shape[0], -1)
    x = jt.tanh(x @ w1 + b1)
    scores = jt.softmax(x @ w2 + b2)
    loss = -(scores.log() * jt.one_hot(labels, 3)).sum() / float(images.shape[0])
    grads = jt.grad(loss, weights)
    for w, g in zip(weights, grads, strict=True):
        w.update(w - g * 0.1)
    jt.sync([loss, *weights])
    return loss


@contextmanager
def without_numpy():
    """Take NumPy's arithmetic away."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FORBIDDEN:

            def refuse(*_, name=name, **__):
                raise TakenAwayError(f"np.{name} was asked to compute")

            patch.setattr(np, name, refuse)
        yield


def test_a_training_step_runs_when_numpy_can_no_longer_compute():
    images, labels = batch()
    weights, x, t = parameters(), jt.array(images), jt.array(labels)
    before = [step(weights, x, t) for _ in range(3)]  # numba asks NumPy while it compiles: do that now
    expected = before[0].item()
    weights = parameters()

    with without_numpy():
        with pytest.raises(TakenAwayError):
            np.add(1, 1)
        losses = [step(weights, x, t) for _ in range(3)]

    first, second, third = (loss.item() for loss in losses)
    assert first == pytest.approx(expected, rel=1e-5)
    assert third < second < first


def test_every_node_that_was_computed_stands_in_the_source_of_a_kernel():
    images, labels = batch()
    weights, x, t = parameters(), jt.array(images), jt.array(labels)

    with jt.trace() as trace:
        step(weights, x, t)

    computed = {n for k in trace.kernels for n in k.nodes}
    views = {
        "broadcast",
        "reshape",
        "permute",
        "window",
        "taps",
        "getitem",
        "detach",
        "gather",
        "inverse",
        "scatter",
        "number",
        "index",
    }
    by_library = {n for k in trace.kernels if k.calls == ("BLAS",) or k.kind == "convolution" for n in k.nodes}
    products = {i for b in trace.built if b.id in by_library for i in b.inputs}  # the product in a sum of products
    missing = [b for b in trace.built if b.id not in computed | products and b.op not in views and b.kind != "reindex"]
    assert not missing
    for k in trace.kernels:
        assert "def kernel(" in k.source
        assert k.backend == "numba"


def test_whoever_calls_a_library_is_on_the_list():
    images, labels = batch()
    weights, x, t = parameters(), jt.array(images), jt.array(labels)

    with jt.trace() as trace:
        step(weights, x, t)
        jt.randperm(5).sync()

    ops = {b.id: b.op for b in trace.built}
    calls = [(k.calls, [ops.get(n, "?") for n in k.nodes]) for k in trace.kernels if k.calls]
    print("calls:", *calls, sep="\n  ")
    for called, nodes in calls:
        assert called in {ALLOWED.get(op) for op in nodes} | ({("BLAS",)} if "scatter" in nodes else set())
    assert any(called == ("BLAS",) for called, _ in calls)
    used = {name for k in trace.kernels if not k.calls for name in re.findall(r"np\.(\w+)", k.source)}
    assert used <= {"empty", "int64"}  # room for positions, not arithmetic


def test_kernels_import_nothing_but_our_own_functions():
    images, labels = batch()

    with jt.trace() as trace:
        step(parameters(), jt.array(images), jt.array(labels))

    imports = {
        line.split()[1]
        for k in trace.kernels
        if not k.calls
        for line in k.source.splitlines()
        if line.startswith(("import", "from"))
    }
    ours = ("jt_edu.backends.mathlib", "jt_edu.backends.convolve.")  # what algorithms for convolutions are made of
    assert imports
    assert all(name.startswith(ours) for name in imports), imports


FRESH = """
import sys
import jt_edu as jt
x = jt.array([[1.0, 2.0], [3.0, 4.0]])
with jt.flag_scope(backend="python"):
    jt.grad(jt.softmax(x @ x).log().sum(), x).numpy()
strangers = {"torch", "tensorflow", "jax", "jittor", "cupy", "sklearn", "autograd", "tinygrad"}
print(sorted(m for m in sys.modules if m.split(".")[0] in strangers))
"""


def test_no_other_framework_is_loaded():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.stderr == ""
    assert done.stdout.strip() == "[]"
