"""Epilogue args: how are the arguments of a tail written into an array of whole numbers?

    tail   | address | pointer, lengths | pointer, lengths | number | ...
                          an array           an array

What reads them stands in `epilogue_hook.py`. Nothing here knows what a tail computes, or imports numba.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

NONE = np.zeros(1, np.int64)  # no tail


def words_of(parameters: Sequence[Any]) -> tuple[int, Callable[[int, Sequence[Any]], Any]]:
    """How many words the arguments of a tail are, and a function that writes them behind an address."""
    words = struct.Struct("<q" + "".join(_form(p) if p.rank is None else "q" * (1 + p.rank) for p in parameters))
    kinds = [(p.rank is None, p.name == "out0") for p in parameters]

    def write(address: int, arguments: Sequence[Any]) -> Any:
        given = [address]
        for (number, sums), a in zip(kinds, arguments, strict=True):
            if number:
                given.append(a)
            else:
                given.append(0 if sums else a.__array_interface__["data"][0])
                given += a.shape
        return np.frombuffer(words.pack(*given), np.int64)

    return words.size // 8, write


def _form(number: Any) -> str:
    """How `struct` writes a number into one word."""
    return {"float32": "fxxxx", "float64": "d", "bool": "?xxxxxxx"}.get(number.dtype, "q")
