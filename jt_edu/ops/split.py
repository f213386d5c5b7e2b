"""Split: one array as several. Each part is a slice, a Reindex that reads from where the part begins.

split           parts of a size, or of the sizes listed        unbind            slices without the axis
chunk           so many parts, of one size except for the last    hsplit, vsplit    along the second, first axis
tensor_split    so many parts, as even as can be; or cut at the positions listed
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.index_expr import counter, size
from jt_edu.ir.meta_ops import reindex
from jt_edu.ops.arguments import axis_of, whole
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import reshape, view
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["array_split", "chunk", "dsplit", "hsplit", "split", "tensor_split", "unbind", "unstack", "vsplit"]
MOST = 1_000_000  # parts; empty ones are parts as well


@var_function(template)
def split(x: Any, sizes: Any, dim: Any = 0) -> tuple[Var, ...]:
    """Parts along an axis (0 by default): of one size (the last may be shorter), or of the sizes listed.

    Example:
        >>> [p.shape for p in arange(5).split(2)]
        [(2,), (2,), (1,)]
    """
    v = as_var(x)
    at = axis_of("split", dim, v.ndim)
    length = v.shape[at]
    if not isinstance(sizes, (list, tuple)):
        each = whole("split", "sizes", sizes)
        if each < 1:
            raise ArgumentError("split takes a size of 1 or more", short(each), "x.chunk(2)")
        sizes = [min(each, length - k) for k in range(0, length, each)] or [0]
    sizes = [whole("split", "sizes", n) for n in sizes]
    if sum(sizes) != length or any(n < 0 for n in sizes):
        rest = length - sum(sizes[:-1])
        fits = f"{[*sizes[:-1], rest]}" if min(rest, *sizes, 0) == 0 else "x.chunk(2)"
        raise ShapeError(
            f"the parts of a split must add up to the length of the axis, {length}", f"{list(sizes)}", fits
        )
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    return tuple(piece(v, at, end - n, end) for n, end in zip(sizes, ends, strict=True))


def piece(x: Var, at: int, start: int, end: int) -> Var:
    """The slice x[start:end] along axis `at`."""
    shape = (*x.shape[:at], max(end - start, 0), *x.shape[at + 1 :])
    where = tuple(counter(k) + size(start) if k == at and start else counter(k) for k in range(x.ndim))
    return view(x, reindex("slice", x.shape, shape, where))


@var_function(template)
def chunk(x: Any, chunks: int, dim: Any = 0) -> tuple[Var, ...]:
    """At most `chunks` parts of equal size along an axis (0 by default); the last may be shorter.

    Where the axis has length 0, there are `chunks` empty parts.

    Example:
        >>> [p.shape for p in arange(5).chunk(2)]
        [(3,), (2,)]
    """
    v, parts = as_var(x), whole("chunk", "chunks", chunks, 1)
    at = axis_of("chunk", dim, v.ndim)
    if v.shape[at] == 0:
        return tuple(piece(v, at, 0, 0) for _ in range(whole("chunk", "chunks", parts, 1, MOST)))
    return split(v, max(-(-v.shape[at] // parts), 1), at)


@var_function(template)
def tensor_split(x: Any, indices_or_sections: Any, dim: Any = 0) -> tuple[Var, ...]:
    """Parts along an axis (0 by default), as even as can be; or cut at the positions listed (NumPy's array_split).

    Args:
        indices_or_sections: how many parts; the first n % sections of them are longer by one. Or the positions where a
            part ends and the next begins, as in brackets.

    Example:
        >>> [p.shape for p in tensor_split(arange(5), 3)], [p.tolist() for p in tensor_split(arange(5), [1, 3])]
        ([(2,), (2,), (1,)], [[0], [1, 2], [3, 4]])
    """
    v = as_var(x)
    at = axis_of("tensor_split", dim, v.ndim)
    length, cuts = v.shape[at], indices_or_sections
    cuts = cuts.tolist() if getattr(cuts, "ndim", 0) == 1 else cuts
    if not isinstance(cuts, (list, tuple)):
        parts = whole("tensor_split", "indices_or_sections", cuts, 1, MOST)
        cuts = [k * (length // parts) + min(k, length % parts) for k in range(1, parts)]
    inside = [slice(whole("tensor_split", "indices_or_sections", c)).indices(length)[1] for c in cuts]
    return tuple(piece(v, at, a, b) for a, b in zip([0, *inside], [*inside, length], strict=True))


@method
@template
def hsplit(x: Any, indices_or_sections: Any) -> tuple[Var, ...]:
    """Equal parts along the second axis, or the first if there is only one; or cut at the positions listed.

    Example:
        >>> [p.shape for p in hsplit(ones((2, 4)), 2)]
        [(2, 2), (2, 2)]
    """
    v = as_var(x)
    return _evenly("hsplit", v, indices_or_sections, 1, 0 if v.ndim == 1 else 1)


@method
@template
def vsplit(x: Any, indices_or_sections: Any) -> tuple[Var, ...]:
    """Equal parts along the first axis of two or more; or cut at the positions listed.

    Example:
        >>> [p.shape for p in vsplit(ones((4, 2)), [1])]
        [(1, 2), (3, 2)]
    """
    return _evenly("vsplit", as_var(x), indices_or_sections, 2, 0)


@method
@template
def dsplit(x: Any, indices_or_sections: Any) -> tuple[Var, ...]:
    """Equal parts along the third axis; or cut at the positions listed.

    Example:
        >>> [p.shape for p in dsplit(ones((1, 1, 4)), 2)]
        [(1, 1, 2), (1, 1, 2)]
    """
    return _evenly("dsplit", as_var(x), indices_or_sections, 3, 2)


def _evenly(name: str, x: Var, parts: Any, rank: int, at: int) -> tuple[Var, ...]:
    if x.ndim < rank:
        raise ShapeError(f"{name} needs a Var with {rank} axes or more", f"shape {x.shape}", "x.tensor_split(...)")
    one = not isinstance(parts, (list, tuple)) and getattr(parts, "ndim", 0) == 0
    if one and (whole(name, "indices_or_sections", parts) < 1 or x.shape[at] % parts):
        raise ShapeError(f"{name} makes equal parts of axis {at}", f"{parts} parts of {x.shape[at]}", "tensor_split")
    return tensor_split(x, parts, at)


@var_function(template)
def unbind(x: Any, dim: Any = 0) -> tuple[Var, ...]:
    """The slices along an axis (0 by default), each without that axis.

    Example:
        >>> [r.tolist() for r in unbind(array([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    v = as_var(x)
    at = axis_of("unbind", dim, v.ndim)
    rest = v.shape[:at] + v.shape[at + 1 :]
    return tuple(reshape(piece(v, at, k, k + 1), rest) for k in range(v.shape[at]))


array_split, unstack = tensor_split, unbind
