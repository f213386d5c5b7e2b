"""Compile: capture a whole step once, then replay it with new inputs.

    step = jt.compile(step)
    step(x, y)      the first time: the Python runs, and the graph it builds is planned
    step(x, y)      from then on: bind the new arrays, run the kernels, hand out the results

A replay runs none of the Python of the step. What changes from call to call has to be visible to it: arrays in the
arguments, Vars that the step reads or assigns (parameters, running statistics), random numbers, and numbers made by
`knob` (learning rates). Everything else is part of the step. It is captured anew for another shape, dtype or other
argument, when a module or an optimizer was changed, when a parameter was stopped or got a hook, and when another Var
stands in the place of one. A step that puts one there itself (`self.h = self.h + x`) is captured anew at each call, at
the cost of a lazy step; `self.h.update(self.h + x)` is replayed.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends.convolve.options import plan_key
from jt_edu.build import cast_number, lies_as_kernels_read, source
from jt_edu.capture import Capture, refuse_inside, watch
from jt_edu.dtypes import DType
from jt_edu.errors import ArgumentError
from jt_edu.execute import plan_for, run, run_plan, settle
from jt_edu.graph import Node, needed
from jt_edu.leaves import kind_of, mapped, refilled
from jt_edu.meta import CONSTANT, SOURCE
from jt_edu.plan import Plan, read_slot
from jt_edu.script import Script
from jt_edu.settings import current
from jt_edu.surroundings import Surroundings, alike, left_as_found
from jt_edu.var import Var

KINDS = 256  # kinds of arguments whose captures are kept, such as shapes; the oldest goes first
REPLAYS = 4  # captures that are kept for each kind of arguments: of training and of evaluating, for one
Read = Callable[[tuple[Any, ...]], Any]  # array arguments of this call -> what to put into a slot


@dataclass
class Replay:
    """A captured step: its plan, how each leaf is read, and where the results go."""

    plan: Plan
    arrays: list[Any]  # leaves that stay as they are; None where something is read or computed
    reads: list[tuple[int, Read]]
    before: list[Callable[[], None]]  # Python that runs at each replay: looking at settings, drawing numbers
    after: list[Callable[[], Callable[[], None]]]  # and at its end: counting steps; each answers what stores the count
    moved: list[tuple[Var | int, int]]  # Vars (or places among the arguments) that the step assigned, their new slots
    graded: list[tuple[Var | int, Out | None]]  # those whose .grad it set, and what stands there now
    outputs: Any  # the answer of the step, with `Out` in place of Vars
    order: list[Node] = field(default_factory=list)
    handed_out: tuple[int, ...] = ()  # leaves whose memory is part of the answer
    moving: frozenset[int] = frozenset()  # ids of the Vars in `moved`
    found: list[tuple[Var, tuple[Any, ...]]] = field(default_factory=list)  # Vars that are no arguments: see _facts
    looks: list[tuple[Callable[[], tuple[Any, ...]], tuple[Any, ...]]] = field(default_factory=list)  # and the answers
    script: Script | None = None  # written when the step is replayed for the first time


@dataclass(frozen=True)
class Out:
    """The Var in a slot."""

    slot: int
    dtype: Any


def compile(step: Callable[..., Any]) -> Callable[..., Any]:
    """Capture `step` at its first call for each kind of argument, and replay it from then on. Also a decorator.

    Args:
        step: a function of Vars, arrays, tuples, lists and dicts of them, and other (hashable) arguments. What it reads
            from elsewhere and is not a Var, such as a global number, is captured as it is.

    Returns:
        A function of the same arguments; Vars in its answer take no part in gradients taken outside.

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
    return _Compiled(step)


class _Compiled:
    """A step, and what was captured of it."""

    def __init__(self, step: Callable[..., Any]) -> None:
        if not callable(step):
            raise ArgumentError("jt.compile takes a function", repr(step), "jt.compile(step)")
        functools.update_wrapper(self, step)
        self.step = step
        self.replays: dict[Any, list[Replay]] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        name = getattr(self.step, "__qualname__", None) or repr(self.step)
        count = sum(map(len, self.replays.values()))
        return f"jt.compile({name}), captured {'once' if count == 1 else f'{count} times'}"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has captured nothing yet: what was belongs to the Vars of this one."""
        return _Compiled, (self.step,)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A compiled method: the object is its first argument."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        context = current()
        refuse_inside(context)
        leaves: list[Any] = []
        kinds = tuple([kind_of(a, leaves) for a in (*args, *named.values())])
        kinds += tuple([kind_of(a.grad, leaves) for a in [*leaves] if isinstance(a, Var)])
        backend = backends.get(context.flags.backend)
        nodes = [a._node for a in leaves if isinstance(a, Var)]
        same = tuple([nodes.index(n) for n in nodes])  # one Var given twice is another step than two Vars
        key = (kinds, same, tuple(named), backend, context.flags.fuse, context.no_grad, plan_key(context))
        with self._lock:
            known = self.replays.setdefault(key, [])
            if len(self.replays) > KINDS:
                del self.replays[next(iter(self.replays))]
            replay = next((r for r in known if _fits(r, leaves)), None)
            if replay is not None and not context.traces:
                return _replay(replay, leaves)
            answer, fresh = _capture(self.step, args, named, leaves)
            if fresh is not None:
                known[:] = [fresh, *(r for r in known if r is not replay)][:REPLAYS]
            return answer


def array_of(a: Any) -> Any:
    """The array of a Var, computed if need be; an array as kernels read it, copied if need be; else `a` as it is."""
    if isinstance(a, Var):
        node = a._node
        if node.data is None:
            run((node,))
        return _box(node.data, node.dtype)
    if not isinstance(a, np.ndarray) or lies_as_kernels_read(a):
        return a
    return np.array(a, a.dtype.newbyteorder("="), order="C")


def _box(data: Any, dtype: DType) -> Any:
    """An array as it is; a number of the graph as an array without axes."""
    return data if isinstance(data, np.ndarray) else source(data, dtype).data


def _facts(var: Var) -> tuple[Any, ...]:
    """What a captured step takes for granted of a Var that it finds by itself."""
    node = var._node
    return (node.shape, node.dtype, node.tracked, var._hooks)


def _fits(replay: Replay, leaves: list[Any]) -> bool:
    """Whether everything is as it was: Vars that the step finds, and what modules and optimizers answer."""
    for var, seen in replay.found:
        if _facts(var) != seen:
            return False
    for a in leaves:
        if id(a) in replay.moving:
            return False
    for look, answer in replay.looks:  # noqa: SIM110 - all() and any() take twice as long for a few
        if not alike(look(), answer):
            return False
    return True


def _capture(
    step: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], leaves: list[Any]
) -> tuple[Any, Replay | None]:
    """Write the step down; then plan its graph and run it once. None: no replay."""
    context, twins = current(), _twins(leaves)
    given, places = iter(twins), {v.node: k for k, v in enumerate(twins)}
    call = [refilled(a, given) for a in args], {name: refilled(a, given) for name, a in named.items()}
    run(context.due)
    capture = Capture(context)
    answer, moved, set_now = capture.of(lambda: _written(step, call, leaves, capture))
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
    found = [(v, _facts(v)) for v in dict.fromkeys([*owners, *moved]) if v not in mine]
    replay = Replay(
        plan, fixed, reads, list(capture.before), list(capture.after), moves, graded, outputs,
        [nameless(n) for n in order], handed_out, frozenset(id(v) for v in moved if v not in mine), found,
        [(look, look()) for look in capture.looks] + _gradients_there(capture, mine),
    )  # fmt: skip
    _give([(k, at) for k, at in moves if isinstance(k, int)], replay, leaves, results)  # the others have it already
    return _map_out(outputs, plan, results), replay if left_as_found(capture.looks) else None


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


def _give(moves: list[Any], replay: Replay, leaves: list[Any], arrays: list[Any]) -> None:
    """New values to Vars that moved, and into each `.grad` what the step put there."""
    for target, slot in moves:
        var = leaves[target] if isinstance(target, int) else target
        if isinstance(var, Var):
            move(var, _box(read_slot(replay.plan, arrays, slot), var.dtype))
    for target, out in replay.graded:
        var = leaves[target] if isinstance(target, int) else target
        if isinstance(var, Var):
            var.grad = None if out is None else _map_out(out, replay.plan, arrays)


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


def nameless(node: Node) -> Node:
    """What errors need to know of a node, without its history."""
    twin = Node(node.op, (), node.shape, node.dtype)
    twin.where, twin.scope, twin.twin = node.where, node.scope, node.twin
    return twin


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
            reads.append((slot, lambda given, v=owner: array_of(v)))  # type: ignore[misc]
    return reads, owners


def _replay(replay: Replay, leaves: list[Any]) -> Any:
    """Bind, run, hand out."""
    context, inputs = current(), tuple([array_of(a) for a in leaves])
    for advance in replay.before:
        advance()
    arrays = replay.arrays.copy()
    for slot, read in replay.reads:
        arrays[slot] = read(inputs)
    for slot in replay.handed_out:
        arrays[slot] = arrays[slot].copy()
    plan = replay.plan
    if replay.script is None:
        replay.script = Script(plan, backends.get(context.flags.backend))
    replay.script(arrays, replay.order)
    counted = [count() for count in replay.after]
    try:
        _take_effect(replay, leaves, arrays, counted)
    except BaseException:  # an interrupt in the middle is let through at the end
        _take_effect(replay, leaves, arrays, counted)
        raise
    return _map_out(replay.outputs, plan, arrays)


def _take_effect(replay: Replay, leaves: list[Any], arrays: list[Any], counted: list[Callable[[], None]]) -> None:
    """Give everything that moved its new value; a second time changes nothing."""
    _give(replay.moved, replay, leaves, arrays)
    for store in counted:
        store()


def move(var: Var, array: Any) -> None:
    """Give a Var its new value: in place where nothing else reads the old node."""
    if sys.getrefcount(var.node) <= 2 and var.node.op is not CONSTANT:
        var.node.data = array
    else:
        var.node = leaf_like(var.node, array)


def leaf_like(node: Node, array: Any) -> Node:
    """A leaf that takes the place of `node`, without its history."""
    fresh = Node(SOURCE, (), node.shape, node.dtype, array)
    fresh.tracked, fresh.name = node.tracked, node.name
    return fresh


def _map_out(outputs: Any, plan: Plan, arrays: list[Any]) -> Any:
    def var(out: Out) -> Var:
        data = _box(read_slot(plan, arrays, out.slot), out.dtype)
        return Var._of(Node(SOURCE, (), plan.shapes[out.slot], out.dtype, data))

    return mapped(outputs, var, Out)


def _vars(tree: Any) -> list[Var]:
    found: list[Var] = []
    mapped(tree, found.append, Var)
    return found
