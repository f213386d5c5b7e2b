"""MNIST: 70,000 handwritten digits of 28 x 28 pixels, and whatever else is written in its format, idx.

0 0  type  axes      2 bytes of zero, the type of the numbers (8: uint8), how many axes there are
n  rows  columns     the length of each axis, in 4 bytes, most significant first
...                  the numbers
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.data.binary_io import FileError, Reader, checked_labels, first_of, folder_of, path_of
from jt_edu.data.vision_dataset import Pictures
from jt_edu.ops.arguments import yes_or_no

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
MOST_AXES = 8


class MNIST(Pictures):
    """Handwritten digits: pixels (28, 28) uint8 and the digit, from the four published files, packed (.gz) or not.

    Files of the same format may hold images of another size, which the pixels then have.

    Args:
        root: the folder of the files, or one with MNIST/raw in it.
        train: the 60,000 images to train with, or the 10,000 to test with.
        transform, target_transform: what is done to the pixels, and to the digit.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        FileError: a file is missing or damaged. Nothing is downloaded.

    Source: LeCun et al. 1998, "Gradient-based learning applied to document recognition".

    Example:
        >>> MNIST("no/such/folder")
        Traceback (most recent call last):
        FileError: ...
    """

    CLASSES: tuple[str, ...] = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

    def __init__(
        self, root: Any, train: bool = True, transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None, **attributes: Any,
    ) -> None:  # fmt: skip
        super().__init__(folder_of(root), transform, target_transform, **attributes)
        part = "train" if yes_or_no(type(self).__name__, "train", train) else "t10k"
        images = self._file(f"{part}-images-idx3-ubyte")
        labels = self._file(f"{part}-labels-idx1-ubyte")
        pixels, numbers = _array_in(images, 3), _array_in(labels, 1)
        if len(pixels) != len(numbers):
            raise FileError("each image has a label", f"{len(pixels)} images, {len(numbers)} labels in {str(labels)!r}")
        self.hold(pixels, checked_labels(numbers, len(self.CLASSES), labels), self.CLASSES)

    def _file(self, name: str) -> Path:
        inside = f"{type(self).__name__}/raw/{name}"
        return first_of(self.root, name, f"{name}.gz", inside, f"{inside}.gz")


class FashionMNIST(MNIST):
    """Clothes in the format of MNIST: pixels (28, 28) uint8 and one of ten kinds.

    Args:
        root, train, transform, target_transform, attributes: as for `MNIST`.

    Raises:
        FileError: a file is missing or damaged.

    Source: Xiao et al. 2017, "Fashion-MNIST" (arXiv:1708.07747).

    Example:
        >>> FashionMNIST("no/such/folder")
        Traceback (most recent call last):
        FileError: ...
    """

    CLASSES = (
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    )  # fmt: skip


def read_idx(path: Any) -> np.ndarray[Any, Any]:
    """The array in an idx file, packed (.gz) or not.

    A packed file of more than 64 MiB that is packed a hundred times or more is refused before it is unpacked.

    Raises:
        FileError: it is no such file, or holds less or more than its header promises.
        ArgumentError: `path` is no path.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as here:
        ...     file = pathlib.Path(here, "three")
        ...     count = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
        ...     read_idx(file)
        array([7, 8, 9], dtype=uint8)
    """
    file = path_of("read_idx", path)
    return _array_in(first_of(file.parent, file.name))


def _array_in(path: Path, wanted: int = 0) -> np.ndarray[Any, Any]:
    """The array of a file; if `wanted` is said, its header must promise uint8 numbers with so many axes."""
    with Reader(path) as file:
        zero, kind, axes = file.take(2), *file.take(2)
        if zero != b"\0\0" or kind not in TYPES or not 1 <= axes <= MOST_AXES:
            found = f"bytes {zero.hex(' ')} {kind:02x} {axes:02x} in {str(path)!r}"
            raise FileError("an idx file begins with two zeros, the type of its numbers and how many axes", found)
        shape = [int(n) for n in np.frombuffer(file.take(4 * axes), ">u4")]
        dtype = np.dtype(TYPES[kind])
        if wanted and (axes != wanted or dtype != np.uint8):
            found = f"{dtype} {tuple(shape)} in {str(path)!r}"
            raise FileError(f"the file holds uint8 numbers with {wanted} axes", found)
        numbers = file.take(math.prod(shape) * dtype.itemsize)
        file.end()
    try:
        array = np.frombuffer(numbers, dtype).reshape(shape)
    except ValueError as error:  # no element, and other axes that are too long
        raise FileError("the header has a shape that an array can have", f"{shape} in {str(path)!r}") from error
    return array.astype(dtype.newbyteorder("="), copy=False)
