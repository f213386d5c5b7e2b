"""Formats: which of them does a file have? What comes behind the last dot says so, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from jt_edu.base.errors import ArgumentError
from jt_edu.nn.weight_files import npz_file, safetensors_file, torch_reader, torch_writer
from jt_edu.nn.weight_files.packed import checked


class Format(NamedTuple):
    """How files of a format are read, an array at a time, and written."""

    read: Callable[..., AbstractContextManager[Any]]  # of (path, leaf)
    write: Callable[[Any, Any], None]  # of (path, value)


NPZ = Format(npz_file.read_arrays, npz_file.write_arrays)
TORCH = Format(torch_reader.read, torch_writer.write)
SAFETENSORS = Format(safetensors_file.read, safetensors_file.write)
FORMATS = {".npz": NPZ, ".pth": TORCH, ".pt": TORCH, ".bin": TORCH, ".safetensors": SAFETENSORS}


def format_of(path: Any, how: str) -> Format:
    """The format of a file by its suffix; without one, or with a number, it is .npz.

    Raises:
        ArgumentError: no format has the suffix.

    Example:
        >>> format_of("net.pt", "read from") is TORCH, format_of("v1.0", "written into") is NPZ
        (True, True)
    """
    if hasattr(path, "read"):
        return NPZ
    suffix = Path(checked(path, how)).suffix.lower()
    if not suffix or suffix[1:].isdigit():  # "v1.0" names a version
        return NPZ
    if suffix not in FORMATS:
        known = ", ".join(list(FORMATS)[:-1])
        asked = f"arrays are {how} a file whose name ends in {known} or {list(FORMATS)[-1]}"
        raise ArgumentError(asked, repr(str(path)), repr(f"{path}.npz"))
    return FORMATS[suffix]
