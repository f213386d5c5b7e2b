"""Wire: how do numbers, texts and arrays go from one process to another, and nothing else with them?

    pack({"grad": x}, keep)  -->  bytes: a length, JSON, then each array as .npy   -->  unpack(data, find)

What arrives is made anew of plain types, so no method of a learner's object comes along: not `__eq__`, nor a pickle's
code. An object that is none of these stays where it is; `keep` gives it a number, and `find` makes a handle of it.
Bytes that were not packed here raise WireError, whatever they are.

Who judges may also send what it never takes: a Var, and a record, which is a NamedTuple or a dataclass of the course
(`trusted`). An answer's Var arrives as an array, and a single number of NumPy as one of Python.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt

LONGEST = 64 << 20  # bytes of a message
TEXT = 8 << 20  # bytes of JSON in an answer: what it means takes twenty times as much memory
HEAD = 1000  # bytes of an array's own head
KINDS = "biufcSU"  # of arrays: numbers and texts; an array of objects would be a pickle
BASES = {bool: bool, int: int.__int__, float: float.__float__, str: str.__str__}  # of a subclass: its plain value
LISTS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class WireError(Exception):
    """A message is too long, or none of ours."""


def pack(value: Any, keep: Callable[[Any], Any], trusted: bool = False) -> bytes:
    """A message that means the value: at most 64 MB."""
    arrays: list[bytes] = []
    text = json.dumps(_told(value, arrays, keep, trusted)).encode()
    parts = [struct.pack("<Q", len(text)), text]
    for array in arrays:
        parts += [struct.pack("<Q", len(array)), array]
    if sum(map(len, parts)) > LONGEST:
        raise WireError(f"an answer of more than {LONGEST >> 20} MB")
    return b"".join(parts)


def _told(value: Any, arrays: list[bytes], keep: Callable[[Any], Any], trusted: bool) -> Any:
    """The value in JSON's words: whatever JSON has no word for is a dict of one entry."""

    def told(inner: Any) -> Any:
        return _told(inner, arrays, keep, trusted)

    if trusted and isinstance(value, jt.Var):
        return {"var": told(value.numpy())}
    if trusted and (fields := _fields(value)) is not None:
        return {"record": [f"{type(value).__module__}:{type(value).__qualname__}", [told(v) for v in fields]]}
    if value is None:
        return None
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()
    for base, plain in BASES.items():
        if isinstance(value, base):
            return plain(value)
    if isinstance(value, complex):
        return {"complex": [float(value.real), float(value.imag)]}
    if isinstance(value, jt.Var):
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in KINDS:
        out = io.BytesIO()
        np.save(out, np.asarray(value), allow_pickle=False)
        arrays.append(out.getvalue())
        return {"array": len(arrays) - 1}
    for name, kind in LISTS.items():
        if isinstance(value, kind):
            return {name: [told(v) for v in kind.__iter__(value)]}
    if isinstance(value, dict):
        return {"dict": [[told(v) for v in pair] for pair in dict.items(value)]}
    return {"kept": keep(value)}


def _fields(value: Any) -> list[Any] | None:
    """What a record of the course is made of."""
    if callable(value) or not type(value).__module__.startswith("jt_exercises."):
        return None
    if dataclasses.is_dataclass(value):
        return [getattr(value, f.name) for f in dataclasses.fields(value) if f.init]
    return list(value) if isinstance(value, tuple) else None


def unpack(data: bytes, find: Callable[[Any], Any], trusted: bool = False) -> Any:
    """The value that a message means; `trusted`: it comes from who judges."""
    try:
        text, *arrays = _split(data, trusted)
        return _meant(json.loads(text), arrays, find, trusted)
    except WireError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever bytes of a stranger's make of json and npy
        raise WireError(f"no message of ours ({type(error).__name__})") from None


def _split(data: bytes, trusted: bool) -> list[bytes]:
    """The JSON and the arrays of a message."""
    parts, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        if size > len(data) - at - 8:
            raise WireError("a message that ends too early")
        parts.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    if len(parts[0]) > TEXT and not trusted:
        raise WireError(f"an answer of more than {TEXT >> 20} MB of numbers and texts; an array may be larger")
    return parts


def _meant(told: Any, arrays: list[bytes], find: Callable[[Any], Any], trusted: bool) -> Any:
    def meant(inner: Any) -> Any:
        return _meant(inner, arrays, find, trusted)

    if not isinstance(told, dict):
        if isinstance(told, list):
            raise WireError("a list without its kind")
        return told.encode("utf-8", "replace").decode() if isinstance(told, str) else told  # half of a letter is none
    ((name, inner),) = told.items()
    if name in LISTS:
        return LISTS[name](_key(meant(v)) if "set" in name else meant(v) for v in inner)
    if name == "dict":
        return {_key(meant(k)): meant(v) for k, v in inner}
    if name == "complex":
        return complex(*inner)
    if name in ("var", "record") and trusted:
        return jt.array(meant(inner)) if name == "var" else named(inner[0])(*map(meant, inner[1]))
    if name not in ("array", "kept"):
        raise WireError(f"an answer of a kind that is not taken ({name})")
    if name == "kept":
        return find(inner)
    data, arrays[inner] = arrays[inner], b""  # each of them once: a thousand words for one array are no small message
    return _array(data)


def _key(value: Any) -> Any:
    """Of a set or a dict. Python puts whole numbers that differ by a multiple of 2**61 - 1 into one place."""
    for part in value if isinstance(value, tuple) else ():
        _key(part)
    if isinstance(value, int) and abs(value) >= 1 << 60:
        raise WireError("a whole number of more than 60 bits in a set or a dict")
    return value


def named(place: str) -> Any:
    """What has a place such as "jt_exercises.fusion.cases:Value"."""
    module, _, name = place.partition(":")
    return operator.attrgetter(name)(importlib.import_module(module))


def _array(data: bytes) -> np.ndarray:
    """An array, whose head was read before anything is made of it: a head can claim any size."""
    file = io.BytesIO(data)
    np.lib.format.read_magic(file)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, HEAD)
    body = data[file.tell() :]
    if dtype.kind not in KINDS or math.prod(shape) * dtype.itemsize != len(body):
        raise WireError("an array that is not what it says")
    return np.frombuffer(body, dtype).reshape(shape, order="F" if fortran else "C").copy()
