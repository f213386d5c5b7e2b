"""GpuGrid: what do the threads of a block do, from barrier to barrier?

gpu_grid(kernel, 1, 32, x, out)      runs it in the interpreter, with copies of its arrays; below it opens what the
                                     kernel is in C++ and PTX, and what it takes of a GPU
gpu_grid(run)                        what `jt.cuda.simulate` has seen
"""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.cuda.costs import Trip
from jt_edu.cuda.cpp import Launch
from jt_edu.cuda.findings import Finding
from jt_edu.cuda.launch import Kernel, simulate
from jt_edu.cuda.run import Run, Snapshot
from jt_edu.draw.gpu_block import LETTERS, Meter, Stop, block_picture
from jt_edu.draw.html_picture import Picture
from jt_edu.lens.gpu_assembly import of_launches

MOST_METERS = 8


def gpu_grid(what: Kernel | Run, *launch: Any, number: int = 0) -> Picture:
    """Show where the threads of one block stand at each barrier, what is in shared memory, and who wrote it.

    Args:
        what: a kernel, or a run of one.
        launch: for a kernel: blocks, threads, and what it takes; arrays are copied.
        number: of the block.

    Raises:
        ArgumentError: it is neither, or there is no such block.

    Example:
        >>> import numpy as np
        >>> from jt_edu import cuda
        >>> @cuda.jit
        ... def copied(x, out):
        ...     out[cuda.grid(1)] = x[cuda.grid(1)]
        >>> gpu_grid(copied, 1, 32, np.ones(32, np.float32), np.zeros(32, np.float32))
        copied, block 0 of 1, 32 threads: nothing is wrong
        end: all have ended
        trips to memory: x, line 3: 4; out, line 3: 4
    """
    if isinstance(what, Kernel) and len(launch) < 2:
        raise ArgumentError("gpu_grid launches a kernel", "no blocks and threads", "gpu_grid(kernel, 1, 32, x)")
    below = ""
    if isinstance(what, Kernel):
        kernel, what = what, simulate(what, *copy.deepcopy(launch))
        below = "".join(_texts(Launch(kernel, launch[2:], what.block.size)))
    if not isinstance(what, Run):
        raise ArgumentError("gpu_grid shows a kernel, or a run of one", f"{what!r:.60}", "cuda.simulate(kernel, ...)")
    stops = [_stop(s) for s in what.snapshots if s.block == number]
    if not stops:
        raise ArgumentError(
            f"gpu_grid shows block {number}", "none of this number, or it came too late to be kept", "number=0"
        )
    here = [f for f in what.findings if any(block == number for block, _ in f.threads)]
    text = what.program.lines
    meters = _meters(trip for trip in what.trips if trip.block == number)
    threads = [thread for f in here for block, thread in f.threads if block == number]
    own = [line for f in here if f.function == what.program.name for line in (f.line, f.other) if line]
    in_a_row = what.block.x if what.block.y > 1 else min(what.block.x, 32)
    words = [row for f in here[:3] for row in textwrap.wrap(f"{f.kind}: {f.words}", LETTERS)]
    html = block_picture(text, stops, in_a_row, threads, own, meters, words)
    head = f"{what.program.name}, block {number} of {what.grid.size}, {plural(len(stops[0].lines), 'thread')}"
    told = [f"{head}: {_found(here)}"]
    told += [f"{stop.name}: {_lines(stop)}" for stop in stops]
    trips = (f"{m.name}: {m.trips}" + f", where {m.least} would do" * (m.trips > m.least) for m in meters)
    told.append("trips to memory: " + "; ".join(trips))
    return Picture(html + below, "\n".join(told))


def _texts(launch: Launch) -> Iterator[str]:
    """What opens below: a kernel in other words, and what it takes of a multiprocessor."""
    found = of_launches([launch])
    rows = ["GPU           registers  spilled  shared  warps at once  limited by"] if found["needs"] else []
    for row in found["needs"]:
        takes = f"{row['registers']:9}  {row['spilled']:7}  {row['shared']:6}"
        rows.append(f"{row['gpu']:13} {takes}  {row['warps']:5} of {row['most']:2}    {row['limits']}")
    texts = {"CUDA C++": found["cpp"], "PTX": found["ptx"] or found["no_ptx"], "Occupancy": "\n".join(rows)}
    for name, text in texts.items():
        if text:
            yield f"<details><summary>{name}</summary><pre style='white-space:pre-wrap'>{escape(text)}</pre></details>"


def _found(findings: list[Finding]) -> str:
    return "\n" + "\n".join(map(str, findings)) if findings else "nothing is wrong"


def _lines(stop: Stop) -> str:
    lines = sorted(set(stop.lines))
    told = [f"{sum(at == line for at in stop.lines)} in line {line}" for line in lines if line]
    ended = sum(not line for line in stop.lines)
    return ", ".join(told + ([f"{ended} have ended" if told else "all have ended"] if ended else []))


def _stop(snapshot: Snapshot) -> Stop:
    lines = [snapshot.lines[thread] for thread in sorted(snapshot.lines)]
    return Stop(snapshot.name, lines, snapshot.shared, snapshot.writers, snapshot.readers)


def _meters(trips: Iterable[Trip]) -> list[Meter]:
    """Trips by line and array, the most wasteful first."""
    found: dict[tuple[str, int], list[int]] = {}
    for trip in trips:
        sums = found.setdefault((trip.name, trip.place.line), [0, 0])
        sums[0] += trip.trips
        sums[1] += trip.least
    rows = sorted(found.items(), key=lambda row: row[1][1] - row[1][0])
    return [Meter(f"{name}, line {line}", trips, least) for (name, line), (trips, least) in rows[:MOST_METERS]]
