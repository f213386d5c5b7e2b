"""Transforms: each against its formula, written here once more, or against PyTorch's own function."""

import colorsys
import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import data
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.data import transform as T  # noqa: N812
from jt_edu.data.transform import resample
from tests.data.light import LEVEL

pytestmark = pytest.mark.usefixtures("python_backend")


@pytest.fixture
def image(rng):
    """Planes (3, 6, 5) of light."""
    return rng.random((3, 6, 5)).astype(np.float32)


@pytest.fixture
def pixels(rng):
    """A photograph (6, 5, 3) of bytes."""
    return rng.integers(0, 256, (6, 5, 3), dtype=np.uint8)


EVERY = [
    T.Resize((4, 7)), T.Resize(3, "nearest"), T.CenterCrop(4), T.CenterCrop((8, 3)), T.RandomCrop(3, padding=2),
    T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0), T.RandomResizedCrop(4), T.Pad((1, 2)),
    T.Pad(2, padding_mode="reflect"), T.ColorJitter(0.4, 0.4, 0.4, 0.2), T.Grayscale(3), T.RandomRotation(50),
    T.RandomRotation(50, "bilinear"), T.RandomErasing(1.0), T.RandomErasing(1.0, value="random"),
    T.RandomGrayscale(1.0), T.GaussianBlur(3), T.RandomAffine(40, (0.2, 0.3), (0.7, 1.3), 20),
    T.RandomAffine(40, (0.2, 0.3), (0.7, 1.3), (-9, 9, 5, 20), "bilinear", 0.0), T.RandomOrder([T.Pad(1), T.Resize(4)]),
]  # fmt: skip


@pytest.mark.parametrize("transform", EVERY, ids=str)
def test_arrays_vars_and_pixels_are_changed_alike_and_keep_their_kind(transform, pixels, seed):
    def changed(image):
        np.random.seed(seed)  # noqa: NPY002
        return transform(image)

    planes = T.ToTensor()(pixels)
    array, var, whole = changed(planes), changed(jt.array(planes)), changed(pixels)

    assert (type(array), type(var), type(whole)) == (np.ndarray, jt.Var, np.ndarray)
    assert (array.dtype, var.dtype, whole.dtype) == ("float32", "float32", "uint8")
    np.testing.assert_allclose(var.numpy(), array, atol=1e-6)
    if getattr(transform, "value", 0) != "random":
        np.testing.assert_allclose(np.moveaxis(whole, -1, 0) / 255, array.clip(0, 1), atol=1.01 * LEVEL)


@pytest.mark.parametrize("transform", EVERY, ids=str)
def test_a_seed_repeats_a_transform_and_the_image_stays_as_it_is(transform, pixels, seed):
    before = pixels.copy()
    jt.set_global_seed(seed)
    first = transform(pixels)
    jt.set_global_seed(seed)

    np.testing.assert_array_equal(transform(pixels), first)
    np.testing.assert_array_equal(pixels, before)


# -------------------------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("way", ["nearest", "bilinear", "bicubic"])
def test_an_image_of_the_size_that_is_asked_for_is_not_read_again(image, way):
    """It was multiplied with two unit matrices, for each image of a loader."""
    planes = {"planes": image, "bytes": (image * 255).astype(np.uint8), "var": jt.array(image)}

    assert all(resample.resized(x, [6, 5], way, antialias=True) is x for x in planes.values())
    assert resample.resized(image, (5, 6), way, antialias=True).shape == (3, 5, 6)


@pytest.mark.parametrize("size", [(6, 5), (3, 2), (13, 11), (1, 1), (12, 10), (5, 17)], ids=str)
@pytest.mark.parametrize("way", ["bilinear", "nearest"])
@pytest.mark.parametrize("antialias", [True, False])
def test_resizing_agrees_with_pytorch(torch, image, size, way, antialias):
    more = {"align_corners": False, "antialias": antialias} if way == "bilinear" else {}
    expected = torch.nn.functional.interpolate(torch.tensor(image)[None], size, mode=way, **more)[0]

    np.testing.assert_allclose(T.Resize(size, way, antialias)(image), expected, atol=1e-6)
    np.testing.assert_allclose(T.Resize(size, way, antialias)(jt.array(image)).numpy(), expected, atol=1e-6)


def test_fine_stripes_become_grey_where_an_image_shrinks():
    stripes = np.tile(np.array([0, 255], np.uint8), (30, 45))[..., None]

    assert np.ptp(T.Resize(10)(stripes)[:, 1:-1]) <= 30
    assert np.ptp(T.Resize(10, antialias=False)(stripes)) == 255
    box = {"scale": (1, 1), "ratio": (3, 3)}
    assert np.ptp(T.RandomResizedCrop((10, 30), **box)(stripes)[:, 1:-1]) <= 30
    assert np.ptp(T.RandomResizedCrop((10, 30), antialias=False, **box)(stripes)) == 255


def test_one_number_is_the_length_of_the_shorter_side():
    assert T.Resize(4)(np.zeros((1, 8, 20))).shape == (1, 4, 10)
    assert T.Resize(4)(np.zeros((1, 7, 3))).shape == (1, 9, 4)


def test_pieces_are_cut_where_they_should_be(image, rng):
    np.testing.assert_array_equal(T.CenterCrop((2, 3))(image), image[:, 2:4, 1:4])
    wide = T.CenterCrop((4, 9))(image)
    np.testing.assert_array_equal(wide, np.pad(image, [(0, 0), (0, 0), (2, 2)])[:, 1:5])
    places = {
        (int(y), int(x))
        for _ in range(200)
        for piece in [T.RandomCrop((5, 3))(image)]
        for y, x in [
            np.argwhere((np.lib.stride_tricks.sliding_window_view(image[0], (5, 3)) == piece[0]).all((2, 3)))[0]
        ]
    }
    assert places == {(y, x) for y in range(2) for x in range(3)}


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize(("padding", "ltrb"), [(2, (2, 2, 2, 2)), ((1, 3), (1, 3, 1, 3)), ((0, 1, 2, 3), (0, 1, 2, 3))])
def test_borders_are_those_of_numpy(image, mode, padding, ltrb):
    left, top, right, bottom = ltrb
    expected = np.pad(image, [(0, 0), (top, bottom), (left, right)], mode)

    np.testing.assert_array_equal(T.Pad(padding, padding_mode=mode)(image), expected)


def test_a_border_has_the_colour_it_is_given(image, pixels):
    framed = T.Pad(1, fill=(0.1, 0.2, 0.3))(image)

    np.testing.assert_allclose(framed[:, 0, 0], [0.1, 0.2, 0.3], rtol=1e-6)
    np.testing.assert_array_equal(framed[:, 1:-1, 1:-1], image)
    assert T.Pad(1, fill=7)(pixels)[0, 0].tolist() == [7, 7, 7]
    assert T.Pad(1, fill=7)(pixels[..., 0])[0, 0] == 7


def test_a_crop_may_pad_an_image_that_is_too_small(image):
    assert T.RandomCrop(9, pad_if_needed=True)(image).shape == (3, 9, 9)
    with pytest.raises(ShapeError, match="6 by 5"):
        T.RandomCrop(9)(image)


def test_flips_happen_as_often_as_they_are_told(image):
    np.testing.assert_array_equal(T.RandomHorizontalFlip(1)(image), image[:, :, ::-1])
    np.testing.assert_array_equal(T.RandomVerticalFlip(1)(image), image[:, ::-1])
    for flip in (T.RandomHorizontalFlip, T.RandomVerticalFlip):
        np.testing.assert_array_equal(flip(0)(image), image)
        jt.set_global_seed(1)
        assert 240 < sum((flip(0.3)(image) != image).any() for _ in range(1000)) < 360


def test_random_pieces_have_the_area_and_the_shape_they_are_told():
    jt.set_global_seed(0)
    crop = T.RandomResizedCrop(8, scale=(0.25, 0.5), ratio=(0.5, 2.0))
    boxes = np.array([crop.box(200, 300) for _ in range(500)])
    top, left, h, w = boxes.T
    area, ratio = h * w / 60_000, w / h

    assert (top >= 0).all()
    assert (top + h <= 200).all()
    assert (left + w <= 300).all()
    assert 0.24 < area.min() < 0.27
    assert 0.48 < area.max() < 0.51
    assert abs(np.log(ratio).mean()) < 0.1
    assert T.RandomResizedCrop(8, scale=(1, 1), ratio=(3, 4)).box(100, 50) == (41, 0, 17, 50)
    assert T.RandomResizedCrop(8, scale=(1, 1), ratio=(0.2, 0.25)).box(50, 100) == (0, 44, 50, 12)


# ----------------------------------------------------------------------------------------------------------- rotation


def turned_by_pytorch(torch, image, angle, way, fill):
    """torchvision's way: a grid of places, grid_sample, and the mask of what lies inside."""
    h, w = image.shape[-2:]
    a = math.radians(angle)
    y, x = np.mgrid[:h, :w] + 0.5
    dx, dy = x - w / 2, y - h / 2
    grid = np.stack([
        (math.cos(a) * dx - math.sin(a) * dy) / (w / 2), (math.sin(a) * dx + math.cos(a) * dy) / (h / 2),
    ], -1)  # fmt: skip
    stacked = torch.tensor(np.concatenate([image, np.ones((1, h, w), np.float32)]))[None].double()
    out = torch.nn.functional.grid_sample(stacked, torch.tensor(grid)[None], way, "zeros", align_corners=False)[
        0
    ].numpy()
    light, mask = out[:-1], out[-1]
    return np.where(mask < 0.5, fill, light) if way == "nearest" else light * mask + (1 - mask) * fill


@pytest.mark.parametrize("angle", [0, 17.3, -45.1, 91, 133.7, 180, 301])
@pytest.mark.parametrize("way", ["nearest", "bilinear"])
def test_turning_agrees_with_pytorch(torch, image, angle, way):
    ours = T.RandomRotation((angle, angle), way, fill=0.25)(image)

    np.testing.assert_allclose(ours, turned_by_pytorch(torch, image, angle, way, 0.25), atol=LEVEL)


def test_four_quarter_turns_give_the_image_back(image):
    quarter = T.RandomRotation((90, 90))
    square = image[:, :5]

    np.testing.assert_array_equal(quarter(square), np.rot90(square, 1, (1, 2)))
    np.testing.assert_array_equal(quarter(quarter(quarter(quarter(square)))), square)


def test_angles_fill_their_limits():
    jt.set_global_seed(0)
    spot = np.zeros((1, 101, 101))
    spot[0, 50, 90] = 1
    angles = []
    for _ in range(300):
        _, y, x = np.argwhere(T.RandomRotation(30, "bilinear")(spot) > 0.2)[0]
        angles.append(math.degrees(math.atan2(50 - y, x - 50)))

    assert -33 < min(angles) < -26
    assert 26 < max(angles) < 33


# ------------------------------------------------------------------------------------------------------------- colour


def grey(image):
    return 0.2989 * image[0] + 0.587 * image[1] + 0.114 * image[2]


def test_grey_is_a_weighted_mean(image):
    np.testing.assert_allclose(T.Grayscale()(image), grey(image)[None], atol=1e-6)
    np.testing.assert_allclose(T.Grayscale(3)(image), np.stack([grey(image)] * 3), atol=1e-6)


@pytest.mark.parametrize("f", [0.0, 0.4, 1.0, 1.7])
def test_brightness_contrast_and_saturation_follow_their_formulas(image, f):
    pure = (f, f)
    np.testing.assert_allclose(T.ColorJitter(brightness=pure)(image), (f * image).clip(0, 1), atol=LEVEL)
    contrast = (f * image + (1 - f) * grey(image).mean()).clip(0, 1)
    np.testing.assert_allclose(T.ColorJitter(contrast=pure)(image), contrast, atol=LEVEL)
    saturation = (f * image + (1 - f) * grey(image)).clip(0, 1)
    np.testing.assert_allclose(T.ColorJitter(saturation=pure)(image), saturation, atol=LEVEL)


@pytest.mark.parametrize("turn", [-0.5, -0.2, 0.1, 0.37, 0.5])
def test_hue_turns_every_colour_as_colorsys_does(image, turn):
    image[:, 0, 0], image[:, 0, 1] = 0.5, (1, 0, 0)  # grey has no hue
    expected = np.empty_like(image)
    for y, x in np.ndindex(6, 5):
        h, s, v = colorsys.rgb_to_hsv(*map(float, image[:, y, x]))
        expected[:, y, x] = colorsys.hsv_to_rgb((h + turn) % 1, s, v)

    np.testing.assert_allclose(T.ColorJitter(hue=(turn, turn))(image), expected, atol=LEVEL)


def test_jitter_draws_between_its_limits_and_in_any_order(image):
    jt.set_global_seed(0)
    factors = [T.ColorJitter(brightness=0.3)(image * 0 + 0.5).ravel()[0] / 0.5 for _ in range(300)]
    both = T.ColorJitter(brightness=(1.5, 1.5), contrast=(0.5, 0.5))

    assert 0.7 <= min(factors) < 0.73
    assert 1.27 < max(factors) <= 1.3
    assert len({round(float(both(image).sum()), 4) for _ in range(30)}) == 2


def test_one_channel_has_no_hue(image):
    plane = image[:1]

    np.testing.assert_array_equal(T.ColorJitter(saturation=(0, 0), hue=0.5)(plane), plane)
    np.testing.assert_allclose(T.ColorJitter(brightness=(2, 2))(plane), (2 * plane).clip(0, 1))


# ------------------------------------------------------------------------------------------------------------ erasing


def test_a_hole_has_the_size_and_the_colour_it_is_told():
    jt.set_global_seed(0)
    image = np.ones((3, 40, 50), np.float32)
    erase = T.RandomErasing(1.0, scale=(0.1, 0.3), ratio=(0.5, 2.0), value=(0.1, 0.2, 0.3))
    for _ in range(50):
        result = erase(image)
        rows, columns = np.nonzero(result[0] != 1)
        h, w = np.ptp(rows) + 1, np.ptp(columns) + 1
        assert len(rows) == h * w
        assert 0.09 < h * w / 2000 < 0.31
        assert 0.45 < h / w < 2.2
        np.testing.assert_allclose(result[:, rows[0], columns[0]], [0.1, 0.2, 0.3], rtol=1e-6)
    noise = T.RandomErasing(1.0, scale=(0.5, 0.5), value="random")(image)
    assert abs(noise[noise != 1].std() - 1) < 0.1
    assert 40 < sum((T.RandomErasing(0.3)(image) != 1).any() for _ in range(200)) < 85


# ------------------------------------------------------------------------------------------------------------- values


def test_pixels_become_planes_from_0_to_1(pixels):
    planes = T.ToTensor()(pixels)

    np.testing.assert_array_equal(planes, (np.moveaxis(pixels, -1, 0) / np.float32(255)).astype(np.float32))
    assert T.ToTensor()(pixels[..., 0]).shape == (1, 6, 5)
    assert planes.flags.c_contiguous
    with pytest.raises(DtypeError, match="float32 of shape"):
        T.ToTensor()(planes)


def test_images_of_pillow_are_pixels(pixels):
    image = pytest.importorskip("PIL.Image")

    np.testing.assert_array_equal(T.RandomVerticalFlip(1)(image.fromarray(pixels)), pixels[::-1])
    assert T.ToTensor()(image.fromarray(pixels).convert("P")).shape == (3, 6, 5)


def test_normalizing_takes_the_mean_off_each_channel(image):
    mean, std = [0.1, 0.2, 0.3], [0.5, 1.0, 2.0]
    expected = (image - np.array(mean)[:, None, None]) / np.array(std)[:, None, None]

    np.testing.assert_allclose(T.Normalize(mean, std)(image), expected, rtol=1e-5)
    np.testing.assert_allclose(T.Normalize(0.5, 0.25)(image), (image - 0.5) / 0.25, rtol=1e-5)
    np.testing.assert_allclose(T.Normalize(mean, std)(np.stack([image] * 2))[1], expected, rtol=1e-5)
    assert T.Normalize(mean, std)(image).dtype == "float32"


def test_transforms_are_combined():
    assert T.Compose([lambda x: x + 1, T.Lambda(lambda x: 2 * x)])(3) == 8
    jt.set_global_seed(0)
    assert 240 < sum(T.RandomApply([lambda _: 1], p=0.3)(0) for _ in range(1000)) < 360
    picks = np.bincount(
        [T.RandomChoice([lambda _: 0, lambda _: 1, lambda _: 2], p=[1, 0, 3])(None) for _ in range(1000)]
    )
    assert picks[1] == 0
    assert 200 < picks[0] < 300
    assert {T.RandomChoice([lambda _: 0, lambda _: 1])(None) for _ in range(50)} == {0, 1}


def test_transforms_say_what_they_do():
    assert repr(T.Resize((4, 7))) == "Resize(size=(4, 7), interpolation='bilinear', antialias=True)"
    assert repr(T.Compose([T.ToTensor(), T.Normalize(0.5, 0.25)])) == (
        "Compose(\n    ToTensor(),\n    Normalize(mean=[0.5], std=[0.25]),\n)"
    )
    assert repr(T.RandomApply([T.ToTensor()], p=0.25)) == "RandomApply(\n    ToTensor(),\n    p=0.25,\n)"
    assert repr(T.RandomChoice([T.ToTensor()], p=[2.0])) == "RandomChoice(\n    ToTensor(),\n    p=[2.0],\n)"


def test_augmented_batches_are_the_same_with_workers(pixels):
    def epoch(workers):
        chain = T.Compose([T.RandomCrop(4, padding=1), T.RandomHorizontalFlip(), T.ColorJitter(0.3), T.ToTensor()])
        loader = data.DataLoader(Changed(pixels, chain), 2, num_workers=workers, generator=1)
        return np.concatenate([b.numpy() for b in loader])

    with_none, with_two = epoch(0), epoch(2)

    np.testing.assert_array_equal(with_two, with_none)
    assert len({image.tobytes() for image in with_none}) == 5


class Changed(data.Dataset):
    """One image, five times, each time changed by chance."""

    def __init__(self, pixels, change):
        self.set_attrs(total_len=5)
        self.pixels, self.change = pixels, change

    def __getitem__(self, k):
        return self.change(self.pixels)


def test_what_is_no_image_is_refused():
    for wrong, error, words in (
        (np.zeros((3, 6, 5), np.uint8), ShapeError, r"\(3, 6, 5\)"), (np.zeros(4), ShapeError, r"\(4,\)"),
        ("cat.png", ArgumentError, "str"), ([[1]], ArgumentError, "list"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            T.Resize(4)(wrong)


def test_an_image_of_16_bits_keeps_its_upper_8_and_any_numbers_are_no_image():
    from PIL import Image  # noqa: PLC0415 - a guest: the rest needs no Pillow

    wide = Image.fromarray(np.array([[1000, 60000]], np.uint16))

    np.testing.assert_allclose(T.ToTensor()(wide), [[[3 / 255, 234 / 255]]], rtol=1e-6)
    for kind in (np.float32, np.int32):
        with pytest.raises(data.FileError, match=r"8 or 16 bits; found mode '[FI]'. Try: np.asarray"):
            T.ToTensor()(Image.fromarray(np.ones((2, 2), kind)))
