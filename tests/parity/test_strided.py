"""Convolutions of views: 300 that nobody chose, as image, as weights, as gradient and as `out=`, against PyTorch."""

import numpy as np
import pytest

import jt_edu as jt

torch = pytest.importorskip("torch")

COUNT, PARTS = 300, 10
TOLERANCE = {"float32": 2e-4, "float64": 1e-10}
CONVOLUTIONS = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}


class View:
    """A view of some shape: turned, a part, every second or third number, backwards; and the array that it looks at."""

    def __init__(self, rng, shape, dtype):
        order = rng.permutation(len(shape)) if rng.random() < 0.6 else np.arange(len(shape))
        lengths, slices = [], []
        for n in shape:
            step, start = int(rng.choice([1, 1, 1, 2, 3, -1, -2])), int(rng.integers(0, 3) * (rng.random() < 0.5))
            last = start + (n - 1) * abs(step)
            lengths.append(last + 1 + int(rng.integers(0, 3) * (rng.random() < 0.5)))
            ends = (start, last + 1, step) if step > 0 else (last, start - 1 if start else None, step)
            slices.append(slice(*ends))
        self.slices, self.order = tuple(slices), tuple(int(k) for k in np.argsort(order))
        self.base = rng.standard_normal([lengths[k] for k in order]).astype(dtype)

    def of(self, array):
        """The view of a NumPy array, or of a Var."""
        turned = array.permute(self.order) if isinstance(array, jt.Var) else array.transpose(self.order)
        return turned[self.slices]

    def back(self, numbers):
        """The gradient of the array behind, given that of the view."""
        whole = np.zeros_like(self.base)
        self.of(whole)[...] = numbers
        return whole


def drawn(number):
    """Views of an image, of weights and of the gradient of the places; how the window slides."""
    rng = np.random.default_rng([31, number])
    ways, dtype = int(rng.choice([1, 2, 2, 2, 3])), str(rng.choice(["float32", "float64"]))
    groups, one = int(rng.choice([1, 1, 2, 3])), number % 4 == 0
    kernel = [1] * ways if one else rng.integers(1, 4, ways).tolist()
    options = {
        "stride": 1 if one else int(rng.integers(1, 3)), "padding": 0 if one else int(rng.integers(0, min(kernel) + 1)),
        "dilation": int(rng.integers(1, 3)), "groups": groups,
    }  # fmt: skip
    lengths = [options["dilation"] * (k - 1) + 1 + int(rng.integers(0, 9)) for k in kernel]
    ins, outs = int(rng.choice([1, 2, 5, 17])), int(rng.integers(1, 5))
    image = View(rng, [int(rng.integers(1, 4)), groups * ins, *lengths], dtype)
    weights = View(rng, [groups * outs, ins, *kernel], dtype)
    places = CONVOLUTIONS[ways](*(torch.from_numpy(v.of(v.base).copy()) for v in (image, weights)), **options).shape
    return ways, dtype, image, weights, View(rng, places, dtype), options


def close(ours, theirs, dtype):
    scale = max(1.0, float(np.abs(theirs).max()))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE[dtype] * scale)


def expected(number):
    """What PyTorch computes from copies: the places, and the gradients of image and weights."""
    ways, _, image, weights, dout, options = drawn(number)
    x, w = (torch.from_numpy(v.of(v.base).copy()).requires_grad_(True) for v in (image, weights))
    y = CONVOLUTIONS[ways](x, w, **options)
    y.backward(torch.from_numpy(dout.of(dout.base).copy()))
    return y.detach().numpy(), x.grad.numpy(), w.grad.numpy()


@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_kernels_read_views_as_if_they_were_copies(part):
    for number in range(part, COUNT, PARTS):
        ways, dtype, image, weights, dout, options = drawn(number)
        conv = getattr(jt, f"conv{ways}d")
        x, w, g = (jt.array(v.base) for v in (image, weights, dout))
        plain_x, plain_w = (jt.array(v.of(v.base)) for v in (image, weights))
        plain_x.requires_grad = plain_w.requires_grad = True

        y = conv(image.of(x), weights.of(w), **options)
        (dx,) = jt.vjp(conv(plain_x, weights.of(w), **options), [plain_x], dout.of(g))
        (dw,) = jt.vjp(conv(image.of(x), plain_w, **options), [plain_w], dout.of(g))

        for ours, theirs in zip((y, dx, dw), expected(number), strict=True):
            close(ours.numpy(), theirs, dtype)


@pytest.mark.parametrize("part", range(PARTS))
def test_gradients_reach_the_arrays_behind_the_views(part):
    for number in range(part, COUNT, PARTS):
        ways, dtype, image, weights, dout, options = drawn(number)
        x, w, g = (jt.array(v.base) for v in (image, weights, dout))
        x.requires_grad = w.requires_grad = True

        with jt.flag_scope(backend="python"):
            y = getattr(jt, f"conv{ways}d")(image.of(x), weights.of(w), **options)
            dx, dw = jt.grad((y * dout.of(g)).sum(), [x, w])

            places, by_image, by_weights = expected(number)
            close(y.numpy(), places, dtype)
            close(dx.numpy(), image.back(by_image), dtype)
            close(dw.numpy(), weights.back(by_weights), dtype)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_view_given_as_out_gets_the_numbers_and_what_it_looked_at_keeps_its_own(part):
    for number in range(part, COUNT, PARTS):
        ways, dtype, image, weights, _, options = drawn(number)
        there = View(np.random.default_rng([32, number]), image.of(image.base).shape, dtype)
        base = jt.array(there.base)
        out = there.of(base)

        with jt.flag_scope(backend="python"):
            jt.multiply(image.of(jt.array(image.base)), 2, out=out)
            y = getattr(jt, f"conv{ways}d")(out, weights.of(jt.array(weights.base)), **options)

            close(y.numpy(), 2 * expected(number)[0], dtype)
            np.testing.assert_array_equal(out.numpy(), 2 * image.of(image.base))
            np.testing.assert_array_equal(base.numpy(), there.base)


@pytest.mark.parametrize("number", range(0, COUNT, 60))
def test_a_compiled_step_reads_views_of_what_it_is_given(number):
    ways, dtype, image, weights, _, options = drawn(number)

    @jt.compile
    def step(x, w):
        return getattr(jt, f"conv{ways}d")(image.of(x), weights.of(w), **options)

    for sign in (1, -1, 2):
        x = sign * image.base
        given = (torch.from_numpy(a.copy()) for a in (image.of(x), weights.of(weights.base)))
        close(step(x, weights.base).numpy(), CONVOLUTIONS[ways](*given, **options).numpy(), dtype)
