"""CIFAR: 60,000 photographs of 32 x 32 pixels in 10 or in 100 classes, from either form of the published files.

    binary    records of bytes: label (CIFAR-100: coarse label, label), 1024 red, 1024 green, 1024 blue
    Python    pickled dicts: b"data" (n, 3072) uint8, b"labels" (CIFAR-100: b"fine_labels", b"coarse_labels")

A pickle is a program, and a stranger's program is not run: it is read instruction by instruction (unpickler.py), and of
names it may say those of an array of bytes, of which plain arrays are made here.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from jt_edu.data.binary_io import FileError, checked_labels, first_of, folder_of
from jt_edu.data.vision_dataset import Pictures
from jt_edu.nn.weight_files.packed import Refused, whole
from jt_edu.nn.weight_files.unpickler import Called, said, unpickled
from jt_edu.ops.arguments import yes_or_no

PIXELS = 3 * 32 * 32
CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip


class CIFAR10(Pictures):
    """Photographs of ten kinds of things: pixels (32, 32, 3) uint8 and the number of the kind.

    Args:
        root: the folder of the files (data_batch_1 or data_batch_1.bin, ...), or one with the unpacked folder in it.
        train: the 50,000 images to train with, or the 10,000 to test with.
        transform, target_transform: what is done to the pixels, and to the label.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        FileError: a file is missing, damaged, or a pickle of something else. Nothing is downloaded.

    Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images".

    Example:
        >>> CIFAR10("no/such/folder")
        Traceback (most recent call last):
        FileError: ...
    """

    FOLDERS: ClassVar[tuple[str, ...]] = ("cifar-10-batches-py", "cifar-10-batches-bin")
    TRAIN: ClassVar[tuple[str, ...]] = tuple(f"data_batch_{k}" for k in range(1, 6))
    TEST: ClassVar[tuple[str, ...]] = ("test_batch",)
    LABELS: ClassVar[tuple[tuple[str, int], ...]] = (("labels", 10),)  # as in a record, and how many
    CLASSES: ClassVar[tuple[str, ...]] = CIFAR10_CLASSES
    wanted = 0

    def __init__(
        self, root: Any, train: bool = True, transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None, **attributes: Any,
    ) -> None:  # fmt: skip
        super().__init__(folder_of(root), transform, target_transform, **attributes)
        names = self.TRAIN if yes_or_no(type(self).__name__, "train", train) else self.TEST
        parts = [self._part(self._file(name)) for name in names]
        pixels = np.concatenate([pixels for pixels, _ in parts]).reshape(-1, 3, 32, 32)
        labels = np.concatenate([labels for _, labels in parts])
        self.hold(np.ascontiguousarray(np.moveaxis(pixels, 1, -1)), labels, self.CLASSES)

    def _file(self, name: str) -> Path:
        inside = [f"{folder}/{file}" for folder in self.FOLDERS for file in (name, f"{name}.bin")]
        return first_of(self.root, name, f"{name}.bin", *inside)

    def _part(self, path: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Pixels (n, 3072) and labels (n,) of one file."""
        read = self._binary if path.suffix == ".bin" else self._pickled
        pixels, labels = read(path)
        return pixels, checked_labels(labels, self.LABELS[self.wanted][1], path)

    def _binary(self, path: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        content, record = np.fromfile(path, np.uint8), len(self.LABELS) + PIXELS
        if not content.size or content.size % record:
            raise FileError(f"the file is made of records of {record} bytes", f"{content.size} bytes in {str(path)!r}")
        table = content.reshape(-1, record)
        return table[:, len(self.LABELS) :], table[:, self.wanted]

    def _pickled(self, path: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        content = read_plain_pickle(path)
        name = self.LABELS[self.wanted][0]
        pixels, labels = (_entry(content, key, path) for key in ("data", name))
        if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != PIXELS:
            found = f"{getattr(pixels, 'shape', type(pixels).__name__)} in {str(path)!r}"
            raise FileError(f"data is a uint8 array (n, {PIXELS})", found)
        plain = isinstance(labels, list) and all(type(label) is int and 0 <= label < 256 for label in labels)
        if not plain or len(labels) != len(pixels):
            raise FileError(f"{name} is a list of {len(pixels)} small numbers", f"something else in {str(path)!r}")
        return pixels, np.array(labels, np.int64)


class CIFAR100(CIFAR10):
    """Photographs of a hundred kinds of things: pixels (32, 32, 3) uint8 and the number of the kind.

    Args:
        root, train, transform, target_transform, attributes: as for `CIFAR10`.
        coarse: labels are the 20 groups of kinds.

    Raises:
        FileError: a file is missing, damaged, or a pickle of something else.

    Example:
        >>> CIFAR100("no/such/folder")
        Traceback (most recent call last):
        FileError: ...
    """

    FOLDERS = ("cifar-100-python", "cifar-100-binary")
    TRAIN = ("train",)
    TEST = ("test",)
    LABELS = (("coarse_labels", 20), ("fine_labels", 100))
    CLASSES = ()

    def __init__(self, root: Any, *arguments: Any, coarse: bool = False, **named: Any) -> None:
        self.wanted = 0 if yes_or_no("CIFAR100", "coarse", coarse) else 1
        super().__init__(root, *arguments, **named)


def read_plain_pickle(path: Path) -> dict[Any, Any]:
    """The dict in a pickle of texts, numbers, lists and arrays of bytes; a pickle of anything else is refused."""
    try:
        content = unpickled(path.read_bytes(), NAMES, lambda told: None)
    except Refused as error:
        raise FileError("the file is a pickled dict", f"{error} in {str(path)!r}") from error
    if not isinstance(content, dict):
        raise FileError("the file is a pickled dict", f"{type(content).__name__} in {str(path)!r}")
    return content


class Pixels:
    """What becomes an array when its state is known: (version, shape, dtype, column by column?, bytes)."""

    array: np.ndarray[Any, Any] | None = None

    def built(self, state: Any) -> None:
        """Take the state; that of a dtype says nothing new."""
        if not (type(state) is tuple and len(state) == 5 and type(state[1]) is tuple):
            return
        _, shape, dtype, columns_first, content = state
        content = content.encode("latin-1") if type(content) is str else content  # Python 2 knew no bytes
        if not whole(*shape) or not isinstance(dtype, Pixels) or columns_first or type(content) is not bytes:
            raise Refused("an array of something else than bytes")
        if math.prod(shape) != len(content):
            raise Refused(f"{len(content)} bytes for an array of shape {shape}")
        self.array = np.frombuffer(content, np.uint8).reshape(shape)


def _dtype(kind: Any, *_: Any) -> Pixels:
    if kind not in ("u1", b"u1"):
        raise Refused(f"numbers of the dtype {said(kind)}")
    return Pixels()


def _encoded(text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding != "latin1":
        raise Refused(f"a text in {said(encoding)}")
    return text.encode("latin-1")


NAMES = {
    "numpy.core.multiarray _reconstruct": Called(lambda *_: Pixels()),
    "numpy._core.multiarray _reconstruct": Called(lambda *_: Pixels()),
    "numpy ndarray": "ndarray", "numpy dtype": Called(_dtype), "_codecs encode": Called(_encoded),
}  # fmt: skip


def _entry(content: dict[Any, Any], name: str, path: Path) -> Any:
    value = content.get(name.encode(), content.get(name))
    if value is None:
        raise FileError(
            f"the pickled dict has an entry {name!r}", f"{reprlib.repr(list(content)):.80} in {str(path)!r}"
        )
    return getattr(value, "array", value)
