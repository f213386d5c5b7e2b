"""Memory format: in which order do the numbers of an image lie, where they can be seen?

    contiguous_format    (n, c, h, w)    the places of one channel lie beside each other
    channels_last        (n, h, w, c)    the channels of one place do; channels_last_3d is (n, d, h, w, c)

The axes keep their names and their order, so a format is never seen in a shape: it is seen in `x.stride()`, and in the
strides of `x.numpy()`. It says how numbers lie where they leave jt_edu. Inside of a graph there is nothing to lie: a
plan stores what it needs in the order that its kernels read fastest, whatever the formats are, and tells of copies.

What is computed from a Var keeps its format, by PyTorch's rules: elementwise work has that of its first operand of full
size; a convolution is channels_last if its image or its weights are; windows (pooling) have that of their image; other
sums, products of matrices and views are contiguous. As long as nobody asks for a format, nobody looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.expression import pitches
from jt_edu.ir.meta_ops import CONSTANT, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import MULTIPLY

__all__ = ["channels_last", "channels_last_3d", "contiguous_format", "preserve_format"]
DEEP = 64  # nodes without a Var between a value and what its format follows from


@dataclass(frozen=True)
class MemoryFormat:
    """An order of the axes in memory, for arrays of `rank` axes (0: of any)."""

    name: str
    rank: int = 0

    def order(self, rank: int) -> tuple[int, ...]:
        """The axes from the outermost to the innermost."""
        return (0, *range(2, rank), 1) if self.rank else tuple(range(rank))

    def strides(self, shape: Shape) -> tuple[int, ...]:
        """How many elements lie between neighbours along each axis."""
        order = self.order(len(shape))
        steps = dict(zip(order, pitches(tuple(max(shape[k], 1) for k in order)), strict=True))
        return tuple(steps[k] for k in range(len(shape)))

    def __repr__(self) -> str:
        return f"jt.{self.name}"


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last", 4)
channels_last_3d = MemoryFormat("channels_last_3d", 5)

_LAST = {4: channels_last, 5: channels_last_3d}
FORMATS: WeakKeyDictionary[Node, MemoryFormat] = WeakKeyDictionary()  # of values with 4 or 5 axes; empty if unused


def format_of(node: Node) -> MemoryFormat:
    """The format of a value."""
    return FORMATS.get(node, contiguous_format)


def inherit(node: Node) -> None:
    """Note down the format of a value that somebody holds from now on, if it may have one."""
    if len(node.shape) in _LAST and node not in FORMATS:
        found = _followed(node, len(node.shape), {}, node)
        FORMATS[node] = contiguous_format if found is None else found


def follow(node: Node, model: Node) -> Node:
    """`node`, which has the numbers of `model`, in its format."""
    if model in FORMATS:
        FORMATS[node] = FORMATS[model]
    return node


def in_format(node: Node) -> Any:
    """The array of a value; if its format is another one than that of its memory, a copy."""
    found = FORMATS.get(node, contiguous_format)
    if not found.rank:
        return node.data
    order = found.order(len(node.shape))
    return np.ascontiguousarray(np.asarray(node.data).transpose(order)).transpose(np.argsort(order))


def lies_so(shape: Shape, strides: tuple[int, ...], order: tuple[int, ...]) -> bool:
    """Whether elements lie behind each other without gaps when the axes are walked in this order."""
    expected = 1
    for k in reversed(order):
        if shape[k] != 1:
            if strides[k] != expected:
                return False
            expected *= shape[k]
    return True


Known = dict[Node, MemoryFormat | None]


def _followed(node: Node, rank: int, known: Known, asked: Node) -> MemoryFormat | None:
    """The format that follows from what a node reads; None where any would do."""
    if node in known:
        return known[node]
    if node is not asked and node in FORMATS:
        return FORMATS[node]
    if len(known) > DEEP:
        return contiguous_format
    known[node] = None
    known[node] = _leaf(node, rank) if node.data is not None or not node.inputs else _computed(node, rank, known, asked)
    return known[node]


def _leaf(node: Node, rank: int) -> MemoryFormat | None:
    """Arrays are contiguous; vectors, numbers and counters have nothing to say."""
    says = node.data is not None and len(node.shape) == rank and node.op is not CONSTANT
    return contiguous_format if says else None


def _computed(node: Node, rank: int, known: Known, asked: Node) -> MemoryFormat | None:
    op, source = node.op, node.inputs[0]
    if isinstance(op, ReindexReduce) and source.op is MULTIPLY and source.data is None:
        found = convolution(node)
        sides = () if found is None else found.sides
        formats = [_followed(side, len(side.shape), known, asked) for side in sides]
        return _LAST[rank] if any(f is not None and f.rank for f in formats) else contiguous_format
    if isinstance(op, ReindexReduce):
        windows = isinstance(source.op, Reindex) and len(source.shape) > len(node.shape)
        return _followed(source, rank, known, asked) if windows else contiguous_format
    if isinstance(op, Reindex) and not _keeps(op, node, source):
        wider = math.prod(node.shape) > math.prod(source.shape)
        return None if wider and not op.guards else contiguous_format
    answers = (_followed(i, rank, known, asked) for i in node.inputs)
    first = next((a for a in answers if a is not None), None)
    return _LAST[rank] if first is not None and first.rank else first


def _keeps(op: Reindex, node: Node, source: Node) -> bool:
    """Whether a view has the format of what it looks at: the same axes, with a border, as windows, or groups joined."""
    if op.flat:
        return node.shape == source.shape or (len(source.shape), node.shape[2:]) == (
            len(node.shape) + 1, source.shape[3:],
        )  # fmt: skip
    return bool(op.guards) or len(node.shape) > len(source.shape)
