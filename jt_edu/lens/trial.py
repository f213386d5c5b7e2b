"""Trial: a learner's text of a kernel is tried in a process of its own, which a time limit ends.

    text  --check-->  a kernel with the same parameters  --job-->  process (jt_edu/lens/examine.py)  -->  record

The arrays are random; their shapes are those of the plans that run the kernel. Nothing here changes a plan.
"""

from __future__ import annotations

import ast
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from jt_edu.codegen.source import Source
from jt_edu.plan import ROW, Plan, Step, living

START = 120.0  # seconds until a fresh process must have read its libraries
PATIENCE = 6  # times the limit, which counts what is computed: other processes may want the machine, too
STOPPED = -int(getattr(signal, "SIGXCPU", 0)) or None  # how a process ends that computed for too long
CASES = 3  # different shapes that are tried
LARGEST = 1 << 30  # bytes of the arrays of one case
MAY_IMPORT = ("jt_edu.backends.mathlib", "math", "numpy")
SERVE = "from jt_edu.lens.examine import serve; serve()"


class Fault(Exception):  # noqa: N818 - it is an answer
    """What is wrong with a text, and in which of its lines."""

    def __init__(self, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.words, self.line = words, line


def steps_of(key: str) -> list[tuple[Plan, Step]]:
    """Every step of a living plan whose kernel we wrote with this key, the last used plans first."""
    plans = [plan for plan in map(_alive, living.valuerefs()) if plan is not None]
    found = [(plan, step) for plan in plans for step in plan.steps if original(step).key == key]
    return sorted(found, key=lambda entry: -entry[0].used)


def original(step: Step) -> Source:
    """The source that the code generator wrote for a step."""
    return step.source if step.written is None else step.written[0]


def _alive(reference: Any) -> Plan | None:
    plan: Plan | None = reference()
    return plan


def check_text(text: str, source: Source) -> None:
    """Fault, unless the text is Python that defines the kernel with its parameters, and imports what a kernel may."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Fault(f"SyntaxError: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Fault(f"{type(error).__name__}: {error}", 1) from None
    kernels = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == source.entry]
    for statement in tree.body:
        _check_statement(statement, source.entry)
    if len(kernels) != 1:
        raise Fault(f"one function `def {source.entry}(...)` is expected; found {len(kernels)}", 1)
    given, wanted = ast.unparse(kernels[0].args), ", ".join(_names(source))
    if given != wanted or kernels[0].decorator_list:
        raise Fault(f"its parameters must stay ({wanted}); found ({given})", kernels[0].lineno)


def _names(source: Source) -> list[str]:
    """The parameters as the text spells them: those of a kernel that was written by hand have names of their own."""
    found = (s for s in ast.parse(source.text).body if isinstance(s, ast.FunctionDef) and s.name == source.entry)
    return [a.arg for a in next(found).args.args]


def _check_statement(statement: ast.stmt, entry: str) -> None:
    match statement:
        case ast.ImportFrom(module=name) if name in MAY_IMPORT:
            return
        case ast.Import(names=names) if all(n.name in MAY_IMPORT for n in names):
            return
        case ast.FunctionDef() if statement.name == entry:
            return
        case ast.Assign() | ast.Expr(value=ast.Constant()):
            return
    what = "imports from" if isinstance(statement, (ast.Import, ast.ImportFrom)) else "has, beside its imports,"
    allowed = ", ".join(MAY_IMPORT) if what == "imports from" else f"constants and `def {entry}`"
    raise Fault(f"a kernel {what} {allowed}; found {ast.unparse(statement).splitlines()[0]}", statement.lineno)


def try_text(source: Source, text: str, backend: str, seconds: float) -> dict[str, Any]:
    """What the trial found; Fault if the text cannot be a kernel, fails, or takes too long."""
    check_text(text, source)
    cases = cases_of(source)
    if not cases:
        raise Fault(f"no plan that runs this kernel has arrays below {LARGEST >> 20} MB to try it on")
    job = {
        "original": source.text, "text": text, "parameters": [list(asdict(p).values()) for p in source.parameters],
        "entry": source.entry, "apart": source.apart, "backend": backend, "cases": cases, "seconds": seconds,
    }  # fmt: skip
    with _Process() as process:
        return process.do(job, seconds)


class _Process:
    """A fresh Python that answers one job; it ends with the `with`, whatever it is doing."""

    def __enter__(self) -> Self:
        home = str(Path(__file__).parents[2])
        path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.child = subprocess.Popen(  # noqa: S603 - this Python, and words of ours
            [sys.executable, "-P", "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path}, text=True, encoding="utf-8",
        )  # fmt: skip
        self.answers: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def __exit__(self, *why: object) -> None:
        self.child.kill()
        self.child.wait()
        self.reader.join()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                pipe.close()

    def do(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The record, if it comes in time."""
        stage = self._next(time.monotonic() + START, START, "reading its libraries")["stage"]
        assert self.child.stdin is not None, "it was opened with a pipe"
        self.child.stdin.write(json.dumps(job) + "\n")
        self.child.stdin.flush()
        deadline = time.monotonic() + (seconds if sys.platform == "win32" else PATIENCE * seconds)
        while True:
            answer = self._next(deadline, seconds, stage)
            if "record" in answer:
                return dict(answer["record"])
            if "error" in answer:
                raise Fault(answer["error"]["message"], answer["error"]["line"])
            stage = answer["stage"]

    def _next(self, deadline: float, seconds: float, stage: str) -> dict[str, Any]:
        try:
            row = self.answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            row = ""
            self.child.kill()
            status = STOPPED
        else:
            status = 0 if row else self.child.wait()
        if status == STOPPED:
            words = f"stopped after {seconds:g} seconds, the limit, while {stage}"
            raise Fault(f"{words}. An endless loop? Nothing has changed.")
        if not row:
            raise Fault(f"the process that tried it crashed (status {status}) while {stage}. Nothing has changed.")
        return dict(json.loads(row))

    def _read(self) -> None:
        assert self.child.stdout is not None, "it was opened with a pipe"
        for row in self.child.stdout:
            self.answers.put(row)
        self.answers.put("")


def cases_of(source: Source) -> list[dict[str, Any]]:
    """The kernel's arguments, as plain data, for the shapes of the plans that run it."""
    known: dict[object, dict[str, Any]] = {}
    for plan, step in steps_of(source.key):
        case = _case(plan, step)
        small = sum(s["count"] * 8 for s in case["slots"].values()) <= LARGEST
        if small and len(known) < CASES:
            known.setdefault(shape_key(plan, step), case)
    return list(known.values())


def shape_key(plan: Plan, step: Step) -> object:
    """What two steps with the same kernel agree in, if it has the same loops and arrays in both."""
    shapes = tuple(plan.shapes[b.slot] if b.shape is None else b.shape for b in step.binds)
    return (tuple(map(repr, step.arguments)), shapes, step.span, step.blocks)


def _case(plan: Plan, step: Step) -> dict[str, Any]:
    parameters, names = original(step).parameters, _names(original(step))[2:]
    arguments: list[dict[str, Any]] = [{"length": a} for a in step.arguments]
    slots: dict[str, dict[str, Any]] = {}
    for position, slot, shape, halves in step.binds:
        p = parameters[position]
        lengths = list(plan.shapes[slot] if shape is None else shape)
        arguments[position] = {"slot": str(slot), "shape": lengths}
        out = slot in step.outputs
        real = "float16" if halves else "bfloat16" if p.dtype == "uint16" and "bfloat" in step.source.text else p.dtype
        low, high = _range(plan, slot)
        slots.setdefault(str(slot), {
            "name": names[position], "dtype": p.dtype, "real": real, "count": math.prod(lengths), "out": out,
            "low": low, "high": high,
        })  # fmt: skip
    for position, _ in step.numbers:
        arguments[position] = {"dtype": parameters[position].dtype}
    for position, shape, dtype, slot in step.scratch:
        cells = [min(math.prod(shape), ROW)] if step.blocks else list(shape)
        arguments[position] = {"scratch": str(slot), "shape": cells, "dtype": dtype}
    return {
        "names": names, "arguments": arguments, "slots": slots, "span": step.span, "blocks": step.blocks, "row": ROW,
    }  # fmt: skip


def _range(plan: Plan, slot: int) -> tuple[int, int]:
    """Whole numbers that an array may hold: those that its checks allow, or a few that point into every axis."""
    root = plan.aliases.get(slot, slot)
    found = [c for s in plan.steps for c in s.checks if plan.aliases.get(c.slot, c.slot) == root and c.low < c.high]
    if found:
        return max(c.low for c in found), min(c.high for c in found)
    lengths = [n for step in plan.steps if slot in step.inputs for b in step.binds for n in plan.shapes[b.slot]]
    return 0, max(1, min([10, *lengths]))
