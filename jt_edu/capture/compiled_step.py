"""Compiled step: capture a whole step once, then replay it with new inputs.

    step = jt.compile(step)
    step(x, y)      the first time: the Python runs, and the graph it builds is planned
    step(x, y)      from then on: bind the new arrays, run the kernels, hand out the results

A replay runs none of the Python of the step. What changes from call to call has to be visible to it: arrays in the
arguments, Vars that the step reads or assigns (parameters, running statistics), random numbers, and numbers made by
`knob` (learning rates). Everything else is part of the step. It is captured anew for another shape, dtype or other
argument, when a module or an optimizer was changed, when a parameter was stopped or got a hook, and when another Var
stands in the place of one. A step that puts one there itself (`self.h = self.h + x`), that keeps a Var that it makes
(`log.append(loss)`), or that finds one where nobody can watch (an iterator) is captured anew at each call, which takes
longer than a lazy step; `self.h.update(self.h + x)` is replayed. `print(step)` says which it is.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from jt_edu import backends
from jt_edu.backends.convolve.options import plan_key
from jt_edu.base.context import Context, current
from jt_edu.base.errors import ArgumentError
from jt_edu.capture.guards import Surroundings, left_as_found, made_since, outlived, vars_in
from jt_edu.capture.recorded_step import (
    Out,
    Read,
    Replay,
    array_of,
    facts,
    fits,
    give,
    leaf_like,
    map_out,
    nameless,
    play,
)  # fmt: skip
from jt_edu.capture.recorder import Capture, refuse_inside, watch
from jt_edu.ir.builders import cast_number
from jt_edu.ir.meta_ops import CONSTANT, SOURCE
from jt_edu.ir.node import Node, needed
from jt_edu.runtime.devices import ABROAD, device_of
from jt_edu.runtime.execute import plan_for, run, run_plan, settle
from jt_edu.runtime.plan import read_slot
from jt_edu.variable.autocast import in_force
from jt_edu.variable.pytree import kind_of, mapped, refilled
from jt_edu.variable.var import Var

KINDS = 256  # kinds of arguments whose captures are kept, such as shapes; the oldest goes first
REPLAYS = 4  # captures that are kept for each kind of arguments: of training and of evaluating, for one
MANY = 16  # captures that kept a Var, after which no other is expected of a step


def compile(step: Callable[..., Any]) -> Callable[..., Any]:
    """Capture `step` at its first call for each kind of argument, and replay it from then on. Also a decorator.

    Args:
        step: a function of Vars, arrays, tuples, lists and dicts of them, and other (hashable) arguments. What it reads
            from elsewhere and is not a Var, such as a global number, is captured as it is.

    Returns:
        A function of the same arguments, which has the attributes of `step`: a compiled module its `parameters()`.
        Vars in its answer take no part in gradients: a step that trains calls the optimizer inside.

    Raises:
        ArgumentError: the step asks for numbers (`.item()`, printing) while it is captured, or is given a Var as an
            argument that it also finds by itself.

    Example:
        >>> import jt_edu as jt
        >>> w = jt.array([1.0, 1.0])
        >>> @jt.compile
        ... def step(x):
        ...     w.update(w + x)
        ...     return w.sum()
        >>> step(np.ones(2, "float32")).item(), step(np.ones(2, "float32")).item()
        (4.0, 6.0)
    """
    return CompiledStep(step)


class CompiledStep:
    """A step, and what was captured of it: what `compile` returns.

    Example:
        >>> import jt_edu as jt
        >>> jt.compile(jt.nn.Linear(1, 1)).step
        Linear(in_features=1, out_features=1, bias=True)
    """

    def __init__(self, step: Callable[..., Any]) -> None:
        if not callable(step):
            raise ArgumentError("jt.compile takes a function", repr(step), "jt.compile(step)")
        functools.update_wrapper(self, step, updated=())
        self.step = step
        self.ranks: WeakKeyDictionary[Context, _Captures] = WeakKeyDictionary()

    def __repr__(self) -> str:
        name = getattr(self.step, "__qualname__", None) or repr(self.step)
        count = sum(captures.count for captures in self.ranks.values())
        reasons = dict.fromkeys(captures.reason for captures in self.ranks.values() if captures.reason)
        told = "".join(f"; the last one is not replayed, since the step {reason}" for reason in reasons)
        return f"jt.compile({name}), captured {'once' if count == 1 else f'{count} times'}{told}"

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked for is the step's own, as it is now."""
        if name.startswith("__") or name == "step":  # asked by machines, such as copy, before there is a step
            raise AttributeError(name)
        return getattr(self.step, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """What is set is the step's, where it is asked for: `compiled.training = False` is seen by the module."""
        if name.startswith("__") or name in ("step", "ranks"):
            object.__setattr__(self, name, value)
        else:
            setattr(self.step, name, value)

    @property
    def replays(self) -> dict[Any, list[Replay]]:
        """What this rank has captured, for each kind of arguments."""
        return self._mine(current()).replays

    def _mine(self, context: Context) -> _Captures:
        return self.ranks.get(context) or self.ranks.setdefault(context, _Captures())

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has captured nothing yet: what was belongs to the Vars of this one."""
        return CompiledStep, (self.step,)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A compiled method: the object is its first argument."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Replay what was captured for arguments of this kind, or capture it first."""
        context = current()
        refuse_inside(context)
        leaves: list[Any] = []
        kinds = tuple([kind_of(a, leaves) for a in (*args, *named.values())])
        kinds += tuple([kind_of(a.grad, leaves) for a in [*leaves] if isinstance(a, Var)])
        backend = backends.get(context.flags.backend)
        nodes = [a._node for a in leaves if isinstance(a, Var)]
        same = tuple([nodes.index(n) for n in nodes])  # one Var given twice is another step than two Vars
        mode = context.flags.fuse, context.no_grad, in_force(context)
        where = tuple([device_of(n) for n in nodes]) if ABROAD else ()
        key = (kinds, same, tuple(named), backend, mode, plan_key(context), where)
        mine = self._mine(context)
        with mine.lock:
            known = mine.of(key)
            replay = next((r for r in known if fits(r, leaves)), None)
            if replay is not None and not context.traces:
                mine.idle = 0
                return play(replay, leaves)
            answer, fresh = _capture(self.step, args, named, leaves, mine.searches)
            mine.judge(fresh)
            if not mine.reason:
                known[:] = [fresh, *(r for r in known if r is not replay)][:REPLAYS]
            return answer


@dataclass
class _Captures:
    """What one rank captured of a step: its graph has messages, random numbers and Vars of this rank."""

    replays: dict[Any, list[Replay]] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)  # of its own: a rank that waits for another one holds it
    count: int = 0
    reason: str = ""  # why the last capture is not replayed
    kept: int = 0  # how often that was because the step keeps a Var
    idle: int = 0  # captures since the last replay

    def of(self, key: Any) -> list[Replay]:
        """The captures for one kind of arguments."""
        known = self.replays.setdefault(key, [])
        if len(self.replays) > KINDS:
            del self.replays[next(iter(self.replays))]
        return known

    @property
    def searches(self) -> bool:
        """Whether a Var that the step keeps is searched for, which takes longer the more objects there are.

        One that has kept so many keeps the next one, too. One that was captured so often, as for another number at each
        call, and never replayed meanwhile, is searched now and then.
        """
        return self.kept < MANY and (self.idle < MANY or self.idle % MANY == 0)

    def judge(self, fresh: Replay) -> None:
        """Why a capture may not be replayed. Its graph is gone: a Var of it that still lives is kept by somebody."""
        searched = self.searches
        self.count, self.idle, self.reason = self.count + 1, self.idle + 1, fresh.reason
        if self.reason:
            return
        if not searched and self.kept < MANY:
            self.reason = "was captured anew at each of its last calls"
        elif not searched or outlived(fresh.newborn):
            self.reason = "keeps a Var that it makes"
            self.kept += 1


def _capture(
    step: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], leaves: list[Any], searches: bool
) -> tuple[Any, Replay]:
    """Write the step down; then plan its graph and run it once."""
    context, twins = current(), _twins(leaves)
    given, places = iter(twins), {v.node: k for k, v in enumerate(twins)}
    call = [refilled(a, given) for a in args], {name: refilled(a, given) for name, a in named.items()}
    run(context.due)
    capture = Capture(context)
    answer, moved, set_now = capture.of(lambda: _written(step, call, leaves, capture))
    found_them = searches and left_as_found(capture.looks)  # else it is not replayed, whatever it keeps
    ours = [*_vars(answer), *moved, *capture.gradients, *set_now.values()]
    newborn = made_since(capture.begin, ours) if found_them else []
    wanted = [*capture.due, *(v.node for v in (*_vars(answer), *moved, *set_now.values()) if v is not None)]
    _run_older(wanted, capture.begin)
    order = needed(wanted)
    reads, owners = _readers(order, places, capture)
    pending = [n for n in dict.fromkeys(wanted) if n.data is None]
    plan = plan_for(order, pending, context)
    slot, mine = {n: k for k, n in enumerate(order)}, {v: k for k, v in enumerate(twins)}
    outputs = mapped(answer, lambda v: Out(slot[v.node], v.dtype) if v.node in slot else v, Var)
    read = {slot for slot, _ in reads}
    fixed = [None if k in read else n.data for k, n in enumerate(order)] + [None] * sum(k >= len(order) for k in read)
    results = run_plan(plan, order, context)
    settle(order, [(order[k], read_slot(plan, results, k)) for k in plan.keep])
    moves = [(mine.get(v, v), slot[v.node]) for v in moved if v.node in slot]
    graded = [(mine.get(v, v), None if g is None else Out(slot[g.node], g.dtype)) for v, g in set_now.items()]
    given_away = [v.node for v in (*_vars(answer), *set_now.values()) if v is not None and v.node in slot]
    roots = {plan.aliases.get(k, k) for k in (*plan.keep, *(slot[n] for n in given_away))}
    handed_out = tuple(k for k in sorted(roots & read) if order[k].op is SOURCE)
    seen = vars_in(capture.looks.values())
    found = [(v, facts(v)) for v in dict.fromkeys([*owners, *moved, *seen]) if v not in mine]
    replay = Replay(
        plan, fixed, reads, list(capture.before), list(capture.after), moves, graded, outputs,
        [nameless(n) for n in order], handed_out, frozenset(id(v) for v in moved if v not in mine), found,
        [(look, look()) for look in capture.looks] + _gradients_there(capture, mine), newborn,
    )  # fmt: skip
    replay.reason = _why_not(capture, [v for v in owners if v not in mine and v not in seen])
    give([(k, at) for k, at in moves if isinstance(k, int)], replay, leaves, results)  # the others have it already
    return map_out(outputs, plan, results), replay


def _why_not(capture: Capture, unseen: list[Var]) -> str:
    """Why a step must not be replayed; nothing if it may."""
    if not left_as_found(capture.looks):
        return "puts another Var in the place of one"
    return "finds a Var in a place that nobody can watch" if unseen else ""


def _written(
    step: Callable[..., Any], call: tuple[list[Any], dict[str, Any]], leaves: list[Any], capture: Capture
) -> tuple[Any, list[Var], dict[Var, Var | None]]:
    """Run the Python of a step, and none of its graph: the answer, Vars that moved, and each `.grad` that was set."""
    watch(Surroundings(step))
    answer = step(*call[0], **call[1])
    moved = list(dict.fromkeys(v for v, _ in capture.moved))
    _refuse_moved(leaves, moved)
    return answer, moved, {v: v.grad for v, before in capture.gradients.items() if v.grad is not before}


def _gradients_there(capture: Capture, mine: dict[Var, int]) -> list[tuple[Callable[[], Any], tuple[Any, ...]]]:
    """Whether something stood in each `.grad` that the step found: a replay has to find the same."""
    asked = [v for v in capture.gradients if v not in mine]
    there = tuple([g if g is None else (g.shape, g.dtype) for g in map(capture.gradients.get, asked)])
    look = lambda: tuple([g if g is None else (g.shape, g.dtype) for g in [v._grad for v in asked]])  # noqa: E731
    return [(look, there)] if asked else []


def _refuse_moved(leaves: list[Any], moved: list[Var]) -> None:
    """A replay would take the argument, and the Var that the step finds and assigns, for two."""
    for var in moved:
        if any(var is a for a in leaves):
            raise ArgumentError(
                "a compiled step assigns a Var that it is given, or one that it finds by itself",
                f"both are {var.name or var.node}", "only one way to it",
            )  # fmt: skip


def _twins(leaves: list[Any]) -> list[Var]:
    """Vars that stand for those in the arguments while the step is captured: what it finds is not taken for them."""
    run([a.node for a in leaves if isinstance(a, Var)])
    known: dict[Node, Var] = {}
    twins = []
    for a in leaves:
        if isinstance(a, np.ndarray):
            twins.append(Var(a))
        else:
            if a.node not in known:
                known[a.node] = Var._of(leaf_like(a.node, array_of(a)))
            twins.append(known[a.node])
    for twin, a in zip(twins, leaves, strict=True):
        twin._hooks = a._hooks if isinstance(a, Var) else ()
        if isinstance(a, Var) and a.grad is not None:
            twin.grad = next(t for t, other in zip(twins, leaves, strict=True) if other is a.grad)
    return twins


def _owners(order: list[Node], capture: Capture) -> dict[Node, Var]:
    """The Vars behind the leaves of a graph, as they were before the step moved some of them.

    A number that the step makes itself is no Var's, unless the step moves that Var.
    """
    first = dict(reversed(capture.moved))  # the node that each had
    owners = {node: var for var, node in first.items()}
    leaves = {node: capture.origin(node) for node in order if node.data is not None}
    for origin in leaves.values():
        owner = None if origin.owner is None else origin.owner()
        if owner is not None and (origin.op is not CONSTANT or origin.id < capture.begin):
            owners.setdefault(origin, owner)
    return {node: owners[origin] for node, origin in leaves.items() if origin in owners}


def _run_older(wanted: list[Node], begin: int) -> None:
    """What was pending before the step (fresh parameters, for one) is not part of it."""
    older = [n for n in needed(wanted) if n.data is None and n.id < begin]
    run(older)


def _readers(order: list[Node], places: dict[Node, int], capture: Capture) -> tuple[list[tuple[int, Read]], list[Var]]:
    """How each leaf is read at a replay: from an argument, a Var, the generator, a knob; or it stays as it is.

    Numbers that nobody reads are asked for too, and have slots behind those of the plan. The second answer is the Vars
    that are read.
    """
    numbers, behind = dict(capture.numbers), _owners(order, capture)
    graded = {g.node: v for v, g in capture.gradients.items() if g is not None}
    reads: list[tuple[int, Read]] = []
    owners: list[Var] = []
    origins = {capture.origin(n) for n in order}
    unread = [n for n in numbers if n not in origins]  # drawn all the same: else all that follow would be other numbers
    for slot, node in sorted(enumerate((*order, *unread)), key=lambda place: place[1].id):
        if node.data is None:
            continue
        owner = behind.get(node)
        if node in graded and node not in places:  # the handle in .grad is another one each time
            reads.append((slot, lambda given, v=graded[node]: array_of(v.grad)))  # type: ignore[misc]
        elif node in places:
            reads.append((slot, lambda given, k=places[node]: given[k]))  # type: ignore[misc]
        elif capture.origin(node) in numbers:
            read = numbers[capture.origin(node)]
            reads.append((slot, lambda given, read=read, d=node.dtype: cast_number(read(), d)))  # type: ignore[misc]
        elif owner is not None and node.op is CONSTANT:
            owners.append(owner)
            reads.append((slot, lambda given, v=owner, d=node.dtype: cast_number(v.item(), d)))  # type: ignore[misc]
        elif owner is not None:
            owners.append(owner)
            reads.append((slot, owner))
    return reads, owners


def _vars(tree: Any) -> list[Var]:
    found: list[Var] = []
    mapped(tree, found.append, Var)
    return found
