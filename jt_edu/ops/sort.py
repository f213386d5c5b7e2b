"""Sorting: which number belongs where.

    argsort                     the positions: of short rows by a merge sort, of long ones digit by digit
    topk                        those of a few: by keeping the best so far
    sort, kthvalue, topk        the numbers there
    msort                       the numbers alone: of long rows digit by digit, without positions

Where positions are computed the numbers are read there, so gradients go to where they came from.
Equal numbers keep their order, and nan counts as larger than every number, as in NumPy and PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jt_edu.base.dtypes import DType, bool_, float32, int64, uint8
from jt_edu.base.errors import RangeError
from jt_edu.ir.index_expr import load
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import one_of, whole, yes_or_no
from jt_edu.ops.custom_kernel import Rows, kernel
from jt_edu.ops.dtype_rules import check_order
from jt_edu.ops.row_view import Ranked, as_rows, from_rows, one_axis, one_each, picked, ranked
from jt_edu.ops.var_function import var_function
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["argsort", "kthvalue", "msort", "sort", "topk"]
BEFORE = {  # whether the number a belongs before b, for rising and for falling ones
    False: "a < b or (b != b and a == a)",
    True: "a > b or (a != a and b == b)",
}
MERGE = """
    def kernel(lo, hi, x, out):
        n = x.shape[1]
        other = scratch(n, np.int64)
        for row in range(lo, hi):
            key, here = x[row], out[row]
            for first in range(0, n, 16):  # short runs, by insertion
                for i in range(first, min(first + 16, n)):
                    a = key[i]
                    k = i
                    while k > first:
                        b = key[here[k - 1]]
                        if {before}:
                            here[k] = here[k - 1]
                            k -= 1
                        else:
                            break
                    here[k] = i
            width = 16
            while width < n:  # two sorted runs become one
                for first in range(0, n, 2 * width):
                    middle, last = min(first + width, n), min(first + 2 * width, n)
                    i, j = first, middle
                    for k in range(first, last):
                        right = i == middle
                        if not right and j < last:
                            a, b = key[here[j]], key[here[i]]
                            right = {before}
                        if right:
                            other[k] = here[j]
                            j += 1
                        else:
                            other[k] = here[i]
                            i += 1
                for k in range(n):
                    here[k] = other[k]
                width *= 2
"""


DIGITS = """
    def kernel(lo, hi, x, out):
        n, last, digit, top = x.shape[1], {word}({width} - 1), {word}({digit}), {word}(1 << ({width} - 1))
        bits, inf = x.view({word}), {word}({inf})
        mine, other = scratch(n, {word}), scratch(n, {word})
        room = scratch(n, np.int64)
        begin = scratch(1 << {step}, np.int64)  # where the numbers with this digit go
        for row in range(lo, hi):
            some, every = {word}(0), ~{word}(0)  # bits that one of the numbers has, or all of them
            for i in range(n):  # whole numbers that stand in the same order
                b = bits[row, i]
                {key}
                mine[i] = b = {turned}
                some, every = some | b, every & b
                out[row, i] = i
            key, spare, here, there, moves = mine, other, out[row], room, 0
            for first in range(0, {width}, {step}):
                shift = {word}(first)
                if ((some ^ every) >> shift) & digit == 0:
                    continue  # all have the same digit
                begin[:] = 0
                for i in range(n):
                    begin[(key[i] >> shift) & digit] += 1
                total = 0
                for d in range(1 << {step}):
                    total, begin[d] = total + begin[d], total
                for i in range(n):
                    d = (key[i] >> shift) & digit
                    k = begin[d]
                    begin[d] = k + 1
                    spare[k], there[k] = key[i], here[i]
                key, spare, here, there, moves = spare, key, there, here, moves + 1
            if moves % 2:
                for i in range(n):
                    out[row, i] = room[i]
"""
# A whole number without a sign that stands in the same order as a number with these bits; `top` is the bit of the sign.
# Floats: nan is the largest of all, in one form; -0 is 0; of a negative one every bit turns, as more of it is less.
KEYS = {
    "u": "b = b",
    "i": "b = b ^ top",
    "f": "b = ~{word}(0) if (b & ~top) > inf else b if b == top else ~b if b >> last else b | top",
}
INFINITY = {32: 0x7F80_0000, 64: 0x7FF0_0000_0000_0000}  # its bits: those of a nan are more
MOVED = """
    def kernel(lo, hi, x, out):
        n, last, digit, top = x.shape[1], {word}({width} - 1), {word}({digit}), {word}(1 << ({width} - 1))
        bits, goal, inf = x.view({word}), out.view({word}), {word}({inf})
        room = scratch(n, {word})
        begin = scratch(1 << {step}, np.int64)
        for row in range(lo, hi):
            some, every = {word}(0), ~{word}(0)
            for i in range(n):
                b = goal[row, i] = bits[row, i]
                {key}
                some, every = some | b, every & b
            here, there, moves = goal[row], room, 0
            for first in range(0, {width}, {step}):
                shift = {word}(first)
                if ((some ^ every) >> shift) & digit == 0:
                    continue
                begin[:] = 0
                for i in range(n):
                    b = here[i]
                    {key}
                    begin[(b >> shift) & digit] += 1
                total = 0
                for d in range(1 << {step}):
                    total, begin[d] = total + begin[d], total
                for i in range(n):
                    b = a = here[i]
                    {key}
                    d = (b >> shift) & digit
                    k = begin[d]
                    begin[d] = k + 1
                    there[k] = a
                here, there, moves = there, here, moves + 1
            if moves % 2:
                for i in range(n):
                    goal[row, i] = room[i]
"""
LONG = 256  # numbers in a row that are sooner sorted by digits


FIRST = """
    def kernel(lo, hi, x, out):
        n, many = x.shape[1], out.shape[1]
        for row in range(lo, hi):
            key, here = x[row], out[row]
            b = key[0]  # the number in the last place
            for first in range(0, n, {block}):
                last, some = min(first + {block}, n), first < many
                for i in range(np.uint64(first), np.uint64(last)):  # does any number of this block belong to the few?
                    a = key[i]
                    some = some | ({before})
                for i in range(first, last if some else first):
                    a = key[i]
                    if i >= many and not ({before}):
                        continue
                    k = min(i, many - 1)
                    while k > 0:
                        b = key[here[k - 1]]
                        if {before}:
                            here[k] = here[k - 1]
                            k -= 1
                        else:
                            break
                    here[k] = i
                    b = key[here[min(i, many - 1)]]
"""
BLOCK = 64  # numbers that are looked at together
FEW = 32  # numbers that are sooner kept in order one by one than found by sorting all


def sorted_positions(rows: Var, descending: bool = False) -> Var:
    """For each row its positions, so that the numbers there rise (or fall)."""
    keys = _keys(rows)
    falling = bool(descending)
    op = _by_digits(keys.dtype, falling) if rows.shape[1] >= LONG else _by_merging(falling)
    return op(keys, shape=rows.shape, dtype=int64, span=len(rows))


def sorted_numbers(rows: Var) -> Var:
    """The numbers of each row, rising: without positions, where that is faster."""
    keys = _keys(rows)
    if rows.shape[1] < LONG:
        return picked(rows, sorted_positions(rows))
    return _numbers_by_digits(keys.dtype)(keys, shape=keys.shape, dtype=keys.dtype, span=len(keys)).cast(rows.dtype)


def _keys(rows: Var) -> Var:
    """What a kernel compares: bools as whole numbers, halves as float32."""
    plain = rows.cast(uint8) if rows.dtype is bool_ else rows
    return plain.cast(float32) if plain.dtype.is_half else plain


def first_positions(rows: Var, many: int, descending: bool) -> Var:
    """The first `many` of these positions."""
    if not 0 < many <= FEW:
        return sorted_positions(rows, descending)[:, :many]
    op = _by_keeping(bool(descending))
    return op(_keys(rows), shape=(len(rows), many), dtype=int64, span=len(rows))


@cache
def _by_keeping(falling: bool) -> Callable[..., Var]:
    """The few that come first."""
    before = BEFORE[falling]
    return kernel("topk", FIRST.format(before=before, block=BLOCK), (), 4, Rows, gpu_rows.sort(before))


@cache
def _by_merging(falling: bool) -> Callable[..., Var]:
    """The sort for short rows."""
    before = BEFORE[falling]
    return kernel("argsort", MERGE.format(before=before), (), 100, Rows, gpu_rows.sort(before))


@cache
def _by_digits(dtype: DType, falling: bool) -> Callable[..., Var]:
    """The sort for long rows of a dtype."""
    text, threads = _digits(DIGITS, dtype, "~b" if falling else "b"), gpu_rows.sort(BEFORE[falling])
    return kernel("argsort", text, (), 50, Rows, threads)


@cache
def _numbers_by_digits(dtype: DType) -> Callable[..., Var]:
    """The same, without the positions; a gradient goes to where each number came from."""

    def back(_: Var, dout: Var, x: Var) -> Var:
        order = sorted_positions(x)
        return dout.reindex_reduce("add", x.shape, lambda i, j: (i, load(0, [i, j])), extras=[order])

    return kernel("sort", _digits(MOVED, dtype, ""), [back], 30, Rows, gpu_rows.sort(BEFORE[False], numbers=True))


def _digits(text: str, dtype: DType, turned: str) -> str:
    width = 8 * dtype.size
    step = min(width, 11)
    word = f"np.uint{width}"
    return text.format(
        word=word, width=width, step=step, digit=(1 << step) - 1, key=KEYS[dtype.kind].format(word=word),
        turned=turned, inf=INFINITY.get(width, 0),
    )  # fmt: skip


@var_function(template)
def argsort(x: Any, dim: Any = None, descending: bool = False, stable: bool = True) -> Var:
    """Positions (int64) that put the numbers along an axis (the last one by default) in order; equal ones keep theirs.

    Args:
        descending: the largest first.
        stable: taken for the sake of code that asks for it; the order of equal numbers is kept always.

    Example:
        >>> argsort(array([3.0, 1.0, 2.0])).numpy()
        array([1, 2, 0])
    """
    v = as_var(x)
    axis = _axis("argsort", v, dim)
    falling, _ = yes_or_no("argsort", "descending", descending), yes_or_no("argsort", "stable", stable)
    return from_rows(sorted_positions(as_rows(v, (axis,)), falling), v.shape, axis)


@var_function()
def sort(x: Any, dim: Any = None, descending: bool = False, stable: bool = True, *, axis: Any = None) -> Any:
    """(numbers in order, their old positions) along an axis, the last one by default; the arguments are `argsort`'s.

    Here the word decides what comes back (decision 087): `dim` brings PyTorch's pair, `axis` NumPy's numbers alone.

    Args:
        dim: the axis; the answer is (values, indices), as without it.
        descending: the largest first.
        stable: the order of equal numbers is kept, whatever is said here.
        axis: the same axis under NumPy's name; the answer is the numbers alone. None is as if it was left out.

    Example:
        >>> [v.tolist() for v in sort(array([3, 1, 2]), descending=True)]
        [[3, 2, 1], [0, 2, 1]]
        >>> sort(array([3, 1, 2]), axis=0).tolist()
        [1, 2, 3]
    """
    found = Ranked(*_sorted(x, one_of("sort", dim=dim, axis=axis), descending, stable))
    return found if axis is None else found.values


@template
def _sorted(x: Any, dim: Any, descending: bool, stable: bool) -> tuple[Var, Var]:
    v = as_var(x)
    axis = _axis("sort", v, dim)
    falling, _ = yes_or_no("sort", "descending", descending), yes_or_no("sort", "stable", stable)
    rows = as_rows(v, (axis,))
    order = sorted_positions(rows, falling)
    return from_rows(picked(rows, order), v.shape, axis), from_rows(order, v.shape, axis)


@template
def msort(x: Any) -> Var:
    """Numbers in order along the first axis.

    Example:
        >>> msort(array([[3, 1], [2, 4]])).numpy()
        array([[2, 1],
               [3, 4]])
    """
    v = as_var(x)
    check_order("msort", v)
    return from_rows(sorted_numbers(as_rows(v, (one_axis("msort", 0, v.ndim),))), v.shape, 0)


@var_function(ranked, template)
def topk(
    x: Any, k: int, dim: Any = None, largest: bool = True, sorted: bool = True  # noqa: A002 - PyTorch's word
) -> tuple[Var, Var]:  # fmt: skip
    """(the k largest numbers along an axis, their positions); the last axis by default.

    Args:
        largest: False for the smallest ones.
        sorted: the largest (smallest) first; otherwise in the order in which they stand in x.

    Raises:
        RangeError: k is below 0, or more than there are.

    Example:
        >>> [v.tolist() for v in topk(array([1, 5, 3, 4]), 2)]
        [[5, 4], [1, 3]]
    """
    v = as_var(x)
    axis = _axis("topk", v, dim)
    falling, in_order = yes_or_no("topk", "largest", largest), yes_or_no("topk", "sorted", sorted)
    rows = as_rows(v, (axis,))
    many = _rank("topk", k, 0, rows.shape[1])
    best = first_positions(rows, many, falling)
    best = best if in_order else picked(best, sorted_positions(best))
    return from_rows(picked(rows, best), v.shape, axis), from_rows(best, v.shape, axis)


@var_function(ranked, template)
def kthvalue(x: Any, k: int, dim: Any = None, keepdim: bool = False) -> tuple[Var, Var]:
    """(the k-th smallest number along an axis, its position), counted from 1; the last axis by default.

    Example:
        >>> [v.item() for v in kthvalue(array([30, 10, 20]), 2)]
        [20, 2]
    """
    v = as_var(x)
    keep = yes_or_no("kthvalue", "keepdim", keepdim)
    axis = _axis("kthvalue", v, dim)
    rows = as_rows(v, (axis,))
    rank = _rank("kthvalue", k, 1, rows.shape[1])
    where = sorted_positions(rows)[:, rank - 1 : rank]
    found, at = (one_each(r, v.shape, (axis,), keep) for r in (picked(rows, where), where))
    return found, at


def _axis(name: str, x: Var, dim: Any) -> int:
    check_order(name, x)
    return one_axis(name, -1 if dim is None else dim, x.ndim)


def _rank(name: str, k: Any, low: int, high: int) -> int:
    rank = whole(name, "k", k)
    if not low <= rank <= high:
        raise RangeError(f"{name} of {high} numbers takes k from {low} to {high}", f"k={rank}")
    return rank
