"""Job: a program on real ranks, started from a notebook, which it cannot hang.

    job = run_job("import jt_edu as jt; jt.report(jt.mpi.comm.allreduce(1))", ranks=4)
    job.results        [[4], [4], [4], [4]]         what each rank reported
    job.outputs        what each rank printed
    job.record         what the ranks said to each other, as for simulated ranks
    job.error          what ended it, if something did

The ranks are processes under mpirun. They have a time limit; when they fail, take too long, or the notebook is
interrupted, all of them end: none is left when `run_job` comes back.
"""

from __future__ import annotations

import json
import linecache
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jt_edu.base import errors as house
from jt_edu.base.errors import ArgumentError, JtError, RankError
from jt_edu.base.plural import plural
from jt_edu.base.tracebacks import is_learners
from jt_edu.mpi.base import errors as kinds
from jt_edu.mpi.base.errors import DeadlockError, LostRankError, RankTimeoutError
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.mpi4py_backend.status_board import Board, State
from jt_edu.mpi.mpirun_jobs.merge import merged
from jt_edu.mpi.trace.records import Record
from jt_edu.ops.arguments import number, whole

LOOK = 0.05  # seconds between two looks at a running job
GRACE = 2.0  # seconds in which mpirun may end its ranks by itself
LAST = 30.0  # seconds in which a process ends that was killed: the system may have other things to do
PLACES = 10.0  # seconds in which a rank that is asked writes down where it is
PLACE = re.compile(r'File "(.+?)", line (\d+)')

# Around each rank: it writes down how its process ended before the launcher hears of it, which then kills all others
# and their guards. So the first line of that file is about the rank that went by itself.
GUARD = """\
"$@"
code=$?
echo ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$PMIX_RANK}} $code >> "$JT_EDU_MPI_FOLDER/codes"
exit $code
"""


@dataclass
class Job:
    """What came of a program on real ranks; lists are by rank.

    `error` is what ended the job, `failed_rank` who failed first, `errors` what each rank raised; `log` is what the
    launcher said.
    """

    size: int
    launcher: str = ""
    code: int | None = None
    seconds: float = 0.0
    outputs: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # what each printed on stderr
    results: list[list[Any]] = field(default_factory=list)
    errors: list[JtError | None] = field(default_factory=list)
    error: JtError | None = None
    failed_rank: int | None = None
    record: Record = field(default_factory=lambda: Record(0, "mpi"))
    log: str = ""
    states: list[State] = field(default_factory=list)  # what each did at the end
    lines: list[str] = field(default_factory=list)  # where each was at the end of its time: "lesson.py:3: x += 1"

    def raise_failure(self) -> None:
        """Raise what ended the job, if something did."""
        if self.error is not None:
            raise self.error

    def __repr__(self) -> str:
        end = "well" if self.error is None else f"with {type(self.error).__name__}: {self.error}"
        return f"Job of {plural(self.size, 'rank')} under {self.launcher}, ended {end} after {self.seconds:.1f} s"


def run_job(
    program: str | Path, ranks: int = 4, *, timeout: float = 60.0, arguments: Sequence[str] = (), debug: bool = True,
    environment: Mapping[str, str] | None = None, name: str = "cell.py",
    meanwhile: Callable[[Path], None] | None = None,
) -> Job:  # fmt: skip
    """Run a program on real ranks, and wait for them; an error is in the answer, not raised.

    Args:
        program: the text of a program, or the path of a file.
        ranks: how many.
        timeout: seconds after which the job is ended.
        arguments: what the program finds in sys.argv[1:].
        debug: compare what ranks call, and look for standstill; see debug.py.
        environment: variables beside those of this process.
        name: what a program that is given as a text is called in messages.
        meanwhile: called some times a second with the folder where the ranks print: `0.out`, `0.err` and so on.

    Raises:
        ArgumentError: an argument makes no sense. RankError: there is no mpirun.
    """
    whole("run_job", "ranks", ranks, 1, 256)
    number("run_job", "timeout", timeout, 0, above=True)
    if isinstance(program, Path) and not program.is_file():
        raise ArgumentError("run_job takes a text, or the path of a file", f"{program}, which is not one")
    known = {**os.environ, **(environment or {})}
    launcher = launch.need(known)
    with tempfile.TemporaryDirectory(prefix="jt_edu_job_", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        file = program if isinstance(program, Path) else folder / name
        if isinstance(program, str):
            file.write_text(program, encoding="utf-8")
        program_of_a_rank = [sys.executable, "-u", "-m", "jt_edu.run", str(file), *arguments]
        command = launcher.command(ranks, ["sh", "-c", GUARD, "sh", *program_of_a_rank])
        job = Job(ranks, f"{launcher.kind} {launcher.version}".strip())
        Running(job, folder, {**launch.surroundings(launcher, ranks, known), **_marks(folder, debug)}).go(
            command, timeout, meanwhile
        )
    return job


def _marks(folder: Path, debug: bool) -> dict[str, str]:
    """What a rank reads in its environment: that it belongs to this job."""
    return {
        "JT_EDU_MPI_FOLDER": str(folder),
        "JT_EDU_MPI_DEBUG": str(int(debug)),
        "JT_EDU_MPI_PARENT": str(os.getpid()),
    }


class Running:
    """A job from its start to its end."""

    def __init__(self, job: Job, folder: Path, environment: Mapping[str, str]) -> None:
        self.job, self.folder, self.environment = job, folder, dict(environment)
        self.board = Board(folder / "board", job.size)

    def go(self, command: Sequence[str], timeout: float, meanwhile: Callable[[Path], None] | None) -> None:
        """Start, wait, end, and read what is left."""
        begin = time.monotonic()
        late = False
        log = self.folder / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - the launcher that was found
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            try:
                while process.poll() is None and not (late := time.monotonic() - begin > timeout):
                    time.sleep(LOOK)
                    if meanwhile is not None:
                        meanwhile(self.folder)
                self.job.states = self.board.states()
                self.job.lines = self._lines() if late else [""] * self.job.size
            finally:
                end_processes(process, self.folder)
        self.job.seconds, self.job.code = time.monotonic() - begin, process.returncode
        self.job.log = log.read_text(encoding="utf-8", errors="replace")
        self._read(timeout if late else None)
        self.board.close()

    def _read(self, limit: float | None) -> None:
        job, told = self.job, []
        for rank in range(job.size):
            job.outputs.append(self._text(f"{rank}.out"))
            job.warnings.append(self._text(f"{rank}.err"))
            document = json.loads(self._text(f"{rank}.json") or "null")
            told += [document] if document else []
            pickled = self.folder / f"{rank}.pickle"
            job.results.append([unpickled(data) for data in pickle.loads(pickled.read_bytes())] if document else [])  # noqa: S301 - our own ranks
            job.errors.append(error_from(document["error"], rank) if document and document["error"] else None)
        job.record = merged(job.size, told)
        failed = sorted((d["error"]["time"], d["rank"]) for d in told if d["error"])
        # A rank that waits for one that is gone may say so before the launcher ends it; it was not the first to fail.
        bereft = bool(failed) and isinstance(job.errors[failed[0][1]], LostRankError)
        if failed and not (bereft and self._first_of(self._silent(told)) is not None):
            job.failed_rank = failed[0][1]
            job.error = job.errors[job.failed_rank]
        elif limit is not None:
            job.error = RankTimeoutError(f"the job ends within {limit:g} s", self._what_ranks_do())
        elif failed or job.code or len(told) < job.size:
            job.error = LostRankError("every rank finishes", self._who_is_missing(told))
        job.record.waits = self._waits() if isinstance(job.error, DeadlockError) else []
        job.record.failure = "" if job.error is None else f"{type(job.error).__name__}: {job.error}"

    def _lines(self) -> list[str]:
        """Where each rank is, as it writes down when it is asked by a signal; "" for one that is elsewhere, or gone."""
        asked, until = [], time.monotonic() + PLACES
        for rank, state in enumerate(self.job.states):
            with suppress(OSError):
                if state.pid and not state.ended:
                    os.kill(state.pid, signal.SIGUSR1)
                    asked.append(f"{rank}.place")
        while not all(map(self._text, asked)) and time.monotonic() < until:
            time.sleep(LOOK)
        time.sleep(2 * LOOK)  # some are in the middle of it
        return [learners_place(self._text(f"{rank}.place")) for rank in range(self.job.size)]

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def _waits(self) -> list[dict[str, Any]]:
        """Who waited for whom: in a collective, for those that had not come to it."""
        waits = {rank: state.waits for rank, state in enumerate(self.job.states) if state.waits is not None}
        here = {rank: wait["place"] for rank, wait in waits.items()}
        return [
            {
                "rank": rank, "words": wait["words"], "line": wait["line"],
                "peers": [p for p in wait["peers"] if wait["place"] is None or here.get(p) != wait["place"]],
            }
            for rank, wait in waits.items()
        ]  # fmt: skip

    def _what_ranks_do(self) -> str:
        rows = []
        for rank, state in enumerate(self.job.states):
            if state.waits is not None:
                rows.append(f"rank {rank} waits in {at(state.waits)}")
            elif state.ended == "well":
                rows.append(f"rank {rank} has ended{state.last_call()}")
            else:
                here = self.job.lines[rank]
                rows.append(f"rank {rank} computes{state.last_call()}" + (f"\n    at {here}" if here else ""))
        return "ranks that are not done:\n  " + "\n  ".join(rows)

    def _who_is_missing(self, told: list[Any]) -> str:
        job, states = self.job, self.job.states
        if not any(state.pid for state in states):
            return f"exit code {job.code} before any rank began:\n" + job.log.strip()[-2000:]
        gone = {k: states[k] for k in self._silent(told)}
        first = job.failed_rank = self._first_of(list(gone))
        if first is None:
            rows = [f"rank {rank} is gone{s.last_call()}" for rank, s in gone.items() if s.waits is None]
        else:
            rows = [f"rank {first} is gone{gone.pop(first).last_call()}\n    {self._how(first)}"]
            rows += [f"rank {rank} was ended with it{s.last_call()}" for rank, s in gone.items() if s.waits is None]
        waits = ((rank, s.waits) for rank, s in enumerate(states) if s.waits is not None and rank != first)
        rows += [f"rank {rank} waited in {at(wait)}" for rank, wait in waits]
        if first is None:
            return f"exit code {job.code}:\n  " + "\n  ".join(rows) + "\n" + job.log.strip()[-2000:]
        return "one that ended too early:\n  " + "\n  ".join(rows)

    def _silent(self, told: list[Any]) -> list[int]:
        """The ranks that did not come to their end, neither well nor with an error."""
        return sorted({*range(self.job.size)} - {document["rank"] for document in told})

    def _first_of(self, ranks: Sequence[int]) -> int | None:
        """The rank whose end its guard was the first to write down."""
        return next((rank for rank, _ in self._codes() if rank in ranks), None)

    def _codes(self) -> list[tuple[int, int]]:
        """(rank, exit code) of those that ended by themselves, the first one first."""
        rows = (line.split() for line in self._text("codes").splitlines())
        return [(int(row[0]), int(row[1])) for row in rows if len(row) == 2]

    def _how(self, rank: int) -> str:
        """How the process of a rank ended; a shell counts what a signal did from 128."""
        code = dict(self._codes()).get(rank, -1)
        known = {128 + s.value: s.name for s in signal.Signals}
        return f"its process was ended by {known[code]}" if code in known else f"its process had the exit code {code}"


def at(waits: Mapping[str, Any]) -> str:
    """A call in which a rank waits, and the learner's line below it.

    Example:
        >>> print(at({"words": "barrier()", "line": "lesson.py:3: comm.barrier()"}))
        barrier()
            at lesson.py:3: comm.barrier()
    """
    return f"{waits['words']}\n    at {waits['line']}"


def learners_place(trace: str) -> str:
    """The innermost line of the learner's in what `faulthandler` writes, and its text.

    Example:
        >>> learners_place('  File "/lesson/no_such.py", line 3 in step')
        'no_such.py:3'
    """
    for file, line in PLACE.findall(trace):
        if is_learners(file):
            text = linecache.getline(file, int(line)).strip()
            return f"{Path(file).name}:{line}" + (f": {text}" if text else "")
    return ""


def unpickled(data: bytes) -> Any:
    """What a rank reported; a text about it, if this process does not know its class."""
    try:
        return pickle.loads(data)  # noqa: S301 - our own ranks
    except Exception as error:  # noqa: BLE001 - objects may raise what they like
        return f"an object that cannot be unpickled here: {error}"


def error_from(document: Mapping[str, Any], rank: int) -> JtError:
    """The error that a rank wrote down: errors of ranks as they are, others with their rank."""
    kind = getattr(kinds, document["kind"], None) or getattr(house, document["kind"], None)
    if isinstance(kind, type) and issubclass(kind, RankError) and document["parts"]:
        return kind(*document["parts"])
    found = f"{document['kind']}: {document['text']}"
    return RankError(f"every rank finishes, and rank {rank} did not", found)


def end_processes(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End the launcher and every process that carries the mark of this job: ranks are in sessions of their own."""
    if process.poll() is None:
        process.terminate()
    until = time.monotonic() + GRACE
    while time.monotonic() < until and (process.poll() is None or marked("JT_EDU_MPI_FOLDER", folder)):
        time.sleep(LOOK / 5)
    until = time.monotonic() + LAST
    while time.monotonic() < until and (left := marked("JT_EDU_MPI_FOLDER", folder)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(LOOK / 5)
    if process.poll() is None:
        process.kill()
    process.wait()


def marked(name: str, value: object) -> list[int]:
    """The processes that have such a variable in their environment, as Linux lists them; elsewhere none are known.

    Example:
        >>> marked("NO_SUCH_VARIABLE", 3)
        []
    """
    mark = f"{name}={value}".encode()
    processes = [p for p in Path("/proc").glob("[0-9]*/environ") if int(p.parent.name) != os.getpid()]
    return [int(path.parent.name) for path in processes if mark in _bytes(path).split(b"\0")]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
