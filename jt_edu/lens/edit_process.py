"""Edit process: a learner's text of a kernel is tried in a process of its own, which a time limit ends.

    text  --check-->  a kernel with the same parameters  --job-->  process (jt_edu/lens/verify_edit.py)  -->  record

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
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Self

from jt_edu.backends.convolve.standalone import NUMBERS
from jt_edu.base.errors import ArgumentError
from jt_edu.base.tracebacks import HOME
from jt_edu.codegen.emit_python import Source
from jt_edu.runtime.conv_step import OWN, Own
from jt_edu.runtime.plan import ROW, Plan, Step, living

QUIET = 120.0  # seconds without a word, and
PATIENCE = 6  # times the limit: on a busy machine what takes seconds to compute takes longer
STOPPED = -int(getattr(signal, "SIGXCPU", 0)) or None  # how a process ends that computed for too long; not on Windows
LONGEST = 100_000  # seconds of a trial
CASES = 3  # different shapes that are tried
LAST = 1000  # bytes of what a process said before it crashed
LARGEST = 1 << 30  # bytes of the arrays of one case
MAY_IMPORT = "jt_edu.backends.mathlib"  # and what the original imports
BARRED = {  # names that lead out of a kernel
    "breakpoint", "compile", "delattr", "eval", "exec", "exit", "getattr", "globals", "input", "locals", "open",
    "quit", "setattr", "vars",
}  # fmt: skip
NOT_IN_KERNELS: dict[type[ast.AST], str] = {
    ast.Yield: "yield", ast.YieldFrom: "yield from", ast.Await: "await", ast.AsyncFor: "async for",
    ast.AsyncWith: "async with", ast.Lambda: "lambda", ast.FunctionDef: "a function in a function",
    ast.AsyncFunctionDef: "async def", ast.ClassDef: "class", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.Try: "try", ast.With: "with", ast.Import: "an import in a function", ast.ImportFrom: "an import in a function",
    ast.ListComp: "a comprehension", ast.SetComp: "a comprehension", ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension", ast.NamedExpr: ":=",
}  # fmt: skip
WHOLE = "from jt_edu.base.context import flags; flags.tracebacks = 'full'"  # of what it says, the last line is read
SERVE = f"{WHOLE}; from jt_edu.lens.verify_edit import serve; serve()"
RESERVED = ("mark_", "most_", "rounds_")  # names that `sandbox` adds to a text


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
    """Fault, unless the text is Python that defines the kernel with its parameters, and does nothing else.

    Beside the kernel stand imports from modules that the original imports from, constants, and the functions that stand
    beside the original: what stands there runs in the notebook. No name in it leads out of a kernel.
    """
    tree, known = _parse(text), ast.parse(source.text).body
    kernels = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == source.entry]
    modules = {MAY_IMPORT} | {name for s in known for name in _imported(s)}
    others = [s for s in known if isinstance(s, ast.FunctionDef) and s.name != source.entry]
    for statement in tree.body:
        _check_statement(statement, source.entry, modules, others)
    if len(kernels) != 1:
        raise Fault(f"one function `def {source.entry}(...)` is expected; found {len(kernels)}", 1)
    (kernel,) = kernels
    given, wanted = ast.unparse(kernel.args), ", ".join(_names(source))
    if kernel.decorator_list or kernel.returns:
        found = "a decorator" if kernel.decorator_list else f"-> {ast.unparse(kernel.returns)}"  # type: ignore[arg-type]
        raise Fault(f"its first line must stay `def {source.entry}({wanted}):`; found {found}", kernel.lineno)
    if given != wanted:
        raise Fault(f"its parameters must stay ({wanted}); found ({given})", kernel.lineno)
    axes = {a: p.rank for a, p in zip(_names(source)[2:], source.parameters, strict=False) if p.rank is not None}
    inside = set(ast.walk(kernel))
    for node in ast.walk(tree):
        _check_name(node)
        _check_axes(node, axes if node in inside else {})
        if isinstance(node, ast.Name) and node.id == source.entry:
            raise Fault(f"a kernel does not call itself; found {source.entry}", node.lineno)
        if type(node) in NOT_IN_KERNELS and node not in tree.body:
            words = f"a kernel is made of loops, conditions and assignments; found {NOT_IN_KERNELS[type(node)]}"
            raise Fault(words, getattr(node, "lineno", None))


def _check_axes(node: ast.AST, axes: dict[str, int]) -> None:
    """Fault, if an array is looked into with more indices than it has axes: the compiler says it in other words."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id not in axes:
        return
    name, rank = node.value.id, axes[node.value.id]
    given = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
    if given > rank:
        has = f"{rank} ax{'i' if rank == 1 else 'e'}s" if rank else f"no axes: its one element is {name}[()]"
        raise Fault(
            f"{name} has {has}; found {ast.unparse(node)}, with {given} ind{'ex' if given == 1 else 'ices'}",
            node.lineno,
        )


def _parse(text: str) -> ast.Module:
    try:
        tree = ast.parse(text)
        ast.unparse(tree)  # what is nested too deeply is found here
    except SyntaxError as error:
        raise Fault(f"SyntaxError: {error.msg}", error.lineno or 1) from None
    except (MemoryError, RecursionError):
        raise Fault("it is nested too deeply to read", 1) from None
    except ValueError as error:
        raise Fault(f"it cannot be read: {error}", 1) from None
    return tree


def _names(source: Source) -> list[str]:
    """The parameters as the text spells them: those of a kernel that was written by hand have names of their own."""
    found = (s for s in ast.parse(source.text).body if isinstance(s, ast.FunctionDef) and s.name == source.entry)
    return [a.arg for a in next(found).args.args]


def _imported(statement: ast.stmt) -> list[str]:
    """The modules that a statement imports, or imports from."""
    match statement:
        case ast.ImportFrom(module=str(name), level=0) if all(n.name != "*" for n in statement.names):
            return [name]
        case ast.Import(names=names):
            return [n.name for n in names]
    return []


def _check_statement(statement: ast.stmt, entry: str, modules: set[str], others: list[ast.FunctionDef]) -> None:
    imports = isinstance(statement, (ast.Import, ast.ImportFrom))
    found = _imported(statement)
    if found and modules.issuperset(found):
        return
    match statement:
        case ast.FunctionDef() if statement.name == entry or _head(statement) in map(_head, others):
            return
        case ast.Assign(targets=[ast.Name()], value=value) | ast.Expr(value=value) if _is_literal(value):
            return
    what = "imports from" if imports else "has, beside its imports,"
    names = " and ".join(f"`def {name}`" for name in (*(s.name for s in others), entry))
    allowed = ", ".join(sorted(modules)) if imports else f"constants and {names}"
    raise Fault(f"a kernel {what} {allowed}; found {ast.unparse(statement).splitlines()[0]}", statement.lineno)


def _head(function: ast.FunctionDef) -> tuple[str, list[str]]:
    """What stays as it is of a function beside a kernel: its name, and what stands above it."""
    return function.name, [ast.unparse(d) for d in function.decorator_list]


def _is_literal(value: ast.expr) -> bool:
    with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        ast.literal_eval(value)
        return True
    return False


def _check_name(node: ast.AST) -> None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            names = [name]
        case ast.alias(name=name, asname=other):
            names = [*name.split("."), other or ""]
        case _:
            return
    for name in names:
        if name in BARRED or name.startswith("__") or name in RESERVED:
            raise Fault(
                f"a kernel only computes, and may not use the rest of Python; found {name}",
                getattr(node, "lineno", None),
            )


def try_text(source: Source, text: str, cases: list[dict[str, Any]], backend: str, seconds: float) -> dict[str, Any]:
    """What the trial on the `cases` found; Fault if the text cannot be a kernel, fails, or takes too long."""
    check_text(text, source)
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
        path = os.pathsep.join([str(Path(HOME).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.child = subprocess.Popen(  # noqa: S603 - this Python, and words of ours
            [sys.executable, "-P", "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self.answers: queue.Queue[bytes] = queue.Queue()
        self.said = b""  # the end of what went to the other output
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._overhear)]
        for reader in self.readers:
            reader.start()
        return self

    def __exit__(self, *why: object) -> None:
        self.child.kill()
        self.child.wait()
        for reader in self.readers:
            reader.join()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def do(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The record. The process counts what it computes; the clock is looked at if it says nothing for long."""
        stage = self._next("reading its libraries", QUIET)["stage"]
        assert self.child.stdin is not None, "it was opened with a pipe"
        with suppress(BrokenPipeError):  # it crashed already, which is told below
            self.child.stdin.write(json.dumps(job).encode() + b"\n")
            self.child.stdin.flush()
        begun = time.monotonic()
        end = begun + seconds
        while True:
            free = STOPPED or stage.startswith("compiling")
            wait = max(QUIET, PATIENCE * seconds) if free else end - time.monotonic()
            answer = self._next(stage, wait, seconds)
            if "record" in answer:
                return dict(answer["record"])
            if "error" in answer:
                raise Fault(answer["error"]["message"], answer["error"]["line"])
            if stage.startswith("compiling"):
                end += time.monotonic() - begun  # that is free
            stage, begun = answer["stage"], time.monotonic()

    def _next(self, stage: str, wait: float, limit: float | None = None) -> dict[str, Any]:
        try:
            row = self.answers.get(timeout=max(0.0, wait))
        except queue.Empty:
            self.child.kill()
            if limit is not None and STOPPED is None:
                raise _too_long(limit, stage) from None
            words = f"stopped after {wait:g} seconds without an answer while {stage}"
            raise Fault(f"{words}. Nothing has changed. Try it when the machine has less to do.") from None
        if row:
            return dict(json.loads(row))
        status = self.child.wait()
        if limit is not None and status == STOPPED:
            raise _too_long(limit, stage)
        self.readers[-1].join()
        last = self.said.decode("utf-8", "replace").strip().rpartition("\n")[2]
        words = f"the process that tried it crashed (status {status}) while {stage}{': ' * bool(last)}{last}"
        raise Fault(f"{words}. Nothing has changed.")

    def _read(self) -> None:
        assert self.child.stdout is not None, "it was opened with a pipe"
        for row in self.child.stdout:
            self.answers.put(row)
        self.answers.put(b"")

    def _overhear(self) -> None:
        assert self.child.stderr is not None, "it was opened with a pipe"
        for part in iter(partial(os.read, self.child.stderr.fileno(), 4096), b""):
            self.said = (self.said + part)[-LAST:]


def _too_long(limit: float, stage: str) -> Fault:
    words = f"stopped after {limit:g} seconds, the limit, while {stage}"
    attempt = "end the loop" if stage.startswith("running") else "make the arrays smaller"
    return Fault(f"{words}. Nothing has changed. Try a larger seconds=, or {attempt}.")


def check_seconds(seconds: object) -> float:
    """Seconds that a trial may take; ArgumentError unless they are a number, and more than 0."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= LONGEST:  # type: ignore[operator]
        raise ArgumentError(f"a trial takes more than 0 and at most {LONGEST:,} seconds", repr(seconds), "seconds=10")
    return float(seconds)  # type: ignore[arg-type]


def cases_of(source: Source) -> dict[object, dict[str, Any]]:
    """The kernel's arguments, as plain data, for different shapes of the plans that run it."""
    known: dict[object, dict[str, Any]] = {}
    for plan, step in steps_of(source.key):
        case = _case(plan, step)
        small = sum(s["count"] * 8 for s in case["slots"].values()) <= LARGEST
        if small and len(known) < CASES:
            known.setdefault(shape_key(plan, step), case)
    return known


def reads_of(step: Step) -> list[int]:
    """The positions of the arguments that are inputs."""
    own = [] if step.own is None else [OWN]
    return [*(b.position for b in step.binds if b.slot not in step.outputs), *own]


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
        views = {} if step.own is None else {v.position: v.strides.shape for v in step.own.views}
        lengths = list(views.get(position, lengths))
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
    prepare = None if step.own is None else _case_of_own(step.own, arguments, slots)
    return {
        "names": names, "arguments": arguments, "slots": slots, "span": step.span, "blocks": step.blocks, "row": ROW,
        "prepare": prepare,
    }  # fmt: skip


def _case_of_own(own: Own, arguments: list[dict[str, Any]], slots: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Memory that a convolution has for itself, added to both; and the program that fills what is `prepared`."""
    dtype = own.sizes.dtype
    arguments[OWN] = {"slot": "prepared", "shape": [own.prepared]}
    arguments[OWN + 1] = {"space": own.space, "dtype": dtype}
    slots["prepared"] = {
        "name": "prepared", "dtype": dtype, "real": dtype, "count": own.prepared, "out": False, "low": 0, "high": 1,
    }  # fmt: skip
    if own.prepare is None:
        return None
    parameters = [list(asdict(p).values()) for p in own.prepare.parameters]
    given = [1, OWN, *range(OWN + 2, OWN + 2 + len(NUMBERS))]  # its arguments: positions of those of the kernel
    return {"text": own.prepare.text, "parameters": parameters, "span": own.span, "given": given}


def _range(plan: Plan, slot: int) -> tuple[int, int]:
    """Whole numbers that an array may hold: those that its checks allow, or a few that point into every axis."""
    root = plan.aliases.get(slot, slot)
    checks = [c for s in plan.steps for c in s.checks if plan.aliases.get(c.slot, c.slot) == root]
    found = [(low, high) for low, high, _ in (c.limits for c in checks) if low < high]
    if found:
        return max(low for low, _ in found), min(high for _, high in found)
    lengths = [n for step in plan.steps if slot in step.inputs for b in step.binds for n in plan.shapes[b.slot]]
    return 0, max(1, min([10, *lengths]))
