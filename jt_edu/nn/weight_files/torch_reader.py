"""Torch reader: the tensors in a file of `torch.save`, in either of its forms. PyTorch is not needed.

    zip, since 2020     name/data.pkl     a pickle, in which a tensor is: storage, offset, size, stride, ...
                        name/data/0 ...   storages: numbers, one behind the other, never compressed
    stream, before      three pickles that say what this is, the same pickle, one of the storages' keys in order; then
                        for each storage how many numbers it has, and these

A tensor is a way to walk over a storage, and several may walk over one. So sizes and strides that lead out of it are as
dangerous as code: both are checked before anything is read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from jt_edu.base.dtypes import DTYPES, DType
from jt_edu.nn.weight_files.packed import (
    BOMB,
    MOST_AXES,
    SWELLS,
    Array,
    Packed,
    Refused,
    Seen,
    State,
    filled,
    numbers,
    opened,
    told_of,
    whole,
)
from jt_edu.nn.weight_files.unpickler import Called, fill, unpickled

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
LONGEST_PICKLE = 1 << 28  # bytes, of the pickle in a zip: some thousand are usual
STORAGES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
    "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}  # fmt: skip
WHAT = "is read as tensors, numbers and strings in lists, tuples and dicts, as torch.save writes them"


@contextmanager
def read(path: str | Path, leaf: Callable[[Packed], Any] = lambda packed: packed) -> Iterator[Any]:
    """What is in a file of `torch.save`, while it is open; `leaf` makes what stands in the place of a tensor.

    Raises:
        ArgumentError: the file is damaged, or holds what only its author's code could make.
    """
    told = partial(told_of, path, WHAT)
    with opened(path) as (file, seen):
        with told():
            is_zip = file.read(2) == b"PK"
            value = (_from_zip if is_zip else _from_stream)(file, Tensors(file, leaf, seen, told))
        yield value


class Storage:
    """Numbers, one behind the other: `count` bytes of a file."""

    def __init__(self, key: str, dtype: DType, count: int) -> None:
        self.key, self.dtype, self.count = key, dtype, count
        self.read: Callable[[], Array] = lambda: np.empty(0, np.uint8)  # until it is known where it begins
        self._data: Array | None = None

    def data(self) -> Array:
        """Its bytes, which are read once, whoever walks over them."""
        if self._data is None:
            self._data = self.read()
        return self._data


class Tensors:
    """What the names in a pickle of `torch.save` stand for, and which storages it speaks of."""

    def __init__(
        self,
        file: IO[bytes],
        leaf: Callable[[Packed], Any],
        seen: Seen,
        told: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.leaf, self.seen, self.told = leaf, seen, told
        self.size = file.seek(0, 2)
        self.storages: dict[str, Storage] = {}
        self.made: dict[Any, Any] = {}  # of equal walks over a storage there is one
        self.room = max(BOMB, SWELLS * self.size)  # bytes that all tensors may take
        self.items = self.size  # of dicts that are made of lists, which may be named again and again
        self.find: Callable[[Storage], None] = lambda storage: None
        tensor, parameter = Called(self.tensor), Called(lambda data, *_: data)
        self.names = {
            "collections OrderedDict": Called(self.ordered),
            "torch Size": Called(size_of), "torch device": Called(device),
            "__builtin__ complex": Called(complex_of), "builtins complex": Called(complex_of),
            **{f"torch._utils _rebuild_{name}": tensor for name in ("tensor", "tensor_v2", "tensor_v3")},
            "torch._utils _rebuild_parameter": parameter, "torch.storage UntypedStorage": DTYPES["uint8"],
            **{f"torch {name}Storage": DTYPES[dtype] for name, dtype in STORAGES.items()},
            **{f"torch {name}": dtype for name, dtype in DTYPES.items()},
        }  # fmt: skip

    def value(self, pickle: Any) -> Any:
        """What a pickle holds."""
        return unpickled(pickle, self.names, self.storage)

    def storage(self, told: Any) -> Storage:
        """The storage that a persistent id speaks of."""
        if type(told) is not tuple or len(told) not in (5, 6) or told[0] != "storage" or told[5:] not in ((), (None,)):
            raise Refused("a persistent id that is no storage")
        _, dtype, key, _, count = told[:5]
        if not isinstance(dtype, DType) or type(key) is not str or not whole(count):
            raise Refused("a storage without a dtype, a key or a length")
        size = count * dtype.size
        if size > self.size:
            raise Refused(f"a storage of {size:,} bytes in a file of {self.size:,}")
        found = self.storages.get(key)
        if found is None:
            found = self.storages[key] = Storage(key, dtype, size)
            self.find(found)
        if (found.dtype, found.count) != (dtype, size):
            raise Refused(f"two storages of one key, {key:.80}")
        return found

    def tensor(self, storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> Any:
        """A walk over a storage. `rest` is: whether it takes part in gradients, hooks, a dtype, a dict of bits."""
        if not isinstance(storage, Storage) or type(size) is not tuple or type(stride) is not tuple:
            raise Refused("a tensor without a storage, a size or a stride")
        if len(size) != len(stride) or len(size) > MOST_AXES or not whole(offset, *size, *stride):
            raise Refused(f"a tensor of {len(size)} sizes and {len(stride)} strides, or with one below 0")
        dtype = next((flag for flag in rest[2:] if isinstance(flag, DType)), storage.dtype)
        bits = next((flag for flag in rest[2:] if type(flag) is dict), {})
        stride = tuple(step if n > 1 else 0 for n, step in zip(size, stride, strict=True))
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if 0 not in size and last >= storage.count // dtype.size:
            raise Refused(f"a tensor that ends at number {last:,} of a storage of {storage.count // dtype.size:,}")
        walk = (storage.key, offset, size, stride, dtype, bool(bits.get("conj")), bool(bits.get("neg")))
        if walk not in self.made:
            packed = Packed(size, dtype, partial(walked, storage, *walk[1:]), self.told)
            self.room -= packed.nbytes
            if self.room < 0:
                raise Refused(f"{self.size:,} bytes that unpack to more than {max(BOMB, SWELLS * self.size):,}")
            self.made[walk] = self.leaf(packed)
        return self.made[walk]

    def ordered(self, pairs: Any = ()) -> State:
        """An OrderedDict; Python 2 gave it a list of its items, of two parts each."""
        made = State()
        self.items -= len(pairs)
        if self.items < 0:
            raise Refused("more items than the file has bytes")
        for key, value in pairs:
            fill(made, [key, value])
        return made


def walked(
    storage: Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], dtype: DType, conj: bool, neg: bool
) -> Array:
    """The numbers that a walk over a storage meets, in memory of their own unless it meets all of them in order."""
    if 0 in size:
        return np.empty(size, dtype.storage)
    flat = numbers(storage.data()[: storage.count // dtype.size * dtype.size], dtype)[offset:]
    array = np.lib.stride_tricks.as_strided(flat, size, [step * flat.itemsize for step in stride])
    if array.nbytes < storage.count or not array.flags.c_contiguous:
        array = array.copy(order="C")
    array = np.conj(array) if conj else array
    return -array if neg else array


def size_of(sizes: Any) -> tuple[Any, ...]:
    """A torch.Size is made of a tuple. Of a list each call would make a copy, and a pickle may call often."""
    if type(sizes) is not tuple:
        raise Refused("a torch.Size that is not made of a tuple")
    return sizes


def device(name: Any, number: Any = None) -> str:
    """A device is told by its name, such as "cuda:0"; here, arrays are in memory."""
    if type(name) is not str or len(name) > MOST_AXES or not (number is None or whole(number)):
        raise Refused("a device without a name")
    return name if number is None else f"{name}:{number}"


def complex_of(real: Any, imag: Any) -> complex:
    """A complex number of two numbers."""
    if type(real) is not float or type(imag) is not float:
        raise Refused("a complex number of other things than two numbers")
    return complex(real, imag)


# ---------------------------------------------------------------------------------------------------------------- zip


def _from_zip(file: IO[bytes], tensors: Tensors) -> Any:
    archive = zipfile.ZipFile(file)
    members = _sound(archive.infolist(), tensors.size)
    roots = [name.removesuffix("data.pkl") for name in members if name.partition("/")[2] == "data.pkl"]
    root = roots[0] if roots else ""
    if not root or any(not name.startswith(root) for name in members):
        renamed = "the same file under a name that ends in .npz" if all(n.endswith(".npy") for n in members) else ""
        raise Refused("a zip file without data.pkl in its only folder", renamed)
    order = archive.read(members[root + "byteorder"]) if root + "byteorder" in members else b"little"
    if order != b"little":
        raise Refused(f"numbers with the byte order {order[:20]!r}", "torch.save on a machine that is little-endian")
    if members[root + "data.pkl"].file_size > LONGEST_PICKLE:
        raise Refused(f"a pickle of {members[root + 'data.pkl'].file_size:,} bytes")

    def find(storage: Storage) -> None:
        info = members.get(f"{root}data/{storage.key}")
        if info is None or info.file_size != storage.count:
            raise Refused(f"no {root}data/{storage.key:.80} of {storage.count:,} bytes")
        storage.read = partial(_member, archive, info, tensors.seen)

    tensors.find = find
    return tensors.value(archive.read(members[root + "data.pkl"]))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, seen: Seen) -> Array:
    with archive.open(info) as entry:
        data = filled(entry, info.file_size, seen)
        if entry.read(1):  # which also compares the checksum
            raise Refused(f"{info.filename}, which is longer than it says")
        return data


def _sound(infos: Iterable[zipfile.ZipInfo], size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name: stored as they are, each once, none outside of the folder, all in a file of this size."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.filename
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
            raise Refused(f"{name!r:.80}, which is compressed or encrypted; torch.save does neither")
        if name in members or name.startswith("/") or ".." in name.split("/") or "\\" in name or ":" in name:
            raise Refused(f"{name!r:.80}, a name that is there twice or leads out of the file")
        members[name] = info
    if sum(info.file_size for info in members.values()) > size:
        raise Refused(f"members that are larger than the file, of {size:,} bytes")
    return members


# ------------------------------------------------------------------------------------------------------------- stream


class Bounded:
    """A file for the unpickler: whatever length a pickle promises, no memory is taken for more than there is."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file, self.size, self.tell = file, size, file.tell

    def read(self, count: int) -> bytes:
        """The next bytes, as many as there are."""
        return self.file.read(min(count, self.size - self.file.tell()))

    def readline(self) -> bytes:
        """The next line."""
        return self.file.readline(self.size)


def _from_stream(file: IO[bytes], tensors: Tensors) -> Any:
    file.seek(0)
    pickle = Bounded(file, tensors.size)
    if file.read(1) != b"\x80":
        raise Refused("neither a zip file nor a pickle")
    file.seek(0)
    if tensors.value(pickle) != MAGIC or tensors.value(pickle) != PROTOCOL:
        raise Refused("a pickle that torch.save did not write", "torch.save(net.state_dict(), path)")
    machine = tensors.value(pickle)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise Refused("numbers of a machine that is not little-endian")
    begin, leaf = file.tell(), tensors.leaf
    tensors.leaf = lambda packed: None  # the first time, to see which storages there are, and where the pickle ends
    tensors.value(pickle)
    end = file.tell()
    _place(file, tensors, tensors.value(pickle))
    tensors.leaf, tensors.made, tensors.room = leaf, {}, max(BOMB, SWELLS * tensors.size)
    file.seek(begin)
    return tensors.value(file.read(end - begin))


def _place(file: IO[bytes], tensors: Tensors, keys: Any) -> None:
    """Say of each storage where it begins: they stand one behind the other, in the order of their keys."""
    if type(keys) is not list or any(type(key) is not str for key in keys) or sorted(keys) != sorted(tensors.storages):
        raise Refused("other storages than those of its tensors")
    for key in keys:
        storage = tensors.storages[key]
        begin, count = file.tell() + 8, int.from_bytes(file.read(8), "little")
        if count * storage.dtype.size != storage.count or begin + storage.count > tensors.size:
            raise Refused(f"storage {key:.80} of {count:,} numbers, or an end before it is complete")
        storage.read = partial(_at, file, begin, storage.count, tensors.seen)
        file.seek(begin + storage.count)


def _at(file: IO[bytes], begin: int, count: int, seen: Seen) -> Array:
    file.seek(begin)
    return filled(file, count, seen)
