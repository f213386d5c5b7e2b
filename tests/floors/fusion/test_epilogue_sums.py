"""Sums over what a convolution writes, such as batch norm's statistics, are added up while it writes."""

import numpy as np
import pytest
import torch

import jt_edu as jt
from jt_edu import backends
from jt_edu.backends.convolve import Sizes, standalone, text_of
from jt_edu.backends.convolve.selection import algorithms
from jt_edu.backends.convolve.standalone import given_to, parameters, shapes_of
from jt_edu.base.context import rank_context
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.runtime import conv_step

SEED = 2611
RNG = np.random.default_rng(SEED)


def image_and_weights(n=3, c=4, o=5, size=(9, 9), taps=(3, 3), groups=1):
    shapes = (n, c, *size), (o, c // groups, *taps)
    return tuple(jt.array(RNG.standard_normal(s).astype("float32")) for s in shapes)


def moments(y):
    """What mean and variance of each channel are made of."""
    wide, axes = y.double(), (0, *range(2, y.ndim))
    return wide.sum(axes), (wide * wide).sum(axes)


def expected(y):
    wide, axes = y.astype("float64"), (0, *range(2, y.ndim))
    return wide.sum(axes), (wide * wide).sum(axes)


def ran(wanted):
    """The arrays of some Vars that are computed together, and the kernels that did it."""
    with jt.trace() as t:
        jt.sync(wanted)
    return [v.numpy() for v in wanted], t.kernels


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_both_sums_of_a_batch_norm_are_made_in_the_kernel_of_its_convolution(backend):
    x, w = image_and_weights()
    with jt.flag_scope(backend=backend):
        (total, squares), kernels = ran(moments(jt.conv2d(x, w, padding=1)))
        y = jt.conv2d(x, w, padding=1).numpy()

    assert [k.kind for k in kernels] == ["convolution"]
    np.testing.assert_allclose(total, expected(y)[0], rtol=1e-12)
    np.testing.assert_allclose(squares, expected(y)[1], rtol=1e-12)


def test_a_training_batch_norm_reads_the_output_of_its_convolution_once():
    x, w = image_and_weights(o=8)
    norm = jt.nn.BatchNorm(8)
    (out,), kernels = ran([norm(jt.conv2d(x, w, padding=1)).relu()])
    (conv,) = (k for k in kernels if k.kind == "convolution")
    readers = [k for k in kernels if set(k.reads) & {conv.stored[0]}]

    assert "finish(" in conv.source and "acc1[o, at(call)]" in conv.source
    assert len(readers) == 1
    module = torch.nn.BatchNorm2d(8)
    there = module(torch.nn.functional.conv2d(torch.tensor(x.numpy()), torch.tensor(w.numpy()), padding=1)).relu()
    np.testing.assert_allclose(out, there.detach().numpy(), atol=2e-6)
    np.testing.assert_allclose(norm.running_mean.numpy(), module.running_mean.numpy(), atol=1e-6)
    np.testing.assert_allclose(norm.running_var.numpy(), module.running_var.numpy(), rtol=1e-5)


def forward(n, c, o, image, taps, groups=1):
    """Sizes with as many places as pixels."""
    padding = (0, taps // 2, taps // 2)
    image, kernel, ones = (1, *image), (1, taps, taps), (1, 1, 1)
    return Sizes("forward", n, c, o, groups, image, kernel, image, ones, padding, ones)


CASES = {
    "direct": forward(3, 2, 3, (11, 9), 3),
    "panels": forward(5, 2, 7, (13, 17), 3),  # panels end inside of images, and begin there
    "pointwise": forward(3, 4, 13, (33, 31), 1),  # two panels for an image
    "depthwise": forward(2, 3, 3, (90, 100), 3, groups=3),  # two strips
    "shifted": forward(2, 3, 7, (61, 50), 5),  # four strips
    "lanewise": forward(3, 17, 17, (9, 8), 3, groups=17),
    "winograd2": forward(2, 16, 16, (9, 11), 3),
    "winograd4": forward(3, 16, 17, (10, 9), 3),
    "fourier": forward(2, 2, 3, (30, 75), 7),  # three tiles in a row
}


NOTES = """def finish(n, o, begin, end, out, seen):
    k = 4 * seen[0] + 1
    seen[0] += 1
    seen[k], seen[k + 1], seen[k + 2], seen[k + 3] = n, o, begin, end
"""


def calls_of(algorithm, sizes):
    """(image, channel, begin, end) of each call of `finish`, as an algorithm makes them on one thread."""
    count = sizes.n * sizes.o * (np.prod(sizes.places) + 1)
    head = text_of(algorithm.kernel).partition("def finish(")[0].replace("*rest", "seen")
    source = Source(head + NOTES, (*parameters(sizes, given_to(sizes)), Parameter("seen", "int64", 1)))
    numba, dtype = backends.get("numba"), np.dtype(sizes.dtype)
    left, right, out = (np.ones(shape, dtype) for shape in shapes_of(sizes))
    prepared, space = np.zeros(algorithm.prepared(sizes), dtype), np.zeros((1, algorithm.space(sizes)), dtype)
    seen = np.zeros(4 * int(count) + 8, np.int64)
    program = numba.compile(source)
    program.call(0, algorithm.span(sizes), left, right, out, prepared, space[0], *sizes.numbers, seen)
    return seen[1 : 4 * seen[0] + 1].reshape(-1, 4)


@pytest.mark.parametrize("name", CASES)
def test_no_two_calls_for_a_channel_share_a_subtotal(name):
    sizes = CASES[name]
    algorithm = next(a for a in algorithms() if a.name == name and a.kind == "forward")
    assert algorithm.suits(sizes)
    apart, places = algorithm.apart(sizes), int(np.prod(sizes.places))

    calls = calls_of(algorithm, sizes)
    n, o, begin, end = calls.T
    number = (n * places + begin) // apart - n * places // apart

    assert sum(end - begin) == sizes.n * sizes.o * places  # each place is finished once
    assert len({*zip(n, o, number, strict=True)}) == len(calls)
    assert number.max() < (1 if apart == places else (places - 1) // apart + 2)


@pytest.mark.parametrize("name", CASES)
def test_each_algorithm_adds_up_what_it_has_written(name, monkeypatch):
    s = CASES[name]
    algorithm = next(a for a in algorithms() if a.name == name and a.kind == "forward")
    monkeypatch.setattr(conv_step, "choose", lambda sizes: algorithm)
    found, before = [], jt.get_num_threads()
    monkeypatch.setattr(standalone, "SHARED", 0)  # threads share small ones, too
    for count in (1, 2, 3, before):
        with rank_context():
            rng = np.random.default_rng(SEED)
            x, w = (
                jt.array(rng.standard_normal((*shape[:2], *shape[3:])).astype("float32"))
                for shape in (s.image_shape, s.weights_shape)
            )
            jt.set_num_threads(count)
            (total, squares), kernels = ran(moments(jt.conv2d(x, w, padding=s.padding[1:], groups=s.groups)))
            y = jt.conv2d(x, w, padding=s.padding[1:], groups=s.groups).numpy()
            found.append((total, squares))
        assert [(k.kind, k.algorithm) for k in kernels] == [("convolution", name)]
        np.testing.assert_allclose(total, expected(y)[0], rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(squares, expected(y)[1], rtol=1e-11)
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])  # to the bit, on any number of threads


@pytest.mark.parametrize("follow", [lambda y: y.relu(), lambda y: (y * 0.5).sigmoid() + 1])
def test_what_is_joined_to_a_convolution_comes_before_its_sums(follow):
    x, w = image_and_weights(o=6)

    def network():
        return follow(jt.conv2d(x, w, jt.array(np.arange(6.0, dtype="float32")), padding=1))

    (total, squares), kernels = ran(moments(network()))

    assert [k.kind for k in kernels] == ["convolution"]
    y = network().numpy()
    np.testing.assert_allclose((total, squares), expected(y), rtol=1e-11)


@pytest.mark.parametrize("ways", [1, 3])
def test_a_batch_norm_of_one_and_of_three_directions_joins_too(ways):
    x, w = image_and_weights(2, 3, 4, {1: (70,), 3: (6, 7, 8)}[ways], (3,) * ways)
    conv = {1: jt.conv1d, 3: jt.conv3d}[ways]
    (total, squares), kernels = ran(moments(conv(x, w)))

    assert [k.kind for k in kernels] == ["convolution"]
    np.testing.assert_allclose((total, squares), expected(conv(x, w).numpy()), rtol=1e-11)


def test_sums_in_the_format_of_the_convolution_and_of_short_images_have_loops_of_their_own():
    x, w = image_and_weights()
    wide = [jt.array(v.numpy().astype("float64")) for v in (x, w)]
    short = jt.conv2d(x, w)  # of 7 x 7 places
    for y in (jt.conv2d(x, w, padding=1).sum((0, 2, 3)), moments(jt.conv2d(*wide, padding=1))[0], moments(short)[0]):
        _, kernels = ran([y])
        assert [k.kind for k in kernels] == ["convolution", "loops"]


def test_a_sum_that_looks_elsewhere_does_not_join():
    x, w = image_and_weights()
    (total,), kernels = ran([jt.conv2d(x, w, padding=1)[:, ::-1].double().sum((0, 2, 3))])

    assert [k.kind for k in kernels] == ["convolution", "loops"]
    np.testing.assert_allclose(total, expected(jt.conv2d(x, w, padding=1).numpy())[0][::-1], rtol=1e-11)


def test_a_compiled_step_begins_its_sums_anew_in_each_run():
    net = jt.nn.Sequential(jt.nn.Conv(4, 8, 3), jt.nn.BatchNorm(8), jt.nn.ReLU())
    start = {name: v.numpy().copy() for name, v in net.state_dict().items()}
    batches = [jt.array(RNG.standard_normal((3, 4, 12, 12)).astype("float32")) for _ in range(6)]

    def losses(compiled):
        net.load_state_dict(start)
        optimizer = jt.optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            loss = (net(x) ** 2).mean()
            optimizer.step(loss)
            return loss

        run = jt.compile(step) if compiled else step
        return [run(x).item() for x in batches], net[1].running_var.numpy()

    lazy, replayed = losses(False), losses(True)
    np.testing.assert_array_equal(lazy[0], replayed[0])
    np.testing.assert_array_equal(lazy[1], replayed[1])


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_the_variance_of_numbers_far_from_0_is_as_exact_as_the_numbers(offset):
    x = (RNG.standard_normal((4, 3, 16, 16)) + offset).astype("float32")
    norm = jt.nn.BatchNorm(3, affine=False)
    got = norm(jt.array(x)).numpy()

    wide = x.astype("float64")
    middle, variance = wide.mean((0, 2, 3), keepdims=True), wide.var((0, 2, 3), keepdims=True)
    scale = max(offset, 1) * np.finfo("float32").eps
    np.testing.assert_allclose(got, (wide - middle) / np.sqrt(variance + 1e-5), atol=8 * scale)
    np.testing.assert_allclose(
        norm.running_var.numpy(), 0.9 + 0.1 * x.astype("float64").var((0, 2, 3), ddof=1), rtol=1e-5
    )


def test_a_constant_channel_has_variance_0_and_a_gradient():
    x = jt.full((4, 2, 8, 8), 1e4 / 3)
    (dx,) = jt.grad((jt.nn.BatchNorm(2)(x) * jt.arange(8)).sum(), [x])

    assert np.isfinite(dx.numpy()).all()


def test_first_and_second_gradients_through_a_joined_batch_norm_are_those_of_pytorch():
    x, w = image_and_weights(2, 3, 4, (10, 10))
    out = RNG.standard_normal((2, 4, 10, 10)).astype("float32")

    y = jt.nn.functional.batch_norm(jt.conv2d(x, w, padding=1), training=True)
    first = jt.grad((y.tanh() * jt.array(out)).sum(), [x, w])
    second = jt.grad(sum((g * g).sum() for g in first), [x, w])

    tx, tw = (torch.tensor(v.numpy(), dtype=torch.float64, requires_grad=True) for v in (x, w))
    ty = torch.nn.functional.batch_norm(torch.nn.functional.conv2d(tx, tw, padding=1), None, None, training=True)
    there = torch.autograd.grad((ty.tanh() * torch.tensor(out)).sum(), [tx, tw], create_graph=True)
    again = torch.autograd.grad(sum((g * g).sum() for g in there), [tx, tw])
    for mine, theirs in zip([*first, *second], [*there, *again], strict=True):
        size = theirs.abs().max().item()
        np.testing.assert_allclose(mine.numpy(), theirs.detach().numpy(), atol=2e-5 * size)


@pytest.mark.parametrize("follow", [lambda y: y, lambda y: y.relu()])
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_sum_that_reads_a_sum_waits_for_the_end_of_the_convolution(backend, follow):
    x, w = image_and_weights()
    with jt.flag_scope(backend=backend):
        wide = follow(jt.conv2d(x, w, padding=1)).double()
        got = wide.var((0, 2, 3)).numpy()
        y = follow(jt.conv2d(x, w, padding=1)).numpy()

    np.testing.assert_allclose(got, y.astype("float64").var((0, 2, 3)), rtol=1e-11)
