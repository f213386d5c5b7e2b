"""Torch writer: a file that `torch.load(path, weights_only=True)` reads, written without PyTorch.

It is a zip file of storages, and of a pickle that says how tensors walk over them. The pickle is written instruction by
instruction, since Python's own writer wants to have the functions that it names, and they are PyTorch's:

    c torch._utils _rebuild_tensor_v2               push this function
    (                                               mark
      ( "storage" c torch FloatStorage "0" "cpu" 6 t Q     the storage data/0, of 6 numbers
      0  (2, 3)  (3, 1)  False  OrderedDict()       offset, size, stride, no gradient, no hooks
    t R                                             a tuple of all since the mark; call
"""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.nn.weight_files.packed import (
    Array,
    computed,
    drafted,
    is_too_long,
    poured,
    refused,
    stored,
)
from jt_edu.nn.weight_files.torch_reader import STORAGES
from jt_edu.nn.weight_files.unpickler import ATOMS, LARGEST_KEY, MOST_KEYS
from jt_edu.variable.var import Var

KINDS = {dtype: name for name, dtype in STORAGES.items()}
ALIGNED = 64  # bytes: where a storage may begin, so that PyTorch can map it into memory
HEADER, FILLS = 30 + 4 + 20, 0x4246  # bytes in front of a storage, besides its name; what fills a gap
YOUNG = ("uint16", "uint32", "uint64")  # dtypes for which PyTorch has no typed storage
CONSTANTS = {None: b"N", True: b"\x88", False: b"\x89"}


def write(path: str | Path, value: Any) -> None:
    """Write Vars, arrays, numbers and strings, in lists, tuples and dicts; or leave the file as it was.

    Vars and arrays become tensors. Two that share all of their memory share a storage, which is written once.

    Raises:
        ArgumentError: there is something else in the value.
    """
    arrays: list[Any] = []
    _collect(value, (), arrays)
    computed(arrays)
    pickler = Pickler()
    pickler.put(value)
    program = b"\x80\x02" + b"".join(pickler.parts) + b"."
    total = sum(array.nbytes for array in pickler.storages)
    with drafted(path, "writing", total) as (file, seen), zipfile.ZipFile(file, "w") as archive:
        for name, data in (("data.pkl", program), ("byteorder", b"little"), ("version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(f"archive/{name}"), data)
        for key, array in enumerate(pickler.storages):
            info = zipfile.ZipInfo(f"archive/data/{key}")
            gap = -(file.tell() + HEADER + len(info.filename)) % ALIGNED
            info.extra = struct.pack("<HH", FILLS, gap) + bytes(gap)
            with archive.open(info, "w", force_zip64=True) as entry:
                poured(entry, array, seen)


def _collect(value: Any, way: tuple[Any, ...], arrays: list[Any]) -> None:
    """Find all arrays of a value, and whatever cannot be written, before anything is computed."""
    kind = type(value)
    if isinstance(value, Var) or (kind is np.ndarray and value.dtype.name in (*KINDS, *YOUNG)):
        arrays.append(value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            keys = key if type(key) is tuple and len(key) <= MOST_KEYS else (key,)
            if any(type(k) not in ATOMS or (type(k) is int and abs(k) > LARGEST_KEY) for k in keys):
                raise refused(key, way)
            _collect(part, (*way, key), arrays)
    elif kind in (list, tuple):
        for k, part in enumerate(value):
            _collect(part, (*way, k), arrays)
    elif isinstance(value, np.generic):
        _collect(value.item(), way, arrays)
    elif kind not in (*ATOMS, complex) or is_too_long(value):
        raise refused(value, way)


class Pickler:
    """Writes the pickle of a value, and keeps the storages that it speaks of."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.storages: list[Array] = []
        self.keys: dict[Any, int] = {}  # of storages, by where their numbers are in memory

    def put(self, value: Any) -> None:
        """Write what pushes a value; `_collect` has seen that this can be done."""
        kind = type(value)
        if isinstance(value, (Var, np.ndarray)):
            self.tensor(value)
        elif value is None or kind is bool:
            self.parts.append(CONSTANTS[value])
        elif kind is int:
            self.parts.append(_integer(value))
        elif kind is float:
            self.parts.append(struct.pack(">cd", b"G", value))
        elif kind is str:
            data = value.encode("utf-8", "surrogatepass")
            self.parts.append(struct.pack("<cI", b"X", len(data)) + data)
        elif kind is complex:
            self.call("__builtin__ complex", value.real, value.imag)
        elif isinstance(value, Mapping):
            self.mapping(value)
        elif kind is list:
            self.between(b"](", value, b"e")
        elif kind is tuple:
            self.between(b"(", value, b"t")
        else:
            self.put(value.item())

    def put_all(self, *values: Any) -> None:
        """Write one value after the other."""
        for value in values:
            self.put(value)

    def between(self, begin: bytes, values: Any, end: bytes) -> None:
        """Write values after a mark, and what is made of all of them."""
        self.parts.append(begin)
        self.put_all(*values)
        self.parts.append(end)

    def named(self, name: str) -> None:
        """Write a name of PyTorch's or Python's."""
        module, _, inside = name.partition(" ")
        self.parts.append(f"c{module}\n{inside}\n".encode())

    def call(self, name: str, *arguments: Any) -> None:
        """Write a call."""
        self.named(name)
        self.between(b"(", arguments, b"tR")

    def mapping(self, value: Mapping[Any, Any]) -> None:
        """Write a dict; the state of a module as PyTorch does, with the versions of its parts."""
        versions = getattr(value, "_metadata", None)
        if versions is None:
            self.parts.append(b"}")
        else:
            self.call("collections OrderedDict")
        self.between(b"(", [part for item in value.items() for part in item], b"u")
        if versions is not None:
            self.put({"_metadata": {path: dict(told) for path, told in versions.items()}})
            self.parts.append(b"b")

    def tensor(self, value: Any) -> None:
        """Write a call that makes a tensor of a storage."""
        dtype, array = stored(value)
        young = dtype in YOUNG
        self.named(f"torch._utils _rebuild_tensor_{'v3' if young else 'v2'}")
        self.parts.append(b"((")
        self.put("storage")
        self.named("torch.storage UntypedStorage" if young else f"torch {KINDS[dtype]}Storage")
        self.put_all(str(self.key(value, array)), "cpu", array.nbytes if young else array.size)
        self.parts.append(b"tQ")
        self.put_all(0, array.shape, tuple(math.prod(array.shape[k + 1 :]) for k in range(array.ndim)), False)
        self.call("collections OrderedDict")
        if young:
            self.named(f"torch {dtype}")
        self.parts.append(b"tR")

    def key(self, value: Any, array: Array) -> int:
        """Which storage holds the numbers of an array."""
        data = value._node.data if isinstance(value, Var) else array
        if not isinstance(data, np.ndarray):  # a constant has no memory, and a device has its own
            data = array
        place: tuple[Any, ...] = (data.__array_interface__["data"][0], data.shape, data.strides, data.dtype.str)
        place = place if data.size else (len(self.storages),)
        if place not in self.keys:
            self.keys[place] = len(self.storages)
            self.storages.append(array)
        return self.keys[place]


def _integer(value: int) -> bytes:
    if -(1 << 31) <= value < 1 << 31:
        return struct.pack("<ci", b"J", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return (bytes([0x8A, len(data)]) if len(data) < 256 else struct.pack("<ci", b"\x8b", len(data))) + data
