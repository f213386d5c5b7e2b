"""Auto-augment: each operator beside torchvision's at each magnitude, what is drawn, and of what kind the answer is."""

import math
from collections import Counter

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.errors import JtError
from jt_edu.data import transform as T  # noqa: N812
from jt_edu.data.transform import auto_augment
from jt_edu.data.transform.operators import LIGHTS, MOVES, operate
from jt_edu.data.transform.policies import TEXTS, policy_of

pytestmark = pytest.mark.usefixtures("python_backend")

FILL = (7, 8, 9)
KINDS = (T.RandAugment, T.TrivialAugmentWide, T.AutoAugment)


@pytest.fixture
def planes(rng):
    """A photograph (3, 23, 31) of bytes, neither black nor white."""
    return rng.integers(40, 126, (3, 23, 31), dtype=np.uint8)


@pytest.fixture
def by_torchvision(torch, torchvision):
    """The operator of this name, at a magnitude, on an array or on an image of Pillow."""
    from torchvision.transforms import InterpolationMode, autoaugment, functional  # noqa: PLC0415 - a guest

    def call(planes, name, magnitude, interpolation="nearest", pillow=False):
        pixels = np.moveaxis(planes, 0, -1)
        image = functional.to_pil_image(pixels) if pillow else torch.tensor(planes)
        mode = InterpolationMode(interpolation)
        found = autoaugment._apply_op(image, name, magnitude, mode, [*map(float, FILL)] if not pillow else FILL)
        return np.moveaxis(np.asarray(found), -1, 0) if pillow else found.numpy()

    return call


def spaces(wide):
    """Theirs: name -> (all magnitudes, whether the sign is drawn)."""
    from torchvision import transforms  # noqa: PLC0415 - a guest

    kind = transforms.TrivialAugmentWide() if wide else transforms.RandAugment()
    return kind._augmentation_space(31, *([] if wide else [(23, 31)]))


def values(name, wide, k):
    """(their magnitude, our value) for each sign."""
    magnitudes, signed = spaces(wide)[name]
    theirs = float(magnitudes[k]) if magnitudes.ndim else 0.0
    signs = (1, -1) if signed else (1,)
    return [(theirs * s, auto_augment._value(name, k / 30, s, (3, 23, 31), wide)) for s in signs]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", auto_augment.MOST)
def test_an_operator_equals_that_of_torchvision(by_torchvision, planes, name, wide):
    assert [*spaces(wide)] == [*auto_augment.MOST]
    for k in (0, 1, 9, 17, 30):
        for theirs, ours in values(name, wide, k):
            expected = by_torchvision(planes, name, theirs, pillow=name not in MOVES).astype(int)
            off = abs(operate(name, planes, ours, fill=FILL) - expected)

            assert (off > 1).mean() <= 0.01  # turned by 30 degrees, float32 rounds some halves the other way
            assert name in MOVES or off.max() <= 1


@pytest.mark.parametrize("name", MOVES)
def test_an_image_is_moved_between_pixels_as_by_torchvision(by_torchvision, planes, name):
    for theirs, ours in values(name, True, 11):
        expected = by_torchvision(planes, name, theirs, "bilinear").astype(int)

        assert abs(operate(name, planes, ours, "bilinear", FILL) - expected).max() <= 1


def test_a_grey_ramp_is_posterized_solarized_stretched_and_ranked():
    ramp = np.array([[[10, 100, 130, 210]]], np.uint8)

    assert operate("Posterize", ramp, 1).tolist() == [[[0, 0, 128, 128]]]
    assert operate("Posterize", ramp, 0).max() == 0
    assert operate("Solarize", ramp, 130).tolist() == [[[10, 100, 125, 45]]]
    assert operate("SolarizeAdd", ramp, 40).tolist() == [[[50, 140, 130, 210]]]
    assert operate("AutoContrast", ramp).tolist() == [[[0, 114, 153, 255]]]
    assert operate("AutoContrast", ramp[..., :1]).tolist() == [[[10]]]
    assert operate("Invert", ramp).tolist() == [[[245, 155, 125, 45]]]
    assert operate("Equalize", np.repeat(ramp, 1000, 1)).tolist()[0][0] == [
        0,
        91,
        182,
        255,
    ]  # ranks of 1000 in steps of 11
    assert operate("TranslateX", ramp, 1).tolist() == [[[0, 10, 100, 130]]]
    assert operate("Color", ramp, 0.0).tolist() == ramp.tolist()  # grey has no colour to lose


def test_the_rim_is_as_sharp_as_it_was(planes):
    blurred = operate("Sharpness", planes, 0.0)

    np.testing.assert_array_equal(blurred[:, 0], planes[:, 0])
    np.testing.assert_array_equal(blurred[:, :, -1], planes[:, :, -1])
    assert blurred[:, 1:-1, 1:-1].std() < planes[:, 1:-1, 1:-1].std() / 1.5
    np.testing.assert_array_equal(operate("Sharpness", planes[:, :2], 0.0), planes[:, :2])


def test_a_blur_is_that_of_the_transform_and_fits_into_a_small_image(planes):
    np.testing.assert_array_equal(operate("GaussianBlur", planes, 1.5), T.GaussianBlur(11, 1.5)(np.moveaxis(
        planes, 0, -1)).transpose(2, 0, 1))  # fmt: skip
    assert operate("GaussianBlur", planes[:, :2, :3], 2.0).shape == (3, 2, 3)


# --------------------------------------------------------------------------------------------------- what is drawn


@pytest.fixture
def applied(monkeypatch):
    """Each operator that is applied, and its value."""
    heard = []

    def hear(name, planes, value, *_):
        heard.append((name, value))
        return planes

    monkeypatch.setattr(auto_augment, "operate", hear)
    return heard


def test_so_many_operators_all_equally_often_and_half_of_them_backwards(applied, planes):
    augment = T.RandAugment(num_ops=3, magnitude=30)
    jt.set_global_seed(0)
    for _ in range(1000):
        augment.augmented(planes)

    counts = Counter(name for name, _ in applied)
    assert counts.total() == 3000
    assert {*counts} == {*auto_augment.MOST}
    assert all(160 < n < 270 for n in counts.values())
    turned = [value for name, value in applied if name == "Rotate"]
    assert {*turned} == {30, -30}
    assert 0.3 < np.mean(np.array(turned) > 0) < 0.7


def test_the_ranges_of_trivial_augment_are_wide(applied, torchvision, planes):
    jt.set_global_seed(0)
    for _ in range(4000):
        T.TrivialAugmentWide(num_magnitude_bins=5).augmented(planes)

    for name, most in {"Rotate": 135, "ShearX": 0.99, "TranslateY": 32, "Brightness": 0.99}.items():
        steps = np.array([0, 0.25, 0.5, 0.75, 1]) * most
        found = {round(v - (name == "Brightness"), 6) for n, v in applied if n == name}
        assert found == {round(s * v, 6) for s in (1, -1) for v in steps}
    assert {v for n, v in applied if n == "Posterize"} == {8, 6, 5, 4, 2}
    assert {v for n, v in applied if n == "Solarize"} == {255, 191.25, 127.5, 63.75, 0}
    assert Counter(n for n, _ in applied).total() == 4000


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_policies_are_those_of_torchvision(torchvision, policy):
    from torchvision.transforms import AutoAugment, AutoAugmentPolicy  # noqa: PLC0415 - a guest

    theirs = AutoAugment(AutoAugmentPolicy(policy)).policies

    assert policy_of(policy) == [[(n, p, float(m or 0)) for n, p, m in pair] for pair in theirs]


def test_a_pair_of_the_policy_is_drawn_and_each_of_it_by_its_likelihood(applied, planes, monkeypatch):
    monkeypatch.setitem(TEXTS, "svhn", "Rotate 0.5 9, Invert 1 0; Equalize 0 3, Posterize 1 8")
    jt.set_global_seed(0)
    for _ in range(400):
        T.AutoAugment("svhn").augmented(planes)

    counts = Counter(name for name, _ in applied)
    assert set(counts) == {"Rotate", "Invert", "Posterize"}
    assert counts["Invert"] + counts["Posterize"] == 400
    assert 160 < counts["Invert"] < 240
    assert 0.35 < counts["Rotate"] / counts["Invert"] < 0.65
    assert dict(applied)["Posterize"] == 4


# ----------------------------------------------------------------------------------------------- images of all kinds


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_of_the_kind_that_was_given(kind, rng):
    pixels = rng.integers(0, 256, (8, 9, 3), dtype=np.uint8)
    planes = np.moveaxis(pixels, -1, 0)
    light = (planes / 255).astype(np.float32)

    def drawn(image):
        jt.set_global_seed(5)
        return kind(fill=3)(image)

    expected = np.moveaxis(drawn(pixels), -1, 0)
    assert drawn(pixels).dtype == np.uint8
    np.testing.assert_array_equal(drawn(jt.array(planes)).numpy(), expected)
    np.testing.assert_allclose(drawn(light), expected / np.float32(255))
    np.testing.assert_allclose(drawn(jt.array(light)).numpy(), expected / np.float32(255))
    assert drawn(light.astype(np.float64)).dtype == np.float64
    assert drawn(pixels[..., 0]).shape == (8, 9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_draws_the_same(kind, planes):
    def drawn(seed):
        jt.set_global_seed(seed)
        return [kind().augmented(planes) for _ in range(8)]

    assert all(np.array_equal(a, b) for a, b in zip(drawn(1), drawn(1), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(drawn(1), drawn(2), strict=True))


def test_a_stack_is_changed_alike(planes):
    for name in (*LIGHTS, *MOVES):
        value = 0.2 if name.startswith("Shear") else 1.5
        both = operate(name, np.stack([planes, planes[::-1]]), value)

        np.testing.assert_array_equal(both[1], operate(name, np.ascontiguousarray(planes[::-1]), value))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: T.RandAugment(magnitude=31), "from 0 to 30; found magnitude=31"),
        (lambda: T.RandAugment(num_ops=-1), "found num_ops=-1"),
        (lambda: T.RandAugment(num_magnitude_bins=1), "found num_magnitude_bins=1"),
        (lambda: T.RandAugment(interpolation="bicubic"), "found interpolation='bicubic'"),
        (lambda: T.RandAugment(fill=300), "a colour of pixels is from 0 to 255; found 300"),
        (lambda: T.AutoAugment("imagenette"), "found policy='imagenette'"),
        (lambda: T.TrivialAugmentWide(num_magnitude_bins=0), "found num_magnitude_bins=0"),
        (lambda: operate("Color", np.zeros((2, 3, 3), np.uint8), 2.0), "3 channels, or of 1; found shape"),
        (lambda: T.operator_grid(np.zeros((2, 2), np.uint8), {"Rotat": [1]}), "found 'Rotat'. Try: Rotate"),
        (lambda: T.operator_grid(np.zeros((2, 2), np.uint8), {"Rotate": [1], "Invert": []}), "equally many"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(JtError, match=words):
        call()


def test_a_grid_shows_a_row_for_each_operator(planes):
    grid = np.asarray(T.operator_grid(np.moveaxis(planes, 0, -1), {"Identity": [0, 0], "Rotate": [0, 90]}, fill=FILL))

    assert grid.shape == (2 * 23, 2 * 31, 3)
    for corner in (grid[:23, :31], grid[:23, 31:], grid[23:, :31]):
        np.testing.assert_array_equal(corner, np.moveaxis(planes, 0, -1))
    assert tuple(grid[24, 32]) == FILL


# ------------------------------------------------------------------------------------------------------------ bicubic


@pytest.mark.parametrize("size", [(7, 40), (50, 13), (23, 31)])
def test_a_cubic_resize_equals_pytorchs(torch, planes, size):
    light = planes.astype(np.float32)
    for antialias in (True, False):
        theirs = torch.nn.functional.interpolate(
            torch.tensor(light)[None], size, mode="bicubic", antialias=antialias)[0].numpy()  # fmt: skip

        np.testing.assert_allclose(T.Resize(size, "bicubic", antialias)(light), theirs, atol=2e-3)
        found = T.Resize(size, "bicubic", antialias)(jt.array(light)).numpy()
        np.testing.assert_allclose(found, theirs, atol=2e-3)


def test_a_cubic_resize_of_bytes_equals_pillows(planes):
    from PIL import Image  # noqa: PLC0415 - a guest

    steps = np.where(planes > 80, np.uint8(255), np.uint8(0))  # a curve swings over at each
    pixels = np.moveaxis(steps, 0, -1)
    for h, w in ((9, 13), (50, 13)):  # rows are resized first, which Pillow does where that is less work
        theirs = np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).resize((w, h), Image.Resampling.BICUBIC))

        assert abs(T.Resize((h, w), "bicubic")(pixels).astype(int) - theirs).max() <= 1


def test_a_cubic_curve_is_one_at_a_pixel_and_sums_to_one_between():
    from jt_edu.data.transform.resample import cubic  # noqa: PLC0415 - of this test alone

    for slope in (-0.5, -0.75, -1.0):
        assert cubic(np.arange(-3, 4), slope).tolist() == [0, 0, 0, 1, 0, 0, 0]
        places = np.linspace(0, 1, 9)
        np.testing.assert_allclose(sum(cubic(places + k, slope) for k in range(-2, 2)), 1)
        assert math.isclose((cubic(1.0 + 1e-6, slope) - cubic(1.0 - 1e-6, slope)) / 2e-6, slope, rel_tol=1e-4)
