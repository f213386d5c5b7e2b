"""Arguments: what is handed to a kernel on a GPU?

    x: float32[2]     7 + 2 words: two that numba leaves empty, how many numbers, bytes of each, the address,
                      the lengths and the strides of both axes
    n: int64          one word; other numbers have their own size, and begin at a multiple of it
    (n, m)            the one, then the other

All of it stands in one row of bytes, as the compiler has laid it out. A kind, such as "float32[2]" or "int64", says
what an argument is to the compiler; kernels are compiled once for the kinds of their arguments.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.cuda.device_array import CardArray, DeviceArray

Kind: TypeAlias = "str | tuple[Kind, ...]"

ADDRESS = 4 * 8  # bytes before the address of an array
LETTERS = {  # of the module struct, which aligns as C does
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float32": "f", "float64": "d", "complex64": "ff", "complex128": "dd",
}  # fmt: skip
PYTHON: dict[type, str] = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def kind_of(value: Any, name: str = "an argument") -> Kind:
    """What an argument is to the compiler.

    Raises:
        ArgumentError: it is nothing that a GPU could be given.

    Example:
        >>> kind_of(np.zeros((2, 3), "float32")), kind_of(3), kind_of((1.5, True))
        ('float32[2]', 'int64', ('float64', 'bool'))
    """
    kind: Kind = PYTHON.get(type(value), "")
    if kind:
        return kind
    if isinstance(value, (DeviceArray, np.ndarray)) and value.dtype.name in LETTERS:
        kind = f"{value.dtype.name}[{value.ndim}]"
    elif isinstance(value, (np.number, np.bool_)) and value.dtype.name in LETTERS:
        kind = value.dtype.name
    elif isinstance(value, tuple):
        kind = tuple(kind_of(part, name) for part in value)
    if not kind:
        found = f"{name}, {type(value).__name__}{f' of {value.dtype}' if hasattr(value, 'dtype') else ''}"
        halves = "x.view('uint16'), and half_to_float of jt_edu.backends.mathlib"
        way = halves if "float16" in found else "cuda.to_device(x), or x.item()"
        raise ArgumentError("a kernel on a GPU takes arrays and numbers", found, way)
    return kind


def layout(kinds: Sequence[Kind]) -> str:
    """The format of all arguments, for the module struct.

    Example:
        >>> layout(["float32[1]", "int64", "float32"])
        '@qqqqqqqqf'
    """
    return "@" + "".join(map(_letters, kinds))


def begins(kinds: Sequence[Kind]) -> list[int]:
    """At which byte of the row each argument begins.

    Example:
        >>> begins(["float32", "int64", "bool"])
        [0, 8, 16]
    """
    first = [_letters(kind)[0] for kind in kinds]
    return [struct.calcsize(layout(kinds[:k]) + letter) - struct.calcsize(letter) for k, letter in enumerate(first)]


def _letters(kind: Kind) -> str:
    if isinstance(kind, tuple):
        return "".join(map(_letters, kind))
    name, bracket, axes = kind.partition("[")
    return "q" * (5 + 2 * int(axes[:-1])) if bracket else LETTERS[name]


def taken_apart(values: Sequence[Any], names: Sequence[str]) -> tuple[tuple[Kind, ...], list[Any]]:
    """The kinds of arguments, and all of their words in one row; arrays are on the GPU."""
    kinds: list[Kind] = []
    words: list[Any] = []
    for value, name in zip(values, names, strict=True):
        if isinstance(value, CardArray):
            kinds.append(value.kind)
            words += value.words
            value.base.written += 1  # or so it may be
        else:
            kinds.append(kind_of(value, name))
            _add(value, words)
    return tuple(kinds), words


def _add(value: Any, words: list[Any]) -> None:
    if isinstance(value, tuple):
        for part in value:
            _add(part, words)
    elif isinstance(value, (complex, np.complexfloating)):
        words += value.real, value.imag
    else:
        words.append(value)


def packed(form: struct.Struct, words: Sequence[Any]) -> bytes:
    """The words as bytes.

    Raises:
        ArgumentError: a whole number has more than 64 bits.
    """
    try:
        return form.pack(*words)
    except struct.error as error:
        wide = [word for word in words if isinstance(word, int) and not -(2**63) <= word < 2**63]
        found = f"{wide[0] if wide else error}"
        raise ArgumentError("a whole number for a GPU has 64 bits", found, "a float, or np.uint64(...)") from None
