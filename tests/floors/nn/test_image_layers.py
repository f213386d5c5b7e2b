"""Layers for images: pooling, padding and resizing, with PyTorch's numbers, gradients and words."""

import random

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from tests.layers.harness import agrees

PLANE = (4, 3, 5)
LENGTHS = {1: (2, 2, 9), 2: (1, 2, 7, 5), 3: (1, 1, 4, 3, 5)}
CHOICE = random.Random(0)  # configurations are sampled, the same ones in each run


def sampled(count, draw):
    """So many different configurations."""
    found = {}
    while len(found) < count:
        case = draw()
        found[str(case)] = case
    return list(found.values())


def one_of(*values):
    return CHOICE.choice(values)


def windows(d):
    """A kernel, a stride, padding and whether the last window may stand partly outside."""
    kernel = tuple(one_of(1, 2, 3) for _ in range(d))
    padding = tuple(one_of(0, k // 2) for k in kernel)
    stride = one_of(None, 1, 2, tuple(one_of(1, 2, 3) for _ in range(d)))
    return {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": one_of(False, True)}


def maxima(d):
    seen = windows(d)
    small = d < 3 or max(seen["kernel_size"]) < 3
    more = {"dilation": one_of(1, 1, 2) if small else 1, "return_indices": one_of(False, True)}
    return f"MaxPool{d}d", {**seen, **more}, LENGTHS[d]


def means(d):
    more = {"count_include_pad": one_of(False, True)}
    return (
        f"AvgPool{d}d",
        {**windows(d), **more} | ({} if d == 1 else {"divisor_override": one_of(None, 5)}),
        LENGTHS[d],
    )


def norms(d):
    settings = {k: v[0] if d == 1 and isinstance(v, tuple) else v for k, v in windows(d).items() if k != "padding"}
    return f"LPPool{d}d", {"norm_type": one_of(2, 4), **settings}, LENGTHS[d]


def adaptive(kind, d):
    size = tuple(one_of(None, 1, 2, 3, 4, 5, 8) for _ in range(d))
    whole = one_of(1, 3, 7)
    asked = one_of(size, whole) if d > 1 else whole if size == (None,) else size
    return f"Adaptive{kind}Pool{d}d", {"output_size": asked}, LENGTHS[d][one_of(0, 1) :]


POOLS = [
    *(case for d in (1, 2, 3) for case in sampled(12, lambda d=d: maxima(d))),
    *(case for d in (1, 2, 3) for case in sampled(12, lambda d=d: means(d))),
    *(case for d in (1, 2, 3) for case in sampled(10, lambda d=d: norms(d))),
    *(case for d in (2, 3) for kind in ("Avg", "Max") for case in sampled(12, lambda d=d, k=kind: adaptive(k, d))),
    *(case for kind in ("Avg", "Max") for case in sampled(10, lambda k=kind: adaptive(k, 1))),
    ("AdaptiveAvgPool1d", {"output_size": 3}, (1, 1, 7)),
    ("AdaptiveAvgPool1d", {"output_size": 4}, (1, 1, 5)),
    ("AdaptiveAvgPool1d", {"output_size": 5}, (1, 1, 3)),
    ("AdaptiveMaxPool1d", {"output_size": 5, "return_indices": True}, (1, 1, 3)),
    ("AdaptiveMaxPool2d", {"output_size": (5, 4), "return_indices": True}, (1, 1, 3, 5)),
]


def room(d, least, most):
    """Widths before and after, for each direction, and an image that is long enough."""
    return tuple(CHOICE.randint(least, most) for _ in range(2 * d))


def padded(name, d, least, most, *more):
    widths = one_of(room(d, least, most), room(d, least, most), CHOICE.randint(0, most))
    return f"{name}Pad{d}d", (widths, *more), (*one_of((2,), (1, 2)), *PLANE[-d:])


PADS = [
    *(case for d in (1, 2, 3) for case in sampled(12, lambda d=d: padded("Reflection", d, -1, 2))),
    *(case for d in (1, 2, 3) for case in sampled(12, lambda d=d: padded("Replication", d, -1, 6 - d))),
    *(case for d in (1, 2, 3) for case in sampled(10, lambda d=d: padded("Circular", d, 0, 3))),
    *(case for d in (1, 2, 3) for case in sampled(10, lambda d=d: padded("Zero", d, -1, 3))),
    *(case for d in (1, 2, 3) for case in sampled(18, lambda d=d: padded("Constant", d, -1, 3, one_of(3.5, -1)))),
]


def resized(mode, d, corners):
    """A size or a factor; none that PyTorch takes for another one: from n to n or 2 n by a factor of its own."""
    size = tuple(CHOICE.randint(1, 7 if d < 3 else 4) for _ in range(d))
    what = one_of(
        {"size": size}, {"size": one_of(1, 4, 6)}, {"scale_factor": one_of(2, 3, 0.5, 2.6)},
        {"scale_factor": 1.7, "recompute_scale_factor": True},
    )  # fmt: skip
    return "Upsample", {**what, "mode": mode, "align_corners": corners}, (1, 2, *((4, 5) if d < 3 else (2, 3, 2))[:d])


RESIZES = [
    *(case for c in (True, False, None) for case in sampled(10, lambda c=c: resized("bilinear", 2, c))),
    *(case for c in (True, False) for case in sampled(8, lambda c=c: resized("linear", 1, c))),
    *(case for c in (True, False) for case in sampled(6, lambda c=c: resized("trilinear", 3, c))),
    *(case for c in (True, False) for case in sampled(8, lambda c=c: resized("bicubic", 2, c))),
    *(case for d in (1, 2, 3) for case in sampled(8, lambda d=d: resized("nearest", d, None))),
    *(case for d in (1, 2, 3) for case in sampled(6, lambda d=d: resized("nearest-exact", d, None))),
    *(case for d in (1, 2, 3) for case in sampled(6, lambda d=d: resized("area", d, None))),
    ("UpsamplingNearest2d", {"scale_factor": 2}, (1, 2, 3, 2)),
    ("UpsamplingNearest2d", {"size": (5, 3)}, (1, 2, 3, 2)),
    ("UpsamplingBilinear2d", {"scale_factor": (2, 3)}, (1, 2, 3, 2)),
    ("UpsamplingBilinear2d", {"size": 5}, (1, 2, 3, 2)),
    *(("PixelShuffle", {"upscale_factor": r}, (*lead, 2 * r * r, 3, 2)) for r in (1, 2, 3) for lead in ((), (2,))),
    *(("PixelUnshuffle", {"downscale_factor": r}, (*lead, 2, 3 * r, r)) for r in (1, 2, 3) for lead in ((), (2,))),
    *(("ChannelShuffle", {"groups": g}, (2, 6, 2, 1)) for g in (1, 2, 3, 6)),
]


def identity(case):
    """A short name for a case."""
    return f"{case[0]} {case[1]} {case[2]}"


@pytest.mark.parametrize("case", POOLS + RESIZES, ids=identity)
def test_a_layer_is_pytorchs(torch, rng, case):
    name, settings, shape = case
    ours, theirs = getattr(nn, name)(**settings), getattr(torch.nn, name)(**settings)

    assert repr(ours) == repr(theirs)
    agrees(torch, ours, theirs, np.abs(rng.normal(size=shape)) if "LP" in name else rng.normal(size=shape), train=False)


@pytest.mark.parametrize("case", PADS, ids=identity)
def test_room_around_an_image_is_pytorchs(torch, rng, case):
    name, arguments, shape = case
    ours, theirs = getattr(nn, name)(*arguments), getattr(torch.nn, name)(*arguments)

    assert repr(ours) == repr(theirs)
    agrees(torch, ours, theirs, rng.normal(size=shape), train=False)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("settings", [{"kernel_size": 2}, {"kernel_size": 2, "stride": 3}, {"kernel_size": 3}], ids=str)
def test_unpooling_is_pytorchs(torch, rng, d, settings):
    x = rng.normal(size=(2, 2, *(6, 7, 5)[:d]))
    pooled, places = getattr(torch.nn, f"MaxPool{d}d")(**settings, return_indices=True)(torch.tensor(x))
    ours, theirs = (getattr(library, f"MaxUnpool{d}d")(**settings) for library in (nn, torch.nn))

    assert repr(ours) == repr(theirs)
    agrees(torch, ours, theirs, pooled.numpy(), places.numpy(), output_size=list(x.shape), train=False)


SECOND = [
    ("MaxPool2d", {"kernel_size": 2, "stride": 1, "padding": 1}, (1, 1, 3, 2)),
    ("AvgPool1d", {"kernel_size": 3, "padding": 1, "ceil_mode": True}, (1, 1, 5)),
    ("LPPool1d", {"norm_type": 3, "kernel_size": 2}, (1, 1, 4)),
    ("AdaptiveAvgPool2d", {"output_size": (2, 4)}, (1, 1, 3, 3)),
    ("AdaptiveMaxPool1d", {"output_size": 2}, (1, 1, 5)),
    ("ReflectionPad1d", {"padding": (2, 1)}, (1, 1, 3)),
    ("ReplicationPad2d", {"padding": (2, 1, -1, 1)}, (1, 1, 3, 2)),
    ("ConstantPad1d", {"padding": (2, -1), "value": 3.0}, (1, 1, 3)),
    ("Upsample", {"size": (3, 5), "mode": "bilinear"}, (1, 1, 2, 3)),
    ("Upsample", {"scale_factor": 1.7, "mode": "bicubic"}, (1, 1, 2, 3)),
    ("Upsample", {"size": 7}, (1, 1, 3)),
    ("PixelShuffle", {"upscale_factor": 2}, (4, 1, 2)),
]


@pytest.mark.parametrize("case", SECOND, ids=identity)
def test_a_gradient_of_a_layer_has_its_own_gradient(torch, rng, case):
    name, settings, shape = case
    a, ours, theirs = (
        rng.uniform(0.5, 2, size=shape),
        getattr(nn, name)(**settings),
        getattr(torch.nn, name)(**settings),
    )

    with jt.flag_scope(backend="python"):
        x = jt.array(a)
        (dx,) = jt.grad((ours(x * x) ** 2).sum(), [x])
        (ddx,) = jt.grad((dx * dx).sum(), [x])
    t = torch.tensor(a, requires_grad=True)
    (dt,) = torch.autograd.grad((theirs(t * t) ** 2).sum(), t, create_graph=True)
    (ddt,) = torch.autograd.grad((dt * dt).sum(), t)

    np.testing.assert_allclose(dx.numpy(), dt.detach().numpy(), 1e-9, 1e-9)
    np.testing.assert_allclose(ddx.numpy(), ddt.numpy(), 1e-9, 1e-9)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_sampling_has_second_gradients_for_the_grid(rng, mode):
    x, g, e = rng.normal(size=(1, 1, 4, 4)), rng.uniform(-0.7, 0.7, size=(1, 1, 2, 2)), 1e-5

    def first(grid):
        at = jt.array(grid)
        return jt.grad((jt.grid_sample(x, at, mode) ** 2).sum(), [at])[0], at

    with jt.flag_scope(backend="python"):
        dg, at = first(g)
        (found,) = jt.grad((dg * np.cos(np.arange(4.0)).reshape(g.shape)).sum(), [at])
        for spot in np.ndindex(g.shape):
            step = np.zeros(g.shape)
            step[spot] = e
            away = (first(g + step)[0].numpy() - first(g - step)[0].numpy()) / (2 * e)
            wanted = (away * np.cos(np.arange(4.0)).reshape(g.shape)).sum()
            np.testing.assert_allclose(found.numpy()[spot], wanted, 1e-5, 1e-5)


COMPILED = [
    ("MaxPool2d", {"kernel_size": 3, "stride": 2, "padding": 1, "return_indices": True}, (2, 3, 8, 7)),
    ("AvgPool2d", {"kernel_size": 3, "padding": 1, "count_include_pad": False}, (2, 3, 8, 7)),
    ("AdaptiveAvgPool2d", {"output_size": (3, 5)}, (2, 3, 7, 4)),
    ("AdaptiveMaxPool2d", {"output_size": (3, 5)}, (2, 3, 7, 4)),
    ("ReflectionPad2d", {"padding": (1, 2, 3, 0)}, (2, 3, 5, 4)),
    ("Upsample", {"size": (9, 5), "mode": "bilinear"}, (2, 3, 5, 4)),
    ("Upsample", {"scale_factor": 2.6, "mode": "nearest"}, (2, 3, 5, 4)),
    ("PixelShuffle", {"upscale_factor": 2}, (2, 8, 5, 4)),
]


@pytest.mark.parametrize("case", COMPILED, ids=identity)
def test_a_layer_that_is_compiled_is_pytorchs(torch, rng, case):
    name, settings, shape = case
    a, ours, theirs = rng.normal(size=shape), getattr(nn, name)(**settings), getattr(torch.nn, name)(**settings)
    x, t = jt.array(a.astype(np.float32)), torch.tensor(a.astype(np.float32), requires_grad=True)

    out, wanted = ours(x), theirs(t)

    if settings.get("return_indices"):
        np.testing.assert_array_equal(out[1].numpy(), wanted[1].numpy())
        out, wanted = out[0], wanted[0]
    way = np.cos(np.arange(wanted.numel(), dtype=np.float32)).reshape(tuple(wanted.shape))
    (wanted * torch.tensor(way)).sum().backward()
    np.testing.assert_allclose(out.numpy(), wanted.detach().numpy(), 1e-5, 1e-5)
    np.testing.assert_allclose(jt.grad((out * way).sum(), [x])[0].numpy(), t.grad.numpy(), 1e-5, 1e-5)


def test_pooling_keeps_whole_numbers_where_it_picks_and_adds_them():
    x = jt.array(np.arange(16, dtype=np.uint8).reshape(1, 4, 4))

    assert str(jt.max_pool2d(x, 3, 2, 1).dtype) == "uint8"
    assert jt.max_pool2d(-x.int64(), 3, 2, 1).tolist() == [[[0, -1], [-4, -5]]]
    assert jt.pool2d(x, 2, op="add").tolist() == [[[10, 18], [42, 50]]]
    assert str(jt.avg_pool2d(x, 2).dtype) == "float64"


def test_a_mean_knows_how_much_a_dilated_window_sees():
    x = jt.array(np.arange(1.0, 6.0).reshape(1, 5))

    inner = jt.ops.pool.pool(x, 1, 2, 1, 1, "mean", dilation=2, count_include_pad=False)

    assert inner.tolist() == [[2.0, 2.0, 3.0, 4.0, 4.0]]


def test_the_position_of_a_maximum_is_the_first_of_equals_and_never_in_the_padding():
    y, places = jt.max_pool2d(jt.full((1, 3, 3), -np.inf), 2, 2, 1, return_indices=True)

    assert places.tolist() == [[[0, 1], [3, 4]]]
    assert np.all(np.isinf(y.numpy()))


def test_the_norm_of_a_window_of_zeros_is_zero_and_has_no_slope():
    x = jt.array([[0.0, 0.0, 3.0, 4.0]])

    y = nn.LPPool1d(2, 2)(x)

    assert y.tolist() == [[0.0, 5.0]]
    np.testing.assert_allclose(jt.grad(y.sum(), [x])[0].numpy(), [[0, 0, 0.6, 0.8]], 1e-6)


def test_shuffled_pixels_come_back():
    x = jt.array(np.arange(72.0).reshape(1, 8, 3, 3))

    assert jt.pixel_unshuffle(jt.pixel_shuffle(x, 2), 2).tolist() == x.tolist()
    assert nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)).tolist() == x.tolist()


def test_a_nan_in_the_grid_is_a_nan_in_the_answer():
    x, g = jt.ones((1, 1, 2, 2)), jt.array([[[[np.nan, 0.0], [0.0, 0.0]]]])

    for outside in ("zeros", "border", "reflection"):
        np.testing.assert_array_equal(jt.grid_sample(x, g, padding_mode=outside).numpy()[0, 0, 0], [np.nan, 1.0])


def test_the_layer_of_jittor_pools_in_four_ways(rng):
    a = rng.normal(size=(1, 2, 4, 6))

    for op, wanted in (("maximum", np.max), ("minimum", np.min), ("mean", np.mean), ("add", np.sum)):
        blocks = a.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5)
        np.testing.assert_allclose(nn.Pool(2, op=op)(jt.array(a)).numpy(), wanted(blocks, axis=(4, 5)), 1e-12)
    assert nn.Pool(2, return_indices=True, op="minimum")(jt.array([[[3, 1], [2, 1]]]))[1].item() == 1
    assert repr(nn.Pool(2, ceil_mode=True)) == "Pool(kernel_size=2, stride=2, padding=0, op='maximum', ceil_mode=True)"


@pytest.mark.parametrize("make", [jt.nn.functional.grid_sample, jt.nn.functional.affine_grid])
def test_corners_that_nobody_speaks_of_are_not_aligned(make):
    image, theta = jt.rand(1, 1, 4, 4), jt.array([[[1.0, 0.2, 0.1], [0.0, 1.0, 0.3]]])
    inputs = (theta, (1, 1, 4, 4)) if make is jt.nn.functional.affine_grid else (image, jt.rand(1, 2, 2, 2))

    np.testing.assert_array_equal(make(*inputs, align_corners=None).numpy(), make(*inputs).numpy())
