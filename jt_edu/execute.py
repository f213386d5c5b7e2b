"""Execute: from nodes to numbers, on one page.

order      every pending node behind what is wanted, inputs first
key        the structure of that graph, without its arrays
plan       fused, written and compiled; or found under the key
run        step by step: bind arrays, launch the kernel, free what nobody reads any more
settle     give the learner's nodes their arrays, and forget the history that nobody can ask for

Open traces are told of every step; if they want values, what would stay in registers is stored, to be looked at.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import Backend, Program
from jt_edu.backends.convolve.options import DEFAULT, NAME, plan_key
from jt_edu.backends.pool import threads
from jt_edu.convolution import convolution
from jt_edu.convolving import run_convolution
from jt_edu.determined import determine
from jt_edu.errors import ArgumentError, JtError, KernelError, RangeError
from jt_edu.graph import Node, age
from jt_edu.memory import no_room
from jt_edu.meta import CONSTANT, HostCall, Reindex, ReindexReduce
from jt_edu.plan import ROW, Check, Plan, Step, compile_plan, decisions_of, make_plan
from jt_edu.relay import matrix_product
from jt_edu.settings import Context, current
from jt_edu.thumbnail import value_of
from jt_edu.trace import Decision, KernelRun, Line, Memory, Trace

PLANS = 1024  # how many structures are remembered
PARALLEL = 200_000.0  # weighted operations from which on a second thread is worth waking
SEEN = 1 << 20  # elements of the largest value that is stored only to be looked at
SEEN_BYTES = 256 << 20  # of all of them together


def run(wanted: Sequence[Node], numbers_for: str = "") -> None:
    """Compute every node in `wanted`, and those that are due. While a step is captured nothing runs.

    Who needs numbers then is told so.
    """
    pending = [n for n in wanted if n.data is None]
    if not pending:
        return
    context = current()
    if context.capture is not None:
        if numbers_for:
            raise ArgumentError(
                "a step is captured without being run, so it has no numbers yet", f"{numbers_for} inside of jt.compile",
                "return the Var, and look at it outside",
            ).at(pending[0].line)  # fmt: skip
        return
    pending = [n for n in dict.fromkeys((*context.due, *pending)) if n.data is None]
    order = needed(pending)
    watched = seen_by_traces(order, context) if context.traces else set()
    plan = plan_for(order, [*pending, *sorted(watched, key=age)] if watched else pending, context)
    arrays = run_plan(plan, order, context)
    if context.traces:
        tell_values(order, plan, arrays, watched, context.traces)
    kept = [slot for slot in plan.keep if order[slot] not in watched]
    settle(order, [(order[slot], read_slot(plan, arrays, slot)) for slot in kept])
    context.due.clear()


def tell_values(order: list[Node], plan: Plan, arrays: list[Any], watched: set[Node], traces: Sequence[Trace]) -> None:
    """Tell those of the traces that want it what the nodes are: those `watched`, what is kept, and the leaves."""
    traces = [t for t in traces if t.wants_values]
    for slot, node in enumerate(order if traces else ()):
        if node in watched or slot in plan.keep or (node.data is not None and node.op is not CONSTANT):
            value = value_of(node.id, np.asarray(read_slot(plan, arrays, slot)), str(node.dtype))
            for t in traces:
                t.values.append(value)


def seen_by_traces(order: list[Node], context: Context) -> set[Node]:
    """The pending nodes whose values an open trace wants, and that nobody holds.

    None has more than SEEN elements, and together they have at most SEEN_BYTES: the largest are left out.
    """
    if not any(t.wants_values for t in context.traces):
        return set()
    sizes = sorted((math.prod(n.shape) * n.dtype.size, n.id, n) for n in worth_seeing(order) if not n.holders)
    total = accumulate(size for size, _, _ in sizes)
    fit = [n for (_, _, n), so_far in zip(sizes, total, strict=True) if so_far <= SEEN_BYTES]
    return {n for n in fit if math.prod(n.shape) <= SEEN}


def worth_seeing(order: list[Node]) -> list[Node]:
    """The pending nodes that have a value of their own.

    The products inside of a contraction have no array in any run, and a repeated array says nothing new.
    """
    pending = [n for n in order if n.data is None]
    sums = [n for n in pending if isinstance(n.op, ReindexReduce)]
    inside = {i for n in sums if matrix_product(n) or convolution(n) for i in _product_parts(n)}
    return [n for n in pending if n not in inside and not _repeats(n)]


def _product_parts(node: Node) -> tuple[Node, ...]:
    product = node.inputs[0]
    return (product, *(i for i in product.inputs if isinstance(i.op, Reindex)))


def _repeats(node: Node) -> bool:
    """Whether a view is larger than what it looks at."""
    return isinstance(node.op, Reindex) and math.prod(node.shape) > math.prod(node.inputs[0].shape)


def needed(wanted: Sequence[Node]) -> list[Node]:
    """The pending nodes behind `wanted`, and the leaves that they read, each after its inputs."""
    seen = set(wanted)
    waiting = list(wanted)
    while waiting:
        for i in waiting.pop().inputs:
            if i not in seen:
                seen.add(i)
                if i.data is None:
                    waiting.append(i)
    return sorted(seen, key=age)


def plan_for(order: list[Node], wanted: Sequence[Node], context: Context) -> Plan:
    """The plan of a graph: remembered by structure, made when it is new."""
    for node in wanted:
        node.holders += 1  # what is asked for is kept
    try:
        key, _ = structure(order, context)
        plans: dict[Any, Plan] = context.rank_state.setdefault("plans", {})
        plan = plans.get(key)
        if plan is None:
            held = {n for n in order if n.data is None and n.holders}
            wishes = context.rank_state.get(NAME, DEFAULT)
            plan = make_plan(order, held, context.flags.fuse, wishes.enabled)
            if wishes.deterministic:
                determine(plan, order, wishes.strict)
            plans[key] = plan
            plan.used = next(context.ids)
            if len(plans) > PLANS:
                oldest = min(list(plans.items()), key=lambda entry: entry[1].used)  # a copy: other threads add plans
                plans.pop(oldest[0], None)
        plan.used = next(context.ids)
        return plan
    finally:
        for node in wanted:
            node.holders -= 1


def structure(order: list[Node], context: Context) -> tuple[tuple[Any, ...], dict[Node, int]]:
    """What two graphs have in common if one plan serves both, and the slot of each node.

    That is: operators, edges, shapes of leaves, what is held, and what takes part in gradients.
    """
    wishes = plan_key(context) if NAME in context.rank_state else None
    key: list[Any] = [backends.get(context.flags.backend), context.flags.fuse, wishes]
    add = key.append
    slot: dict[Node, int] = {}
    for number, node in enumerate(order):
        slot[node] = number
        if node.data is None:
            op = node.op
            add(op)
            add(node.holders > 0)
            add(node.tracked)
            for i in node.inputs:
                add(slot[i])
            if not node.inputs or op.kind in ("code", "hostcall"):
                add((node.shape, node.dtype))
        elif node.op is CONSTANT:
            add(node.dtype)
        else:  # where an array came from does not matter any more
            add(node.shape)
            add(node.dtype)
            add(node.tracked)
    return tuple(key), slot


def run_plan(plan: Plan, order: list[Node], context: Context) -> list[Any]:
    """The array of each slot, after all steps have run; freed ones are None."""
    backend = backends.get(context.flags.backend)
    fresh = {} if plan.compiled else compile_plan(plan, backend)
    arrays: list[Any] = [n.data for n in order]
    if not context.traces:
        run_steps(plan, arrays, backend, order)
        return arrays
    _announce_plan(plan, order, context)
    alive = 0
    for number, step in enumerate(plan.steps):
        begin = time.perf_counter()
        run_step(step, plan, arrays, backend, order)
        elapsed = (time.perf_counter() - begin) * 1e3
        alive = _announce_step(step, order, context, fresh.get(number), elapsed, arrays, alive)
        free(step, arrays)
    return arrays


def run_steps(plan: Plan, arrays: list[Any], backend: Backend, order: list[Node]) -> None:
    """All steps of a compiled plan, one after the other."""
    for step in plan.steps:
        run_step(step, plan, arrays, backend, order)
        free(step, arrays)


def free(step: Step, arrays: list[Any]) -> None:
    """Let go of what nobody reads any more."""
    for slot in step.frees:
        arrays[slot] = None
    for slot in step.drops:
        arrays[slot] = None


def run_step(step: Step, plan: Plan, arrays: list[Any], backend: Backend, order: list[Node]) -> None:
    """Check index arrays, make room, run one step; errors name the learner's line."""
    for check in step.checks:
        _check_indices(check, read_slot(plan, arrays, check.slot), order[check.node])
    try:
        _run_step(step, plan, arrays, backend)
    except JtError as error:
        raise error.at(order[step.slots[-1]].line) from None
    except Exception as error:
        raise _explain(error, step, order) from error


def _run_step(step: Step, plan: Plan, arrays: list[Any], backend: Backend) -> None:
    if step.kind == "host":
        _run_on_host(step, plan, arrays)
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
        run_convolution(step.own, step.prepare, program, arguments, step.span, backend)
    elif step.scratch:
        _run_with_scratch(step, program, arguments, backend)
    elif step.work < PARALLEL:
        program.call(0, step.span, *arguments)
    else:
        backend.launch(program, arguments, step.span)


def _run_with_scratch(step: Step, program: Program, arguments: list[Any], backend: Backend) -> None:
    """Kernels with accumulators of their own: one set per thread, or a row that is worked on piece by piece."""
    small = step.work < PARALLEL
    rows = 1 if step.blocks or small else threads()
    cells: dict[int, Any] = {}  # one sum may be looked at under several shapes
    for position, shape, dtype, slot in step.scratch:
        size = min(math.prod(shape), ROW) if step.blocks else math.prod(shape)
        if slot not in cells:
            cells[slot] = np.empty((rows, size), dtype)
        one = rows == 1 and (step.blocks or small)
        arguments[position] = (
            (cells[slot][0] if step.blocks else cells[slot][0].reshape(shape))
            if one
            else cells[slot].reshape(rows, *shape)
        )
    if step.blocks:
        for low in range(0, step.span, ROW):
            program.call(low, min(low + ROW, step.span), *arguments)
    elif small:
        program.call(0, step.span, *arguments)
    else:
        backend.launch(program, arguments, step.span, [s[0] for s in step.scratch])


def _run_on_host(step: Step, plan: Plan, arrays: list[Any]) -> None:
    op, slot = plan.hosts[step.slots[0]], step.outputs[0]
    assert isinstance(op, HostCall), "only host calls run on the host"
    result = np.asarray(op.run(*(read_slot(plan, arrays, i) for i in step.inputs)))
    arrays[slot] = np.ascontiguousarray(result, plan.dtypes[slot]).reshape(plan.shapes[slot])


def read_slot(plan: Plan, arrays: list[Any], slot: int) -> Any:
    """The array of a slot; a reshape is the same memory under its own shape."""
    array = arrays[slot]
    if array is None and slot in plan.aliases:
        array = arrays[slot] = arrays[plan.aliases[slot]].reshape(plan.shapes[slot])
    return array


def _check_indices(check: Check, indices: Any, node: Node) -> None:
    """Index arrays and class numbers are checked before a kernel relies on them."""
    if indices.size == 0 or (check.low <= indices.min() and indices.max() < check.high):
        return
    bad = indices[((indices < check.low) | (indices >= check.high)) & (indices != check.also)]
    if bad.size and indices.dtype.kind == "f":
        raise ArgumentError(f"{node.op.name} takes numbers from {check.low} to {check.also}", f"{bad[0]}").at(node.line)
    if bad.size:
        raise RangeError(
            f"{node.op.name} reads whole numbers from {check.low} to {check.high - 1}", f"the index {bad[0]}",
            f"an index from {check.low} to {check.high - 1}",
        ).at(node.line)  # fmt: skip


def _explain(error: Exception, step: Step, order: list[Node]) -> Exception:
    node = order[step.slots[-1]]
    if isinstance(error, MemoryError):
        large = max((order[s] for s in step.outputs), key=lambda n: math.prod(n.shape) * n.dtype.size)
        return no_room(step.name, large.shape, math.prod(large.shape) * large.dtype.size).at(node.line)
    return KernelError(f"the kernel {step.name} could not run", f"{type(error).__name__}: {error}").at(node.line)


def settle(order: Sequence[Node], kept: Sequence[tuple[Node, Any]]) -> None:
    """Hand the arrays to the nodes that keep them; cut history that leads to nothing the learner holds."""
    for node, array in kept:
        node.data = array
    reachable: set[Node] = set()
    leading: set[Node] = set()  # something that the learner can still differentiate by lies behind them
    for node in order:
        if node.tracked:
            for i in node.inputs:
                if i in reachable or (i.data is not None and i.inputs and i.tracked):
                    leading.add(node)
                    break
            if node.holders or node in leading:
                reachable.add(node)
    for node, _ in kept:
        if node.tape is not None or node not in leading:
            node.inputs = ()


def _announce_plan(plan: Plan, order: list[Node], context: Context) -> None:
    for t in context.traces:
        t.predicted_peak = max(t.predicted_peak, plan.peak)
        t.decisions += [
            Decision(order[d.source].id, order[d.target].id, d.fused, d.rule, d.reason)
            for d in decisions_of(plan, order)
        ]


def calls_of(step: Step, node: Node) -> tuple[str, ...]:
    """What a step leaves to others: a product to BLAS, a host call to whoever does it."""
    return ("BLAS",) if step.way[0] == "BLAS" else (node.op.by,) if isinstance(node.op, HostCall) else ()


def algorithm_of(step: Step) -> tuple[str, str]:
    """Which algorithm a convolution or a product runs, and why; two empty texts for anything else."""
    return step.way if step.own is None else (step.own.algorithm.name, step.own.reason)


def _announce_step(
    step: Step, order: list[Node], context: Context, fresh: Program | None, elapsed: float,
    arrays: list[Any], alive: int,
) -> int:  # fmt: skip
    """Tell the open traces what a step did; `alive` bytes are held by this run before and, as the answer, after it."""
    lines = tuple(Line(number, order[s].id, order[s].op.name, order[s].line) for number, s in step.lines)
    program = fresh or step.program
    record = KernelRun(
        step.name, step.source.text, lines,
        tuple(order[s].id for s in step.slots), tuple(order[s].id for s in step.outputs),
        context.flags.backend, bool(fresh and fresh.compiled), fresh.seconds if fresh else 0.0, elapsed,
        step.bytes, step.flops,
        calls_of(step, order[step.slots[0]]), str(program.path or "") if program else "",
        step.kind, tuple(order[s].id for s in step.inputs), step.written is not None, step.key, *algorithm_of(step),
    )  # fmt: skip
    moves = []
    for sign, word, slots in ((1, "allocate", step.outputs), (-1, "free", step.frees)):
        for s in slots:
            size = arrays[s].nbytes
            alive += sign * size
            moves.append((word, order[s].id, size, alive))
    for t in context.traces:
        t.memory += [Memory(*move, kernel=len(t.kernels)) for move in moves]
        t.kernels.append(record)
    return alive
