"""nn.functional: PyTorch's F, as far as the functions are there."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn

F = nn.functional


def test_every_name_is_one_of_pytorchs_and_the_same_function_as_elsewhere(torch):
    for name in F.__all__:
        ours = getattr(F, name)
        assert hasattr(torch.nn.functional, name)
        assert name == "cross_entropy" or ours in {getattr(nn, name, None), getattr(jt, name, None)}
    assert F.cross_entropy is nn.cross_entropy_loss


@pytest.mark.parametrize("settings", [{}, {"p": 1.0}, {"dim": 0}, {"eps": 2.0}, {"dim": (0, 1)}], ids=str)
def test_normalize_is_pytorchs(torch, rng, settings):
    x = rng.normal(size=(3, 4))
    ours, theirs = jt.array(x), torch.tensor(x, requires_grad=True)
    with jt.flag_scope(backend="python"):
        out, expected = F.normalize(ours, **settings), torch.nn.functional.normalize(theirs, **settings)
        np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-12)
        way = np.cos(np.arange(12)).reshape(3, 4)
        (expected * torch.tensor(way)).sum().backward()
        np.testing.assert_allclose(jt.grad((out * way).sum(), ours).numpy(), theirs.grad.numpy(), rtol=1e-9)


CALLS = {
    "unfold": lambda f, x: f.unfold(x, 2, padding=1),
    "pad": lambda f, x: f.pad(x, (1, 0, 2, 0), value=3.0),
    "max_pool2d": lambda f, x: f.max_pool2d(x, 2, 1),
    "avg_pool2d": lambda f, x: f.avg_pool2d(x, 2),
    "softmax": lambda f, x: f.softmax(x, 1),
    "leaky_relu": lambda f, x: f.leaky_relu(x, 0.3),
    "dropout": lambda f, x: f.dropout(x, 0.5, False),
    "dropout2d": lambda f, x: f.dropout2d(x, 0.5, training=False),
    "conv2d": lambda f, x: f.conv2d(x, x[:1]),
    "interpolate": lambda f, x: f.interpolate(x, scale_factor=2, mode="nearest"),
    "pixel_shuffle": lambda f, x: f.pixel_shuffle(x, 2),
    "softplus": lambda f, x: f.softplus(x, 2.0, 1.0),
    "threshold": lambda f, x: f.threshold(x, 0.1, 9.0),
    "hardtanh": lambda f, x: f.hardtanh(x, -0.5, 0.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_as_in_pytorch_gives_the_same(torch, rng, name):
    x = rng.normal(size=(2, 4, 3, 4))
    with jt.flag_scope(backend="python"):
        ours, theirs = CALLS[name](F, jt.array(x)), CALLS[name](torch.nn.functional, torch.tensor(x))

        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize(("plane", "size"), [((7, 9), (3, 4)), ((13, 5), (4, 11)), ((1, 5), (2, 1)), ((4, 4), (4, 4))])
def test_an_image_that_shrinks_smoothly_is_pytorchs(torch, rng, mode, align, plane, size):
    x = rng.normal(size=(2, 3, *plane)).astype("float32")
    theirs, ours = torch.tensor(x, requires_grad=True), jt.array(x)

    wanted = torch.nn.functional.interpolate(theirs, size, mode=mode, align_corners=align, antialias=True)
    (wanted**2).sum().backward()
    found = jt.nn.functional.interpolate(ours, size, mode=mode, align_corners=align, antialias=True)

    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jt.grad((found**2).sum(), ours).numpy(), theirs.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [0.5, 0.37, (1.7, 0.4)])
@pytest.mark.parametrize("again", [False, True])
def test_a_scale_that_shrinks_smoothly_is_pytorchs(torch, rng, scale, again):
    x = rng.normal(size=(1, 2, 11, 8)).astype("float32")
    named = {"scale_factor": scale, "mode": "bicubic", "antialias": True, "recompute_scale_factor": again}

    wanted = torch.nn.functional.interpolate(torch.tensor(x), **named).numpy()

    np.testing.assert_allclose(jt.nn.functional.interpolate(jt.array(x), **named).numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "area", "trilinear"])
def test_antialias_is_refused_where_it_would_change_nothing(mode):
    shape = (1, 1, 4, 4, 4) if mode == "trilinear" else (1, 1, 4, 4)

    with pytest.raises(jt.ArgumentError, match="antialias is for bilinear and bicubic"):
        jt.nn.functional.interpolate(jt.ones(shape), 2, mode=mode, antialias=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_pixels_that_shrink_smoothly_stay_pixels(torch, rng, mode):
    x = rng.integers(0, 256, (1, 3, 13, 9)).astype("uint8")

    wanted = torch.nn.functional.interpolate(torch.tensor(x), (5, 4), mode=mode, antialias=True).numpy()
    found = jt.nn.functional.interpolate(jt.array(x), (5, 4), mode=mode, antialias=True)

    assert found.dtype == "uint8"
    assert np.abs(found.numpy().astype(int) - wanted).max() <= 1  # PyTorch's weights have 15 bits
