"""Vision dataset: things beside labels, with transforms on the way out; in memory, images.

Labelled    example k is (transform(thing k), target_transform(label k)); where things are, a subclass knows
Pictures    an array of images
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import doing, own
from jt_edu.data.checks import callable_or_none, place
from jt_edu.data.dataset import Dataset, take


class Labelled(Dataset):
    """Things with a label each. A subclass has a method `pair`, which is given a number from 0."""

    def __init__(
        self, root: Path, transform: Callable[[Any], Any] | None, target_transform: Callable[[Any], Any] | None,
        **attributes: Any,
    ) -> None:  # fmt: skip
        take(self, attributes)
        who = type(self).__name__
        self.root = root
        self.transform = callable_or_none(who, "transform", transform)
        self.target_transform = callable_or_none(who, "target_transform", target_transform)

    def __getitem__(self, k: int) -> tuple[Any, Any]:
        thing, label = doing(self, "pair")(place(type(self).__name__, k, self.total_len))
        return (
            thing if self.transform is None else self.transform(thing),
            label if self.target_transform is None else self.target_transform(label),
        )

    def pair(self, number: int) -> tuple[Any, int]:
        """A thing and its label, as they are."""
        raise ArgumentError(f"{type(self).__name__} must say what example {number} is", "no pair method")


class Pictures(Labelled):
    """Images as uint8 pixels, and their labels."""

    data: np.ndarray[Any, Any]  # (n, h, w) or (n, h, w, c)
    targets: np.ndarray[Any, Any]  # (n,)
    classes: tuple[str, ...]

    def hold(self, pixels: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], classes: tuple[str, ...]) -> None:
        """Take what was read."""
        self.data, self.targets, self.classes = pixels, labels, classes
        own(self).set_attrs(total_len=len(labels))

    def pair(self, number: int) -> tuple[Any, int]:
        """The pixels of an image, and its label."""
        return self.data[number], int(self.targets[number])
