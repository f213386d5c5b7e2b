"""CIFAR: 60,000 photographs of 32 x 32 pixels in 10 or in 100 classes, from either form of the published files.

    binary    records of bytes: label (CIFAR-100: coarse label, label), 1024 red, 1024 green, 1024 blue
    Python    pickled dicts: b"data" (n, 3072) uint8, b"labels" (CIFAR-100: b"fine_labels", b"coarse_labels")

A pickle is a program, and a stranger's program is not run. The reader below knows the few words that these files are
made of (an array of bytes, a text in latin-1), builds plain arrays of them itself, and refuses any other word. Entries
have names that are texts or numbers: of a tuple of tuples that holds itself twice, sixty times over, a hash has no end.
"""

from __future__ import annotations

import io
import math
import pickle
import reprlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from jt_edu.data.binary_io import FileError, checked_labels, first_of, folder_of
from jt_edu.data.vision_dataset import Pictures
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
        content = _PlainUnpickler(io.BytesIO(path.read_bytes()), encoding="bytes").load()
    except FileError:
        raise
    except Exception as error:
        raise FileError("the file is a pickled dict", f"{type(error).__name__}: {error} in {str(path)!r}") from error
    if not isinstance(content, dict):
        raise FileError("the file is a pickled dict", f"{type(content).__name__} in {str(path)!r}")
    return content


STEPS: Any = pickle._Unpickler.dispatch  # by the byte that asks for it


def _of_plain_names(code: bytes, names: slice) -> Callable[[Any], None]:
    """The step that puts entries into a dict, when it is known that their names are plain."""

    def step(reader: Any) -> None:
        for name in reader.stack[names]:
            if not isinstance(name, (str, bytes, int)):
                raise pickle.UnpicklingError(f"an entry whose name is a {type(name).__name__}")
        STEPS[code[0]](reader)

    return step


def _no_set(_: Any) -> None:
    raise pickle.UnpicklingError("a set, which these files do not need")


class _PlainUnpickler(pickle._Unpickler):  # written in Python: it takes no memory on credit
    """Knows the words of an array of bytes, and answers them with words of its own."""

    dispatch: ClassVar[Any] = {
        **STEPS,
        pickle.SETITEM[0]: _of_plain_names(pickle.SETITEM, slice(-2, -1)),
        pickle.SETITEMS[0]: _of_plain_names(pickle.SETITEMS, slice(0, None, 2)),  # what stands behind the last mark
        pickle.DICT[0]: _of_plain_names(pickle.DICT, slice(0, None, 2)),
        **dict.fromkeys((code[0] for code in (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET)), _no_set),
    }
    WORDS: ClassVar[dict[tuple[str, str], str]] = {
        ("numpy.core.multiarray", "_reconstruct"): "array",
        ("numpy._core.multiarray", "_reconstruct"): "array",
        ("numpy", "ndarray"): "ndarray",
        ("numpy", "dtype"): "dtype",
        ("_codecs", "encode"): "encode",
    }

    def find_class(self, module: str, name: str) -> Any:
        """What a word of the pickle stands for."""
        if (module, name) not in self.WORDS:
            raise pickle.UnpicklingError(f"the word {module}.{name}, which these files do not need")
        return _Word(self.WORDS[module, name])


class _Word:
    """A word of a pickle. It can be said with arguments, and nothing else."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        if self.name == "array" and len(arguments) == 3:
            return _Bytes()
        if self.name == "dtype" and arguments and arguments[0] in ("u1", b"u1"):
            return _Bytes()
        if self.name == "encode" and arguments[1:] == ("latin1",) and isinstance(arguments[0], str):
            return arguments[0].encode("latin1")
        raise pickle.UnpicklingError(f"{self.name}{reprlib.repr(arguments):.80}, which these files do not need")

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError(f"a state for {self.name}")


class _Bytes:
    """What becomes an array when its state is known: (version, shape, dtype, column by column?, bytes)."""

    __slots__ = ("array",)

    def __setstate__(self, state: Any) -> None:
        self.array = None
        if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[1], tuple)):
            return  # the state of a dtype, which says nothing new
        _, shape, dtype, columns_first, content = state
        lengths = all(type(n) is int and n >= 0 for n in shape)
        if not lengths or not isinstance(dtype, _Bytes) or columns_first or not isinstance(content, bytes):
            raise pickle.UnpicklingError(f"an array of state {reprlib.repr(state):.80}")
        if math.prod(shape) != len(content):
            raise pickle.UnpicklingError(f"{len(content)} bytes for an array of shape {shape}")
        self.array = np.frombuffer(content, np.uint8).reshape(shape)


def _entry(content: dict[Any, Any], name: str, path: Path) -> Any:
    value = content.get(name.encode(), content.get(name))
    if value is None:
        raise FileError(
            f"the pickled dict has an entry {name!r}", f"{reprlib.repr(list(content)):.80} in {str(path)!r}"
        )
    return getattr(value, "array", value)
