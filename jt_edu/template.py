"""Template: the same function of the same kinds of Vars builds the same nodes; build them once, then copy them.

    @template
    def softmax(x, dim=-1): ...        Python checks, looks up, wraps: 2 to 3 µs a node

    the first call for a kind       runs the function, and notes down the nodes between its inputs and its answer
    every other call                makes those nodes again, with these inputs: 0.5 µs a node

The graph that comes out is the one that the function would have built. What cannot be copied (random numbers, a
gradient of one's own, a Var from elsewhere) is seen at the first call, and then the function always runs. What cannot
be seen is a function's own affair: it must not read flags, modules or what else may change between two calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from jt_edu.functions import BITS
from jt_edu.graph import Node, inputs_first, made, origin
from jt_edu.meta import CONSTANT
from jt_edu.settings import Context, current
from jt_edu.var import Var

Function = TypeVar("Function", bound=Callable[..., Any])
Row = tuple[Any, tuple[int, ...], Any, Any, Any, bool]  # op, places of the inputs, shape, dtype, data, tracked
KINDS = 4096  # how many are remembered for each function
NEW: Any = object()  # no such call yet
NEVER: Any = object()  # no copy: the function runs


@dataclass(frozen=True)
class Template:
    """Nodes to be made behind the given ones: place k is input k, or the row k - inputs."""

    rows: tuple[Row, ...]
    answers: tuple[int, ...]
    one: bool  # the answer is a Var, not a tuple of them


def template(function: Function) -> Function:
    """Copy what `function` built for the same kinds of arguments before; its graph may depend on nothing else.

    Example:
        >>> @template
        ... def half(x):
        ...     print("built")
        ...     return x / 2
        >>> half(Var([2.0])).item(), half(Var([4.0])).item()
        built
        (1.0, 2.0)
    """
    known: dict[Any, Any] = {}  # a Template, or NEVER

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        context = current()
        if context.capture is not None or not context.flags.lazy_execution:
            return function(*args, **named)
        inputs: list[Node] = []
        kind = (context.no_grad, *named, *_kinds((*args, *named.values()), inputs))
        try:
            found = known.get(kind, NEW)
        except TypeError:  # an argument that cannot be looked up, such as a list
            found = NEVER
        if found is NEVER:
            return function(*args, **named)
        if found is not NEW:
            return _copied(found, inputs, context)
        begin = next(context.ids)
        answer = function(*args, **named)
        if len(known) < KINDS:
            known[kind] = _written_down(answer, inputs, begin)
        return answer

    return call  # type: ignore[return-value]


def _kinds(arguments: tuple[Any, ...], inputs: list[Node]) -> tuple[Any, ...]:
    """What arguments of copies of one graph agree in. Nodes of Vars, also those in tuples, are added to `inputs`.

    A node's first place there tells one Var given twice from two Vars.
    """
    kinds: list[Any] = []
    for a in arguments:
        if isinstance(a, Var):
            node = a._node
            inputs.append(node)
            kinds.append((node.shape, node.dtype, node.tracked, node.op is CONSTANT, inputs.index(node)))
        elif type(a) is tuple:
            kinds.append(_kinds(a, inputs))
        else:
            kinds.append((type(a), a.hex() if isinstance(a, float) else a))  # 0.0 and -0.0 are equal, not the same
    return tuple(kinds)


def _written_down(answer: Any, inputs: list[Node], begin: int) -> Any:
    """The Template of the nodes between the inputs and the answer; NEVER where they cannot be copied."""
    results = [answer] if isinstance(answer, Var) else answer
    if not isinstance(results, (tuple, list)) or not all(isinstance(r, Var) for r in results):
        return NEVER
    place = {n: k for k, n in reversed(list(enumerate(inputs)))}
    between = [n for n in inputs_first([r.node for r in results], place) if n not in place]
    if any(n.id < begin or n.tape is not None or n.op is BITS or n.name for n in between):
        return NEVER
    if any(n.data is not None and n.op is not CONSTANT for n in between) or any(r.node in place for r in results):
        return NEVER
    for k, node in enumerate(between):
        place[node] = len(inputs) + k
    rows = [(n.op, tuple(place[i] for i in n.inputs), n.shape, n.dtype, n.data, n.tracked) for n in between]
    return Template(tuple(rows), tuple(place[r.node] for r in results), isinstance(answer, Var))


def _copied(found: Template, inputs: list[Node], context: Context) -> Any:
    """The same nodes behind these inputs."""
    nodes = inputs.copy()
    here, read = origin(context), nodes.__getitem__
    for op, places, shape, dtype, data, tracked in found.rows:
        nodes.append(made(context, here, op, tuple(map(read, places)), shape, dtype, data, tracked))
    if found.one:
        return Var._of(nodes[found.answers[0]])
    return tuple([Var._of(nodes[k]) for k in found.answers])
