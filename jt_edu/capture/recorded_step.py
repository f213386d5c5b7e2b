"""Recorded step: what a replay of it reads, runs and hands out, and whether it may be replayed at all.

    fits(replay, leaves)   whether all that the step takes for granted is as it was
    play(replay, leaves)   bind the arrays of this call, run the plan, give what moved its new value, hand out

How a step is captured is told in compiled_step.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import ReferenceType

import numpy as np

from jt_edu import backends
from jt_edu.base.context import current
from jt_edu.base.dtypes import DType
from jt_edu.capture.guards import alike
from jt_edu.ir.builders import lies_as_kernels_read, source
from jt_edu.ir.meta_ops import CONSTANT, SOURCE
from jt_edu.ir.node import Node
from jt_edu.runtime.devices import ABROAD, CPU, device_of
from jt_edu.runtime.execute import run
from jt_edu.runtime.plan import Plan, read_slot
from jt_edu.runtime.plan_source import script_of
from jt_edu.variable.pytree import mapped
from jt_edu.variable.var import Var

NUMBERS = (int, float, complex)  # of the graph
# array arguments of this call -> what to put into a slot; or a Var, whose array that is
Read = Callable[[tuple[Any, ...]], Any] | Var


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
    outputs: Any  # the answer of the step, with `Out` instead of Vars
    order: list[Node] = field(default_factory=list)
    handed_out: tuple[int, ...] = ()  # leaves whose memory is part of the answer
    moving: frozenset[int] = frozenset()  # ids of the Vars in `moved`
    found: list[tuple[Var, tuple[Any, ...]]] = field(default_factory=list)  # Vars that are no arguments: see facts
    looks: list[tuple[Callable[[], tuple[Any, ...]], tuple[Any, ...]]] = field(default_factory=list)  # and the answers
    newborn: list[ReferenceType[Var]] = field(default_factory=list)  # Vars that it made, and that are not its answer
    reason: str = ""  # why it must not be replayed
    script: Callable[[list[Any], list[Node]], None] | None = (
        None  # written when the step is replayed for the first time
    )


@dataclass(frozen=True)
class Out:
    """The Var in a slot."""

    slot: int
    dtype: Any


def fits(replay: Replay, leaves: list[Any]) -> bool:
    """Whether everything is as it was: Vars that the step finds, and what modules and optimizers answer."""
    for var, seen in replay.found:
        if facts(var) != seen:
            return False
    for a in leaves:
        if id(a) in replay.moving:
            return False
    for look, answer in replay.looks:  # noqa: SIM110 - all() and any() take twice as long for a few
        if not alike(look(), answer):
            return False
    return True


def facts(var: Var) -> tuple[Any, ...]:
    """What a captured step takes for granted of a Var that it finds by itself."""
    node = var._node
    return (node.shape, node.dtype, node.tracked, var._hooks, device_of(node) if ABROAD else CPU)


def play(replay: Replay, leaves: list[Any]) -> Any:
    """Bind, run, hand out."""
    context, inputs = current(), tuple([array_of(a) for a in leaves])
    for advance in replay.before:
        advance()
    arrays = replay.arrays.copy()
    for slot, read in replay.reads:
        arrays[slot] = array_of(read) if isinstance(read, Var) else read(inputs)
    for slot in replay.handed_out:
        if isinstance(arrays[slot], np.ndarray):  # nobody writes to those of a device
            arrays[slot] = arrays[slot].copy()
    plan = replay.plan
    if replay.script is None:
        replay.script = script_of(plan, backends.get(context.flags.backend))
    replay.script(arrays, replay.order)
    counted = [count() for count in replay.after]
    try:
        _take_effect(replay, leaves, arrays, counted)
    except BaseException:  # an interrupt in the middle is let through at the end
        _take_effect(replay, leaves, arrays, counted)
        raise
    return map_out(replay.outputs, plan, arrays)


def _take_effect(replay: Replay, leaves: list[Any], arrays: list[Any], counted: list[Callable[[], None]]) -> None:
    """Give everything that moved its new value; a second time changes nothing."""
    give(replay.moved, replay, leaves, arrays)
    for store in counted:
        store()


def move(var: Var, array: Any) -> None:
    """Give a Var its new value: in place where nothing else reads the old node."""
    if sys.getrefcount(var._node) <= 2 and var._node.op is not CONSTANT:  # the property takes as long as all of it
        var._node.data = array
    else:
        var.node = leaf_like(var.node, array)


def leaf_like(node: Node, array: Any) -> Node:
    """A leaf that takes the place of `node`, without its history."""
    fresh = Node(SOURCE, (), node.shape, node.dtype, array)
    fresh.tracked, fresh.name = node.tracked, node.name
    return fresh


def map_out(outputs: Any, plan: Plan, arrays: list[Any]) -> Any:
    """The answer of the step: a Var instead of each `Out`."""

    def var(out: Out) -> Var:
        data = box(read_slot(plan, arrays, out.slot), out.dtype)
        return Var._of(Node(SOURCE, (), plan.shapes[out.slot], out.dtype, data))

    return mapped(outputs, var, Out)


def give(moves: list[Any], replay: Replay, leaves: list[Any], arrays: list[Any]) -> None:
    """New values to Vars that moved, and into each `.grad` what the step put there."""
    for target, slot in moves:
        var = leaves[target] if isinstance(target, int) else target
        if isinstance(var, Var):
            array = arrays[slot]
            if array is None or isinstance(array, NUMBERS):  # a reshape, or a number of the graph
                array = box(read_slot(replay.plan, arrays, slot), var.dtype)
            move(var, array)
    for target, out in replay.graded:
        var = leaves[target] if isinstance(target, int) else target
        if isinstance(var, Var):
            var.grad = None if out is None else map_out(out, replay.plan, arrays)


def array_of(a: Any) -> Any:
    """The array of a Var, computed if need be; an array as kernels read it, copied if need be; else `a` as it is."""
    if isinstance(a, Var):
        node = a._node
        if node.data is None:
            run((node,))
        return box(node.data, node.dtype) if isinstance(node.data, NUMBERS) else node.data
    if not isinstance(a, np.ndarray) or lies_as_kernels_read(a):
        return a
    return np.array(a, a.dtype.newbyteorder("="), order="C")


def box(data: Any, dtype: DType) -> Any:
    """An array as it is; a number of the graph as an array without axes."""
    return source(data, dtype).data if isinstance(data, NUMBERS) else data


def nameless(node: Node) -> Node:
    """What errors need to know of a node, without its history."""
    twin = Node(node.op, (), node.shape, node.dtype)
    twin.where, twin.scope, twin.twin = node.where, node.scope, node.twin
    return twin
