"""17.2: Mixup and CutMix, in one line for the images and one for the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import pair, same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import ask, part

SHAPES = (7, 3, 4, 6, 5), (5, 1, 3, 8, 2), (1, 1, 2, 2, 3)  # images, channels, height, width, classes
KINDS = ("numbers from 0 to 1", "a box of zeros", "the same number everywhere")  # the most telling one first
Mixed = tuple[np.ndarray, np.ndarray]


@exercise(
    "17.2",
    "two images in one",
    points=2,
    hints=(
        "`images[order]` are the partners. `keep` has the shape (h, w): NumPy repeats it for each image and channel.",
        "How much of an image is kept, all in all? That is the mean of `keep`, and the share of its own label.",
    ),
    why="""With a `keep` that is the same everywhere, this is Mixup. With a box of zeros it is CutMix. The line for the
    labels is the same: the label says what can be seen.""",
)
def mixed(answer: Callable[..., Any]) -> str:
    """Compare with the formula, for several kinds of `keep`."""
    told = "it returns a pair, images and labels"
    cases = [(kind, *_case(k, shape, kind)) for kind in KINDS for k, shape in enumerate(SHAPES)]
    with part("images"):
        for kind, images, labels, keep, order in cases:
            found, _ = pair(ask(answer, images, labels, keep, order, case=f"keep with {kind}", name="mixed"), told)
            right = keep * images + (1 - keep) * images[order]
            same(found, right, f"keep with {kind}", _images(images, keep, order))
    with part("labels"):
        for kind, images, labels, keep, order in cases:
            _, found = pair(ask(answer, images, labels, keep, order, case=f"keep with {kind}", name="mixed"), told)
            right = _of(labels, keep.mean(), order)
            same(found, right, f"keep with {kind}", _labels(labels, keep, order))
    return f"{len(SHAPES)} batches, each mixed with {len(KINDS)} kinds of `keep`"


def _case(k: int, shape: tuple[int, ...], kind: str) -> tuple[np.ndarray, ...]:
    n, c, h, w, classes = shape
    draw = random(k, KINDS.index(kind))
    images, labels = draw.normal(size=(n, c, h, w)), np.eye(classes)[draw.integers(classes, size=n)]
    order = np.roll(np.arange(n), 2)  # no partner's partner is the image itself, where there are more than four
    share = draw.uniform(0.6, 0.9)
    box = np.ones((h, w))
    box[: h // 2, : w // 2] = 0
    some = np.clip(draw.uniform(-0.3, 1.2, (h, w)), 0, 1)
    keep = dict(zip(KINDS, (some, box, np.full((h, w), share)), strict=True))[kind]
    return images, labels * 0.9 + 0.1 / classes, keep, order


def _of(x: np.ndarray, share: Any, order: np.ndarray) -> np.ndarray:
    mixture: np.ndarray = share * x + (1 - share) * x[order]
    return mixture


def _images(images: np.ndarray, keep: np.ndarray, order: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    back = np.argsort(order)
    yield images, "nothing is mixed"
    yield images[order], "these are the partners alone"
    yield _of(images, 1 - keep, order), "`keep` says what stays of the image itself, not of its partner"
    yield _of(images, keep, back), "the partner of image k is image `order[k]`: `images[order]`"
    yield _of(images, keep, np.arange(len(images))[::-1]), "the partner of image k is image `order[k]`, not n - 1 - k"
    yield _of(images, keep.mean(), order), "each pixel has its own share: `keep` as it is, not its mean"
    yield keep * images, "where `keep` is 0, the partner is seen; here it is black"
    yield keep * images + images[order], "the partner comes in with the rest, 1 - keep"


def _labels(labels: np.ndarray, keep: np.ndarray, order: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    share, back = keep.mean(), np.argsort(order)
    yield labels, "they say nothing of the partners, which can be seen in the images"
    yield labels[order], "these are the labels of the partners alone"
    yield (labels + labels[order]) / 2, "half and half, however much is kept of an image"
    yield _of(labels, 1 - share, order), "the shares are exchanged: the mean of `keep` belongs to the image itself"
    yield _of(labels, share, back), "each label is mixed with that of image `order[k]`, as the images are"
    for other in ((keep > 0).mean(), (keep == 1).mean(), keep.max(), keep.min(), keep[0, 0], np.median(keep)):
        yield _of(labels, other, order), "what is kept of an image, all in all, is the mean of `keep`"
    yield share * labels, "they do not add up to 1: the rest belongs to the partner's label"
    yield labels + labels[order], "they add up to 2: each image has one label to share out"
