"""Folders: one folder for each class, one file for each example.

root/cat/1.png                     classes        ["cat", "dog"], sorted
root/cat/2.png                     class_to_idx   {"cat": 0, "dog": 1}
root/dog/a/3.png                   samples        [("root/cat/1.png", 0), ...], sorted
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.data.binary_io import FileError, folder_of
from jt_edu.data.checks import callable_or_none
from jt_edu.data.image import EXTENSIONS, read_image
from jt_edu.data.vision_dataset import Labelled


class DatasetFolder(Labelled):
    """Files in folders: example k is (transform(loader(path)), target_transform(number of the folder)).

    Links are followed, each folder once for each class: a circle of links ends where it began.

    Args:
        root: the folder of the folders.
        loader: reads a file, given its path.
        extensions: which files are examples, by the ends of their names; or
        is_valid_file: a function that says so, given a path.
        transform, target_transform: what is done to what was read, and to the number of the class.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        FileError: there is no class, or a class without an example.

    Example:
        >>> DatasetFolder("no/such/folder", loader=open, extensions=(".txt",))
        Traceback (most recent call last):
        FileError: ...
    """

    def __init__(
        self, root: Any, loader: Callable[[str], Any], extensions: tuple[str, ...] | None = None,
        transform: Callable[[Any], Any] | None = None, target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None, **attributes: Any,
    ) -> None:  # fmt: skip
        super().__init__(folder_of(root), transform, target_transform, **attributes)
        if (extensions is None) == (is_valid_file is None):
            found = f"extensions {extensions!r}, is_valid_file {is_valid_file!r}"
            raise ArgumentError("a DatasetFolder knows its files by extensions or by is_valid_file", found)
        if not callable(loader):
            raise ArgumentError("loader is a function that reads a file", repr(loader))
        self.loader, self.extensions = loader, None if extensions is None else _ends(extensions)
        fits = callable_or_none(type(self).__name__, "is_valid_file", is_valid_file)
        wanted = fits or (lambda path: path.lower().endswith(self.extensions))
        self.classes, self.samples = _classes(self.root), []
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        for name, number in self.class_to_idx.items():
            self.samples += [(path, number) for path in _files(self.root / name) if wanted(path)]
        _check_all_seen(self)
        self.targets = [number for _, number in self.samples]
        own(self).set_attrs(total_len=len(self.samples))

    def pair(self, number: int) -> tuple[Any, int]:
        """What the loader reads from a file, and the number of its folder."""
        path, label = self.samples[number]
        return self.loader(path), label


class ImageFolder(DatasetFolder):
    """Images in folders: example k is (pixels (h, w, 3) uint8, number of the folder), or what transforms make of them.

    Args:
        root, transform, target_transform, is_valid_file, attributes: as for `DatasetFolder`.
        loader: reads a file; `read_image` by default.

    Raises:
        FileError: there is no class, or a class without an image; later, a file is damaged.

    Example:
        >>> ImageFolder("no/such/folder")
        Traceback (most recent call last):
        FileError: ...
    """

    def __init__(
        self, root: Any, transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None, loader: Callable[[str], Any] = read_image,
        is_valid_file: Callable[[str], bool] | None = None, **attributes: Any,
    ) -> None:  # fmt: skip
        extensions = EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, **attributes)
        self.imgs = self.samples


def _ends(extensions: Any) -> tuple[str, ...]:
    ends = (extensions,) if isinstance(extensions, str) else tuple(extensions)
    if not ends or not all(isinstance(end, str) and end for end in ends):
        raise ArgumentError("extensions are the ends of file names", repr(extensions), "('.png', '.jpg')")
    return tuple(end.lower() for end in ends)


def _classes(root: Path) -> list[str]:
    names = sorted(entry.name for entry in root.iterdir() if entry.is_dir())
    if not names:
        raise FileError("the folder holds a folder for each class", f"no folder in {str(root)!r}")
    return names


def _files(top: Path) -> list[str]:
    """The files below, behind links as well. Links of a stranger may lead in circles, or to one folder in many ways."""
    found, seen = list[str](), set[str]()
    for here, inside, names in os.walk(top, followlinks=True):
        real = os.path.realpath(here)
        if real in seen:
            inside.clear()
            continue
        seen.add(real)
        inside.sort()  # which of several ways is taken does not depend on the disk
        found += [os.path.join(here, name) for name in names]  # noqa: PTH118 - as given
    return sorted(found)


def _check_all_seen(dataset: DatasetFolder) -> None:
    empty = set(dataset.class_to_idx.values()) - {number for _, number in dataset.samples}
    if empty:
        names = [dataset.classes[number] for number in sorted(empty)[:5]]
        wanted = ", ".join(dataset.extensions or ("is_valid_file",))
        found = f"none in {str(dataset.root)!r} for {', '.join(names)}"
        raise FileError(f"each class has a file that is an example ({wanted})", found)
