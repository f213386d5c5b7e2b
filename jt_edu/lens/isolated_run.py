"""Isolated run: how can something run without leaving a trace in what the learner has?

    initialize_parameters(nodes)    the only thing that is kept: how weights came about is not part of their use
    computed(order, wanted)         arrays of nodes that stay as lazy as they are
    to_compile(plans)               how many kernels a run would have to compile first
    overheard_by_nobody()           traces inside hear this thread alone, and those outside hear nothing
    check_vars(asker, wanted)       refuses what is no Var, with a way out, which `way_out` knows
    check_size(nodes)               whether the graph behind them can be shown at all

Nothing here knows pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jt_edu import backends
from jt_edu.base.context import Context, current, rank_context
from jt_edu.base.errors import ArgumentError
from jt_edu.cuda.gpu_function import GpuFunction
from jt_edu.ir.meta_ops import CONSTANT
from jt_edu.ir.node import Node, inputs_first, needed
from jt_edu.runtime.execute import plan_for, run, run_plan
from jt_edu.runtime.plan import Plan, read_slot
from jt_edu.variable.var import Var

DRAWN = 20_000  # nodes; the views say the same, of pages that come from elsewhere


def initialize_parameters(nodes: Sequence[Node]) -> None:
    """Run the parameters of modules behind `nodes` that are pending: how they were drawn is not part of their use.

    The same for statistics that nothing was counted in yet: they are made of numbers alone.
    """
    order = inputs_first(nodes)
    scopes = {n.scope for n in order if n.scope is not None}
    held = {i for scope in scopes for i in scope.names()}
    fresh = [n for n in order if n.id in held and all(i.op is CONSTANT for i in needed([n]) if i.data is not None)]
    run([*(p for scope in scopes for p in scope.parameters()), *fresh])


def computed(order: list[Node], wanted: Sequence[Node]) -> dict[Node, Any]:
    """The arrays of `wanted`, behind which stands `order`; all stay as lazy as they are."""
    context = current()
    plan = plan_for(order, wanted, context)
    arrays = run_plan(plan, order, context)
    return {node: read_slot(plan, arrays, slot) for slot, node in enumerate(order) if node in wanted}


@contextmanager
def overheard_by_nobody() -> Iterator[None]:
    """Run as the same rank except for its traces: threads share those, and a trace hears what others run meanwhile."""
    mine = current()
    with rank_context(Context(flags=mine.flags, due=mine.due, rank_state=mine.rank_state)):
        yield


def to_compile(plans: Iterable[Plan]) -> int:
    """How many kernels of these plans are new; 0 where compiling takes no time: such a backend does not say."""
    has = getattr(backends.get(current().flags.backend), "has", None)
    if has is None:
        return 0
    steps = [s for plan in plans for s in plan.steps if s.program is None and s.kind != "host"]
    sources = [s.source if s.own is None else s.own.open or s.source for s in steps]
    around = (source for s in steps if s.own is not None for source in (s.own.prepare, s.own.gather))
    sources += [source for source in around if source is not None]
    return sum(not has(source) for source in {s.key: s for s in sources}.values())


def check_vars(asker: str, wanted: Sequence[Any]) -> None:
    """Refuse what a learner hands over instead of Vars, in the name of what they called, with a way out."""
    asked = f"{asker} takes one or more Vars"
    if not wanted:
        raise ArgumentError(asked, "nothing", f"{asker}(loss)")
    for v in wanted:
        if not isinstance(v, Var):
            raise ArgumentError(asked, found_words(v), way_out(v) or f"{asker}(loss)")


def found_words(v: Any) -> str:
    """What something is, with its article.

    Example:
        >>> found_words([1]), found_words(3)
        ('a list', 'an int')
    """
    name = type(v).__name__
    return f"{'an' if name[0].lower() in 'aeio' or name.startswith('nd') else 'a'} {name}"


def way_out(v: Any) -> str:
    """What to hand over instead of something that is no Var; nothing where nobody can tell."""
    if isinstance(v, list | tuple):
        return "*gradients, which hands over the Vars of a list one by one"
    if isinstance(v, dict):
        return "*gradients.values(), which hands over the Vars of a dict one by one"
    if isinstance(v, GpuFunction):
        return "jt_widgets.gpu_grid(kernel, blocks, threads, x), which shows a kernel of your own"
    if hasattr(type(v), "named_parameters"):
        return "model(images), for a view shows what a module computes"
    if hasattr(v, "__array__") or isinstance(v, int | float | complex):
        return "jt.array(...), which makes a Var of numbers"
    return ""


def check_size(nodes: Sequence[Node]) -> None:
    """Refuse a graph that no view would draw, before minutes are spent on it."""
    found = len(needed(nodes))
    if found > DRAWN:
        raise ArgumentError(
            f"This graph has {found:,} nodes; a view draws at most {DRAWN:,}. "
            "Record a part of it: one block, or one step"
        )
