"""Binary IO: reading what somebody else wrote, with care. Whatever is wrong with a file, the error names it."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any, Self

import numpy as np

from jt_edu.base.errors import ArgumentError, JtError

DEFLATE = 1040  # gzip makes a file at most so many times smaller: a header that promises more is lying
DENSE = 100  # and measured numbers not even so many times: a large file that is packed tighter is a trap
SMALL = 1 << 26  # bytes that may be packed as tightly as can be: labels in order, an image of one colour
PIECE = 1 << 20  # bytes that are read at a time


class FileError(JtError, ValueError):
    """A file that is not there, is damaged, or is not of the format that it should be.

    Example:
        >>> raise FileError("an idx file begins with two zeros", "bytes 50 4b in 'digits.zip'")
        Traceback (most recent call last):
        FileError: ...
    """


def path_of(name: str, path: Any) -> Path:
    """What was given as the path of a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"{name} reads a file, and takes its path", repr(path), f"{name}('...')")
    return Path(os.fsdecode(path))


def folder_of(root: Any) -> Path:
    """An existing folder."""
    if not isinstance(root, (str, Path)):
        raise ArgumentError("root is the path of a folder", repr(root))
    if not Path(root).is_dir():
        raise FileError("data sets are read from a folder", f"no folder {str(root)!r}", "the unpacked files")
    return Path(root)


def first_of(root: Path, *names: str) -> Path:
    """The first of these files that is there."""
    for name in names:
        if (root / name).is_file():
            return root / name
    raise FileError(
        f"the data set is a file {names[0]} in the folder", f"no such file in {str(root)!r}",
        "download it from where it is published; jt_edu downloads nothing itself",
    )  # fmt: skip


class Reader:
    """A file read in pieces of a known size; one that ends in .gz is unpacked, never beyond what is asked for."""

    def __init__(self, path: Path) -> None:
        self.path, self.packed = path, path.suffix == ".gz"
        size = path.stat().st_size
        self.limit = min(size * DEFLATE, max(size * DENSE, SMALL)) if self.packed else size
        self.file: Any = gzip.open(path) if self.packed else path.open("rb")  # noqa: SIM115 - __exit__ closes it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def take(self, count: int) -> bytearray:
        """The next `count` bytes."""
        found = self._read(count) if count <= self.limit else bytearray()
        if len(found) < count:
            have = f"{len(found)}" if count <= self.limit else f"at most {self.limit}"
            raise FileError(
                f"{count} more bytes follow, as the header promises", f"{have} in {str(self.path)!r}",
                "a file that is not packed" if count > self.limit and self.packed else "",
            )  # fmt: skip
        return found

    def end(self) -> None:
        """Here the file must end."""
        if self._read(1):
            raise FileError("the file ends where its header says", f"more bytes in {str(self.path)!r}")

    def _read(self, count: int) -> bytearray:
        found = bytearray()
        try:
            while len(found) < count and (piece := self.file.read(min(PIECE, count - len(found)))):
                found += piece
        except (EOFError, OSError, zlib.error) as error:
            raise FileError("the file can be read", f"{error} in {str(self.path)!r}", "fetch it again") from error
        return found


def checked_labels(labels: np.ndarray[Any, Any], classes: int, path: Path) -> np.ndarray[Any, Any]:
    """Labels as int64, each one of the classes."""
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise FileError(f"labels are from 0 to {classes - 1}", f"{labels.min()} to {labels.max()} in {str(path)!r}")
    return labels.astype(np.int64)
