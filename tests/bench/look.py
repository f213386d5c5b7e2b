"""Look: why is a row as slow as it is?

    profile    Python functions of ours, the dearest first: for rows of small arrays
    source     the kernels, as they were generated
    asm        the machine code of their inner loops: is it packed (several numbers for each instruction)?

An inner loop is a stretch of code between a label and a jump back to it that holds no other such jump. The names of
instructions are those of x86-64; elsewhere `asm` has nothing to tell.
"""

import cProfile
import io
import pstats
import re
from collections.abc import Iterator

import jt_edu as jt
from jt_edu.backends import define, numba_pipeline
from jt_edu.backends.numba_cpu import signature
from jt_edu.base.context import current
from tests.bench.measure import enough
from tests.bench.rows import Row

LABEL = re.compile(r"^(\S+):")
JUMP = re.compile(r"^\s+j[a-z]+\s+(\S+)")
REAL = re.compile(r"^\s+v?(?P<name>[a-z]+\d*[a-z]*?)(?P<form>ps|pd|ss|sd)\s.*?(?P<register>[xyz]mm)\d")
MOVES = ("mova", "movu", "mov", "movnt", "broadcast")


def profile(row: Row) -> str:
    """Where the Python of our side spends its time; half a second of calls."""
    case = row.build(*row.size)
    for _ in range(3):
        case.ours()
    calls = enough(case.ours, least=0.5)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(calls):
        case.ours()
    profiler.disable()
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(30)
    return f"{calls} calls\n{text.getvalue()}"


def source(row: Row) -> str:
    """The kernels of our side, with the operator behind each line."""
    with jt.trace() as t:
        case = row.build(*row.size)
        seen = len(t.kernels)
        case.ours()
    return "\n".join(f"# {k.name}: {k.bytes:,} bytes, {k.milliseconds:.3f} ms\n{k.annotated}" for k in t.kernels[seen:])


def asm(row: Row) -> str:
    """What the inner loops of the kernels of our side are made of."""
    with jt.trace() as t:
        case = row.build(*row.size)
        seen = len(t.kernels)
        case.ours()
    wanted = {k.source: k.name for k in t.kernels[seen:]}
    steps = {s.source.text: s for p in current().rank_state["plans"].values() for s in p.steps if s.kind != "host"}
    return "\n".join(_of_kernel(name, steps[text].source) for text, name in wanted.items() if text in steps)


def _of_kernel(name, kernel) -> str:
    """Compiles the same text in the same way once more: the machine code that runs is not kept as text."""
    made = numba_pipeline.compiled(define(kernel, f"<{name}>"), signature(kernel), kernel.apart)
    text = next(iter(made.inspect_asm().values()))
    told = filter(None, map(describe, inner_loops(text.splitlines())))
    return f"# {name}: inner loops that do float arithmetic\n" + "\n".join(told) + "\n"


def inner_loops(lines: list[str]) -> Iterator[list[str]]:
    """The bodies of the loops that hold no other loop."""
    labels, spans = {}, []
    for number, text in enumerate(lines):
        if hit := LABEL.match(text):
            labels[hit[1]] = number
        elif (hit := JUMP.match(text)) and hit[1] in labels:
            spans.append((labels[hit[1]], number))
    for low, high in spans:
        if not any((low, high) != (a, b) and low <= a and b <= high for a, b in spans):
            yield lines[low + 1 : high + 1]


def describe(body: list[str]) -> str:
    """How much arithmetic a loop does on packed numbers, and how much on single ones; nothing if it does none."""
    found = [hit for hit in map(REAL.match, body) if hit and not hit["name"].startswith(MOVES)]
    packed = [hit for hit in found if hit["form"] in ("ps", "pd")]
    widest = max((hit["register"] for hit in packed), default="none")
    calls = [text.split()[-1] for text in body if re.match(r"^\s+call", text)]
    told = f"{len(body):5} lines: {len(packed)} packed ({widest}), {len(found) - len(packed)} single"
    told += f", calls {', '.join(calls)}" if calls else ""
    return told if found else ""
