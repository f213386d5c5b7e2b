"""Halves kept: what does a gradient read, where a function computed with halves in float32?

    h (bfloat16) -> cast -> conv2d (float32)        forward: the cast is stored, since a convolution reads arrays
    h (bfloat16) -> cast -> its gradient            backward: a cast of its own; so h alone is kept between the two

A cast costs next to nothing, and what is kept for a gradient is half as large.
"""

from __future__ import annotations

from jt_edu.base.dtypes import float32
from jt_edu.fusion.halves import widens
from jt_edu.ir.meta_ops import Elementwise, Reindex
from jt_edu.ir.node import Node

DEEP = 3  # operators that are sooner done twice than kept


def cast_again(node: Node, deep: int = DEEP) -> Node:
    """A pending cast of halves to float32, or what little is made of one, made anew; any other node as it is.

    Example:
        >>> wide = ones(2, dtype="float16").float()
        >>> cast_again(wide.node) is wide.node, cast_again(wide.node).inputs[0] is wide.node.inputs[0]
        (False, True)
    """
    if node.dtype is not float32 or node.data is not None or not deep or node.tape is not None:
        return node
    if widens(node):
        return Node(node.op, node.inputs, node.shape, float32)
    if not isinstance(node.op, (Elementwise, Reindex)):
        return node
    anew = tuple([cast_again(i, deep - 1) for i in node.inputs])
    return node if anew == node.inputs else Node(node.op, anew, node.shape, float32)
