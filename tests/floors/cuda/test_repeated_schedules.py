"""Plans that are run again, with launches of each kind: with graphs and without the same numbers, and a CPU's."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.cuda import contraction
from jt_edu.runtime.devices import forget_plans
from tests.floors.cuda.test_repeated_plan import LAUNCH, numbers

RUNS = 5  # the last two as graphs


@pytest.fixture(autouse=True)
def tiles_of_small_products(monkeypatch):
    """To interpret large ones takes seconds."""
    monkeypatch.setattr(contraction, "WORTH", 200)
    monkeypatch.setattr(contraction, "LEAST", 17)  # more than there are in the sums of convolutions below
    forget_plans()
    yield
    monkeypatch.undo()
    forget_plans()


def sorted_columns(x):
    """A sort has a text of its own, which makes memory as it runs: the plan is cut there."""
    order = jt.argsort((x * 2 + 1).sum(0) / 3)
    return [order, jt.nn.softmax(x[:, order], 1).sum(0) * 3]


def gradients_of_a_convolution(x):
    """Both are products: what would be added into the image is gathered. Asked for singly, they are two for each."""
    image, weights = x.reshape(1, 2, 4, 4), jt.array(numbers(3, 2, 3, 3))
    return jt.grad((jt.nn.conv2d(image, weights, padding=1) ** 2).sum(), [image, weights])


def sums_of_columns(x):
    return [x.sum(0) * 2, (x * x).max(0), x.transpose(1, 0) * 2]


def put_by_number(x):
    y = x * 2
    y[jt.array([1, 0, 1])] = x[:3]
    return [y, (y + 1).sum(0)]


def shown(graph, shape, compiled, **settings):
    """The numbers of some runs on arrays of their own, and the texts of a GPU that one of them had."""
    step, texts = (jt.compile(graph) if compiled else graph), ""
    with jt.flag_scope(**settings):
        found = [[y.numpy() for y in step(jt.array(numbers(*shape, seed=k)))] for k in range(RUNS)]
        if "cuda_graphs" not in settings:
            with jt.trace() as trace:
                [y.numpy() for y in graph(jt.array(numbers(*shape)))]
            texts = "".join(k.source for k in trace.kernels)
    return found, texts


CASES = {
    "a sort": (sorted_columns, (40, 8), ["def merged", "def each"], False),
    "a convolution's gradients in tiles": (gradients_of_a_convolution, (4, 8), ["def tiles"] * 4, False),
    "a convolution's gradients on tensor cores": (gradients_of_a_convolution, (4, 8), ["cuda.mma_tf32("] * 4, True),
    "a sum that two blocks share": (
        lambda x: [jt.nn.relu(x.transpose(1, 0) @ x)],
        (40, 8),
        ["def tiles", "def ends"],
        False,
    ),
    "sums of columns, and what is turned": (
        sums_of_columns,
        (40, 33),
        ["def columns", "def ends", "def turned"],
        False,
    ),
    "the last one that goes to a place": (put_by_number, (40, 8), ["def winners", "def scatter"], False),
}


@pytest.mark.parametrize(
    ("name", "compiled"),
    [*((name, True) for name in CASES), ("a sort", False), ("the last one that goes to a place", False)],
)
def test_with_graphs_and_without_a_plan_gives_the_same_numbers(gpu, name, compiled):
    graph, shape, words, rough = CASES[name]
    expected, _ = shown(graph, shape, compiled)

    with jt.backends.conv.flags(allow_tf32=rough):
        plain, _ = shown(graph, shape, compiled, use_cuda=1, cuda_graphs=False)
        assert LAUNCH not in gpu.calls
        found, texts = shown(graph, shape, compiled, use_cuda=1)

    assert gpu.calls.count(LAUNCH) >= RUNS - 3
    assert [word for word in words if texts.count(word) < words.count(word)] == []
    for run, other, wanted in zip(found, plain, expected, strict=True):
        for ours, theirs, right in zip(run, other, wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_allclose(ours, right, rtol=1e-4, atol=2e-3 * np.abs(right).max() if rough else 1e-4)


def test_precision_of_products_does_not_ask_for_a_convolutions_gradient(gpu):
    """In its kernel stands a sum that is no window any more; what it is in the graph decides."""
    jt.set_float32_matmul_precision("high")
    try:
        _, texts = shown(gradients_of_a_convolution, (4, 8), False, use_cuda=1)
    finally:
        jt.set_float32_matmul_precision("highest")

    assert "def tiles" in texts
    assert "cuda.mma" not in texts


def test_two_launches_of_one_kernel_are_a_graph_and_an_explanation_says_so(gpu):
    jt.flags.use_cuda = 1
    told = jt.explain(jt.array(numbers(40, 8)).sum(0)).text

    assert "After 3 runs all kernels are launched at once, as a CUDA graph" in told
