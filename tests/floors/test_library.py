"""Library: a package of its own brings a device and fourteen kernels, and a network is trained there."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import jt_edu as jt
from jt_edu import backends, library, nn
from jt_edu.library.by_name import FALLBACKS, KERNELS
from jt_edu.nn import functional
from jt_edu.runtime import devices
from tests.floors.runtime.far import Far

PACKAGE = Path(__file__).parent / "backends" / "npu_sim"
NAME = "npu_sim"


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    """The package, as an installer leaves it: on the path, and announced by the entry point in its pyproject.toml."""
    told = tmp_path / "npu_sim-0.1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: npu-sim\nVersion: 0.1\n")
    line = next(row for row in (PACKAGE / "pyproject.toml").read_text().splitlines() if row.startswith("npu_sim ="))
    (told / "entry_points.txt").write_text("[jt_edu.backends]\n" + line.replace('"', "") + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(PACKAGE))
    yield
    for known in (backends._loaded, KERNELS, FALLBACKS, sys.modules):
        known.pop(NAME, None)
    devices.ABROAD.discard(NAME)
    devices.forget_plans()


@pytest.fixture(scope="module")
def digits():
    """Images of handwritten digits, and a row of shares for each."""
    images, labels = load_digits(return_X_y=True)
    return (images[:128] / 16).astype("float32"), np.eye(10, dtype="float32")[labels[:128]]


def trained(digits, device, steps=8, optimizer=jt.optim.SGD, lr=0.5):
    """The losses of a training on a device."""
    jt.set_global_seed(0)
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).to(device)
    rule = optimizer(net.parameters(), lr=lr)
    x, y = (jt.array(a, device=device) for a in digits)
    losses = []
    for _ in range(steps):
        loss = functional.cross_entropy(net(x), y)
        rule.step(loss)
        losses.append(loss.item())
    assert {p.device for p in net.parameters()} == {device}
    return losses


def without(op):
    """The device, with one kernel less."""
    backends.get(NAME)
    del KERNELS[NAME][op]
    devices.forget_plans()


def test_a_package_with_fourteen_kernels_trains_a_network_with_the_losses_of_the_cpu(digits):
    with jt.trace() as t:
        losses = trained(digits, NAME)

    np.testing.assert_allclose(losses, trained(digits, "cpu"), rtol=1e-5)
    assert losses[-1] < losses[0] - 0.2
    assert len(KERNELS[NAME]) == 14
    assert {k.name for k in t.kernels if k.backend == NAME} <= KERNELS[NAME].keys()
    assert [c.target for c in t.copies] == [NAME] * 6  # four parameters, the images, the labels


def test_a_missing_kernel_is_an_error_that_names_the_operator_and_the_line(digits):
    without("exp")
    x = jt.array(digits[0], device=NAME)

    with pytest.raises(jt.BackendError, match=r"(?s)for add, .*; found exp, which has none.*# here"):
        x.exp().sync()  # here
    with pytest.raises(jt.BackendError, match="found exp"):
        trained(digits, NAME)


@pytest.mark.parametrize("op", ["matmul", "exp", "take", "sum"])
def test_with_a_fallback_the_cpu_does_it_and_the_trace_names_the_operator(digits, op):
    without(op)
    jt.library.Library("jt", "IMPL").fallback("cpu", NAME)

    with jt.trace() as t:
        losses = trained(digits, NAME, steps=3)

    np.testing.assert_allclose(losses, trained(digits, "cpu", steps=3), rtol=1e-5)
    assert {k.name for k in t.kernels if "(cpu)" in k.name} == {f"{op} (cpu)"}
    assert {(c.source, c.target) for c in t.copies} == {("cpu", NAME), (NAME, "cpu")}


def test_whole_optimizers_and_layers_run_with_a_fallback(digits):
    backends.get(NAME)
    library.Library("jt").fallback("cpu", NAME)

    found = trained(digits, NAME, steps=3, optimizer=jt.optim.Adam, lr=0.01)

    np.testing.assert_allclose(found, trained(digits, "cpu", steps=3, optimizer=jt.optim.Adam, lr=0.01), rtol=1e-5)


X = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x.transpose(0, 1) @ x,
        lambda x: jt.matmul(x.reshape(1, 3, 4), x.reshape(1, 3, 4).transpose(1, 2)),
        lambda x: x[x.argmax(1) * 0 + 1],
        lambda x: x[1:, ::2].sum((0, 1)),
        lambda x: nn.functional.pad(x, (1, 1), value=2.0),
        lambda x: x.half().float().bfloat16().float(),
        lambda x: jt.conv2d(x.reshape(1, 1, 3, 4), x[:2, :2].reshape(1, 1, 2, 2)),
        lambda x: jt.concat([x, x + 1], 0).cumsum(0),
        lambda x: x.sort(1)[0],
        lambda x: x[x > 0],
        lambda x: jt.arange(4) * x,
        lambda x: jt.zeros((3, 4)).scatter(0, jt.array([[0, 1, 2, 0]]), x[:1]) + x,
        lambda x: x.prod(0) + x.min(0),
        lambda x: functional.dropout(x, 0.5),
        lambda x: x.reshape(4, 3).reshape(12) * 1,
        lambda x: (jt.full((2, 2), 3.0) * x[0, 0]).reshape(4),
    ],
)
def test_whatever_has_no_kernel_gives_the_same_numbers(work):
    backends.get(NAME)
    library.Library("jt").fallback("cpu", NAME)

    jt.set_global_seed(1)
    found = work(jt.array(X, device=NAME)).numpy()
    jt.set_global_seed(1)
    np.testing.assert_allclose(found, work(jt.array(X)).numpy(), rtol=1e-5)


def test_a_scatter_is_the_kernel_put():
    def put(out, x, positions, reducer, start):
        assert reducer == "add" and start == 0
        out.cells[...] = 0
        np.add.at(out.cells.reshape(-1), positions.cells, x.cells)

    x, rows = jt.array(X, device=NAME), jt.array([0, 0, 2], device=NAME)
    library.Library("jt").impl("put", put, NAME)

    dx = jt.grad(x[rows].sum(), x)

    np.testing.assert_array_equal(dx.numpy(), np.array([[2.0] * 4, [0] * 4, [1] * 4]))


def test_index_arrays_are_looked_into_in_each_run_and_count_from_the_end():
    x = jt.array(X, device=NAME)

    for rows in ([0, 1], [2, 2], [-1, 0], [-3, -2]):
        np.testing.assert_array_equal((x[jt.array(rows, device=NAME)] * 1).numpy(), X[rows])


def test_an_index_outside_is_refused():
    x = jt.array(X, device=NAME)

    with pytest.raises(jt.RangeError, match="7"):
        x[jt.array([0, 6], device=NAME) + jt.array([1, 1], device=NAME)].sync()


def test_a_package_for_another_version_is_refused_with_both_versions():
    with pytest.raises(jt.BackendError, match=r"version 1 of the interface here; found old, which .* for version 0"):
        library.register_backend("old", None, None, interface=0)
    backends._loaded.pop("old", None)


def test_a_device_of_ones_own_making_states_its_version_too():
    other = Far("other")
    other.interface = 7
    backends.register(other)
    try:
        with pytest.raises(jt.BackendError, match="found other, which was written for version 7"):
            jt.array(X).to("other")
    finally:
        backends._loaded.pop("other")


def test_texts_of_loops_are_refused():
    with pytest.raises(jt.BackendError, match="no compiler"):
        backends.get(NAME).compile(None)


# operators of one's own


@pytest.fixture
def mine():
    yield library.Library("mine", "DEF")
    for known in KERNELS.values():
        for name in [n for n in known if n.startswith("mine::")]:
            del known[name]


def test_an_operator_of_ones_own_runs_on_both_devices(mine):
    rows = mine.define("row_sums", shape=lambda x: x.shape[:1])
    mine.impl("row_sums", lambda x: x.sum(1), "cpu")
    mine.impl("row_sums", lambda out, dout, x: dout.unsqueeze(1).expand_as(x), "autograd")
    far = jt.array(X, device=NAME)
    np.testing.assert_allclose(rows(jt.array(X)).numpy(), X.sum(1), rtol=1e-5)
    with jt.trace() as t:
        np.testing.assert_allclose(rows(far).numpy(), X.sum(1), rtol=1e-5)
    assert [c.target for c in t.copies] == ["cpu", NAME]  # its kernel is one of the CPU

    @mine.impl("row_sums", key=NAME)
    def row_sums(out, x):
        out.cells[...] = x.cells.sum(1)

    with jt.trace() as t:
        np.testing.assert_allclose((rows(far) * 1).numpy(), X.sum(1), rtol=1e-5)
    assert not t.copies and "mine::row_sums" in {k.name for k in t.kernels}
    assert jt.grad(rows(far).sum(), far).tolist() == np.ones((3, 4)).tolist()


def test_an_operator_without_a_kernel_says_so(mine):
    alone = mine.define("alone")

    with pytest.raises(jt.BackendError, match="mine::alone is computed by its kernel for cpu; found none"):
        alone(jt.array(X)).sync()
    mine.impl("alone", lambda x: x, "cpu")
    x = jt.array(X)
    with pytest.raises(jt.BackendError, match="kernel for autograd; found none"):
        jt.grad(alone(x).sum(), x)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: library.Library("mine", "FRAGMENT"), "IMPL"),
        (lambda: library.Library("jt", "DEF"), "jt's own"),
        (lambda: library.Library("mine").define("x"), "kind IMPL"),
        (lambda: library.Library("mine", "DEF").impl("nothing", len, "cpu"), "nothing"),
        (lambda: library.Library("jt").impl("add", np.add, "cpu"), "already"),
        (lambda: library.Library("jt").fallback("moon", NAME), "moon"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, words):
    with pytest.raises(jt.ArgumentError, match=words):
        ask()


def test_a_name_is_defined_once(mine):
    mine.define("once")

    with pytest.raises(jt.ArgumentError, match="mine::once, which is defined"):
        mine.define("once")
