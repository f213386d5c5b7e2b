"""create_transform, create_loader, create_dataset and data configs: beside timm's, and what each argument does."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.errors import JtError
from jt_edu.data import transform as T  # noqa: N812
from jt_edu.zoo import data
from tests.data.light import LEVEL

pytestmark = pytest.mark.usefixtures("python_backend")

MEAN, STD = np.array([0.485, 0.456, 0.406])[:, None, None], np.array([0.229, 0.224, 0.225])[:, None, None]


@pytest.fixture
def pixels(rng):
    """A photograph (40, 52, 3) without hard edges."""
    y, x = np.mgrid[:40, :52]
    waves = [120 + 60 * np.sin(y / a) * np.cos(x / b) for a, b in ((5, 7), (9, 4), (6, 11))]
    return (np.stack(waves, -1) + rng.integers(0, 9, (40, 52, 3))).astype(np.uint8)


def by_timm(pixels, *args, **given):
    """What timm's transform makes of the photograph."""
    from PIL import Image  # noqa: PLC0415 - a guest
    from timm.data import create_transform  # noqa: PLC0415 - a guest

    return create_transform(*args, **given)(Image.fromarray(pixels)).numpy()


@pytest.mark.parametrize(
    "given",
    [
        {}, {"interpolation": "bicubic"}, {"crop_pct": 0.5}, {"crop_mode": "squash"},
        {"crop_mode": "border"}, {"crop_mode": "border", "crop_pct": 1.0, "mean": (0.2, 0.5, 0.9)},
        {"crop_border_pixels": 5}, {"mean": (0.5, 0.4, 0.3), "std": (0.1, 0.2, 0.3)}, {"use_prefetcher": True},
        {"normalize": False}, {"is_training": True, "no_aug": True},
        {"is_training": True, "no_aug": True, "interpolation": "random"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [24, (3, 24, 24), (20, 28)])
def test_an_image_to_validate_with_equals_timms(timm, pixels, size, given):
    found, expected = data.create_transform(size, **given)(pixels), by_timm(pixels, size, **given)

    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    unit = 1 if found.dtype == np.uint8 else LEVEL / np.min(given.get("std", 0.224))
    assert abs(found.astype(float) - expected).max() <= 1.6 * unit


TRAINING = {"is_training": True, "hflip": 0.0, "color_jitter": None}
WHOLE = {"scale": (1.0, 1.0), "ratio": (1.3, 1.3)}  # of a photograph of 40 by 52


def test_a_whole_image_to_train_with_equals_timms(timm, pixels):
    for way in ("bilinear", "bicubic"):
        given = {**TRAINING, **WHOLE, "interpolation": way}
        assert abs(data.create_transform(24, **given)(pixels) - by_timm(pixels, 24, **given)).max() < 1.6 * LEVEL / 0.22


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({}, "RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip ColorJitter"),
        ({"interpolation": "random"}, "RandomChoice RandomHorizontalFlip RandomVerticalFlip ColorJitter"),
        ({"auto_augment": "rand-m9"}, "RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip RandAugment"),
        ({"auto_augment": "v0"}, "RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip AutoAugment"),
        ({"auto_augment": "augmix-m5"}, "RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip AugMixAugment"),
        ({"auto_augment": "3a"}, "RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip AutoAugment ColorJitter"),
        ({"color_jitter": None}, "RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip"),
        (
            {"color_jitter_prob": 0.8, "grayscale_prob": 0.2, "gaussian_blur_prob": 0.5},
            "RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip RandomApply RandomGrayscale RandomApply",
        ),
    ],
)
def test_the_steps_of_training(given, steps):
    made = data.create_transform(24, is_training=True, re_prob=0.5, **given)
    fast = data.create_transform(24, is_training=True, re_prob=0.5, use_prefetcher=True, **given)

    assert [type(t).__name__ for t in made.transforms] == [*steps.split(), "ToPlanes", "Normalize", "RandomErasing"]
    assert [type(t).__name__ for t in fast.transforms] == [*steps.split(), "ToPlanes"]


def test_what_is_not_in_a_moved_image_has_the_colour_of_the_mean():
    made = data.create_transform(24, is_training=True, auto_augment="rand-m9", mean=(0.1, 0.5, 0.9),
                                 interpolation="bicubic")  # fmt: skip
    look = made.transforms[3].ops[0].look

    assert (look.fill, look.ways, look.translate_const) == ((26, 128, 230), ["bicubic"], 10)
    mixed = data.create_transform((3, 40, 24), is_training=True, auto_augment="augmix", interpolation="random")
    look = mixed.transforms[3].ops[0].look
    assert (look.translate_pct, look.ways) == (0.3, ["bilinear", "bicubic"])


def test_photographs_of_all_kinds_are_the_same_photograph(pixels):
    from PIL import Image  # noqa: PLC0415 - a guest

    made = data.create_transform(24)
    expected = made(pixels)

    np.testing.assert_array_equal(made(Image.fromarray(pixels)), expected)
    np.testing.assert_allclose(made(T.ToTensor()(pixels)), expected, atol=1.1 * LEVEL / 0.22)
    assert data.create_transform((1, 24, 24), mean=0.5, std=0.5)(pixels[..., 0]).shape == (1, 24, 24)


# --------------------------------------------------------------------------------------------------------- loaders


def digits(split="train", **attributes):
    return data.create_dataset("jt/digits", split=split, **attributes)


SIZE = (1, 8, 8)
MIXING = {"is_training": True, "auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 0.5, "re_mode": "pixel"}


def two(loader):
    """The first two batches, as arrays."""
    return [[part.numpy() for part in batch] for batch, _ in zip(loader, range(2), strict=False)]


def same(one, other):
    return all(np.array_equal(a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("fast", [True, False])
def test_a_seed_gives_the_same_batches_with_and_without_workers(fast):
    def batches(workers, seed=3, **given):
        jt.set_global_seed(seed)
        collate_fn = data.FastCollateMixup(num_classes=10) if fast else None
        loader = data.create_loader(digits(), SIZE, 8, num_workers=workers, use_prefetcher=fast, collate_fn=collate_fn,
                                    persistent_workers=False, **MIXING)  # fmt: skip
        return two(loader)

    alone = batches(0)
    assert same(alone, batches(2))
    assert same(alone, batches(0))
    assert not same(alone, batches(0, seed=4))
    assert not same(alone[:1], alone[1:])


def test_what_a_training_loop_draws_does_not_change_what_is_erased():
    def batches(drawn):
        jt.set_global_seed(3)
        loader = iter(data.create_loader(digits(), SIZE, 8, is_training=True, re_prob=1.0, re_mode="pixel"))
        found = []
        for _ in range(3):
            np.random.random(drawn)  # noqa: NPY002 - what a loop may do
            found.append([part.numpy() for part in next(loader)])
        return found

    assert same(batches(0), batches(7))


def test_prefetched_or_not_images_are_the_same():
    for given in ({}, {"mean": (0.2,), "std": (0.5,)}, {"is_training": True, "no_aug": True}):
        found = []
        for fast in (True, False):
            jt.set_global_seed(1)
            found.append(two(data.create_loader(digits("val"), SIZE, 16, use_prefetcher=fast, **given)))
        for (x, y), (other, label) in zip(*found, strict=True):
            np.testing.assert_allclose(x, other, atol=1e-5)
            np.testing.assert_array_equal(y, label)


def test_workers_send_bytes_that_are_normalized_here(monkeypatch):
    loader = data.create_loader(digits("val"), SIZE, 4, mean=(0.25,), std=(0.5,))
    raw = loader._job().fetch([0, 1, 2, 3])[0]
    (x, _), *_ = two(loader)

    assert (raw.dtype, raw.shape) == (np.uint8, (4, 1, 8, 8))
    np.testing.assert_allclose(x, (raw / 255 - 0.25) / 0.5, atol=1e-6)


def test_erasing_leaves_images_to_validate_with_alone():
    given = {"re_prob": 1.0, "color_jitter": None, "hflip": 0.0, "mean": 0.0, "std": 1.0, "re_mode": "pixel"}

    def negative(**more):
        jt.set_global_seed(0)
        (x, _), *_ = two(data.create_loader(digits(), SIZE, 8, **given, **more))
        return (x < 0).any((1, 2, 3)).tolist()

    for fast in (True, False):
        assert sum(negative(is_training=True, use_prefetcher=fast)) > 6
        assert not any(negative(use_prefetcher=fast))
        assert not any(negative(is_training=True, no_aug=True, use_prefetcher=fast))
    half = negative(is_training=True, re_split=True)
    assert not any(half[:4])
    assert any(half[4:])


def test_training_shuffles_and_leaves_out_a_last_batch():
    jt.set_global_seed(0)
    training, other = (data.create_loader(digits("val"), SIZE, 50, is_training=yes) for yes in (True, False))

    assert (len(training), len(other)) == (7, 8)
    ordered = digits("val").targets
    assert [y.tolist() for _, y in other] == [ordered[k : k + 50].tolist() for k in range(0, 360, 50)]
    assert next(iter(training))[1].tolist() != ordered[:50].tolist()


def test_each_image_comes_several_times_in_other_guises():
    loader = data.create_loader(digits(), SIZE, 9, is_training=True, num_aug_repeats=3)
    jt.set_global_seed(0)
    (x, y), *_ = two(loader)
    numbers = [*loader.sampler][:9]

    assert numbers[::3] == numbers[1::3] == numbers[2::3]
    assert y.tolist() == [int(loader.dataset.targets[k]) for k in numbers]
    assert not np.array_equal(x[0], x[1])
    loader.sampler.set_epoch(1)
    assert [*loader.sampler][:9] != numbers


@pytest.mark.parametrize("training", [True, False])
def test_ranks_share_the_examples(training):
    def told():
        loader = data.create_loader(digits("val"), SIZE, 30, distributed=True, is_training=training)
        return type(loader.sampler).__name__, [*loader.sampler], loader.sampler.rank

    one, other = _by_ranks(told)

    assert one[0] == other[0] == ("DistributedSampler" if training else "OrderedDistributedSampler")
    assert sorted(one[1] + other[1]) == [*range(360)]
    assert (one[1][:2] == [0, 2]) == (not training)


def _by_ranks(told):
    """Of two ranks, what each tells."""
    from unittest import mock  # noqa: PLC0415 - of this test alone

    found = []
    for rank in range(2):
        with mock.patch.multiple(
            "jt_edu.distributed.sampler", get_world_size=lambda: 2, get_rank=lambda rank=rank: rank
        ):
            found.append(told())
    return found


def test_images_come_in_the_dtype_that_was_asked_for():
    for dtype in ("float16", "bfloat16", "float64"):
        for fast in (True, False):
            x, _ = next(iter(data.create_loader(digits(), SIZE, 4, img_dtype=dtype, use_prefetcher=fast)))
            assert x.dtype == dtype


def test_mixing_is_switched_off_for_the_next_epoch():
    mixup = data.FastCollateMixup(num_classes=10, label_smoothing=0)
    loader = data.create_loader(digits(), SIZE, 8, is_training=True, collate_fn=mixup)
    assert loader.mixup_enabled
    assert (next(iter(loader))[1].numpy().max(1) < 1).any()

    loader.mixup_enabled = False
    assert not loader.mixup_enabled
    assert (next(iter(loader))[1].numpy().max(1) == 1).all()
    plain = data.create_loader(digits(), SIZE, 8)
    assert not plain.mixup_enabled
    with pytest.raises(JtError, match="FastCollateMixup; found collate_fn"):
        plain.mixup_enabled = False


def test_means_fit_the_channels_of_the_network():
    loader = data.create_loader(digits(), SIZE, 4, mean=(0.2, 0.4, 0.6), std=(0.5, 0.5, 0.5), use_prefetcher=False)
    made = loader.dataset.transform.transforms[-1]

    assert made.mean == pytest.approx([0.4])
    assert made.std == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: data.create_transform(24, tf_preprocessing=True), "found tf_preprocessing=True. Try: leaving it out"),
        (lambda: data.create_transform(24, crop_pc=0.9), "no argument crop_pc; found crop_pc=0.9. Try: crop_pct"),
        (lambda: data.create_transform((3, 24, 24, 1)[:0]), "input_size"),
        (lambda: data.create_transform(24, crop_mode="middle"), "found crop_mode='middle'"),
        (lambda: data.create_transform(24, interpolation="random"), "found interpolation='random'"),
        (lambda: data.create_transform(24, is_training=True, auto_augment="v9"), "found 'v9'"),
        (lambda: data.create_transform(24, is_training=True, color_jitter=(1, 1)), r"found color_jitter=\(1, 1\)"),
        (lambda: data.create_transform(24, crop_border_pixels=4)(np.zeros((8, 9, 3), np.uint8)), "8 by 9"),
        (lambda: data.create_loader(digits(), SIZE, 4, device="cuda"), "no argument device; found device='cuda'"),
        (lambda: data.create_loader(jt.data.digits(), SIZE, 4), "ArrayDataset without one"),
        (lambda: data.create_loader(digits(), SIZE, 4, re_split=True, use_prefetcher=False), "re_split=True"),
        (lambda: data.create_loader(digits(), SIZE, 4, img_dtype="int8"), "found img_dtype='int8'"),
        (lambda: data.create_loader(digits(), SIZE, 4, is_training=True, num_aug_repeats=-1), "num_aug_repeats=-1"),
        (lambda: data.create_dataset("torch/imagenet", "x"), "found 'torch/imagenet'"),
        (lambda: data.create_dataset("", None), "found root=None"),
        (lambda: data.create_dataset("jt/digits", class_map={}), "in folders; found 'jt/digits'"),
        (lambda: data.create_dataset("jt/digits", download=True), "download"),
        (lambda: data.resolve_data_config(), "none of them"),
        (lambda: data.resolve_data_config({"input_size": (8, 8)}), r"found \(8, 8\)"),
        (lambda: data.resolve_data_config({"mean": (0.1, 0.2)}), r"found \(0.1, 0.2\)"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(JtError, match=words):
        call()


# -------------------------------------------------------------------------------------------------------- datasets


@pytest.fixture
def folders(tmp_path):
    """train/cat, train/dog, val/cat, val/dog, with 2, 3, 1 and 1 photographs."""
    for split, name, count in (("train", "cat", 2), ("train", "dog", 3), ("val", "cat", 1), ("val", "dog", 1)):
        for k in range(count):
            (tmp_path / split / name).mkdir(parents=True, exist_ok=True)
            np.save(tmp_path / split / name / f"{k}.npy", np.full((4, 5, 3), 10 * k, np.uint8))
    return tmp_path


def test_a_folder_has_a_folder_for_each_split(folders):
    counts = {split: data.create_dataset("", folders, split).total_len for split in ("train", "training", "val",
                                                                                    "validation")}  # fmt: skip
    assert counts == {"train": 5, "training": 5, "val": 2, "validation": 2}
    plain = data.create_dataset("torch/image_folder", folders, "train", search_split=False)
    assert plain.classes == ["train", "val"]
    assert data.create_dataset("", folders / "train", "train").total_len == 5


def test_a_class_map_numbers_the_folders_that_it_names(folders):
    mapped = data.create_dataset("", folders, "train", class_map={"dog": 0, "cat": 1})
    dogs = data.create_dataset("", folders, "train", class_map={"dog": 7})

    assert mapped.targets == [1, 1, 0, 0, 0]
    assert (mapped.classes, mapped[4][1]) == (["dog", "cat"], 0)
    assert (dogs.total_len, dogs[0][1]) == (3, 7)
    with pytest.raises(JtError, match="cat, dog; found 'cow'"):
        data.create_dataset("", folders, "train", class_map={"cow": 0})


def test_a_folder_becomes_batches(folders):
    loader = data.create_loader(data.create_dataset("", folders, "train", batch_size=3), (3, 4, 4), 5)
    x, y = next(iter(loader))

    assert (x.shape, y.tolist()) == ((5, 3, 4, 4), [0, 0, 1, 1, 1])
    np.testing.assert_allclose(x[1].numpy(), np.broadcast_to((10 / 255 - MEAN) / STD, (3, 4, 4)), atol=1e-5)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "cifar100"])
def test_datasets_in_files_are_those_of_jt_data(name, tmp_path):
    with pytest.raises(JtError, match=str(tmp_path)):
        data.create_dataset(f"torch/{name}", tmp_path)


# ---------------------------------------------------------------------------------------------------------- configs


@pytest.mark.parametrize(
    "args",
    [
        {}, {"img_size": 96}, {"img_size": 96, "in_chans": 1}, {"chans": 4}, {"input_size": (1, 32, 48)},
        {"mean": [0.5], "std": [0.25]}, {"interpolation": "bilinear", "crop_pct": 0.7, "crop_mode": "squash"},
        {"mean": None, "lr": 0.1},
    ],
)  # fmt: skip
@pytest.mark.parametrize("use_test_size", [True, False])
def test_a_config_is_resolved_as_by_timm(timm, args, use_test_size):
    from timm.data import resolve_data_config  # noqa: PLC0415 - a guest

    cfg = {"input_size": (3, 160, 160), "test_input_size": (3, 224, 224), "crop_pct": 0.9, "test_crop_pct": 0.95,
           "mean": (0.1, 0.2, 0.3), "interpolation": "nearest"}  # fmt: skip
    for pretrained_cfg in (cfg, {}):
        if args or pretrained_cfg:
            expected = resolve_data_config(args, pretrained_cfg, use_test_size=use_test_size)
            assert data.resolve_data_config(args, pretrained_cfg, use_test_size=use_test_size) == expected


def test_a_network_says_how_it_wants_its_images():
    net = jt.zoo.create_model("inception_v3")
    found = data.resolve_data_config({}, model=net)

    assert found["input_size"] == (3, 299, 299)
    assert data.resolve_model_data_config(net) == found
    assert data.resolve_data_config(pretrained_cfg=jt.zoo.get_pretrained_cfg("inception_v3")) == found
    assert data.create_transform(**found)(np.zeros((310, 320, 3), np.uint8)).shape == (3, 299, 299)
