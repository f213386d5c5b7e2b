"""Mixup and CutMix: labels that sum to one, the law of lambda, boxes; erasing; samplers. Beside timm's."""

import re

import numpy as np
import pytest
from scipy import stats

import jt_edu as jt
from jt_edu.base.errors import JtError, ShapeError
from jt_edu.zoo import data

pytestmark = pytest.mark.usefixtures("python_backend")

MODES = ("batch", "pair", "elem")


@pytest.fixture
def images(rng):
    return rng.random((8, 3, 12, 16)).astype(np.float32)


@pytest.fixture
def labels(rng):
    return rng.integers(0, 5, 8)


def shares(mixup, batches=400, n=2):
    """lam of so many batches of black images with white partners, as pixels and as labels say it."""
    x = np.zeros((n, 1, 20, 20), np.float32)
    x[n // 2 :] = 1
    y = np.repeat([0, 1], n // 2)
    jt.set_global_seed(3)
    found = [mixup(x, y) for _ in range(batches)]
    return np.array([1 - a[: n // 2].mean((1, 2, 3)) for a, _ in found]), np.array([b[: n // 2, 0] for _, b in found])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("alphas", [(0.4, 0.0), (0.0, 1.0), (0.8, 1.0)])
def test_labels_sum_to_one_and_say_how_much_of_each_image_is_there(mode, alphas):
    pixels, said = shares(data.Mixup(*alphas, mode=mode, label_smoothing=0, num_classes=2), 50, 6)

    np.testing.assert_allclose(pixels, said, atol=1e-5)
    assert len(np.unique(said)) > 20
    assert (len(np.unique(said[0])) == 1) == (mode == "batch")


@pytest.mark.parametrize("alpha", [0.2, 1.0, 5.0])
def test_lambda_is_distributed_as_beta(alpha):
    mixup = data.Mixup(alpha, num_classes=2, label_smoothing=0)
    cut = data.Mixup(0, alpha, num_classes=2, label_smoothing=0, correct_lam=False, mode="elem")

    for found in (shares(mixup)[1], shares(cut)[1]):
        assert stats.kstest(found.ravel(), stats.beta(alpha, alpha).cdf).pvalue > 0.01
        assert stats.kstest(found.ravel(), stats.beta(2 * alpha, alpha).cdf).pvalue < 0.01


def test_a_box_that_is_cut_off_at_the_rim_corrects_lambda():
    for correct in (True, False):
        pixels, said = shares(data.Mixup(0, 1.0, num_classes=2, label_smoothing=0, correct_lam=correct))
        assert np.allclose(pixels, said, atol=1e-5) == correct
        assert (pixels >= said - 0.08).all()  # what is cut off of a box remains of the image; sides are whole pixels


def test_boxes_of_minmax_are_inside_and_of_the_sides_that_were_asked_for():
    mixup = data.Mixup(0, cutmix_minmax=(0.25, 0.5), num_classes=2, label_smoothing=0, correct_lam=False)
    x = np.stack([np.zeros((1, 20, 40)), np.ones((1, 20, 40))]).astype(np.float32)
    jt.set_global_seed(0)
    for _ in range(100):
        mixed, y = mixup(x, np.array([0, 1]))
        rows, columns = (np.flatnonzero(mixed[0, 0].any(axis)) for axis in (1, 0))
        assert 5 <= len(rows) == np.ptp(rows) + 1 < 10
        assert 10 <= len(columns) == np.ptp(columns) + 1 < 20
        np.testing.assert_allclose(y[0, 0], 1 - len(rows) * len(columns) / 800, rtol=1e-5)


def test_one_of_both_methods_is_drawn_and_sometimes_none():
    x = np.stack([np.zeros((1, 10, 10)), np.ones((1, 10, 10))]).astype(np.float32)

    def counted(**given):
        mixup = data.Mixup(1.0, 1.0, num_classes=2, **given)
        jt.set_global_seed(0)
        found = [mixup(x, np.array([0, 1]))[0][0] for _ in range(400)]
        plain = sum((a == 0).all() for a in found)
        return plain / 400, sum(a.min() < a.max() or a.max() == 1 for a in found) / 400

    assert 0.4 < counted()[1] < 0.55
    assert 0.65 < counted(switch_prob=0.8)[1] < 0.85
    assert 0.65 < counted(prob=0.3)[0] < 0.8


@pytest.mark.parametrize("mode", ["pair", "elem"])
@pytest.mark.parametrize("given", [{"mixup_alpha": 0.5}, {"mixup_alpha": 0, "cutmix_alpha": 1.0},
                                   {"cutmix_alpha": 1.0, "prob": 0.6, "correct_lam": False},
                                   {"cutmix_minmax": (0.2, 0.7)}])  # fmt: skip
def test_a_seed_mixes_what_it_mixes_in_timm(torch, timm, images, labels, mode, given):
    from timm.data import Mixup  # noqa: PLC0415 - a guest

    settings = {**given, "mode": mode, "num_classes": 5}
    np.random.seed(7)  # noqa: NPY002 - timm's
    expected = Mixup(**settings)(torch.tensor(images), torch.tensor(labels))
    np.random.seed(7)  # noqa: NPY002 - timm's
    found = data.Mixup(**settings)(images, labels)

    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=1e-6)


def test_a_batch_is_mixed_with_itself_backwards_as_in_timm(torch, timm, images, labels, monkeypatch):
    from timm.data import Mixup  # noqa: PLC0415 - a guest

    theirs = Mixup(0.5, num_classes=5)
    monkeypatch.setattr(theirs, "_params_per_batch", lambda: (0.3, False))
    ours = data.Mixup(0.5, num_classes=5)
    monkeypatch.setattr(
        "jt_edu.zoo.data.mixup.drawn", lambda law, *_: np.array([0.3]) if law == "beta" else np.zeros(1)
    )
    expected = theirs(torch.tensor(images), torch.tensor(labels))

    for one, other in zip(ours(images, labels), expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=1e-6)


@pytest.mark.parametrize("multi_label", [False, True])
def test_targets_are_timms(torch, timm, rng, labels, multi_label):
    from timm.data.mixup import mixup_target  # noqa: PLC0415 - a guest

    given = rng.random((8, 5)).astype(np.float32) if multi_label else labels
    lam = rng.random((8, 1)).astype(np.float32)
    expected = mixup_target(torch.tensor(given), 5, torch.tensor(lam), 0.2, multi_label)

    np.testing.assert_allclose(data.mixup_target(given, 5, lam, 0.2, multi_label), expected.numpy(), rtol=1e-6)


def test_vars_and_arrays_are_mixed_alike(images, labels):
    mixup = data.Mixup(0.5, 0.5, mode="elem", num_classes=5)
    jt.set_global_seed(1)
    x, y = mixup(jt.array(images), jt.array(labels))
    jt.set_global_seed(1)
    expected = mixup(images, labels)

    np.testing.assert_allclose(x.numpy(), expected[0], atol=1e-6)
    np.testing.assert_array_equal(y.numpy(), expected[1])
    assert jt.nn.cross_entropy_loss(jt.zeros(8, 5), y).item() == pytest.approx(np.log(5))


def test_switched_off_images_stay_and_labels_are_spread(images, labels):
    mixup = data.Mixup(num_classes=5)
    mixup.mixup_enabled = False
    x, y = mixup(images, labels)

    assert x is images
    np.testing.assert_allclose(y, 0.9 * np.eye(5)[labels] + 0.02, rtol=1e-6)


def test_bytes_are_mixed_where_a_batch_is_made(rng):
    examples = [(rng.integers(0, 256, (3, 6, 7), dtype=np.uint8), k) for k in range(4)]
    mixup = data.FastCollateMixup(1.0, num_classes=4, mode="pair", label_smoothing=0)
    jt.set_global_seed(0)
    x, y = mixup(examples)

    assert (x.dtype, x.shape) == (np.uint8, (4, 3, 6, 7))
    for k in range(4):
        lam, other = y[k, k], examples[3 - k][0].astype(float)
        np.testing.assert_allclose(x[k], lam * examples[k][0] + (1 - lam) * other, atol=0.501)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: data.Mixup(0.0), "an alpha above 0"),
        (lambda: data.Mixup(-1.0), "found mixup_alpha=-1"),
        (lambda: data.Mixup(mode="half"), "found mode='half'"),
        (lambda: data.Mixup(cutmix_minmax=(0.5, 0.2)), "lower limit first"),
        (lambda: data.Mixup(prob=2), "found prob=2"),
        (lambda: data.Mixup(num_classes=2)(np.zeros((3, 1, 2, 2)), np.zeros(3, int)), "found 3 images"),
        (lambda: data.Mixup(num_classes=2)(np.zeros((2, 1, 2, 2)), np.array([0, 2])), "numbers from 0 to 1; found"),
        (lambda: data.mixup_target(np.zeros((2, 3)), 3), "shape"),
        (lambda: data.mixup_target(np.zeros(2, int), 3, multi_label=True), "shape"),
        (lambda: data.RandomErasing(mode="noise"), "found mode='noise'"),
        (lambda: data.RandomErasing(min_area=0.5, max_area=0.2), "lower limit first"),
        (lambda: data.RandomErasing(min_count=2, max_count=1), "found max_count=1"),
        (lambda: data.RandomErasing()(np.zeros((4, 4))), r"shape \(4, 4\)"),
        (lambda: data.RepeatAugSampler(range(3), 1, 0, num_repeats=0.5), "found num_repeats=0.5"),
        (lambda: data.RepeatAugSampler(range(3), 2, 2), "0 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(JtError, match=words):
        call()


# ---------------------------------------------------------------------------------------------------------- erasing


def holes(erasing, tries=200, shape=(2, 30, 40)):
    """Height, width and content of what was erased of so many images of fives."""
    jt.set_global_seed(2)
    for _ in range(tries):
        image = np.full(shape, 5.0, np.float32)
        found = erasing(image)
        rows, columns = (np.flatnonzero((found != 5).any(0).any(axis)) for axis in (1, 0))
        if len(rows):
            yield len(rows), len(columns), found[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def test_what_is_erased_is_of_the_area_and_shape_that_were_asked_for():
    found = [*holes(data.RandomErasing(1.0, 0.1, 0.2, 0.5))]

    areas, ratios = (np.array([f(h, w) for h, w, _ in found]) for f in (lambda h, w: h * w, lambda h, w: h / w))
    assert len(found) == 200
    assert 0.09 < areas.min() / 1200 < 0.11
    assert 0.19 < areas.max() / 1200 < 0.21
    assert 0.45 < ratios.min() < 0.6
    assert 1.8 < ratios.max() < 2.2
    logs = np.log(ratios) / np.log(2)
    assert stats.kstest(logs, stats.uniform(-1, 2).cdf).pvalue > 0.001
    narrow = [h / w for h, w, _ in holes(data.RandomErasing(1.0, 0.1, 0.1, 0.5, 0.8))]
    assert max(narrow) < 0.95


def test_what_is_erased_is_black_or_one_colour_or_noise():
    for mode in ("const", "rand", "pixel"):
        erased = [content for *_, content in holes(data.RandomErasing(1.0, 0.1, 0.2, mode=mode), 60)]
        spread = [np.ptp(plane) > 0 for content in erased for plane in content]
        assert all(spread) == (mode == "pixel") == any(spread)
        assert all((content == 0).all() for content in erased) == (mode == "const")
        means = np.array([[plane.mean() for plane in content] for content in erased])
        assert (abs(means[:, 0] - means[:, 1]) > 0).all() == (mode != "const")
    assert 0.9 < np.concatenate([c.ravel() for c in erased]).std() < 1.1


def test_several_boxes_share_the_area_and_some_images_stay():
    many = data.RandomErasing(1.0, 0.3, 0.3, 1.0, min_count=2, max_count=4)
    jt.set_global_seed(0)
    areas = [(many(np.ones((1, 40, 40), np.float32)) == 0).mean() for _ in range(100)]
    some = data.RandomErasing(0.25, 0.1, 0.1)
    plain = np.ones((400, 1, 20, 20), np.float32)

    assert max(areas) < 0.34
    assert min(areas) < 0.22  # boxes overlap
    assert 60 < (some(plain) == 0).any((1, 2, 3)).sum() < 140


def test_of_a_batch_a_first_part_may_be_left_alone():
    x = np.ones((6, 2, 20, 20), np.float32)
    for splits, alone in ((0, 0), (1, 0), (2, 3), (3, 2)):
        jt.set_global_seed(0)
        found = data.RandomErasing(1.0, num_splits=splits)(jt.array(x)).numpy()
        assert (found == 0).any((1, 2, 3)).tolist() == [False] * alone + [True] * (6 - alone)


# --------------------------------------------------------------------------------------------------------- samplers


@pytest.mark.parametrize("count", [7, 300, 515])
@pytest.mark.parametrize("given", [{}, {"num_repeats": 2}, {"num_repeats": 1.5}, {"selected_round": 0},
                                   {"selected_round": 5}, {"selected_ratio": 3}])  # fmt: skip
def test_repeated_augmentation_deals_timms_numbers(timm, count, given):
    from timm.data.distributed_sampler import RepeatAugSampler  # noqa: PLC0415 - a guest

    for replicas in (1, 2, 3):
        for rank in range(replicas):
            expected = RepeatAugSampler(range(count), replicas, rank, shuffle=False, **given)
            found = data.RepeatAugSampler(range(count), replicas, rank, shuffle=False, **given)
            assert [*found] == [*expected]
            assert len(found) == len(expected)


def test_repeats_are_shuffled_in_each_epoch_and_alike_on_all_ranks():
    samplers = [data.RepeatAugSampler(range(40), 2, rank, num_repeats=2) for rank in range(2)]
    first, second = [*samplers[0]], [*samplers[1]]

    assert first == second  # twice each: one for either rank
    assert first != sorted(first)
    samplers[0].set_epoch(1)
    assert [*samplers[0]] != first


def test_the_ordered_sampler_deals_timms_numbers(timm):
    from timm.data.distributed_sampler import OrderedDistributedSampler  # noqa: PLC0415 - a guest

    for count in (7, 8):
        for rank in range(3):
            found, expected = (k(range(count), 3, rank) for k in (data.OrderedDistributedSampler,
                                                                  OrderedDistributedSampler))  # fmt: skip
            assert [*found] == [*expected]
            assert (len(found), found.num_valid_samples) == (len(expected), expected.num_valid_samples)


def test_as_many_labels_as_images_are_asked_for():
    with pytest.raises(ShapeError, match="1 for 2 images"):
        data.Mixup(num_classes=3)(np.ones((2, 1, 4, 4), np.float32), np.array([0]))


@pytest.mark.parametrize("shape", [(2, 8), (2, 8, 8), (2,), (2, 1, 2, 8, 8)])
def test_images_have_four_axes(shape):
    with pytest.raises(ShapeError, match=rf"Mixup takes images \(n, c, h, w\); found shape {re.escape(str(shape))}"):
        data.Mixup(num_classes=2)(np.zeros(shape, np.float32), np.array([0, 1]))
