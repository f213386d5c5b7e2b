"""Transforms: chances, borders, colours and interpolations of images."""

import numpy as np

import jt_edu as jt
from jt_edu.data import transform
from tests.arguments.inputs import above
from tests.arguments.rows import Row, shows

IMAGE = above(3, 6, 8)
SMALL = IMAGE[:, :3, :3]
SPOT, LINE = np.zeros((1, 6, 6)), np.zeros((1, 5, 5))
SPOT[0, 2, 2] = LINE[0, :, 2] = 1
PLACES = np.indices((9, 9)).astype(float)  # each pixel's row and column


def changed(make, image=IMAGE, tries=40) -> list[bool]:
    """Of so many draws, which changed the image."""
    jt.set_global_seed(0)
    return [not np.array_equal(make(image), image) for _ in range(tries)]


def seen(make, look, image=IMAGE) -> list:
    """What is seen in forty draws."""
    jt.set_global_seed(0)
    return [look(make(image)) for _ in range(40)]


def chances() -> list[Row]:
    """p = 0: never."""
    flips = (
        transform.RandomHorizontalFlip, transform.RandomVerticalFlip, transform.RandomErasing,
        transform.RandomGrayscale,
    )  # fmt: skip
    rows = [
        row for kind in flips for row in shows(kind, "p", 0.0, lambda kind=kind, **k: any(changed(kind(**k))), False)
    ]
    return rows + shows(
        transform.RandomApply, "p", 0.0, lambda **k: any(changed(transform.RandomApply([np.negative], **k))), False
    )


def colours() -> list[Row]:
    """Each alone changes the image, in its own way: nothing else is drawn."""
    facts = {
        "brightness": ((0.5, 0.5), IMAGE * 0.5),
        "contrast": ((0.5, 0.5), (IMAGE + grey(IMAGE).mean()) / 2),
        "saturation": ((0.5, 0.5), (IMAGE + grey(IMAGE)) / 2),
    }
    rows = []
    for name, (value, fact) in facts.items():
        rows += shows(transform.ColorJitter, name, value, lambda **k: transform.ColorJitter(**k)(IMAGE), fact)
    return rows + shows(transform.ColorJitter, "hue", (0.5, 0.5), lambda **k: transform.ColorJitter(**k)(RED), CYAN)


RED, CYAN = (np.array(c, float).reshape(3, 1, 1) for c in ((1, 0, 0), (0, 1, 1)))


def grey(image):
    return np.tensordot([0.2989, 0.587, 0.114], image, 1)[None]


def box(image) -> tuple[int, int]:
    """Height and width of what is not as before."""
    rows, columns = (np.flatnonzero((image != IMAGE).any(0).any(axis)) for axis in (1, 0))
    return len(rows), len(columns)


ROWS = [
    *chances(),
    *colours(),
    *shows(transform.RandomChoice, "p", [0.0, 1.0],
           lambda **k: set(seen(transform.RandomChoice([abs, float], **k), type, -3)), {float}),
    *shows(transform.Grayscale, "num_output_channels", 3,
           lambda **k: transform.Grayscale(**k)(IMAGE).shape, IMAGE.shape),
    *shows(transform.Gray, "num_output_channels", 3, lambda **k: transform.Gray(**k)(IMAGE).shape, IMAGE.shape),
    *shows(transform.GaussianBlur, "sigma", 1e-3, lambda **k: transform.GaussianBlur(3, **k)(IMAGE), IMAGE),
    *shows(transform.ToPILImage, "mode", "HSV", lambda **k: transform.ToPILImage(**k)(IMAGE).mode, "HSV"),
    *shows(transform.RandomAffine, "translate", (0.5, 0.0),
           lambda **k: any(changed(transform.RandomAffine(0, **k)))),
    *shows(transform.RandomAffine, "scale", (2.0, 2.0), lambda **k: transform.RandomAffine(0, **k)(SPOT).sum(), 4.0),
    *shows(transform.RandomAffine, "shear", (45, 45),
           lambda **k: transform.RandomAffine(0, **k)(LINE)[0], np.eye(5)[::-1]),
    *shows(transform.RandomAffine, "interpolation", "bilinear", lambda **k: all(np.isin(
        transform.RandomAffine((30, 30), fill=IMAGE[0, 0, 0], **k)(IMAGE), IMAGE).ravel()), False),
    *shows(transform.RandomAffine, "fill", 7.0,
           lambda **k: transform.RandomAffine((45, 45), **k)(IMAGE)[0, 0, 0], 7.0),
    *shows(transform.Pad, "fill", 7.0, lambda **k: transform.Pad(1, **k)(IMAGE)[0, 0, 0], 7.0),
    *shows(transform.Pad, "padding_mode", "edge",
           lambda **k: transform.Pad(1, **k)(IMAGE), np.pad(IMAGE, ((0, 0), (1, 1), (1, 1)), "edge")),
    *shows(transform.RandomCrop, "padding", 2, lambda **k: any(changed(transform.RandomCrop((6, 8), **k)))),
    *shows(transform.RandomCrop, "pad_if_needed", True,
           lambda **k: transform.RandomCrop(5, **k)(SMALL).shape, (3, 5, 5)),
    *shows(transform.RandomCrop, "fill", 7.0, lambda **k: max(seen(transform.RandomCrop((6, 8), 2, **k), np.max)), 7.0),
    *shows(transform.RandomCrop, "padding_mode", "edge",
           lambda **k: min(seen(transform.RandomCrop((6, 8), 2, **k), np.min)) > 0),
    *shows(transform.RandomErasing, "scale", (0.5, 0.5), lambda **k: min(
        h * w for h, w in seen(transform.RandomErasing(1.0, ratio=(0.9, 1.1), **k), box)) >= 16),
    *shows(transform.RandomErasing, "ratio", (3.0, 3.3), lambda **k: all(h > w for h, w in seen(
        transform.RandomErasing(1.0, (0.1, 0.15), **k), box))),
    *shows(transform.RandomErasing, "value", 7.0,
           lambda **k: max(seen(transform.RandomErasing(1.0, **k), np.max)), 7.0),
    *shows(transform.RandomResizedCrop, "scale", (1.0, 1.0), lambda **k: any(changed(
        transform.RandomResizedCrop(6, ratio=(1.0, 1.0), **k), IMAGE[:, :, :6])), False),
    *shows(transform.RandomResizedCrop, "ratio", (3.0, 3.0), lambda **k: all(seen(
        transform.RandomResizedCrop(6, (0.3, 0.3), **k), lambda i: bool(np.ptp(i[1]) > 2 * np.ptp(i[0])), PLACES))),
    *shows(transform.RandomResizedCrop, "interpolation", "nearest", lambda **k: all(seen(
        transform.RandomResizedCrop(6, **k), lambda image: bool(np.isin(image, IMAGE).all())))),
    *shows(transform.RandomRotation, "interpolation", "bilinear", lambda **k: all(np.isin(
        transform.RandomRotation((30, 30), fill=IMAGE[0, 0, 0], **k)(IMAGE), IMAGE).ravel()), False),
    *shows(transform.RandomRotation, "fill", 7.0,
           lambda **k: transform.RandomRotation((45, 45), **k)(IMAGE)[0, 0, 0], 7.0),
    *shows(transform.TenCrop, "vertical_flip", True, lambda **k: transform.TenCrop(6, **k)(IMAGE)[5],
           IMAGE[:, ::-1][:, :6, :6]),
    *shows(transform.Resize, "antialias", False,
           lambda **k: float(transform.Resize((1, 1), **k)(np.array([[[0.0, 0.0, 0.0, 8.0]]]))[0, 0, 0]), 0.0),
    *shows(transform.RandomResizedCrop, "antialias", False, lambda **k: float(transform.RandomResizedCrop(
        1, (1.0, 1.0), (4.0, 4.0), **k)(np.array([[[0.0, 0.0, 0.0, 8.0]]]))[0, 0, 0]), 0.0),
    *shows(transform.Resize, "interpolation", "nearest",
           lambda **k: transform.Resize((3, 4), **k)(IMAGE), IMAGE[:, ::2, ::2]),
]  # fmt: skip
