"""Source: the text of one kernel, and what its parameters are.

A backend receives a `Source` and gives back something that can be called. Nothing here knows graphs or numba.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: an array (`rank` >= 0) or a number (`rank` is None)."""

    name: str
    dtype: str  # as NumPy spells it: "float32", "int64", "uint16" (the storage of float16 and bfloat16)
    rank: int | None = None


@dataclass(frozen=True)
class Source:
    """Python text that defines `kernel(lo, hi, ...)`, and the types of its parameters.

    `lo` and `hi` (int64) bound the outermost loop, so that threads can share the work. Arrays are C-contiguous. Where
    they are `apart`, no memory that is written is that of another parameter too: what was read may stay in registers.
    """

    text: str
    parameters: tuple[Parameter, ...]  # without lo and hi
    entry: str = field(default="kernel")
    apart: bool = False

    @cached_property
    def key(self) -> str:
        """Two kernels with the same key are the same program."""
        spelled = self.text + repr([(p.name, p.dtype, p.rank) for p in self.parameters] + [self.entry, self.apart])
        return hashlib.sha256(spelled.encode()).hexdigest()[:24]
