"""Worker pool: processes of their own that make batches ahead of time.

    this process                                worker 0, 1, ...
    ------------                                ----------------
    asks worker 0, 1, 0, 1, ...     orders ->   listens, in a thread: it is never too busy to hear
    takes from worker 0, 1, ...  <- answers     makes one batch after the other; a thread sends them off

Each worker has two pipes and shares nothing: no lock, no queue, no memory. So a worker that is killed leaves nothing
behind that others wait for: its pipes end, and the next batch that is asked for is an error. The other way round, a
worker whose orders end goes home, whatever it is doing: no process outlives the one that started it.

Batches arrive in the order in which they were asked for. Processes are started afresh ("spawn"), never forked: a
fork copies the locks of compiled code, but not the threads that would open them.

A fresh process runs the script once more, for what it defines. Where no guard keeps it from what the script does, it
comes to its own loader: there it ends without a word, and the process that started it tells what is missing.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import math
import multiprocessing
import os
import pickle
import signal
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.base.own import Extended, own
from jt_edu.data.fetch import END, Job, get_worker_info, work_here
from jt_edu.data.sampler import mixed
from jt_edu.data.worker_process import serve
from jt_edu.variable.parallel_context import place

GRACE = 0.5  # seconds that a worker is given to go home by itself, and once more before it is killed
STEP = 0.005  # seconds after which it is looked whether one has ended
LOOK = 0.2  # seconds after which it is looked whether they live, when nothing is heard
NAME = "jt_edu data worker"
UNGUARDED = 98  # exit code of a worker that, instead of work, found a script that starts workers


class WorkerError(JtError, RuntimeError):
    """A worker process ended, was too slow, or met an error that cannot be handed over as it is.

    Example:
        >>> raise WorkerError("workers run until the end of their epoch", "worker 0 of 2, ended by SIGKILL")
        Traceback (most recent call last):
        WorkerError: ...
    """


class WorkerTraceback(Exception):  # noqa: N818 - it stands below an error, as its cause
    """Where in a worker an error was raised, as text."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


@dataclass
class Member:
    """One worker, as seen from the process that started it."""

    number: int
    process: SpawnProcess
    orders: Connection
    answers: Connection


class Fetching(Extended):
    """Who gets batches from workers, or makes them itself: a Dataset, a DataLoader."""

    num_workers = 0
    prefetch_factor = 2
    buffer_size = 512 * 1024**2
    timeout = 0.0
    worker_init_fn: Callable[[int], Any] | None = None
    persistent_workers = False
    _crew: Crew | None = None

    def terminate(self) -> None:
        """End the workers that were kept for the next epoch, if there are any."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.end()

    def _fetch(self, job: Job, requests: Iterable[Any], seed: int) -> Iterator[Any]:
        """The batches of one epoch, in the order of the requests; each rank changes its examples in its own way."""
        rank, size = place()
        seed = seed if size == 1 else mixed(seed, rank)
        if not self.num_workers:
            yield from work_here(job, requests, seed)
            return
        if self._crew is not None and not self._crew.is_alive():
            own(self).terminate()  # between two epochs nobody misses a worker
        crew, self._crew = self._crew or Crew(job, self), None
        try:
            yield from crew.batches(requests, seed)
        except BaseException:
            crew.end()
            raise
        own(self).terminate()
        if self.persistent_workers:
            self._crew = crew
        else:
            crew.end()


class Crew:
    """The workers of one loader: started together, ended together."""

    def __init__(self, job: Job, plan: Fetching) -> None:
        if get_worker_info() is None and multiprocessing.current_process().name.startswith(NAME):
            os._exit(UNGUARDED)  # no exception: the script might catch it, and go on
        if get_worker_info() is not None:
            raise ArgumentError("a worker process starts no workers itself", repr(plan), "num_workers=0")
        self.timeout, self.buffer_size = plan.timeout, plan.buffer_size
        self.most_ahead = plan.prefetch_factor * plan.num_workers
        self.members: list[Member] = []
        self.end = weakref.finalize(self, _end, self.members)
        packed = _packed((job, plan.worker_init_fn, dataclasses.asdict(current().flags)))
        try:
            for number in range(plan.num_workers):
                _start(number, plan.num_workers, self.members)
            for member in self.members:
                self._send(member, packed)
            for member in self.members:
                self._take(member, 0)
        except BaseException:
            self.end()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        """A dataset that is sent to a worker, or copied, leaves its own workers at home."""
        return (type(None), ())

    def is_alive(self) -> bool:
        """Whether all workers are still there."""
        return all(member.process.is_alive() for member in self.members)

    def batches(self, requests: Iterable[Any], seed: int) -> Iterator[Any]:
        """The batches of one epoch. A worker has the next turn until its stream ends."""
        for member in self.members:
            self._send(member, pickle.dumps(("epoch", seed)))
        pending, turns, asked = iter(requests), deque(self.members), deque[Member]()
        ahead = self.most_ahead
        while True:
            for request in itertools.islice(pending, max(0, ahead - len(asked)) if turns else 0):
                self._send(turns[0], pickle.dumps(("batch", request)))
                asked.append(turns[0])
                turns.rotate(-1)
            if not asked:
                return
            member = asked.popleft()
            batch, size = self._take(member, self.timeout)
            ahead = max(1, min(self.most_ahead, self.buffer_size // size))
            if batch is not END:
                yield batch
            elif member in turns:
                turns.remove(member)

    def _send(self, member: Member, order: bytes) -> None:
        try:
            member.orders.send_bytes(order)
        except OSError:
            self._bury(member)

    def _take(self, member: Member, timeout: float) -> tuple[Any, int]:
        """The next answer of this worker, and its bytes. Any worker that has ended is an error at once."""
        ends = [m.process.sentinel for m in self.members]
        ready: list[Any] = []
        deadline = time.monotonic() + (timeout or math.inf)
        while not ready and (left := deadline - time.monotonic()) > 0:
            ready = wait([member.answers, *ends], min(LOOK, left))
            for one in self.members:  # an end is not always heard: what a worker started may hold its sentinel open
                if one.process.sentinel in ready or not (ready or one.process.is_alive()):
                    self._bury(one)
        if not ready:
            raise WorkerError(
                f"a batch comes within timeout={timeout:g} s", f"nothing from {self._name(member)}",
                "a longer timeout, or num_workers=0 to see what takes so long",
            )  # fmt: skip
        try:
            answer = member.answers.recv_bytes()
        except (EOFError, OSError):
            self._bury(member)
        return self._read(member, answer), len(answer)

    def _read(self, member: Member, answer: bytes) -> Any:
        kind, content = pickle.loads(answer)  # noqa: S301 - our own worker wrote it
        if kind == "error":
            _raise(self._name(member), *content)
        return END if kind == "end" else content

    def _bury(self, member: Member) -> NoReturn:
        """This worker does not live any more: say why, as far as it is known."""
        for last in _last_words(member.answers):
            self._read(member, last)
        _wait(member.process, GRACE)
        code = member.process.exitcode
        if code == UNGUARDED:
            raise WorkerError(
                "a script that starts workers keeps its own code below `if __name__ == '__main__':`",
                f"none in {getattr(sys.modules['__main__'], '__file__', 'the script')}, which each worker runs again, "
                "up to this loader", "the loop over this loader below such a line; or num_workers=0",
            ) from None  # fmt: skip
        how = "is not heard any more" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        raise WorkerError(
            "workers run until the end of their epoch", f"{self._name(member)}, which {how}",
            "num_workers=0, which shows every error; less memory, if the system killed it",
        )  # fmt: skip

    def _name(self, member: Member) -> str:
        return f"worker {member.number} of {len(self.members)}"


def _start(number: int, count: int, members: list[Member]) -> None:
    """Start a worker. It is a member before it runs, so that whatever happens, somebody ends it."""
    context = multiprocessing.get_context("spawn")
    orders_end, orders = context.Pipe(duplex=False)
    answers, answers_end = context.Pipe(duplex=False)
    name, ends = f"{NAME} {number}", (orders_end, answers_end)
    process = context.Process(target=serve, name=name, args=(*ends, number, count), daemon=True)
    members.append(Member(number, process, orders, answers))
    with orders_end, answers_end, _interrupts_held():
        process.start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C is for this process. A worker that starts now does not hear it; here it is heard a moment later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(members: list[Member]) -> None:
    """Let the workers go home; those that do not are told to, and at last made to."""
    for member in members:
        member.orders.close()
        member.answers.close()
    for harder in (None, SpawnProcess.terminate, SpawnProcess.kill):
        alive = [member.process for member in members if member.process.is_alive()]
        deadline = time.monotonic() + GRACE
        for process in alive:
            if harder is not None:
                harder(process)
        for process in alive:
            _wait(process, deadline - time.monotonic())
    members.clear()


def _wait(process: SpawnProcess, seconds: float) -> None:
    """Until it has ended, or time is over: `join` waits without end for one that lives on with its files closed."""
    while process.is_alive() and seconds > 0:
        time.sleep(STEP)
        seconds -= STEP


def _last_words(answers: Connection) -> list[bytes]:
    """What a worker had sent before it ended: an error may be among it."""
    words = []
    with suppress(EOFError, OSError):
        while answers.poll():
            words.append(answers.recv_bytes())
    return words


def _raise(worker: str, packed: bytes | None, name: str, text: str) -> NoReturn:
    """An error of a worker, with the place in the worker as its cause."""
    cause = WorkerTraceback(f"{worker} says:\n{text}")
    if packed is None:
        raise WorkerError(f"{worker} makes batches", name, "num_workers=0, to see the error itself") from cause
    raise pickle.loads(packed) from cause  # noqa: S301 - our own worker wrote it


class _Packer(pickle.Pickler):
    """Refuses what a new process cannot find: functions and classes of a notebook."""

    def reducer_override(self, thing: Any) -> Any:
        named = isinstance(thing, (type, FunctionType))
        if named and getattr(thing, "__module__", "") == "__main__" and not _main_is_a_file():
            raise ArgumentError(
                "a worker process imports what it runs from files",
                f"{thing.__qualname__}, which is defined in a notebook or at the prompt",
                f"write it to a file next to the notebook (%%writefile {thing.__qualname__.lower()}.py), import it "
                "from there, and restart; or num_workers=0",
            )  # fmt: skip
        return NotImplemented


def _packed(work: Any) -> bytes:
    """Bytes that a new process can make the work from."""
    buffer = io.BytesIO()
    try:
        _Packer(buffer, protocol=5).dump(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if isinstance(error, JtError):
            raise
        raise ArgumentError(
            "what a worker process gets (the dataset with its transforms, collate_fn, worker_init_fn) can be pickled",
            str(error), "functions and classes at the top of a file, no lambdas, no open files; or num_workers=0",
        ) from error  # fmt: skip
    return buffer.getvalue()


def _main_is_a_file() -> bool:
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    return getattr(main, "__spec__", None) is not None or (file is not None and Path(file).exists())
