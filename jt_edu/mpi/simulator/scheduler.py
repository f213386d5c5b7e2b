"""Scheduler: many ranks in one process, of which one runs at a time.

    rank 0  ####........####....       a rank runs until it calls its communicator; there the baton
    rank 1  ....####........####       may go to another rank, as the policy says
    rank 2  ........####........

Each rank is a thread, and only the one that holds the baton runs. So nothing happens at the same time: the same policy
and seed give the same order of everything, again and again. A rank that waits gives the baton away. When nobody is left
who could run, that is a deadlock: known at once, and without doubt. A rank that looks for something in a loop can run;
after LOOKS looks in vain it is told so, which is no proof.

    policy   "round_robin"    each in its turn
             "random"         drawn with a seed
             "clock"          whose time is the earliest
             [2, 0, 1, ...]   as it was once: the list that `schedule` recorded

Nothing here knows messages.
"""

from __future__ import annotations

import ctypes
import heapq
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.mpi.base.errors import RankStopped, RankStruck
from jt_edu.mpi.simulator.task import Task
from jt_edu.mpi.trace.network import Clock

TICK = 0.05  # seconds between two tries to stop ranks
ENDING = 0.8  # seconds that these take, before it is said which rank does not end
POLICIES = ("round_robin", "random", "clock")
MOST_TURNS = 1_000_000  # are in a schedule; whoever repeats it goes on in turn after them
STOPS = 100  # so often is a rank told to end; one that goes on all the same is left behind
OVER = "the program; among cells, of the cell that began the request, or of one that failed"


class Baton:
    """Who runs now, and who is next.

    Args:
        policy: one of POLICIES, or the numbers of tasks in the order in which they ran before.
        seed: for the policy "random".
        at_rest: called with the tasks that wait when nobody can run, or with one that looks in vain; returns the error
            that each of them gets, or nothing if some can go on now.
        timeout: seconds of virtual time after which a wait is given up; None: never.
        patient: who waits for one of several things goes on only when nobody can run, as `at_rest` says.

    Raises:
        ArgumentError: there is no such policy, or a number that makes no sense.
    """

    def __init__(
        self, policy: str | Sequence[int], seed: int,
        at_rest: Callable[[list[Task], Task | None], dict[Task, BaseException]], timeout: float | None = None,
        patient: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(policy, str) and policy not in POLICIES:
            raise ArgumentError(f"ranks take turns by {', '.join(POLICIES)}, or a recorded schedule", repr(policy))
        if timeout is not None and (isinstance(timeout, bool) or not timeout > 0):
            raise ArgumentError("a timeout is a number of seconds above 0, or None", repr(timeout))
        self.policy, self.at_rest, self.timeout, self.patient = policy, at_rest, timeout, patient
        self.tasks: list[Task] = []  # ranks first; helpers that have ended are not kept
        self.numbered = 0  # how many there were
        self.ready: dict[int, Task] = {}  # by number, in the order in which they became ready
        self.schedule: list[int] = []  # the number of the task that had each turn
        self.turns = 0  # how many there were
        self.holder: Task | None = None
        self.in_vain = 0  # looks since something happened
        self.stopped = False  # everybody ends now, in whatever order
        self.finished = threading.Event()
        self.failure: tuple[Task | None, BaseException] | None = None  # the first one
        self.turn_ends: Callable[[Task], None] | None = None  # told whose turn is over, before the next one runs
        self._draw = random.Random(seed)  # noqa: S311 - it shuffles turns
        self._early: list[tuple[int, int]] = []  # a heap of (time, number), for the policy "clock"

    # tasks

    def add(self, rank: int, name: str, clock: Clock, body: Callable[[], Any], helps: bool = False) -> Task:
        """A task that waits for its first turn; one that `helps` a rank is forgotten when it has ended."""
        task = Task(self, rank, name, clock, helps)
        self.tasks.append(task)
        self.wake(task)
        task.thread = threading.Thread(target=self._run, args=(task, body), name=f"jt_edu {name}", daemon=True)
        task.thread.start()
        return task

    def adopt(self, rank: int, name: str, clock: Clock) -> Task:
        """The thread that calls, as a task that holds the baton."""
        task = Task(self, rank, name, clock)
        self.tasks.append(task)
        self.wake(task)
        task.thread, self.holder = threading.current_thread(), task
        return task

    def start(self) -> None:
        """Hand out the baton for the first time."""
        self._give(self._next())

    def _run(self, task: Task, body: Callable[[], Any]) -> None:
        try:
            task.gate.acquire()
            task._go_on()
            body()
        except RankStopped as stopped:
            task.ended_by = stopped
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends all ranks, and is raised outside
            task.ended_by = error
            self.fail(task, error)
        finally:
            try:
                self._end(task)
            except RankStruck:  # hit once more, on its way out
                self._end(task)

    # turns

    def pass_on(self, me: Task) -> None:
        """Let the next one run; comes back when it is the turn of `me` again."""
        if self.stopped:
            raise RankStopped
        me.asked = 0
        if self.turn_ends is not None:
            self.turn_ends(me)
        if me.state == "waiting":
            self.ready.pop(me.number, None)
        else:
            self.ready.pop(me.number, None)
            self.wake(me)  # behind all others
        chosen = self._next()
        if chosen is not me:
            self._give(chosen)
            me.gate.acquire()

    def wake(self, task: Task) -> None:
        """A task that waited can go on."""
        task.state = "ready"
        self.ready[task.number] = task
        if self.policy == "clock":  # who looks in vain has to let those behind it catch up
            heapq.heappush(self._early, (task.clock.now + task.looks * task.clock.network.latency, task.number))

    def _give(self, task: Task | None) -> None:
        self.holder = task
        if task is None:
            self.finished.set()
        elif task.gate.locked():
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
        if self.turns < MOST_TURNS:
            self.schedule.append(chosen.number)
        self.turns += 1
        return chosen

    def _chosen(self) -> Task:
        if self.policy == "random":
            return self.ready[self._draw.choice(list(self.ready))]
        if self.policy == "clock":
            while (number := heapq.heappop(self._early)[1]) not in self.ready:
                pass
            return self.ready[number]
        if self.policy != "round_robin" and self.turns < len(self.policy):
            wanted = self.ready.get(int(self.policy[self.turns]))
            return wanted or next(iter(self.ready.values()))
        return next(iter(self.ready.values()))

    def _ends(self, waiting: list[Task]) -> dict[Task, BaseException]:
        """Nobody can run: who goes on with which error?"""
        if self.failure is not None:
            return {task: RankStopped() for task in waiting}
        timed = [t for t in waiting if t.deadline is not None]
        if not timed:
            return self.at_rest(waiting, None)
        task = min(timed, key=lambda t: (t.deadline, t.number))  # time passes when nobody does anything
        assert task.deadline is not None, "only tasks with a deadline were chosen"
        return {task: task.times_out([r for r in task.awaits.values() if not r.done], task.deadline)}

    # the end

    def check(self, me: Task) -> None:
        """A world that failed, or was stopped, ends every rank at its next call; strangers are sent away."""
        if me.thread is not threading.current_thread():
            raise self._stranger(me)
        if self.failure is not None and self.failure[0] is not me:
            me.stops += 1
            if me.stops > STOPS:  # it catches everything: nobody waits for it any more
                self._end(me)
                threading.Event().wait()
            raise RankStopped

    def _stranger(self, me: Task) -> RankError:
        thread = threading.current_thread()
        if me.state == "ended":
            return RankError(
                f"the communicator of {me.name} lasts as long as its run",
                f"a call after its end, which was that of {OVER}",
                "end in a cell or a program what it begins, and after a cell that failed make groups anew",
            )  # fmt: skip
        other = next((t for t in self.tasks if t.thread is thread), None)
        if other is not None and other.rank != me.rank:
            return RankError(
                f"each rank communicates through its own communicator; this is that of {me.name}",
                f"{other.name} uses it",
                "the communicator that the program is called with, not one that ranks share",
            )  # fmt: skip
        return RankError(
            f"{me.name} communicates from the thread that it runs in", f"a call from the thread {thread.name!r}",
            "let the thread return its result, and communicate after joining it",
        )  # fmt: skip

    def fail(self, task: Task | None, error: BaseException) -> None:
        """The first failure is kept; it ends the others, each at its next call."""
        if self.failure is None:
            self.failure = (task, error)

    def _end(self, task: Task) -> None:
        task.state, self.in_vain = "ended", 0
        if self.turn_ends is not None and not self.stopped:
            self.turn_ends(task)
        self.ready.pop(task.number, None)
        if task.helps and not self.stopped and task in self.tasks:
            self.tasks.remove(task)
        if self.stopped:
            if all(t.state == "ended" for t in self.tasks):
                self.finished.set()
        elif self.holder is task:
            self._give(self._next())

    def stop(self, error: BaseException) -> list[Task]:
        """From another thread: end all tasks; returns those that did not end in time.

        Whoever waits finds its gate open, and ends; who runs is hit by an exception as soon as it runs Python again.
        """
        self.fail(None, error)
        self.stopped = True
        left = list(self.tasks)
        for turn in range(round(ENDING / TICK)):
            left = [t for t in left if t.thread is not None and t.thread.is_alive()]
            for task in left:
                if task.gate.locked():
                    task.gate.release()
                if turn % 4 == 1 and task.state != "ended":  # by then, who speaks to others has ended by itself
                    raise_in(task.thread)
            if not left or self.finished.wait(TICK):
                break
        return [t for t in left if t.thread is not None and t.thread.is_alive() and t.state != "ended"]


def raise_in(thread: threading.Thread | None) -> None:
    """Raise `RankStruck` in another thread, as soon as it runs Python again."""
    if thread is not None and thread.is_alive():
        exception = ctypes.py_object(RankStruck)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), exception)
