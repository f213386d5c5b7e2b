"""Pictures: a data set in memory, images beside labels, with transforms on the way out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.data.checks import function, place
from jt_edu.data.dataset import Dataset
from jt_edu.errors import ArgumentError
from jt_edu.ops.arguments import word_meant

SETTINGS = inspect.signature(Dataset).parameters


class Pictures(Dataset):
    """Images as uint8 pixels, and their labels: example k is (transform(pixels), target_transform(label))."""

    data: np.ndarray[Any, Any]  # (n, h, w) or (n, h, w, c)
    targets: np.ndarray[Any, Any]  # (n,)
    classes: tuple[str, ...]

    def __init__(
        self, root: Path, transform: Callable[[Any], Any] | None, target_transform: Callable[[Any], Any] | None,
        attributes: dict[str, Any],
    ) -> None:  # fmt: skip
        words = [*inspect.signature(type(self)).parameters, *SETTINGS]
        for wrong in [name for name in attributes if name not in SETTINGS]:
            way = word_meant(wrong, words) if wrong != "download" else "leaving it out: nothing is downloaded"
            raise ArgumentError(f"{type(self).__name__} takes no argument {wrong}", "", way)
        super().__init__(**attributes)
        self.root = root
        self.transform = function("transform", transform)
        self.target_transform = function("target_transform", target_transform)

    def hold(self, pixels: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], classes: tuple[str, ...]) -> None:
        """Take what was read."""
        self.data, self.targets, self.classes = pixels, labels, classes
        self.set_attrs(total_len=len(labels))

    def __getitem__(self, k: int) -> tuple[Any, Any]:
        number = place(type(self).__name__, k, self.total_len)
        image, label = self.data[number], int(self.targets[number])
        return (
            image if self.transform is None else self.transform(image),
            label if self.target_transform is None else self.target_transform(label),
        )
