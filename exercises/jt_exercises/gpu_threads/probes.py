"""Probes: a learner's kernel is launched in the interpreter. None knows what is right."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from jt_edu import cuda
from jt_edu.cuda.device_array import DeviceArray
from jt_edu.cuda.launch import Kernel
from jt_exercises.gpu_threads.broken import BROKEN, kernel
from jt_exercises.verdict import RefusedError

STEPS = 10_000  # turns of loops that a thread of an answer may make


def launched(answer: Any, grid: Any, block: Any, *arguments: Any) -> dict[str, Any]:
    """What a launch makes of its arrays, what the interpreter finds, and how many trips to memory are made."""
    if not isinstance(answer, Kernel) or answer.device:
        raise RefusedError("the answer is a kernel: leave `@cuda.jit` above it as it is")
    given = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]
    run = cuda.simulate(answer, grid, block, *given, steps=STEPS)
    sums: dict[str, list[int]] = {}
    for trip in run.trips:
        row = sums.setdefault(f"{trip.name} {trip.how}", [0, 0, 0])
        for k, more in enumerate((trip.trips, trip.least, len(trip.lanes))):
            row[k] += more
    reads = Counter((t.block, t.warp, lane) for t in run.trips if t.how == "read" for lane in t.lanes)
    return {
        "arrays": [a.copy_to_host() for a in given if isinstance(a, DeviceArray)],
        "findings": [[f.kind, f.line, f.text, f.words] for f in run.findings],
        "slow": [[f.kind, f.line, f.text, f.words] for f in run.slow],
        "touched": sums,
        "reads": max(reads.values(), default=0),  # of the thread that reads most often
        "shared": sum(t.space == "shared" and t.how == "read" for t in run.trips),  # each is a warp at a line
        "barriers": max((s.epoch for s in run.snapshots), default=0),
    }


def with_barrier(lines: Any, name: str, *arrays: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The same of a kernel of the course, with a barrier behind the line that the answer says."""
    line = lines.get(name) if isinstance(lines, dict) else None
    if not isinstance(line, int) or isinstance(line, bool):
        raise RefusedError(f"the answer is a dict with the number of a line for each kernel; for {name} it is {line!r}")
    text = BROKEN[name].splitlines()
    if not 2 < line <= len(text):
        raise RefusedError(f"the barrier belongs behind one of the lines 3 to {len(text)}; {line} is none of them")
    row = text[line - 1]
    deeper = 4 * row.endswith(":")
    text.insert(line, " " * (len(row) - len(row.lstrip()) + deeper) + "cuda.syncthreads()")
    return launched(kernel("\n".join(text)), 1, 32, *arrays)
