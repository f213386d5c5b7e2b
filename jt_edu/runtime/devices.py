"""Devices: where do numbers lie, and who computes there?

    x.to("npu_sim")          a Move, a node like all others: it copies when somebody needs it; its gradient moves back
    x.to("npu_sim") * 2      is computed where x is, by the backend of that name
    jt.flags.backend = ...   a backend with arrays of its own: all is computed there, and what lies elsewhere is copied

A device is the memory of a backend that brings arrays of its own (`Device`); all others work on NumPy arrays, on the
device "cpu". Two devices in one operator are an error, unless the flag names one of them. Numbers of the graph fit
everywhere, and so do CPU arrays of one number or of indices. What is made of numbers alone, such as `jt.zeros`, is
computed where it is needed.

A plan belongs to one device. Where a graph moves between two, it is cut at the moves (`arrive`): what lies before them
is a run of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np

from jt_edu import backends
from jt_edu.backends import Backend
from jt_edu.base.context import CHECKS, Context, current
from jt_edu.base.errors import ArgumentError, BackendError
from jt_edu.ir.conv_pattern import ALGORITHMS
from jt_edu.ir.meta_ops import CONSTANT, SOURCE, HostCall, Reindex, ReindexReduce
from jt_edu.ir.node import Node, age, forget, needed, reached
from jt_edu.runtime.plan import Codegen, Plan, make_plan

CPU, CUDA = "cpu", "cuda"
CPU_BACKENDS = ("numba", "python")  # nothing has to be loaded to know it
INTERFACE = 1  # the version of what a device has to offer; a device may state its own as `interface`
ABROAD: set[str] = set()  # the devices that anything was ever asked to lie on
Run = Callable[[list[Node]], None]


class Device(Backend, Protocol):
    """A backend with arrays of its own: what it has beside the methods of a `Backend`.

    Its arrays are as NumPy's in this: `shape`, `dtype`, `nbytes`, `device` (the name below), `reshape(shape)`,
    `view(dtype)`, `ravel()`, and `__array__`, which brings the numbers to the CPU. Nobody writes to them but kernels.
    `empty` makes them, and kernels are given them.

    It may have three more: `page(plan, owns)`, which runs a plan that has run before (plan_source.py);
    `launched(plan)`, a sentence about that for traces and explanations; `check_number("1")`, which may refuse
    x.to("cuda:1").
    """

    device: str  # its name, as in x.to(name): the same as `name`
    interface: int = INTERFACE  # optional: the version of this protocol that it was written for

    def from_host(self, array: np.ndarray[Any, Any]) -> Any:
        """A copy of a NumPy array on the device."""


@dataclass(frozen=True)
class Copied:
    """A trace was told that the numbers of a node went from one device to another; `line` is the learner's."""

    node: int
    source: str
    target: str
    bytes: int
    milliseconds: float
    line: str

    def __str__(self) -> str:
        return f"copied: {self.bytes / 1e3:.1f} kB from {self.source} to {self.target}, {self.line}"


@dataclass(frozen=True, eq=False)
class Move(HostCall):
    """Copy to another device."""

    target: str = CPU


@lru_cache(256)
def move(source: str, target: str) -> Move:
    """The operator that copies from one device to another, one object per meaning."""

    def back(_out: Any, dout: Any, _x: Any) -> Any:
        return moved(dout, target, source)

    return Move(f"to_{target}", _refuse, (back,), f"a copy to {target}", target)


def _refuse(_array: Any) -> Any:
    """A run does all moves before it makes a plan (`arrive`): here somebody made a plan of more than a run."""
    raise ArgumentError("what is captured, and run as a whole, is on one device", "x.to(...) in it", "x.to(...) before")


def moved(x: Any, source: str, target: str) -> Any:
    """A Var of the same numbers on another device."""
    return type(x)._of(Node(move(source, target), (x.node,), x.shape, x.dtype))


def device_named(name: str) -> Device | None:
    """The backend whose device that is; None for the CPU, and for a backend that works there."""
    found: Any = None if name == CPU else backends.get(name)
    return _seen(found) if found is not None and getattr(found, "device", CPU) == name else None


def chosen(context: Context) -> Device | None:
    """The device that all is computed on, if the flags name one."""
    return device_named(context.flags.backend) if ABROAD else None


def default_device() -> str:
    """The name of the device on which all is computed, unless it lies elsewhere."""
    device = chosen(current())
    return CPU if device is None else device.device


def _seen(device: Any) -> Any:
    if device.device not in ABROAD:
        check_interface(device)
        ABROAD.add(device.device)
    return device


def forget_plans() -> None:
    """Plan anew what this rank runs from now on, since a device can do more than before, or less."""
    for name in ("plans", "outlines", "alone"):
        current().rank_state.pop(name, None)


def _computed_by(library: str, wanted: bool) -> None:
    """What is planned from now on is computed by a library where it can be, which has to be there, or no more."""
    if wanted:
        _for_flag(library).library(library)
    forget_plans()


def _for_flag(name: str) -> Any:
    """The backend of a GPU, which a flag needs: the error names the flag."""
    try:
        return device_named(CUDA)
    except BackendError as error:
        raise BackendError(f"jt.flags.{name} computes on a GPU", error.found, error.attempt) from None


CHECKS |= {library: partial(_computed_by, library) for library in ("cublas", "cudnn")}


def check_interface(device: Any) -> None:
    """Refuse a device that was written for another version of what is asked of one."""
    made_for = getattr(device, "interface", INTERFACE)
    if made_for != INTERFACE:
        found = f"{device.name}, which was written for version {made_for}"
        raise BackendError(f"devices have version {INTERFACE} of the interface here", found, f"interface={INTERFACE}")


# who sets the flag has a device looked at: from then on it is asked where things lie
CHECKS["backend"] = lambda name: name in CPU_BACKENDS or device_named(backends.get(name).name)


def put(data: Any, name: str, node: Node) -> Node:
    """A leaf with the numbers of a node on a device, which takes its place."""
    fresh = Node(SOURCE, (), node.shape, node.dtype, carried(data, device_named(name), node))
    fresh.tracked, fresh.name = node.tracked, node.name
    return fresh


def to_cuda(to: Callable[..., Any]) -> Callable[..., Any]:
    """What `x.cuda` is for the `x.to` of a Var or a module; `x.cuda(0)` names the GPU of this thread."""

    def cuda(device: Any = None, non_blocking: bool = False) -> Any:
        number = "" if device is None else str(device).removeprefix(CUDA).removeprefix(":")
        return to(f"{CUDA}:{number}" if number else CUDA, non_blocking=non_blocking)

    return cuda


def use_cuda(value: int) -> None:
    """What jt.flags.use_cuda does: 1 computes all on the device "cuda", if there is one; 0 is as before."""
    context = current()
    flags, state = context.flags, context.rank_state
    if value and flags.backend != CUDA:
        _for_flag("use_cuda")
        state["before cuda"] = flags.backend
        flags.backend = CUDA
    elif not value and flags.use_cuda and flags.backend == CUDA:
        flags.backend = state.get("before cuda", CPU_BACKENDS[0])


def is_there(name: str) -> bool:
    """Whether a device of that name can be had."""
    if name == CPU or not (name == CUDA or name in backends.names()):
        return name == CPU
    with suppress(BackendError):  # there is no GPU, or a package that cannot be loaded
        return device_named(name) is not None
    return False


def device_of(node: Node) -> str:
    """Where a value lies, or will."""
    if node.data is not None:
        return getattr(node.data, "device", CPU)
    if not ABROAD:  # the usual case: no graph has to be searched
        return CPU
    if (found := chosen(current())) is not None and not isinstance(node.op, Move):
        return found.device
    return nearest(node) or CPU


def nearest(wanted: Node) -> str:
    """Where a value lies, or will, by the nearest leaf that lies somewhere; "" where any place will do.

    Whether another leaf lies elsewhere is not looked at, so that a deep graph takes no longer, and stays folded: a run
    does that. Whole numbers may be a CPU's indices, and are asked last.
    """
    waiting, seen, whole = [wanted], {wanted}, False
    for node in waiting:  # which grows
        if node.data is not None:
            if found := _place_of(node):
                return found
        elif isinstance(node.op, Move):
            return node.op.target
        else:
            fresh = [i for i in node.behind if i not in seen]
            seen.update(fresh)
            floats = [i for i in fresh if i.dtype.kind in "fc"]
            waiting += floats
            whole = whole or len(floats) < len(fresh)
    return places(needed([wanted]), None)[wanted] if whole else ""


def _place_of(leaf: Node) -> str:
    """Where numbers lie; "" for one that fits everywhere."""
    device: str = CPU if leaf.op is CONSTANT else leaf.data.device
    return "" if device == CPU and not leaf.shape else device


def places(order: Sequence[Node], all_on: Device | None) -> dict[Node, str]:
    """The device of each node of a graph, inputs first; "" where any will do.

    Raises:
        ArgumentError: an operator reads what lies on two devices, and no flag names one for all.
    """
    found: dict[Node, str] = {}
    for node in order:
        if isinstance(node.op, Move) and node.data is None:
            found[node] = node.op.target
        elif all_on is not None:
            found[node] = all_on.device
        elif node.data is not None:
            found[node] = _place_of(node)
        else:
            looks = node.inputs[1:] if isinstance(node.op, (Reindex, ReindexReduce)) else ()  # a CPU's indices fit
            theirs = {found[i]: i for i in node.inputs if i not in looks or found[i] != CPU}
            theirs.pop("", None)
            if len(theirs) > 1:
                raise _two_devices(node, theirs)
            found[node] = next(iter(theirs), "")
    return found


def _two_devices(node: Node, theirs: dict[str, Node]) -> ArgumentError:
    (one, first), (other, second) = list(theirs.items())[:2]
    found = f"{first.name or first.shape} on {one} and {second.name or second.shape} on {other}"
    way = f"x.to({one!r}), or jt.flags.backend = {(one if one != CPU else other)!r}, which copies by itself"
    error = ArgumentError(f"{node.op.name} computes on one device", found, way)
    error.at(node.line, node.scope)
    return error


def plan_there(order: Sequence[Node], held: set[Node], fuse: bool, codegen: Codegen) -> Plan:
    """The plan for a graph, on the device where it is computed. Who has kernels but no compiler makes it itself."""
    device = chosen(current())
    where = places(order, device)
    names = {where[n] for n in order if n.data is None} - {"", CPU}
    device = device_named(names.pop()) if device is None and names else device
    codegen = codegen if device is None else getattr(device, "codegen", (ALGORITHMS[:1], None))
    plan: Plan = getattr(device, "make_plan", make_plan)(order, held, fuse, codegen)
    plan.device = device
    return plan


def arrive(graph: Sequence[Node], wanted: list[Node], context: Context, run: Run) -> list[Node]:
    """Run whatever lies before a move, and the moves; what is left to compute lies on one device.

    `graph` is what lies behind `wanted`, folded or not: where all of it is on one device, nobody has to look inside.
    """
    there = {n.data.device for n in graph if n.data is not None and n.op is not CONSTANT and n.shape}
    if len(there) < 2 and not any(isinstance(n.op, Move) and n.data is None for n in graph):
        return wanted
    held, context.due[:] = list(context.due), []  # those are among the wanted, or not yet due
    try:
        while _moves(wanted, context, run):
            pass
        pending = [n for n in wanted if n.data is None]
        where = places(needed(pending), chosen(context))
        groups = dict.fromkeys(where[n] for n in pending if where[n])
        for name in list(groups)[1:]:
            run([n for n in pending if where[n] == name])
    finally:
        context.due[:] = [*held, *context.due]
    return [n for n in pending if n.data is None]


def _moves(wanted: list[Node], context: Context, run: Run) -> bool:
    """Run what no move is needed for, and the moves that can be done then; False if there are none."""
    order = needed(wanted)
    moves = [n for n in order if n.data is None and isinstance(n.op, Move)]
    where = places(order, chosen(context))  # what is made of numbers alone is made again where it is needed
    after = set(reached(order, set(moves), lambda n: n.inputs if n.data is None else ()))
    before = {i for n in after for i in n.inputs if i not in after and (where[i] or n in moves)}
    run(sorted([n for n in before if n.data is None], key=age))
    for node in moves:
        if node.inputs[0].data is not None:
            assert isinstance(node.op, Move), "they were chosen so"
            node.data = carried(node.inputs[0].data, device_named(node.op.target), node)
            if not node.tracked:
                forget(node)
    return bool(moves)


def carried(data: Any, target: Device | None, node: Node) -> Any:
    """An array on another device; a copy, if it does not lie there already. Open traces are told."""
    source, name = getattr(data, "device", CPU), CPU if target is None else target.device
    if source == name:
        return data
    begin, context = time.perf_counter(), current()
    array = np.ascontiguousarray(np.asarray(data, node.dtype.storage)).reshape(node.shape)
    found = array if target is None else target.from_host(array)
    if context.traces:
        record = Copied(node.id, source, name, array.nbytes, (time.perf_counter() - begin) * 1e3, node.line)
        for t in context.traces:
            t.copies.append(record)
    return found


def owned(node: Node) -> Any:
    """The array of a value, which nobody else writes to: on the CPU a copy, and on a device nobody does."""
    return np.array(node.data) if device_of(node) == CPU else node.data


def bring(target: Device, order: Sequence[Node], arrays: list[Any] | None = None) -> list[Any]:
    """The arrays of a plan on its device: copies, where they do not lie there already. Numbers stay what they are."""
    arrays = [n.data for n in order] if arrays is None else arrays
    for slot, node in enumerate(order):
        array = arrays[slot]
        if array is not None and node.op is not CONSTANT and array.device != target.device:
            arrays[slot] = carried(array, target, node)
            if node.data is array and chosen(current()) is target:  # from here on it lies there, as in Jittor
                node.data = arrays[slot]
    return arrays
