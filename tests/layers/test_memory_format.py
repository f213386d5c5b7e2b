"""Memory formats: the same numbers and shapes, and PyTorch's strides, for images of either format."""

import gc

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.variable.memory_format import FORMATS

torch = pytest.importorskip("torch")

F, TF = nn.functional, torch.nn.functional
LAST, THEIRS = jt.channels_last, torch.channels_last


@pytest.fixture
def images(rng):
    """An image of ours and one of PyTorch's, contiguous and channels_last."""
    numbers = rng.standard_normal((2, 8, 6, 5)).astype("float32")
    x, t = jt.array(numbers), torch.from_numpy(numbers)
    return x, x.to(memory_format=LAST), t, t.to(memory_format=THEIRS)


def alike(ours, theirs):
    """Numbers, shape, and every way to ask how they lie."""
    numbers = ours.numpy()
    assert ours.shape == tuple(theirs.shape)
    np.testing.assert_allclose(numbers, theirs.detach().numpy(), rtol=1e-4, atol=1e-4)
    assert ours.stride() == theirs.stride()
    assert tuple(s // numbers.itemsize for s in numbers.strides) == theirs.stride()
    assert ours.is_contiguous() == theirs.is_contiguous()
    assert ours.is_contiguous(memory_format=LAST) == theirs.is_contiguous(memory_format=THEIRS)


@pytest.mark.parametrize("name", ["x", "last"])
@pytest.mark.parametrize("work", [
    lambda m, a, x, w: a, lambda m, a, x, w: a * 2 + 1, lambda m, a, x, w: a + x, lambda m, a, x, w: x + a,
    lambda m, a, x, w: -a.exp(), lambda m, a, x, w: a.relu(), lambda m, a, x, w: a > 0, lambda m, a, x, w: a.double(),
    lambda m, a, x, w: a.detach(), lambda m, a, x, w: a.clone(), lambda m, a, x, w: a.contiguous(),
    lambda m, a, x, w: a.contiguous() * 2, lambda m, a, x, w: a + w.mean(), lambda m, a, x, w: m.cat([a, x], 1),
    lambda m, a, x, w: m.matmul(a, x.transpose(2, 3)), lambda m, a, x, w: a.sum(0, keepdim=True),
], ids=range(16))  # fmt: skip
def test_what_is_computed_lies_as_in_pytorch(images, rng, name, work):
    x, last, t, theirs = images
    w = rng.standard_normal(8).astype("float32")

    ours = work(jt, last if name == "last" else x, x, jt.array(w))

    alike(ours, work(torch, theirs if name == "last" else t, t, torch.from_numpy(w)))


@pytest.mark.parametrize("image", ["x", "last"])
@pytest.mark.parametrize("weights", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("groups", [1, 4, 8])
def test_all_pairs_of_formats_give_the_same_convolution_in_the_format_of_pytorch(images, rng, image, weights, groups):
    x, last, t, theirs = images
    w = rng.standard_normal((8, 8 // groups, 3, 3)).astype("float32")
    ours = jt.array(w).to(memory_format=getattr(jt, weights))
    peer = torch.from_numpy(w).to(memory_format=getattr(torch, weights))

    y = F.conv2d(last if image == "last" else x, ours, padding=1, groups=groups)

    expected = TF.conv2d(theirs if image == "last" else t, peer, padding=1, groups=groups)
    alike(y, expected)
    alike(y.detach(), expected)  # of a value that is computed
    np.testing.assert_array_equal(y.numpy(), F.conv2d(x, jt.array(w), padding=1, groups=groups).numpy())
    assert y.is_contiguous() or y.to(memory_format=LAST) is y


@pytest.mark.parametrize("name", ["x", "last"])
@pytest.mark.parametrize("layer", [
    lambda m, f: f.relu, lambda m, f: lambda a: f.max_pool2d(a, 2), lambda m, f: lambda a: f.avg_pool2d(a, 3, stride=1),
    lambda m, f: lambda a: f.adaptive_avg_pool2d(a, (3, 2)), lambda m, f: lambda a: f.pad(a, (1, 2, 0, 1)),
    lambda m, f: m.BatchNorm2d(8).train(), lambda m, f: m.BatchNorm2d(8).eval(), lambda m, f: m.Dropout(0.0),
    lambda m, f: m.Identity(), lambda m, f: m.Sequential(m.ReLU(), m.MaxPool2d(2), m.BatchNorm2d(8)),
], ids=range(10))  # fmt: skip
def test_layers_keep_the_format(images, name, layer):
    x, last, t, theirs = images

    y = layer(nn, F)(last if name == "last" else x)

    alike(y, layer(torch.nn, TF)(theirs if name == "last" else t))


@pytest.mark.parametrize("image", ["x", "last"])
@pytest.mark.parametrize("wanted", ["contiguous_format", "channels_last"])
def test_a_network_of_either_format_takes_images_of_either(images, image, wanted):
    x, last, t, theirs = images

    def net(m):
        return m.Sequential(m.Conv2d(8, 6, 3, padding=1), m.BatchNorm2d(6), m.ReLU(), m.Conv2d(6, 4, 1), m.MaxPool2d(2))

    ours, peer = net(nn), net(torch.nn)
    ours.load_state_dict({k: v.numpy() for k, v in peer.state_dict().items()})
    ours.to(memory_format=getattr(jt, wanted)).eval()
    peer.to(memory_format=getattr(torch, wanted)).eval()

    alike(ours(last if image == "last" else x), peer(theirs if image == "last" else t))
    assert [p.stride() for p in ours.parameters()] == [tuple(p.stride()) for p in peer.parameters()]
    assert [p.shape for p in ours.parameters()] == [tuple(p.shape) for p in peer.parameters()]


def test_weights_keep_their_format_when_they_are_trained(images):
    _, last, *_ = images
    net = nn.Conv2d(8, 4, 3).to(memory_format=LAST)
    before = net.weight.numpy().copy()

    jt.optim.SGD(net.parameters(), lr=0.1).step(net(last).square().mean())

    assert net.weight.is_contiguous(memory_format=LAST)
    assert net.weight.numpy().strides == (4 * 72, 4, 4 * 24, 4 * 8)
    assert np.abs(net.weight.numpy() - before).max() > 0


def test_gradients_do_not_depend_on_the_format(images, rng):
    x, *_ = images
    x.requires_grad = True
    w = jt.array(rng.standard_normal((4, 8, 3, 3)).astype("float32"))
    w.requires_grad = True

    plain = jt.grad(F.conv2d(x, w).square().sum(), [x, w])
    turned = jt.grad(F.conv2d(x.to(memory_format=LAST), w).square().sum(), [x, w])

    for a, b in zip(plain, turned, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_volumes_have_a_format_of_their_own(rng):
    numbers = rng.standard_normal((2, 3, 4, 5, 6)).astype("float32")
    x, t = jt.array(numbers), torch.from_numpy(numbers)

    ours, theirs = x.to(memory_format=jt.channels_last_3d), t.to(memory_format=torch.channels_last_3d)

    assert ours.stride() == (ours * 2).stride() == theirs.stride()
    assert ours.is_contiguous(memory_format=jt.channels_last_3d)
    assert ours.numpy().strides == tuple(4 * step for step in theirs.stride())
    np.testing.assert_array_equal(ours.numpy(), numbers)
    with pytest.raises(ArgumentError, match=r"jt\.channels_last is an order of 4 axes.*a Var of 5 axes"):
        x.contiguous(memory_format=LAST)


@pytest.mark.parametrize("shape", [(2, 1, 4, 5), (1, 3, 1, 1), (2, 3, 4, 1), (1, 1, 1, 1), (0, 3, 2, 2)])
def test_axes_of_length_one_lie_in_every_order(shape):
    x, t = jt.zeros(shape), torch.zeros(shape)

    for ours, theirs in ((x, t), (x.contiguous(memory_format=LAST), t.contiguous(memory_format=THEIRS))):
        assert ours.is_contiguous() == theirs.is_contiguous()
        assert ours.is_contiguous(memory_format=LAST) == theirs.is_contiguous(memory_format=THEIRS)


def test_a_format_costs_nothing_inside_and_explain_tells_of_the_copy_at_the_border(images, rng):
    x, last, *_ = images
    w = jt.array(rng.standard_normal((4, 8, 3, 3)).astype("float32"))
    y = F.conv2d(last, w).relu()

    told, plain = jt.explain(y), jt.explain(F.conv2d(x, w).relu())

    assert [k.kind for k in told.kernels] == ["convolution"]
    assert told.bytes == plain.bytes
    assert "is channels_last: numpy() copies its 384 B so." in told.text
    assert "channels_last" not in plain.text


def test_what_is_no_format_is_named():
    x = jt.zeros(1, 2, 3, 4)

    with pytest.raises(ArgumentError, match=r"takes a memory format.*'channels_last'"):
        x.contiguous(memory_format="channels_last")
    with pytest.raises(ArgumentError, match="takes a memory format"):
        nn.Conv2d(1, 1, 1).to(memory_format="channels_last")
    with pytest.raises(ArgumentError, match="takes a memory format"):
        x.is_contiguous(memory_format="channels_last")


def test_formats_of_values_that_are_gone_are_forgotten(images):
    _, last, *_ = images
    y = last * 2
    count = len(FORMATS)

    del y
    gc.collect()

    assert len(FORMATS) < count


def test_a_long_line_of_operators_before_the_first_format_is_followed_in_finite_time():
    x = jt.zeros(1, 2, 3, 4)
    for _ in range(3000):
        x = x + 1

    y = x.to(memory_format=LAST) * 2

    assert y.is_contiguous(memory_format=LAST)
    assert y.numpy()[0, 0, 0, 0] == 6000
