"""Factors that are views: read where they lie, or packed; and the plan says which."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.backends.convolve.gemm_microkernel import LANES
from jt_edu.backends.convolve.packing import choose_with_views, lies_as, pack_source
from jt_edu.introspect.explain import planned
from jt_edu.ir import conv_pattern
from jt_edu.ir.conv_pattern import Sizes, Strides
from jt_edu.lens.kernel_debugger import step_through

pytestmark = pytest.mark.usefixtures("nothing_stays_edited")


def array(rng, *shape):
    return jt.array(rng.standard_normal(shape).astype("float32"))


def traced(make):
    """The kernels that ran, and the numbers."""
    with jt.trace() as t:
        numbers = make().numpy()
    return t.kernels, numbers


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("view", [
    lambda a: a.transpose(0, 4, 1, 2, 3), lambda a: a[..., ::-1], lambda a: a[:, :, :1, 1:5, 2:],
    lambda a: a[::2, ::-2], lambda a: a.transpose(4, 3, 2, 1, 0), lambda a: a[:, 1:2, 1:, :, ::3],
    lambda a: a[:1, :, ::-1],
    lambda a: np.broadcast_to(a[:, :1, :, :, :1], a.shape), lambda a: a.transpose(0, 4, 1, 2, 3)[:, ::-1, :1, :1],
], ids=range(9))  # fmt: skip
def test_packing_writes_what_the_view_shows(rng, backend, dtype, view):
    whole = rng.standard_normal((3, 19, 2, 7, 21)).astype(dtype)
    shown = view(whole)
    packed = np.full(shown.shape, np.nan, dtype)
    start = (shown.__array_interface__["data"][0] - whole.ctypes.data) // whole.itemsize
    steps = [step // whole.itemsize for step in shown.strides]
    lanes = LANES * 4 // whole.itemsize
    program = backends.get(backend).compile(pack_source(dtype))

    program.call(0, shown.shape[0] * -(-shown.shape[1] // lanes), whole.reshape(-1), packed, start, *steps)

    np.testing.assert_array_equal(packed, shown)


def test_a_part_of_the_batch_is_passed_as_it_lies(rng):
    x, w = array(rng, 6, 8, 9, 9), array(rng, 4, 8, 3, 3)

    kernels, numbers = traced(lambda: jt.conv2d(x[2:4], w, padding=1))

    (kernel,) = kernels
    assert "not copied: image, a view that lies in one piece, (n, c, h, w)" in kernel.reason
    assert kernel.bytes == 4 * (2 * 8 * 81 + 4 * 8 * 9 + 2 * 4 * 81)
    np.testing.assert_allclose(numbers, jt.conv2d(jt.array(x.numpy()[2:4]), w, padding=1).numpy(), rtol=1e-5)


@pytest.mark.parametrize("view", [
    lambda x: x[:, 3:11, 2:, 1:14], lambda x: x[:, ::2, :, ::2], lambda x: x[:, -8:, ::-1],
])  # fmt: skip
def test_windows_of_a_view_are_fetched_from_where_they_lie(rng, view):
    x, w = array(rng, 2, 16, 16, 16), array(rng, 4, 8, 1, 1)
    copy = jt.array(view(x).numpy())

    kernels, numbers = traced(lambda: jt.conv2d(view(x), w))

    (kernel,) = kernels
    assert kernel.algorithm == "panels"
    assert "; not copied: image, a view that is read through its steps" in kernel.reason
    assert kernel.bytes == 4 * (copy.size + w.size + numbers.size)
    np.testing.assert_allclose(numbers, jt.conv2d(copy, w).numpy(), rtol=1e-4, atol=1e-5)
    y = jt.conv2d(view(x), w)
    assert jt.explain(y).predicted_peak == y.nbytes


def test_a_copy_is_told_with_its_price_and_counted_among_the_bytes(rng):
    x, w = array(rng, 2, 24, 24, 64), array(rng, 64, 64, 3, 3)
    y = jt.conv2d(x.permute(0, 3, 1, 2), w, padding=1)

    told = jt.explain(y)
    kernels, _ = traced(lambda: y)

    (kernel,) = kernels
    assert kernel.algorithm == "winograd4"
    assert "; packed: image was (n, h, w, c), " in kernel.reason
    assert kernel.reason in told.text
    assert kernel.bytes == 4 * (3 * x.size + w.size + y.size)


def test_the_price_of_a_copy_takes_part_in_the_choice():
    image, taps = (1, 24, 24), (1, 1, 1)
    sizes = Sizes("forward", 2, 32, 8, 1, image, taps, image, (1, 1, 1), (0, 0, 0), (1, 1, 1))
    pitch = 48 * 48
    crop = Strides(sizes.image_shape, 100, (32 * pitch, pitch, 0, 48, 1))

    half = Strides(sizes.image_shape, 64 * 24 * 24 // 2, (64 * 24 * 24, -24 * 24, 0, 24, 1))

    plain, _ = choose_with_views(sizes, (None, None))
    cropped, (side,) = choose_with_views(sizes, (crop, None))
    halved, (other,) = choose_with_views(sizes, (half, None))

    assert (plain.name, cropped.name, side.packed) == ("pointwise", "panels", False)
    assert (halved.name, other.packed, half.whole_planes, crop.whole_planes) == ("pointwise", False, True, False)


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("view", [lambda x: x[:, 3:], lambda x: x[::-1, ::2], lambda x: x.transpose(0, 1)[:4, ::-1]])
def test_whole_planes_are_multiplied_where_they_lie(rng, backend, view):
    x = array(rng, 4, 9, 8, 8)
    copy = jt.array(view(x).numpy())
    w = array(rng, 5, copy.shape[1], 1, 1)

    with jt.flag_scope(backend=backend):
        kernels, numbers = traced(lambda: jt.conv2d(view(x), w))

        (kernel,) = kernels
        assert kernel.algorithm == "pointwise"
        assert "not copied: image, a view that is read through its steps" in kernel.reason
        np.testing.assert_allclose(numbers, jt.conv2d(copy, w).numpy(), rtol=1e-4, atol=1e-5)


def test_a_view_that_is_held_is_stored_because_it_is_held(rng):
    x, w = array(rng, 2, 6, 6, 4), array(rng, 3, 4, 3, 3)
    view = x.permute(0, 3, 1, 2)

    told = jt.explain(jt.conv2d(view, w))

    assert [k.kind for k in told.kernels] == ["loops", "convolution"]
    assert "you still hold it, as view" in told.text
    assert "packed" not in told.text


def test_what_is_computed_anyway_is_written_in_the_order_that_a_convolution_reads(rng):
    x, w = array(rng, 2, 6, 6, 4), array(rng, 3, 4, 3, 3)

    kernels, _ = traced(lambda: jt.conv2d((x * 2).permute(0, 3, 1, 2), w))

    assert [k.kind for k in kernels] == ["loops", "convolution"]
    assert "packed" not in kernels[1].reason


def test_turning_twice_is_not_turning(rng):
    x, w = array(rng, 2, 6, 5, 4), array(rng, 3, 6, 3, 3)

    kernels, numbers = traced(lambda: jt.conv2d(x.transpose(1, 3).transpose(1, 3), w))

    assert len(kernels) == 1
    assert "view" not in kernels[0].reason
    np.testing.assert_allclose(numbers, jt.conv2d(x, w).numpy(), rtol=1e-5)


def test_without_fusion_every_view_is_an_array(rng):
    x, w = array(rng, 2, 6, 5, 4), array(rng, 3, 4, 3, 3)
    with jt.flag_scope(fuse=False):
        kernels, numbers = traced(lambda: jt.conv2d(x.permute(0, 3, 1, 2), w))

    assert len(kernels) > 2
    np.testing.assert_allclose(numbers, jt.conv2d(x.permute(0, 3, 1, 2), w).numpy(), rtol=1e-5, atol=1e-6)


def test_the_axes_are_named_in_the_order_in_which_they_lie():
    assert lies_as("image", Strides((2, 3, 1, 5, 7), 0, (105, 1, 0, 21, 3))) == "(n, h, w, c)"
    assert lies_as("weights", Strides((2, 3, 1, 5, 7), 6, (105, 35, 0, 7, -1))) == "(o, c, h, -w)"


def test_groups_with_an_axis_of_their_own_are_joined_where_their_channels_go_on():
    shape = (2, 6, 1, 4, 5)

    on = conv_pattern._under(Strides((2, 3, 2, 4, 5), 7, (120, 40, 20, 5, 1)), shape)
    turned = conv_pattern._under(Strides((2, 3, 2, 4, 5), 7, (120, 20, 60, 5, 1)), shape)

    assert on == Strides(shape, 7, (120, 20, 0, 5, 1))
    assert turned is None


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_share_the_packing(rng, threads):
    x, w = array(rng, 5, 40, 40, 40), array(rng, 40, 40, 3, 3)
    before = jt.get_num_threads()
    try:
        jt.set_num_threads(threads)
        kernels, numbers = traced(lambda: jt.conv2d(x.permute(0, 3, 1, 2)[..., ::-1], w, padding=1))
    finally:
        jt.set_num_threads(before)

    copy = jt.array(x.numpy().transpose(0, 3, 1, 2)[..., ::-1])
    assert "packed: image was (n, h, -w, c)" in kernels[-1].reason
    np.testing.assert_array_equal(numbers, jt.conv2d(copy, w, padding=1).numpy())


@pytest.mark.parametrize("taps", [1, 3])
def test_a_convolution_of_a_view_is_stepped_through_on_what_the_view_shows(rng, taps):
    x, w = array(rng, 1, 5, 4, 6), array(rng, 2, 3, taps, taps)
    y = jt.conv2d(x.transpose(1, 3)[:, ::2], w)

    order, plan = planned([y.node])
    steps = step_through(plan, order, 0, 10**6)

    image = next(a for a in steps.arrays if a.name == "image")
    out = next(k for k, a in enumerate(steps.arrays) if a.role == "out")
    written = {t.place: t.value for m in steps.moments for t in m.touches if t.array == out and t.write}
    np.testing.assert_array_equal(image.first.ravel(), x.transpose(1, 3)[:, ::2].numpy().ravel())
    np.testing.assert_allclose([written[k] for k in range(len(written))], y.numpy().ravel(), rtol=1e-4, atol=1e-5)


def test_an_edited_kernel_is_passed_arrays_without_steps(rng):
    x, w = array(rng, 2, 9, 7, 6), array(rng, 4, 3, 1, 1)
    make = lambda: jt.conv2d(x[:, ::3, :, ::2], w)  # noqa: E731
    before = make().numpy()
    (kernel,) = jt.explain(make()).kernels
    assert "not copied" in kernel.reason

    edit = jt.edit_kernel(kernel, f"{kernel.source}\nMORE = 1\n")

    assert edit.error == ""
    assert edit.agrees
    edit.install()
    again = make()
    assert jt.explain(again).kernels[0].edited
    np.testing.assert_array_equal(again.numpy(), before)
