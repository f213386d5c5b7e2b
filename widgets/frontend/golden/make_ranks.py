"""Goldens of ranks: runs as a page holds them, whose times the browser has to work out again to the nanosecond.

    python widgets/frontend/golden/make_ranks.py      writes ranks/*.json again

Each file holds a section `ranks`, and `others`: the duration of the same program, run on other networks.
"""
# ruff: noqa: INP001  a script beside the files that it writes

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.lens.rank_timeline import section
from jt_edu.lens.scaling_curves import curves
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import ThreadComm, run_ranks
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Record

HERE = Path(__file__).resolve().parent
NETWORK = Network(latency=2500, overhead=1500, byte=6)
OTHERS = (Network(latency=2500, overhead=1500, byte=0.7), Network(1, 0, 0, 0), Network(90_000, 333, 50, 2.5))


def ring(comm: ThreadComm) -> None:
    """The check value of the cost model: 68,964 ns."""
    mine = np.full(1000, comm.rank, np.float32)
    comm.Allreduce(mine, np.empty_like(mine), algorithm="ring")


def tree(comm: ThreadComm) -> None:
    """One message for each rank but the root."""
    comm.Bcast(np.zeros(1000, np.float32), root=0, algorithm="tree")


def mixed(comm: ThreadComm) -> None:
    """Work, native collectives, synchronous sends, something in the background."""
    comm.compute(1000 * comm.rank + 700)
    mine, total = np.full(300, comm.rank, np.float32), np.empty(300, np.float32)
    comm.Allreduce(mine, total)
    request = comm.Iallreduce(mine, total, algorithm="ring")
    comm.compute(9000)
    request.wait()
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    sent = comm.issend(comm.rank, after)
    comm.recv(source=before)
    sent.wait()
    comm.barrier()


def stuck(comm: ThreadComm) -> None:
    """Three ranks in a circle, and one that waits for all."""
    comm.compute(3000 * (comm.rank + 1))
    comm.allreduce(comm.rank)
    if comm.rank < 3:
        comm.recv(source=(comm.rank + 1) % 3, tag=7)
    else:
        comm.barrier()


RUNS: dict[str, tuple[Callable[[ThreadComm], None], int, Faults]] = {
    "ring": (ring, 4, Faults()),
    "tree": (tree, 8, Faults()),
    "mixed": (mixed, 4, Faults(slow={2: 3.0}, delay={(0, 1): 12_345})),
    "stuck": (stuck, 4, Faults()),
}


def recorded(name: str, network: Network = NETWORK) -> Record:
    """One of the runs, without its wall times, which are never the same."""
    program, size, faults = RUNS[name]
    record = run_ranks(size, program, network=network, faults=faults).record
    calls = [replace(call, began=0.0, ended=0.0) for call in record.calls]
    return replace(record, calls=calls)


def document(name: str) -> dict[str, Any]:
    """A run as a page, with the durations on other networks."""
    record = recorded(name)
    others = [{"network": vars(other), "duration": recorded(name, other).duration} for other in OTHERS]
    return {"ranks": {**section(record), "curves": curves([record])}, "others": others}


if __name__ == "__main__":
    for name in RUNS:
        text = json.dumps(document(name), separators=(",", ":"))
        (HERE / "ranks" / f"{name}.json").write_text(text + "\n", encoding="utf-8")
