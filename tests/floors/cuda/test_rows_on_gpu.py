"""Rows that threads of a GPU sort and scan: a CPU's answers, on the device, with no race."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ops import gpu_rows
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.sort import BEFORE
from tests.gpu.conftest import card, gpu  # noqa: F401 - fixtures


def drawn(*shape):
    """Few different numbers, and some that are none: what is equal has to stay in order."""
    x = np.random.default_rng(shape).integers(-4, 4, shape).astype("float32")
    x[..., 3::11] = np.nan
    return x


SHORT, LONG, MASK = drawn(3, 40), drawn(2, 150), drawn(1500) > 1
WORK = {
    "positions": lambda: [jt.argsort(SHORT), jt.argsort(SHORT, descending=True), jt.argsort(LONG)],
    "numbers of long rows": lambda: [jt.msort(jt.array(drawn(260, 1)))],
    "few of many": lambda: [*jt.topk(SHORT, 3), *jt.topk(LONG, 40, largest=False)],
    "bools and bytes": lambda: [jt.argsort(SHORT > 1), jt.argsort((SHORT > 1).astype("uint8"))],
    "nothing": lambda: [jt.argsort(SHORT[:, :0]), jt.cumsum(SHORT[:0], 1), jt.nonzero(jt.array(SHORT[:0]))],
    "sums": lambda: [jt.cumsum(LONG, 1), jt.cumsum(SHORT > 1, 0), jt.cumprod(LONG + 3j, 1)],
    "best so far": lambda: [*jt.cummax(SHORT, 1), *jt.cummin(LONG, 1)],
    "recurrence": lambda: [jt.linear_recurrence(SHORT / 9, SHORT), jt.logcumsumexp(LONG, 1)],
    "what is there": lambda: [jt.nonzero(jt.array(MASK)), jt.unique(jt.array(LONG), return_counts=True)[1]],
    "repeated": lambda: [jt.repeat_interleave(jt.arange(5), jt.array([3, 0, 2, 1, 40]))],
    "searched": lambda: [jt.searchsorted(jt.array(np.sort(LONG)), jt.array(drawn(2, 7)))],
}


@pytest.mark.parametrize("name", WORK)
def test_the_answers_are_a_cpus(name):
    expected = [v.numpy() for v in WORK[name]()]

    with jt.flag_scope(backend="cudasim"), jt.trace() as trace:
        found = [v.numpy() for v in WORK[name]()]

    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    assert not [k.name for k in trace.kernels if "@cuda.jit" not in k.source]


@pytest.mark.parametrize("length", [31, 32, 33, 64, 150])
def test_tiles_of_a_row_grow_together(monkeypatch, length):
    monkeypatch.setattr(gpu_rows, "TILE", 32)
    x = drawn(2, length)
    op = kernel("sorted", "def kernel(lo, hi, x, out): ...", threads=gpu_rows.sort(BEFORE[False]))

    with jt.flag_scope(backend="cudasim"):
        found = op(jt.array(x), shape=x.shape, dtype="int64", span=2).numpy()

    np.testing.assert_array_equal(found, np.argsort(x, 1, kind="stable"))


@pytest.mark.parametrize("length", [1, 1024, 2047, 2500])
def test_parts_of_a_row_are_scanned_together(length):
    x = np.random.default_rng(length).integers(-9, 9, (1, length))

    with jt.flag_scope(backend="cudasim"):
        found = jt.cumsum(jt.array(x), 1).numpy()

    np.testing.assert_array_equal(found, np.cumsum(x, 1))


def test_nothing_of_it_goes_to_a_cpu_in_between(gpu):  # noqa: F811
    with jt.flag_scope(backend="cuda"):
        x = jt.array(SHORT).sync()
        found = [jt.argsort(x), jt.cumsum(x, 1), jt.searchsorted(x, x), jt.cdist(x, x), jt.view(x, "int32")]
        jt.sync_all()
        assert "cuMemcpyDtoHAsync_v2" not in gpu.calls
        assert [v.node.data.device for v in found] == ["cuda"] * 5
    np.testing.assert_array_equal(found[0].numpy(), jt.argsort(SHORT).numpy())
    np.testing.assert_array_equal(found[4].numpy(), SHORT.view("int32"))


def test_a_barrier_that_is_missing_is_told():
    """The search can fail."""
    text = gpu_rows.sort("a < b").replace("        cuda.syncthreads()\n        width *= 2", "        width *= 2")
    op = kernel("broken", "def kernel(lo, hi, x, out): ...", threads=text)

    with jt.flag_scope(backend="cudasim"), pytest.raises(jt.KernelError, match="race"):
        op(jt.array(SHORT), shape=SHORT.shape, dtype="int64", span=3).sync()
