"""Execute: from nodes to numbers.

alone      one operator on arrays, whose like was run before: nothing below has to be searched
key        the structure of the graph behind what is wanted, folded as it is, without its arrays
order      of a new one only: every pending node, inputs first; else remembered beside the key
plan       fused, written and compiled; or found under the key
run        step by step: bind arrays, launch the kernel, free what nobody reads any more
settle     give the learner's nodes their arrays, and forget the history that nobody can ask for

Open traces are told of every step; if they want values, what would stay in registers is stored, to be looked at.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from jt_edu import backends
from jt_edu.backends import Backend, Program
from jt_edu.backends.convolve.options import DEFAULT, NAME, plan_key
from jt_edu.backends.thread_pool import threads
from jt_edu.base.allocator import no_room
from jt_edu.base.context import Context, current
from jt_edu.base.errors import ArgumentError, JtError, KernelError
from jt_edu.ir.index_check import check_numbers
from jt_edu.ir.meta_ops import CONSTANT, SOURCE
from jt_edu.ir.node import OFTEN, Node, age, behind, callers_line, describe_line, forget, look_back, needed
from jt_edu.runtime.conv_step import run_convolution
from jt_edu.runtime.determinism import determine
from jt_edu.runtime.devices import ABROAD, arrive, bring, carried, plan_there
from jt_edu.runtime.plan import ON_CPU, ROW, Check, Plan, Step, compile_plan, make_plan, read_slot
from jt_edu.runtime.trace_events import announce_plan, announce_step, seen_by_traces, tell_values

Outline = tuple[ref[Plan], list[int], list[Node]]  # a plan, the position of the node in each slot, numbers of its own
PLANS = 1024  # how many structures are remembered
PARALLEL = 200_000.0  # weighted operations from which on a second thread is worth waking
STILL = threading.RLock()  # held while a graph is planned: meanwhile no other thread hands arrays to its nodes
AGAIN = 3  # runs, after which a plan is worth writing down
if hasattr(os, "register_at_fork"):  # who forks must not do it while another thread plans
    os.register_at_fork(before=STILL.acquire, after_in_parent=STILL.release, after_in_child=STILL.release)
failed: Callable[[Sequence[Node], Node], Any] = lambda *_: None  # noqa: E731 - variable/index_bounds.py puts its own here
written_down: Callable[[Plan, Backend], Any] = lambda *_: None  # noqa: E731 - plan_source.py puts its own here


def run(wanted: Sequence[Node], numbers_for: str = "") -> None:
    """Compute `wanted`, and what is due. While a step is captured nothing runs; who needs numbers then is told so."""
    context = current()
    context.runs += 1
    capture = context.threads.now.capture
    if capture is not None:
        if numbers_for and any(n.data is None or (n.op is SOURCE and n.id < capture.begin) for n in wanted):
            raise ArgumentError(
                "a step is captured without being run, so it has no numbers yet", f"{numbers_for} inside jt.compile",
                "return the Var, and look at it outside; instead of x[mask], jt.where(mask, x, other)",
            ).at(describe_line(callers_line()))  # fmt: skip
        return
    for node in wanted:  # a loop, since a comprehension is one more call
        if node.data is None:
            break
    else:
        return
    if len(wanted) == 1 and not context.due and not context.traces and _run_alone(node, context):
        return
    pending = [n for n in (*context.due, *wanted) if n.data is None]
    if context.traces:
        pending = arrive(needed(pending), pending, context, run) if ABROAD else pending
        _run_watched(needed(pending), pending, context)
    else:
        plan, order = recall(pending, context)
        arrays = run_plan(plan, order, context)
        settle(order if plan.tracked else (), [(order[k], read_slot(plan, arrays, k)) for k in plan.keep])
    context.due[:] = [n for n in context.due if n.data is None]  # what another thread has added meanwhile


def _run_alone(node: Node, context: Context) -> bool:
    """One operator on arrays that are there, whose like was run before: the shortest way; False if it is none.

    What `recall`, `run_plan` and `settle` do for any graph, where there is nothing to search.
    """
    ways, maker, inputs, flags = context.rank_state.get("alone"), node.op, node.behind, context.flags
    if ways is None or node.tape is not None:  # who gives its gradient is settle's business
        return False
    if type(inputs) is not tuple:
        maker, inputs = inputs.template, inputs.inputs
    key, found = [maker, node.shape, node.dtype, backends.get(flags.backend), flags.fuse], [node]
    for i in inputs:
        if i.data is None:
            return False
        if i not in found:
            found.append(i)
            key += (i.dtype, i.op is CONSTANT or i.shape, getattr(i.data, "device", "") if ABROAD else "")
        else:  # the same twice
            key.append(found.index(i))
    if NAME in context.rank_state:
        key.append(plan_key(context))
    kind = tuple(key)
    way = ways.get(kind) or _way_alone(node, kind, ways, context)
    plan = None if way is None else way[0]()
    if way is None or plan is None or plan.page is None:
        ways.pop(kind, None)
        return False
    found += way[2]
    order = [found[k] for k in way[1]]
    arrays = [n.data for n in order]
    plan.page.run(arrays, order)
    plan.used, answer = node.id, read_slot(plan, arrays, plan.keep[0])
    with STILL:
        node.data = answer
        if not (node.tracked and [i for i in found if i.tracked and i is not node and _leads(i, node, found)]):
            node.behind = ()
    return True


def _way_alone(node: Node, kind: tuple[Any, ...], ways: dict[Any, Outline], context: Context) -> Outline | None:
    """What was remembered for any graph like this one; from now on it is found by the kind of its operator."""
    way: Outline | None = context.rank_state.get("outlines", {}).get(structure([node], context)[0])
    if way is not None:
        if len(ways) >= PLANS:
            ways.clear()
        ways[kind] = way
    return way


def _run_watched(order: list[Node], pending: list[Node], context: Context) -> None:
    """The same, and open traces are told what they want to know."""
    watched = seen_by_traces(order, context)
    plan = plan_for(order, [*pending, *sorted(watched, key=age)], context)
    arrays = run_plan(plan, order, context)
    tell_values(order, plan, arrays, watched, context.traces)
    settle(order, [(order[k], read_slot(plan, arrays, k)) for k in plan.keep if order[k] not in watched])


def recall(wanted: list[Node], context: Context) -> tuple[Plan, list[Node]]:
    """The plan for what is pending behind `wanted`, and the node in each slot, inputs first.

    A graph that was seen before is walked once, folded as it is: the positions of its nodes in the plan are remembered.
    One inside a folded copy is given the copy's last node: nobody asks it for an array. Only constants inside
    copies are kept as nodes, since kernels read their numbers; those of a template never change.
    """
    found = [*wanted]
    key, spots = structure(found, context)
    outlines: dict[Any, Outline] = context.rank_state.setdefault("outlines", {})
    known = outlines.get(key)
    plan = known[0]() if known is not None else None
    if known is not None and plan is not None:
        plan.used = next(context.ids)
        found += known[2]
        return plan, [found[k] for k in known[1]]
    wanted = arrive(found, wanted, context, run) if ABROAD else wanted
    with STILL:
        found = [*wanted]
        key, spots = structure(found, context)
        order, position, positions, numbers = needed(wanted), 0, list[int](), list[Node]()
        for node in reversed(order):
            position = spots.get(node, position)
            if node.op is CONSTANT and node not in spots:
                positions.append(len(found) + len(numbers))
                numbers.append(node)
            else:
                positions.append(position)
        plan = plan_for(order, wanted, context)
    if len(outlines) >= PLANS:
        outlines.pop(next(iter(list(outlines))), None)
    outlines[key] = ref(plan), positions[::-1], numbers
    return plan, order


def plan_for(order: list[Node], wanted: Sequence[Node], context: Context) -> Plan:
    """The plan of a graph: remembered by structure, made when it is new."""
    for node in wanted:
        node.holders += 1  # what is asked for is kept
    try:
        with STILL:
            key = structure(order, context)[0]
            plans: dict[Any, Plan] = context.rank_state.setdefault("plans", {})
            plan = plans.get(key)
            if plan is None:
                held = {n for n in order if n.data is None and (n.holders or n.runs >= OFTEN)}
                wishes = context.rank_state.get(NAME, DEFAULT)
                codegen = getattr(key[0], "codegen", ON_CPU[wishes.enabled])
                plan = (plan_there if ABROAD else make_plan)(order, held, context.flags.fuse, codegen)
                if wishes.deterministic:
                    determine(plan, order, wishes.strict)
                if len(plans) >= PLANS:  # several at once: to look for the oldest costs a millisecond
                    for old, _ in sorted(plans.items(), key=lambda entry: entry[1].used)[: 1 + PLANS // 16]:
                        del plans[old]
                plans[key] = plan
        plan.used = next(context.ids)
        return plan
    finally:
        for node in wanted:
            node.holders -= 1


def structure(order: list[Node], context: Context) -> tuple[tuple[Any, ...], dict[Node, int]]:
    """What two graphs have in common if one plan serves both, and the slot of each node.

    That is: operators, edges, shapes of leaves, what is held, and what takes part in gradients. What nodes read that
    are not in `order` is added to it. For a folded node its template says all.
    """
    wishes = plan_key(context) if NAME in context.rank_state else None
    key: list[Any] = [backends.get(context.flags.backend), context.flags.fuse, wishes, len(order)]
    add = key.append
    slot: dict[Node, int] = {}
    for number, node in enumerate(order):
        slot[node] = number  # noqa: PERF403 - a comprehension is one more call, in each run of each graph
    for node in order:  # grows meanwhile
        if node.data is None:
            op: Any = node.op
            inputs = node.behind
            if type(inputs) is not tuple:
                op, inputs = inputs.template, inputs.inputs
            key += (op, node.holders > 0 or node.runs >= OFTEN, node.tracked)
            for i in inputs:
                at = slot.get(i)
                if at is None:
                    at = slot[i] = len(order)
                    order.append(i)
                add(at)
            if not inputs or op.kind in ("code", "hostcall"):
                key += (node.shape, node.dtype)
        elif node.op is CONSTANT:
            add(node.dtype)
        else:  # where an array came from does not matter any more
            key += (node.shape, node.dtype, node.tracked, node.data.device if ABROAD else "")
    return tuple(key), slot


def run_plan(plan: Plan, order: list[Node], context: Context) -> list[Any]:
    """The array of each slot, after all steps have run; freed ones are None."""
    fresh = {} if plan.compiled else compile_plan(plan, plan.device or backends.get(context.flags.backend))
    backend = plan.backend
    assert backend is not None, "somebody compiled the plan"
    if plan.page is not None and not context.traces:
        plan.page.run(found := [n.data for n in order], order)
        return found
    arrays: list[Any] = [n.data for n in order] if plan.device is None else bring(plan.device, order)
    if not context.traces:
        run_steps(plan, arrays, backend, order)
        plan.runs += 1
        if plan.runs == AGAIN:  # nothing else may change the page: another thread may have written it meanwhile
            plan.page = written_down(plan, backend)
            context.rank_state.setdefault("alone", {})  # from here on a shortest way may be known
        return arrays
    announce_plan(plan, order, context)
    alive = 0
    for number, step in enumerate(plan.steps):
        begin = time.perf_counter()
        run_step(step, plan, arrays, backend, order)
        elapsed = (time.perf_counter() - begin) * 1e3
        alive = announce_step(step, order, context, backend, fresh.get(number), elapsed, arrays, alive)
        free(step, arrays)
    return arrays


def run_steps(plan: Plan, arrays: list[Any], backend: Backend, order: list[Node]) -> None:
    """All steps of a compiled plan, one after the other."""
    for step in plan.steps:
        run_step(step, plan, arrays, backend, order)
        free(step, arrays)


def free(step: Step, arrays: list[Any]) -> None:
    """Let go of what nobody reads any more."""
    for slot in (*step.frees, *step.drops):
        arrays[slot] = None


def run_step(step: Step, plan: Plan, arrays: list[Any], backend: Backend, order: list[Node]) -> None:
    """Check index arrays, make room, run one step; errors name the learner's line."""
    for check in step.checks:
        check_indices(check, np.asarray(read_slot(plan, arrays, check.slot)), order)
    try:
        _run_step(step, plan, arrays, backend, order)
    except JtError as error:
        raise error.at((node := order[step.slots[-1]]).line, node.scope) from None
    except Exception as error:
        raise _explain(error, step, plan, order) from error


def _run_step(step: Step, plan: Plan, arrays: list[Any], backend: Backend, order: Sequence[Node]) -> None:
    if step.kind == "host":
        _run_on_host(step, plan, arrays, order)
        return
    program = step.program
    assert program is not None, "steps are compiled before they run"
    for slot in step.outputs:
        arrays[slot] = backend.empty(plan.shapes[slot], plan.dtypes[slot])
    arguments: list[Any] = step.arguments.copy()
    for position, slot, shape, halves in step.binds:
        array = arrays[slot]
        if array is None:
            array = read_slot(plan, arrays, slot)
        if halves:
            array = array.view(np.uint16)
        arguments[position] = array if shape is None else array.reshape(shape)
    for position, slot in step.numbers:
        arguments[position] = arrays[slot]
    if step.own is not None:
        sums = [(position, shape, arrays[slot]) for position, shape, _, slot in step.scratch]
        run_convolution(step.own, (step.prepare, program, step.gather), arguments, step.span, sums, backend)
    elif step.scratch:
        _run_with_scratch(step, program, arguments, backend)
    elif step.work < PARALLEL:
        program.call(0, step.span, *arguments)
    else:
        backend.launch(program, arguments, step.span)


def _run_with_scratch(step: Step, program: Program, arguments: list[Any], backend: Backend) -> None:
    """Kernels with accumulators of their own: one set per thread, or a row that is worked on piece by piece."""
    shared_out = step.work >= PARALLEL and not step.blocks
    cells, room = dict[int, Any](), backend.empty if hasattr(backend, "device") else np.empty  # one sum, several shapes
    for position, shape, dtype, slot in step.scratch:
        one = (min(math.prod(shape), ROW),) if step.blocks else shape
        size = (threads(), *one) if shared_out else one
        if slot not in cells:
            cells[slot] = room((math.prod(size),), np.dtype(dtype))
        arguments[position] = cells[slot].reshape(size)
    if shared_out:
        backend.launch(program, arguments, step.span, [s[0] for s in step.scratch])
    elif not step.blocks:
        program.call(0, step.span, *arguments)
    for low in range(0, step.span, ROW) if step.blocks else ():
        program.call(low, min(low + ROW, step.span), *arguments)


def _run_on_host(step: Step, plan: Plan, arrays: list[Any], order: Sequence[Node]) -> None:
    op, slot = plan.hosts[step.slots[0]], step.outputs[0]
    given = [carried(read_slot(plan, arrays, i), None, order[i]) for i in step.inputs]
    result = np.ascontiguousarray(np.asarray(op.run(*given)), plan.dtypes[slot]).reshape(plan.shapes[slot])
    arrays[slot] = carried(result, plan.device, order[slot])


def check_indices(check: Check, indices: Any, order: Sequence[Node]) -> None:
    """Index arrays and class numbers are checked before a kernel relies on them."""
    try:
        check_numbers(indices, check.limits, order[check.node])
    except JtError:
        failed(order, order[check.node])
        raise


def _explain(error: Exception, step: Step, plan: Plan, order: list[Node]) -> Exception:
    node = order[step.slots[-1]]
    if isinstance(error, MemoryError) or "Maximum allowed dimension" in str(error):
        size, large = max((math.prod(plan.shapes[s]) * plan.dtypes[s].itemsize, s) for s in step.outputs)
        return no_room(step.name, plan.shapes[large], size).at(node.line, node.scope)
    found = f"{type(error).__name__}: {error}"
    return KernelError(f"the kernel {step.name} could not run", found).at(node.line, node.scope)


def settle(order: Sequence[Node], kept: Sequence[tuple[Node, Any]]) -> None:
    """Hand the arrays to the nodes that keep them; cut history that leads to nothing the learner holds.

    Where nothing that is held lies behind a value, a gradient will not compute it anew, so who computes it again and
    again is another run: it is counted, and kept the third time (decision 011). In `order` may be left out what takes
    part in no gradient.
    """
    with STILL:
        reachable, leading = set[Node](), set[Node]()  # leading: the learner can still differentiate by what is behind
        for node in order:
            if node.tracked and node.data is not None:
                if ((node.behind or node.tape) and look_back(node, order[-1])) or node.holders:  # most have neither
                    reachable.add(node)
            elif node.tracked:
                for i in node.behind if node.tape is None else behind(node):
                    if i in reachable or (i.tracked and _leads(i, node, order)):
                        leading.add(node)
                        node.look = max(node.look, i.look)
                if node.holders or node in leading:
                    reachable.add(node)
            node.runs += node.dtype.is_float and node not in leading
        for node, array in kept:
            node.data = array
            if node not in leading:
                forget(node)
            elif node.tape is not None:
                node.behind = ()


def _leads(source: Node, node: Node, order: Sequence[Node]) -> bool:
    """Whether the learner can still differentiate by what lies behind a node that this run did not compute.

    A Function may be given what its numbers were not computed from: that is still pending, and not in `order`.
    """
    if source.data is None:
        return node.tape is not None and source not in order
    return look_back(source, node) or source.holders > 0
