"""Kernel debugger: what does a kernel do, line by line and cell by cell?

    steps = step_through(plan, order, number)     the text runs as plain Python, on the real arrays
    steps.moments[7]     Moment(line=9, reads and writes, the variables that changed)

Kernels are short and loop for long, so only the first steps are recorded: an endless loop ends there too. What BLAS
computes is machine code of another library, and what an algorithm for convolutions does is mostly arranging; a matrix
product is stepped through as the three loops that it stands for, and a convolution as the sums that it is
(conv_formulas.py).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import Backend, define
from jt_edu.backends.convolve.standalone import NUMBERS
from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.codegen.emit_python import Source
from jt_edu.ir.node import Node
from jt_edu.lens import windows
from jt_edu.lens.conv_formulas import sums_of
from jt_edu.lens.line_tracer import Moment, Recorder, Watch
from jt_edu.runtime.conv_step import OWN
from jt_edu.runtime.devices import bring
from jt_edu.runtime.execute import free, run_step
from jt_edu.runtime.plan import ROW, Plan, Step, compile_plan

MOST = 2000  # steps
PICTURE = 4096  # cells of an array that a page is given
COMPLEX = "The cells of a complex array are shown from the step on that touches them."
NAME = "<jt_edu stepping>"
PLAIN = "BLAS computes each product, in an order of its own; here are the three loops that it stands for."
SUMS = "{} computes this convolution, in an order of its own; here are the sums that it stands for."
PRODUCT = re.compile(r"( *)(np\.dot|plus_ahb)\((.+), (.+), (.+)\)")
MATRIX = re.compile(r"(\w+)(\[i0\])?(?:\[(\w+):(\w+)\])?(\.T)?")


@dataclass
class Steps:
    """What was recorded of one kernel."""

    source: str
    lines: tuple[tuple[int, int], ...]  # (line, node id)
    arrays: list[Watch]
    moments: list[Moment]
    estimated_steps: int  # how many there are in all
    note: str = ""
    error: str = ""
    window: dict[str, Any] | None = None  # over an image, if it has one: see windows.py

    @property
    def complete(self) -> bool:
        """Whether the kernel came to its end."""
        return not self.error and self.estimated_steps == len(self.moments)

    def as_dict(self, at: int = 0) -> tuple[dict[str, Any], bytes]:
        """Plain data for a page, and the numbers that the arrays held at first, to be put `at` a place of its block."""
        names = sorted({name for moment in self.moments for name, _ in moment.changes})
        number = {name: k for k, name in enumerate(names)}
        codes: list[int] = []
        numbers: list[float | str] = []
        for m in self.moments:
            codes += [m.line, len(m.touches), *(x for t in m.touches for x in (2 * t.array + t.write, t.place))]
            codes += [len(m.changes), *(number[name] for name, _ in m.changes)]
            numbers += [_short(x) for x in (*(t.value for t in m.touches), *(value for _, value in m.changes))]
        arrays, cells = [], b""
        for k, watch in enumerate(self.arrays):
            picture = self._picture(k, watch)
            known = watch.role == "in" and watch.first.dtype.kind != "c"  # a cell is one number
            count = picture["size"][0] * picture["size"][1] if known else 0
            cells += _cut(watch, picture) if count else b""
            arrays.append({
                "name": watch.name, "role": watch.role, "node": watch.node, "shape": list(watch.first.shape),
                "dtype": watch.dtype, **picture, "block": [at + len(cells) // 4 - count, count],
            })  # fmt: skip
        return {
            "source": self.source, "lines": [list(x) for x in self.lines], "arrays": arrays, "names": names,
            "steps": len(self.moments), "about": self.estimated_steps, "complete": self.complete, "note": self.note,
            "error": self.error, "codes": codes, "numbers": numbers, "window": self.window,
        }, cells  # fmt: skip

    def _picture(self, number: int, watch: Watch) -> dict[str, Any]:
        """The part of an array that is shown: where it is touched, as far as there is room."""
        rows, columns = watch.grid
        places = [t.place for moment in self.moments for t in moment.touches if t.array == number] or [0]
        down, across = [p // max(columns, 1) for p in places], [p % max(columns, 1) for p in places]
        left, right = (0, columns) if columns <= 64 else (min(across), max(across) + 1)
        wide = min(right - left, PICTURE)
        top = 0 if rows * wide <= PICTURE else min(down)
        return {"corner": [top, left], "size": [min(rows - top, max(1, PICTURE // max(wide, 1))), wide]}


def step_through(plan: Plan, order: Sequence[Node], number: int, most: int = MOST) -> Steps:
    """Run the kernels before kernel `number`, and that one in plain Python, step by step.

    Raises:
        ArgumentError: there is no such kernel, it is a call of NumPy, which has no lines, or a product of another form.
    """
    step = step_at(plan, number)
    if step.kind == "host":
        raise ArgumentError("a kernel with lines to step through", f"{step.name}, which is done on whole arrays")
    arrays = _arrays_before(plan, list(order), number)
    source, lines, span, note = _to_run(step)
    recorder, kernel = Recorder(most), define(source, NAME)
    names = kernel.__code__.co_varnames[2:]  # those that the text uses
    arguments = _arguments(plan, step, arrays, order, recorder, names)
    window = _window_of(step, order, arrays)  # before the kernel runs: it may write into what it reads
    recorder.run(kernel, span, arguments)
    done, count = recorder.ended and not recorder.error, len(recorder.moments)
    steps = count if done else max(count + 1, _estimate(source, span, arguments))
    if any(watch.first.dtype.kind == "c" for watch in recorder.arrays):
        note = f"{note} {COMPLEX}".strip()
    known = tuple((line, order[slot].id) for line, slot in lines)
    return Steps(source.text, known, recorder.arrays, recorder.moments, steps, note, recorder.error, window)


def _window_of(step: Step, order: Sequence[Node], arrays: Sequence[Any]) -> dict[str, Any] | None:
    known = {node.id: array for node, array in zip(order, arrays, strict=True) if array is not None}
    slots = sorted({slot for _, slot in step.lines} | set(step.outputs))
    return windows.find([order[slot] for slot in slots], lambda node: known.get(node.id))


def _to_run(step: Step) -> tuple[Source, Sequence[tuple[int, int]], int, str]:
    """The text to step through, which of its lines is whose, the length of its outermost loop, and a note."""
    source, span = step.source, min(step.span, ROW) if step.blocks else step.span
    if step.kind == "loops" or (step.kind == "convolution" and step.written is not None):
        return source, step.lines, span, ""
    if step.own is not None:
        sums = sums_of(step)
        return sums.source, sums.lines, sums.span, SUMS.format(f"The algorithm {step.own.algorithm.name}")
    note = ""
    if step.plain is not None and step.written is None:  # a kernel of vectors is hard to follow
        source, span = step.plain
    if step.kind in ("product", "row blocks") and "np.dot(" in source.text:  # unless it was edited to loops
        source, note = Source(product_as_loops(source.text), source.parameters), PLAIN
    return source, _all(source, step), span, note


def step_at(plan: Plan, number: object) -> Step:
    """The step that is kernel `number`; ArgumentError if there is none."""
    if isinstance(number, int) and 0 <= number < len(plan.steps):
        return plan.steps[number]
    if not plan.steps:
        raise ArgumentError(
            "nothing would run, so there is no kernel: it is computed already", f"a question about kernel {number!r}",
            "build it again, or ask before the optimizer's step",
        )  # fmt: skip
    raise ArgumentError(f"a kernel from 0 to {len(plan.steps) - 1}", repr(number))


def _all(source: Source, step: Step) -> list[tuple[int, int]]:
    """Every line below the `def` belongs to the one operator: a product, or a kernel written by hand."""
    rows = source.text.splitlines()
    begin = next(k for k, row in enumerate(rows, 1) if row.startswith("def "))
    return [(k, step.outputs[0]) for k in range(begin + 1, len(rows) + 1)]


def product_as_loops(text: str) -> str:
    """The text of a kernel, with loops instead of each call of BLAS; ArgumentError if one is written oddly."""
    rows = []
    for row in text.splitlines():
        match = PRODUCT.fullmatch(row)
        sides = [MATRIX.fullmatch(side) for side in match.groups()[2:]] if match is not None else []
        if (match is None or None in sides) and ("np.dot(" in row or "plus_ahb(" in row) and "import" not in row:
            raise ArgumentError("a product that can be stepped through is np.dot(a, b, out)", repr(row.strip()))
        if match is not None:
            a, b, out = (_Matrix(*side.groups()) for side in sides if side is not None)
            a = a if match[2] == "np.dot" else a.turned()  # plus_ahb(a, b, out): out += a.T @ b
            whole = a.begin == out.begin == "lo"  # of the rows, each thread has a part
            cell = out.cell("i", "j", whole)
            lines = [
                f"for i in range({'lo, hi' if whole else out.length(0)}):", f"    for j in range({out.length(1)}):",
                f"        s = {cell if match[2] == 'plus_ahb' else '0.0'}", f"        for k in range({a.length(1)}):",
                f"            s = s + {a.cell('i', 'k', whole)} * {b.cell('k', 'j', False)}", f"        {cell} = s",
            ]  # fmt: skip
            rows += [match[1] + line for line in lines]
        elif row != "import numpy as np":
            rows.append(row)
    return "\n".join(rows).lstrip("\n") + "\n"


@dataclass(frozen=True)
class _Matrix:
    """A matrix as a kernel of products writes it: `a0[i0][r0:r1].T`."""

    name: str
    batch: str | None
    begin: str | None
    end: str | None
    transposed: str | None

    def turned(self) -> _Matrix:
        return replace(self, transposed=None if self.transposed else ".T")

    def length(self, axis: int) -> str:
        """How many rows (0) or columns (1) it has."""
        if (axis == 1) is bool(self.transposed) and self.end:
            return self.end if self.begin == "0" else f"{self.end} - {self.begin}"
        return f"{self.name}.shape[{-2 if (axis == 0) is not bool(self.transposed) else -1}]"

    def cell(self, row: str, column: str, whole: bool) -> str:
        """An element; `whole`: rows are counted from the first of the array, not of the part."""
        row, column = (column, row) if self.transposed else (row, column)
        row = row if whole or self.begin in (None, "0") else f"{self.begin} + {row}"
        return f"{self.name}[{'i0, ' if self.batch else ''}{row}, {column}]"


def _arrays_before(plan: Plan, order: list[Node], number: int) -> list[Any]:
    """The array of each slot when kernel `number` begins."""
    backend: Backend = plan.device or backends.get(current().flags.backend)
    if not plan.compiled:
        compile_plan(plan, backend)
    arrays: list[Any] = [n.data for n in order] if plan.device is None else bring(plan.device, order)
    for step in plan.steps[:number]:
        run_step(step, plan, arrays, backend, order)
        free(step, arrays)
    return [a if not hasattr(a, "device") else np.asarray(a) for a in arrays]  # the debugger walks on the CPU


def _arguments(
    plan: Plan, step: Step, arrays: list[Any], order: Sequence[Node], recorder: Recorder, names: Sequence[str]
) -> list[Any]:
    arguments = list(step.arguments)
    parameters = step.source.parameters
    memory = dict(enumerate(arrays))
    for position, slot, shape, halves in step.binds:
        root = plan.aliases.get(slot, slot)
        role = "out" if slot in step.outputs else "in"
        if role == "out" and memory.get(slot) is None:
            memory[slot] = np.zeros(plan.shapes[slot], plan.dtypes[slot])
        array = memory[slot] if memory.get(slot) is not None else memory[root]
        array = array.view(np.uint16) if halves else array
        node, name = order[slot], names[position]
        wanted = plan.shapes[slot] if shape is None else shape
        array = array.reshape(wanted) if step.own is None else step.own.shown(position, array.reshape(wanted))
        arguments[position] = recorder.watch(array, name, role, node.id, str(node.dtype))
    for position, slot in step.numbers:
        arguments[position] = np.dtype(parameters[position].dtype).type(arrays[slot])
    if step.own is not None:
        arguments[OWN : OWN + 2] = _own_memory(step, arguments)
    for position, shape, dtype, slot in step.scratch:
        cells = (min(math.prod(shape), ROW),) if step.blocks else shape
        arguments[position] = recorder.watch(np.zeros(cells, dtype), names[position], "scratch",
                                             order[slot].id, dtype)  # fmt: skip
    return arguments


def _own_memory(step: Step, arguments: list[Any]) -> list[Any]:
    """What a convolution is given besides arrays of the graph, prepared."""
    own = step.own
    assert own is not None, "it is a convolution"
    prepared, space = (np.zeros(count, own.sizes.dtype) for count in (own.prepared, own.space))
    if step.prepare is not None:
        numbers = arguments[OWN + 2 : OWN + 2 + len(NUMBERS)]
        read = [np.asarray(arguments[k]) for k in own.algorithm.reads]
        step.prepare.call(0, own.span, *read, prepared, *numbers)
    return [prepared, space]


def _short(value: float | str) -> float | str:
    """Seven digits, as JSON can hold them."""
    if isinstance(value, str | int):
        return value
    return float(f"{value:.7g}") if math.isfinite(value) else str(value)


def _cut(watch: Watch, picture: dict[str, Any]) -> bytes:
    """The cells that are shown, as little-endian float32."""
    (top, left), (down, across) = picture["corner"], picture["size"]
    grid = watch.first.reshape(watch.grid)[top : top + down, left : left + across]
    with np.errstate(all="ignore"):
        return bytes(np.ascontiguousarray(np.real(grid), "<f4").tobytes())


def _estimate(source: Source, span: int, arguments: list[Any]) -> int:
    """How many steps there are in all, if every `if` is taken and every loop is as long as in its first round."""
    functions = {s.name: s for s in ast.parse(source.text).body if isinstance(s, ast.FunctionDef)}
    space = dict(define(source, NAME).__globals__)
    return _count_call(functions[source.entry], (0, span, *arguments), functions, space)


def _count_call(
    function: ast.FunctionDef, given: Sequence[Any], functions: Mapping[str, ast.FunctionDef], space: dict[str, Any]
) -> int:
    names = [a.arg for a in function.args.args]
    return _count(function.body, functions, {**space, **dict(zip(names, given, strict=True))})


def _count(body: list[ast.stmt], functions: Mapping[str, ast.FunctionDef], space: dict[str, Any]) -> int:
    total = 0
    for statement in body:
        rounds = 1
        if isinstance(statement, ast.For):
            counts = _value(statement.iter, space)
            rounds = 1 if counts is None else len(counts)
            if isinstance(statement.target, ast.Name) and counts:
                space[statement.target.id] = counts[0]
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_of_lengths(value):
                space[name] = _value(value, space)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=args)) if name in functions:
                given = [_value(a, space) for a in args]
                total += _count_call(functions[name], given, functions, space)
        inner = getattr(statement, "body", [])
        total += 1 + (rounds * (_count(inner, functions, space) + isinstance(statement, ast.For)) if inner else 0)
    return total


def _is_of_lengths(value: ast.expr) -> bool:
    """Whether nothing is called for a value, and no array looked into except for its lengths."""
    parts = list(ast.walk(value))
    cells = [part.value for part in parts if isinstance(part, ast.Subscript)]
    return not any(isinstance(part, ast.Call) for part in parts) and all(isinstance(c, ast.Attribute) for c in cells)


def _value(expression: ast.expr, space: dict[str, Any]) -> Any:
    """What an expression is before the kernel begins; None if it depends on what the kernel computes."""
    try:
        return eval(compile(ast.Expression(expression), NAME, "eval"), space)  # noqa: S307 - of the kernel's text
    except Exception:  # noqa: BLE001 - whatever is missing
        return None
