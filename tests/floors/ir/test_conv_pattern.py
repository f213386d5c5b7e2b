"""Which sums are convolutions, what they are asked for, and what joins them."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.node import needed

RNG = np.random.default_rng(6)
EDGED = np.random.default_rng(7).standard_normal((2, 3, 4, 4)).astype("float32")


def numbers(*shape):
    """Numbers in a Var that has been computed."""
    x = jt.array(RNG.standard_normal(shape).astype("float32"))
    x.requires_grad = True
    return x


def found(*wanted):
    """The convolutions behind some Vars that are still pending."""
    nodes = [n for n in needed([w.node for w in wanted]) if n.data is None and n.op.kind == "reindex_reduce"]
    return [c for c in map(convolution, nodes) if c is not None]


def kinds(*wanted):
    """What they are asked for."""
    return sorted(c.sizes.kind for c in found(*wanted))


def test_the_sizes_of_a_convolution_are_read_off_its_maps():
    y = jt.conv2d(numbers(2, 6, 9, 10), numbers(4, 3, 3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)

    (one,) = found(y)

    assert (one.sizes.n, one.sizes.c, one.sizes.o, one.sizes.groups) == (2, 6, 4, 2)
    assert (one.sizes.image, one.sizes.kernel, one.sizes.places) == ((1, 9, 10), (1, 3, 2), (1, 5, 8))
    assert one.sizes.numbers == (1, 2, 1, 0, 1, 0, 1, 1, 2, 2)
    assert one.sizes.flops == 2 * 2 * 4 * 3 * 5 * 8 * 6


@pytest.mark.parametrize("ways", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2}])
def test_both_gradients_and_the_gradients_of_these_are_convolutions(ways, groups, options):
    x, w = numbers(2, 4, *[7] * ways), numbers(4, 4 // groups, *[3] * ways)
    y = getattr(jt, f"conv{ways}d")(x, w, groups=groups, **options)
    assert kinds(y) == ["forward"]

    dx, dw = jt.grad((y.sync() * numbers(*y.shape)).sum(), [x, w])
    assert kinds(dx) == ["by_image"]
    assert kinds(dw) == ["by_weights"]

    (twice,) = jt.grad((dx.sync() * numbers(*x.shape)).sum(), [w])
    assert "by_weights" in kinds(twice)


@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
@pytest.mark.parametrize("ways", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_the_gradients_of_a_plain_sum_are_convolutions_though_one_factor_is_a_number(name, ways, groups):
    x, w = numbers(2, 4, *[5] * ways), numbers(4, 4 // groups, *[3] * ways)
    y = getattr(jt, f"{name}{ways}d")(x, w, groups=groups)
    both = ["by_image", "by_weights"] if name == "conv" else ["by_weights", "forward"]

    assert kinds(*jt.grad(y.sync().sum(), [x, w])) == both
    assert kinds(*jt.grad(y.mean(), [x, w])) == both

    (dx,) = jt.grad(y.sum(), [x])
    assert kinds(*jt.grad((dx.sync() * numbers(*x.shape)).sum(), [w])) == ["by_weights"]


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_number_everywhere_has_the_gradients_that_an_array_of_it_has(name, groups):
    with jt.flag_scope(backend="python"):
        x, w = numbers(1, 2, 4, 3), numbers(2, 2 // groups, 2, 3)
        y, probe = getattr(jt, name)(x, w, groups=groups), numbers(1, 2, 4, 3)
        there = jt.array(np.full(y.shape, 3, "float32"))

        once = [jt.grad((y * three).sum(), [x, w]) for three in (jt.full(y.shape, 3.0), there)]
        twice = [jt.grad((dx * probe).sum(), [w]) for dx, _ in once]

        for number, array in (*zip(*once, strict=True), *zip(*twice, strict=True)):
            np.testing.assert_allclose(number.numpy(), array.numpy(), rtol=1e-5, atol=1e-5)


def test_images_and_weights_of_one_number_are_convolved_by_an_algorithm():
    x, w = numbers(2, 3, 5, 5), numbers(4, 3, 3, 3)

    assert kinds(jt.conv2d(x, jt.ones(4, 3, 3, 3))) == kinds(jt.conv2d(jt.zeros(2, 3, 5, 5), w)) == ["forward"]


def test_a_transposed_convolution_is_the_gradient_by_the_image():
    x, w = numbers(2, 4, 5, 5), numbers(4, 3, 3, 3)
    y = jt.conv_transpose2d(x, w, stride=2)
    dx = jt.grad((y.sync() * numbers(*y.shape)).sum(), x)

    assert kinds(jt.conv_transpose2d(x, w, stride=2)) == ["by_image"]
    assert kinds(dx) == ["forward"]


def test_a_convolution_is_found_by_its_maps_wherever_they_come_from():
    x, w = numbers(1, 2, 6, 6), numbers(3, 2, 2, 2)
    loops = (1, 3, 2, 2, 2, 5, 5)
    windows = x.reindex(loops, lambda n, o, c, ky, kx, y, z: (n, c, y + ky, z + kx))
    weights = w.reindex(loops, lambda n, o, c, ky, kx, y, z: (o, c, ky, kx))

    y = (windows * weights).reindex_reduce("add", (1, 3, 5, 5), lambda n, o, c, ky, kx, y, z: (n, o, y, z))

    assert kinds(y) == ["forward"]
    np.testing.assert_allclose(y.numpy(), jt.conv2d(x, w).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("behind", ["the image", "the weights", "both"])
def test_a_convolution_is_found_behind_a_second_view_that_only_picks(behind):
    x, w = numbers(2, 2, 6, 6), numbers(3, 2, 2, 2)
    loops = (2, 3, 2, 2, 2, 5, 5)
    image = x.reindex((2, 1, 2, 6, 6), lambda n, o, c, y, z: (n, c, y, z))  # an axis for out channels, of length 1
    several = w.reindex((1, 3, 2, 2, 2), lambda n, o, c, ky, kx: (o, c, ky, kx))  # and one for images
    if behind == "the weights":
        windows = x.reindex(loops, lambda n, o, c, ky, kx, y, z: (n, c, y + ky, z + kx))
    else:
        windows = image.reindex(loops, lambda n, o, c, ky, kx, y, z: (n, 0, c, y + ky, z + kx))
    if behind == "the image":
        weights = w.reindex(loops, lambda n, o, c, ky, kx, y, z: (o, c, ky, kx))
    else:
        weights = several.reindex(loops, lambda n, o, c, ky, kx, y, z: (0, o, c, ky, kx))

    y = (windows * weights).reindex_reduce("add", (2, 3, 5, 5), lambda n, o, c, ky, kx, y, z: (n, o, y, z))

    assert kinds(y) == ["forward"]
    np.testing.assert_allclose(y.numpy(), jt.conv2d(x, w).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("sentence", "window", "taps"),
    [
        ("it slides back", lambda y, k: 3 - y + k, lambda k: k),
        ("it begins behind the first element", lambda y, k: y + k + 1, lambda k: k),
        ("the weights are flipped", lambda y, k: y + k, lambda k: 1 - k),
        ("a counter is multiplied by itself", lambda y, k: y * y // 4 + k, lambda k: k),
    ],
)
def test_what_looks_like_a_convolution_and_is_none_is_left_to_loops(sentence, window, taps):
    x, w = numbers(1, 2, 8), numbers(3, 2, 2)
    loops = (1, 3, 2, 2, 4)
    seen = x.reindex(loops, lambda n, o, c, k, y: (n, c, window(y, k)))
    weights = w.reindex(loops, lambda n, o, c, k, y: (o, c, taps(k)))

    out = (seen * weights).reindex_reduce("add", (1, 3, 4), lambda n, o, c, k, y: (n, o, y))

    assert kinds(out) == [], sentence
    with jt.flag_scope(backend="python"):
        assert np.isfinite(out.numpy()).all()


# ---------------------------------------------------------------------------------------------------- what joins it


def kernels(make):
    """The kernels of what `make` returns, and its numbers."""
    with jt.no_grad(), jt.trace() as t:
        y = make().numpy()
    return t.kernels, y


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 3])
def test_bias_norm_residual_and_activation_are_done_while_the_sums_are_written(backend, groups, batch):
    x, w, bias, scale = numbers(batch, 4, 5, 5), numbers(4, 4 // groups, 3, 3), numbers(4), numbers(4)

    def block():
        y = jt.conv2d(x, w, bias, padding=1, groups=groups)
        return (y * scale.reshape(1, 4, 1, 1) + x).relu()

    with jt.flag_scope(backend=backend):
        (one,), joined = kernels(block)
        with jt.flag_scope(fuse=False):
            apart, alone = kernels(block)

    assert one.kind == "convolution"
    assert "def finish(n, o, begin, end, out, " in one.source
    assert len(apart) > 3
    np.testing.assert_allclose(joined, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("sentence", "work"),
    [
        ("rows are not the flat places", lambda y: y + jt.array(np.arange(5, dtype="float32").reshape(5, 1))),
        ("it is turned", lambda y: y.transpose(2, 3).relu()),
        ("it is summed", lambda y: y.sum(3)),
        ("it becomes another dtype", lambda y: y.cast("float64")),
        ("columns are counted", lambda y: y + jt.arange(5)),
        ("channels are counted", lambda y: y + jt.arange(3).reshape(3, 1, 1)),
        ("a part becomes zero", lambda y: jt.triu(y)),
        ("what is added has a border", lambda y: y + jt.nn.functional.pad(jt.array(EDGED), (1, 0, 0, 1), value=2.0)),
    ],
)
def test_what_needs_more_than_a_place_and_a_channel_has_a_kernel_of_its_own(sentence, work):
    x, w = numbers(2, 3, 5, 5), numbers(3, 3, 3, 3)

    ran, y = kernels(lambda: work(jt.conv2d(x, w, padding=1)))

    assert [k.kind for k in ran] == ["convolution", "loops"], sentence
    np.testing.assert_allclose(y, work(jt.array(jt.conv2d(x, w, padding=1).numpy())).numpy(), rtol=1e-5, atol=1e-6)


def test_sums_that_somebody_holds_are_not_overwritten():
    x, w = numbers(2, 3, 5, 5), numbers(3, 3, 3, 3)
    with jt.no_grad():
        sums = jt.conv2d(x, w)
        y = sums.relu()
        jt.sync([y, sums])

    np.testing.assert_array_equal(y.numpy(), np.maximum(sums.numpy(), 0))
    assert sums.numpy().min() < 0


def test_a_tail_that_needs_a_later_kernel_lets_the_convolution_wait():
    x, w, wide = numbers(3, 3, 5, 5), numbers(3, 3, 3, 3), numbers(3, 4)

    def block():
        y = jt.conv2d(x, w)
        return y * (wide * wide).sum(1).reshape(1, 3, 1, 1)  # these sums have loops of their own

    ran, _ = kernels(block)

    assert [k.kind for k in ran] == ["loops", "convolution"]


def test_two_sums_meet_in_the_tail_of_the_later_one():
    x, a, b = numbers(2, 3, 5, 5), numbers(3, 3, 3, 3), numbers(3, 3, 1, 1)

    ran, y = kernels(lambda: (jt.conv2d(x, a, padding=1) + jt.conv2d(x, b)).relu())

    assert [k.kind for k in ran] == ["convolution", "convolution"]
    apart = jt.conv2d(x, a, padding=1).numpy() + jt.conv2d(x, b).numpy()
    np.testing.assert_allclose(y, np.maximum(apart, 0), rtol=1e-5, atol=1e-6)
