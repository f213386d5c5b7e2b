"""npz file: arrays in a file, without pickle, so that reading a stranger's file runs no code.

The file is a zip of .npy files, one per name: what `numpy.savez` writes and `numpy.load` reads. A small file may unpack
to more than the memory holds, so shapes are read first, and numbers when somebody asks for them.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short

Array = np.ndarray[Any, Any]
SUFFIXES = (".npz", "")
NEST = "nest.json"  # the array that says how the others stood in each other: serialization.py
PICKLE = b"\x80"  # how every pickle since 2003 begins
HEAD = 16_384  # bytes in which the head of a .npy file has to end; NumPy writes 128 of them
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
HEADERS[3, 0] = HEADERS[2, 0]  # but for how the names of fields are written, which only who reads the numbers needs


def write_arrays(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Write all arrays, or leave the file as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_arrays(folder + "/a.npz", {"x": np.ones(2)})
        ...     with read_arrays(folder + "/a.npz") as arrays:
        ...         arrays["x"].shape, np.asarray(arrays["x"])
        ((2,), array([1., 1.]))
    """
    target = Path(checked(path, "written into"))
    if target.is_dir():
        raise ArgumentError(
            "arrays are written to a file", f"the folder {str(target)!r}", f"{str(target / 'net.npz')!r}"
        )
    _refuse_suffix(target, "written as")
    if not target.parent.is_dir():
        way = f"Path({str(target.parent)!r}).mkdir(parents=True)"
        raise FileNotFoundError(
            f"a file is written to a folder that exists; found no folder {str(target.parent)!r}. Try: {way}."
        )
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(draft, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def read_arrays(path: str | Path) -> Iterator[dict[str, Packed]]:
    """The arrays of a file that `write_arrays` or `numpy.savez` wrote, while the file is open.

    Raises:
        ArgumentError: it is no such file, its name promises another format, or it holds objects, which only code of
            the file's author could read.
    """
    if not hasattr(path, "read") and Path(checked(path, "read from")).exists() and not Path(path).is_file():
        raise ArgumentError("arrays are read from a file", f"{str(path)!r}, which is a folder, a pipe or a device")
    if not zipfile.is_zipfile(path):
        with Path(path).open("rb") as file:  # says in Python's own words if there is no such file
            _refuse_pickle(path, file.read(1) == PICKLE)
        _refuse_suffix(path, "read from")
        raise ArgumentError("arrays are read from an .npz file", f"{path}, which is not one", "a file of save()")
    with told_of(path):
        archive = zipfile.ZipFile(path)
    with archive:
        _refuse_pickle(path, any(name.endswith("/data.pkl") for name in archive.namelist()))
        _refuse_suffix(path, "read from")
        with told_of(path):
            arrays = {info.filename.removesuffix(".npy"): Packed(archive, info) for info in archive.infolist()}
        yield arrays


def checked(path: Any, how: str) -> Any:
    """The path of a file, and nothing else: a number would be taken for a file that is open.

    Example:
        >>> checked("net.npz", "read from")
        'net.npz'
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"arrays are {how} a file, given by its path", short(path), "'net.npz'")
    return path


def _refuse_suffix(path: Any, how: str) -> None:
    """A name that promises another format would be believed by whoever opens the file next."""
    suffix = "" if hasattr(path, "read") else Path(path).suffix
    if suffix.lower() not in SUFFIXES and not suffix[1:].isdigit():  # "v1.0" names a version
        formats = "a file of plain arrays, .npz; other formats, such as .pth and .safetensors, are not known"
        raise ArgumentError(f"arrays are {how} {formats}", f"{str(path)!r}", repr(f"{path}.npz"))


class Packed:
    """An array in a file that is open: its shape is known, its numbers are read when it becomes an array."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self._archive, self._info = archive, info
        with archive.open(info) as entry:
            head = io.BytesIO(entry.read(HEAD))
        self.shape, _, self.dtype = HEADERS[np.lib.format.read_magic(head)](head)
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        size = head.tell() + self.nbytes
        if self.dtype.hasobject:
            raise ValueError(f"{info.filename} of Python's objects")
        if size != info.file_size:
            raise ValueError(f"{info.filename} of {info.file_size} bytes, where its shape {self.shape} needs {size}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        with told_of(self._archive.filename), self._archive.open(self._info) as entry:
            array: Array = np.lib.format.read_array(entry, allow_pickle=False)
        return array if dtype is None else array.astype(dtype)


@contextmanager
def told_of(path: Any) -> Iterator[None]:
    """Turn any error while a file is read into one that names the file: each way of packing has errors of its own.

    Example:
        >>> with told_of("a.npz"):
        ...     raise KeyError("weight")
        Traceback (most recent call last):
        ArgumentError: a.npz holds plain arrays and nothing else; found 'weight'.
    """
    try:
        yield
    except MemoryError:  # nothing is wrong in the file
        raise
    except Exception as error:
        raise ArgumentError(f"{path} holds plain arrays and nothing else", str(error) or repr(error)) from error


def _refuse_pickle(path: str | Path, pickled: bool) -> None:
    """What `torch.save` and `pickle.dump` write is a program, which would be run to be read."""
    if pickled:
        arrays = f"{{k: v.numpy() for k, v in torch.load({os.fspath(path)!r}, weights_only=True).items()}}"
        raise ArgumentError(
            "only plain arrays are read: unpickling an object could run any code",
            f"{path}, as torch.save or pickle.dump writes it", f"np.savez('arrays.npz', **{arrays})",
        )  # fmt: skip
