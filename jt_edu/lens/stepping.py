"""Stepping: what does a kernel do, line by line and cell by cell?

    steps = step_through(plan, order, number)     the text runs as plain Python, on the real arrays
    steps.moments[7]     Moment(line=9, reads and writes, the variables that changed)

Kernels are short and loop for long, so only the first steps are recorded: an endless loop ends there too. What BLAS
computes is machine code of another library; a matrix product is stepped through as the three loops that it stands for.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from jt_edu import backends
from jt_edu.backends import Backend, define
from jt_edu.codegen.text import Source
from jt_edu.dtypes import from_bfloat16
from jt_edu.errors import ArgumentError
from jt_edu.execute import free, run_step
from jt_edu.graph import Node
from jt_edu.plan import ROW, Plan, Step, compile_plan
from jt_edu.settings import current

MOST = 2000  # steps
PICTURE = 4096  # cells of an array that a page is given
COMPLEX = "The cells of a complex array are shown from the step on that touches them."
NAME = "<jt_edu stepping>"
PRODUCT = re.compile(
    r"( *)np\.dot\((\w+)(\[i0\])?(\.T)?(\[lo:hi\])?, (\w+)(\[i0\])?(\.T)?, (\w+)(\[i0\])?(?:\[lo:hi\])?\)"
)


@dataclass(frozen=True)
class Touch:
    """One element was read or written; `place` counts the array's elements in row-major order."""

    array: int
    place: int
    value: float | str
    write: bool


@dataclass(frozen=True)
class Moment:
    """A line was done: what it touched, and which variables have a new value."""

    line: int
    touches: tuple[Touch, ...]
    changes: tuple[tuple[str, float | str], ...]


@dataclass
class Watch:
    """An argument that is an array: what it was called, which node it belongs to, and what it held at first."""

    name: str
    role: str  # "in", "out" or "scratch"
    node: int
    dtype: str
    first: Any = field(repr=False)  # a copy

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns, as it is drawn: the last axis lies across."""
        columns = self.first.shape[-1] if self.first.ndim else 1
        return (self.first.size // columns if columns else 0, columns)


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
            "error": self.error, "codes": codes, "numbers": numbers,
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
    source, note = step.source, ""
    if step.kind == "product" and "np.dot(" in source.text:  # unless it was edited to loops
        text = product_as_loops(source.text)
        note = "BLAS computes this product, in an order of its own; here are the three loops that it stands for."
        source = Source(text, source.parameters)
    recorder, kernel = _Recorder(most), define(source, NAME)
    names = kernel.__code__.co_varnames[2:]  # those that the text uses
    arguments = _arguments(plan, step, arrays, order, recorder, names)
    recorder.run(kernel, min(step.span, ROW) if step.blocks else step.span, arguments)
    done, count = recorder.ended and not recorder.error, len(recorder.moments)
    steps = count if done else max(count + 1, _estimate(source, step, arguments))
    if any(watch.first.dtype.kind == "c" for watch in recorder.arrays):
        note = f"{note} {COMPLEX}".strip()
    lines = tuple((line, order[slot].id) for line, slot in (step.lines if step.kind == "loops" else _all(source, step)))
    return Steps(source.text, lines, recorder.arrays, recorder.moments, steps, note, recorder.error)


def step_at(plan: Plan, number: object) -> Step:
    """The step that is kernel `number`; ArgumentError if there is none."""
    if isinstance(number, int) and 0 <= number < len(plan.steps):
        return plan.steps[number]
    if not plan.steps:
        raise ArgumentError(
            "nothing would run, so there is no kernel: it is an array by now", f"a question about kernel {number!r}",
            "build it again, or ask before the optimizer's step",
        )  # fmt: skip
    raise ArgumentError(f"a kernel from 0 to {len(plan.steps) - 1}", repr(number))


def _all(source: Source, step: Step) -> list[tuple[int, int]]:
    """Every line below the `def` belongs to the one operator: a product, or a kernel written by hand."""
    rows = source.text.splitlines()
    begin = next(k for k, row in enumerate(rows, 1) if row.startswith("def "))
    return [(k, step.outputs[0]) for k in range(begin + 1, len(rows) + 1)]


def product_as_loops(text: str) -> str:
    """The text of a matrix product, with loops in place of each call of BLAS; ArgumentError if one is written oddly."""
    rows = []
    for row in text.splitlines():
        match = PRODUCT.fullmatch(row)
        if match is None and "np.dot(" in row:
            raise ArgumentError("a product that can be stepped through is np.dot(a, b, out)", repr(row.strip()))
        if match is None:
            rows += [row] if row != "import numpy as np" else []
            continue
        indent, a, a_batch, a_turned, part, b, b_batch, b_turned, out, out_batch = match.groups()
        head = "i0, " if out_batch else ""
        left = f"{a}[{'i0, ' if a_batch else ''}{'k, i' if a_turned else 'i, k'}]"
        right = f"{b}[{'i0, ' if b_batch else ''}{'j, k' if b_turned else 'k, j'}]"
        deep = [f"for i in range({'lo, hi' if part else f'{out}.shape[-2]'}):", f"    for j in range({out}.shape[-1]):"]
        inner = ["s = 0.0", f"for k in range({a}.shape[{-2 if a_turned else -1}]):", f"    s = s + {left} * {right}"]
        rows += [indent + r for r in (*deep, *("        " + r for r in inner), f"        {out}[{head}i, j] = s")]
    return "\n".join(rows).lstrip("\n") + "\n"


def _arrays_before(plan: Plan, order: list[Node], number: int) -> list[Any]:
    """The array of each slot when kernel `number` begins."""
    backend: Backend = backends.get(current().flags.backend)
    if not plan.compiled:
        compile_plan(plan, backend)
    arrays: list[Any] = [n.data for n in order]
    for step in plan.steps[:number]:
        run_step(step, plan, arrays, backend, order)
        free(step, arrays)
    return arrays


def _arguments(
    plan: Plan, step: Step, arrays: list[Any], order: Sequence[Node], recorder: _Recorder, names: Sequence[str]
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
        arguments[position] = recorder.watch(array.reshape(wanted), name, role, node.id, str(node.dtype))
    for position, slot in step.numbers:
        arguments[position] = np.dtype(parameters[position].dtype).type(arrays[slot])
    for position, shape, dtype, slot in step.scratch:
        cells = (min(math.prod(shape), ROW),) if step.blocks else shape
        arguments[position] = recorder.watch(np.zeros(cells, dtype), names[position], "scratch",
                                             order[slot].id, dtype)  # fmt: skip
    return arguments


class _Watched(np.ndarray[Any, Any]):
    """An array that tells which of its elements are read and written; so do its slices, which share its memory."""

    recorder: _Recorder | None = None
    number = 0
    begin = 0  # address

    def __array_finalize__(self, other: Any) -> None:
        self.recorder = getattr(other, "recorder", None)
        self.number, self.begin = getattr(other, "number", 0), getattr(other, "begin", 0)

    def __getitem__(self, index: Any) -> Any:
        value = super().__getitem__(index)
        if not isinstance(value, np.ndarray):
            self._tell(index, value, write=False)
        return value

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        at = index if isinstance(index, tuple) else (index,)
        if all(isinstance(i, int | np.integer) for i in at) and len(at) == self.ndim:
            self._tell(index, super().__getitem__(index), write=True)

    def _tell(self, index: Any, value: Any, *, write: bool) -> None:
        if self.recorder is None:
            return
        at = index if isinstance(index, tuple) else (index,)
        steps = zip(at, self.shape, self.strides, strict=True)
        offset = sum((int(i) + (n if i < 0 else 0)) * stride for i, n, stride in steps)
        place = (self.__array_interface__["data"][0] - self.begin + offset) // self.itemsize
        self.recorder.touch(self.number, place, value, write)


class _Enough(Exception):  # noqa: N818 - it is no error
    """As many steps as were asked for."""


class _Recorder:
    """Watches a kernel's frame and its arrays."""

    def __init__(self, most: int) -> None:
        self.most, self.ended, self.error = most, False, ""
        self.arrays: list[Watch] = []
        self.moments: list[Moment] = []
        self._touches: list[Touch] = []
        self._known: dict[str, Any] = {}
        self._line = 0
        self._code: CodeType | None = None

    def watch(self, array: Any, name: str, role: str, node: int, dtype: str) -> Any:
        """The same memory, watched."""
        seen = array.view(_Watched)
        seen.recorder, seen.number, seen.begin = self, len(self.arrays), array.__array_interface__["data"][0]
        self.arrays.append(Watch(name, role, node, dtype, _real(array, dtype).copy()))
        return seen

    def touch(self, number: int, place: int, value: Any, write: bool) -> None:
        """An element was read or written."""
        real = _real(np.asarray(value), self.arrays[number].dtype)
        self._touches.append(Touch(number, place, _number(real[()]), write))

    def run(self, kernel: Callable[..., None], span: int, arguments: list[Any]) -> None:
        """Until it ends, or for as many steps as were asked for."""
        self._code = kernel.__code__
        self._known = dict(zip(self._code.co_varnames, (0, span, *arguments), strict=False))
        before = sys.gettrace()
        try:
            with np.errstate(all="ignore"):
                sys.settrace(self._enter)
                kernel(0, span, *arguments)
            self.ended = True
        except _Enough:
            pass
        except Exception as error:  # noqa: BLE001 - an edited kernel may do anything
            self.error = f"line {self._line}: {type(error).__name__}: {error}"
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._hear if frame.f_code is self._code else None

    def _hear(self, frame: FrameType, event: str, _: Any) -> Any:
        if event in ("line", "return"):
            if self._line:
                self._note(frame.f_locals)
            self._line = frame.f_lineno
        return self._hear

    def _note(self, now: dict[str, Any]) -> None:
        """The line that was done."""
        known = self._known
        fresh = {name: v for name, v in now.items() if name not in known or not _same(known[name], v)}
        known.update(fresh)
        changes = tuple((name, _number(value)) for name, value in fresh.items())
        self.moments.append(Moment(self._line, tuple(self._touches), changes))
        self._touches.clear()
        if len(self.moments) >= self.most:
            raise _Enough


def _same(a: Any, b: Any) -> bool:
    return a is b or (not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and type(a) is type(b) and a == b)


def _real(array: Any, dtype: str) -> Any:
    """Numbers as their dtype means them: halves lie in memory as whole numbers."""
    if array.dtype == np.uint16 and dtype == "float16":
        return np.ascontiguousarray(array).view(np.float16).reshape(array.shape)
    if array.dtype == np.uint16 and dtype == "bfloat16":
        return from_bfloat16(array)
    return np.asarray(array)


def _number(value: Any) -> float | str:
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        plain = value.item() if isinstance(value, np.generic) else value
        return int(plain) if isinstance(plain, bool) else plain
    if isinstance(value, complex | np.complexfloating):
        return f"{complex(value):.4g}"
    return f"array {value.shape}" if isinstance(value, np.ndarray) else str(value)[:40]


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


def _estimate(source: Source, step: Step, arguments: list[Any]) -> int:
    """How many steps there are in all, if every `if` is taken and every loop is as long as in its first round."""
    kernel = next(s for s in ast.parse(source.text).body if isinstance(s, ast.FunctionDef))
    space: dict[str, Any] = dict(define(source, NAME).__globals__)
    names = [a.arg for a in kernel.args.args]
    space.update(zip(names, (0, step.span, *arguments), strict=True))
    return _count(kernel.body, space)


def _count(body: list[ast.stmt], space: dict[str, Any]) -> int:
    total = 0
    for statement in body:
        rounds = 1
        if isinstance(statement, ast.For):
            try:
                counts = eval(compile(ast.Expression(statement.iter), NAME, "eval"), space)  # noqa: S307 - a range
                rounds = len(counts)
                if isinstance(statement.target, ast.Name) and rounds:
                    space[statement.target.id] = counts[0]
            except Exception:  # noqa: BLE001 - it depends on what the kernel computes
                rounds = 1
        inner = getattr(statement, "body", [])
        total += 1 + (rounds * (_count(inner, space) + isinstance(statement, ast.For)) if inner else 0)
    return total
