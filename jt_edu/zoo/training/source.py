"""Source: which images, with which labels, does a name stand for?

digits                                    8 x 8 pixels, from scikit-learn; no download
mnist fashion_mnist cifar10 cifar100      from files in DATA_PATH
folder:PATH                               PATH/train/CLASS/... and PATH/val/CLASS/...; or PATH/CLASS/..., of which
                                          a fifth, drawn once and for all, is held out
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data.dataset_ops import Subset
from jt_edu.data.sampler import count_examples
from jt_edu.ops.arguments import word_meant
from jt_edu.zoo.data.dataset_factory import create_dataset

FOLDER = "folder:"
SEEN = {  # mean and standard deviation of the pixels, from 0 to 1
    "digits": ((0.3053,), (0.3760,)), "mnist": ((0.1307,), (0.3081,)), "fashion_mnist": ((0.2860,), (0.3530,)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Images to train with and others to measure with: pixels (h, w) or (h, w, c) uint8, and numbers of classes."""

    train: Any
    held_out: Any
    classes: Sequence[str]
    channels: int = 3
    size: int = 0  # of an image; 0: each has its own
    mean: tuple[float, ...] | None = None  # None: those of the network
    std: tuple[float, ...] | None = None


def named(name: str, path: str = "") -> Source:
    """The images of a name, from files in a folder if they do not come with a library.

    Raises:
        ArgumentError: nothing has this name. FileError: the files are not there, or damaged.

    Example:
        >>> from jt_edu.zoo.training.source import named
        >>> source = named("digits")
        >>> source.train.total_len, source.held_out.total_len, source.channels, source.size
        (1437, 360, 1, 8)
    """
    if name.startswith(FOLDER):
        return _folder(Path(name.removeprefix(FOLDER) or path))
    if name not in SEEN:
        words = [*SEEN, f"{FOLDER}PATH"]
        raise ArgumentError(f"--dataset is one of {', '.join(words)}", repr(name), word_meant(name, words))
    full = "jt/digits" if name == "digits" else f"torch/{name}"
    train, held_out = (create_dataset(full, path or name, split) for split in ("train", "validation"))
    _, size, _, *channels = (*train.data.shape, 1)[:4]
    return Source(train, held_out, train.classes, channels[0], size, *SEEN[name])


def _folder(top: Path) -> Source:
    train, held_out = (create_dataset("", top, split) for split in ("train", "validation"))
    if train.classes != held_out.classes:
        found = f"{len(train.classes)} in {str(train.root)!r} and {len(held_out.classes)} in {str(held_out.root)!r}"
        raise ArgumentError("folders to train and to measure with have the same classes", found)
    if train.root == held_out.root:
        order = np.random.RandomState(0).permutation(count_examples(train)).tolist()
        cut = max(1, len(order) // 5)
        return Source(Subset(train, order[cut:]), Subset(train, order[:cut]), train.classes)
    return Source(train, held_out, train.classes)
