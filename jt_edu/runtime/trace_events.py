"""Trace events: what do open traces hear of a run?

    the plan      the decisions that led to it, the peak that it predicts
    each step     its kernel, what it read and stored, its time, what was allocated and freed
    values        what each node is, as a thumbnail, if a trace wants them

A run whose values are wanted stores what would stay in registers, so that it can be looked at. Nothing here computes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from jt_edu.backends import Backend, Program
from jt_edu.base.context import Context
from jt_edu.base.trace import Decision, KernelRun, Line, Memory, Trace
from jt_edu.fusion.fuse import Fuser
from jt_edu.ir.conv_pattern import convolution
from jt_edu.ir.matmul_pattern import Product, matrix_product
from jt_edu.ir.meta_ops import CONSTANT, HostCall, Reindex, ReindexReduce
from jt_edu.ir.node import Node
from jt_edu.runtime.array_summary import value_of
from jt_edu.runtime.plan import Plan, Step, read_slot

LIBRARIES = "cuBLAS", "cuDNN"  # of NVIDIA, which a text imports that leaves something to them
TIMED = re.compile(r"    # ([^:\n]+): (measured .+)")  # what stands above what was found to be the fastest
SEEN = 1 << 20  # elements of the largest value that is stored only to be looked at
SEEN_BYTES = 256 << 20  # of all of them together


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

    The products inside a contraction have no array in any run, and a repeated array says nothing new.
    """
    pending = [n for n in order if n.data is None]
    sums = (n for n in pending if isinstance(n.op, ReindexReduce))
    products = {n.inputs[0] for n in sums if matrix_product(n) or convolution(n)}
    inside = products | {i for p in products for i in p.inputs if isinstance(i.op, Reindex)}
    repeats = (isinstance(n.op, Reindex) and math.prod(n.shape) > math.prod(n.inputs[0].shape) for n in pending)
    return [n for n, again in zip(pending, repeats, strict=True) if n not in inside and not again]


def announce_plan(plan: Plan, order: list[Node], context: Context) -> None:
    """Tell the open traces how the plan came about, and how much memory it predicts."""
    note = launched(plan)
    for t in context.traces:
        t.notes += [note] if note else []
        t.predicted_peak = max(t.predicted_peak, plan.peak)
        t.decisions += [
            Decision(order[d.source].id, order[d.target].id, d.fused, d.rule, d.reason)
            for d in decisions_of(plan, order)
        ]


def launched(plan: Plan) -> str:
    """How the kernels of a plan are launched on its device when nobody watches; empty where there is nothing to say."""
    return plan.device.launched(plan) if hasattr(plan.device, "launched") else ""


def calls_of(step: Step, node: Node) -> tuple[str, ...]:
    """What a step leaves to others: a product to BLAS, a host call to whoever does it."""
    if libraries := libraries_of(step.source.text):
        return libraries
    return ("BLAS",) if step.way[0] == "BLAS" else (node.op.by,) if isinstance(node.op, HostCall) else ()


def libraries_of(text: str) -> tuple[str, ...]:
    """Which libraries of NVIDIA compute a part of a text."""
    return tuple([name for name in LIBRARIES if f"from jt_edu.cuda.{name.lower()} import" in text])


def algorithm_of(step: Step) -> tuple[str, str]:
    """Which algorithm a convolution or a product runs, and why; two empty texts for anything else."""
    if timed := TIMED.search(step.source.text):
        return timed[1], timed[2]
    if libraries := libraries_of(step.source.text):
        return " and ".join(libraries), ", ".join(f"jt.flags.{name.lower()} is True" for name in libraries)
    return step.way if step.own is None else (step.own.algorithm.name, step.own.reason)


def announce_step(
    step: Step, order: list[Node], context: Context, backend: Backend, fresh: Program | None, elapsed: float,
    arrays: list[Any], alive: int,
) -> int:  # fmt: skip
    """Tell the open traces what a step did; `alive` bytes are held by this run before and, as the answer, after it."""
    lines = tuple(Line(number, order[s].id, order[s].op.name, order[s].line) for number, s in step.lines)
    program = fresh or step.program
    record = KernelRun(
        step.name, step.source.text, lines,
        tuple(order[s].id for s in step.slots), tuple(order[s].id for s in step.outputs),
        backend.name, bool(fresh and fresh.compiled), fresh.seconds if fresh else 0.0, elapsed,
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


def decisions_of(plan: Plan, order: Sequence[Node]) -> tuple[Decision, ...]:
    """Which edges were fused or cut, and by which rule. A plan does without, so they are made when somebody asks."""
    if plan.decisions is None:
        pending, kept = [n for n in order if n.data is None], {order[k] for k in plan.keep}
        fuser = Fuser(pending, kept, plan.fused, plan.algorithms)
        fuser.run()
        slot, places = {n: k for k, n in enumerate(order)}, _places(fuser)
        edges = [(i, n) for n in pending for i in dict.fromkeys(n.inputs) if i.data is None]
        plan.decisions = tuple([Decision(slot[i], slot[n], *_decision(fuser, i, n, places)) for i, n in edges])
    return plan.decisions


def _places(fuser: Fuser) -> dict[Node, set[int]]:
    """The kernels in which each node is computed: its own, or those of everything that it is inlined into."""
    places: dict[Node, set[int]] = {}
    for node in reversed(fuser.order):
        inlined = set().union(*(places[r] for r in fuser.readers[node]))
        places[node] = {fuser.home[node]} if node in fuser.home else inlined
    return places


def _decision(fuser: Fuser, i: Node, node: Node, places: dict[Node, set[int]]) -> tuple[bool, str, str]:
    """Of the edge from `i` to `node`: whether it was fused, by which rule, and why."""
    if node in fuser.beside:
        return True, "same loops", f"each number is written where {node.op.name} wants it, as soon as it is computed"
    if i not in fuser.why and not isinstance(i.op, ReindexReduce):
        found = next((fuser.contractions[r] for r in (node, *fuser.readers[node]) if r in fuser.contractions), None)
        if isinstance(found, Product):
            return True, "contraction", "this is a matrix product; BLAS reads it as one"
        if found is not None:
            return True, "contraction", "this is a convolution; one algorithm computes all of it"
        rule = {"reindex": "view", "index": "counter"}.get(i.op.kind, "elementwise chain")
        return True, rule, f"{i.op.name} is computed where {node.op.name} needs it"
    if node in fuser.root:
        return True, "alias", "a reshape of an array is the same memory"
    together = i not in fuser.root and places[node] == places[i]
    if i in fuser.blocks and not (together and isinstance(i.op, ReindexReduce) and i not in fuser.contractions):
        return True, "row blocks", f"a block of its rows stays in the cache until {node.op.name} has read it"
    if together and isinstance(i.op, ReindexReduce):
        reason = f"{node.op.name} uses each {i.op.name} as soon as it is complete, in the same kernel"
        return True, "outer loops", reason
    rule, reason = fuser.why.get(i, ("reduction", f"{i.op.name} is complete only after its last iteration"))
    if together:
        words = f"{i.op.name} is stored ({rule}), and {node.op.name} in the same loop need not read it back"
        return True, "same loops", words
    return False, rule, reason
