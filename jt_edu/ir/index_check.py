"""Index check: what an index function of the learner must obey, so that no kernel ever reads outside an array.

A Reindex of our own is right by construction. One that a learner wrote is checked when it is built: by interval
arithmetic for what is arithmetic, and for index arrays by what they are and where they are read.
The numbers in index arrays are checked before a kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from jt_edu.base.dtypes import DType, int64, plain
from jt_edu.base.errors import ArgumentError, DtypeError, RangeError
from jt_edu.ir.index_expr import Index, bounds, counters_of, looks_up, parts_of
from jt_edu.ir.meta_ops import Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape

MOST = 256  # counters, numbers and operators of an index expression
FAR = 1 << 62  # positions further away would not fit into 64 bits
Limits = tuple[int, int, int]  # numbers from the first to below the second, or the third


def limits(node: Node) -> Iterator[tuple[int, Limits]]:
    """Which inputs of a node are looked into, and what the numbers there must be."""
    op = node.op
    if isinstance(op, (Reindex, ReindexReduce)) and len(node.inputs) > 1:
        shape = node.inputs[0].shape if isinstance(op, Reindex) else node.shape
        for where, length in zip(op.where, shape, strict=True):
            for k in [part.args[0] for part in parts_of(where) if part.op == "load"]:
                yield 1 + k, (-length, length, 0 if length else FAR)  # no index is that far
    if isinstance(op, Reindex) and op.within:
        yield 0, op.within


def check_numbers(numbers: Any, limits: Limits, who: Node) -> None:
    """Raise in the name of `who` unless the numbers of an array are within the limits."""
    low, high, also = limits
    from_front = low <= 0 < high and numbers.dtype is int64.storage  # then a negative one is far too large
    if numbers.size == 0 or (from_front and numbers.view(np.uint64).max() < high):
        return
    if low <= numbers.min() and numbers.max() < high:
        return
    bad = numbers[~((numbers >= low) & (numbers < high)) & (numbers != also)]  # so is nan
    if bad.size and numbers.dtype.kind == "f":
        raise ArgumentError(f"{who.op.name} takes numbers from {low} to {also}", f"{bad[0]}").at(who.line, who.scope)
    if bad.size:
        asked, way = f"{who.op.name} reads whole numbers from {low} to {high - 1}", f"an index from {low} to {high - 1}"
        raise RangeError(asked, f"the index {bad[0]}", way).at(who.line, who.scope)


def check_lookup(
    name: str, source: Shape, where: Sequence[Index], valid: Index | None, loops: Shape, arrays: Sequence[Node]
) -> None:
    """Raise unless every position can be computed, and every index array is read inside its shape."""
    if len(where) != len(source):
        asked = f"{name} needs one index for each axis of an array of shape {source}"
        raise ArgumentError(asked, f"{len(where)}: {list(where)}")
    if any(len([*islice(parts_of(w), MOST + 1)]) > MOST for w in (*where, valid) if w is not None):
        raise ArgumentError(f"an index of {name} is made of up to {MOST} parts", "more", "an index array, in extras")
    for axis, index in enumerate(where):
        if index.op == "load":
            _check_load(name, index, loops, arrays)
        elif looks_up(index):
            asked, way = (
                "takes the entries of an index array as they are",
                "arithmetic on it before it is passed in extras",
            )
            raise ArgumentError(f"{name} {asked}", f"{index} for axis {axis}", way)
        else:
            _check_arithmetic(name, index, loops)
    if valid is not None:
        _check_arithmetic(name, valid, loops)
    for array in arrays:
        if array.dtype.kind not in "iu":
            raise DtypeError(f"index arrays of {name} hold whole numbers", f"dtype {array.dtype}", "x.cast('int64')")


def _check_load(name: str, index: Index, loops: Shape, arrays: Sequence[Node]) -> None:
    number, places = index.args
    if not 0 <= number < len(arrays):
        raise ArgumentError(f"{name} was given {len(arrays)} index array(s) in extras", f"the index {index}")
    shape = arrays[number].shape
    if len(places) != len(shape):
        raise ArgumentError(f"the index array {number} of {name} has {len(shape)} axes", f"{index}")
    for place, length in zip(places, shape, strict=True):
        if looks_up(place):
            raise ArgumentError(f"index arrays of {name} are read at counters", f"{index}", "x[rows[cols]]")
        _check_arithmetic(name, place, loops)
        low, high = bounds(place, loops)
        if 0 not in loops and (low < 0 or high >= length):
            asked, found = f"{name} reads an index array of shape {shape} at {index}", f"positions from {low} to {high}"
            raise RangeError(asked, found, "an index array as large as the loops")


def _check_arithmetic(name: str, index: Index, loops: Shape) -> None:
    used = counters_of(index)
    if used and max(used) >= len(loops):
        raise RangeError(f"{name} loops over {len(loops)} axes, counted from i0", f"i{max(used)} in {index}")
    for part in reversed([*parts_of(index)]):  # from the inside
        low, high = bounds(part, loops)
        if part.op in ("//", "%"):
            least, most = bounds(part.args[1], loops)
            if least <= 0 <= most:
                raise ArgumentError(f"an index of {name} cannot be divided by zero", f"{part.args[1]} in {part}")
        if not -FAR < low <= high < FAR:
            raise RangeError(f"positions of {name} have 64 bits", f"{part}, from {low} to {high}", "smaller factors")


def check_fill(name: str, fill: Any, dtype: DType) -> float | str:
    """The value outside the array, if it is a number that the dtype can hold.

    Fractions come as text: 0.0 and -0.0 are equal, and nan is not, so numbers do not tell one operator from another.
    """
    whole, fill = dtype.whole, plain(fill)
    if fill is None:
        return 0
    if isinstance(fill, complex) and dtype.kind == "c":
        return f"complex_of({float(fill.real)}, {float(fill.imag)})"
    if not isinstance(fill, (int, float)) or (whole and not (whole[0] <= fill <= whole[-1] and fill == int(fill))):
        raise DtypeError(f"{name} fills with one number that {dtype} can hold", repr(fill))
    return int(fill) if whole or isinstance(fill, int) or str(fill) == "0.0" else str(fill)
