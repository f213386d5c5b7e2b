"""Step cache: the second step of a loop adds the same gradients and updates to the same graph; plan them once.

    loss (a graph that the learner's lines build anew in each step)
      |  structure: the same operators, edges, shapes, and the same Vars still held? Folded as it is; and with what lies
      |  behind values that were looked at before the step, since gradients flow through them
      +-- new:    gradients and rule run as Python and add to the graph; the whole is planned, run, and remembered
      +-- known:  the arrays of this graph are bound to the remembered plan, and its kernels run

So a lazy step costs the learner's own lines and the kernels, and nothing of the Python in between. What a rule takes
from its settings goes through `Factor`, which a replay asks again.

Nothing here knows a rule.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from jt_edu import backends
from jt_edu.base.context import Context, current
from jt_edu.base.dtypes import DType
from jt_edu.capture.recorded_step import array_of, nameless
from jt_edu.capture.recorder import Capture
from jt_edu.ir.builders import cast_number, same
from jt_edu.ir.meta_ops import CONSTANT
from jt_edu.ir.node import Node, age, needed
from jt_edu.runtime.devices import Move
from jt_edu.runtime.execute import plan_for, run, run_plan, settle, structure
from jt_edu.runtime.plan import Plan, read_slot
from jt_edu.runtime.plan_source import script_of
from jt_edu.variable.autocast import in_force
from jt_edu.variable.autograd import LEAF
from jt_edu.variable.subgraph_cache import maker_of
from jt_edu.variable.var import Var

KNOWN = 16  # structures that an optimizer remembers: it seldom sees more than two batch sizes
Recipe = Callable[[], tuple[list[tuple[Any, Var]], Any]]  # -> (what moves, its new value) for each, and anything


@dataclass
class Added:
    """A plan for the whole: a graph that came by, and what the recipe added to it.

    `slot` is a place in the whole, `spot` the place of the same node in the graph.
    """

    plan: Plan
    twins: list[Node | None]  # nodes that the recipe added, without their history: errors name their lines
    fixed: list[Any]  # arrays of leaves that are always the same
    shared: list[tuple[int, int]]  # (slot, spot) of everything that the graph brings along
    inside: list[tuple[int, int]]  # (slot, spot of the copy) of what is folded in the graph
    casts: list[tuple[int, int, DType]]  # (slot, spot, dtype) of its numbers as another dtype
    reads: list[tuple[int, Callable[[], Any]]]  # (slot, where its array or number comes from)
    kept: list[tuple[int, int]]  # (slot, spot) of what the learner holds
    before: list[Callable[[], None]]
    moved: list[tuple[Any, int]]  # (what moves, slot of its new value)
    answer: Any
    script: Callable[[list[Any], list[Node]], None] | None = (
        None  # written when the whole is replayed for the first time
    )


class Replays:
    """What was added to the graphs that came by, by their structure."""

    def __init__(self, most: int = KNOWN) -> None:
        self._known: OrderedDict[Hashable, Added] = OrderedDict()
        self._most = most

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of an optimizer, or one on disk, knows nothing yet: plans belong to a process."""
        return Replays, (self._most,)

    def run(
        self, roots: Sequence[Var], params: Sequence[Var], also: Hashable, recipe: Recipe
    ) -> tuple[list[tuple[Any, Any]], Any] | None:
        """Compute `roots`, and the new values that `recipe` builds on them.

        Args:
            roots: pending Vars: the loss, and what else is to be computed with it.
            params: the Vars that gradients are taken of.
            also: what else two steps must have in common.

        Returns:
            (what moves, array) for all that the recipe moves, and what it answered besides; None if these graphs cannot
            be replayed, because Python has a say in their gradients.
        """
        context = current()
        run([p.node for p in params if p.node.data is None])
        wanted = list(dict.fromkeys([*context.due, *(v.node for v in roots)]))
        graph, key, spots = _gone_through(wanted, context)
        if any(_asks_python(n) for n in graph):
            return None
        ends = tuple([spots[n] for n in graph if n.tape is LEAF and n.data is None])  # where gradients stop
        leaves = tuple([(spots.get(p.node, -1), p.node.tracked) for p in params])
        roles = tuple([spots[v.node] for v in roots]), leaves, ends, context.flags.lenient_grad, in_force(context)
        known = self._known.pop((key, roles, also), None)
        if known is None and any(isinstance(n.op, Move) for n in graph):
            return None
        if known is None:
            known, arrays = _add(graph, spots, wanted, recipe, context)
        else:
            arrays = _replay(known, graph, context)
        context.due.clear()
        self._known[key, roles, also] = known
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return [(var, read_slot(known.plan, arrays, slot)) for var, slot in known.moved], known.answer


def _gone_through(wanted: list[Node], context: Context) -> tuple[list[Node], Hashable, dict[Node, int]]:
    """The graph behind some nodes, what it has in common with others of its structure, and the spot of each node.

    A value that was computed before, such as logits that somebody printed, is a leaf for kernels but not for gradients:
    what it was computed from belongs to the graph too.
    """
    graph = [*wanted]
    key, spots = structure(graph, context)
    if not any(_has_history(n) for n in graph):
        return graph, key, spots
    graph, seen = [*wanted], set(wanted)
    for node in graph:  # grows meanwhile
        for i in node.behind if node.data is None or _has_history(node) else ():
            if i not in seen:
                seen.add(i)
                graph.append(i)
    key, spots = structure(graph, context)
    past = [(spots[n], maker_of(n), *[spots[i] for i in n.behind]) for n in graph if _has_history(n)]
    return graph, (key, tuple(past)), spots


def _has_history(node: Node) -> bool:
    """Whether a gradient flows through a node to what its number was computed from."""
    return node.data is not None and node.tracked and node.tape is None and bool(node.behind)


def _asks_python(node: Node) -> bool:
    """Whether a gradient through this node runs Python of the learner: a hook, or a Function."""
    owner = node.owner() if node.owner is not None else None
    taped = node.tape is not None and node.tape is not LEAF
    return taped or (owner is not None and bool(owner.hooks))


def _inside(graph: list[Node], spots: dict[Node, int]) -> dict[Node, int]:
    """Nodes that are folded in the graph, and the spot of the copy that each belongs to; numbers stay what they are."""
    found: dict[Node, int] = {}
    for node in graph:
        waiting = [*node.inputs] if node.data is None or _has_history(node) else []
        while waiting:
            i = waiting.pop()
            if i not in spots and i not in found and i.op is not CONSTANT:
                found[i] = spots[node]
                waiting.extend(i.inputs)
    return found


def _add(
    graph: list[Node], spots: dict[Node, int], roots: list[Node], recipe: Recipe, context: Context
) -> tuple[Added, list[Any]]:
    """Run the recipe once; plan and run what it built, together with the graph it was built on."""
    inside = _inside(graph, spots)
    begin = next(context.ids)
    capture = Capture(context)

    def told() -> tuple[list[tuple[Any, Var]], Any]:
        moves, answer = recipe()
        return [(what, _to_compute(new)) for what, new in moves], answer

    moves, answer = capture.of(told)
    wanted = [n for n in dict.fromkeys([*roots, *capture.due, *(new.node for _, new in moves)]) if n.data is None]
    ours = {*spots, *inside}
    _run_alone([n for n in needed(wanted) if n.data is None and n not in ours and n.id < begin], context)
    whole = needed(wanted)
    plan = plan_for(whole, wanted, context)
    slots = {n: k for k, n in enumerate(whole)}
    shared = [(slot, spots[n]) for n, slot in slots.items() if n in spots]
    casts, reads = _origins(slots, spots, capture)
    folded = [(slot, inside[n]) for n, slot in slots.items() if n in inside]
    elsewhere = {slot for slot, *_ in (*shared, *folded, *casts, *reads)}
    keep = set(plan.keep)
    added = Added(
        plan=plan,
        twins=[None if n in ours else nameless(n) for n in whole],
        fixed=[None if slot in elsewhere else n.data for n, slot in slots.items()],
        shared=shared,
        inside=folded,
        casts=casts,
        reads=reads,
        kept=[(slot, spot) for slot, spot in shared if slot in keep],
        before=list(capture.before),
        moved=[(what, slots[new.node]) for what, new in moves],
        answer=answer,
    )
    arrays = run_plan(plan, whole, context)
    settle(whole, [(whole[slot], read_slot(plan, arrays, slot)) for slot in plan.keep])
    return added, arrays


def _run_alone(nodes: list[Node], context: Context) -> None:
    """Compute states and the like, without the messages that are due: those are the plan's, which is run again."""
    held, context.due[:] = list(context.due), []
    try:
        run(nodes)
    finally:
        context.due[:] = held


def _to_compute(new: Var) -> Var:
    """A new value that is there already, such as the gradient that one starts from, as a node of its own."""
    if new.node.op is CONSTANT:
        return new + 0
    return new if new.node.pending else Var._of(same("value", new.node))


def _origins(
    slots: dict[Node, int], spots: dict[Node, int], capture: Capture
) -> tuple[list[tuple[int, int, DType]], list[tuple[int, Callable[[], Any]]]]:
    """Where leaves that the recipe added come from: numbers of the graph, settings, and Vars such as a momentum."""
    asked = dict(capture.numbers)
    casts: list[tuple[int, int, DType]] = []
    reads: list[tuple[int, Callable[[], Any]]] = []
    for node, slot in slots.items():
        owner, origin = node.owner() if node.owner is not None else None, capture.origin(node)
        if node in spots:
            continue
        if origin in spots:
            casts.append((slot, spots[origin], node.dtype))
        elif origin in asked:
            reads.append((slot, _cast_of(asked[origin], node.dtype)))
        elif node.data is not None and owner is not None and node.op is not CONSTANT:
            reads.append((slot, partial(array_of, owner)))
    return casts, reads


def _replay(known: Added, graph: list[Node], context: Context) -> list[Any]:
    """The kernels of a remembered plan, on the arrays of this graph."""
    for look in known.before:
        look()
    arrays: list[Any] = known.fixed.copy()
    nodes: list[Any] = known.twins.copy()
    for slot, spot in known.shared:
        nodes[slot] = graph[spot]
        arrays[slot] = graph[spot].data
    for slot, spot in known.inside:
        nodes[slot] = graph[spot]
    for slot, spot, dtype in known.casts:
        arrays[slot] = cast_number(graph[spot].data, dtype)
    for slot, read in known.reads:
        arrays[slot] = read()
    plan = known.plan
    if known.script is None:
        known.script = script_of(plan, backends.get(context.flags.backend))
    known.script(arrays, nodes)
    settle(sorted(graph, key=age), [(graph[spot], read_slot(plan, arrays, slot)) for slot, spot in known.kept])
    return arrays


def _cast_of(read: Callable[[], Any], dtype: DType) -> Callable[[], Any]:
    return lambda: cast_number(read(), dtype)
