"""Aside: run something without a trace of it in what the learner has.

    initialize_parameters(nodes)    the only thing that is kept: how weights came about is not part of their use
    computed(order, wanted)         arrays of nodes that stay as lazy as they are
    to_compile(plans)               how many kernels a run would have to compile first
    check_size(nodes)               whether the graph behind them can be shown at all

Nothing here knows pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jt_edu import backends
from jt_edu.errors import ArgumentError
from jt_edu.execute import needed, plan_for, read_slot, run, run_plan
from jt_edu.graph import Node, inputs_first
from jt_edu.plan import Plan
from jt_edu.settings import current

DRAWN = 20_000  # nodes; the views say the same, of pages that come from elsewhere


def initialize_parameters(nodes: Sequence[Node]) -> None:
    """Run the parameters of modules behind `nodes` that are pending: how they were drawn is not part of their use."""
    scopes = {n.scope for n in inputs_first(nodes) if n.scope is not None}
    run([p for scope in scopes for p in scope.parameters()])


def computed(order: list[Node], wanted: Sequence[Node]) -> dict[Node, Any]:
    """The arrays of `wanted`, behind which stands `order`; all stay as lazy as they are."""
    context = current()
    plan = plan_for(order, wanted, context)
    arrays = run_plan(plan, order, context)
    return {node: read_slot(plan, arrays, slot) for slot, node in enumerate(order) if node in wanted}


def to_compile(plans: Iterable[Plan]) -> int:
    """How many kernels of these plans are new; 0 where compiling takes no time: such a backend does not say."""
    has = getattr(backends.get(current().flags.backend), "has", None)
    if has is None:
        return 0
    steps = [s for plan in plans for s in plan.steps if s.program is None and s.kind != "host"]
    return sum(not has(source) for source in {s.source.key: s.source for s in steps}.values())


def check_size(nodes: Sequence[Node]) -> None:
    """Refuse a graph that no view would draw, before minutes are spent on it."""
    found = len(needed(nodes))
    if found > DRAWN:
        raise ArgumentError(
            f"This graph has {found:,} nodes; a view draws at most {DRAWN:,}. "
            "Record a part of it: one block, or one step"
        )
