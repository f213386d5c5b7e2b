"""Einsum: a sum of products, written as the letters of the axes.

    einsum("ik,kj->ij", a, b)        out[i, j] = sum over k of a[i, k] * b[k, j]
    einsum("ii->i", a)               a letter twice in one array: its diagonal
    einsum("...i,...i", a, b)        dots: all other axes, aligned from the end
    einsum("ik,kj", a, b)            without an arrow: the letters that stand once, in alphabetical order

Several arrays are multiplied two by two. Which two come next is decided greedily: those whose product takes the least
memory, compared with what it replaces. Each pair is a contraction, so BLAS multiplies what is a matrix product.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import combinations
from typing import Any

from jt_edu.base.dtypes import DType, contracted, promote
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.index_expr import counter
from jt_edu.ir.meta_ops import reindex
from jt_edu.ops.contraction import LAID, Letters, contract
from jt_edu.ops.reduce import reduced
from jt_edu.ops.transpose import permute
from jt_edu.ops.view import view
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

DOTS = "..."
Term = tuple[Var, Letters]


@castable
@template
def einsum(subscripts: Any, *operands: Any) -> Var:
    """Sum of products over the letters that the result lacks.

    Args:
        subscripts: "ij,jk->ik"; or an array, a list of whole numbers for its axes, the next array, and so on, and a
            list for the result at the end.
        operands: one array for each part between commas (or one list of them).

    Raises:
        ArgumentError: the letters make no sense, or there are not as many arrays as parts.
        ShapeError: an array has not as many axes as letters, or one letter two lengths.

    Example:
        >>> einsum("i,i", array([1, 2]), array([3, 4])).item()
        11
        >>> einsum("bik,bjk->bij", ones((2, 3, 5)), ones((2, 4, 5))).shape
        (2, 3, 4)
    """
    if isinstance(subscripts, str):
        parts, result = _letters(subscripts)
        arrays = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    else:
        parts, result, arrays = _from_lists((subscripts, *operands))
    if len(parts) != len(arrays):
        raise ArgumentError(f"einsum of {len(parts)} parts takes that many arrays", f"{len(arrays)}: {subscripts!r}")
    terms = [_spread(as_var(a), part) for a, part in zip(arrays, parts, strict=True)]
    out = _result(terms, parts, result)
    _check_lengths(terms)
    return _multiplied([_diagonal(x, letters) for x, letters in terms], out, _dtype(terms, out))


# from words to letters


def _letters(subscripts: str) -> tuple[list[Letters], Letters | None]:
    """The letters of each part, and of the result if there is an arrow; dots are one letter for now."""
    text = subscripts.replace(" ", "")
    before, arrow, after = text.partition("->")
    parts = [_part(p, subscripts) for p in before.split(",")]
    return parts, _part(after, subscripts) if arrow else None


def _part(text: str, subscripts: str) -> Letters:
    pieces = text.split(DOTS)
    letters = "".join(pieces)
    if len(pieces) > 2 or not all(c.isascii() and c.isalpha() for c in letters):
        raise ArgumentError(
            "einsum is written with letters, commas, one arrow and '...'", short(subscripts), "'ij,jk->ik'"
        )
    return tuple(pieces[0]) if len(pieces) == 1 else (*pieces[0], DOTS, *pieces[1])


def _from_lists(arguments: Sequence[Any]) -> tuple[list[Letters], Letters | None, list[Any]]:
    """array, axes, array, axes, ..., and axes of the result if there is one more."""
    arrays, lists = list(arguments[0::2]), list(arguments[1::2])
    result = arrays.pop() if len(arrays) > len(lists) else None
    named = [*lists, *([] if result is None else [result])]
    if not lists or not all(isinstance(axes, (list, tuple)) for axes in named):
        raise ArgumentError(
            "einsum takes a text such as 'ij,jk->ik', or arrays and lists of axes in turn",
            ", ".join(type(v).__name__ for v in arguments),
        )
    for axes in named:
        if not all(c is ... or (isinstance(c, int) and not isinstance(c, bool) and c >= 0) for c in axes):
            raise ArgumentError("einsum numbers axes from 0", short(axes), "[0, 1]")
        if sum(c is ... for c in axes) > 1:
            raise ArgumentError("einsum takes dots once for an array", short(axes))
    found = [tuple(DOTS if c is ... else c for c in axes) for axes in named]
    return found[: len(lists)], found[-1] if result is not None else None, arrays


def _spread(x: Var, part: Letters) -> Term:
    """Dots become axes that are numbered from the end."""
    rest = x.ndim - len(part) + 1
    if (DOTS not in part and x.ndim != len(part)) or rest < 0:
        raise ShapeError("einsum needs a letter for each axis", f"{_text(part)!r} for shape {x.shape}")
    if DOTS not in part:
        return x, part
    at = part.index(DOTS)
    return x, (*part[:at], *((DOTS, k) for k in range(-rest, 0)), *part[at + 1 :])


def _text(letters: Letters) -> str:
    return "".join(map(str, letters)) if all(isinstance(c, str) for c in letters) else str(list(letters))


def _result(terms: list[Term], parts: list[Letters], result: Letters | None) -> Letters:
    """The letters of the result: dots first where nothing else is said."""
    dots = sorted({c for _, letters in terms for c in letters if isinstance(c, tuple)})
    if result is None:
        count = Counter(c for part in parts for c in part if c != DOTS)
        once = [c for c, n in count.items() if n == 1]
        return (*dots, *sorted(once, key=lambda c: (isinstance(c, int), c)))
    known = {c for part in parts for c in part}
    wrong = [c for c in result if c not in known and c != DOTS]
    twice = [c for c, n in Counter(result).items() if n > 1]
    if wrong or twice:
        raise ArgumentError(
            "each letter of einsum's result appears there once, and in one of the arrays",
            f"{(wrong + twice)[0]!r} in {_text(result)!r}",
            f"'->{_text(tuple(c for c in dict.fromkeys(result) if c not in wrong))}'",
        )
    if DOTS not in result and dots:
        raise ArgumentError(
            "einsum keeps the axes of its dots", f"no dots in the result {_text(result)!r}", "'...ij->...'"
        )
    return tuple(a for c in result for a in (dots if c == DOTS else [c]))


def _check_lengths(terms: list[Term]) -> None:
    """One letter, one length; an axis of length 1 fits any, if it stands in another array."""
    lengths: dict[Hashable, int] = {}
    for x, letters in terms:
        inside: dict[Hashable, int] = {}
        for c, n in zip(letters, x.shape, strict=True):
            if inside.setdefault(c, n) != n or (n != 1 and lengths.get(c, 1) not in (1, n)):
                other = inside[c] if inside[c] != n else lengths[c]
                raise ShapeError(
                    "einsum needs axes with the same letter to have the same length",
                    f"{other} and {n} for {_text(c if isinstance(c, tuple) else (c,))!r}",
                    "another letter for one of the two, or letters in the order of the array's axes",
                )  # fmt: skip
            lengths[c] = n if lengths.get(c, 1) == 1 else lengths[c]


# from letters to products


def _dtype(terms: list[Term], out: Letters) -> DType | None:
    """Of a sum of products of whole numbers, however many arrays there are; others get theirs two by two."""
    met = reduce(promote, (x.dtype for x, _ in terms))
    summed = any(c not in out for _, letters in terms for c in letters)
    return contracted(met) if summed and not met.is_float else None


def _diagonal(x: Var, letters: Letters) -> Term:
    """A letter that stands twice becomes one axis: the elements where both indices are equal."""
    unique = tuple(dict.fromkeys(letters))
    if len(unique) == len(letters):
        return x, letters
    shape = tuple(x.shape[letters.index(c)] for c in unique)
    op = reindex("diagonal", x.shape, shape, tuple(counter(unique.index(c)) for c in letters))
    return view(x, op).apply(LAID), unique


def _multiplied(terms: list[Term], out: Letters, dtype: DType | None) -> Var:
    """The greedy order: two by two, until one array is left."""
    if len(terms) == 1:
        x, letters = terms[0]
        gone = tuple(k for k, c in enumerate(letters) if c not in out)
        kept = [c for c in letters if c in out]
        total = reduced(x if dtype is None else x.cast(dtype), "einsum", "add", gone, False) if gone else x
        return total if tuple(kept) == out else permute(total, *(kept.index(c) for c in out))
    while len(terms) > 1:
        one, other = _cheapest(terms, out) if len(terms) > 2 else (0, 1)
        (x, left), (y, right) = terms[one], terms[other]
        rest = [t for k, t in enumerate(terms) if k not in (one, other)]
        kept_letters = _kept(left, right, rest, out)
        terms = [*rest, (contract("einsum", x, left, y, right, kept_letters, dtype), kept_letters)]
    return terms[0][0]


def _kept(left: Letters, right: Letters, rest: list[Term], out: Letters) -> Letters:
    """The letters that are still needed after a product; of the last one, in the order of the result."""
    if not rest:
        return out
    needed = {*out, *(c for _, letters in rest for c in letters)}
    return tuple(c for c in dict.fromkeys((*left, *right)) if c in needed)


def _cheapest(terms: list[Term], out: Letters) -> tuple[int, int]:
    """The two whose product takes the least memory, less what they take themselves; among equals, the least work."""
    lengths: dict[Hashable, int] = {}
    for x, letters in terms:
        for c, n in zip(letters, x.shape, strict=True):
            lengths[c] = n if lengths.get(c, 1) == 1 else lengths[c]

    def price(pair: tuple[int, int]) -> tuple[int, int]:
        (x, left), (y, right) = (terms[k] for k in pair)
        kept = _kept(left, right, [t for k, t in enumerate(terms) if k not in pair], out)
        size = math.prod(lengths[c] for c in kept)
        return size - x.size - y.size, math.prod(lengths[c] for c in {*left, *right})

    return min(combinations(range(len(terms)), 2), key=price)
