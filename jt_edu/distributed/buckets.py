"""Buckets: which gradients travel together.

    parameters                      a     b     c     d     e      in the order of the module
    gradients are there             e     d     c     b     a      roughly: the last layer's come first
    buckets, first come first sent  [e]   [d    c     b]   [a]     the first is small, so that it leaves early

A bucket is closed when it holds as many bytes as its limit, or more; all of it has one dtype. Many small messages pay
the latency of each; one large message could leave only when the last gradient is there. Hence the limits in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jt_edu.base.dtypes import DType
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.plural import plural
from jt_edu.ir.node import Shape
from jt_edu.variable.var import Var

FIRST = 1 << 20  # bytes of the first bucket


def assigned(sizes: Sequence[tuple[int, Any]], limits: Sequence[int]) -> list[list[int]]:
    """Which of some arrays stand together in a bucket, by number.

    Args:
        sizes: (bytes, dtype) of each array, in the order in which they come.
        limits: bytes from which on the first, second, ... bucket of a dtype is closed; the last one holds for the rest.

    Example:
        >>> assigned([(4, "f4"), (4, "f4"), (4, "f4"), (8, "f8")], [4, 8])
        [[0], [1, 2], [3]]

    Source: Li et al. 2020, "PyTorch Distributed" (arXiv:2006.15704), section 3.2.
    """
    open_ones: dict[Any, tuple[list[int], int]] = {}
    closed: list[list[int]] = []
    how_many: dict[Any, int] = {}
    for number, (size, dtype) in enumerate(sizes):
        bucket, filled = open_ones.get(dtype, ([], 0))
        bucket.append(number)
        filled += size
        open_ones[dtype] = (bucket, filled)
        if filled >= limits[min(how_many.get(dtype, 0), len(limits) - 1)]:
            closed.append(bucket)
            how_many[dtype] = how_many.get(dtype, 0) + 1
            del open_ones[dtype]
    return sorted([*closed, *(bucket for bucket, _ in open_ones.values())], key=min)


class GradBucket:
    """What a communication hook is given: gradients of some parameters, one behind the other in one flat Var.

    Args:
        index: its number, from 0: in the order in which buckets are sent.
        last: whether it is the last of this backward pass.
        parameters: whose gradients these are.
        buffer: the gradients of this rank.

    Example:
        >>> bucket = GradBucket(0, True, [jt.zeros(2, 1), jt.zeros(1)], jt.array([1.0, 2.0, 3.0]))
        >>> bucket.index(), bucket.is_last(), [g.tolist() for g in bucket.gradients()]
        (0, True, [[[1.0], [2.0]], [3.0]])
    """

    def __init__(self, index: int, last: bool, parameters: Sequence[Var], buffer: Var) -> None:
        self._index, self._last, self._parameters, self._buffer = index, last, list(parameters), buffer

    def index(self) -> int:
        """Its number, from 0."""
        return self._index

    get_index = index

    def is_last(self) -> bool:
        """Whether it is the last of this backward pass."""
        return self._last

    is_the_last_bucket_to_allreduce = is_last

    def parameters(self) -> list[Var]:
        """Whose gradients these are."""
        return list(self._parameters)

    def buffer(self) -> Var:
        """All gradients of this rank, flat: not divided by anything yet."""
        return self._buffer

    def set_buffer(self, buffer: Var) -> None:
        """Put other numbers in the place of `buffer()`, as many of them.

        Raises:
            ShapeError: another shape.
        """
        if not isinstance(buffer, Var):
            raise ArgumentError("set_buffer takes a Var", type(buffer).__name__)
        if buffer.shape != self._buffer.shape:
            raise ShapeError("set_buffer keeps the shape", f"{buffer.shape} for {self._buffer.shape}")
        self._buffer = buffer

    def gradients(self) -> list[Var]:
        """The gradient of each parameter, in its shape."""
        return cut(self._buffer, [p.shape for p in self._parameters])

    get_per_parameter_tensors = gradients

    def get_tensors(self) -> list[Var]:
        """[buffer()]: as PyTorch 1.8 asks for it, with an entry for each device of this rank."""
        return [self._buffer]

    def __repr__(self) -> str:
        counts = f"{plural(len(self._parameters), 'parameter')}, {plural(self._buffer.size, 'number')}"
        return f"GradBucket({self._index}, {counts})"


def cut(flat: Var, shapes: Sequence[Shape]) -> list[Var]:
    """Pieces of a flat Var, in shapes of their own.

    Example:
        >>> [v.shape for v in cut(jt.arange(5), [(2, 2), ()])]
        [(2, 2), ()]
    """
    found, start = [], 0
    for shape in shapes:
        size = size_of(shape)
        found.append(flat[start : start + size].reshape(shape))
        start += size
    return found


def size_of(shape: Shape) -> int:
    """How many numbers a shape has.

    Example:
        >>> size_of((2, 3))
        6
    """
    size = 1
    for n in shape:
        size *= n
    return size


def layout(params: Sequence[Var], order: Sequence[int], cap: int) -> list[list[int]]:
    """The buckets of parameters whose gradients come in `order`: the first of FIRST bytes at most, or of the cap.

    Example:
        >>> layout([jt.zeros(3), jt.zeros(3, dtype="float64"), jt.zeros(5)], [2, 1, 0], 1 << 20)
        [[2, 0], [1]]
    """
    sizes: list[tuple[int, DType]] = [(params[k].size * params[k].dtype.size, params[k].dtype) for k in order]
    return [[order[n] for n in bucket] for bucket in assigned(sizes, [min(FIRST, cap), cap])]
