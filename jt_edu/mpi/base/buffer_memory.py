"""Buffer memory: where do the numbers of a buffer lie? A NumPy array over them, whatever object has them.

    NumPy array                                  itself
    array.array, bytes, bytearray, memoryview    the buffer protocol: anything that memoryview takes
    objects of other libraries                   __array_interface__, __dlpack__ on the CPU, or __cuda_array_interface__
    Var                                          its numbers; it can be sent, but not received into
    MPI.BOTTOM                                   the bytes at an address, as Get_address has told it

Memory that is only told by its address is tried before it is read, byte by byte through a pipe: where there is none,
the system refuses the byte, and the process lives on.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.mpi.base.constants import BOTTOM, IN_PLACE
from jt_edu.variable.var import Var

Array = np.ndarray[Any, Any]
PAGE = 4096  # bytes; memory comes in pages of at least so many
CPU = 1  # a device of DLPack
LETTERS = {(0, 1): "i", (1, 1): "u", (2, 1): "f", (2, 2): "c", (5, 1): "c", (6, 1): "b"}  # (code, lanes): NumPy's
LETTER = np.dtype("S1")  # a byte like others


class _Interface:
    """Something that NumPy makes an array of without a copy."""

    def __init__(self, told: dict[str, Any], owner: Any) -> None:
        self.__array_interface__, self.owner = told, owner


def as_array(given: Any, call: str, write: bool) -> Array:
    """The array over the memory of an object, in row-major order; a copy of another order, if it is only read.

    Raises:
        ArgumentError: it has no memory, or none that can be used so. DtypeError: its elements are no numbers.
    """
    array = given if isinstance(given, np.ndarray) else _array_over(given, call, write)
    if array.dtype.hasobject:
        raise DtypeError(f"{call} takes numbers", f"dtype {array.dtype}", f"{call[:1].lower() + call[1:]} for objects")
    if array.dtype == LETTER:
        array = array.view("u1")
    if not array.flags.c_contiguous:
        if write:
            raise ArgumentError(f"{call} fills an array in row-major order", "another order", "np.ascontiguousarray")
        array = np.ascontiguousarray(array)
    if write and not array.flags.writeable:
        raise ArgumentError(f"{call} fills an array that can be written", "a read-only one", "array.copy()")
    return array


def _array_over(given: Any, call: str, write: bool) -> Array:
    if given is IN_PLACE or given is BOTTOM:
        raise ArgumentError(f"{call} takes no {given} here", f"{given}", "a buffer, or [BOTTOM, count, datatype]")
    if isinstance(given, Var):
        if write:
            raise ArgumentError(f"{call} fills an array", "a Var", "a NumPy array, and jt.array of it afterwards")
        return given.numpy()
    try:
        found = _shared(given, call)
    except ArgumentError:
        raise
    except Exception as error:  # noqa: BLE001 - objects may raise what they like
        raise ArgumentError(f"{call} takes an array", f"{type(given).__name__}: {error}") from None
    if found is None and not write and hasattr(given, "numpy"):
        found = np.asarray(given.numpy())
    if found is None:
        low = call[:1].lower() + call[1:]
        raise ArgumentError(f"{call} takes an array", type(given).__name__, f"an array, or {low} for objects")
    return found


def _shared(given: Any, call: str) -> Array | None:
    """An array that shares the memory of an object; None if it offers none."""
    try:
        return np.asarray(memoryview(given))
    except TypeError:
        pass  # it has no buffer, and perhaps something like it
    if isinstance(given, type):
        return None
    if hasattr(given, "__array_interface__"):
        return _reached(np.asarray(given), call)
    if hasattr(given, "__dlpack__") and given.__dlpack_device__()[0] == CPU:
        return _from_dlpack(given)
    told = getattr(given, "__cuda_array_interface__", None)
    if told is None:
        return None
    if told.get("mask") is not None:
        raise ArgumentError(f"{call} takes an array", "one with a mask", "its numbers without the mask")
    return _reached(np.asarray(_Interface({"strides": None, **told, "version": 3}, given)), call)


def _reached(array: Array, call: str) -> Array:
    """The array, if what it was told to lie over is memory of this process: its ends, then each page between."""
    if array.size:
        begin, end = np.lib.array_utils.byte_bounds(array)
        _try_out([begin, end - 1], call)
        _try_out(range(begin + PAGE, end, PAGE), call)
    return array


class _Tensor(ctypes.Structure):
    """What DLPack tells of an array."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    )  # fmt: skip


class _Versioned(ctypes.Structure):
    """The same, since version 1."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


def _from_dlpack(given: Any) -> Array:
    """The array that an object tells of by DLPack; its capsule, which is left as it is, lives as long.

    NumPy's own reading knows no complex numbers of two long doubles, and takes older objects for read-only.
    """
    try:
        capsule = given.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = given.__dlpack__()
    name = b"dltensor_versioned" if "versioned" in repr(capsule) else b"dltensor"
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    head = _Versioned.from_address(pointer(capsule, name)) if name != b"dltensor" else None
    tensor = head.tensor if head is not None else _Tensor.from_address(pointer(capsule, name))
    letter = LETTERS.get((tensor.code, tensor.lanes))
    if letter is None:
        raise ArgumentError(
            "a DLPack array holds numbers that NumPy knows", f"type {tensor.code} of {tensor.bits} bits"
        )
    size, shape = tensor.bits * tensor.lanes // 8, tuple(tensor.shape[: tensor.ndim])
    told: dict[str, Any] = {"typestr": f"{'<' if sys.byteorder == 'little' else '>'}{letter}{size}", "shape": shape}
    if tensor.strides:
        told["strides"] = tuple(step * size for step in tensor.strides[: tensor.ndim])
    told["data"] = ((tensor.data or 0) + tensor.offset, bool(head is not None and head.flags & 1))
    return np.asarray(_Interface({**told, "version": 3}, (given, capsule)))


def address_of(given: Any) -> int:
    """The address of the memory of an object; 0 for None and BOTTOM.

    Example:
        >>> x = np.zeros(3)
        >>> address_of(x) == x.ctypes.data, address_of(None)
        (True, 0)
    """
    return 0 if given is None or given is BOTTOM else int(as_array(given, "Get_address", False).ctypes.data)


def memory_at(places: Array, call: str, write: bool) -> tuple[Array, int]:
    """The memory that has the bytes at some addresses, and its own address.

    Raises:
        ArgumentError: at one of them there is no memory of this process.
    """
    if not places.size:
        return np.zeros(0, "u1"), 0
    begin, end = int(places.min()), int(places.max()) + 1
    if begin < PAGE:
        raise ArgumentError(f"{call} takes addresses from Get_address with BOTTOM", f"address {begin}")
    _try_out(places[np.unique(places // PAGE, return_index=True)[1]].tolist(), call, write)
    told = {"data": (begin, False), "typestr": "|u1", "shape": (end - begin,), "version": 3}
    return np.asarray(_Interface(told, None)), begin


def _try_out(addresses: Iterable[int], call: str, write: bool = False) -> None:
    """Read the byte at each of them, by way of the system, which refuses what is no memory: two calls for a page.

    `write`: the byte is put back, too. It is one that a receive fills, which nobody else may use meanwhile.
    """
    (out, back), scratch = os.pipe(), bytearray(1)
    with os.fdopen(out, "rb", 0) as reader, os.fdopen(back, "wb", 0) as writer:
        for address in addresses:
            byte = (ctypes.c_char * 1).from_address(address)
            try:
                writer.write(byte)
                reader.readinto(byte if write else scratch)
            except OSError:
                found = f"address {address:#x}, which is none of this process"
                raise ArgumentError(f"{call} takes memory that this processor reaches", found, "a copy of it") from None
