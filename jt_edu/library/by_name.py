"""By name: a backend that runs a kernel for each node, and compiles nothing.

    plan        a step for each node that is needed (work.py says what a node is as a call); reshapes cost nothing
    fallback    what has no kernel is a step of the CPU: arrays come down, a plan of its own runs, the answer goes up

Nothing here knows operators by name, but for those that work.py names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import Program
from jt_edu.base.context import rank_context
from jt_edu.base.errors import BackendError, JtError
from jt_edu.capture.recorded_step import nameless
from jt_edu.codegen.emit_python import Source
from jt_edu.ir.index_check import limits
from jt_edu.ir.meta_ops import CONSTANT, SOURCE, Counter, HostCall
from jt_edu.ir.node import Node
from jt_edu.library.work import Work, counted, work_of
from jt_edu.runtime import plan as plans
from jt_edu.runtime.devices import carried
from jt_edu.runtime.execute import run_steps
from jt_edu.runtime.plan import Bind, Check, Codegen, Plan, Step, compile_plan, make_plan, read_slot

Kernel = Callable[..., Any]
KERNELS: dict[str, dict[str, Kernel]] = {}  # key, such as a device -> name of an operator -> who computes it
FALLBACKS: dict[str, str] = {}  # device -> the device that computes what it has no kernel for


class KernelsByName:
    """A backend that runs kernels of a Library, one for each node, and compiles nothing."""

    def __init__(self, name: str, empty: Kernel, from_host: Kernel, interface: int) -> None:
        self.name = self.device = name
        self.empty, self.from_host, self.interface = empty, from_host, interface
        self.kernels = KERNELS.setdefault(name, {})

    def compile(self, _source: Source) -> Program:
        """Refuse: there is no compiler."""
        raise BackendError(f"{self.name} has kernels for operators, and no compiler", "a text of loops", "lib.impl")

    def launch(self, program: Program, arguments: Sequence[Any], span: int, *_: Any) -> None:
        """Run one kernel."""
        program.call(0, span, *arguments)

    def make_plan(self, order: Sequence[Node], wanted: set[Node], enabled: bool, codegen: Codegen) -> Plan:
        """A step for each node that is needed."""
        slot, needed, works = {n: k for k, n in enumerate(order)}, set(wanted), dict[Node, Work | None]()
        for node in reversed(order):
            if node in needed and node.data is None:
                works[node] = work = work_of(node)
                needed.update(node.inputs if work is None else (*work.inputs, *work.arrays))
        aliases, hosts, steps = dict[int, int](), dict[int, HostCall](), list[Step]()
        for node, work in sorted(works.items(), key=lambda found: slot[found[0]]):
            if work is None:
                aliases[slot[node]] = aliases.get(slot[node.inputs[0]], slot[node.inputs[0]])
            elif (kernel := self._kernel_of(node, work)) is not None:
                steps.append(self._step(node, work, kernel, slot))
            else:
                hosts[slot[node]] = call = self._on_host(node, work)
                steps.append(_host_step(node, call, (*work.inputs, *work.arrays), slot))
        keep = tuple(slot[n] for n in order if n in wanted)
        peak = plans._free_early(steps, aliases, keep, order)
        shapes = {k: n.shape for n, k in slot.items()}
        dtypes = {k: n.dtype.storage for n, k in slot.items()}
        tracked = any(n.tracked for n in order)
        return Plan(steps, aliases, keep, peak, tracked, enabled, codegen[0], shapes, dtypes, hosts, decisions=())

    def _kernel_of(self, node: Node, work: Work) -> Kernel | None:
        bits = any(n.dtype == "bfloat16" for n in (node, *work.inputs))  # NumPy has no such numbers
        return None if bits else self.kernels.get(work.name)

    def _on_host(self, node: Node, work: Work) -> HostCall:
        """Who computes on the CPU what has no kernel here."""
        if isinstance(node.op, HostCall):
            return node.op
        if isinstance(node.op, Counter):
            return HostCall(f"{work.name} (cpu)", partial(counted, node.op.axis, node.shape), by="the CPU")
        if self.name not in FALLBACKS:
            raise self._missing(node, work.name)
        return HostCall(f"{work.name} (cpu)", _on_cpu(node, (*work.inputs, *work.arrays)), by="the CPU")

    def _step(self, node: Node, work: Work, kernel: Kernel, slot: dict[Node, int]) -> Step:
        inputs = (*work.inputs, *work.arrays)
        call = _Call(self, kernel, work, nameless(node), [(i.shape, i.dtype.storage) for i in work.inputs])
        size = sum(math.prod(n.shape) * n.dtype.size for n in (node, *inputs))
        seen = zip((node, *inputs), (work.out, *(work.shapes or [None] * len(inputs))), strict=False)
        binds = [Bind(p, slot[n], shape, False) for p, (n, shape) in enumerate(seen) if n.op is not CONSTANT]
        numbers = tuple((1 + p, slot[n]) for p, n in enumerate(inputs) if n.op is CONSTANT)
        reads = tuple(slot[n] for n in inputs if n.op is not CONSTANT)
        source = Source(f"# {work.name} is a kernel of {self.name}\n", ())
        return Step(
            "code", work.name, source, (), [None] * (1 + len(inputs)), tuple(binds), numbers, (), (slot[node],), reads,
            (slot[node],), 1, False, 0, size, math.prod(node.shape), _checks(node, slot),
            program=Program(call, compiled=False, seconds=0.0, path=None),
        )  # fmt: skip

    def _missing(self, node: Node, name: str) -> JtError:
        known = ", ".join(sorted(self.kernels)) or "no operator"
        way = f'lib.impl({name!r}, kernel, "{self.name}"), or lib.fallback("cpu", "{self.name}")'
        error = BackendError(f"{self.name} has kernels for {known}", f"{name}, which has none", way)
        return error.at(node.line, node.scope)


class _Call:
    """What a step calls: it adds the settings, and makes arrays of numbers."""

    def __init__(self, device: KernelsByName, kernel: Kernel, work: Work, node: Node, kinds: list[Any]) -> None:
        self.device, self.kernel, self.node, self.kinds = device, kernel, node, kinds
        self.settings, self.looks = work.settings, [nameless(n) for n in work.arrays]
        self.known: dict[str, Any] | None = None  # settings that depend on no index array

    def __call__(self, _lo: int, _hi: int, out: Any, *given: Any) -> None:
        count = len(self.kinds)
        inputs = [
            a if hasattr(a, "reshape") else self.device.from_host(np.full(shape, a, dtype))
            for a, (shape, dtype) in zip(given, self.kinds, strict=False)
        ]
        self.kernel(out, *inputs, **self._told(given[count:]))

    def _told(self, arrays: Sequence[Any]) -> dict[str, Any]:
        if self.settings is None:
            return {}
        if self.known is None or arrays:
            down = [np.asarray(carried(a, None, n)) for a, n in zip(arrays, self.looks, strict=True)]
            told = self.settings(*down)
            self.known = {k: self.device.from_host(v) if isinstance(v, np.ndarray) else v for k, v in told.items()}
        return self.known


def _host_step(node: Node, op: HostCall, inputs: Sequence[Node], slot: dict[Node, int]) -> Step:
    size = sum(math.prod(n.shape) * n.dtype.size for n in (node, *inputs))
    return Step(
        "host", op.name, Source(f"# {op.name} is done by {op.by}\n", ()), (), [], (), (), (), (slot[node],),
        tuple(slot[i] for i in inputs), (slot[node],), 1, False, 0, size, 0, _checks(node, slot),
    )  # fmt: skip


def _checks(node: Node, slot: dict[Node, int]) -> tuple[Check, ...]:
    """What the numbers in index arrays must be, before a step relies on them."""
    return tuple(Check(slot[node.inputs[k]], wanted, slot[node]) for k, wanted in limits(node))


def _on_cpu(node: Node, inputs: Sequence[Node]) -> Kernel:
    """A node as a function of NumPy arrays: a plan of its own, for the CPU."""
    with rank_context():  # no trace hears of it
        leaves = {i: Node(CONSTANT if i.op is CONSTANT else SOURCE, (), i.shape, i.dtype, np.empty(0)) for i in inputs}
        twins = dict(leaves)
        for n in _between(node, leaves):
            twins[n] = Node(n.op, tuple(twins[i] for i in n.inputs), n.shape, n.dtype, n.data)
        order = list(twins.values())
        plan, cpu = make_plan(order, {twins[node]}, enabled=True), backends.get("numba")
        compile_plan(plan, cpu)

    first = [inputs.index(i) for i in leaves]  # what is given twice is a leaf once

    def run(*given: Any) -> Any:
        arrays: list[Any] = [n.data for n in order]
        arrays[: len(leaves)] = [given[k] for k in first]
        run_steps(plan, arrays, cpu, order)
        return read_slot(plan, arrays, plan.keep[0])

    return run


def _between(node: Node, leaves: dict[Node, Node]) -> list[Node]:
    """What stands between some nodes and one that was made of them: of a product, more than that one."""
    found, waiting = {node}, [node]
    while waiting:
        for i in waiting.pop().inputs:
            if i not in leaves and i not in found:
                found.add(i)
                waiting.append(i)
    return sorted(found, key=lambda n: n.id)
