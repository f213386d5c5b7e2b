"""Strides: where do the numbers of a Var lie, as far as that can be seen?

    x.to(memory_format=jt.channels_last)           the same numbers and the same shape, with the channels side by side
    x.stride()                                     how far neighbours lie apart, along each axis
    x.is_contiguous(memory_format=...)             whether they lie so

A Var that is stored lies in row-major order from the beginning of its memory to the end, or as its memory format says
(`variable/memory_format.py`); a view that is not stored lies nowhere, and is read through its index.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import same, short
from jt_edu.ops.arguments import axis_of
from jt_edu.ops.var_function import var_function
from jt_edu.variable.memory_format import FORMATS, MemoryFormat, contiguous_format, format_of, lies_so, preserve_format
from jt_edu.variable.var import Var, method


def check_format(function: str, wanted: Any, rank: int) -> MemoryFormat:
    """A memory format that fits this many axes.

    Raises:
        ArgumentError: it is none, or one of images for another number of axes.
    """
    if not isinstance(wanted, MemoryFormat):
        raise ArgumentError(f"{function} takes a memory format", short(wanted), "jt.channels_last")
    if wanted.rank not in (0, rank):
        raise ArgumentError(f"{wanted!r} is an order of {wanted.rank} axes", f"a Var of {rank} axes")
    return wanted


@var_function()
def stride(x: Var, dim: int | None = None) -> Any:
    """How many elements lie between neighbours along each axis, where the numbers can be seen.

    Example:
        >>> ones((2, 3, 4)).stride(), ones((2, 3, 4)).T.stride(0)
        ((12, 4, 1), 6)
        >>> ones((2, 3, 4, 5)).to(memory_format=jt.channels_last).stride()
        (60, 1, 15, 3)
    """
    steps = format_of(x.node).strides(x.shape)
    return steps if dim is None else steps[axis_of("stride", dim, x.ndim)]


@method
def is_contiguous(x: Var, memory_format: MemoryFormat = contiguous_format) -> bool:
    """Whether the elements lie without gaps in row-major order, or in the order of a memory format.

    Example:
        >>> ones((2, 3)).T.is_contiguous()
        True
        >>> x = ones((2, 3, 4, 5)).to(memory_format=jt.channels_last)
        >>> x.is_contiguous(), x.is_contiguous(memory_format=jt.channels_last)
        (False, True)
    """
    if not isinstance(memory_format, MemoryFormat):
        raise ArgumentError("is_contiguous takes a memory format", short(memory_format), "jt.channels_last")
    if memory_format.rank not in (0, x.ndim):
        return False
    empty = x.size == 0 and not memory_format.rank  # nothing lies in every order, says PyTorch too
    return empty or lies_so(x.shape, stride(x), memory_format.order(x.ndim))


@method
def contiguous(x: Var, memory_format: MemoryFormat = contiguous_format) -> Var:
    """The same numbers, in row-major order or in that of a memory format: x itself if they lie so.

    Nothing is copied for it inside a graph; what leaves it (`numpy()`) is written in that order.

    Raises:
        ArgumentError: no memory format, or one for another number of axes.

    Example:
        >>> x = ones((2, 3)); x.contiguous() is x
        True
        >>> ones((1, 2, 2, 2)).contiguous(memory_format=jt.channels_last).numpy().strides
        (32, 4, 16, 8)
    """
    wanted = check_format("contiguous", memory_format, x.ndim)
    return x if is_contiguous(x, wanted) else in_memory_format(x, wanted)


def in_memory_format(x: Var, wanted: MemoryFormat) -> Var:
    """x with a format that was checked; x itself if it has it."""
    if wanted is preserve_format or format_of(x.node) is wanted:
        return x
    node = same(wanted.name, x.node)
    FORMATS[node] = wanted
    return Var._of(node)


@method
def storage_offset(x: Var) -> int:  # noqa: ARG001 - a method
    """Where x begins in its memory: at element 0, since a Var counts from its own first element.

    Example:
        >>> arange(5)[2:].storage_offset()
        0
    """
    return 0
