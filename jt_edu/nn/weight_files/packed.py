"""Packed: an array in a file, of which the shape is known before its numbers are read.

A small file may promise more than the memory holds. So all that a stranger says of an array is checked against the
size of the file first, and numbers are read when somebody asks for them, in pieces, into memory of their own.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.dtypes import DType, bfloat16, from_bfloat16
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import lies_as_kernels_read, shared_source, short
from jt_edu.ir.meta_ops import SOURCE
from jt_edu.ir.node import Node
from jt_edu.ops.create import sync
from jt_edu.variable.var import Var, as_var

Array = np.ndarray[Any, Any]
Seen = Callable[[int], None]  # is told of so many bytes that were read or written
PIECE = 1 << 20  # bytes that are read or written at a time
BOMB, SWELLS = 100_000_000, 200  # bytes that a file may unpack to, or as many times its own size
LARGEST = 10**4000  # of whole numbers: Python reads and writes no more digits
MOST_AXES = 64  # of an array of NumPy's


class Packed:
    """An array in a file that is open: its shape is known, its numbers are read when it becomes an array or a Var.

    Args:
        shape, dtype: of the array; a NumPy dtype, or one of Vars.
        read: returns the numbers, as they are stored: of bfloat16, 16 bits each.
        told: a context that tells of the file what goes wrong meanwhile.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: Any, read: Callable[[], Array],
        told: Callable[[], AbstractContextManager[None]],
    ) -> None:  # fmt: skip
        self.shape, self.dtype, self._read, self._told = shape, dtype, read, told
        self.nbytes = math.prod(shape) * (dtype.size if isinstance(dtype, DType) else dtype.itemsize)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        with self._told():
            array = self._read()
        array = from_bfloat16(array) if self.dtype is bfloat16 else array
        return array if dtype is None else array.astype(dtype)

    def var(self) -> Var:
        """A Var of its numbers, which are not copied again."""
        with self._told():
            array = self._read()
        if self.dtype is not bfloat16:
            known = isinstance(self.dtype, DType) and lies_as_kernels_read(array)
            return Var._of(shared_source(array)) if known else as_var(array)
        node = Node(SOURCE, (), array.shape, bfloat16, array)
        node.tracked = not current().no_grad
        return Var._of(node)


class Refused(ValueError):  # noqa: N818 - told_of makes an error of the house of it, which names the file
    """What is wrong in a file, and what to try."""

    def __init__(self, found: str, attempt: str = "") -> None:
        super().__init__(found)
        self.attempt = attempt


@contextmanager
def told_of(path: Any, what: str = "holds plain arrays and nothing else") -> Iterator[None]:
    """Whatever goes wrong in a stranger's file, that file is told of: each way of packing has errors of its own.

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
        if getattr(error, "asked", "").startswith(f"{path} "):  # it was told already
            raise
        attempt = getattr(error, "attempt", "")
        raise ArgumentError(f"{path} {what}", str(error) or repr(error), attempt) from error


@contextmanager
def metered(verb: str, path: Any, total: int) -> Iterator[Seen]:
    """Nothing tells how far a large file is, until lens/file_progress.py puts a bar here."""
    del verb, path, total
    yield lambda count: None


def checked(path: Any, how: str) -> Any:
    """The path of a file, and nothing else: a number would be taken for a file that is open.

    Example:
        >>> checked("net.npz", "read from")
        'net.npz'
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"arrays are {how} a file, given by its path", short(path), "'net.npz'")
    return path


@contextmanager
def opened(path: Any) -> Iterator[tuple[IO[bytes], Seen]]:
    """A file to read from, unless it is open already; and who wants to be told of the bytes that were read."""
    if hasattr(path, "read"):
        yield path, lambda count: None
        return
    if Path(path).exists() and not Path(path).is_file():
        raise ArgumentError("arrays are read from a file", f"{str(path)!r}, which is a folder, a pipe or a device")
    with Path(path).open("rb") as file, metered("reading", path, Path(path).stat().st_size) as seen:
        yield file, seen


@contextmanager
def drafted(path: Any, verb: str, total: int) -> Iterator[tuple[IO[bytes], Seen]]:
    """A file that takes the place of `path` when all is written, else `path` is left as it was; and who is told of it.

    Args:
        path: of the file.
        verb: what is done, such as "writing".
        total: how many bytes there will be, about.
    """
    target = Path(path)
    if target.is_dir():
        raise ArgumentError(
            "arrays are written to a file", f"the folder {str(target)!r}", f"{str(target / 'net.npz')!r}"
        )
    if not target.parent.is_dir():
        way = f"Path({str(target.parent)!r}).mkdir(parents=True)"
        raise FileNotFoundError(
            f"a file is written to a folder that exists; found no folder {str(target.parent)!r}. Try: {way}."
        )
    draft = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with draft.open("wb") as file, metered(verb, path, total) as seen:
            yield file, seen
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def filled(file: IO[bytes], count: int, seen: Seen) -> Array:
    """The next `count` bytes of a file as an array. Whoever calls this has seen that the file holds them."""
    data = np.empty(count, np.uint8)
    for start in range(0, count, PIECE):
        piece = file.read(min(PIECE, count - start))
        if len(piece) != min(PIECE, count - start):
            raise Refused(f"{start + len(piece):,} of {count:,} bytes of an array")
        data[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
        seen(len(piece))
    return data


def poured(file: IO[bytes], array: Array, seen: Seen) -> None:
    """Write the numbers of an array, least significant byte first."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    data = little.reshape(-1).view(np.uint8)
    for start in range(0, data.size, PIECE):
        seen(file.write(data[start : start + PIECE].data))


def numbers(data: Array, dtype: DType) -> Array:
    """Bytes of a file as numbers, as Vars store them. Kernels trust that a bool is 0 or 1."""
    if dtype == "bool":
        return np.not_equal(data, 0)
    found: Array = data.view(dtype.storage.newbyteorder("<")).astype(dtype.storage, copy=False)
    return found


def stored(value: Any) -> tuple[str, Array]:
    """The name of an array's dtype, and its numbers as they are stored; a Var has been computed by now."""
    array = value.numpy() if isinstance(value, Var) else np.asarray(value)
    if isinstance(value, Var) and value.dtype is bfloat16:  # numpy() gives float32 with nothing in the lower halves
        return "bfloat16", (array.view(np.uint32) >> 16).astype(np.uint16)
    return array.dtype.name, array


def computed(values: Iterable[Any]) -> None:
    """Compute the Vars among these, all at once."""
    sync([value for value in values if isinstance(value, Var)])


def whole(*values: Any) -> bool:
    """Whether each is an integer from 0 on that an index can be, and no bool."""
    return all(type(value) is int and 0 <= value < 1 << 63 for value in values)


def is_too_long(value: Any) -> bool:
    """Whether a value is an integer that Python does not write."""
    return type(value) is int and abs(value) >= LARGEST


def refused(value: Any, way: tuple[Any, ...], holds: str = "", attempt: str = "") -> ArgumentError:
    """The error for a value that has no place in a file, with its way there."""
    what = "an integer of thousands of digits" if is_too_long(value) else type(value).__name__
    what += " of Python's objects" if isinstance(value, np.ndarray) and value.dtype.hasobject else ""
    place = "".join(f"[{key!r}]" for key in way)
    return ArgumentError(
        holds or "jt.save writes Vars, arrays, numbers and strings, in lists, tuples and dicts",
        f"{what} at {place}" if place else what,
        attempt or ("its state_dict()" if hasattr(value, "state_dict") and not isinstance(value, type) else ""),
    )


class State(dict[str, Any]):
    """Names and arrays of a module, and the versions of its parts, which some layers of PyTorch ask for."""

    _metadata: Mapping[str, Any]

    def built(self, state: Any) -> None:
        """What a pickle says of it besides its items (unpickler.py)."""
        if type(state) is not dict or list(state) != ["_metadata"] or not isinstance(state["_metadata"], dict):
            raise Refused("attributes of a dict other than _metadata")
        self._metadata = state["_metadata"]
