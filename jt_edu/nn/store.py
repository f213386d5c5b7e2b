"""Store: arrays in a file, without pickle, so that reading a stranger's file runs no code.

The file is a zip of .npy files, one per name: what `numpy.savez` writes and `numpy.load` reads.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.errors import ArgumentError

Array = np.ndarray[Any, Any]
PICKLE = b"\x80"  # how every pickle since 2003 begins


def write_arrays(path: str | Path, arrays: Mapping[str, Array]) -> None:
    """Write all arrays, or leave the file as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_arrays(folder + "/a.npz", {"x": np.ones(2)})
        ...     read_arrays(folder + "/a.npz")
        {'x': array([1., 1.])}
    """
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(draft, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def read_arrays(path: str | Path) -> dict[str, Array]:
    """The arrays of a file that `write_arrays` or `numpy.savez` wrote.

    Raises:
        ArgumentError: it is no such file, or holds objects, which only code of the file's author could read.
    """
    if not zipfile.is_zipfile(path):
        with Path(path).open("rb") as file:  # says in Python's own words if there is no such file
            _refuse_pickle(path, file.read(1) == PICKLE)
        raise ArgumentError("parameters are read from an .npz file", f"{path}, which is none", "a file of save()")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            _refuse_pickle(path, any(name.endswith("/data.pkl") for name in names))
            return {name.removesuffix(".npy"): _read(archive, name) for name in names}
    except ArgumentError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ArgumentError(f"{path} holds plain arrays and nothing else", str(error)) from error


def _refuse_pickle(path: str | Path, pickled: bool) -> None:
    """What `torch.save` and `pickle.dump` write is a program, which would be run to be read."""
    if pickled:
        arrays = f"{{k: v.numpy() for k, v in torch.load({os.fspath(path)!r}, weights_only=True).items()}}"
        raise ArgumentError(
            "plain arrays are read, never pickled objects, which could run anything",
            f"{path}, as torch.save or pickle.dump writes it", f"np.savez('arrays.npz', **{arrays})",
        )  # fmt: skip


def _read(archive: zipfile.ZipFile, name: str) -> Array:
    with archive.open(name) as entry:
        array: Array = np.lib.format.read_array(entry, allow_pickle=False)
    return array
