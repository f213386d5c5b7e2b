"""Safetensors file: a table of names, dtypes, shapes and places, and the numbers.

8 bytes      how long the table is
the table    {"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}, as JSON
the rest     the numbers of one array behind those of the other, without a gap
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from jt_edu.base.dtypes import DTYPES, DType
from jt_edu.nn.weight_files.packed import (
    MOST_AXES,
    Array,
    Packed,
    Refused,
    Seen,
    computed,
    drafted,
    filled,
    numbers,
    opened,
    poured,
    refused,
    stored,
    told_of,
    whole,
)
from jt_edu.variable.var import Var

LONGEST_TABLE = 100_000_000  # bytes
WHAT = "is read as a table of names and arrays, as the safetensors format has it"
HOLDS = "a .safetensors file holds a dict of names and arrays"
SPELLED = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex64": "C64",
}  # fmt: skip
NAMED = {spelled: DTYPES[dtype] for dtype, spelled in SPELLED.items()}


@contextmanager
def read(path: str | Path, leaf: Callable[[Packed], Any] = lambda packed: packed) -> Iterator[dict[str, Any]]:
    """The arrays of a file by name, while it is open; `leaf` makes what stands in the place of each.

    Raises:
        ArgumentError: the file is damaged; its table was checked as a whole before any number is read.
    """
    told = partial(told_of, path, WHAT)
    with opened(path) as (file, seen):
        with told():
            table, begin = _table(file)
            made = {}
            for name, (dtype, shape, start) in table.items():
                made[name] = leaf(Packed(shape, dtype, partial(_at, file, begin + start, shape, dtype, seen), told))
        yield made


def write(path: str | Path, value: Any) -> None:
    """Write a dict of names and arrays; or leave the file as it was.

    Raises:
        ArgumentError: there is something else in it, or complex128, which the format does not have.
    """
    if not isinstance(value, Mapping):
        raise refused(value, (), HOLDS, f"{str(Path(path).with_suffix('.pth'))!r}, which may hold more")
    for name, array in value.items():
        if type(name) is not str or name == "__metadata__":
            raise refused(name, (), HOLDS)
        dtype = array.dtype.name if type(array) is np.ndarray else array.dtype if isinstance(array, Var) else ""
        if dtype not in SPELLED:
            raise refused(array, (name,), HOLDS, f"{str(Path(path).with_suffix('.pth'))!r}, which may hold more")
    computed(value.values())
    arrays = {name: stored(array) for name, array in value.items()}
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}  # where there is none, transformers reads no file
    end, widest_first = 0, sorted(arrays, key=lambda name: -arrays[name][1].itemsize)  # so that each is aligned
    table.update(dict.fromkeys(arrays))
    for name in widest_first:
        dtype, array = arrays[name]
        places = [end, end := end + array.nbytes]
        table[name] = {"dtype": SPELLED[dtype], "shape": array.shape, "data_offsets": places}
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with drafted(path, "writing", end) as (file, seen):
        file.write(len(text).to_bytes(8, "little") + text)
        for name in widest_first:
            poured(file, arrays[name][1], seen)


def _table(file: IO[bytes]) -> tuple[dict[str, tuple[DType, tuple[int, ...], int]], int]:
    """(name -> dtype, shape, where its numbers begin; where all numbers begin)."""
    size = file.seek(0, 2)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(LONGEST_TABLE, size - 8):
        raise Refused(f"a table of {length:,} bytes in a file of {size:,}")
    text = file.read(length)
    if text[:1] != b"{":
        raise Refused(f"a table that begins with {text[:8]!r}, and not as JSON does")
    entries = json.loads(text.decode(), object_pairs_hook=_once)
    notes = entries.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(note, str) for note in notes.values()):
        raise Refused("notes that are no strings")
    table = {name: _entry(name, entry) for name, entry in entries.items()}
    end = 0
    for name, (_, _, start, stop) in sorted(table.items(), key=lambda item: item[1][2:]):
        if start != end:
            raise Refused(f"{name!r:.80} at byte {start:,}, where the one before it ends at {end:,}")
        end = stop
    if 8 + length + end != size:
        raise Refused(f"{8 + length + end:,} bytes by its table, and {size:,} in the file")
    return {name: entry[:3] for name, entry in table.items()}, 8 + length


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, which names nothing twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Refused("a name that is there twice")
    return made


def _entry(name: str, entry: Any) -> tuple[DType, tuple[int, ...], int, int]:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise Refused(f"{name!r:.80} without exactly a dtype, a shape and data_offsets")
    spelled, shape, places = entry["dtype"], entry["shape"], entry["data_offsets"]
    dtype = NAMED.get(spelled) if isinstance(spelled, str) else None
    if dtype is None:
        raise Refused(f"{name!r:.80} of a dtype other than {', '.join(NAMED)}")
    if not isinstance(shape, list) or len(shape) > MOST_AXES or not whole(*shape):
        raise Refused(f"{name!r:.80} of a shape that is none")
    if not isinstance(places, list) or len(places) != 2 or not whole(*places):
        raise Refused(f"{name!r:.80} without a begin and an end")
    if places[1] - places[0] != math.prod(shape) * dtype.size:
        raise Refused(f"{name!r:.80} with {places[1] - places[0]:,} bytes for {math.prod(shape)} numbers of {dtype}")
    return dtype, tuple(shape), *places


def _at(file: IO[bytes], begin: int, shape: tuple[int, ...], dtype: DType, seen: Seen) -> Array:
    file.seek(begin)
    return numbers(filled(file, math.prod(shape) * dtype.size, seen), dtype).reshape(shape)
