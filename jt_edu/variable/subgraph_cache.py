"""Subgraph cache: the same function of the same kinds of Vars builds the same nodes; build them once, then copy them.

    @template
    def softmax(x, dim=-1): ...        Python checks, looks up, wraps: 2 to 3 µs a node

    the first call for a kind       runs the function, and notes down the nodes between its inputs and its answer
    every other call                makes those nodes again, with these inputs: 0.5 µs a node
    where nothing must be checked   makes the last one only, and the others when somebody looks behind it, as a gradient
                                    does: a graph that was run before is run again with its copies folded

The graph that comes out is the one that the function would have built. What cannot be copied (random numbers, a
gradient of one's own, a Var from elsewhere, or one that stands for a number) is seen at the first call, and then the
function always runs. So it does for arguments that may say something else next time: lists, and objects of strangers.
What cannot be seen is a function's own affair: it must not read flags, modules or what else may change between calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from jt_edu.base.context import Context, current
from jt_edu.ir.index_check import Limits, limits
from jt_edu.ir.meta_ops import CONSTANT, Counter, Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Origin, inputs_first, made, origin
from jt_edu.ir.scalar_ops import BITS
from jt_edu.runtime.execute import STILL
from jt_edu.variable.index_bounds import check_found, looked_into
from jt_edu.variable.var import Var

Function = TypeVar("Function", bound=Callable[..., Any])
Row = tuple[Any, tuple[int, ...], Any, Any, Any, bool]  # op, places of the inputs, shape, dtype, data, tracked
KINDS = 4096  # how many are remembered for each function
WHOLE = {bool, int, str}  # types whose values are the same if they are equal
NEW: Any = object()  # no such call yet
NEVER: Any = object()  # no copy: the function runs


@dataclass(frozen=True, eq=False)
class Template:
    """Nodes to be made behind the given ones: place k is input k, or the row k - inputs."""

    rows: tuple[Row, ...]
    answers: tuple[int, ...]
    one: bool  # the answer is a Var, not a tuple of them
    folds: bool  # the last node can stand for all of them
    looks: tuple[tuple[int, Limits, int], ...] = ()  # place of an index array, what it must hold, place of who looks
    seen: list[Any] = field(default_factory=list)  # the arrays that were looked into last: weak references
    kind = "template"  # where it stands instead of an operator


class Folded:
    """What stands behind the last node of a copy until somebody looks there; to be run again, nobody needs to.

    `numbers` are those of the nodes that are not there yet. No trace is told of them.
    """

    __slots__ = ("ids", "inputs", "numbers", "template")
    traces = ()

    def __init__(self, template: Template, inputs: list[Node], numbers: tuple[int, ...]) -> None:
        self.template, self.inputs, self.numbers = template, inputs, numbers

    def __iter__(self) -> Iterator[Node]:
        """What the copy was made from."""
        return iter(self.inputs)

    def unfold(self, node: Node) -> tuple[Node, ...]:
        """Make them, as if they had been made together with `node`. The inputs of the node."""
        with STILL:
            if node.behind is self:  # else another thread was here first
                self.ids = iter(self.numbers)  # anew, where an interrupt ended an earlier look
                nodes = _made(self.template.rows[:-1], self.inputs, (node.where, node.scope, node.twin), self)
                node.behind = tuple([nodes[k] for k in self.template.rows[-1][1]])
            return node.inputs


def maker_of(node: Node) -> Any:
    """The operator that makes a node, or the template that stands for all of a copy."""
    return node.op if type(node.behind) is tuple else node.behind.template


def template(function: Function) -> Function:
    """Copy what `function` built for the same kinds of arguments before; its graph may depend on nothing else.

    Example:
        >>> half = template(lambda x: print("built") or x / 2)
        >>> half(Var([2.0])).item(), half(Var([4.0])).item()
        built
        (1.0, 2.0)
    """
    known: dict[Any, Any] = {}  # a Template, or NEVER

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        context = current()
        moment = context.threads.now
        region = moment.autocast
        if region is not None and call.casts:  # type: ignore[attr-defined]
            return region.run(call.casts, call, args, named)  # type: ignore[attr-defined]
        if moment.capture is not None or not context.flags.lazy_execution:
            return function(*args, **named)
        inputs: list[Node] = []
        kinds: list[Any] = [moment.no_grad, region and region.key, *named]
        _add_kinds(kinds, (*args, *named.values()) if named else args, inputs)
        kind = tuple(kinds)
        try:
            found = known.get(kind, NEW)
        except TypeError:  # an argument that cannot be looked up, such as a list
            found = NEVER
        if found is NEVER:
            return function(*args, **named)
        if found is not NEW:
            return _copied(found, inputs, context)
        begin, decided = next(context.ids), region and region.decided
        answer = function(*args, **named)
        cast = region is not None and region.decided != decided  # that is told, and kept, each time
        _remember(known, kind, NEVER if cast else _written_down(answer, inputs, begin))
        return answer

    call.casts, call.asks = "", call  # type: ignore[attr-defined]  # as asks_itself() in autocast.py
    return call  # type: ignore[return-value]


def _remember(known: dict[Any, Any], kind: Any, found: Any) -> None:
    if len(known) >= KINDS:
        known.clear()
    known[kind] = found


def _add_kinds(kinds: list[Any], arguments: Collection[Any], inputs: list[Node]) -> None:
    """What arguments of copies of one graph agree in. Nodes of Vars, also those in tuples, are added to `inputs`.

    A node's first place there tells one Var given twice from two Vars. One flat list: it is hashed in each call.
    """
    for a in arguments:
        if isinstance(a, Var):
            node = a._node
            inputs.append(node)
            kinds += (node.shape, node.dtype, node.tracked, node.op is CONSTANT, inputs.index(node))
        elif type(a) is tuple:
            types = tuple(map(type, a))
            if WHOLE.issuperset(types):  # strides, axes and the like, all at once
                kinds += (types, a)
            else:
                kinds += (tuple, len(a))
                _add_kinds(kinds, a, inputs)
        else:
            kind: Any = type(a)
            kinds += (kind, a if kind in WHOLE else exactly(a))
            if _may_change(kind):
                kinds.append([])  # a list cannot be looked up


@functools.cache
def _may_change(kind: type) -> bool:
    """Whether an object may say another number, or hold other Vars, the next time that it is asked."""
    words = ("__index__", "__float__", "__array__", "__iter__")
    return not issubclass(kind, (int, float, complex, str, np.generic)) and any(hasattr(kind, w) for w in words)


def exactly(value: Any) -> Any:
    """What is equal only for the same value: 0.0 and -0.0 are equal, and nan is not."""
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, complex):
        return value.real.hex(), value.imag.hex()
    return value.hex() if isinstance(value, float) else value


def _written_down(answer: Any, inputs: list[Node], begin: int) -> Any:
    """The Template of the nodes between the inputs and the answer; NEVER where they cannot be copied."""
    results = (answer,) if isinstance(answer, Var) else answer
    if type(results) is not tuple or not all(isinstance(r, Var) for r in results):
        return NEVER
    place = {n: k for k, n in reversed(list(enumerate(inputs)))}
    between = [n for n in inputs_first([r.node for r in results], place) if n not in place]
    if any(n.id < begin or n.tape is not None or n.op is BITS or n.name for n in between):
        return NEVER
    if any(n.data is not None and n.op is not CONSTANT for n in between) or any(r.node in place for r in results):
        return NEVER
    used = {i for n in between for i in n.inputs}
    if any(n.op is CONSTANT for n in inputs) and any(n.op is CONSTANT for n in between):
        return NEVER  # one number may be a cast of the other
    if not used.issuperset(inputs):  # a Var that stands for a number: the function looked at it
        return NEVER
    for k, node in enumerate(between):
        place[node] = len(inputs) + k
    rows = [(n.op, tuple(place[i] for i in n.inputs), n.shape, n.dtype, n.data, n.tracked) for n in between]
    answers, one = tuple(place[r.node] for r in results), isinstance(answer, Var)
    checks = [n for n in between if not _folds(n)]
    looks = [(place[looked_into(n.inputs[k], inputs)], wanted, place[n]) for n in checks for k, wanted in limits(n)]
    folds = one and len(rows) > 1 and not checks
    return Template(tuple(rows), answers, one, folds, tuple([row for row in looks if row[0] < len(inputs)]))


def _folds(node: Node) -> bool:
    """Whether it may be left out until somebody looks: it checks nothing, such as an index."""
    op, view = node.op, isinstance(node.op, (Reindex, ReindexReduce)) and len(node.inputs) == 1
    checks = isinstance(op, Reindex) and op.within is not None
    return (view or op is CONSTANT or isinstance(op, (Elementwise, Counter))) and not checks


def _copied(found: Template, inputs: list[Node], context: Context) -> Any:
    """The same nodes behind these inputs; only the last one, if that can stand for them."""
    here = origin(context.threads.now, 2)  # the function that was called, and this one
    if found.folds and not context.traces:
        numbers = tuple(islice(context.ids, len(found.rows) - 1))
        op, _, shape, dtype, data, tracked = found.rows[-1]
        return Var._of(made(context, here, op, Folded(found, inputs, numbers), shape, dtype, data, tracked))
    nodes = _made(found.rows, inputs, here, context)
    if found.looks:
        _look_into(found, nodes)
    if found.one:
        return Var._of(nodes[found.answers[0]])
    return tuple([Var._of(nodes[k]) for k in found.answers])


def _look_into(found: Template, nodes: list[Node]) -> None:
    """Check index arrays that are there; the same ones need not be looked into again: a run will, in any case."""
    for place, array in found.seen:
        there = nodes[place].data
        if there is None or there is not array():
            break
    else:
        if found.seen:
            return
    for place, wanted, who in found.looks:
        check_found(nodes[place], wanted, nodes[who])
    try:
        found.seen[:] = [(place, ref(nodes[place].data)) for place, _, _ in found.looks]
    except TypeError:  # what is pending, and numbers, are not remembered
        found.seen.clear()


def _made(rows: Sequence[Row], inputs: list[Node], here: Origin, context: Context | Folded) -> list[Node]:
    """The inputs, and behind them a node for each row."""
    nodes = inputs.copy()
    read = nodes.__getitem__
    for op, places, shape, dtype, data, tracked in rows:
        nodes.append(made(context, here, op, tuple(map(read, places)), shape, dtype, data, tracked))
    return nodes
