"""Library: kernels for a device, operator by operator, from a package that jt_edu does not know.

    lib = Library("jt", "IMPL")                       kernels for jt's own operators
    lib.impl("add", add, "npu_sim")                   add(out, x, y) writes x + y into out: arrays of the device
    lib.fallback("cpu", "npu_sim")                    what has no kernel goes to the CPU and back, and traces are told;
                                                      without this line it is an error that names the operator
    register_backend("npu_sim", empty, from_host)     who makes the arrays; from now on there is x.to("npu_sim")

A backend with a compiler is given loops that fuse everything (`jt_edu.backends`). One without is given each node of the
graph by its name. Gradients are nodes too, so they need nothing more. Four kinds of work have settings of their own:

    matmul(out, x, y, left, right)      matrices, or stacks of them; left, right: whether x, y lie transposed
    sum, max, min, prod(out, x, axes)   along some axes; what lies in out has the other axes of x
    take(out, x, positions, fill)       all views: out[...] = x.ravel()[positions], or fill where a position is -1
    put(out, x, positions, reducer, start)  other sums: start everywhere, then out.ravel()[p] += x where p is not -1

and `cast(out, x)`, since out knows its dtype. Everything else is called as it is: `exp(out, x)`. Numbers come as arrays
without axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jt_edu import backends
from jt_edu.backends import Program
from jt_edu.base.context import rank_context
from jt_edu.base.errors import ArgumentError, BackendError, JtError
from jt_edu.capture.recorded_step import nameless
from jt_edu.codegen.emit_python import Source
from jt_edu.ir.index_check import limits
from jt_edu.ir.index_expr import OPERATORS, Index
from jt_edu.ir.matmul_pattern import Product, matrix_product
from jt_edu.ir.meta_ops import CONSTANT, REDUCERS, SOURCE, Counter, Elementwise, HostCall, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import MULTIPLY
from jt_edu.runtime import plan as plans
from jt_edu.runtime.devices import CPU, INTERFACE, carried, check_interface, forget_plans
from jt_edu.runtime.execute import run_steps
from jt_edu.runtime.plan import Bind, Check, Plan, Step, compile_plan, make_plan, read_slot
from jt_edu.variable.var import Var, as_var

__all__ = ["Library", "register_backend"]

Kernel = Callable[..., Any]
REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}
JT = "jt"  # the namespace of jt's own operators
AUTOGRAD = "autograd"  # the key of a gradient
_kernels: dict[str, dict[str, Kernel]] = {}  # key, a device -> name of an operator -> who computes it
_fallbacks: dict[str, str] = {}  # device -> the device that computes what it has no kernel for


class Library:
    """Operators of one namespace, and their kernels for each key: a device, "cpu", or "autograd".

    Args:
        ns: "jt", whose operators jt_edu has, or a name of one's own.
        kind: "IMPL" adds kernels to operators that there are, "DEF" defines operators as well.

    Raises:
        ArgumentError: another kind, or operators of one's own in the namespace of jt.

    Example:
        >>> lib = Library("mine", "DEF")
        >>> double = lib.define("double")
        >>> lib.impl("double", lambda x: x * 2, "cpu")
        >>> lib.impl("double", lambda out, dout, x: dout * 2, "autograd")
        >>> x = jt.array([1.0, 2.0])
        >>> double(x).tolist(), jt.grad(double(x).sum(), x).tolist()
        ([2.0, 4.0], [2.0, 2.0])
    """

    def __init__(self, ns: str, kind: str = "IMPL") -> None:
        if kind not in ("IMPL", "DEF"):
            raise ArgumentError('a Library is of the kind "IMPL" or "DEF"', repr(kind))
        if ns == JT and kind == "DEF":
            raise ArgumentError("the namespace jt has jt's own operators", "kind='DEF'", "a name of your own")
        self.ns, self.kind = ns, kind
        self.defined: dict[str, Kernel] = {}

    def define(self, name: str, shape: Callable[..., Shape] | None = None) -> Kernel:
        """An operator of one's own, as a function of Vars. On the CPU, NumPy arrays are given to its kernel.

        Args:
            name: of the operator.
            shape: of the answer, from the Vars; without it, that of the first. The dtype is that of the first.

        Raises:
            ArgumentError: a library that only adds kernels, or a name that it has already.
        """
        if self.kind != "DEF" or name in self.defined:
            found = f"a library of kind {self.kind}" if self.kind != "DEF" else f"{self.ns}::{name}, which is defined"
            raise ArgumentError("define makes a new operator", found, 'Library(ns, "DEF"), and another name')
        self.defined[name] = partial(_called, f"{self.ns}::{name}", shape)
        return self.defined[name]

    def impl(self, op: str, kernel: Kernel | None = None, key: str = CPU) -> Any:
        """Who computes an operator on a device; without a kernel, a decorator.

        Args:
            op: its name, as a trace shows it: "add", "matmul", "exp".
            kernel: writes into its first argument; for "cpu" it returns an array, for "autograd" gradients.
            key: a device, "cpu" or "autograd"; the last two are for operators of one's own.

        Raises:
            ArgumentError: an operator that was not defined, or a kernel of the CPU for one of jt's.
        """
        if kernel is None:
            return lambda function: self.impl(op, function, key) or function
        if self.ns != JT and op not in self.defined:
            raise ArgumentError(f"{self.ns} has the operators that it defined", repr(op), f"lib.define({op!r})")
        if self.ns == JT and key in (CPU, AUTOGRAD):
            raise ArgumentError(f"jt's own operators have a kernel for {key} already", f"impl({op!r}, ..., {key!r})")
        _kernels.setdefault(key, {})[op if self.ns == JT else f"{self.ns}::{op}"] = kernel
        forget_plans()
        return None

    def fallback(self, to: str, key: str) -> None:
        """What has no kernel for `key` is computed on another device: on the CPU."""
        if to != CPU:
            raise ArgumentError("what has no kernel is computed on the CPU", repr(to), repr(CPU))
        _fallbacks[key] = to
        forget_plans()


def register_backend(name: str, empty: Kernel, from_host: Kernel, interface: int = INTERFACE) -> KernelsByName:
    """Make a device known, whose kernels are those of a Library for this key: what an entry point calls.

    Args:
        name: of the device.
        empty: makes an array of the device from a shape and a NumPy dtype; `jt_edu/runtime/devices.py` says what
            arrays have.
        from_host: copies a NumPy array to the device.
        interface: the version of all this that the package was written for.

    Raises:
        BackendError: it was written for another version than there is.
    """
    made = KernelsByName(name, empty, from_host, interface)
    check_interface(made)
    backends.register(made)
    return made


class Work(NamedTuple):
    """One node as a call: kernel(out, *inputs), where arrays are seen under other shapes than their own or None."""

    name: str
    inputs: tuple[Node, ...]
    settings: Callable[..., dict[str, Any]] | None = None  # from the index arrays: what else the kernel is told
    shapes: tuple[Shape | None, ...] = ()
    out: Shape | None = None
    arrays: tuple[Node, ...] = ()  # of indices


class KernelsByName:
    """A backend that runs kernels of a Library, one for each node, and compiles nothing."""

    def __init__(self, name: str, empty: Kernel, from_host: Kernel, interface: int) -> None:
        self.name = self.device = name
        self.empty, self.from_host, self.interface = empty, from_host, interface
        self.kernels = _kernels.setdefault(name, {})

    def compile(self, _source: Source) -> Program:
        """Refuse: there is no compiler."""
        raise BackendError(f"{self.name} has kernels for operators, and no compiler", "a text of loops", "lib.impl")

    def launch(self, program: Program, arguments: Sequence[Any], span: int, *_: Any) -> None:
        """Run one kernel."""
        program.call(0, span, *arguments)

    def make_plan(self, order: Sequence[Node], wanted: set[Node], enabled: bool, algorithms: bool) -> Plan:
        """A step for each node that is needed."""
        slot, needed, works = {n: k for k, n in enumerate(order)}, set(wanted), dict[Node, Work | None]()
        for node in reversed(order):
            if node in needed and node.data is None:
                works[node] = work = _work(node)
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
        return Plan(steps, aliases, keep, peak, tracked, enabled, algorithms, shapes, dtypes, hosts, decisions=())

    def _kernel_of(self, node: Node, work: Work) -> Kernel | None:
        bits = any(n.dtype == "bfloat16" for n in (node, *work.inputs))  # NumPy has no such numbers
        return None if bits else self.kernels.get(work.name)

    def _on_host(self, node: Node, work: Work) -> HostCall:
        """Who computes on the CPU what has no kernel here."""
        if isinstance(node.op, HostCall):
            return node.op
        if isinstance(node.op, Counter):
            return HostCall(f"{work.name} (cpu)", partial(_counted, node.op.axis, node.shape), by="the CPU")
        if self.name not in _fallbacks:
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


def _work(node: Node) -> Work | None:
    """What a node is as a call; None for a reshape of an array, which is the same memory."""
    op, inputs = node.op, node.inputs
    if isinstance(op, Elementwise):
        return Work("cast" if op.name.startswith("cast_") else op.name, inputs)
    if isinstance(op, Reindex):
        if op.flat and not op.within and inputs[0].op is not CONSTANT:
            return None
        told = partial(_taken, op, inputs[0].shape, node.shape)
        return Work("take", inputs[:1], told, arrays=inputs[1:])
    if isinstance(op, ReindexReduce):
        product = matrix_product(node) if inputs[0].op is MULTIPLY and inputs[0].data is None else None
        if product is not None:
            return _product(product)
        kept, shape = op.kept, inputs[0].shape
        if kept is not None and list(kept) == sorted(kept) and op.reducer in REDUCTIONS:
            gone = tuple(k for k in range(len(shape)) if k not in kept)
            return Work(REDUCTIONS[op.reducer], inputs[:1], lambda: {"axes": gone}, out=tuple(shape[k] for k in kept))
        told = partial(_put, op, shape, node.shape, REDUCERS[op.reducer].start(node.dtype))
        return Work("put", inputs[:1], told, arrays=inputs[1:])
    return Work(op.name, inputs)


def _product(p: Product) -> Work:
    def shape(rows: int, columns: int, turned: bool) -> Shape:
        matrix = (columns, rows) if turned else (rows, columns)
        return (p.batch, *matrix) if p.left.batched else matrix

    turned = {"left": p.left.transposed, "right": p.right.transposed}
    sides = shape(p.rows, p.summed, p.left.transposed), shape(p.summed, p.columns, p.right.transposed)
    return Work("matmul", p.sides, lambda: turned, sides, shape(p.rows, p.columns, turned=False))


def _taken(op: Reindex, source: Shape, shape: Shape, *arrays: Any) -> dict[str, Any]:
    """Where each element of a view is read, and what stands where that is outside."""
    return {"positions": _positions(op, source, shape, arrays), "fill": _number(op.fill)}


def _number(fill: float | str | None) -> complex:
    if isinstance(fill, str):  # "nan", or "complex_of(1.0, 2.0)"
        parts = [float(part) for part in fill.removeprefix("complex_of(").rstrip(")").split(",")]
        return parts[0] if len(parts) == 1 else complex(*parts)
    return 0 if fill is None else fill


def _put(op: ReindexReduce, source: Shape, shape: Shape, start: Any, *arrays: Any) -> dict[str, Any]:
    """Where each element goes, how they are put together, and what stands where none goes."""
    return {"positions": _positions(op, shape, source, arrays), "reducer": op.reducer, "start": start}


def _positions(op: Reindex | ReindexReduce, target: Shape, loops: Shape, arrays: Sequence[Any]) -> Any:
    """Row-major positions in an array of shape `target`, one for each turn of the loops; -1 outside."""
    grid = np.indices(loops, sparse=True)
    position, inside = np.zeros(loops, np.int64), np.ones(loops, bool)
    if op.valid is not None:
        inside &= np.asarray(_value(op.valid, grid, arrays) != 0)
    for where, length in zip(op.where, target, strict=True):
        at = np.asarray(_value(where, grid, arrays))
        at = np.where(at < 0, at + length, at) if where.op == "load" else at  # as in Python
        inside &= (at >= 0) & (at < length)
        position = position * length + at
    return np.where(inside, position, -1)


def _value(index: Index, grid: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """An index expression at all turns of the loops."""
    if index.op == "counter":
        return grid[index.args[0]]
    if index.op in ("int", "size"):
        return index.args[0]
    if index.op == "load":
        return arrays[index.args[0]][tuple(_value(w, grid, arrays) for w in index.args[1])]
    return OPERATORS[index.op](*(_value(part, grid, arrays) for part in index.args))


def _counted(axis: int, shape: Shape) -> Any:
    """The loop counter of an axis."""
    return np.broadcast_to(np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))]), shape)


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


def _called(name: str, shape: Callable[..., Shape] | None, *given: Any) -> Var:
    """An operator of one's own at work."""
    inputs = [as_var(g) for g in given]
    found = inputs[0].shape if shape is None else tuple(shape(*inputs))
    return Var._of(Node(_operator(name, len(inputs)), tuple(v.node for v in inputs), found, inputs[0].dtype))


_operators: dict[tuple[str, int], HostCall] = {}


def _operator(name: str, count: int) -> HostCall:
    if (name, count) not in _operators:
        rules = tuple(partial(_gradient, name, k) for k in range(count))
        _operators[name, count] = HostCall(name, partial(_kernel, name, CPU), rules, by="its kernel for the CPU")
    return _operators[name, count]


def _kernel(name: str, key: str, *given: Any) -> Any:
    if name not in _kernels.get(key, {}):
        way = f"lib.impl({name.partition('::')[2]!r}, kernel, {key!r})"
        raise BackendError(f"{name} is computed by its kernel for {key}", "none", way)
    return _kernels[key][name](*given)


def _gradient(name: str, number: int, *given: Any) -> Any:
    found = _kernel(name, AUTOGRAD, *given)
    return found[number] if isinstance(found, (tuple, list)) else found
