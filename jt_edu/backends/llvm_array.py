"""LLVM array: where does a kernel find the elements of an array, while its instructions are written?

    a[i, j]     address     data + i * columns + j, as numba reckons it
    a[lo:hi]    part        some rows, or one of them, in the same memory
    f(a)        whole       numba's idea of the array, for functions that are written for that; `read` is the way back

Rows follow each other (C), except where a matrix is transposed (F), which is only handed on. Nothing here knows
statements.
"""

# mypy: disable-error-code="attr-defined, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils

INT = ir.IntType(64)


@dataclass(frozen=True)
class Array:
    """An array, or a part of one: numba's type, and LLVM's values."""

    kind: Any
    data: Any
    shape: tuple[Any, ...]


def address(b: Any, array: Array, where: list[Any]) -> Any:
    """The address of the element with these indices, one for each axis."""
    place = None
    for axis, index in enumerate(where):
        step = INT(1)
        for length in array.shape[axis + 1 :]:
            step = b.mul(step, length)  # first, so that LLVM computes it once for the kernel
        term = b.mul(index, step)
        place = term if place is None else b.add(place, term)
    return array.data if place is None else b.gep(array.data, [place])


def from_end(b: Any, index: Any, length: Any) -> Any:
    """The index; a negative one counts from the end."""
    return b.select(b.icmp_signed("<", index, INT(0)), b.add(length, index), index)


def inside(b: Any, end: Any, length: Any) -> Any:
    """An end of a slice, which is neither negative nor beyond the last."""
    end = _at_least_0(b, from_end(b, end, length))
    return b.select(b.icmp_signed(">", end, length), length, end)


def part(b: Any, array: Array, where: list[Any]) -> Array:
    """The part with these first indices; the last of them may be begin and end.

    Raises:
        ValueError: it does not lie in one piece.
    """
    *before, last = where
    if any(isinstance(index, tuple) for index in before):
        raise ValueError("rows that are cut do not lie in one piece")
    begin, rest = [*before, last], array.shape[len(where) :]
    if isinstance(last, tuple):
        begin, rest = [*before, last[0]], (_at_least_0(b, b.sub(last[1], last[0])), *rest)
    missing = [INT(0)] * (len(array.shape) - len(begin))
    return Array(array.kind.copy(ndim=len(rest)), address(b, array, begin + missing), rest)


def whole(target: Any, b: Any, array: Array) -> Any:
    """The array as numba has it."""
    made, kind = target.make_array(array.kind)(target, b), target.get_data_type(array.kind.dtype)
    size, count, order = INT(target.get_abi_sizeof(kind)), INT(1), -1 if array.kind.layout == "C" else 1
    steps = []
    for length in array.shape[::order]:
        steps.append(b.mul(size, count))
        count = b.mul(count, length)
    fields = {name: cgutils.get_null_value(getattr(made, name).type) for name in ("meminfo", "parent")}
    fields |= {"data": array.data, "itemsize": size, "nitems": count}
    fields |= {"shape": cgutils.pack_array(b, array.shape, INT), "strides": cgutils.pack_array(b, steps[::order], INT)}
    for name, value in fields.items():
        setattr(made, name, value)
    return made._getvalue()


def read(target: Any, b: Any, kind: Any, value: Any) -> Array:
    """What numba has as an array."""
    found = target.make_array(kind)(target, b, value)
    return Array(kind, found.data, tuple(cgutils.unpack_tuple(b, found.shape)))


def _at_least_0(b: Any, number: Any) -> Any:
    return b.select(b.icmp_signed("<", number, INT(0)), INT(0), number)
