"""Index bounds: do index arrays point inside what they are read for?

    there already    looked at when the node that reads them is built: the error is raised at the learner's line
    pending          looked at before the kernel that reads them runs (execute.py); if they point outside, a Var that
                     was changed to what depends on them is what it was before

Nothing here computes anything.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from jt_edu.ir.index_check import Limits, check_numbers, limits
from jt_edu.ir.meta_ops import Elementwise, Reindex
from jt_edu.ir.node import Node
from jt_edu.runtime import execute


def check_there(node: Node) -> Node:
    """Raise if an index array of a node that is being built is there already, and points outside; else the node."""
    for k, wanted in limits(node):
        check_found(node.inputs[k], wanted, node)
    return node


def check_found(array: Node, wanted: Limits, who: Node) -> None:
    """Raise in the name of `who` if the whole numbers of a node are there, and are not within the limits."""
    found = looked_into(array)
    if found.data is not None and found.dtype.kind in "iu":
        check_numbers(np.asarray(found.data), wanted, who)


def looked_into(node: Node, stop: Container[Node] = ()) -> Node:
    """Where the numbers of `node` come from: the same array under another shape, or in another whole dtype."""
    found = node
    while found.data is None and found not in stop and type(found.behind) is tuple and _keeps_numbers(found):
        found = found.behind[0]
    return found


def _keeps_numbers(node: Node) -> bool:
    op = node.op
    if isinstance(op, Elementwise):
        return op.name.startswith("cast_") and node.dtype.kind in "iu" and node.behind[0].dtype.kind in "iu"
    return isinstance(op, Reindex) and not op.within and (op.flat or op.name == "broadcast") and 0 not in node.shape


def put_back(order: Sequence[Node], failed: Node) -> None:
    """Let Vars that were changed to what depends on `failed`, which can never be computed, be what they were before.

    That is as far as somebody still holds what was there before: the graph of the change, if it reads it.
    """
    lost = {failed}
    for node in order:
        if node.data is None and lost.intersection(node.behind):
            lost.add(node)
    for owner in [node.owner() for node in lost if node.owner is not None]:
        if owner is not None:
            _undo(owner, lost)


def _undo(var: Any, lost: Container[Node]) -> None:
    """Undo the changes of a Var that led to lost nodes, the last one first."""
    change, name = var._change, var.name
    while change and var.node in lost and change[0]() is var.node and change[1]():
        var.node, change = change[1](), change[2]
    var._change, var.name = change, var.name or name


execute.failed = put_back
