"""Graph inputs: which nodes only make what goes into a graph, and what are arrays called that the learner gave no name?

    x = jt.randn(4, 1, 8, 8)         index, cast, random_bits, normal, reshape: together they are "x", random numbers
    x = jt.array(image) / 255        in front of a model: "x", data
    net.bn1.running_mean             never computed yet: constants

A learner asks what a model does with its input, so a view shows each of these in one box. The nodes in it are read
inside it, all but the last one, so boxes never wait for each other in a circle. What one call makes for itself, as
a loss that compares labels, is no input.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from jt_edu.ir.meta_ops import CONSTANT, Elementwise, Reindex
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import ADD, BITS, DIVIDE, MULTIPLY, NEGATIVE, SUBTRACT

RANDOM, NUMBERS, DATA = "random numbers", "constants", "data"
SCALES = (ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE)


def makers(order: Sequence[Node], wanted: Collection[int], names: Mapping[int, str]) -> dict[int, int]:
    """For each node that only makes an input, the last one of those that make the same.

    Args:
        order: the graph, inputs first.
        wanted: the ids of what was asked for, which is never an input only.
        names: what nodes are called; a parameter has a name with dots.
    """
    model = any(n.scope is not None for n in order if n.data is None)
    simple = _simple(order, names, prepared=model)
    readers: dict[int, list[Node]] = {n.id: [] for n in order}
    for n in order:
        for i in dict.fromkeys(n.inputs if n.data is None else ()):
            readers[i.id].append(n)
    last: dict[int, int] = {}
    where = {n.id: n.where for n in order}
    for n in reversed(order):
        ends = {last.get(reader.id) for reader in readers[n.id]}
        end = ends.pop() if len(ends) == 1 and n.id not in wanted else None
        if n.id in simple and end is not None and (model or n.where == where[end]):
            last[n.id] = end
        elif n.id in simple and n.data is None and all(reader.where != n.where for reader in readers[n.id]):
            last[n.id] = n.id
    return {i: end for i, end in last.items() if end not in wanted}


def _simple(order: Sequence[Node], names: Mapping[int, str], *, prepared: bool) -> set[int]:
    """Nodes that no module built and that one call makes of numbers alone.

    If `prepared`, several calls may, and of one array, too, but only by moving, casting and scaling: what else the
    learner computes is shown.
    """
    nothing: set[int] = set()
    data: set[int] = set()
    for n in order:
        read = [i for i in n.inputs if i.op is not CONSTANT] if n.data is None else []
        outside = n.scope is None and n.twin is None
        if n.data is not None:
            data.update([n.id] if prepared and n.op is not CONSTANT and "." not in names.get(n.id, "") else [])
        elif outside and all(i.id in nothing and (i.where == n.where or _prepares(n, prepared)) for i in read):
            nothing.add(n.id)
        elif outside and _prepares(n, prepared):
            others = [i.id for i in read if i.id not in nothing]
            data.update([n.id] if len(others) == 1 and others[0] in data else [])
    return nothing | data


def _prepares(n: Node, prepared: bool) -> bool:
    """Whether a node moves, casts or scales what it reads, in front of a model."""
    scales = n.op in SCALES or (isinstance(n.op, Elementwise) and n.op.name.startswith("cast_"))
    return prepared and (scales or isinstance(n.op, Reindex))


def made_of(nodes: Sequence[Node]) -> str:
    """What an input is made of, in words, from all nodes that make it."""
    read = [i for n in nodes for i in (n.inputs if n.data is None else (n,))]
    if any(i.data is not None and i.op is not CONSTANT for i in read):
        return DATA
    return RANDOM if any(n.op is BITS for n in nodes) else NUMBERS


def named(order: Sequence[Node], names: Mapping[int, str]) -> dict[int, str]:
    """What nodes are called: by the learner, else by the module that holds them, as in `Net.body.2.weight`."""
    found: dict[int, str] = {}
    for scope in dict.fromkeys(n.scope for n in order if n.scope is not None):
        found.update(scope.names())
    return {**found, **names}
