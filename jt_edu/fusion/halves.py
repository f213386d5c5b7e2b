"""Halves: which of a half and the float32 that it is computed with is kept from the forward to the backward pass?

    conv2d (float32) -> h (bfloat16) -> cast -> batch norm, and its gradient

The half: it is half as large, and a cast costs next to nothing. So a half that several kernels read is stored, though
the float32 that it was made of is there; and a cast that a gradient makes for itself waits for the gradient.
"""

from __future__ import annotations

from collections.abc import Iterable

from jt_edu.base.dtypes import float32
from jt_edu.fusion.loop_fusion import Anchor, Kernel
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import cast_to


def widens(node: Node) -> bool:
    """Whether it is a half as float32.

    Example:
        >>> widens(ones(2, dtype="float16").float().node)
        True
    """
    before = node.inputs[0].dtype if len(node.inputs) == 1 else float32
    return before.is_half and node.op is cast_to(float32, before)


def narrower(node: Node, arrays: Iterable[Node]) -> bool:
    """Whether a half is made of wider arrays that are stored for nothing but that.

    Example:
        >>> narrower(ones(2).half().node, [(ones(2) * 2).node])
        True
    """
    wide = [a for a in arrays if a.data is None and a.dtype is float32 and a.shape == node.shape]
    return node.dtype.is_half and bool(wide)


def waits(anchor: Anchor, kernel: Kernel) -> bool:
    """Whether an anchor is a cast that a gradient makes for itself, and the kernel is none of a gradient."""
    return anchor.node.twin is not None and widens(anchor.node) and any(a.node.twin is None for a in kernel.anchors)
