"""Examine: does a learner's text of a kernel do what the original does, and how fast?

    a job, as one line of JSON   ->   {"stage": "comparing"} ...   ->   {"record": {...}} or {"error": {...}}

`trial` starts a process that runs `serve`, and ends it when its time is over: whatever the text does, it does it here,
and not to the notebook. First both texts are compiled with every index checked, the rounds of every loop counted, and
the line noted before it is done; then as they would really run. Nothing here knows plans or graphs.
"""

# mypy: disable-error-code="no-untyped-call"
# numba is typed in part

from __future__ import annotations

import ast
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

try:
    import resource
except ImportError:  # Windows: there whoever started us looks at the clock alone
    resource = None  # type: ignore[assignment]

from jt_edu import backends
from jt_edu.backends import Program, numba_cpu
from jt_edu.backends.python import define
from jt_edu.codegen.source import Parameter, Source

FILLS = ("numbers around 0", "numbers from 0 to 1", "zeros and ones")
ROUNDS = 50_000_000  # of loops, that are done with checked indices
MORE = 50  # times as many rounds as the original are taken for an endless loop
SAMPLES, SECONDS = 15, 3.0  # of timing
SHORTEST = 2e-4  # seconds: a kernel that takes less is timed several times at once
LOOSE = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
Tell = Callable[..., None]
Call = Callable[..., None]


class Refused(Exception):  # noqa: N818 - it is an answer
    """What is wrong with the text, and in which of its lines."""

    def __init__(self, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.line = line


def serve() -> None:
    """Read one job, answer it; what the text prints goes to the other output."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)

        def tell(**words: Any) -> None:
            out.write(json.dumps(words) + "\n")
            out.flush()

        tell(stage="ready")
        job = json.loads(sys.stdin.readline())
        if resource is not None:  # the system ends us when we have computed for that long
            end = math.ceil(time.process_time() + job["seconds"])
            resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        try:
            tell(record=examine(job, tell))
        except Refused as refused:
            tell(error={"message": str(refused), "line": refused.line})


def examine(job: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Check, compare and time; Refused says what is wrong."""
    old, new = (_source(job, text) for text in (job["original"], job["text"]))
    fills = FILLS if job["backend"] == "numba" else FILLS[:1]  # Python takes its time
    tell(stage="compiling it with checked indices")
    checked_old, checked_new = Checked(old), Checked(new)
    for k, case in enumerate(job["cases"]):
        for fill in fills:
            tell(stage=f"running it with checked indices on {_shapes(case)}, {fill}")
            seed = [k, FILLS.index(fill)]
            rounds = checked_old.run(case, Numbers(case, fill, seed), ROUNDS)
            limit = 1 << 60 if rounds >= ROUNDS else ROUNDS // MORE + MORE * rounds
            checked_new.run(case, Numbers(case, fill, seed), limit, strict=True)
    tell(stage="compiling it")
    backend = backends.get(job["backend"])
    begin = time.process_time()
    calls = backend.compile(old).call, backend.compile(new).call
    compile_ms = (time.process_time() - begin) * 1e3
    worst: dict[str, dict[str, Any]] = {}
    for k, case in enumerate(job["cases"]):
        for fill in fills:
            tell(stage=f"comparing on {_shapes(case)}, {fill}")
            for name, found in _compare(case, calls, fill, [k, FILLS.index(fill)]).items():
                worst[name] = _worse(worst.get(name), found)
    tell(stage="measuring its time")
    first = Numbers(job["cases"][0], FILLS[0], [0, 0])
    return {
        "outputs": list(worst.values()), "sets": len(fills) * len(job["cases"]),
        "shapes": [_shapes(case) for case in job["cases"]],
        "compile_ms": compile_ms, **_race(job["cases"][0], calls, first),
    }  # fmt: skip


def _source(job: dict[str, Any], text: str) -> Source:
    parameters = tuple(Parameter(name, dtype, rank) for name, dtype, rank in job["parameters"])
    return Source(text, parameters, job["entry"], job["apart"])


def _shapes(case: dict[str, Any]) -> str:
    rows = [f"{p} {tuple(a['shape'])}" for p, a in zip(case["names"], case["arguments"], strict=True) if "slot" in a]
    return ", ".join(rows)


class Numbers:
    """Random arguments for a kernel: the same seed gives the same ones."""

    def __init__(self, case: dict[str, Any], fill: str, seed: list[int]) -> None:
        rng = np.random.default_rng(seed)
        self.flat = {slot: _fill(spec, fill, rng) for slot, spec in case["slots"].items()}
        self.arguments: list[Any] = []
        scratch: dict[str, Any] = {}
        for a in case["arguments"]:
            if "length" in a:
                self.arguments.append(a["length"])
            elif "slot" in a:
                self.arguments.append(self.flat[a["slot"]].reshape(a["shape"]))
            elif "scratch" in a:
                size = int(np.prod(a["shape"], dtype=int))
                flat = scratch.setdefault(a["scratch"], np.zeros(size, a["dtype"]))
                self.arguments.append(flat.reshape(a["shape"]))
            else:
                self.arguments.append(np.dtype(a["dtype"]).type(rng.integers(1, 4)).item())


def _fill(spec: dict[str, Any], fill: str, rng: np.random.Generator) -> Any:
    """Flat memory; where something is to be stored lies what no kernel computes."""
    dtype, count = np.dtype(spec["dtype"]), spec["count"]
    if spec["out"]:
        return np.full(count, 77 if dtype.kind in "iu" else np.nan if dtype.kind in "fc" else 1, dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    if spec["real"] in ("float16", "bfloat16"):
        numbers = _floats(fill, count, rng).astype(np.float32)
        return numbers.astype(np.float16).view(dtype) if spec["real"] == "float16" else _bfloats(numbers)
    if dtype.kind in "iu":
        return rng.integers(spec["low"], spec["high"], count).astype(dtype)
    return _floats(fill, count, rng).astype(dtype)


def _floats(fill: str, count: int, rng: np.random.Generator) -> Any:
    if fill == FILLS[0]:
        return rng.standard_normal(count)
    return rng.random(count) if fill == FILLS[1] else rng.integers(0, 2, count)


def _bfloats(numbers: Any) -> Any:
    return (numbers.view(np.uint32) >> 16).astype(np.uint16)


def _whole(case: dict[str, Any], call: Call, arguments: list[Any]) -> None:
    """All of the work, in the order in which one thread does it."""
    step = case["row"] if case["blocks"] else max(case["span"], 1)
    for low in range(0, case["span"], step):
        call(low, min(low + step, case["span"]), *arguments)


def checked_program(source: Source) -> Program:
    """The text compiled so that a wrong index is an error: for shapes that were not tried."""
    function = define(source, f"<edited kernel {source.key}>")
    signature = numba_cpu._signature(source)
    return Program(numba.njit(signature, boundscheck=True, nogil=True, error_model="numpy")(function), True, 0.0, None)


class Checked:
    """A text that is compiled so that a wrong index is an error, and an endless loop ends."""

    def __init__(self, source: Source) -> None:
        self.source = source
        tree = ast.parse(source.text)
        marker = _Marker()
        (kernel,) = (s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == source.entry)
        marker.mark(kernel)
        self.counters = marker.counters
        space: dict[str, Any] = {"__name__": "edited"}
        try:
            exec(compile(ast.fix_missing_locations(tree), "kernel", "exec"), space)  # noqa: S102 - what it is for
        except Exception as error:
            raise Refused(f"{type(error).__name__}: {error}", _line_of(error)) from error
        types = [*numba_cpu._signature(source).args, numba.int64[::1]]
        try:
            self.call = numba.njit(numba.void(*types), boundscheck=True, error_model="numpy")(space[source.entry])
        except Exception as error:
            raise Refused(*_in_words(error)) from error

    def run(self, case: dict[str, Any], numbers: Numbers, limit: int, strict: bool = False) -> int:
        """How many rounds its loops went; not more than `limit`, which is an error if we are strict."""
        mark = np.zeros(3 + len(self.counters), np.int64)
        mark[2] = limit
        try:
            _whole(case, self.call, [*numbers.arguments, mark])
        except Exception as error:
            if mark[1] > limit and not strict:
                return int(mark[1])
            raise Refused(self._complaint(error, mark, limit, strict), int(mark[0])) from error
        return int(mark[1])

    def _complaint(self, error: Exception, mark: Any, limit: int, strict: bool) -> str:
        line = int(mark[0])
        known = {n: int(mark[3 + k]) for k, (n, first, last) in enumerate(self.counters) if first <= line <= last}
        where = ", ".join(f"{name} = {number}" for name, number in known.items())
        where = f" (with {where})" if where else ""
        if mark[1] > limit:
            return f"its loops went {limit:,} rounds, {MORE} times as many as the original's: does this one end?{where}"
        words = f"{type(error).__name__}: {error}{where}"
        return words if strict else f"the original cannot be tried on random numbers; {words}"


class _Marker:
    """Notes in an array: [line, rounds, most rounds, counters ...]."""

    def __init__(self) -> None:
        self.counters: list[tuple[str, int, int]] = []  # name, first and last line of its loop

    def mark(self, kernel: ast.FunctionDef) -> None:
        """Add the array to the parameters, and notes to the body."""
        kernel.args.args.append(ast.arg("mark_"))
        kernel.body = self._block(kernel.body)

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        rows: list[ast.stmt] = []
        for statement in body:
            rows += [*_code(f"mark_[0] = {statement.lineno}", statement), statement]
            if isinstance(statement, (ast.For, ast.While)):
                statement.body = [*self._round(statement), *self._block(statement.body)]
            elif isinstance(statement, ast.If):
                statement.body = self._block(statement.body)
            if isinstance(statement, (ast.For, ast.While, ast.If)) and statement.orelse:
                statement.orelse = self._block(statement.orelse)
        return rows

    def _round(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        note = ""
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and "range(" in ast.unparse(loop.iter):
            note = f"mark_[{3 + len(self.counters)}] = {loop.target.id}\n"
            self.counters.append((loop.target.id, loop.lineno, loop.end_lineno or loop.lineno))
        return _code(
            note + f"mark_[1] += 1\nif mark_[1] > mark_[2]:\n    mark_[0] = {loop.lineno}\n    raise RuntimeError", loop
        )


def _code(text: str, at: ast.stmt) -> list[ast.stmt]:
    rows = ast.parse(text).body
    for row in rows:
        for node in ast.walk(row):
            ast.copy_location(node, at)
    return rows


def _line_of(error: Exception) -> int | None:
    """The last line of the text that a traceback passes."""
    found, trace = None, error.__traceback__
    while trace is not None:
        found = trace.tb_lineno if trace.tb_frame.f_code.co_filename == "kernel" else found
        trace = trace.tb_next
    return found


def _in_words(error: Exception) -> tuple[str, int | None]:
    """What the compiler says, without what it says about itself, and in which line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [int(n) for n in re.findall(r'File "[^"]*kernel[^"]*", line (\d+)', text)]
    place = getattr(error, "loc", None)
    line = lines[-1] if lines else getattr(place, "line", None)
    noise = re.compile(r"Failed in |File \"|\s*$|During: |<source |This error |There are \d|>>>|- Resolution|\^|Use ")
    told = [re.sub(r", defined at .*|(?<=\w)\.\d+(?=')", "", r.strip()) for r in text.splitlines()]
    return next((row.rstrip(":") for row in told if not noise.match(row)), type(error).__name__), line


def _compare(case: dict[str, Any], calls: tuple[Call, Call], fill: str, seed: list[int]) -> dict[str, dict[str, Any]]:
    """For each output: how far the two are from each other, with the work done whole, and in two parts."""
    reference = Numbers(case, fill, seed)
    _whole(case, calls[0], reference.arguments)
    found: dict[str, dict[str, Any]] = {}
    for parts in (1, 2):
        trial = Numbers(case, fill, seed)
        middle = case["span"] // 2
        if parts == 1 or case["blocks"] or middle == 0:
            _whole(case, calls[1], trial.arguments)
        else:  # as two threads would
            calls[1](0, middle, *trial.arguments)
            calls[1](middle, case["span"], *trial.arguments)
        for slot, spec in case["slots"].items():
            if spec["out"]:
                difference = _difference(reference.flat[slot], trial.flat[slot], spec)
                found[slot] = _worse(found.get(slot), {**difference, "parts": parts})
    return found


def _difference(old: Any, new: Any, spec: dict[str, Any]) -> dict[str, Any]:
    a, b = (_wide(x, spec["real"]) for x in (old, new))
    finite = np.isfinite(a) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    gap = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0))
    largest = float(np.abs(np.where(finite, a, 0)).max(initial=0.0))
    strange = int((~finite & ~same).sum())
    with np.errstate(all="ignore"):
        relative = np.where(gap > 0, gap / np.abs(np.where(finite & (a != 0), a, 1)), 0)
    most = float(gap.max(initial=0.0))
    loose = LOOSE.get(spec["real"], 0.0)
    return {
        "name": spec["name"], "dtype": spec["real"], "count": int(a.size), "differ": int((~same).sum()),
        "absolute": most, "relative": float(relative.max(initial=0.0)), "largest": largest,
        "agrees": bool(strange == 0 and most <= loose * max(largest, 1e-30)), "strange": strange,
    }  # fmt: skip


def _wide(x: Any, real: str) -> Any:
    if real == "float16":
        return x.view(np.float16).astype(np.float64)
    if real == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _worse(a: dict[str, Any] | None, b: dict[str, Any]) -> dict[str, Any]:
    """The worse of two comparisons of one output, in every number."""
    if a is None:
        return b
    first = a if (a["agrees"], -a["absolute"]) <= (b["agrees"], -b["absolute"]) else b
    most = {key: max(a[key], b[key]) for key in ("absolute", "relative", "largest", "strange")}
    counts = b if b["differ"] * a["count"] > a["differ"] * b["count"] else a
    return {
        **first,
        **most,
        "differ": counts["differ"],
        "count": counts["count"],
        "agrees": a["agrees"] and b["agrees"],
    }


def _race(case: dict[str, Any], calls: tuple[Call, Call], numbers: Numbers) -> dict[str, Any]:
    """CPU milliseconds of both on one thread: the least of several, taken in turn."""
    begin = _seconds(case, calls[0], numbers.arguments, 1)
    repeat = max(1, min(10_000, int(SHORTEST / max(begin, 1e-8))))
    best, samples, deadline = [np.inf, np.inf], 0, time.process_time() + SECONDS
    while samples < SAMPLES and (samples < 3 or time.process_time() < deadline):
        for which in (0, 1) if samples % 2 else (1, 0):
            best[which] = min(best[which], _seconds(case, calls[which], numbers.arguments, repeat) / repeat)
        samples += 1
    return {"original_ms": best[0] * 1e3, "edited_ms": best[1] * 1e3, "samples": samples}


def _seconds(case: dict[str, Any], call: Call, arguments: list[Any], repeat: int) -> float:
    begin = time.process_time()
    for _ in range(repeat):
        _whole(case, call, arguments)
    return time.process_time() - begin
