"""Tensor core: what do the 32 lanes of a warp do together, when they multiply two small matrices?

    d = cuda.mma_tf32(a, b, c)            D = A @ B + C         A is 16 x 8,  B is 8 x 8,  C and D are 16 x 8
    d = cuda.mma_float16(a, b, c)                               A is 16 x 16, B is 16 x 8
    d = cuda.mma_bfloat16(a, b, c)

The field calls it *mma*, matrix multiply-accumulate. No lane has a whole matrix: each holds a few words of it, a
*fragment*. With g = laneid // 4 and t = laneid % 4 it gives, and is given

    a       A[g, t]   A[g + 8, t]   A[g, t + 4]   A[g + 8, t + 4]                 four words
    b       B[t, g]   B[t + 4, g]                                                 two words
    c, d    C[g, 2 * t]   C[g, 2 * t + 1]   C[g + 8, 2 * t]   C[g + 8, 2 * t + 1]   four float32

A word of TF32 is a float32, of which a tensor core reads the upper 19 bits: sign, 8 of exponent and 10 of mantissa.
`cuda.tf32(x)` rounds to the nearest such number. A word of halves is a whole number of 32 bits: the bits of two that
are neighbors along the sum, the first one below. So A has 8 words in a row for either, and of halves A[i, w] means
A[i, 2 * w] and A[i, 2 * w + 1], and B[w, j] means B[2 * w, j] and B[2 * w + 1, j].

Here products are exact, and added to float32 one after the other, in the order of the sum. In which order a tensor core
adds its 8 or 16 products, and with how many bits, NVIDIA does not say: last digits of a GPU are others.

Source: NVIDIA, "PTX ISA", sections on mma.sync.aligned.m16n8k8 and m16n8k16, and on cvt.rna.tf32.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np

from jt_edu.base.errors import KernelError

ROWS, COLUMNS, WORDS = 16, 8, 8  # of A and D, of B and D; in a row of A
PARTS = {"a": 4, "b": 2, "c": 4}  # numbers of a lane
SINCE = {"float16": (7, 5), "bfloat16": (8, 0), "tf32": (8, 0)}  # which GPUs multiply what
KEPT = np.uint32(0xFFFFE000)  # bits of a float32 that TF32 has
Numbers = np.ndarray[Any, Any]
_lanes = np.arange(32)
G, T = _lanes // 4, _lanes % 4
IN_A = np.stack([G, G + 8, G, G + 8], 1), np.stack([T, T, T + 4, T + 4], 1)  # row and word of each number of a lane
IN_B = np.stack([G, G], 1), np.stack([T, T + 4], 1)  # of B the other way round: column and word
IN_C = np.stack([G, G, G + 8, G + 8], 1), np.stack([2 * T, 2 * T + 1] * 2, 1)


def multiplied_by(capability: tuple[int, int]) -> frozenset[str]:
    """The numbers that tensor cores of a GPU multiply.

    Example:
        >>> sorted(multiplied_by((7, 5))), sorted(multiplied_by((9, 0)))
        (['float16'], ['bfloat16', 'float16', 'tf32'])
    """
    return frozenset(name for name, first in SINCE.items() if capability >= first)


def tf32(x: Any) -> np.float32:
    """The number of 10 bits behind the first one that is nearest to x; of two, the one further from 0.

    Example:
        >>> tf32(1 + 2**-11), tf32(1 + 2**-12)
        (np.float32(1.0009766), np.float32(1.0))
    """
    number = np.float32(x)
    if not np.isfinite(number):
        return number
    found: np.float32 = ((number.view(np.uint32) + np.uint32(0x1000)) & KEPT).view(np.float32)
    return found


def fragments(word: str, given: tuple[Any, ...], line: int) -> tuple[list[Any], ...]:
    """What a lane says in such a word, as numbers of one kind.

    Raises:
        KernelError: they are others, or not as many.
    """
    asked = f"cuda.{word} takes four words of A, two of B and four float32 of C"
    way = f"d = cuda.{word}((a0, a1, a2, a3), (b0, b1), (c0, c1, c2, c3))"
    if len(given) != 3:
        raise KernelError(asked, f"{len(given)} arguments in line {line}", way)
    found = []
    for (name, count), part in zip(PARTS.items(), given, strict=True):
        if not isinstance(part, tuple) or len(part) != count:
            what = f"{len(part)} of {name}" if isinstance(part, tuple) else f"{type(part).__name__} for {name}"
            raise KernelError(asked, f"{what} in line {line}", way)
        try:
            found.append([*map(np.float32, part)] if name == "c" or word == "mma_tf32" else [*map(_bits, part)])
        except (TypeError, ValueError) as error:
            shown = ", ".join(type(x).__name__ for x in part)
            raise KernelError(f"{asked}; of halves a word is a whole number", f"{shown} in line {line}", way) from error
    return tuple(found)


def _bits(word: Any) -> int:
    return index(word) & 0xFFFFFFFF


def multiplied(word: str, told: Mapping[int, tuple[list[Any], ...]]) -> list[tuple[np.float32, ...]]:
    """D, as each of the 32 lanes is given it, of what they have told."""
    a, b, c = ([told[lane][part] for lane in range(len(told))] for part in range(3))
    kind = np.float32 if word == "mma_tf32" else np.uint32
    left, right = np.empty((ROWS, WORDS), kind), np.empty((COLUMNS, WORDS), kind)
    sums = np.empty((ROWS, COLUMNS), np.float32)
    left[IN_A], right[IN_B], sums[IN_C] = a, b, c
    with np.errstate(all="ignore"):
        for x, y in zip(seen(word, left).T, seen(word, right).T, strict=True):
            sums = sums + x[:, None] * y
    return [*map(tuple, sums[IN_C])]


def seen(word: str, words: Numbers) -> Numbers:
    """The numbers that a tensor core reads in rows of words, as float32."""
    if word == "mma_tf32":
        return (words.view(np.uint32) & KEPT).view(np.float32)
    halves = words.view(np.uint16)
    if word == "mma_float16":
        return halves.view(np.float16).astype(np.float32)
    return (halves.astype(np.uint32) << 16).view(np.float32)
