"""The zoo's data: what each argument of transforms, loaders, mixing, erasing and samplers does."""

from collections import Counter

import numpy as np

import jt_edu as jt
from jt_edu.data import transform
from jt_edu.zoo import data
from tests.arguments.families.transforms import changed
from tests.arguments.inputs import above
from tests.arguments.rows import refuses, shows

BYTES = np.arange(3 * 24 * 24, dtype=np.int64).astype(np.uint8).reshape(24, 24, 3)
PLANES = np.ascontiguousarray(np.moveaxis(BYTES, -1, 0))
PAIR = np.stack([np.zeros((1, 10, 10)), np.ones((1, 10, 10))]).astype(np.float32)
LABELS = np.array([0, 1])
ROOT, SHAPE = "tests", (1, 8, 8)


def drawn(make, image=BYTES, tries=30) -> list:
    jt.set_global_seed(0)
    return [make(image) for _ in range(tries)]


# --------------------------------------------------------------------------------------------------- drawn operators


def corner(kind, **given) -> set:
    """What is seen in the corners of a white image."""
    found = drawn(kind(**given), np.full((24, 24), 250, np.uint8), 60)
    return {int(image[y, x]) for image in found for y in (0, -1) for x in (0, -1)}


def steps(**given) -> int:
    """How many strengths of rotation there are."""
    return len({image.tobytes() for image in drawn(transform.TrivialAugmentWide(**given), tries=600)})


AUGMENT = [
    *shows(transform.RandAugment, "num_ops", 0, lambda **k: any(changed(transform.RandAugment(**k), BYTES)), False),
    *shows(transform.RandAugment, "magnitude", 0, lambda **k: np.mean(changed(transform.RandAugment(
        num_ops=1, fill=9, **k), BYTES)) < 0.3),
    *shows(transform.RandAugment, "num_magnitude_bins", 10, lambda **k: transform.RandAugment(**k).augmented(PLANES)
           is not None and transform.auto_augment._value("Rotate", 9 / (
               transform.RandAugment(**k).num_magnitude_bins - 1), 1, (3, 4, 4), False), 30.0),
    *shows(transform.TrivialAugmentWide, "num_magnitude_bins", 2, lambda **k: steps(**k) < 60),
    *shows(transform.AutoAugment, "policy", "svhn", lambda **k: {
        int(light) for image in drawn(transform.AutoAugment(**k), np.full((9, 9), 100, np.uint8), 300)
        for light in image.ravel()}, {0, 100, 155, 255}),
    *(row for kind in (transform.RandAugment, transform.TrivialAugmentWide, transform.AutoAugment) for row in (
        *shows(kind, "fill", 77, lambda kind=kind, **k: 77 in corner(kind, **k)),
        *shows(kind, "interpolation", "bilinear", lambda kind=kind, **k: len({
            image.tobytes() for image in drawn(kind(**k))} - {
            image.tobytes() for image in drawn(kind())}) > 0))),
    *shows(transform.CenterCrop, "fill", 7.0, lambda **k: transform.CenterCrop(4, **k)(above(1, 2, 2))[0, 0, 0], 7.0),
    *shows(transform.operator_grid, "fill", 77, lambda **k: int(np.asarray(transform.operator_grid(
        BYTES, {"Rotate": [45]}, **k))[0, 0, 0]), 77),
    *shows(transform.operator_grid, "interpolation", "bilinear", lambda **k: bool(np.isin(np.asarray(
        transform.operator_grid(np.repeat(BYTES[:, :, :1] // 128 * 255, 3, 2), {"Rotate": [30]}, **k)),
        (0, 255)).all()), False),
]  # fmt: skip


def looked(make) -> tuple:
    """The first operator of a transform: its look."""
    op = make.ops[0] if hasattr(make, "ops") else make.policy[0][0]
    return op.look.translate_pct


STRINGS = [
    *shows(data.rand_augment_transform, "hparams", {"translate_pct": 0.2},
           lambda **k: looked(data.rand_augment_transform("rand", **k)), 0.2),
    *shows(data.rand_augment_transform, "transforms", ["Invert"], lambda **k: {image.tobytes() for image in drawn(
        data.rand_augment_transform("rand-n1-p1", **k))}, {(255 - BYTES).tobytes()}),
    *shows(data.auto_augment_transform, "hparams", {"translate_pct": 0.2},
           lambda **k: looked(data.auto_augment_transform("v0", **k)), 0.2),
    *shows(data.augment_and_mix_transform, "hparams", {"translate_pct": 0.2},
           lambda **k: looked(data.augment_and_mix_transform("augmix", **k)), 0.2),
]  # fmt: skip


# -------------------------------------------------------------------------------------------------- mixing and erasing


def mixed(tries=60, n=2, kind=data.Mixup, **given) -> tuple:
    """Images and labels of so many batches of black images with white partners."""
    x, y = np.repeat(PAIR, n // 2, 0), np.repeat(LABELS, n // 2)
    mixup = kind(**{"num_classes": 2, "label_smoothing": 0.0, **given})
    jt.set_global_seed(0)
    if kind is data.FastCollateMixup:
        found = [mixup([((image * 255).astype(np.uint8), int(k)) for image, k in zip(x, y, strict=True)])
                 for _ in range(tries)]  # fmt: skip
    else:
        found = [mixup(x, y) for _ in range(tries)]
    return np.array([a for a, _ in found], float), np.array([b for _, b in found])


def grey(**given) -> float:
    """How often the first image is of one colour, neither black nor white."""
    x, _ = mixed(**given)
    first = x[:, 0] / max(x.max(), 1)
    return float(np.mean([0 < image.min() == image.max() < 1 for image in first]))


def cut(**given) -> float:
    """How often the first image has a box of its partner."""
    return float(np.mean([image.min() < image.max() for image in mixed(**given)[0][:, 0]]))


def mixing(kind):
    """Mixup's arguments, which FastCollateMixup shares."""
    both = {"cutmix_alpha": 1.0, "kind": kind}
    return [
        *shows(kind, "mixup_alpha", 0.0, lambda **k: grey(**both, **k), 0.0),
        *shows(kind, "cutmix_alpha", 1.0, lambda **k: cut(kind=kind, **k) > 0.2),
        *shows(kind, "cutmix_minmax", (0.4, 0.6), lambda **k: cut(kind=kind, **k) > 0.2),
        *shows(kind, "prob", 0.0, lambda **k: mixed(kind=kind, **k)[0][:, 0].max(), 0.0),
        *shows(kind, "switch_prob", 1.0, lambda **k: grey(**both, **k), 0.0),
        *shows(kind, "mode", "elem", lambda **k: len(np.unique(mixed(1, 6, kind, **k)[1][0, :3, 0])), 3),
        *shows(kind, "correct_lam", False, lambda **k: np.allclose(*(lambda x, y: (
            1 - x[:, 0].mean((1, 2, 3)) / max(x.max(), 1), y[:, 0, 0]))(*mixed(
                kind=kind, mixup_alpha=0, cutmix_alpha=1.0, **k)), atol=0.01), False),
        *shows(kind, "label_smoothing", 0.2, lambda **k: labelled(kind, **k), [[0.9, 0.1], [0.1, 0.9]]),
        *shows(kind, "num_classes", 3, lambda **k: mixed(kind=kind, **k)[1].shape[-1], 3),
    ]  # fmt: skip


def labelled(kind, **given) -> list:
    """Labels of images that are not mixed."""
    mixup = kind(**{"num_classes": 2, "prob": 0.0, **given})
    call = (PAIR, LABELS) if kind is data.Mixup else ([(x.astype(np.uint8), k) for k, x in enumerate(PAIR)],)
    return mixup(*call)[1].astype(float).round(6).tolist()


def several(kind, **given) -> list:
    """Labels of images that may be of several classes."""
    mixup, y = kind(num_classes=2, prob=0.0, label_smoothing=0.0, **given), np.array([[1.0, 1.0], [0.0, 1.0]])
    examples = [(x.astype(np.uint8), k) for x, k in zip(PAIR, y, strict=True)]
    return (mixup(PAIR, y) if kind is data.Mixup else mixup(examples))[1].tolist()


def erased(image=None, **given) -> list:
    """Images in which something is erased."""
    image = np.full((2, 24, 24), 5.0, np.float32) if image is None else image
    erasing = data.RandomErasing(**{"probability": 1.0, "min_area": 0.1, "max_area": 0.2, **given})
    return [found for found in drawn(erasing, image, 40) if (found != 5).any()]


def area(found) -> float:
    return float((found != 5).any(0).mean())


def shape(found) -> float:
    rows, columns = (len(np.flatnonzero((found != 5).any(0).any(axis))) for axis in (1, 0))
    return rows / columns


MIXING = [
    *mixing(data.Mixup),
    *mixing(data.FastCollateMixup),
    *(row for kind in (data.Mixup, data.FastCollateMixup) for row in shows(
        kind, "multi_label", True, lambda kind=kind, **k: several(kind, **k), [[1.0, 1.0], [0.0, 1.0]])),
    *shows(data.mixup_target, "lam", 0.75, lambda **k: data.mixup_target(LABELS, 2, **k).tolist(),
           [[0.75, 0.25], [0.25, 0.75]]),
    *shows(data.mixup_target, "smoothing", 0.5, lambda **k: data.mixup_target(LABELS, 2, **k).tolist(),
           [[0.75, 0.25], [0.25, 0.75]]),
    *shows(data.mixup_target, "multi_label", True,
           lambda **k: data.mixup_target(np.ones((2, 2)), 2, **k).tolist(), [[1.0, 1.0], [1.0, 1.0]]),
    *shows(data.RandomErasing, "probability", 0.0, lambda **k: len(erased(**k)), 0),
    *shows(data.RandomErasing, "min_area", 0.5, lambda **k: min(map(area, erased(max_area=0.6, **k))) > 0.4),
    *shows(data.RandomErasing, "max_area", 0.11, lambda **k: max(map(area, erased(**k))) < 0.14),
    *shows(data.RandomErasing, "min_aspect", 1.0, lambda **k: {shape(found) for found in erased(**k)}, {1.0}),
    *shows(data.RandomErasing, "max_aspect", 0.5, lambda **k: max(map(shape, erased(**k))) < 0.7),
    *shows(data.RandomErasing, "mode", "pixel", lambda **k: all(len(np.unique(found)) > 9 for found in erased(**k))),
    *shows(data.RandomErasing, "min_count", 4, lambda **k: min(map(area, erased(max_area=0.11, **k))) < 0.08),
    *shows(data.RandomErasing, "max_count", 4, lambda **k: min(map(area, erased(max_area=0.11, **k))) < 0.08),
    *shows(data.RandomErasing, "num_splits", 2, lambda **k: sum(
        (found[:2] != 5).any() for found in erased(np.full((4, 1, 24, 24), 5.0, np.float32), **k)), 0),
]  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ samplers


def dealt(kind=data.RepeatAugSampler, count=300, **given) -> list:
    if kind is data.RepeatAugSampler:
        given = {"shuffle": False, **given}
    return [*kind(range(count), **{"num_replicas": 1, "rank": 0, **given})]


SAMPLERS = [
    *(row for kind in (data.RepeatAugSampler, data.OrderedDistributedSampler) for row in (
        *shows(kind, "num_replicas", 3, lambda kind=kind, **k: len(dealt(kind, 30, **k)), 10),
        *shows(kind, "rank", 1, lambda kind=kind, **k: dealt(kind, 30, num_replicas=4, **k)[:3],
               {data.RepeatAugSampler: [0, 1, 3], data.OrderedDistributedSampler: [1, 5, 9]}[kind]))),
    *shows(data.RepeatAugSampler, "shuffle", True, lambda **k: dealt(**k)[0] != 0),
    *shows(data.RepeatAugSampler, "num_repeats", 2, lambda **k: dealt(**k)[:5], [0, 0, 1, 1, 2]),
    *shows(data.RepeatAugSampler, "selected_round", 200, lambda **k: len(dealt(**k)), 200),
    *shows(data.RepeatAugSampler, "selected_ratio", 2, lambda **k: len(dealt(**k)), 128),
]  # fmt: skip


# ---------------------------------------------------------------------------------------------- transforms and loaders


def train(image=BYTES, **given):
    """Thirty images to train with: without what the argument is not about."""
    plain = {"scale": (1.0, 1.0), "ratio": (1.0, 1.0), "hflip": 0.0, "color_jitter": None, "mean": 0.0, "std": 1.0}
    return drawn(data.create_transform(24, is_training=True, **{**plain, **given}), image)


PLAIN = PLANES.astype(np.float32) / 255


def always(images, expected) -> bool:
    return all(np.allclose(image, expected, atol=1e-6) for image in images)


def valid(image=BYTES, **given):
    return data.create_transform(16, **{"mean": 0.0, "std": 1.0, **given})(image)


WIDE = np.zeros((32, 64, 3), np.uint8)
WIDE[:, 8:-8] = 200  # black at both ends

TRANSFORM = [
    *shows(data.create_transform, "input_size", 10, lambda **k: data.create_transform(**k)(BYTES).shape, (3, 10, 10)),
    *shows(data.create_transform, "is_training", True, lambda **k: len({
        image.tobytes() for image in drawn(data.create_transform(10, **k))}) > 20),
    *shows(data.create_transform, "no_aug", True, lambda **k: always(train(hflip=0.5, color_jitter=0.4, **k), PLAIN)),
    *shows(data.create_transform, "scale", (0.2, 0.3), lambda **k: any(always([i], PLAIN) for i in train(**k)), False),
    *shows(data.create_transform, "ratio", (0.5, 0.6),
           lambda **k: any(always([i], PLAIN) for i in train(**k)), False),
    *shows(data.create_transform, "hflip", 1.0, lambda **k: always(train(**k), PLAIN[..., ::-1])),
    *shows(data.create_transform, "vflip", 1.0, lambda **k: always(train(**k), PLAIN[:, ::-1])),
    *shows(data.create_transform, "color_jitter", ((0.5, 0.5), 0, 0), lambda **k: always(
        train(np.full((24, 24, 3), 100, np.uint8), **{"color_jitter": 0.4, **k}), 50 / 255)),
    *shows(data.create_transform, "color_jitter_prob", 0.0,
           lambda **k: always(train(color_jitter=0.4, **k), PLAIN)),
    *shows(data.create_transform, "grayscale_prob", 1.0,
           lambda **k: all(np.ptp(i, 0).max() == 0 for i in train(**k))),
    *shows(data.create_transform, "gaussian_blur_prob", 1.0,
           lambda **k: sum(always([i], PLAIN) for i in train(**k)) < 10),
    *shows(data.create_transform, "auto_augment", "rand-n1-p1-tweights",
           lambda **k: sum(always([i], PLAIN) for i in train(**k)) < 10),
    *shows(data.create_transform, "interpolation", "nearest", lambda **k: bool(np.isin(
        valid(np.repeat(BYTES[..., :1] // 128 * 255, 3, 2), **k), (0, 1)).all())),
    *shows(data.create_transform, "mean", 0.5, lambda **k: valid(**k), lambda torch: valid() - np.float32(0.5)),
    *shows(data.create_transform, "std", 0.5, lambda **k: valid(**k), lambda torch: valid() / np.float32(0.5)),
    *shows(data.create_transform, "re_prob", 1.0, lambda **k: min((i == 0).mean() for i in train(**k)) > 0.02),
    *shows(data.create_transform, "re_mode", "pixel", lambda **k: min(i.min() for i in train(re_prob=1.0, **k)) < 0),
    *shows(data.create_transform, "re_count", 4, lambda **k: sum(
        pieces(i) > 1 for i in train(np.full((24, 24, 3), 9, np.uint8), re_prob=1.0, **k)) > 5),
    *shows(data.create_transform, "crop_pct", 1.0, lambda **k: valid(BYTES[:16, :16], **k),
           lambda torch: PLAIN[:, :16, :16]),
    *shows(data.create_transform, "crop_mode", "squash", lambda **k: bool((valid(WIDE, crop_pct=1.0, **k) == 0).any())),
    *shows(data.create_transform, "crop_border_pixels", 4, lambda **k: valid(crop_pct=1.0, **k),
           lambda torch: PLAIN[:, 4:-4, 4:-4]),
    *shows(data.create_transform, "use_prefetcher", True, lambda **k: str(valid(**k).dtype), "uint8"),
    *shows(data.create_transform, "normalize", False, lambda **k: str(valid(**k).dtype), "uint8"),
]  # fmt: skip


def pieces(image) -> int:
    """How many stretches of rows or of columns are touched, at most."""
    return max(np.count_nonzero(np.diff((image == 0).any(0).any(axis).astype(int)) == 1) for axis in (0, 1))


def loader(split="val", size=SHAPE, batch_size=8, **given):
    jt.set_global_seed(0)
    return data.create_loader(data.create_dataset("jt/digits", split=split), size, batch_size, **given)


def first(**given):
    """The images of the first batch, without what the argument is not about."""
    plain = {"mean": 0.0, "std": 1.0, "hflip": 0.0, "color_jitter": None}
    return next(iter(loader(**{**plain, **given})))[0].numpy()


def steps_of(**given) -> str:
    return repr(loader(is_training=True, **given).dataset.transform)


def handed_on(name, value, **said):
    """An argument that reaches create_transform: the steps are those that it makes."""
    said = {"mean": [0.5], "std": [0.5], "use_prefetcher": True, **said}
    return shows(data.create_loader, name, value,
                 lambda **k: repr(loader(**{**said, **k}).dataset.transform),
                 lambda torch: repr(data.create_transform(SHAPE, **{**said, name: value})))  # fmt: skip


def counted(batch):
    """A collate_fn that says how many."""
    return np.full((1, 1, 1, 1), len(batch)), np.zeros(1)


def somewhere(**given) -> int:
    made = loader(batch_size=60, **given)
    count = made.num_workers
    made.terminate()
    return count


LOADER = [
    *(row for name, value in {
        "no_aug": True, "scale": (0.5, 0.6), "ratio": (0.5, 0.6), "hflip": 0.25, "vflip": 0.25, "color_jitter": 0.2,
        "color_jitter_prob": 0.3, "grayscale_prob": 0.3, "gaussian_blur_prob": 0.3, "auto_augment": "rand-m7",
    }.items() for row in handed_on(name, value, is_training=True)),
    *(row for name, value in {"interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "squash",
                              "crop_border_pixels": 1}.items() for row in handed_on(name, value)),
    *shows(data.create_loader, "is_training", True, lambda **k: len(loader(batch_size=100, **k)), 3),
    *shows(data.create_loader, "mean", 0.5, lambda **k: first(**k), lambda torch: first() - np.float32(0.5)),
    *shows(data.create_loader, "std", 0.5, lambda **k: first(**k), lambda torch: first() * np.float32(2)),
    *shows(data.create_loader, "re_prob", 1.0, lambda **k: first(is_training=True, re_mode="pixel", **k).min() < 0),
    *shows(data.create_loader, "re_mode", "pixel", lambda **k: first(is_training=True, re_prob=1.0, **k).min() < 0),
    *shows(data.create_loader, "re_count", 3, lambda **k: loader(is_training=True, re_prob=1.0, **k).erasing.max_count,
           3),
    *shows(data.create_loader, "re_split", True,
           lambda **k: first(is_training=True, re_prob=1.0, re_mode="pixel", **k)[:4].min() < 0, False),
    *shows(data.create_loader, "num_aug_repeats", 2, lambda **k: max(Counter(
        next(iter(loader(is_training=True, **k)._requests()))).values()), 2),
    *shows(data.create_loader, "num_workers", 1, somewhere, 1),
    *refuses(data.create_loader, "distributed", True, loader),
    *shows(data.create_loader, "collate_fn", counted, lambda **k: first(**k).ravel()[0].round(6),
           lambda torch: np.float32(8 / 255).round(6)),
    *shows(data.create_loader, "img_dtype", "float16", lambda **k: str(next(iter(loader(**k)))[0].dtype),
           str(jt.zeros(1, dtype="float16").dtype)),
    *shows(data.create_loader, "use_prefetcher", False, lambda **k: str(
        loader(**k)._job().fetch([0])[0].dtype), "float32"),
    *shows(data.create_loader, "persistent_workers", False,
           lambda **k: loader(num_workers=1, **k).persistent_workers, False),
]  # fmt: skip


# ------------------------------------------------------------------------------------------------ datasets and configs

CFG = {"input_size": (3, 64, 64), "test_input_size": (3, 96, 96)}
NET = type("Net", (), {"pretrained_cfg": CFG})()


def sized(call=data.resolve_data_config, *args, **given):
    return call(*args, **given)["input_size"]


class Folders:
    """A folder of photographs in folders, made when it is first asked for."""

    path = None

    @classmethod
    def here(cls):
        if cls.path is None:
            import tempfile  # noqa: PLC0415 - only where rows of folders run
            from pathlib import Path  # noqa: PLC0415 - the same

            cls.kept = tempfile.TemporaryDirectory()
            cls.path = Path(cls.kept.name)
            for split, count in (("train", 3), ("val", 2)):
                (cls.path / split / "cat").mkdir(parents=True)
                for k in range(count):
                    np.save(cls.path / split / "cat" / f"{k}.npy", np.zeros((2, 2, 3), np.uint8))
        return cls.path


CONFIGS = [
    *shows(data.create_dataset, "root", Folders, lambda **k: data.create_dataset("", **{
        name: value.here() for name, value in k.items()}).total_len, 2),
    *shows(data.create_dataset, "split", "train", lambda **k: data.create_dataset("jt/digits", **k).total_len, 1437),
    *shows(data.create_dataset, "search_split", False,
           lambda **k: data.create_dataset("", Folders.here(), **k).classes, ["train", "val"]),
    *shows(data.create_dataset, "class_map", {"cat": 5},
           lambda **k: data.create_dataset("", Folders.here(), **k).targets, [5, 5]),
    *shows(data.resolve_data_config, "args", {"img_size": 8}, lambda **k: sized(pretrained_cfg=CFG, **k), (3, 8, 8)),
    *shows(data.resolve_data_config, "pretrained_cfg", CFG, lambda **k: sized(args={}, **k), (3, 64, 64)),
    *shows(data.resolve_data_config, "model", NET, lambda **k: sized(args={}, **k), (3, 64, 64)),
    *shows(data.resolve_data_config, "use_test_size", True, lambda **k: sized(model=NET, **k), (3, 96, 96)),
    *shows(data.resolve_model_data_config, "args", {"img_size": 8},
           lambda **k: sized(data.resolve_model_data_config, NET, **k), (3, 8, 8)),
    *shows(data.resolve_model_data_config, "pretrained_cfg", {"input_size": (3, 5, 5)},
           lambda **k: sized(data.resolve_model_data_config, NET, **k), (3, 5, 5)),
    *shows(data.resolve_model_data_config, "use_test_size", True,
           lambda **k: sized(data.resolve_model_data_config, NET, **k), (3, 96, 96)),
]  # fmt: skip

ROWS = [*AUGMENT, *STRINGS, *MIXING, *SAMPLERS, *TRANSFORM, *LOADER, *CONFIGS]
