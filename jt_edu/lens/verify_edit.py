"""Verify edit: does a learner's text of a kernel do what the original does, and how fast?

    a job, as one line of JSON   ->   {"stage": "comparing"} ...   ->   {"record": {...}} or {"error": {...}}

`edit_process` starts a process that runs `serve`, and ends it when its time is over: whatever the text does, it does it
here, and not to the notebook. First both texts are compiled with every index checked, the rounds of every loop counted,
and the line noted before it is done (`sandbox`); then without all that, to compare and to time them.

What counts is the CPU time that the texts take: compiling is free. When half of it is over no more arrays are compared,
and measuring ends before all of it is. Memory is limited too. Nothing here knows plans or graphs.
"""

# mypy: disable-error-code="no-untyped-call"
# numba is typed in part

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

try:
    import resource
except ImportError:  # Windows: there whoever started us looks at the clock alone
    resource = None  # type: ignore[assignment]

from jt_edu import backends
from jt_edu.base.dtypes import from_bfloat16
from jt_edu.base.errors import KernelError
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.lens.sandbox import Call, Checked, Refused

FILLS = ("numbers around 0", "numbers from 0 to 1", "zeros and ones")
ROUNDS = 50_000_000  # of loops, that are done with checked indices
MORE = 50  # times as many rounds as the original are taken for an endless loop,
FEWEST = ROUNDS // MORE  # and so many besides, which even a slow kernel does in no time
SAMPLES, SECONDS = 15, 3.0  # of timing
LAST = 0.3  # of the time is left for it
FENCE, MARK = 1024, 0xA5  # numbers before and behind each array, which nobody may write, and the bytes that they are of
SHORTEST = 2e-4  # seconds: a kernel that takes less is timed several times at once
LOOSE = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
TICK = 1e-9  # seconds: no call takes less, whatever the clock says
ROOM = 2 << 30  # bytes that a text may need, beside
NO_ROOM = f"it needs more than {ROOM >> 30} GB of memory beside its arrays"
COPIES = 12  # of its arrays, while they are compared
STATM = Path("/proc/self/statm")  # how much memory this process has, in pages
Tell = Callable[..., None]


def serve() -> None:
    """Read one job, answer it; what the text prints goes to the other output."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)

        def tell(**words: Any) -> None:
            out.write(json.dumps(words) + "\n")
            out.flush()

        tell(stage="ready")
        job = json.loads(sys.stdin.readline())
        _limit_memory(job["cases"])
        try:
            tell(record=examine(job, tell, Budget(job["seconds"])))
        except Refused as refused:
            tell(error={"message": str(refused), "line": refused.line})
        except KernelError as error:  # of a backend that checks
            tell(error={"message": str(error), "line": None})
        except MemoryError:
            tell(error={"message": NO_ROOM, "line": None})


def _limit_memory(cases: list[dict[str, Any]]) -> None:
    """More than we have, the arrays need and ROOM is an error here, before the machine has none left."""
    if resource is not None and STATM.exists():
        have = int(STATM.read_text().split()[0]) * resource.getpagesize()
        arrays = max(sum(slot["count"] * 8 for slot in case["slots"].values()) for case in cases)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = have + ROOM + COPIES * arrays
        with suppress(ValueError):  # there is a lower limit already
            resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


class Budget:
    """CPU seconds; the system ends us when we have computed for that long."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.end = seconds, time.process_time() + seconds
        self._tell_the_system(self.end)

    @property
    def left(self) -> float:
        """Seconds that it may compute yet."""
        return self.end - time.process_time()

    @contextmanager
    def free(self) -> Iterator[None]:
        """Time spent inside this block is not counted."""
        begin = time.process_time()
        self._tell_the_system(math.inf)
        yield
        self.end += time.process_time() - begin
        self._tell_the_system(self.end)

    def trust(self) -> None:
        """Let it end by itself from now on: it did on the same arrays."""
        self._tell_the_system(math.inf)

    def _tell_the_system(self, end: float) -> None:
        if resource is not None:
            soft, hard = resource.RLIM_INFINITY if math.isinf(end) else math.ceil(end), _hard_cpu()
            resource.setrlimit(resource.RLIMIT_CPU, (hard if soft < 0 or 0 <= hard < soft else soft, hard))


def _hard_cpu() -> int:
    return int(resource.getrlimit(resource.RLIMIT_CPU)[1])


def examine(job: dict[str, Any], tell: Tell, budget: Budget) -> dict[str, Any]:
    """Check, compare and time; Refused says what is wrong."""
    old, new = (_source(job, text) for text in (job["original"], job["text"]))
    fills = FILLS if job["backend"] == "numba" else FILLS[:1]  # Python takes its time
    pairs = [(k, case, fill) for fill in fills for k, case in enumerate(job["cases"])]
    backend = backends.get(job["backend"])
    done = len(pairs) if getattr(backend, "checks", False) else _checked(job, (old, new), pairs, tell, budget)
    tell(stage="compiling it")
    begin = time.process_time()
    with budget.free():
        calls = backend.compile(old).call, backend.compile(new).call
    compile_ms = (time.process_time() - begin) * 1e3
    if not getattr(backend, "checks", False):
        budget.trust()
    worst: dict[str, dict[str, Any]] = {}
    sets = 0
    for k, case, fill in pairs[:done]:
        tell(stage=f"comparing on {_shapes(case)}, {fill}")
        for name, found in _compare(case, calls, fill, [k, FILLS.index(fill)]).items():
            worst[name] = _worse(worst.get(name), found)
        sets += 1
        if budget.left < LAST * budget.seconds and sets >= len(job["cases"]):
            break
    tell(stage="measuring its time")
    first = Numbers(job["cases"][0], FILLS[0], [0, 0])
    return {
        "outputs": list(worst.values()), "sets": sets, "shapes": [_shapes(case) for case in job["cases"]],
        "compile_ms": compile_ms, **_race(job["cases"][0], calls, first, budget),
    }  # fmt: skip


def _checked(
    job: dict[str, Any], sources: tuple[Source, Source], pairs: list[tuple[int, dict[str, Any], str]], tell: Tell,
    budget: Budget,
) -> int:  # fmt: skip
    """Run both texts with checked indices, which a backend that checks them itself has no need of; how many pairs."""
    tell(stage="compiling it with checked indices")
    with budget.free():
        reads = [p for p, a in enumerate(job["cases"][0]["arguments"]) if _is_input(job["cases"][0], a)]
        texts = Checked(sources[0], reads), Checked(sources[1], reads)
        for case in filter(lambda case: case.get("prepare"), job["cases"]):
            _preparing(case)
    return _check(job["cases"], pairs, texts, tell, budget)


def _check(
    cases: list[dict[str, Any]], pairs: list[tuple[int, dict[str, Any], str]], texts: tuple[Checked, Checked],
    tell: Tell, budget: Budget,
) -> int:  # fmt: skip
    """Run both with notes on as many of the pairs as half the time allows, but on each case; how many those were."""
    for done, (k, case, fill) in enumerate(pairs):
        if budget.left < budget.seconds / 2 and done >= len(cases):
            return done
        tell(stage=f"running it with checked indices on {_shapes(case)}, {fill}")
        seed = [k, FILLS.index(fill)]
        rounds = _rounds(texts[0], case, Numbers(case, fill, seed), ROUNDS)
        limit = 1 << 60 if rounds >= ROUNDS else FEWEST + MORE * rounds
        _rounds(texts[1], case, Numbers(case, fill, seed), limit, rounds)
    return len(pairs)


def _is_input(case: dict[str, Any], argument: dict[str, Any]) -> bool:
    return "slot" in argument and not case["slots"][argument["slot"]]["out"]


def _source(job: dict[str, Any], text: str) -> Source:
    parameters = tuple(Parameter(name, dtype, rank) for name, dtype, rank in job["parameters"])
    return Source(text, parameters, job["entry"], job["apart"])


def _shapes(case: dict[str, Any]) -> str:
    pairs = zip(case["names"], case["arguments"], strict=True)
    return ", ".join(f"{name} {tuple(a['shape'])}" for name, a in pairs if "slot" in a and a["slot"] != "prepared")


class Numbers:
    """Random arguments for a kernel: the same seed gives the same ones."""

    def __init__(self, case: dict[str, Any], fill: str, seed: list[int]) -> None:
        rng = np.random.default_rng(seed)
        self.fenced: list[tuple[str, Any, int]] = []
        self.flat = {slot: self._fence(spec["name"], _fill(spec, fill, rng)) for slot, spec in case["slots"].items()}
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
            elif "space" in a:  # it may hold anything
                self.arguments.append(self._fence("space", np.full(a["space"], np.nan, a["dtype"])))
            else:
                self.arguments.append(np.dtype(a["dtype"]).type(rng.integers(1, 4)).item())
        if case.get("prepare"):
            _preparing(case)(0, case["prepare"]["span"], *(self.arguments[p] for p in case["prepare"]["given"]))

    def _fence(self, name: str, numbers: Any) -> Any:
        """The same numbers, between fences."""
        whole = np.empty(len(numbers) + 2 * FENCE, numbers.dtype)
        whole.view(np.uint8)[:] = MARK
        inside = whole[FENCE : FENCE + len(numbers)]
        inside[:] = numbers
        self.fenced.append((name, whole, len(numbers)))
        return inside

    def check_fences(self, who: str = "it") -> None:
        """Raise Refused if something outside an array was written."""
        for name, whole, count in self.fenced:
            beside = np.concatenate([whole[:FENCE], whole[FENCE + count :]])
            if (beside.view(np.uint8) != MARK).any():
                raise Refused(f"{who} writes beside {name}, which has {count:,} elements")


def _preparing(case: dict[str, Any]) -> Call:
    """The program that fills what a convolution is given besides arrays of the graph."""
    parameters = tuple(Parameter(name, dtype, rank) for name, dtype, rank in case["prepare"]["parameters"])
    return backends.get("numba").compile(Source(case["prepare"]["text"], parameters, apart=True)).call


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


def _rounds(checked: Checked, case: dict[str, Any], numbers: Numbers, limit: int, original: int | None = None) -> int:
    """How many rounds its loops go; more than `limit` is an error in a text whose original goes `original`."""
    mark = checked.notes(limit)
    try:
        _whole(case, checked.call, [*numbers.arguments, mark])
    except Exception as error:
        if mark[1] > limit and original is None:
            return int(mark[1])
        words = NO_ROOM if isinstance(error, MemoryError) else checked.complaint(error, mark)
        if mark[1] > limit:
            words = f"its loops went {limit:,} rounds, the original's {original:,}: does this one end?"
            words += checked.where(mark)
        elif original is None:
            words = f"the original cannot be tried on random numbers; {words}"
        raise Refused(words, int(mark[0]) or None) from error
    numbers.check_fences("the original" if original is None else "it")
    return int(mark[1])


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
        trial.check_fences()
        for slot, spec in case["slots"].items():
            if not spec["out"] and trial.flat[slot].tobytes() != reference.flat[slot].tobytes():
                raise Refused(f"it changes {spec['name']}, which is an input: a kernel writes only its outputs")
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
        return from_bfloat16(x).astype(np.float64)
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


def _race(case: dict[str, Any], calls: tuple[Call, Call], numbers: Numbers, budget: Budget) -> dict[str, Any]:
    """CPU milliseconds of both on one thread: the least of several, taken in turn, as long as there is time."""
    begin = _seconds(case, calls[0], numbers.arguments, 1)
    repeat = max(1, min(10_000, int(SHORTEST / max(begin, 1e-8))))
    best, samples, round_took = [math.inf, math.inf], 0, 0.0
    end = time.process_time() + max(0.0, min(SECONDS, budget.left))
    while samples < SAMPLES and (samples < 1 or time.process_time() + round_took < end):
        before = time.process_time()
        for which in (0, 1) if samples % 2 else (1, 0):
            best[which] = min(best[which], _seconds(case, calls[which], numbers.arguments, repeat) / repeat)
        samples, round_took = samples + 1, time.process_time() - before
    return {"original_ms": max(best[0], TICK) * 1e3, "edited_ms": max(best[1], TICK) * 1e3, "samples": samples}


def _seconds(case: dict[str, Any], call: Call, arguments: list[Any], repeat: int) -> float:
    begin = time.process_time()
    for _ in range(repeat):
        _whole(case, call, arguments)
    return time.process_time() - begin
