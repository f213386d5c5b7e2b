"""Run: a program as one of the ranks that mpirun started.

    mpirun -n 4 python -m jt_edu.run train.py --epochs 3
    mpirun -n 4 python -m jt_edu.run -m package.module

Each rank runs the program as `python train.py` would. An exception on one rank is printed with the number of the rank,
and ends all: else the others would wait for it. Calls that do not fit together and standstill are explained (debug.py)
where all ranks are on one machine; JT_EDU_MPI_DEBUG=0 switches that off. Without mpirun the program runs alone.

In a job that a notebook started (job.py) each rank also leaves in the job's folder what it printed, what it gave to
`report`, what it called, and how it failed.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import runpy
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jt_edu.base.errors import JtError
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.mpi4py_backend.call_log import Journal
from jt_edu.mpi.mpi4py_backend.communicator import MPIComm, end_all, world
from jt_edu.mpi.mpirun_jobs.merge import notes
from jt_edu.mpi.mpirun_jobs.report import began, begin, report, reported

__all__ = ["main", "report", "reported"]
USAGE = "python -m jt_edu.run program.py arguments, or -m module arguments"


def main(arguments: Sequence[str]) -> int:
    """Run the program that the arguments name; returns its exit code."""
    if not arguments or (arguments[0] == "-m" and len(arguments) < 2):
        sys.stderr.write(f"usage: {USAGE}\n")
        return 2
    folder = os.environ.get("JT_EDU_MPI_FOLDER")
    try:
        comm = world() if launch.inside() else None
    except JtError as error:
        _leave_word(error, folder)
        raise
    if comm is None:
        _run(arguments)
        return 0
    if folder is None:
        sys.stdout.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr] # whole lines
        return _run_to_the_end(comm, arguments, None)
    trail = Trail(comm, Path(folder))
    with trail.open():
        return _run_to_the_end(comm, arguments, trail)


def _leave_word(error: JtError, folder: str | None) -> None:
    """There is no communicator, and this is why."""
    told = launch.told()
    if folder is not None and told is not None:
        rank = told[0]
        document = {**notes(Journal(rank, max(told), 0)), "error": as_document(error, "")}
        Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps([]))
        Path(folder, f"{rank}.json").write_text(json.dumps(document), encoding="utf-8")


def _run(arguments: Sequence[str]) -> None:
    """As Python does: the program sees its own arguments, and its own folder first on the path."""
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        sys.path.insert(0, str(Path.cwd()))
        begin()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments)
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        begin()
        runpy.run_path(arguments[0], run_name="__main__")


def _run_to_the_end(comm: MPIComm, arguments: Sequence[str], trail: Trail | None) -> int:
    """Run the program; whatever ends it too early ends all ranks."""
    try:
        _run(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if code == 0:
            return _ended_well(trail)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        _ended_badly(comm, end, code, trail)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the other ranks would wait for this one
        told = "".join(traceback.format_exception(error))
        sys.stderr.write(f"rank {comm.rank} of {comm.size}:\n{told}")
        _ended_badly(comm, error, 1, trail, told)
    return _ended_well(trail)


def _ended_well(trail: Trail | None) -> int:
    if trail is not None:
        trail.save()
    return 0


def _ended_badly(comm: MPIComm, error: BaseException, code: int, trail: Trail | None, told: str = "") -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    if trail is not None:
        trail.save(error, told)
    end_all(comm, error, code)


class Trail:
    """What one rank of a notebook's job leaves behind: `3.out`, `3.err`, `3.json` and `3.pickle` of rank 3.

    `3.place` is where it was at the end of its time, when the job asks by a signal.
    """

    def __init__(self, comm: MPIComm, folder: Path) -> None:
        self.comm, self.folder = comm, folder
        self._lock, self._saved = threading.Lock(), False
        comm.journal.tell = comm.journal.save = self.save
        threading.Thread(target=_stay_with, args=(os.environ.get("JT_EDU_MPI_PARENT", ""), folder), daemon=True).start()

    def at(self, ending: str) -> Path:
        """One of the files."""
        return self.folder / f"{self.comm.rank}.{ending}"

    @contextmanager
    def open(self) -> Iterator[None]:
        """What is printed inside goes to the files."""
        before = sys.stdout, sys.stderr
        with (
            self.at("out").open("w", encoding="utf-8", buffering=1) as out,
            self.at("err").open("w", encoding="utf-8", buffering=1) as err,
            self.at("place").open("w", encoding="utf-8") as place,
        ):
            faulthandler.register(signal.SIGUSR1, place, all_threads=False)
            sys.stdout, sys.stderr = out, err
            try:
                yield
            finally:
                sys.stdout, sys.stderr = before
                faulthandler.unregister(signal.SIGUSR1)

    def save(self, error: BaseException | None = None, told: str = "") -> None:
        """Write down how the rank ended; once, because the watch and the program may both want to."""
        with self._lock:
            if self._saved:
                return
            self._saved = True
            document = {
                **notes(self.comm.journal, list(self.comm.task.begun.values()), began()),
                "error": None if error is None else as_document(error, told),
            }
            self.at("pickle").write_bytes(pickle.dumps(reported()))
            self.at("json").write_text(json.dumps(document), encoding="utf-8")


def as_document(error: BaseException, told: str) -> dict[str, Any]:
    """An error as JSON, with the time at which it was written down."""
    parts = [error.asked, error.found, error.attempt] if isinstance(error, JtError) else []
    return {
        "kind": type(error).__name__, "text": str(error), "parts": parts, "traceback": told, "time": time.monotonic(),
    }  # fmt: skip


def _stay_with(parent: str, folder: Path) -> None:
    """End this rank when the notebook that started the job is gone, and the folder with it."""
    while parent.isdigit():
        time.sleep(0.5)
        try:
            os.kill(int(parent), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(1)
        except PermissionError:
            return
