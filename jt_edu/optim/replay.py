"""Replay: the second step of a loop adds the same gradients and updates to the same graph; plan them once.

    loss (a graph that the learner's lines build anew in each step)
      |  structure: the same operators, edges, shapes, and the same Vars still held?
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
from jt_edu.build import Capture, cast_number
from jt_edu.dtypes import DType
from jt_edu.execute import free, needed, plan_for, read_slot, run, run_plan, run_step, settle, structure
from jt_edu.graph import Node
from jt_edu.meta import CONSTANT
from jt_edu.plan import Plan
from jt_edu.settings import Context, current
from jt_edu.var import Var

KNOWN = 16  # structures that are remembered: an optimizer seldom sees more than two batch sizes
Recipe = Callable[[], tuple[list[tuple[Var, Var]], Any]]  # -> (Var, its new value) for each that moves, and anything


@dataclass
class Added:
    """A plan for a graph and what was added to it. Slots are places in the whole, places are those in the graph."""

    plan: Plan
    order: list[Node | None]
    arrays: list[Any]  # of leaves that are always the same
    shared: list[tuple[int, int]]  # (slot, place) of everything that the graph brings along
    casts: list[tuple[int, int, DType]]  # (slot, place, dtype) of its numbers as another dtype
    reads: list[tuple[int, Callable[[], Any]]]  # (slot, where its array or number comes from)
    kept: list[tuple[int, int]]  # (slot, place) of what the learner holds
    before: list[Callable[[], None]]
    moved: list[tuple[Var, int]]
    answer: Any


class Replays:
    """What was added to the graphs that came by, by their structure."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Added] = OrderedDict()

    def run(
        self, roots: Sequence[Var], params: Sequence[Var], also: Hashable, recipe: Recipe
    ) -> tuple[list[tuple[Var, Any]], Any] | None:
        """Compute `roots`, and the new values that `recipe` builds on them.

        Args:
            roots: pending Vars: the loss, and what else is to be computed with it.
            params: the Vars that gradients are taken of.
            also: what else two steps must have in common.

        Returns:
            (Var, array) for each Var that moves, and what the recipe answered besides; None if these graphs cannot be
            replayed, because Python has a say in their gradients.
        """
        context = current()
        run([p.node for p in params if p.node.data is None])
        pending = list(dict.fromkeys(v.node for v in roots))
        order = needed(pending)
        if any((n.owner is not None and _hooked(n)) or (n.tape is not None and n.data is None) for n in order):
            return None
        shape, slot = structure(order, context)
        asked, moving = [slot[n] for n in pending], [(slot.get(p.node, -1), p.node.tracked) for p in params]
        key = (shape, tuple(asked), tuple(moving), also)
        known = self._known.pop(key, None)
        if known is None:
            known, arrays = _add(slot, pending, recipe, context)
        else:
            arrays = _replay(known, order, context)
        self._known[key] = known
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return [(var, read_slot(known.plan, arrays, slot)) for var, slot in known.moved], known.answer


def _hooked(node: Node) -> bool:
    owner = node.owner()
    return owner is not None and bool(owner.hooks)


def _add(place: dict[Node, int], pending: list[Node], recipe: Recipe, context: Context) -> tuple[Added, list[Any]]:
    """Run the recipe once; plan and run what it built, together with the graph it was built on."""
    begin = next(context.ids)
    with Capture(context) as capture:
        moves, answer = recipe()
    wanted = [n for n in dict.fromkeys([*pending, *(new.node for _, new in moves)]) if n.data is None]
    run([n for n in needed(wanted) if n.data is None and n not in place and n.id < begin])  # states, for one
    whole = needed(wanted)
    plan = plan_for(whole, wanted, context)
    slot = {n: k for k, n in enumerate(whole)}
    asked = dict(capture.numbers)
    shared, casts = [], []
    reads: list[tuple[int, Callable[[], Any]]] = []
    for k, node in enumerate(whole):
        owner, origin = node.owner() if node.owner is not None else None, capture.origin(node)
        if node in place:
            shared.append((k, place[node]))
        elif origin in place:
            casts.append((k, place[origin], node.dtype))
        elif origin in asked:
            reads.append((k, _cast_of(asked[origin], node.dtype)))
        elif node.data is not None and owner is not None and node.op is not CONSTANT:
            reads.append((k, partial(_array, owner)))
    read = {k for k, *_ in (*shared, *casts, *reads)}
    fixed = [None if k in read else n.data for k, n in enumerate(whole)]
    moved = [(var, slot[new.node]) for var, new in moves if new.node in slot]
    arrays = run_plan(plan, whole, context)
    settle(whole, [(whole[s], read_slot(plan, arrays, s)) for s in plan.keep])
    names = [None if n in place else _nameless(n) for n in whole]
    kept = [(s, p) for s, p in shared if s in set(plan.keep)]
    return Added(plan, names, fixed, shared, casts, reads, kept, list(capture.before), moved, answer), arrays


def _replay(known: Added, order: list[Node], context: Context) -> list[Any]:
    """The kernels of a remembered plan, on the arrays of this graph."""
    for look in known.before:
        look()
    arrays: list[Any] = known.arrays.copy()
    nodes: list[Any] = known.order.copy()
    plan = known.plan
    for slot, place in known.shared:
        nodes[slot] = order[place]
        arrays[slot] = order[place].data
    for slot, place, dtype in known.casts:
        arrays[slot] = cast_number(order[place].data, dtype)
    for slot, read in known.reads:
        arrays[slot] = read()
    backend = backends.get(context.flags.backend)
    for step in plan.steps:
        run_step(step, plan, arrays, backend, nodes)
        free(step, arrays)
    settle(order, [(order[p], read_slot(plan, arrays, s)) for s, p in known.kept])
    return arrays


def _cast_of(read: Callable[[], Any], dtype: DType) -> Callable[[], Any]:
    return lambda: cast_number(read(), dtype)


def _array(var: Var) -> Any:
    if var.node.data is None:
        run((var.node,))
    return var.node.data


def _nameless(node: Node) -> Node:
    """What errors need to know of a node, without its history."""
    twin = Node(node.op, (), node.shape, node.dtype)
    twin.where = node.where
    return twin
