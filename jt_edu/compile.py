"""Compile: capture a whole step once, then replay it with new inputs.

    step = jt.compile(step)
    step(x, y)      the first time: the Python runs, and the graph it builds is planned
    step(x, y)      from then on: bind the new arrays, run the kernels, hand out the results

A replay runs none of the Python of the step. What changes from call to call has to be visible to it: array arguments,
Vars that the step reads or assigns (parameters, running statistics), random numbers, and numbers made by `knob`
(learning rates). Everything else is part of the step; another shape, dtype or other argument captures it anew.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends.convolve.options import plan_key
from jt_edu.build import Capture, cast_number, lies_as_kernels_read
from jt_edu.errors import ArgumentError
from jt_edu.execute import needed, plan_for, read_slot, run, run_plan, settle
from jt_edu.graph import Node
from jt_edu.meta import CONSTANT, SOURCE
from jt_edu.plan import Plan
from jt_edu.script import Script
from jt_edu.settings import current
from jt_edu.var import Var

REPLAYS = 4  # captures that are kept for each kind of arguments: of training and of evaluating, for one
Read = Callable[[tuple[Any, ...]], Any]  # array arguments of this call -> what to put into a slot


@dataclass
class Replay:
    """A captured step: its plan, how each leaf is read, and where the results go."""

    plan: Plan
    arrays: list[Any]  # leaves that stay as they are; None where something is read or computed
    reads: list[tuple[int, Read]]
    before: list[Callable[[], None]]  # Python that runs at each replay: looking at settings, drawing numbers
    after: list[Callable[[], None]]  # and when everything has moved: counting steps
    moved: list[tuple[Var | int, int]]  # Vars (or numbers of arguments) that the step assigned, slots of the new values
    outputs: Any  # the answer of the step, with `Out` in place of Vars
    order: list[Node] = field(default_factory=list)
    handed_out: tuple[int, ...] = ()  # leaves whose memory is part of the answer
    read_vars: list[tuple[Var, Any, Any]] = field(default_factory=list)  # shapes and dtypes at the capture
    looks: list[tuple[Callable[[], Any], Any]] = field(default_factory=list)  # answers at the capture
    script: Script | None = None  # written when the step is replayed for the first time


@dataclass(frozen=True)
class Out:
    """The Var in a slot."""

    slot: int
    dtype: Any


def compile(step: Callable[..., Any]) -> Callable[..., Any]:
    """Capture `step` at its first call for each kind of argument, and replay it from then on. Also a decorator.

    Args:
        step: a function of Vars, arrays and other (hashable) arguments. What it reads from elsewhere and is not a Var,
            such as a global number, is captured as it is.

    Returns:
        A function of the same arguments; Vars in its answer take no part in gradients taken outside.

    Raises:
        ArgumentError: the step asks for numbers (`.item()`, printing) while it is captured.

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
        functools.update_wrapper(self, step)
        self.step = step
        self.replays: dict[Any, list[Replay]] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        name = getattr(self.step, "__qualname__", None) or repr(self.step)
        count = sum(map(len, self.replays.values()))
        return f"jt.compile({name}), captured {'once' if count == 1 else f'{count} times'}"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A compiled method: the object is its first argument."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        given = (*args, *named.values())
        context = current()
        backend = backends.get(context.flags.backend)
        nodes = [a._node for a in given if isinstance(a, Var)]
        same = tuple([nodes.index(n) for n in nodes])  # one Var given twice is another step than two Vars
        key = (tuple([_kind(a) for a in given]), same, tuple(named), backend, context.flags.fuse, plan_key(context))
        try:
            hash(key)
        except TypeError:
            unfit = next(a for a in given if not _is_array(a) and not isinstance(a, Hashable))
            raise ArgumentError(
                "a compiled step takes Vars, arrays, and arguments that can be hashed", type(unfit).__name__, "a tuple"
            ) from None
        with self._lock:
            known = self.replays.setdefault(key, [])
            replay = next((r for r in known if _fits(r)), None)
            if replay is not None and not context.traces:
                return _replay(replay, given)
            answer, fresh = _capture(self.step, args, named)
            known[:] = [fresh, *(r for r in known if r is not replay)][:REPLAYS]
            return answer


def _is_array(a: Any) -> bool:
    return isinstance(a, (Var, np.ndarray))


def _kind(a: Any) -> Any:
    """What a replay has to agree in: shape and dtype of an array; of anything else its value and its type."""
    if _is_array(a):
        return (type(a), a.shape, a.dtype)
    if isinstance(a, tuple):
        return (type(a), tuple(map(_kind, a)))
    return (type(a), a.hex() if isinstance(a, float) else a)  # 0.0 and -0.0 are equal, and not the same


def array_of(a: Any) -> Any:
    """The array of a Var, computed if need be; an array as kernels read it, copied if need be; else `a` as it is."""
    if isinstance(a, Var):
        node = a._node
        if node.data is None:
            run((node,))
        return node.data
    if not isinstance(a, np.ndarray) or lies_as_kernels_read(a):
        return a
    return np.array(a, a.dtype.newbyteorder("="), order="C")


def _fits(replay: Replay) -> bool:
    """Whether what the step reads is as it was: shapes and dtypes of Vars; modes and parameters of modules."""
    for var, shape, dtype in replay.read_vars:
        node = var._node
        if node.shape != shape or node.dtype is not dtype:
            return False
    for look, seen in replay.looks:  # noqa: SIM110 - all() and any() take twice as long for a few
        if look() != seen:
            return False
    return True


def _capture(step: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Replay]:
    """Run the Python of the step, without running its graph; then plan the graph and run it once."""
    context = current()
    given = (*args, *named.values())
    inputs = _twins(given)
    call = [inputs.get(k, a) for k, a in enumerate(given)]
    leaves = {v.node: k for k, v in inputs.items()}
    run(context.due)
    begin = next(context.ids)
    with Capture(context) as capture:
        answer = step(*call[: len(args)], **dict(zip(named, call[len(args) :], strict=True)))
    moved = list(dict.fromkeys(v for v, _ in capture.moved))
    wanted = [*capture.due, *(v.node for v in (*_vars(answer), *moved))]
    _run_older(wanted, begin)
    order = needed(wanted)
    reads, owners = _readers(order, leaves, capture)
    before = list(capture.before)
    pending = [n for n in dict.fromkeys(wanted) if n.data is None]
    plan = plan_for(order, pending, context)
    slot = {n: k for k, n in enumerate(order)}
    outputs = _map(answer, lambda v: Out(slot[v.node], v.dtype) if v.node in slot else v)
    read = {slot for slot, _ in reads}
    fixed = [None if k in read else n.data for k, n in enumerate(order)]
    results = run_plan(plan, order, context)
    settle(order, [(order[k], read_slot(plan, results, k)) for k in plan.keep])
    mine = {v: k for k, v in inputs.items()}
    moves = [(mine.get(v, v), slot[v.node]) for v in moved if v.node in slot]
    roots = {plan.aliases.get(k, k) for k in plan.keep}
    handed_out = tuple(k for k in sorted(roots & read) if order[k].op is SOURCE)
    read_vars = [(v, v.node.shape, v.node.dtype) for v in dict.fromkeys([*owners, *moved]) if v not in mine]
    replay = Replay(
        plan, fixed, reads, before, list(capture.after), moves, outputs, [nameless(n) for n in order], handed_out,
        read_vars, [(look, look()) for look in dict.fromkeys(capture.looks)],
    )  # fmt: skip
    _move_arguments(replay, given, results)
    return _map_out(outputs, plan, results), replay


def _twins(given: tuple[Any, ...]) -> dict[int, Var]:
    """Vars that stand for the arguments while the step is captured: what it reads elsewhere is not taken for them."""
    known: dict[Node, Var] = {}
    twins = {}
    run([a.node for a in given if isinstance(a, Var)])
    for k, a in enumerate(given):
        if isinstance(a, np.ndarray):
            twins[k] = Var(a)
        elif isinstance(a, Var):
            if a.node not in known:
                known[a.node] = Var._of(leaf_like(a.node, a.node.data))
            twins[k] = known[a.node]
    return twins


def _move_arguments(replay: Replay, given: tuple[Any, ...], arrays: list[Any]) -> None:
    """Give arguments that the step assigned their new values."""
    for target, slot in replay.moved:
        if isinstance(target, int) and isinstance(given[target], Var):
            move(given[target], read_slot(replay.plan, arrays, slot))


def nameless(node: Node) -> Node:
    """What errors need to know of a node, without its history."""
    twin = Node(node.op, (), node.shape, node.dtype)
    twin.where, twin.scope, twin.twin = node.where, node.scope, node.twin
    return twin


def _run_older(wanted: list[Node], begin: int) -> None:
    """What was pending before the step (fresh parameters, for one) is not part of it."""
    older = [n for n in needed(wanted) if n.data is None and n.id < begin]
    run(older)


def _readers(order: list[Node], leaves: dict[Node, int], capture: Capture) -> tuple[list[tuple[int, Read]], list[Var]]:
    """How each leaf is read at a replay: from an argument, a Var, the generator, a knob; or it stays as it is.

    The second answer is the Vars that are read.
    """
    moved = {v for v, _ in capture.moved}
    numbers = dict(capture.numbers)
    reads: list[tuple[int, Read]] = []
    owners: list[Var] = []
    for slot, node in enumerate(order):
        if node.data is None:
            continue
        owner = node.owner() if node.owner is not None else None
        if node in leaves:
            reads.append((slot, lambda given, k=leaves[node]: given[k]))  # type: ignore[misc]
        elif capture.origin(node) in numbers:
            read = numbers[capture.origin(node)]
            reads.append((slot, lambda given, read=read, d=node.dtype: cast_number(read(), d)))  # type: ignore[misc]
        elif owner is not None and owner in moved and node.op is CONSTANT:
            owners.append(owner)
            reads.append((slot, lambda given, v=owner: v.item()))  # type: ignore[misc]
        elif owner is not None and node.op is not CONSTANT:
            owners.append(owner)
            reads.append((slot, lambda given, v=owner: array_of(v)))  # type: ignore[misc]
    return reads, owners


def _replay(replay: Replay, given: tuple[Any, ...]) -> Any:
    """Bind, run, hand out."""
    context, inputs = current(), tuple([array_of(a) for a in given])
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
    _move_arguments(replay, given, arrays)
    for target, slot in replay.moved:
        if not isinstance(target, int):
            move(target, read_slot(plan, arrays, slot))
    for count in replay.after:
        count()
    return _map_out(replay.outputs, plan, arrays)


def move(var: Var, array: Any) -> None:
    """Give a Var its new value: in place where nothing else reads the old node."""
    if sys.getrefcount(var.node) <= 2:
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
        data = read_slot(plan, arrays, out.slot)
        return Var._of(Node(SOURCE, (), plan.shapes[out.slot], out.dtype, data))

    return _map(outputs, var, Out)


def _vars(tree: Any) -> list[Var]:
    found: list[Var] = []
    _map(tree, found.append)
    return found


def _map(tree: Any, change: Callable[[Any], Any], leaf: type = Var) -> Any:
    """The same tuples, lists and dicts with every leaf changed."""
    if isinstance(tree, leaf):
        return change(tree)
    if isinstance(tree, (tuple, list)):
        return type(tree)(_map(t, change, leaf) for t in tree)
    if isinstance(tree, dict):
        return {k: _map(t, change, leaf) for k, t in tree.items()}
    if isinstance(tree, (int, float, str, type(None), Var)):
        return tree
    raise ArgumentError(
        "a compiled step answers with Vars, numbers, and tuples, lists and dicts of them", repr(type(tree))
    )
