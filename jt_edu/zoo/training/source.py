"""Source: which images, with which labels, does a name stand for?

    digits                          8 x 8 pixels, from scikit-learn; no download
    mnist fashion_mnist cifar10 cifar100      from files in DATA_PATH
    folder:PATH                     PATH/train/CLASS/... and PATH/val/CLASS/...; or PATH/CLASS/..., of which a fifth,
                                    drawn once and for all, is held out
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data import CIFAR10, CIFAR100, MNIST, FashionMNIST, ImageFolder, Subset, digits
from jt_edu.ops.arguments import word_meant

FILES = {"mnist": MNIST, "fashion_mnist": FashionMNIST, "cifar10": CIFAR10, "cifar100": CIFAR100}
SEEN = {  # mean and standard deviation of the pixels, from 0 to 1
    "digits": ((0.3053,), (0.3760,)), "mnist": ((0.1307,), (0.3081,)), "fashion_mnist": ((0.2860,), (0.3530,)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}  # fmt: skip
VALIDATION = ("val", "validation", "test")


@dataclass(frozen=True)
class Source:
    """Images to train with and others to measure with: pixels (h, w) or (h, w, c) uint8, and numbers of classes."""

    train: Any
    held_out: Any
    classes: Sequence[str]
    channels: int
    size: int  # of an image; 0: each has its own
    mean: tuple[float, ...] = ()  # those of the network, where there are none
    std: tuple[float, ...] = ()


class Digits:
    """The digits of scikit-learn as pixels from 0 to 255.

    Example:
        >>> pixels, label = Digits(train=False)[0]
        >>> pixels.shape, pixels.dtype, len(Digits(train=False))
        ((8, 8), dtype('uint8'), 360)
    """

    def __init__(self, train: bool) -> None:
        images, self.labels = digits(train).arrays
        self.pixels = (images[:, 0] * 255).round().astype(np.uint8)

    def __getitem__(self, k: int) -> tuple[Any, int]:
        return self.pixels[k], int(self.labels[k])

    def __len__(self) -> int:
        return len(self.labels)


def named(name: str, path: str = "") -> Source:
    """The images of a name, from files in a folder if they do not come with a library.

    Raises:
        ArgumentError: nothing has this name. FileError: the files are not there, or damaged.

    Example:
        >>> source = named("digits")
        >>> len(source.train), len(source.held_out), source.channels, source.size
        (1437, 360, 1, 8)
    """
    if name.startswith("folder:") or name == "folder":
        return _folder(Path(name.removeprefix("folder").removeprefix(":") or path))
    if name == "digits":
        return Source(Digits(True), Digits(False), [str(k) for k in range(10)], 1, 8, *SEEN[name])
    if name not in FILES:
        words = ["digits", *FILES, "folder:PATH"]
        raise ArgumentError(f"--dataset is one of {', '.join(words)}", repr(name), word_meant(name, words))
    train, held_out = (FILES[name](path or name, train=wanted) for wanted in (True, False))
    shape = train.data.shape[1:]
    return Source(train, held_out, list(train.classes), 1 if len(shape) == 2 else shape[2], shape[0], *SEEN[name])


def _folder(top: Path) -> Source:
    validation = [top / word for word in VALIDATION if (top / word).is_dir()]
    if (top / "train").is_dir() and validation:
        train, held_out = ImageFolder(top / "train"), ImageFolder(validation[0])
        if train.classes != held_out.classes:
            found = f"{len(train.classes)} and {len(held_out.classes)} folders"
            raise ArgumentError(f"{top / 'train'} and {validation[0]} have the same classes", found)
        return Source(train, held_out, train.classes, 3, 0)
    every = ImageFolder(top)
    order = np.random.RandomState(0).permutation(len(every)).tolist()
    cut = max(1, len(order) // 5)
    return Source(Subset(every, order[cut:]), Subset(every, order[:cut]), every.classes, 3, 0)
