"""Augmenting: grey by chance, affine maps, blur, pieces, images for Pillow; against SciPy, PyTorch and Pillow."""

import itertools
import math
import sys

import numpy as np
import pytest
from scipy import ndimage

import jt_edu as jt
from jt_edu import data, nn
from jt_edu.base.errors import BackendError, JtError
from jt_edu.data import transform as T  # noqa: N812
from tests.data.light import LEVEL

pytestmark = pytest.mark.usefixtures("python_backend")


@pytest.fixture
def image(rng):
    """Planes (3, 9, 12) of light."""
    return rng.random((3, 9, 12)).astype(np.float32)


@pytest.fixture
def pixels(rng):
    """A photograph (9, 12, 3) of bytes."""
    return rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)


# --------------------------------------------------------------------------------------------------------------- grey


def test_grey_by_chance_is_grey_in_as_many_channels(image, pixels):
    np.testing.assert_array_equal(T.RandomGrayscale(1)(image), T.Grayscale(3)(image))
    np.testing.assert_array_equal(T.RandomGrayscale(1)(pixels), T.Grayscale(3)(pixels))
    np.testing.assert_array_equal(T.RandomGrayscale(0)(image), image)
    np.testing.assert_array_equal(T.RandomGrayscale(1)(image[:1]), image[:1])
    jt.set_global_seed(1)
    assert 240 < sum((T.RandomGrayscale(0.3)(image) != image).any() for _ in range(1000)) < 360
    assert 60 < sum((T.RandomGrayscale()(image) != image).any() for _ in range(1000)) < 140


def test_one_channel_is_its_own_grey(image, pixels):
    np.testing.assert_array_equal(T.Grayscale()(image[:1]), image[:1])
    np.testing.assert_array_equal(T.Grayscale(3)(image[:1]), np.repeat(image[:1], 3, 0))
    np.testing.assert_array_equal(T.Grayscale(3)(jt.array(image[:1])).numpy(), np.repeat(image[:1], 3, 0))
    np.testing.assert_array_equal(T.Grayscale(3)(pixels[..., 0]), np.repeat(pixels[..., :1], 3, 2))
    np.testing.assert_array_equal(T.Grayscale()(pixels[..., 0]), pixels[..., 0])


def test_jittors_chain_makes_planes_of_pixels(pixels):
    from PIL import Image  # noqa: PLC0415 - a guest: the rest needs no Pillow

    photograph = Image.fromarray(pixels)
    chain = T.Compose([T.Resize((9, 12)), T.Gray(), T.ImageNormalize(mean=[0.5], std=[0.25])])
    expected = (np.asarray(photograph.convert("L"), np.float32)[None] / 255 - 0.5) / 0.25

    np.testing.assert_allclose(chain(photograph), expected, atol=1.1 * LEVEL / 0.25)
    assert T.Gray(3)(pixels).shape == (3, 9, 12)
    assert (T.Gray()(pixels).dtype, T.Gray()(pixels).max() <= 1) == ("float32", True)
    planes = T.ToTensor()(pixels)
    np.testing.assert_allclose(T.Gray()(planes), T.Grayscale()(planes))


def test_jittors_normalize_scales_pixels_and_nothing_else(pixels):
    mean, std = [0.1, 0.2, 0.3], [0.5, 1.0, 2.0]
    planes = np.moveaxis(pixels, -1, 0) / np.float32(255)
    expected = (planes - np.array(mean)[:, None, None]) / np.array(std)[:, None, None]

    np.testing.assert_allclose(T.ImageNormalize(mean, std)(pixels), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(T.ImageNormalize(mean, std)(planes), expected, rtol=1e-4, atol=1e-6)
    assert (T.RandomGray, T.RandomCropAndResize) == (T.RandomGrayscale, T.RandomResizedCrop)


# ------------------------------------------------------------------------------------------------------------- affine


def by_scipy(image, forth, shift, order, fill=0.0):
    """Each output pixel read from the inverse map; SciPy's axes are (row, column)."""
    back = np.linalg.inv(forth)[::-1, ::-1]
    centre = (np.array(image.shape[-2:]) - 1) / 2
    offset = centre - back @ (centre + np.array(shift)[::-1])
    mode = {"mode": "grid-constant", "cval": fill}
    return np.stack(
        [ndimage.affine_transform(plane.astype(float), back, offset, order=order, **mode) for plane in image]
    )


def turned(degrees):
    a = math.radians(degrees)
    return np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])


def inner(image):
    """Where the light comes from the image alone: SciPy and PyTorch weight the rim in their own ways."""
    return image[:, 3:-3, 4:-4]


TANGENT = math.tan(math.radians(20))
CASES = [
    ({"degrees": (33, 33)}, turned(33)),
    ({"degrees": 0, "scale": (1.7, 1.7)}, 1.7 * np.eye(2)),
    ({"degrees": 0, "shear": (20, 20)}, np.array([[1, -TANGENT], [0, 1]])),
    ({"degrees": 0, "shear": (0, 0, 20, 20)}, np.array([[1, 0], [-TANGENT, 1]])),
    (
        {"degrees": (-50, -50), "scale": (1.2, 1.2), "shear": (20, 20, 20, 20)},
        1.2 * turned(-50) @ np.array([[1, 0], [-TANGENT, 1]]) @ np.array([[1, -TANGENT], [0, 1]]),
    ),
]


@pytest.mark.parametrize(("given", "forth"), CASES, ids=str)
@pytest.mark.parametrize(("way", "order"), [("nearest", 0), ("bilinear", 1)])
def test_affine_maps_agree_with_scipy(image, given, forth, way, order):
    ours = T.RandomAffine(**given, interpolation=way)(image)

    np.testing.assert_allclose(inner(ours), inner(by_scipy(image, forth, (0, 0), order)), atol=1e-5)
    if way == "nearest":
        np.testing.assert_allclose(ours, by_scipy(image, forth, (0, 0), 0), atol=1e-6)


def test_affine_maps_agree_with_pytorch_at_the_rim_too(torch, image):
    forth = 0.8 * turned(25)
    h, w = image.shape[-2:]
    y, x = np.mgrid[:h, :w] + 0.5
    back = np.linalg.inv(forth) @ np.stack([x - w / 2, y - h / 2]).reshape(2, -1)
    grid = (back.T.reshape(h, w, 2) / np.array([w / 2, h / 2]))[None]
    stacked = torch.tensor(np.concatenate([image, np.ones((1, h, w), np.float32)]))[None].double()
    out = torch.nn.functional.grid_sample(stacked, torch.tensor(grid), "bilinear", "zeros", align_corners=False)[0]
    light, mask = out[:-1].numpy(), out[-1].numpy()

    ours = T.RandomAffine((25, 25), scale=(0.8, 0.8), interpolation="bilinear", fill=0.25)(image)

    np.testing.assert_allclose(ours, light * mask + (1 - mask) * 0.25, atol=1e-5)


def test_an_affine_turn_is_clockwise_and_a_rotation_is_not(image):
    square = image[:, :, :9]

    np.testing.assert_array_equal(T.RandomAffine((90, 90))(square), np.rot90(square, -1, (1, 2)))
    np.testing.assert_array_equal(T.RandomRotation((90, 90))(square), np.rot90(square, 1, (1, 2)))


def test_shifts_are_whole_pixels_up_to_their_part_of_each_side():
    jt.set_global_seed(0)
    spot = np.zeros((1, 40, 100))
    spot[0, 20, 50] = 1
    move = T.RandomAffine(0, translate=(0.2, 0.1), interpolation="bilinear")
    found = [np.argwhere(move(spot) == 1)[0, 1:] for _ in range(400)]
    y, x = (np.array(found) - (20, 50)).T

    assert (x.min(), x.max(), y.min(), y.max()) == (-20, 20, -4, 4)
    assert len(set(x.tolist())) > 35
    assert set(y.tolist()) == set(range(-4, 5))


def test_each_amount_fills_its_limits_and_is_drawn_anew():
    jt.set_global_seed(0)
    ramp = np.broadcast_to(np.arange(101.0) - 50, (1, 101, 101))  # the x of each pixel, so that slopes can be read
    slopes = []
    for _ in range(300):
        out = T.RandomAffine(0, scale=(0.5, 2.0), shear=(-30, 30), interpolation="bilinear")(ramp)[0, 40:61, 40:61]
        slopes.append((out[10, 11] - out[10, 9], out[11, 10] - out[9, 10]))
    along, across = np.array(slopes).T / 2
    factors, tangents = 1 / along, across / along

    assert 0.5 <= factors.min() < 0.53
    assert 1.95 < factors.max() < 2.01
    assert -31 < np.degrees(np.arctan(tangents.min())) < -28
    assert 28 < np.degrees(np.arctan(tangents.max())) < 31
    one_number = {
        round(float(T.RandomAffine(0, shear=30, interpolation="bilinear")(ramp)[0, 51, 50]), 6) for _ in range(9)
    }
    assert len(one_number) == 9


def test_what_was_not_in_the_image_has_the_colour_of_fill(image, pixels):
    small = T.RandomAffine(0, scale=(0.5, 0.5), fill=(0.1, 0.2, 0.3))(image)

    np.testing.assert_allclose(small[:, 0, 0], [0.1, 0.2, 0.3], rtol=1e-6)
    assert T.RandomAffine(0, scale=(0.5, 0.5), fill=7)(pixels)[0, 0].tolist() == [7, 7, 7]
    assert (T.RandomAffine(0, scale=(0.5, 0.5))(pixels)[0, 0] == 0).all()


# --------------------------------------------------------------------------------------------------------------- blur


def bell(n, sigma):
    k = np.arange(n) - n // 2
    weights = np.exp(-(k**2) / (2 * sigma**2))
    return weights / weights.sum()


@pytest.mark.parametrize("size", [1, 3, 5, (3, 7), (7, 1)], ids=str)
@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_blur_agrees_with_scipy(image, size, sigma):
    columns, rows = size if isinstance(size, tuple) else (size, size)
    expected = ndimage.correlate1d(image.astype(float), bell(columns, sigma), axis=2, mode="mirror")
    expected = ndimage.correlate1d(expected, bell(rows, sigma), axis=1, mode="mirror")

    np.testing.assert_allclose(T.GaussianBlur(size, sigma)(image), expected, atol=1e-6)
    np.testing.assert_allclose(T.GaussianBlur(size, (sigma, sigma))(image), expected, atol=1e-6)


def test_blurred_pixels_are_rounded(pixels):
    expected = ndimage.correlate1d(pixels.astype(float), bell(5, 1.5), axis=1, mode="mirror")
    expected = ndimage.correlate1d(expected, bell(5, 1.5), axis=0, mode="mirror")

    assert abs(T.GaussianBlur(5, 1.5)(pixels) - expected).max() < 0.501


def test_the_width_of_the_bell_fills_its_limits():
    jt.set_global_seed(0)
    spot = np.zeros((1, 3, 9))
    spot[0, 1, 4] = 1

    def widths(**given):
        rows = [T.GaussianBlur((3, 1), **given)(spot)[0, 1] for _ in range(400)]
        return [math.sqrt(-1 / (2 * math.log(row[5] / row[4]))) for row in rows]

    wide, usual = widths(sigma=(0.5, 3.0)), widths()
    assert (0.5 <= min(wide) < 0.53, 2.95 < max(wide) <= 3.0) == (True, True)
    assert (0.1 <= min(usual) < 0.13, 1.95 < max(usual) <= 2.0) == (True, True)


# ------------------------------------------------------------------------------------------------------------- pieces


def test_five_pieces_are_the_corners_and_the_middle(image, pixels):
    pieces = T.FiveCrop((4, 5))(image)

    assert type(pieces) is tuple
    corners = itertools.product([slice(0, 4), slice(5, 9)], [slice(0, 5), slice(7, 12)])
    for piece, (rows, columns) in zip(pieces, [*corners, (slice(2, 6), slice(4, 9))], strict=True):
        np.testing.assert_array_equal(piece, image[:, rows, columns])
    np.testing.assert_array_equal(pieces[4], T.CenterCrop((4, 5))(image))
    assert [piece.shape for piece in T.FiveCrop((2, 4))(pixels)] == [(2, 4, 3)] * 5
    assert [type(piece) for piece in T.FiveCrop(3)(jt.array(image))] == [jt.Var] * 5
    assert repr(T.FiveCrop(3)) == "FiveCrop(size=(3, 3))"


@pytest.mark.parametrize(
    ("vertical", "mirror"), [(False, (slice(None), slice(None, None, -1))), (True, slice(None, None, -1))]
)
def test_ten_pieces_are_five_of_the_image_and_five_of_its_mirror_image(pixels, vertical, mirror):
    cut = T.FiveCrop((4, 5))

    pieces = T.TenCrop((4, 5), vertical)(pixels)

    for piece, same in zip(pieces, [*cut(pixels), *cut(pixels[mirror])], strict=True):
        np.testing.assert_array_equal(piece, same)
    assert repr(T.TenCrop(3)) == "TenCrop(size=(3, 3))"


def test_pieces_become_one_array_of_planes(pixels):
    pieces = T.FiveCrop((4, 5))(pixels)

    stack = T.Compose([T.FiveCrop((4, 5)), T.ToTensor()])(pixels)

    assert stack.shape == (5, 3, 4, 5)
    np.testing.assert_array_equal(stack[3], T.ToTensor()(pieces[3]))


@pytest.mark.parametrize("make", [np.asarray, jt.array])
def test_floats_whose_end_alone_can_be_channels_are_pixels_for_pillow(pixels, make):
    light = make(pixels / np.float32(255))

    found = np.asarray(T.ToPILImage()(light))

    np.testing.assert_array_equal(found, pixels)
    assert T.ToPILImage()(np.zeros((3, 6, 3))).size == (3, 6)


def test_any_order_comes_and_each_time_all_of_them():
    jt.set_global_seed(0)
    both = T.RandomOrder([lambda x: x + "a", lambda x: x + "b", lambda x: x + "c"])

    assert {both("") for _ in range(100)} == set(map("".join, itertools.permutations("abc")))
    assert T.RandomOrder([])(3) == 3


def test_no_transform_or_a_list_of_modules_will_do():
    layers = nn.ModuleList([nn.ReLU(), nn.Identity()])

    assert T.Compose([])(3) == T.RandomApply([], 1.0)(3) == 3
    assert T.Compose(layers)(jt.array([-1.0, 2.0])).tolist() == [0, 2]
    assert T.RandomApply(layers, p=1)(jt.array([-1.0, 2.0])).tolist() == [0, 2]
    assert T.Compose(t for t in [abs])(-3) == T.RandomChoice((abs,), p=(1,))(-3) == 3


EVERY = [
    T.Resize(4), T.Resize((2, 2), "nearest"), T.CenterCrop(2), T.FiveCrop(1), T.RandomCrop(1), T.RandomCrop(1, 1),
    T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0), T.RandomResizedCrop(4), T.Pad(1), T.Pad(0, 0, "edge"),
    T.Pad(0, 0, "reflect"), T.ColorJitter(0.4), T.ColorJitter(0, 0.4), T.ColorJitter(0, 0, 0.4), T.ColorJitter(hue=0.2),
    T.Grayscale(3), T.RandomGrayscale(1.0), T.RandomRotation(50), T.RandomRotation(50, "bilinear"), T.RandomAffine(5),
    T.GaussianBlur(1), T.RandomErasing(1.0), T.Normalize(0.5, 0.5), T.ToPILImage(), T.ConvertImageDtype("uint8"),
    T.ConvertImageDtype("float64"),
]  # fmt: skip


@pytest.mark.parametrize("transform", EVERY, ids=str)
@pytest.mark.parametrize("shape", [(3, 0, 5), (3, 5, 0), (3, 0, 0)], ids=str)
def test_an_image_without_a_pixel_is_refused_in_words_or_stays_one(transform, shape):
    try:
        answer = transform(np.zeros(shape, np.float32))
    except JtError as error:
        assert str(shape[1]) in str(error)  # noqa: PT017 - either will do
    else:
        assert 0 in (answer.size if hasattr(answer, "mode") else answer.shape)


# ------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")])
def test_pixels_and_planes_become_images_of_pillow(rng, channels, mode):
    pixels = rng.integers(0, 256, (4, 5, channels), dtype=np.uint8)
    planes = np.moveaxis(pixels, -1, 0) / np.float32(255)

    for image in (pixels, planes, planes.astype("float16"), planes.astype("float64"), jt.array(planes)):
        made = T.ToPILImage()(image)
        assert (made.mode, made.size) == (mode, (5, 4))
        np.testing.assert_array_equal(np.asarray(made).reshape(4, 5, channels), pixels)
    np.testing.assert_array_equal(np.asarray(T.ToPILImage()(planes[0])), pixels[..., 0])


def test_an_image_has_the_mode_that_is_asked_for(pixels):
    made = T.ToPILImage("HSV")(pixels)

    assert made.mode == "HSV"
    np.testing.assert_array_equal(np.asarray(made), pixels)
    assert T.ToPILImage("RGB")(T.ToPILImage()(pixels)).tobytes() == pixels.tobytes()
    assert T.ToPILImage()(np.array([[-0.5, 2.0]])).tobytes() == b"\x00\xff"  # no light wraps around


def test_without_pillow_an_image_asks_for_it(pixels, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr(data.image, "_pillow_is_here", lambda: False)

    with pytest.raises(BackendError, match="pip install pillow"):
        T.ToPILImage()(pixels)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", np.float32, jt.float64])
def test_light_keeps_its_meaning_in_another_dtype(pixels, dtype):
    planes = T.ConvertImageDtype(dtype)(pixels)

    assert planes.dtype == dtype
    np.testing.assert_allclose(planes, np.moveaxis(pixels, -1, 0) / 255, atol=1e-3)
    np.testing.assert_array_equal(T.ConvertImageDtype("uint8")(planes), pixels)
    var = jt.array(np.moveaxis(pixels, -1, 0).copy())
    light = T.ConvertImageDtype(dtype)(var)
    assert (type(light), light.dtype, light.shape) == (jt.Var, planes.dtype.name, (3, 9, 12))
    np.testing.assert_array_equal(T.ConvertImageDtype("uint8")(light).numpy(), np.moveaxis(pixels, -1, 0))
    assert T.ConvertImageDtype("float64")(light).dtype == "float64"


def test_light_is_rounded_to_bytes_and_stays_among_them():
    light = np.array([[[-1.0, 0.0, 0.3 / 255, 0.7 / 255, 0.5, 1.0, 3.0]]])

    assert T.ConvertImageDtype("uint8")(light).ravel().tolist() == [0, 0, 0, 1, 128, 255, 255]
    assert T.ConvertImageDtype("uint8")(jt.array(light)).numpy().ravel().tolist() == [0, 0, 0, 1, 128, 255, 255]
    assert T.ConvertImageDtype("float64")(light) is light
    assert repr(T.ConvertImageDtype("half")) == "ConvertImageDtype(float16)"
