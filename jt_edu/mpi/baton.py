"""Baton: many ranks in one process, of which one runs at a time.

    rank 0  ####........####....       a rank runs until it calls its communicator; there the baton
    rank 1  ....####........####       may go to another rank, as the policy says
    rank 2  ........####........

Each rank is a thread, and only the one that holds the baton runs. So nothing happens at the same time: the same policy
and seed give the same order of everything, again and again. A rank that waits gives the baton away. When nobody is left
who could run, that is a deadlock: known at once, and without doubt.

    policy   "round_robin"    each in its turn
             "random"         drawn with a seed
             "clock"          whose time is the earliest
             [2, 0, 1, ...]   as it was once: the list that `schedule` recorded

Nothing here knows messages.
"""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.errors import ArgumentError, RankError
from jt_edu.mpi.errors import RankStopped, RankTimeoutError
from jt_edu.mpi.network import Clock
from jt_edu.mpi.request import Request

TICK = 0.05  # seconds between two tries to stop a rank
POLICIES = ("round_robin", "random", "clock")


class Task:
    """Something that runs in a thread of its own, and holds the baton while it does: a rank, or a helper of one."""

    def __init__(self, baton: Baton, rank: int, name: str, clock: Clock) -> None:
        self.baton, self.rank, self.name, self.clock = baton, rank, name, clock
        self.number = len(baton.tasks)
        self.gate = threading.Lock()
        self.gate.acquire()
        self.thread: threading.Thread | None = None
        self.state = "ready"  # "ready", "waiting" or "ended"
        self.awaits: tuple[Request, ...] = ()
        self.every = True
        self.deadline: int | None = None  # of its clock, in ns
        self.error: BaseException | None = None  # what it finds when it goes on

    def wait_for(self, requests: Sequence[Request], every: bool = True, deadline: int | None = None) -> None:
        """Go on when all of the requests have happened, or one of them; others run meanwhile."""
        self.baton.check(self)
        self.awaits, self.every = tuple(requests), every
        if self._satisfied():
            self.awaits = ()
            return
        self.state, self.deadline = "waiting", deadline
        try:
            self.baton.pass_on(self)
        finally:
            self.awaits, self.deadline = (), None
        self._go_on()

    def let_others_run(self) -> None:
        """A point at which the baton may go to another rank."""
        self.baton.check(self)
        self.baton.pass_on(self)
        self._go_on()

    def noticed(self, request: Request) -> None:
        """A request of this task has happened."""
        if self.state == "waiting" and request in self.awaits and self._satisfied():
            self.baton.wake(self)

    def _satisfied(self) -> bool:
        happened = (r.done for r in self.awaits)
        return all(happened) if self.every else any(happened)

    def _go_on(self) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.baton.check(self)


class Baton:
    """Who runs now, and who is next.

    Args:
        policy: one of POLICIES, or the numbers of tasks in the order in which they ran before.
        seed: for the policy "random".
        at_rest: called when nobody can run and not all have ended; answers for each waiting task the error it gets.
    """

    def __init__(
        self, policy: str | Sequence[int], seed: int, at_rest: Callable[[list[Task]], dict[Task, BaseException]]
    ) -> None:
        if isinstance(policy, str) and policy not in POLICIES:
            raise ArgumentError(f"ranks take turns by {', '.join(POLICIES)}, or a recorded schedule", repr(policy))
        self.policy, self.at_rest = policy, at_rest
        self.tasks: list[Task] = []
        self.ready: dict[int, Task] = {}  # by number, in the order in which they became ready
        self.schedule: list[int] = []
        self.holder: Task | None = None
        self.finished = threading.Event()
        self.failure: tuple[Task | None, BaseException] | None = None  # the first one
        self._draw = random.Random(seed)  # noqa: S311 - it shuffles turns

    # tasks

    def add(self, rank: int, name: str, clock: Clock, body: Callable[[], Any]) -> Task:
        """A task that waits for its first turn."""
        task = Task(self, rank, name, clock)
        self.tasks.append(task)
        self.ready[task.number] = task
        task.thread = threading.Thread(target=self._run, args=(task, body), name=f"jt_edu {name}", daemon=True)
        task.thread.start()
        return task

    def adopt(self, rank: int, name: str, clock: Clock) -> Task:
        """The thread that calls, as a task that holds the baton."""
        task = Task(self, rank, name, clock)
        self.tasks.append(task)
        self.ready[task.number] = task
        task.thread, self.holder = threading.current_thread(), task
        return task

    def start(self) -> None:
        """Hand out the baton for the first time."""
        self._give(self._next())

    def _run(self, task: Task, body: Callable[[], Any]) -> None:
        task.gate.acquire()
        try:
            task._go_on()
            body()
        except RankStopped:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends all ranks, and is raised outside
            self.fail(task, error)
        finally:
            self._end(task)

    # turns

    def pass_on(self, me: Task) -> None:
        """Let the next one run; comes back when it is the turn of `me` again."""
        if me.state == "waiting":
            self.ready.pop(me.number, None)
        else:
            self.ready[me.number] = self.ready.pop(me.number)  # behind all others
        chosen = self._next()
        if chosen is not me:
            self._give(chosen)
            me.gate.acquire()

    def wake(self, task: Task) -> None:
        """A task that waited can go on."""
        task.state = "ready"
        self.ready[task.number] = task

    def _give(self, task: Task | None) -> None:
        self.holder = task
        if task is None:
            self.finished.set()
        else:
            task.gate.release()

    def _next(self) -> Task | None:
        """Who runs now; None when all have ended."""
        while not self.ready:
            waiting = [t for t in self.tasks if t.state == "waiting"]
            if not waiting:
                return None
            for task, error in self._ends(waiting).items():
                task.error = error
                self.wake(task)
        chosen = self._chosen()
        self.schedule.append(chosen.number)
        return chosen

    def _chosen(self) -> Task:
        if self.policy == "random":
            return self.ready[self._draw.choice(sorted(self.ready))]
        if self.policy == "clock":
            return min(self.ready.values(), key=lambda t: (t.clock.now, t.number))
        if self.policy != "round_robin" and len(self.schedule) < len(self.policy):
            wanted = self.ready.get(int(self.policy[len(self.schedule)]))
            return wanted or next(iter(self.ready.values()))
        return next(iter(self.ready.values()))

    def _ends(self, waiting: list[Task]) -> dict[Task, BaseException]:
        """Nobody can run: who goes on with which error?"""
        if self.failure is not None:
            return {task: RankStopped() for task in waiting}
        return self._late(waiting) or self.at_rest(waiting)

    def _late(self, waiting: list[Task]) -> dict[Task, BaseException]:
        """The task whose time is up first: time passes when nobody does anything."""
        timed = [t for t in waiting if t.deadline is not None]
        if not timed:
            return {}
        task = min(timed, key=lambda t: (t.deadline, t.number))
        assert task.deadline is not None, "only tasks with a deadline were chosen"
        task.clock.now = max(task.clock.now, task.deadline)
        asked = " and ".join(r.words for r in task.awaits if not r.done)
        missing = sorted({p for r in task.awaits if not r.done for p in r.peers})
        return {task: RankTimeoutError(f"{task.name} waited for {asked}", f"nothing from ranks {missing} in time")}

    # the end

    def check(self, me: Task) -> None:
        """A world that failed, or was stopped, ends every rank at its next call."""
        if self.failure is not None and self.failure[0] is not me:
            raise RankStopped
        if me.thread is not threading.current_thread():
            raise RankError(f"{me.name} speaks to others from its own thread", threading.current_thread().name)

    def fail(self, task: Task | None, error: BaseException) -> None:
        """The first failure is kept; it ends the others, each at its next call."""
        if self.failure is None:
            self.failure = (task, error)

    def _end(self, task: Task) -> None:
        task.state = "ended"
        self.ready.pop(task.number, None)
        self._give(self._next())

    def stop(self, error: BaseException, seconds: float = 1.0) -> list[Task]:
        """From another thread: end all tasks; answers those that did not end in time."""
        self.fail(None, error)
        for _ in range(max(1, round(seconds / TICK))):
            holder = self.holder
            if holder is not None and holder.thread is not None:
                if holder.thread.is_alive():
                    raise_in(holder.thread)
                elif holder.state != "ended":  # it was hit on its last steps
                    self._end(holder)
            if self.finished.wait(TICK):
                break
        return [t for t in self.tasks if t.state != "ended"]


def raise_in(thread: threading.Thread) -> None:
    """Raise `RankStopped` in another thread, as soon as it runs Python again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(RankStopped))
