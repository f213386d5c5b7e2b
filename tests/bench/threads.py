"""Threads: what is a second thread worth? Wall-clock time of one network with one thread, and with two.

    round 1    one thread  two threads
    round 2    one thread  two threads     ...     the best of all rounds counts

Here the wall clock is right: two threads save no CPU time. It also counts what other programs take, so the machine has
to be quiet. A load just above nothing says that a program ended a moment ago, so this suite waits a while for a load
that is too high; what it found stands in each row.
"""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu import models
from tests.bench import causes, machine, shares
from tests.bench.measure import spread, take_turns
from tests.bench.rows import Cause, Figures, Goal, Result, Row, Run, numbers, warm_malloc

ROUNDS, BUSY, PATIENCE = 25, 1.5, 90  # BUSY: a load with which nothing is measured; PATIENCE: seconds
FEW = 15  # rounds of two threads alone, where a goal was missed
TITLE = "What a second thread is worth: the forward of a network with two threads, beside one."
READING = """
* The best of {rounds} samples in wall-clock time, by turns with one thread and with two. **load**: how many programs
  wanted to run in the last minute, just before. Above 1.5 nothing is measured.
"""
RATIO = """
* **ratio**: one thread / two threads. **quartiles**: of the ratio round by round. **error**: of the scores with two
  threads, beside those with one.
"""
NOTES = ""
PHOTO = (3, 224, 224)


def two_over_one(make: Callable[[], Any], batch: int, run: Run) -> Figures:
    """The forward of a network, on two cores that have little else to do."""
    if machine.allowed() < 2:
        return Figures(how=f"it needs two cores, and may use {machine.allowed()}")
    load = settled(patience=0 if run.quick else PATIENCE)
    if load is None or load > BUSY:
        return Figures(how=f"the machine is busy: load {load}")
    warm_malloc()
    scores = forward(make, batch)
    one, two = (numbers(_with_threads(scores, n))[0] for n in (1, 2))
    times = take_turns({"1": scores, "2": scores}, run.rounds, time.perf_counter, box=run.box, threads={"1": 1, "2": 2})
    alone, both = times["1"], times["2"]
    return Figures(
        ratio=alone.best / both.best, spread=spread(alone, both), error=float(np.abs(one - two).max()),
        how=f"{alone.best * 1e3:.1f} ms / {both.best * 1e3:.1f} ms, load {load:.1f}",
    )  # fmt: skip


def settled(pause: Callable[[float], object] = time.sleep, patience: int = PATIENCE) -> float | None:
    """The load, once it is low enough or patience has run out."""
    for _ in range(0, patience, 5):
        found = machine.load()
        if found is None or found <= BUSY:
            return found
        pause(5)
    return machine.load()


def scaling(make: Callable[[], Any], batch: int, *_: Result | Run) -> Cause:
    """Which kernels two threads compute how much faster than one."""
    scores = forward(make, batch)
    one, two = (_with_threads(partial(shares.fastest, scores), n) for n in (1, 2))
    whole = take_turns({"2": scores}, FEW, time.perf_counter, threads={"2": 2})["2"]
    return causes.of_threads(one, two, whole.best)


@lru_cache(maxsize=1)
def forward(make: Callable[[], Any], batch: int) -> Callable[[], Any]:
    """The scores of some images, in evaluation."""
    jt.set_global_seed(0)
    net = make()
    net.eval()
    x = jt.array(np.random.default_rng(0).standard_normal((batch, *PHOTO), np.float32))
    jt.sync([*net.parameters(), *net.buffers(), x])

    def scores() -> Any:
        with jt.no_grad():
            return net(x).sync()

    return scores


def _with_threads(call: Callable[[], Any], threads: int) -> Any:
    before = jt.get_num_threads()
    jt.set_num_threads(threads)
    try:
        return call()
    finally:
        jt.set_num_threads(before)


def _row(name: str, make: Callable[[], Any], batch: int, goals: tuple[Goal, ...] = ()) -> Row:
    work, why = partial(two_over_one, make, batch), partial(scaling, make, batch)
    return Row(f"{name}, batch {batch}", goals, work=work, size=(batch,), tolerance=1e-4, why=why)


ROWS = (
    _row("ResNet-50", models.resnet50, 4, (Goal("ratio", 1.7),)),
    _row("ResNet-50", models.resnet50, 1, (Goal("ratio", 1.7),)),
    _row("MobileNet v2", models.mobilenet_v2, 4),
)
