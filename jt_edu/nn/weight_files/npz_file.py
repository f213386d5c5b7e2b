"""npz file: arrays in a file, without pickle, so that reading a stranger's file runs no code.

The file is a zip of .npy files, one per name: what `numpy.savez` writes and `numpy.load` reads. A small file may unpack
to more than the memory holds, so shapes are read first, and numbers when somebody asks for them.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.nn.weight_files.packed import Packed, Seen, computed, drafted, opened, told_of

NEST = "nest.json"  # the array that says how the others stood in each other: serialization.py
PICKLE = b"\x80"  # how every pickle since 2003 begins
HEAD = 16_384  # bytes in which the head of a .npy file has to end; NumPy writes 128 of them
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
HEADERS[3, 0] = HEADERS[2, 0]  # but for how the names of fields are written, which only who reads the numbers needs


def write_arrays(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Write all arrays, or leave the file as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_arrays(folder + "/a.npz", {"x": np.ones(2)})
        ...     with read_arrays(folder + "/a.npz") as arrays:
        ...         arrays["x"].shape, np.asarray(arrays["x"])
        ((2,), array([1., 1.]))
    """
    computed(arrays.values())
    plain = {name: np.asarray(array) for name, array in arrays.items()}
    total = sum(array.nbytes for array in plain.values())
    with drafted(path, "writing", total) as (file, seen), zipfile.ZipFile(file, "w") as archive:
        for name, array in plain.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
            seen(array.nbytes)


@contextmanager
def read_arrays(path: str | Path, leaf: Callable[[Packed], Any] = lambda packed: packed) -> Iterator[dict[str, Any]]:
    """The arrays of a file that `write_arrays` or `numpy.savez` wrote, while the file is open.

    Raises:
        ArgumentError: it is no such file, or it holds objects, which only code of the file's author could read.
    """
    with opened(path) as (file, seen):
        if not zipfile.is_zipfile(file):
            file.seek(0)
            _refuse_pickle(path, file.read(1) == PICKLE)
            raise ArgumentError("arrays are read from an .npz file", f"{path}, which is not one", "a file of save()")
        with told_of(path):
            archive = zipfile.ZipFile(file)
        _refuse_pickle(path, any(name.endswith("/data.pkl") for name in archive.namelist()))
        with told_of(path):
            told = partial(told_of, path)
            infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            packed = {name: _packed(archive, info, seen, told) for name, info in infos.items()}
        yield {name: leaf(array) for name, array in packed.items()}


def _packed(archive: zipfile.ZipFile, info: zipfile.ZipInfo, seen: Seen, told: Callable[[], Any]) -> Packed:
    with archive.open(info) as entry:
        head = io.BytesIO(entry.read(HEAD))
    shape, _, dtype = HEADERS[np.lib.format.read_magic(head)](head)
    size = head.tell() + math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise ValueError(f"{info.filename} of Python's objects")
    if size != info.file_size:
        raise ValueError(f"{info.filename} of {info.file_size} bytes, where its shape {shape} needs {size}")
    return Packed(shape, dtype, partial(_read, archive, info, seen), told)


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, seen: Seen) -> Any:
    with archive.open(info) as entry:
        array = np.lib.format.read_array(entry, allow_pickle=False)
    seen(array.nbytes)
    return array


def _refuse_pickle(path: str | Path, pickled: bool) -> None:
    """What `torch.save` writes has another suffix, and another reader."""
    if pickled:
        found = f"{path}, as torch.save or pickle.dump writes it"
        raise ArgumentError("arrays are read from an .npz file", found, "a name that ends in .pth")
