"""Remote: the same cell, in processes of its own under mpirun.

    notebook     cell, and the parcel of what it reads   ──►   a folder
    mpirun       rank 0, rank 1, ...                     each unpacks the parcel, and runs the cell
    notebook     CellRun, as for simulated ranks         ◄──   pages, values, errors, record

What a cell prints and computes is the same as on simulated ranks. What differs: the processes end with the cell, so no
names stay; nothing is shared; and time is real.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import RankError
from jt_edu.mpi.base.errors import DeadlockError, LostRankError, RankTimeoutError
from jt_edu.mpi.differentiable_collectives import communicator
from jt_edu.mpi.mpirun_jobs.job import Job, run_job
from jt_edu.mpi.mpirun_jobs.report import begin, report
from jt_edu.mpi.notebook.cell import GIVEN, SEE_BELOW, Cell, CellRun, Told, learners_lines
from jt_edu.mpi.notebook.cell_pickle import Carrier
from jt_edu.mpi.notebook.process import Page

CELL, PARCEL = "cell", "parcel"  # files
PROGRAM = "import sys; from jt_edu.mpi.mpirun_jobs.remote import run_here; run_here(sys.argv[1], globals())"


@dataclass
class Ending:
    """How a rank came to the end of a cell."""

    value: bytes = b""  # pickled, if that can be done
    shown: str | None = None
    trouble: tuple[str, ...] = ()  # the learner's lines on the way to the error


def run_under_mpi(
    cell: Cell,
    size: int,
    home: dict[str, Any],
    hidden: Mapping[str, Any] | None = None,
    timeout: float = 60.0,
    while_waiting: Callable[[list[Told]], None] | None = None,
) -> tuple[CellRun, Job]:
    """Run a cell as a job under mpirun. What fails is in the answer, not raised.

    Args:
        cell: what to run.
        size: how many ranks.
        home: names of the notebook; ranks get copies of those that the cell reads.
        hidden: names in it that are not the learner's.
        timeout: seconds after which the job is ended.
        while_waiting: called some times a second with what the ranks have told so far.

    Raises:
        RankError: there is no mpirun.
    """
    known = hidden or {}
    asked = {n for n in cell.reads - {"ranks", "mpirun", *GIVEN} if n in home and known.get(n) is not home[n]}
    parcel = Carrier().pack(home, asked)

    def meanwhile(folder: Path) -> None:
        if while_waiting is not None:
            while_waiting([_so_far(folder, rank) for rank in range(size)])

    with tempfile.TemporaryDirectory(prefix="jt_edu_cell_", ignore_cleanup_errors=True) as place:
        (Path(place) / CELL).write_text(cell.text, encoding="utf-8")
        (Path(place) / PARCEL).write_bytes(pickle.dumps((parcel, vars(current().flags))))
        job = run_job(
            PROGRAM, size, timeout=timeout, arguments=[place], name="run_cell.py", meanwhile=meanwhile,
            debug=os.environ.get("JT_EDU_MPI_DEBUG") != "0",
        )  # fmt: skip
    notes = [f"{name} stays in the notebook: it cannot be copied ({why})" for name, why in parcel.stuck.items()]
    told = [_told(job, rank) for rank in range(size)]
    return CellRun(told, job.record, job.error, job.failed_rank, notes), job


def run_here(place: str, space: dict[str, Any]) -> None:
    """Run the cell that lies in a folder, as one of the ranks."""
    folder, ending = Path(place), Ending()
    parcel, flags = pickle.loads((folder / PARCEL).read_bytes())  # noqa: S301 - the notebook's own
    for name, value in flags.items():
        setattr(current().flags, name, value)
    comm = communicator()
    try:
        cell = Cell.parse((folder / CELL).read_text(encoding="utf-8"), str(folder / CELL))
        begin()
        value = cell.run(comm, parcel, space, {})
        if value is not None:
            ending.shown, ending.value = repr(value), _pickled(value)
    except BaseException as error:
        ending.trouble = (*learners_lines(error), f"{type(error).__name__}: {error}")
        raise
    finally:
        report(ending)


def _so_far(folder: Path, rank: int) -> Told:
    """What a rank has printed up to now."""
    told, file = Told(Page(rank), running=True), folder / f"{rank}.out"
    if file.exists():
        told.page.write("stdout", file.read_text(encoding="utf-8", errors="replace"))
    return told


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:  # noqa: BLE001 - whatever it raises, it stays there
        return b""


def _told(job: Job, rank: int) -> Told:
    """What a rank of a job told, as a simulated one would have."""
    page, results = Page(rank), job.results[rank]
    page.write("stdout", job.outputs[rank])
    page.write("stderr", job.warnings[rank].partition(f"rank {rank} of {job.size}:\nTraceback")[0])
    told = Told(page, error=job.errors[rank])
    if results and isinstance(results[-1], Ending):
        ending = results.pop()
        told.lines = ending.trouble
        told.ended = not ending.trouble
        if ending.shown is not None:
            told.shown = {"text/plain": ending.shown}
            told.value = _unpickled(ending.value)
    if told.error is None and not told.ended and job.error is None:
        told.error = RankError("every rank tells how it ended", f"nothing from rank {rank}")
    elif not told.ended and not told.lines and isinstance(told.error, (NoneType, DeadlockError, LostRankError)):
        told.lines = _last_seen(job, rank)
    return told


def _last_seen(job: Job, rank: int) -> tuple[str, ...]:
    """Where a rank was that could not tell it itself any more, and why it came no further."""
    state = job.states[rank]
    line = (state.waits or {}).get("line") or job.lines[rank]
    place, _, text = line.partition(": ")
    rows = (place.replace(f"{CELL}:", "line ", 1), f"    {text}") if line else ()
    if isinstance(job.error, DeadlockError) and state.waits is not None:
        return (*rows, SEE_BELOW[DeadlockError])
    if isinstance(job.error, RankTimeoutError):
        return (*rows, "was here at the end of the time")
    if rank == job.failed_rank:
        return (f"gone{state.last_call()}",)
    how = "is gone" if isinstance(job.error, LostRankError) else "failed"
    who = "" if job.failed_rank is None else f", because rank {job.failed_rank} {how}"
    return (*rows, f"stopped here{who}" if rows else f"stopped{state.last_call()}{who}")


def _unpickled(data: bytes) -> Any:
    try:
        return pickle.loads(data) if data else None  # noqa: S301 - our own ranks
    except Exception:  # noqa: BLE001 - a class that the notebook does not know
        return None
