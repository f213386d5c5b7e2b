"""Batch: all submissions of a class are graded, beside each other, and a batch that was stopped goes on.

    solutions, empty notebooks     in the same sandbox, before and after: full marks, and not full, or nobody is graded
    each submission                a judge here, its answers in a sandbox
    grades/state/ada-03....json    what is done; the same submission is not graded again

Each judge is a process of our own. It never imports, runs or unpickles what was handed in: it reads a notebook's text,
picks the answers (program.py), sends them to a child (sandbox.py), and asks that child what its checks want to know.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

import jt_edu
from jt_edu.lab import notebooks
from jt_exercises.exercise import HOME, find
from jt_exercises.grade.handed_in import Submission, handed_in
from jt_exercises.grade.program import Cells, UnreadableError, program, read, tasks
from jt_exercises.grade.sandbox import LADDER, Contained, Places, best
from jt_exercises.process import COPY, LostError, RaisedError, limit, plain
from jt_exercises.seed import seeded
from jt_exercises.wire import WireError

SECONDS = 60.0  # of one exercise; the slowest of the course takes 10
JUDGING = 60.0  # seconds that a judge may take besides
NOTEBOOKS = notebooks()


class TooLongError(BaseException):
    """Judging an answer took too long; no check takes this for an error of the answer's."""


def _too_long(*_: object) -> None:
    raise TooLongError


class CanaryError(Exception):
    """A solution did not earn full marks, or an empty notebook did: nobody can be graded here."""


@dataclass(frozen=True)
class Outcome:
    """How an exercise went: `right` of `of` parts, and what was said of the first that was not."""

    right: int
    of: int
    status: str  # "right", "not right", "not done yet", "not handed in", or why: "stopped", "not judged"
    words: str = ""


@dataclass(frozen=True)
class Row:
    """One exercise of one learner."""

    learner: str
    notebook: str
    number: str
    title: str
    points: int
    outcome: Outcome

    @property
    def score(self) -> float:
        """Points that were earned."""
        return self.points * self.outcome.right / self.outcome.of


@dataclass(frozen=True)
class Job:
    """What every judge is told."""

    places: Places
    step: int  # of the ladder
    seconds: float
    seed: int
    given: Mapping[str, int] = field(default_factory=dict)  # parts that are right in an empty notebook


@dataclass
class Batch:
    """A folder of submissions, and how far one has come with it."""

    folder: Path
    only: str = ""
    seconds: float = SECONDS
    jobs: int = os.cpu_count() or 1
    seed: int | None = None
    step: str = ""  # of the ladder; the best that works here
    remarks: list[str] = field(default_factory=list)
    submissions: list[Submission] = field(default_factory=list)
    found: dict[tuple[str, str], list[Row]] = field(default_factory=dict)  # of a learner, in a notebook

    def __post_init__(self) -> None:
        names = [path.stem for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")) if path.stem.startswith(self.only)]
        self.submissions, self.remarks = handed_in(self.folder, [n for n in names if tasks(course(n))])
        self.notebooks = sorted({s.notebook for s in self.submissions})
        self.out = self.folder / "grades"
        (self.out / "state").mkdir(parents=True, exist_ok=True)
        self.seed = self._kept_seed() if self.seed is None else self.seed

    def _kept_seed(self) -> int:
        """The same cases for all of a class, today and when the batch goes on."""
        path = self.out / "seed.txt"
        if not path.exists() or not path.read_text(encoding="utf-8").strip().isdigit():
            path.write_text(f"{secrets.randbits(60)}\n", encoding="utf-8")
            path.chmod(0o600)
        return int(path.read_text(encoding="utf-8"))

    def __len__(self) -> int:
        return len(self.submissions)

    def __iter__(self) -> Iterator[list[Row]]:
        """Grade all of them: the rows of each submission, as soon as it is done."""
        with tempfile.TemporaryDirectory(prefix="jt_edu-grade-", ignore_cleanup_errors=True) as top:
            places = Places(Path(top), (HOME, self.folder.resolve(), NOTEBOOKS.resolve()))
            places.fill()
            step, places = best(places, [s for s in LADDER if self.step in ("", s.name)])
            self.step = step.name
            if hasattr(os, "geteuid") and os.geteuid() == 0 and places.owner is None:
                self.remarks.append("answers ran as the superuser: start the grader as another user")
            job = Job(places, LADDER.index(step), self.seconds, self.seed or 0)
            for s, found in self._graded(job):
                self.found[s.learner, s.notebook] = _rows(s, found)
                yield self.found[s.learner, s.notebook]

    @property
    def rows(self) -> list[Row]:
        """Of every learner and notebook, also of those that were not handed in."""
        every = [(a, name) for a in sorted({a for a, _ in self.found}) for name in self.notebooks]
        lost = Outcome(0, 1, "not handed in")
        empty = {key: Submission(*key, "") for key in every if key not in self.found}
        return [
            row
            for key in every
            for row in self.found.get(key) or _rows(empty[key], [lost] * len(tasks(course(key[1]))))
        ]

    def _graded(self, job: Job) -> Iterator[tuple[Submission, list[Outcome]]]:
        fresh = list[Submission]()
        for s in self.submissions:
            if (kept := self._kept(s)) is None:
                fresh.append(s)
            else:
                yield s, kept
        job = replace(job, given=self._canaries(job, fresh))
        with _judges(self.jobs) as pool:
            waiting = {
                pool.submit(outcomes, s, replace(job, places=replace(job.places, number=str(number)))): s
                for number, s in enumerate(fresh, 1)
            }
            for future in as_completed(waiting):
                s = waiting[future]
                try:
                    found = future.result()
                except BrokenExecutor:  # a judge was ended, and with it all others: who did that is found alone
                    found = _alone(s, replace(job, places=replace(job.places, number=f"alone-{len(self.found)}")))
                _write(self._state(s), json.dumps([asdict(o) for o in found]))
                yield s, found
        try:
            self._canaries(job, fresh)
        except CanaryError:  # the machine has changed meanwhile: who knows since when
            for s in fresh:
                self._state(s).unlink(missing_ok=True)
            raise

    def _kept(self, s: Submission) -> list[Outcome] | None:
        """What a submission earned when the batch ran before; None where that is not known, or cannot be read."""
        try:
            found = [Outcome(**o) for o in json.loads(self._state(s).read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return None
        return found if len(found) == len(tasks(course(s.notebook))) else None

    def _state(self, s: Submission) -> Path:
        """The file with what a submission earned; another one where anything that counts is different."""
        told = (s.learner, s.notebook, s.digest, rules(), self.seed, self.step, self.seconds)
        return self.out / "state" / f"{hashlib.sha256(repr(told).encode()).hexdigest()[:32]}.json"

    def _canaries(self, job: Job, fresh: Sequence[Submission]) -> dict[str, int]:
        """CanaryError where a solution is not right, or an empty notebook is; else what is right in an empty one."""
        with _judges(self.jobs) as pool:
            return self._all_canaries(pool, job, fresh)

    def _all_canaries(self, pool: ProcessPoolExecutor, job: Job, fresh: Sequence[Submission]) -> dict[str, int]:
        given, asked = dict[str, int](), list[tuple[str, bool, Future[list[Outcome]]]]()
        for name in sorted({s.notebook for s in fresh}):
            for number, cells in enumerate((course(name), solutions(name))):
                if cells is not None:
                    data = json.dumps({"cells": [{"cell_type": "code", "id": k, "source": cells[k]} for k in cells]})
                    places = replace(job.places, number=f"canary-{number}-{name}", warming=bool(number))
                    submission = Submission("", name, "the canary", data.encode())
                    future = pool.submit(outcomes, submission, replace(job, given={}, places=places))
                    asked.append((name, bool(number), future))
        for name, solved, future in asked:
            for task, o in zip(tasks(course(name)), future.result(), strict=True):
                if solved != (o.status == "right"):
                    words = f"its solution is {o.status}: {o.words}" if solved else "it is right when it is empty"
                    raise CanaryError(f"{task.number} cannot be graded on this machine: {words}")
                given |= {} if solved else {task.number: o.right}
        return given


def _write(path: Path, text: str) -> None:
    """At one stroke: whoever is interrupted has written all of a file, or none of it."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").replace(path)


@contextmanager
def _judges(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that judge. Who is interrupted waits for none of them."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_quiet) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for judge in multiprocessing.active_children():
                judge.terminate()
            raise


def _alone(s: Submission, job: Job) -> list[Outcome]:
    """Grade a submission with a judge of its own; where that one is ended too, it is not judged."""
    with _judges(1) as pool:
        try:
            return pool.submit(outcomes, s, job).result()
        except BrokenExecutor:
            return [Outcome(0, 1, "not judged", "its judge was ended by the system")] * len(tasks(course(s.notebook)))


def _quiet() -> None:
    """Control-C is for whoever started the judges: that one ends them, and each ends its sandbox.

    An answer must not cost a judge more memory or time than there is, whatever it sends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGALRM, _too_long)
    limit()


@cache
def course(name: str) -> Cells:
    """The cells of a notebook as it was given out."""
    return read(Submission("", name, f"{name}.ipynb", (NOTEBOOKS / f"{name}.ipynb").read_bytes()))


@cache
def rules() -> str:
    """A number for all that decides what an answer earns: the checks, and what they stand on."""
    folders = ((HOME, "*.py"), (Path(jt_edu.__file__).parent, "*.py"), (NOTEBOOKS, "*.ipynb"))
    found = hashlib.sha256()
    for folder, kind in folders:
        for path in sorted(folder.rglob(kind)):
            found.update(path.read_bytes())
    return found.hexdigest()


def solutions(name: str) -> Cells | None:
    """The notebook with all solutions; None where these are not installed."""
    try:
        from jt_exercises.author.masters import masters  # noqa: PLC0415 - a learner's package has none
    except ImportError:
        return None
    texts = {number: master.solved for number, master in masters().items()}
    return {**course(name), **{task.cell: texts[task.number] for task in tasks(course(name))}}


def _rows(s: Submission, found: Sequence[Outcome]) -> list[Row]:
    asked = [find(t.number) for t in tasks(course(s.notebook))]
    return [Row(s.learner, s.notebook, e.number, e.title, e.points, o) for e, o in zip(asked, found, strict=True)]


# in a judge


def outcomes(s: Submission, job: Job) -> list[Outcome]:
    """What the exercises of a submission earn, one after the other; none silences the next."""
    found = list[Outcome]()
    side: Contained | None = None
    try:
        with seeded(job.seed):
            for task in tasks(course(s.notebook)):
                try:
                    text = program(course(s.notebook), read(s), task.number)
                except UnreadableError as error:
                    found.append(Outcome(0, 1, "not judged", str(error)))
                    continue
                if side is None or side.lost or not COPY:
                    if side is not None:
                        side.__exit__()
                    side = Contained(step=LADDER[job.step], places=job.places, seconds=job.seconds).__enter__()
                signal.setitimer(signal.ITIMER_REAL, 2 * job.seconds + JUDGING)
                try:
                    o = outcome(side, task.number, text, len(task.answers), job.seconds)
                except TooLongError:
                    o, side.lost = Outcome(0, 1, "stopped", "to look at this answer took too long"), "it is late"
                signal.setitimer(signal.ITIMER_REAL, 0)
                found.append(_earned(o, job.given.get(task.number, 0)))
    finally:
        if side is not None:
            side.__exit__()
    return found


def outcome(side: Contained, number: str, text: str, answers: int, seconds: float = SECONDS) -> Outcome:
    """Judge one exercise."""
    try:
        side.begin(text, answers, seconds)
        found = find(number).of(side)
    except NotImplementedError as error:
        return Outcome(0, 1, "not done yet", str(error))
    except RaisedError as error:
        return Outcome(0, 1, "not right", f"it stopped with {error.kind}: {error}")
    except (LostError, WireError) as error:
        side.lost = side.lost or str(error)
        return Outcome(0, 1, "stopped", str(error))
    except Exception as error:  # noqa: BLE001 - one answer does not end it for the class
        return Outcome(0, 1, "not judged", f"the check met an answer that it did not expect ({type(error).__name__})")
    finally:
        side.end()
    status = {True: "right", False: "not right", None: "not done yet"}[found.passed]
    return Outcome(found.right, found.of, "stopped" if side.lost and not found.passed else status, plain(found.words))


def _earned(o: Outcome, given: int) -> Outcome:
    """The same, without the parts that are right in the empty notebook already."""
    return o if o.of <= given else replace(o, right=max(0, o.right - given), of=o.of - given)
