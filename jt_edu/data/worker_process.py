"""Worker process: what happens on the other side of the two pipes that `worker_pool.py` has.

listen (thread)    orders from the pipe into a queue; when the pipe ends, the process ends
serve              one order after the other: a batch, or the error that came in its place
send (thread)      answers from a queue into the pipe, while the next batch is being made
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import signal
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from jt_edu.base.context import current
from jt_edu.data.fetch import END, Job, WorkerInfo, own_numbers, set_worker_info
from jt_edu.data.sampler import mixed

LAST_WORDS = 1.0  # seconds from the end of the orders to the end of the process, whatever it is doing


def serve(inbox: Connection, outbox: Connection, number: int, count: int) -> None:
    """Be worker `number` of `count`, until there are no more orders."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    _own(inbox, outbox)
    try:
        job, info = _settle_in(inbox, number, count)
        outbox.send_bytes(pickle.dumps(("ready", None)))
    except BaseException as error:  # noqa: BLE001 - as in `_answer`
        with suppress(OSError):  # nobody may be listening any more
            outbox.send_bytes(_failure(error))
        return
    orders: SimpleQueue[Any] = SimpleQueue()
    answers: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(inbox, orders), daemon=True).start()
    Thread(target=_send, args=(outbox, answers), daemon=True).start()
    seed = done = 0
    while (order := orders.get()) is not None:
        kind, content = order
        if kind == "epoch":
            seed, done = content, 0
            set_worker_info(dataclasses.replace(info, seed=mixed(seed, number, 1)))
            job.begin()
        else:
            answers.put(_answer(job, content, mixed(seed, done * count + number)))
            done += 1


def _own(*pipes: Connection) -> None:
    """Keep pipes from processes that an example starts: they would hold them open after the worker's end."""
    if not hasattr(os, "register_at_fork"):
        return  # where nothing is forked, nothing is inherited
    for pipe in pipes:
        os.set_inheritable(pipe.fileno(), False)  # by another program
        os.register_at_fork(after_in_child=pipe.close)  # by a copy of this one


def _settle_in(inbox: Connection, number: int, count: int) -> tuple[Job, WorkerInfo]:
    job, prepare, flags = pickle.loads(inbox.recv_bytes())  # noqa: S301 - written by the process that started this one
    for name, value in flags.items():
        setattr(current().flags, name, value)
    info = WorkerInfo(number, count, 0, getattr(job, "dataset", None))
    set_worker_info(info)
    if prepare is not None:
        prepare(number)
    return job, info


def _answer(job: Job, request: Any, seed: int) -> bytes:
    """The batch as it travels, made with random numbers of its own."""
    try:
        with own_numbers(seed):
            batch = job.fetch(request)
        return pickle.dumps(("end", None) if batch is END else ("batch", batch), protocol=5)
    except BaseException as error:  # noqa: BLE001 - it is raised again, on the other side; sys.exit() is told there
        return _failure(error)


def _failure(error: BaseException) -> bytes:
    """An error as it travels: itself, if it survives the way, its name, and where it came from.

    What ends a process, such as SystemExit, travels as text: it is not to end the other one.
    """
    name = ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
    text = "".join(traceback.format_exception(error))
    packed: bytes | None = None
    try:
        packed = pickle.dumps(error) if isinstance(error, Exception) else None
        if packed and type(pickle.loads(packed)) is not type(error):  # noqa: S301 - written in the line above
            packed = None
    except Exception:  # noqa: BLE001 - an error of an error: its text goes alone
        packed = None
    return pickle.dumps(("error", (packed, name, text)))


def _listen(inbox: Connection, orders: SimpleQueue[Any]) -> None:
    try:
        while True:
            orders.put(pickle.loads(inbox.recv_bytes()))  # noqa: S301 - written by the process that started this one
    except (EOFError, OSError):
        orders.put(None)
    time.sleep(LAST_WORDS)
    os._exit(1)


def _send(outbox: Connection, answers: SimpleQueue[bytes]) -> None:
    try:
        while True:
            outbox.send_bytes(answers.get())
    except OSError:
        return
