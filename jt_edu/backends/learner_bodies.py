"""Learner bodies: what a kernel calls whose body a learner wrote with `jt.code`, and what is told when it fails.

inside      an index, which is checked before the array is read or written
part        where a piece of a `prange` begins
set_size    how long an output of unknown length has become
fill        one array into another

A kernel raises with numbers only: BODIES has the words. Nothing here imports numba; `mathlib/learner_code.py` shows
these functions to it.
"""

from __future__ import annotations

import re
from typing import Any

from jt_edu.base.errors import RangeError

PIECES = 64  # of a prange, which threads share
BODIES: dict[int, list[str]] = {}  # number of a text -> its lines; kernels raise with numbers only


class OutsideError(RangeError):
    """A body read or wrote outside an array, or made an output longer than its bound."""

    def __init__(self, body: int, line: int, axis: int, index: int, length: int) -> None:
        lines = BODIES.get(body, [])
        text = f": `{lines[line - 1].strip()}`" if 0 < line <= len(lines) else ""
        if axis < 0:
            asked, found = f"an output has at most {length} rows", f"set_shape({index})"
        else:
            asked, found = f"axis {axis} of an array has length {length}", f"index {index}"
        super().__init__(asked, f"{found} in line {line} of the body{text}")


def inside(index: Any, length: Any, body: Any, line: Any, axis: Any) -> Any:
    """The index, counted from the front; outside [-length, length) the kernel ends with an error."""
    if index < -length or index >= length:
        raise OutsideError(body, line, axis, index, length)
    return index + length if index < 0 else index


def part(piece: Any, begin: Any, end: Any) -> Any:
    """Where piece number `piece` of [begin, end) begins."""
    return begin + max(0, end - begin) * piece // PIECES


def set_size(sizes: Any, which: Any, size: Any, most: Any, body: Any, line: Any) -> None:
    """Keep how many rows of an output there are."""
    if size < 0 or size > most:
        raise OutsideError(body, line, -1, size, most)
    sizes[which] = size


def fill(target: Any, source: Any) -> None:
    """Copy all numbers."""
    to, flat = target.reshape(-1), source.reshape(-1)
    for i in range(len(flat)):
        to[i] = flat[i]


def told(error: Exception, text: str) -> str:
    """What numba says of a kernel; of a learner's body one sentence, and the line."""
    words = f"{type(error).__name__}: {error}"
    place = re.search(r'k_\w+\.py", line (\d+)', words)
    if place is None or not text.startswith("def body("):
        return words
    before = words[: place.start()]
    calls = re.findall(r">>> (.+)", before)
    if "resolving callee" in before[-400:] and len(calls) > 1:
        sentence = f"numba has no {calls[-1]}"
    else:
        said = r"^ *((?:Unknown|Untyped|Cannot|Invalid|Use of|No (?!match)).*)"
        sentence = (re.findall(said, before, re.MULTILINE) or [words])[-1]
    line, body = int(place[1]) - 1, text.partition("\n\n\ndef kernel(")[0].count("\n")
    return f"{sentence} in line {line} of the body" if line <= body else f"{sentence} in cpu_header"
