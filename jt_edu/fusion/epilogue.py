"""Epilogue: what may be done to the sums of a convolution while it writes them?

tail           elementwise work on each sum: bias, batch norm's formula, activation, what is added
tail sums      sums over what was written, such as batch norm's: while it is still in the cache
"""

from __future__ import annotations

import math

from jt_edu.fusion.loop_fusion import Anchor, Kernel, Stage
from jt_edu.ir.conv_pattern import Convolution
from jt_edu.ir.expression import Place, Term
from jt_edu.ir.index_expr import Index, counter, counters, counters_of
from jt_edu.ir.meta_ops import ReindexReduce
from jt_edu.ir.node import Node, Shape

SHORT = 64  # places of one channel of an image: to add up fewer, the calls cost more than to read them again


def join_tail(kernel: Kernel, anchor: Anchor) -> bool:
    """Tail: elementwise work that reads each sum of a convolution once, where it stands, and takes its place."""
    sums = kernel.anchors[0]
    found = sums.contraction
    if not isinstance(found, Convolution) or found.sizes.kind != "forward" or len(kernel.anchors) > 1:
        return False
    if anchor.reduces or anchor.node.dtype != sums.node.dtype or not _follows(anchor, sums.node, found):
        return False
    anchor.axes = kernel.new_loops(anchor.loops)
    kernel.stages.append(Stage(anchor.axes, [anchor]))
    return True


def join_tail_sums(kernel: Kernel, anchor: Anchor) -> bool:
    """Tail sums: for each channel, a sum over what the convolution has written of all images.

    Only sums in a wider format: then it does not matter that subtotals are added up first.
    """
    found, op = kernel.anchors[0].contraction, anchor.node.op
    if not isinstance(found, Convolution) or found.sizes.kind != "forward" or not isinstance(op, ReindexReduce):
        return False
    written = kernel.written
    wide = op.reducer == "add" and (anchor.node.dtype, written.dtype) == ("float64", "float32")
    if not wide or anchor.kept != (1,) or math.prod(found.sizes.places) < SHORT:
        return False
    if not _follows(anchor, written, found):
        return False
    stage = kernel.stages[-1]
    anchor.axes = stage.loops or kernel.new_loops(anchor.loops)
    if stage.anchors[0].term is not None and stage.anchors[0].reduces:
        stage.anchors.append(anchor)
    else:
        kernel.stages.append(Stage(anchor.axes, [anchor]))
    return True


def _follows(anchor: Anchor, written: Node, found: Convolution) -> bool:
    """Whether the anchor reads each number that a convolution has written where it stands, once."""
    sizes, loops = found.sizes, anchor.loops
    if anchor.term is None or len(loops) < 3 or loops != (sizes.n, sizes.o, *sizes.places[5 - len(loops) :]):
        return False
    here, flat = counters(len(loops)), frozenset(range(2, len(loops)))
    for t in anchor.parts:
        if t.node is written and (t.guard is not None or _long(t.where, t.view) != _long(here, loops)):
            return False
        if t.kind in ("fill", "counter") or (t.kind == "load" and not _walks_flat(t, flat, loops)):
            return False
    return any(t.node is written for t in anchor.loads)


def _long(where: Place, shape: Shape) -> list[Index]:
    """The index on axes that are longer than 1: on others it is always 0."""
    return [w for w, length in zip(where, shape, strict=True) if length > 1]


def _walks_flat(t: Term, flat: frozenset[int], loops: Shape) -> bool:
    """Whether a load uses no counter of the places, or all of them in order: then they can be one."""
    used = frozenset().union(*map(counters_of, t.where)) & flat
    tail = tuple(counter(k) for k in sorted(flat))
    rest = frozenset().union(*map(counters_of, t.where[: -len(tail)])) & flat
    whole = t.where[-len(tail) :] == tail and t.view[-len(tail) :] == loops[2:]
    return t.guard is None and (not used or (whole and not rest))
